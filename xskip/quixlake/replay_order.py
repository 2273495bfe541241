"""The order and the times of a replay, which Spark computes as columns. Rules: QLK-RP-1, QLK-RP-3, QLK-RP-4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xskip.errors import DatasetError
from xskip.results.render import count_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["ORDER", "PACE", "Stream", "StreamId", "after", "check_columns", "in_order", "streams_of", "with_times"]

#: The topic and the partition of a stream.
StreamId = tuple[str | None, int]

#: The columns that hold the running maximum of the timestamps, and this maximum without long gaps.
REACHED = "_reached"
PACE = "_pace"
#: The sort keys of a replay.
ORDER = (REACHED, "partition", "topic", "offset")

_TYPES = {
    "timestamp": "bigint",
    "key": "binary",
    "headers": "array<struct<key:string,value:struct<string:string,bytes:binary>>>",
    "value": "binary",
    "partition": "bigint",
    "offset": "bigint",
    "topic": "string",
}


@dataclass(frozen=True, slots=True)
class Stream:
    """The messages of a partition of a topic."""

    topic: str | None
    partition: int
    messages: int
    #: The bytes of keys and values.
    size: int
    last_offset: int
    #: The timestamp of the message with the least offset among those that have a timestamp.
    first_timestamp: int | None

    @property
    def identity(self) -> StreamId:
        """Return the topic and the partition."""
        return self.topic, self.partition


def check_columns(df: DataFrame) -> None:
    """Check that a DataFrame has the columns of a read that a replay needs."""
    types = {field.name: field.dataType.simpleString() for field in df.schema.fields}
    wrong = {name: types.get(name, "no such column") for name in _TYPES if types.get(name) != _TYPES[name]}
    if wrong:
        raise DatasetError(
            "the DataFrame does not have the columns of a read of a lake",
            found=", ".join(f"{name}: {kind}" for name, kind in wrong.items()),
            expected=", ".join(f"{name}: {_TYPES[name]}" for name in wrong),
        )


def streams_of(df: DataFrame) -> tuple[Stream, ...]:
    """Return the streams of a selection, by one aggregation."""
    from pyspark.sql import functions as F

    size = F.coalesce(F.octet_length("key"), F.lit(0)) + F.coalesce(F.octet_length("value"), F.lit(0))
    rows = df.groupBy("topic", "partition").agg(
        F.count(F.lit(1)).alias("messages"),
        F.count("offset").alias("offsets"),
        F.sum(size.cast("bigint")).alias("size"),
        F.max("offset").alias("last"),
        F.expr("min_by(timestamp, if(timestamp is null, null, offset))").alias("first"),
    )
    found = rows.collect()
    # A message without partition or offset has no place in the order [QLK-RP-1].
    unknown = sum(r.messages if r.partition is None else r.messages - r.offsets for r in found)
    if unknown:
        raise DatasetError(
            "a replay needs the partition and the offset of every message",
            found=f"{count_text(unknown, 'messages')} without one of them",
            hint="filter these messages out",
        )
    return tuple(Stream(r.topic, r.partition, r.messages, r.size, r["last"], r["first"]) for r in found)


def with_times(df: DataFrame, max_gap_ms: int | None, timestamp: Column) -> DataFrame:
    """Add the columns of the order and the pace, and replace the timestamps.

    The new ``timestamp`` is computed from the column ``timestamp``, and from ``_removed``, the milliseconds of the gaps
    before the message that the replay leaves out. With ``max_gap_ms`` None, it leaves out none.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    stream = Window.partitionBy("topic", "partition").orderBy("offset")
    running = stream.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # Sorted by ``ORDER``, the messages are in the order of QLK-RP-1. Proof: let t(m) be the timestamp of a message,
    # s(m) its stream, and M(m) the running maximum of the timestamps of the stream up to m; a null timestamp is less
    # than all others, as in Spark's order. Let the merge send m while q is the next message of another stream.
    # * If t(m) = M(m), then (M(q), s(q)) >= (t(q), s(q)) > (t(m), s(m)) = (M(m), s(m)).
    # * Otherwise a message p before m in its stream has t(p) = M(m). When the merge sent p, the next message of every
    #   other stream had a greater (t, s) than (M(m), s(m)). From p to m, the timestamps of this stream are at most
    #   M(m), so that the merge has sent only messages of this stream, and q is the next message of its stream since
    #   then. Again (M(q), s(q)) >= (t(q), s(q)) > (M(m), s(m)).
    # So m has the least (M, s) of all next messages. Because M never decreases in a stream, m has the least (M, s,
    # offset) of all messages that the merge has not sent.
    rows = df.withColumn(REACHED, F.max("timestamp").over(running))
    removed = rows.withColumn("_removed", F.lit(0).cast("bigint")) if max_gap_ms is None else _gaps(rows, max_gap_ms)
    timed = removed.withColumn(PACE, F.col(REACHED) - F.col("_removed")).withColumn(
        "original_timestamp", F.col("timestamp")
    )
    timed = timed.withColumn("timestamp", timestamp.cast("bigint"))
    if "time" in df.columns:
        timed = timed.withColumn("time", F.timestamp_millis("timestamp"))
    return timed.select(*df.columns, "original_timestamp", REACHED, PACE)


def _gaps(rows: DataFrame, maximum: int) -> DataFrame:
    """Add ``_removed``, the sum of what the gaps before a message exceed the maximum by."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    # Two values in one bucket of a width of ``maximum`` differ by less than it, so that a longer gap lies between the
    # greatest value of a bucket and the least of the next one. Only one row per bucket goes through a single task.
    bucket = F.expr(f"{REACHED} - pmod({REACHED}, {max(maximum, 1)}L)")
    in_buckets = rows.withColumn("_bucket", bucket)
    spans = in_buckets.where(F.col("_bucket").isNotNull()).groupBy("_bucket")
    ends = spans.agg(F.min(REACHED).alias("_least"), F.max(REACHED).alias("_greatest"))
    order = Window.orderBy("_bucket")
    gap = F.col("_least") - F.lag("_greatest").over(order)
    excess = F.greatest(F.coalesce(gap, F.lit(0)) - F.lit(maximum), F.lit(0))
    before = ends.withColumn("_excess", excess).select("_bucket", F.sum("_excess").over(order).alias("_removed"))
    joined = in_buckets.join(before, "_bucket", "left")
    return joined.withColumn("_removed", F.coalesce("_removed", F.lit(0)))


def after(df: DataFrame, confirmed: Mapping[StreamId, int]) -> DataFrame:
    """Return the messages with greater offsets than those that the target has confirmed."""
    from pyspark.sql import functions as F

    if not confirmed:
        return df
    known = df.sparkSession.createDataFrame(
        [(topic, partition, offset) for (topic, partition), offset in confirmed.items()],
        "_topic string, _partition bigint, _confirmed bigint",
    )
    same = F.col("topic").eqNullSafe(F.col("_topic")) & (F.col("partition") == F.col("_partition"))
    joined = df.join(F.broadcast(known), same, "left")
    return joined.where("_confirmed is null or offset > _confirmed").select(*df.columns)


def in_order(df: DataFrame, streams: Sequence[Stream], chunk: int) -> DataFrame:
    """Sort messages by ``ORDER`` in partitions of about ``chunk`` bytes, which fit into the driver's memory."""
    # Spark's objects of a row take some 100 bytes beside the key and the value
    size = sum(stream.size + 100 * stream.messages for stream in streams)
    return df.repartitionByRange(size // chunk + 1, *ORDER).sortWithinPartitions(*ORDER)
