"""Measure how fast a Quix Lake is discovered, indexed, queried and written, against what Spark does without xskip.

    python benchmarks/quixlake.py [results.json] [--scale 0.1] [--only discovery,window,sink]

The lake of ``discovery`` has 100,000 segments of 500 stream keys, with descriptors. It times

* the first discovery: the stream keys with their segments, messages and bounds, from all descriptors;
* a later discovery by the same object, which lists the descriptors and reads those that have changed;
* the same stream keys, messages and bounds by Spark's Avro source, which lists the folders and opens every segment;
* a listing of all folders with a look into the header of every segment in threads, which tells less;
* the same in a loop over ``fastavro.reader``;
* the first discovery and the look into the headers again, with no file in the page cache;
* the build of the index from descriptors, by an object that remembers nothing, and from the messages of the segments.

The lake of ``window`` has a message for each second of 2,400 hours, and a segment for each hour. It times a query for
one hour by ``QuixLake.read``, and the same query by Spark's own Avro source. ``sink`` times the sink and Spark's own
partitioned Avro write with 10,000,000 messages of 200 bytes. The sink syncs its manifest and descriptors, for which a
local disk writes the segments as well; so the write is also timed with a sync at its end.
"""

from __future__ import annotations

import datetime as dt
import io
import os
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fastavro
from common import Lines, arguments, interleaved, run, scaled, session
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from xskip.quixlake import QuixLake
from xskip.quixlake.descriptors import describe
from xskip.quixlake.names import SegmentName, folder

SEGMENTS, KEYS = 100_000, 500
HOURS = 2_400
PER_HOUR = 3_600
MESSAGES = 10_000_000
HOUR = 3_600_000
#: The first millisecond of 2026-01-01 in UTC.
START = 1_767_225_600_000
SCHEMA: dict[str, Any] = {
    "type": "record", "name": "KafkaMessage", "fields": [
        {"name": "timestamp", "type": "long"},
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "headers", "type": {"type": "array", "items": {"type": "record", "name": "Header", "fields": [
            {"name": "key", "type": "string"}, {"name": "value", "type": ["string", "bytes"]}]}}},
        {"name": "value", "type": "bytes"},
        {"name": "partition", "type": "long"},
        {"name": "offset", "type": "long"},
    ]}  # fmt: skip


def write_lake(base: Path, keys: int, hours: int, rows: int = 1) -> None:
    """Write a lake with a segment for each stream key and hour, and index files of up to 1,000 descriptors.

    Parameters
    ----------
    base : pathlib.Path
    keys, hours : int
        The numbers of stream keys and of hours.
    rows : int
        The number of messages in a segment, each of 200 random bytes.
    """

    def write(number: int) -> None:
        key, described, values = f"key-{number}", [], random.Random(number)
        for hour in range(hours):
            start = START + hour * HOUR
            step = HOUR // rows
            messages = [
                {"timestamp": start + i * step, "key": key.encode(), "headers": [], "value": values.randbytes(200),
                 "partition": number, "offset": hour * rows + i}
                for i in range(rows)
            ]  # fmt: skip
            claims = SegmentName(start, start + (rows - 1) * step, number, hour * rows, hour * rows + rows - 1)
            day = dt.datetime.fromtimestamp(start / 1000, dt.timezone.utc).date()
            below = f"Raw/Topic=t/{folder('Key', key)}/Start={day}/{claims.text('snappy')}"
            out = io.BytesIO()
            fastavro.writer(out, SCHEMA, messages, "snappy")
            (base / below).parent.mkdir(parents=True, exist_ok=True)
            (base / below).write_bytes(out.getvalue())
            described.append(descriptor(below, key, claims, out.tell()))
        place = base / f"Metadata/Topic=t/{folder('Key', key)}"
        place.mkdir(parents=True, exist_ok=True)
        for first in range(0, hours, 1_000):
            data = describe(described[first : first + 1_000], exact=True)
            (place / f"index_raw_{number}_{first}.parquet").write_bytes(data)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, range(keys)))


def descriptor(below: str, key: str, claims: SegmentName, size: int) -> dict[str, Any]:
    return {
        "Path": below, "Topic": "t", "Key": key, "Partition": claims.partition, "TimestampStart": claims.start,
        "TimestampEnd": claims.end, "StartOffset": claims.first, "EndOffset": claims.last,
        "RecordCount": claims.last - claims.first + 1, "FileSizeBytes": size,
        "CreatedAt": dt.datetime(2026, 2, 1, tzinfo=dt.timezone.utc), "DeletedAt": None,
    }  # fmt: skip


def open_headers(base: Path) -> int:
    """List all folders, and read the schema in the header of every segment; return the number of segments.

    A thread takes many segments at a time: threads that share single segments are several times slower.
    """
    paths = [f"{place}/{name}" for place, _, names in os.walk(base / "Raw") for name in names if ".avro" in name]

    def headers(some: list[str]) -> None:
        for path in some:
            with open(path, "rb") as file:
                fastavro.reader(file).writer_schema  # noqa: B018 - the property parses the header

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(headers, [paths[start : start + 200] for start in range(0, len(paths), 200)]))
    return len(paths)


def open_plainly(base: Path) -> int:
    """List all folders, and open every segment in turn; return the number of segments."""
    count = 0
    for path in base.glob("Raw/**/*.avro*"):
        with open(path, "rb") as file:
            fastavro.reader(file).writer_schema  # noqa: B018 - the property parses the header
        count += 1
    return count


