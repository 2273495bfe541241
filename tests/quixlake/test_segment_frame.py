"""DataFrames over chosen segments. Rules: [QLK-RD-1] [QLK-RD-4]."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.helpers import opened_files
from tests.quixlake.written import Place, Record, frame_of, message, messages_of, table_of, write_segment
from xskip.errors import DatasetError
from xskip.metadata.table import MetadataTable
from xskip.quixlake.location import files_below
from xskip.quixlake.segment_frame import COLUMNS, Reading, segment_frame
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.collect.relation import Dataset

DAY = dt.date(2025, 8, 21)


@pytest.fixture
def places(tmp_path: Path) -> dict[Path, Place]:
    """Write segments with two messages each, in folders with odd names."""
    lake = tmp_path / "a%20 lake#1"
    keys = ["a", "a/b", "a%2Fb", "100%", "x:y", "", "caf\u00e9 \U0001f600", "null", None, "q\"\\'"]
    found: dict[Path, Place] = {}
    for i, key in enumerate(keys):
        folder = "Key=__HIVE_DEFAULT_PARTITION__" if key is None else f"Key={key}"
        path = lake / "Raw" / "Topic=t" / folder / f"Start={DAY}" / f"s{i}.avro"
        write_segment(path, [message(2 * i), message(2 * i + 1)])
        found[path] = ("t" if i else None, key, DAY + dt.timedelta(i) if key != "" else None)
    return found


def rows_of(places: dict[Path, Place]) -> list[Record]:
    times = [message(i)["timestamp"] for i in range(2 * len(places))]
    return [
        {
            "offset": i,
            "time": dt.datetime.fromtimestamp(time / 1000, dt.timezone.utc).replace(tzinfo=None),
            "topic": place[0],
            "stream_key": place[1],
            "date": place[2],
        }
        for i, (time, place) in enumerate(zip(times, [p for p in places.values() for _ in range(2)], strict=True))
    ]


def test_the_columns_of_a_read(spark: SparkSession, places: dict[Path, Place]) -> None:
    """[QLK-RD-1]"""
    df = frame_of(spark, places)
    assert tuple(df.columns) == COLUMNS
    kinds = {field.name: field.dataType.simpleString() for field in df.schema}
    assert [kinds[name] for name in COLUMNS[6:]] == ["timestamp", "string", "string", "date"]
    found = [row.asDict() for row in df.select("offset", *COLUMNS[6:]).orderBy("offset").collect()]
    assert found == rows_of(places)
    assert messages_of(df) == [message(i) for i in range(2 * len(places))]


@pytest.mark.parametrize("condition", [
    "stream_key = 'a'", "stream_key = 'a/b'", "stream_key = 'a%2Fb'", "stream_key IS NULL", "stream_key = ''",
    "stream_key <> 'a'", "stream_key IN ('x:y', '100%')", "topic IS NULL", "date = '2025-08-23'", "date IS NULL",
    "date > '2025-08-25' AND stream_key LIKE 'n%'",
])  # fmt: skip
def test_conditions_on_partition_columns_skip_segments(
    spark: SparkSession, places: dict[Path, Place], condition: str
) -> None:
    """[QLK-RD-1]"""
    df = frame_of(spark, places)
    expected = {row.offset for row in df.filter(f"coalesce({condition}, rand() < 0)").collect()}
    filtered = df.filter(condition)
    assert 0 < len(expected) < 2 * len(places)
    assert {row.offset for row in filtered.collect()} == expected
    assert opened_files(filtered) == {f"s{offset // 2}" for offset in expected}


def test_without_an_index_conditions_on_messages_read_all_segments(
    spark: SparkSession, places: dict[Path, Place]
) -> None:
    """[QLK-RD-1]"""
    df = frame_of(spark, places)
    for condition in ("timestamp = 1755776884003", "time = TIMESTAMP '2025-08-21 11:48:04.003'", "offset = 3"):
        filtered = df.filter(condition)
        assert [row.offset for row in filtered.collect()] == [3]
        assert opened_files(filtered) == {f"s{i}" for i in range(len(places))}


def test_the_rule_knows_the_relation(spark: SparkSession, places: dict[Path, Place]) -> None:
    """[QLK-RD-1] [PRU-RD-2]"""
    dataset = Dataset(hook_of(spark), frame_of(spark, places))
    spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    spark.conf.set("spark.sql.parquet.int96TimestampConversion", "true")
    profile = dataset.read_profile()
    assert (profile.format, profile.options) == ("quixlake", {})
    assert profile.conf == {"spark.sql.caseSensitive": "false"}
    assert dataset.listing().files().names.to_pylist() == [str(path) for path in places]


def test_the_frame_keeps_to_its_segments(spark: SparkSession, places: dict[Path, Place]) -> None:
    """[QLK-RD-4]"""
    df = frame_of(spark, places)
    write_segment(next(iter(places)).with_name("new.avro"), [message(99)])
    assert df.count() == 2 * len(places)


def test_metadata_columns_and_a_cached_frame(spark: SparkSession, places: dict[Path, Place]) -> None:
    """[QLK-RD-1]"""
    df = frame_of(spark, places)
    names = {row[0] for row in df.select("_metadata.file_name").collect()}
    assert names == {path.name for path in places}
    cached = df.cache()
    assert cached.join(df, "offset").count() == 2 * len(places)
    assert df.union(df).groupBy("offset").count().filter("count = 2").count() == 2 * len(places)


def test_a_lake_on_another_file_system(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-1]"""
    path = write_segment(tmp_path / "Key=a b%2F/x y#.avro", [message(1)])
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.xskip-frame.link./base", tmp_path.as_uri())
    try:
        files = files_below(hook_of(spark), "viewfs://xskip-frame/base").files
        table = replace(table_of({path: ("t", "k", DAY)}), files=files)
        df = segment_frame(spark, hook_of(spark), table, "viewfs://xskip-frame/base", Reading())
        assert df.inputFiles() == ["viewfs://xskip-frame/base/Key=a%20b%252F/x%20y%23.avro"]
        assert messages_of(df) == [message(1)]
    finally:
        conf.unset("fs.viewfs.mounttable.xskip-frame.link./base")


def test_no_segments(spark: SparkSession, places: dict[Path, Place]) -> None:
    """[QLK-RD-1]"""
    none = table_of(places).take(pa.array([], pa.int64()))
    df = segment_frame(spark, hook_of(spark), none, "/lake", Reading())
    assert (tuple(df.columns), df.collect()) == (COLUMNS, [])


def test_a_table_that_does_not_fit(spark: SparkSession, places: dict[Path, Place]) -> None:
    table = table_of(places)
    unknown = replace(table.files, sizes=pa.nulls(len(table), pa.int64()))
    hook = hook_of(spark)
    with pytest.raises(DatasetError, match="the size of a segment is unknown"):
        segment_frame(spark, hook, replace(table, files=unknown), "/lake", Reading())
    with pytest.raises(DatasetError, match="other partition columns"):
        segment_frame(spark, hook, MetadataTable(table.files), "/lake", Reading())
