"""Messages for the tests of replays, their DataFrames, and the merge that defines their order."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.helpers import SPARK_4

#: The columns of a read of a lake.
COLUMNS = (
    "timestamp bigint, key binary, "
    "headers array<struct<key: string, value: struct<string: string, bytes: binary>>>, "
    "value binary, partition bigint, offset bigint, time timestamp, topic string, stream_key string, date date"
)
_HEADER = pa.struct([("key", pa.string()), ("value", pa.struct([("string", pa.string()), ("bytes", pa.binary())]))])
_ARROW = pa.schema([
    ("timestamp", pa.int64()), ("key", pa.binary()), ("headers", pa.list_(_HEADER)), ("value", pa.binary()),
    ("partition", pa.int64()), ("offset", pa.int64()), ("time", pa.timestamp("us", "UTC")), ("topic", pa.string()),
    ("stream_key", pa.string()), ("date", pa.date32()),
])  # fmt: skip
Headers = tuple[tuple[str, "str | bytes | None"], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A message in a lake."""

    partition: int
    offset: int
    timestamp: int | None
    topic: str | None = "t"
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    headers: Headers = ()

    @property
    def place(self) -> tuple[str | None, int, int]:
        return self.topic, self.partition, self.offset


def frame_of(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    """Return the DataFrame that a read of a lake with the rows has."""
    values = [_values(row) for row in rows]
    # for lists of rows, PySpark runs a job with Python workers
    data: Any = _arrow_table(values) if SPARK_4 and values else values
    return spark.createDataFrame(data, COLUMNS).repartition(3, "value", "offset")


def _arrow_table(values: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*values, strict=True)
    return pa.Table.from_arrays([pa.array(c, t) for c, t in zip(columns, _ARROW.types, strict=True)], schema=_ARROW)


def _values(row: Row) -> tuple[Any, ...]:
    headers = [(k, (v, None) if isinstance(v, str) else (None, v)) for k, v in row.headers]
    time = None if row.timestamp is None else datetime.fromtimestamp(row.timestamp / 1000, timezone.utc)
    return (
        *(row.timestamp, row.key, headers, row.value, row.partition, row.offset),
        *(time, row.topic, None if row.key is None else row.key.decode("utf-8", "replace"), None),
    )


def merged(rows: Sequence[Row]) -> list[Row]:
    """Return messages in the order of QLK-RP-1: a merge of the streams by the timestamps of their next messages.

    A message without a timestamp comes directly after its predecessor.
    """
    streams: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.offset):
        streams[row.partition, row.topic or ""].append(row)

    def head(stream: tuple[int, str], position: int) -> tuple[float, tuple[int, str], int]:
        timestamp = streams[stream][position].timestamp
        return float("-inf") if timestamp is None else timestamp, stream, position

    heads = [head(stream, 0) for stream in streams]
    heapq.heapify(heads)
    order = []
    while heads:
        _, stream, position = heapq.heappop(heads)
        order.append(streams[stream][position])
        if position + 1 < len(streams[stream]):
            heapq.heappush(heads, head(stream, position + 1))
    return order


def read_topic(spark: SparkSession, address: str, topic: str, *, text: frozenset[str] = frozenset()) -> DataFrame:
    """Return the messages of a Kafka topic with the columns of a read; the headers in ``text`` have strings."""
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", address).option("includeHeaders", "true")
    rows = source.option("subscribe", topic).load()
    names = ", ".join(f"'{name}'" for name in sorted(text | {""}))
    value = (
        f"struct(if(h.key in ({names}), cast(h.value as string), null) as string, "
        f"if(h.key in ({names}), null, h.value) as bytes)"
    )
    return rows.select(
        F.expr("unix_millis(timestamp)").alias("timestamp"),
        "key",
        F.expr(f"transform(headers, h -> struct(h.key, {value} as value))").alias("headers"),
        "value",
        F.col("partition").cast("bigint"),
        "offset",
        F.col("timestamp").alias("time"),
        "topic",
        F.col("key").cast("string").alias("stream_key"),
        F.to_date("timestamp").alias("date"),
    )
