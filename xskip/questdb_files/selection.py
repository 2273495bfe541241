"""The selection of a read: columns, a range of time and a filter. Rules: [QDB-RD], [QDB-FE]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

import pyarrow as pa

from xskip.arrow_filters import check_filter, rows_of_filter
from xskip.errors import PredicateError
from xskip.questdb_files.column_types import column_type
from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.new_rows import NewRows, RowTokens
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.row_filter import RowFilter
from xskip.questdb_files.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.dataset

__all__ = ["Chosen", "Selection", "Time", "schema_of", "ticks_of"]

#: A time of the designated timestamp, or ticks since the Unix epoch in the unit of the table.
Time = datetime | int | str
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns, the range of time and the filter to read of a snapshot."""

    snapshot: Snapshot
    #: The columns to read, each once: the selected ones, and those that the filter needs.
    columns: tuple[Column, ...]
    #: The positions of the selected columns among them.
    positions: tuple[int, ...]
    #: The half-open range of the designated timestamp in ticks.
    start: int | None
    end: int | None
    filter: RowFilter | None = None
    #: The rows that are new; None selects all.
    new: NewRows | None = None

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the columns to read."""
        return schema_of(self.snapshot, self.columns)

    @property
    def result_schema(self) -> pa.Schema:
        """Return the Arrow schema of the selected columns."""
        return schema_of(self.snapshot, [self.columns[i] for i in self.positions])

    def pieces(self) -> list[Piece]:
        """Return the pieces that can have selected rows."""
        found = list(self.snapshot.pieces.overlapping(self.start, self.end))
        found = found if self.filter is None else self.filter.pieces(found)
        return found if self.new is None else self.new.pieces(found)

    def rows(self, table: pa.Table) -> pa.Table:
        """Return the rows of a table with the columns that the filter keeps."""
        if self.filter is None:
            return table
        return rows_of_filter(self.filter.expression, table, where=str(self.snapshot.place.data))


@dataclass(frozen=True, slots=True)
class Selection:
    """The columns, the range of time and the filter to read of a table, whatever its transaction."""

    #: None selects all columns.
    columns: tuple[str, ...] | None = None
    #: The half-open range of the designated timestamp.
    start: Time | None = None
    end: Time | None = None
    filter: pyarrow.dataset.Expression | None = None
    #: The tokens between which rows are new; None selects all rows.
    tokens: RowTokens | None = None

    @property
    def has_range(self) -> bool:
        """Return whether the selection has a bound of time."""
        return self.start is not None or self.end is not None

    def of(self, snapshot: Snapshot) -> Chosen:
        """Return what the selection is in a snapshot, or raise an error if the table lacks what it names."""
        if self.has_range and snapshot.metadata.timestamp is None:
            raise PredicateError(
                "a range of time needs a designated timestamp, and the table has none", where=str(snapshot.place.data)
            )  # fmt: skip
        ticks = snapshot.metadata.clock.ticks
        selected = snapshot.metadata.columns
        if self.columns is not None:
            selected = tuple(_column(snapshot, name) for name in self.columns)
        row_filter = self._filter(snapshot)
        needed = [] if row_filter is None else [_column(snapshot, name) for name in row_filter.schema.names]
        columns = tuple(dict.fromkeys([*selected, *needed]))
        positions = tuple(columns.index(column) for column in selected)
        start, end = _bound(self.start, ticks), _bound(self.end, ticks)
        new = None if self.tokens is None else self.tokens.of(snapshot)
        return Chosen(snapshot, columns, positions, start, end, row_filter, new)

    def _filter(self, snapshot: Snapshot) -> RowFilter | None:
        if self.filter is None:
            return None
        schema, timestamp = schema_of(snapshot, snapshot.metadata.columns), snapshot.metadata.timestamp
        check_filter(self.filter, schema, where=str(snapshot.place.data))
        return RowFilter.of(self.filter, schema, None if timestamp is None else timestamp.name)


def schema_of(snapshot: Snapshot, columns: Sequence[Column]) -> pa.Schema:
    """Return the Arrow schema of columns."""
    fields = []
    for column in columns:
        of = column_type(column.type_code, column.name)
        nullable = of.nullable and column != snapshot.metadata.timestamp
        fields.append(pa.field(column.name, of.arrow, nullable))
    return pa.schema(fields)


_EXPECTED = "a datetime, a text such as 2024-03-01T12:00, or an integer in the unit of the table"


def ticks_of(time: datetime, ticks: int) -> int:
    """Return the ticks since the Unix epoch, of so many per second. A time without a zone is in UTC."""
    aware = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    return (aware - _EPOCH) // _MICROSECOND * (ticks // 1_000_000)


def _column(snapshot: Snapshot, name: str) -> Column:
    column = snapshot.metadata.column(name)
    if column is None:
        raise PredicateError(
            "the table has no column with this name", where=str(snapshot.place.data), found=name,
            expected=", ".join(c.name for c in snapshot.metadata.columns),
        )  # fmt: skip
    return column


def _bound(time: Time | None, ticks: int) -> int | None:
    if time is None:
        return None
    if isinstance(time, str):
        time = _parsed(time)
    if isinstance(time, datetime):
        return ticks_of(time, ticks)
    if not isinstance(time, SupportsIndex):
        raise PredicateError(
            "a bound of time is not a time", where="start or end", found=repr(time), expected=_EXPECTED,
        )  # fmt: skip
    return index(time)


def _parsed(text: str) -> datetime:
    """Return the time of a text in ISO 8601."""
    try:
        # Python 3.10 does not know the Z of UTC
        return datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text)
    except ValueError as error:
        raise PredicateError(
            "a bound of time is not a time", where="start or end", found=repr(text), expected=_EXPECTED,
        ) from error  # fmt: skip
