"""The state of a table in its last transaction, with the times of the last rows of partitions. Rules: [QDB-TK]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from xskip.errors import TableDamagedError, XskipError
from xskip.questdb_files.piece_values import PieceValues
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.retry import Retry
from xskip.questdb_files.selection import Chosen
from xskip.questdb_files.snapshot import Snapshot, TablePlace, missing_file, never_at_rest, read_snapshot
from xskip.questdb_files.table_state import Ending, TableState, partitions_of

__all__ = ["read_state"]

#: So many partitions at the end of a table have their endings in a token [QDB-TK-4].
_ENDINGS = 16


def read_state(place: TablePlace, *, frozen: bool) -> TableState:
    """Return the state of a table in its last transaction, with the endings of its last partitions."""
    retry = Retry()
    while True:
        failure: XskipError | None = None
        snapshot = read_snapshot(place)
        last = partitions_of(snapshot)[-_ENDINGS:]
        try:
            stamps = {piece.position: snapshot.stamp(piece) for _, pieces in last for piece in pieces}
            if frozen or snapshot.is_current():
                state = _with_endings(snapshot, last, PieceValues(frozen))
                if frozen or snapshot.invalid(stamps) == ():
                    return state
        except FileNotFoundError as error:
            failure = missing_file(error, snapshot)
        except TableDamagedError as error:
            failure = error
        if (failure is not None and frozen) or not retry.wait(snapshot.txn):
            raise failure or never_at_rest(place, retry)


def _with_endings(snapshot: Snapshot, last: Iterable[tuple[int, Sequence[Piece]]], values: PieceValues) -> TableState:
    state = TableState.of(snapshot)
    if snapshot.metadata.timestamp is None:
        return state
    partitions = dict(state.partitions)
    for start, pieces in last:
        # rows of equal times are in one piece [QDB-PN-4]
        piece = pieces[-1]
        before = sum(each.rows for each in pieces[:-1])
        if piece.rows:
            time = values.time_at(snapshot, piece, piece.rows - 1)
            first = values.selected(Chosen(snapshot, (), (), time, None), piece).rows.start
            partitions[start] = replace(partitions[start], ending=Ending(time, before + first))
    return replace(state, partitions=partitions)
