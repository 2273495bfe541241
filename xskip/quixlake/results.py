"""Results of questions about a lake: tables that print, show in notebooks and convert to Arrow and DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from xskip.results.render import count_text, human_bytes
from xskip.results.result_view import KeyValueView, ShownTable, TableView

if TYPE_CHECKING:
    import datetime

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["LakeTable", "TimeRange", "shown_key", "summarize", "times_of"]

_SHOWN = 20
_KEYS = ("topic", "stream_key")
_TIME = pa.timestamp("ms", "UTC")
#: The first and the last millisecond of Python's datetimes.
_MIN_MILLIS, _MAX_MILLIS = -62_135_596_800_000, 253_402_300_799_999


@dataclass(frozen=True, slots=True, repr=False)
class LakeTable(ShownTable):
    """A table about a lake: its topics, stream keys, partitions, segments or custom metadata.

    The text and the HTML show the totals and the first 20 rows.

    Attributes
    ----------
    what : str
        What a row stands for, as a regular plural such as ``keys``.
    table : pyarrow.Table
        The rows.
    """

    what: str
    table: pa.Table

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.table.to_batches():
            yield from batch.to_pylist()

    def __repr__(self) -> str:
        return f"LakeTable({self.headline})"

    @property
    def headline(self) -> str:
        """Return the numbers of rows, segments, bytes and messages; without those that the table does not have."""
        parts = [count_text(len(self), self.what)]
        if self.what != "segments" and "segments" in self.table.column_names:
            parts.append(count_text(self.total("segments") or 0, "segments"))
        if "bytes" in self.table.column_names:
            parts.append(human_bytes(self.total("bytes") or 0))
        if "messages" in self.table.column_names:
            messages = self.total("messages")
            parts.append("an unknown number of messages" if messages is None else count_text(messages, "messages"))
        return ", ".join(parts)

    def total(self, column: str) -> int | None:
        """Return the sum of a column, or None if a row does not have a value.

        Parameters
        ----------
        column : str
            Such as ``bytes``, ``messages`` or ``segments``.
        """
        total = pc.sum(self.table[column], skip_nulls=False, min_count=0).as_py()
        return None if total is None else int(total)

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self.table

    def to_df(self, spark: SparkSession) -> DataFrame:
        """Return the rows as a DataFrame.

        Parameters
        ----------
        spark : SparkSession
        """
        from pyspark.sql.pandas.types import from_arrow_schema

        plain = self.table.cast(pa.schema([(f.name, _spark_type(f.type)) for f in self.table.schema]))
        rows = list(zip(*(column.to_pylist() for column in plain.columns), strict=True))
        return spark.createDataFrame(rows, from_arrow_schema(plain.schema))

    def _columns(self) -> dict[str, list[Any]]:
        shown = self.table.slice(0, _SHOWN)
        found = {name: shown[name].to_pylist() for name in shown.column_names}
        return {name: [*map(shown_key, values)] if name in _KEYS else values for name, values in found.items()}

    def _caption(self) -> str:
        return f"{self.what[:1].upper()}{self.what[1:]} of the lake"

    def _lead(self) -> str:
        return self.headline

    def _table(self) -> TableView:
        return replace(ShownTable._table(self), more=max(0, len(self) - _SHOWN))


def shown_key(key: str | None) -> str:
    """Return the text of a topic or stream key in a table: null, or the key, in quotes where it could mislead.

    >>> print(shown_key(None), shown_key(""), shown_key("null"), shown_key("car 7"), shown_key(" "), shown_key("'"))
    null '' 'null' car 7 ' ' "'"
    """
    if key is None:
        return "null"
    is_plain = key.isprintable() and key == key.strip() and key not in ("", "null") and key[0] not in "'\""
    return key if is_plain else repr(key)


def _spark_type(kind: pa.DataType) -> pa.DataType:
    # Spark's timestamps are in microseconds.
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(kind) else kind


@dataclass(frozen=True, slots=True, repr=False)
class TimeRange(KeyValueView):
    """The range of time that segments claim.

    Attributes
    ----------
    start, end : datetime.datetime or None
        The least and the greatest timestamp in UTC; None if no segment claims one.
    unknown : int
        The number of segments that claim no timestamps.
    """

    start: datetime.datetime | None
    end: datetime.datetime | None
    unknown: int

    def _caption(self) -> str:
        return "Times of the segments"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [("start", self.start), ("end", self.end), ("segments without timestamps", self.unknown)]


def times_of(millis: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return milliseconds as times in UTC, null where Python has no such time."""
    within = pc.and_(pc.greater_equal(millis, _MIN_MILLIS), pc.less_equal(millis, _MAX_MILLIS))
    return pc.if_else(within, millis, pa.scalar(None, pa.int64())).cast(_TIME)


def summarize(segments: pa.Table, by: Sequence[str], *, keys: bool = False) -> pa.Table:
    """Summarize segments by columns, a row for each group in order.

    The columns are those of ``by``, ``keys`` (the number of stream keys, if ``keys``), ``segments``, ``bytes``,
    ``messages``, ``first`` and ``last`` (offsets), ``start`` and ``end`` (times in UTC).
    """
    # A sum is unknown if a part is.
    every = pc.ScalarAggregateOptions(skip_nulls=False)
    sums = [("size", "sum", every), ("rows", "sum", every)]
    ends = [("first", "min"), ("last", "max"), ("start", "min"), ("end", "max")]
    # Null is a stream key as well.
    counted = [("stream_key", "count_distinct", pc.CountOptions(mode="all"))] if keys else []
    found = segments.group_by(list(by), use_threads=False).aggregate([([], "count_all"), *sums, *ends, *counted])
    columns = {name: found[name] for name in by} | ({"keys": found["stream_key_count_distinct"]} if keys else {})
    columns |= {"segments": found["count_all"], "bytes": found["size_sum"], "messages": found["rows_sum"]}
    columns |= {"first": found["first_min"], "last": found["last_max"]}
    columns |= {"start": times_of(found["start_min"]), "end": times_of(found["end_max"])}
    return pa.table(columns).sort_by([(name, "ascending") for name in by])
