"""Tokens of tables: what a table had in one transaction, as a text that a later read compares with. Rules: [QDB-TK]."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.sequencer_file import read_creation
from xskip.questdb_files.snapshot import Snapshot
from xskip.token_text import TokenForm

__all__ = ["Ending", "PartitionState", "TableState", "partitions_of", "replaces_rows"]

_FORM = TokenForm("questdb", 1, "token() of the table")
_NATIVE = -1
#: The time, the name transaction, the rows, the size of ``data.parquet`` or -1, and the squashes of a piece.
PieceState: TypeAlias = "tuple[int, int, int, int, int]"


@dataclass(frozen=True, slots=True)
class Ending:
    """The last rows of a partition: those with its greatest time."""

    time: int
    #: The number of rows in the partition before the first one with this time.
    before: int


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A logical partition in one transaction."""

    pieces: tuple[PieceState, ...]
    #: None if the token does not have it.
    ending: Ending | None = None

    @property
    def rows(self) -> int:
        """Return the number of rows of the partition."""
        return sum(piece[2] for piece in self.pieces)

    @property
    def is_parquet(self) -> bool:
        """Return whether the partition is a Parquet file."""
        return any(piece[3] != _NATIVE for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class TableState:
    """A table in one transaction."""

    #: The identifier of the table and the time of its creation, or None if its files do not have it.
    table: tuple[int, int | None]
    txn: int
    #: See :class:`~xskip.questdb_files.transaction_file.Transaction`.
    data_version: int
    truncate_version: int
    partition_version: int
    column_version: int
    #: Whether rows can replace others.
    dedup: bool
    #: The names of columns by writer index.
    columns: dict[int, str]
    #: By the start of the partition, in the order of time.
    partitions: dict[int, PartitionState]

    @classmethod
    def of(cls, snapshot: Snapshot) -> TableState:
        """Return the state of a table in a snapshot, without the endings of its partitions."""
        transaction, columns = snapshot.transaction, snapshot.metadata.columns
        return cls(
            (snapshot.metadata.table_id, read_creation(snapshot.place)), snapshot.txn, transaction.data_version,
            transaction.truncate_version, transaction.partition_version, snapshot.versions.version,
            replaces_rows(snapshot), {column.writer_index: column.name for column in columns},
            {start: PartitionState(_states(pieces)) for start, pieces in partitions_of(snapshot)},
        )  # fmt: skip

    def text(self) -> str:
        """Return the token."""
        partitions = [
            [start, [[piece[0] - start, *piece[1:]] for piece in state.pieces], *_numbers(state.ending)]
            for start, state in self.partitions.items()
        ]
        versions = [self.txn, self.data_version, self.truncate_version, self.partition_version, self.column_version]
        values = [self.table, versions, self.dedup, [*self.columns.items()], partitions]
        return _FORM.text(json.dumps(values, separators=(",", ":")).encode())

    @classmethod
    def parse(cls, text: object, argument: str, where: str) -> TableState:
        """Return the state of a token that is the value of an argument of a read of a table."""
        data = _FORM.data(text, argument, where)
        try:
            (table_id, created), versions, dedup, columns, listed = json.loads(data)
            txn, data_version, truncate_version, partition_version, column_version = map(int, versions)
            partitions = {
                start: PartitionState(tuple((start + at, *rest) for at, *rest in pieces), Ending(*end) if end else None)
                for start, pieces, *end in listed
            }
            return cls(
                (table_id, created), txn, data_version, truncate_version, partition_version, column_version,
                bool(dedup), dict(columns), partitions,
            )  # fmt: skip
        except (ValueError, KeyError, TypeError) as error:
            raise _FORM.damaged(argument, where) from error


def partitions_of(snapshot: Snapshot) -> list[tuple[int, list[Piece]]]:
    """Return the pieces of each logical partition by its start, in the order of time."""
    clock = snapshot.metadata.clock
    found = groupby(snapshot.pieces, lambda piece: clock.floor(piece.record.timestamp))
    return [(start, list(pieces)) for start, pieces in found]


def replaces_rows(snapshot: Snapshot) -> bool:
    """Return whether rows that are inserted can replace others: by deduplication, or in a materialized view."""
    dedup = any(column.dedup_key for column in snapshot.metadata.columns)
    return dedup or (snapshot.place.data / "_mv").exists()


def _states(pieces: Iterable[Piece]) -> tuple[PieceState, ...]:
    return tuple(
        (
            piece.record.timestamp, piece.record.name_txn, piece.rows,
            _NATIVE if piece.record.parquet_size is None else piece.record.parquet_size, piece.record.squashes,
        )
        for piece in pieces
    )  # fmt: skip


def _numbers(ending: Ending | None) -> list[int]:
    return [] if ending is None else [ending.time, ending.before]
