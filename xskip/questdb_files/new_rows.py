"""The rows that a table got between two tokens. Rules: [QDB-TK].

Rows never leave a partition one by one, so that the rows of a token are the first ones of a partition as long as no row
was merged between them. The number of rows and the time of the last one tell whether that is so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cached_property

import numpy as np

from xskip.errors import DatasetError, PredicateError, XskipError
from xskip.questdb_files.column_versions import DEFAULT_RECORD, SYMBOL_RECORD
from xskip.questdb_files.partition_names import PartitionUnit
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.snapshot import Snapshot
from xskip.questdb_files.table_state import Ending, PartitionState, TableState, partitions_of

__all__ = ["NewRows", "RowCheck", "RowTokens"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NEW_TOKEN = "read the table whole, and go on with a new token"


@dataclass(frozen=True, slots=True)
class RowCheck:
    """The rows of a piece that must be those with a time, so that no row was merged before them."""

    time: int
    first: int
    last: int
    #: What is raised if they are not.
    failure: XskipError


@dataclass(frozen=True, slots=True)
class NewRows:
    """The new rows of a snapshot, by the time of the piece."""

    rows: Mapping[int, range]
    checks: Mapping[int, tuple[RowCheck, ...]]
    #: The pieces with checks in the partition of a piece.
    checked: Mapping[int, tuple[Piece, ...]]
    failures: Mapping[int, XskipError]

    def pieces(self, pieces: Iterable[Piece]) -> list[Piece]:
        """Return those of some pieces that have new rows, and those that prove which rows of their partitions are new.

        Raise an error if that cannot be proved of a partition.
        """
        found: dict[int, Piece] = {}
        for piece in pieces:
            time = piece.record.timestamp
            if time in self.failures:
                raise self.failures[time]
            needed = (*([piece] if self.rows[time] else []), *self.checked[time])
            found |= {each.position: each for each in needed}
        return [found[position] for position in sorted(found)]


@dataclass(frozen=True, slots=True)
class RowTokens:
    """The states between which rows are new; None leaves an end open."""

    since: TableState | None
    until: TableState | None

    @classmethod
    def parse(cls, since: object, until: object, where: str) -> RowTokens:
        """Return the states of tokens, which are arguments of a read of a table."""
        before, after = (
            None if text is None else TableState.parse(text, argument, where)
            for text, argument in ((since, "since"), (until, "until"))
        )
        if before is not None and after is not None and before.txn > after.txn:
            raise PredicateError(
                "since is a later token than until", where=where, found=f"transaction {before.txn}",
                expected=f"at most transaction {after.txn}",
            )  # fmt: skip
        return cls(before, after)

    def of(self, snapshot: Snapshot) -> NewRows:
        """Return the new rows of a snapshot, or raise an error if a token is not of the table."""
        sides = [
            None if state is None else _Side(state, argument, snapshot)
            for state, argument in ((self.since, "since"), (self.until, "until"))
        ]
        rows: dict[int, range] = {}
        checks: dict[int, tuple[RowCheck, ...]] = {}
        checked: dict[int, tuple[Piece, ...]] = {}
        failures: dict[int, XskipError] = {}
        for start, pieces in partitions_of(snapshot):
            try:
                first, stop = (None if side is None else side.held(start, pieces) for side in sides)
                if sides[0] is not None and (stop is None or stop.rows):
                    sides[0].check_is_added(start, pieces)
            except DatasetError as error:
                failures |= dict.fromkeys((piece.record.timestamp for piece in pieces), error)
                continue
            place = 0
            for piece in pieces:
                time, end = piece.record.timestamp, place + piece.rows
                low = place if first is None else min(max(first.rows, place), end)
                high = end if stop is None else max(min(stop.rows, end), low)
                rows[time] = range(low - place, high - place)
                found = [held.check(place, end) for held in (first, stop) if held is not None]
                if known := tuple(check for check in found if check is not None):
                    checks[time] = known
                place = end
            proving = tuple(piece for piece in pieces if piece.record.timestamp in checks)
            checked |= dict.fromkeys((piece.record.timestamp for piece in pieces), proving)
        return NewRows(rows, checks, checked, failures)


@dataclass(frozen=True, slots=True)
class _Held:
    """The number of rows at the start of a partition that a token has, and what proves it."""

    rows: int
    ending: Ending | None = None
    failure: XskipError | None = None

    def check(self, start: int, end: int) -> RowCheck | None:
        """Return what proves it in the piece with the rows from ``start`` to ``end`` of the partition."""
        if self.ending is None or self.failure is None or not start <= self.ending.before < end:
            return None
        return RowCheck(self.ending.time, self.ending.before - start, self.rows - 1 - start, self.failure)


@dataclass(frozen=True)
class _Side:
    """The comparison of a snapshot with the state of a token."""

    state: TableState
    argument: str
    snapshot: Snapshot

    def __post_init__(self) -> None:
        now, where = self._now, str(self.snapshot.place.data)
        created = self.state.table[1], now.table[1]
        if self.state.table[0] != now.table[0] or (None not in created and created[0] != created[1]):
            raise PredicateError(
                f"{self.argument} is a token of another table, or the table was created again", where=where,
                found=f"the table {self.state.table[0]}", expected=f"{now.table[0]}", hint=_NEW_TOKEN,
            )  # fmt: skip
        if self.state.txn > now.txn:
            raise PredicateError(
                f"{self.argument} is a token of a later transaction than the table's", where=where,
                found=f"transaction {self.state.txn}", expected=f"at most {now.txn}",
                hint=f"if the table was restored, {_NEW_TOKEN}",
            )  # fmt: skip
        if self.state.data_version != now.data_version:
            raise DatasetError(f"the table was truncated after the token {self.argument}", where=where, hint=_NEW_TOKEN)

    @cached_property
    def _now(self) -> TableState:
        return TableState.of(self.snapshot)

    def held(self, start: int, pieces: list[Piece]) -> _Held:
        """Return the rows of a partition that the token has, or raise an error if that cannot be told."""
        then, now = self.state.partitions.get(start), self._now.partitions[start]
        if then is None:
            return _Held(0)
        if now.rows < then.rows:
            raise self._failure(start, "a partition has fewer rows than the token has of it")
        if start in self._updated:
            raise self._failure(start, "a column of a partition was written again after the token, as by an update")
        if then.pieces == now.pieces or self.snapshot.metadata.clock.unit is PartitionUnit.NONE:
            return _Held(then.rows)
        is_longer = _is_longer(then, now)
        if not is_longer:
            if not self._has_all:
                raise self._failure(start, "a partition can have been dropped and written again after the token")
            if (self.state.dedup or self._now.dedup) and not self._has_only_conversions:
                raise self._failure(start, "rows of a partition can have been replaced after the token")
            if now.rows == then.rows:  # converted, split or joined
                return _Held(then.rows)
        if is_longer and self.state.partition_version == self._now.partition_version:
            # A table that was restored to an earlier transaction, and has got other rows since, can look the same.
            other = self._failure(start, "a partition has other rows than the token has of it")
            return _Held(then.rows, then.ending, other)
        failure = self._failure(start, "rows were merged between those of a partition after the token")
        if then.ending is None:
            raise failure
        return _Held(then.rows, then.ending, failure)

    def check_is_added(self, start: int, pieces: Iterable[Piece]) -> None:
        """Raise an error if a partition that the token does not have can be one that was attached after it."""
        if start in self.state.partitions or self._has_all:
            return
        # An attached partition keeps the control files of the table from which it was detached, until rows are merged
        # into it. The last partition of a table cannot be detached.
        is_attached = any((piece.folder / "_meta").exists() for piece in pieces)
        if is_attached or start < max(self.state.partitions, default=start):
            raise self._failure(
                start, "a partition can have been attached after the token, with rows that the table had before"
            )

    @cached_property
    def _has_all(self) -> bool:
        """Return whether the table has the partitions of the token, but for those that it has no longer."""
        # each removal of a partition raises the version by one, also if the partition is written again, and so does
        # each partition that is attached
        gone = self.state.partitions.keys() - self._now.partitions.keys()
        return self._now.truncate_version - self.state.truncate_version == len(gone)

    @cached_property
    def _has_only_conversions(self) -> bool:
        """Return whether conversions and removals are all that changed partitions."""
        then, now = self.state.partitions, self._now.partitions
        if now.keys() - then.keys():  # a commit that adds a partition can replace rows in another one
            return False
        converted = sum(then[start].is_parquet != partition.is_parquet for start, partition in now.items())
        gone = len(then) - len(now)
        # each of these raises the version by one at least, and so does a commit that replaces rows
        return self._now.partition_version - self.state.partition_version == converted + gone

    @cached_property
    def _updated(self) -> set[int]:
        """Return the partitions with files of columns that an update has written after the token."""
        if self._now.column_version == self.state.column_version:
            return set()
        # Files that are written after a transaction have its number or a greater one in their names. A column that was
        # renamed, or that replaced another one, has new files with the same values.
        same = {index for index, name in self._now.columns.items() if self.state.columns.get(index) == name}
        records = self.snapshot.versions.records.items()
        floor = self.snapshot.metadata.clock.floor
        return {
            floor(time)
            for (time, index), (txn, _) in records
            if txn >= self.state.txn and index in same and time not in (DEFAULT_RECORD, SYMBOL_RECORD)
        }

    def _failure(self, start: int, what: str) -> DatasetError:
        clock, data = self.snapshot.metadata.clock, self.snapshot.place.data
        if clock.unit is PartitionUnit.NONE:
            return DatasetError(what, where=str(data), hint=_NEW_TOKEN)
        ends = (start, int(clock.ends(np.array([start], np.int64))[0]))
        low, high = ((_EPOCH + timedelta(microseconds=each * 1_000_000 // clock.ticks)).isoformat() for each in ends)
        return DatasetError(
            what, where=f"{data}, partition {clock.folder(start, -1)}",
            hint=f"read it whole with start={low[:-6]!r}, end={high[:-6]!r}, and go on with a new token",
        )  # fmt: skip


def _is_longer(then: PartitionState, now: PartitionState) -> bool:
    """Return whether a partition has the same pieces as before, of which only the last one, a native one, is longer."""
    if len(then.pieces) != len(now.pieces) or then.pieces[:-1] != now.pieces[:-1]:
        return False
    (time, name, rows, size, squashes), last = then.pieces[-1], now.pieces[-1]
    return size < 0 and last == (time, name, max(rows, last[2]), size, squashes)