def evict(base: Path) -> None:
    """Remove the content of all files of a lake from the page cache, so that the disk must deliver it again."""
    for place, _, names in os.walk(base):
        for name in names:
            descriptor = os.open(f"{place}/{name}", os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def discovery(spark: SparkSession, base: Path, lines: Lines) -> None:
    keys = max(2, int(KEYS * arguments().scale))
    hours = scaled(SEGMENTS) // keys
    write_lake(base, keys, hours)

    lake = QuixLake(spark, str(base))

    def discover() -> None:
        assert len(QuixLake(spark, str(base)).keys("t")) == keys

    def discover_again() -> None:
        assert len(lake.keys("t")) == keys

    def by_spark() -> None:
        bounds = (f"{end}({column})" for column in ("timestamp", "offset") for end in ("min", "max"))
        rows = spark.read.format("avro").load(f"{base}/Raw/Topic=t").groupBy("Key")
        assert len(rows.agg(F.count("*"), *map(F.expr, bounds)).collect()) == keys

    index = QuixLake(spark, str(base)).index("t")

    def describe_index() -> None:
        QuixLake(spark, str(base)).index("t").create(progress=False)

    def build_from_messages() -> None:
        own = xskip.SkippingIndex.for_path(spark, f"{base}/Raw/Topic=t", format="avro")
        own.create([xskip.MinMax("timestamp"), xskip.MinMax("offset"), xskip.MinMax("`partition`")], progress=False)
        own.drop()

    def drop() -> None:
        if index.exists():
            index.drop()

    def headers() -> None:
        assert open_headers(base) == keys * hours

    def plainly() -> None:
        assert open_plainly(base) == keys * hours

    def nothing() -> None:
        pass

    def vanish() -> None:
        evict(base)

    os.sync()
    short = [(nothing, discover), (nothing, headers), (drop, describe_index), (nothing, discover_again)]
    discovered, opened, described, again = interleaved(short, 5, 2)
    cold = interleaved([(vanish, discover), (vanish, headers)], 3, 1)
    plain, read, data = interleaved([(nothing, plainly), (nothing, by_spark), (drop, build_from_messages)], 2, 0)
    kind = f"{keys * hours:,} segments of {keys:,} keys"
    first, later = f"{kind}: {{}} / the first discovery", f"{kind}: {{}} / a later discovery"
    lines.ratio(first.format("Spark's Avro source"), read, discovered[:2], ">= 50")
    lines.ratio(first.format("listing with headers"), opened, discovered)
    lines.ratio(first.format("listing with headers") + ", not in the page cache", cold[1], cold[0])
    lines.ratio(first.format("fastavro.reader in a loop"), plain, discovered[:2])
    lines.ratio(later.format("listing with headers"), opened, again, ">= 50")
    lines.ratio(f"{kind}: build from messages / build from descriptors", data, described[:2], ">= 20")


def window(spark: SparkSession, base: Path, lines: Lines) -> None:
    hours = scaled(HOURS)
    write_lake(base, 1, hours, PER_HOUR)
    xskip.enable(spark)
    lake = QuixLake(spark, str(base))
    start, end = START + 7 * HOUR, START + 8 * HOUR
    lake.index("t").create()

    def count(frame: DataFrame) -> None:
        assert frame.filter(f"timestamp >= {start} AND timestamp < {end}").count() == PER_HOUR

    def plain() -> None:
        xskip.disable(spark)
        count(spark.read.format("avro").load(f"{base}/Raw/Topic=t/Key=key-0"))
        xskip.enable(spark)

    runs: Sequence[Any] = [(lambda: None, lambda: count(lake.read("t"))), (lambda: None, plain)]
    skipping, without = interleaved(runs, 5, 5)
    lines.ratio(f"one hour of {hours:,}: Spark's Avro source / the lake", without, skipping, ">= 20")


def sink(spark: SparkSession, base: Path, lines: Lines) -> None:
    count = int(MESSAGES * arguments().scale)
    spark.range(count).selectExpr(
        f"{START} + id AS timestamp", "CAST(concat('key-', id % 50) AS BINARY) AS key",
        "CAST(repeat(sha2(CAST(id AS STRING), 256), 3) AS BINARY) AS value", "CAST(id % 50 % 4 AS BIGINT) AS partition",
        "id AS offset",
    ).write.parquet(f"{base}/messages")  # fmt: skip
    messages = spark.read.parquet(f"{base}/messages")
    numbers = iter(range(1_000))

    def own() -> None:
        day = "CAST(timestamp / 86400000 AS INT) AS day"
        ordered = messages.selectExpr("*", "CAST(key AS STRING) AS stream_key", day)
        ordered = ordered.repartition("stream_key", "partition", "day")
        ordered = ordered.sortWithinPartitions("stream_key", "partition", "day", "offset")
        writer = ordered.write.format("avro").partitionBy("stream_key", "partition", "day")
        writer.save(f"{base}/plain-{next(numbers)}")

    def into_lake() -> None:
        QuixLake(spark, f"{base}/lake-{next(numbers)}").write(messages, "t")

    def own_on_disk() -> None:
        own()
        os.sync()

    # the sink syncs its manifest, and with it what earlier runs have left in the page cache
    sunk, written, synced = interleaved([(os.sync, into_lake), (os.sync, own), (os.sync, own_on_disk)], 3, 1)
    lines.ratio(f"{count:,} messages: the sink / Spark's partitioned Avro write", sunk, written, "<= 1.3")
    lines.ratio(f"{count:,} messages: the sink / the same, with the files on the disk", sunk, synced)


if __name__ == "__main__":
    run({"discovery": discovery, "window": window, "sink": sink}, session())
