"""The part of each partition's rows that a table and its cold tier give to a read of both. Rules: [QDB-CT]."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Set
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np

from xskip.errors import DatasetError
from xskip.questdb_files.partition_names import PartitionUnit
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.snapshot import Snapshot
from xskip.spark.questdb.cold_tier import ColdPartition, ColdTier
from xskip.spark.questdb.row_samples import Presence, presence_of

__all__ = ["HotPartition", "Parts", "State", "hot_partitions", "parts", "state_of", "unknown_state"]

_MAX_ANSWERS = 10_000
#: What is known of the rows of exports, by the folder of the table and the keys of the partition and of the export.
_answers: dict[tuple[str, str, str], Presence] = {}


@dataclass(frozen=True, slots=True)
class HotPartition:
    """A partition that a table has."""

    #: The half-open bounds in ticks.
    start: int
    end: int
    #: The positions of its pieces.
    pieces: tuple[int, ...]
    rows: int
    #: The identity of its rows [QDB-CT-3].
    key: str


class State(Enum):
    """The state in the table of rows that were exported: dropped, the same, merged with later rows, or not known."""

    DROPPED = "dropped"
    SAME = "same"
    MERGED = "merged"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a read of a table and its cold tier."""

    #: The positions of the pieces that are not read.
    left_out: frozenset[int]
    cold: tuple[ColdPartition, ...]


def hot_partitions(snapshot: Snapshot, starts: Set[int] | None = None) -> dict[int, HotPartition]:
    """Return the partitions of a table with rows, by the start of their bounds; ``starts`` None selects all."""
    clock, transaction = snapshot.metadata.clock, snapshot.transaction
    if clock.unit is PartitionUnit.NONE:
        raise DatasetError(
            "a table without partitions cannot have a cold tier", where=str(snapshot.place.data),
            hint="read the table alone, or create a table with partitions",
        )  # fmt: skip
    times = transaction.entries[:, 0]
    ends, rows = clock.ends(times), transaction.rows_of_pieces()
    versions: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for (time, column), (txn, top) in snapshot.versions.records.items():
        versions[time].append((column, txn, top))
    found = {}
    borders = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(ends)]
    for first, stop in pairwise(borders):
        count = int(rows[first:stop].sum())
        if not count:
            continue
        start = clock.floor(int(times[first]))
        # each partition costs a look at the files of its pieces
        if starts is not None and start not in starts:
            continue
        digest = hashlib.blake2b(repr(snapshot.identity).encode(), digest_size=16)
        for piece in snapshot.pieces[first:stop]:
            own = sorted(versions.get(piece.record.timestamp, ()))
            digest.update(repr((piece.record, own, _modified(snapshot, piece))).encode())
        found[start] = HotPartition(start, int(ends[first]), tuple(range(first, stop)), count, digest.hexdigest())
    return found


def _modified(snapshot: Snapshot, piece: Piece) -> int | None:
    """Return the time of modification of a piece, which a squash changes, or None if a server has removed the piece."""
    try:
        stamp = snapshot.stamp(piece)
    except FileNotFoundError:
        return None
    # the identity of the file does not count: a table that was restored from a copy has the exported rows
    return stamp.modified if stamp else None


def state_of(snapshot: Snapshot, tier: ColdTier, exported: ColdPartition, hot: HotPartition | None) -> State:
    """Return the state in the table of the rows of the last export of a partition [QDB-CT-4]."""
    if hot is None:
        return State.DROPPED
    if hot.key == exported.key:
        return State.SAME
    found = _presence(snapshot, tier, exported, hot)
    can_have_all = found.all_times and hot.rows >= exported.rows
    if can_have_all and found.all_rows:
        return State.MERGED
    if exported.dropped or not (can_have_all or found.some_rows):
        return State.DROPPED
    return State.UNKNOWN


def _presence(snapshot: Snapshot, tier: ColdTier, exported: ColdPartition, hot: HotPartition) -> Presence:
    key = (str(snapshot.place.data), hot.key, exported.key)
    found = _answers.get(key)
    if found is None:
        indexes = [column.writer_index for column in tier.layouts[exported.layout]]
        found = presence_of(snapshot, indexes, exported.samples)
        if len(_answers) >= _MAX_ANSWERS:
            _answers.clear()  # a thread that has found its answer keeps it
        _answers[key] = found
    return found


def parts(snapshot: Snapshot, tier: ColdTier) -> Parts:
    """Return what to read of a table and its cold tier, each row once."""
    hot = hot_partitions(snapshot, {exported.start for exported in tier.partitions})
    left_out: set[int] = set()
    cold = []
    for exported in tier.partitions:
        found = hot.get(exported.start)
        match state_of(snapshot, tier, exported, found):
            case State.UNKNOWN:
                raise unknown_state(snapshot, exported)
            case State.MERGED:
                continue
            case State.SAME if found is not None:
                left_out.update(found.pieces)
        cold.append(exported)
    return Parts(frozenset(left_out), tuple(cold))


def unknown_state(snapshot: Snapshot, exported: ColdPartition) -> DatasetError:
    """Return the error for a partition that has changed since its export, with too few timestamps to tell how."""
    name = snapshot.metadata.clock.folder(exported.start, -1)
    return DatasetError(
        "a partition has changed since it was exported, and its rows do not tell how", where=name,
        found="rows that were merged into the partition, a former copy of it, or new rows after it was dropped",
        hint='export the table again with changed="merged" or changed="dropped"; if the exported rows alone count, '
        "drop the partition of the table",
    )  # fmt: skip
