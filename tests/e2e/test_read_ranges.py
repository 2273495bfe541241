"""Lists of files have the ranges to read, and other engines read only these. Rules: [MDS-PT-2], [STA-RG]."""

from __future__ import annotations

import io
import itertools
import random
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.e2e.parts import FORMATS, indexed, read, read_bytes, rows, write
from xskip import MinMax
from xskip.avro_container import blocks_in
from xskip.errors import DatasetError
from xskip.results.file_list import FileList

pytestmark = pytest.mark.usefixtures("small_parts")
PREDICATE = "ts >= 1000 AND ts < 1100"


@pytest.fixture(params=FORMATS)
def table(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> tuple[str, str]:
    """Return the format and the path of two files of 2,000 rows, the first with the rows of the predicate."""
    path = write(rows(spark), str(tmp_path / "t"), request.param)
    indexed(spark, path, request.param)
    return request.param, path


def lists(spark: SparkSession, table: tuple[str, str]) -> list[FileList]:
    """Return the files of the predicate, by Spark and without it."""
    fmt, path = table
    return [
        xskip.SkippingIndex.for_path(spark, path, format=fmt).files(PREDICATE),
        xskip.open_index(path).files(PREDICATE),
    ]


def test_the_ranges_are_those_of_spark(spark: SparkSession, table: tuple[str, str]) -> None:
    """[STA-RG-1] Also in the JSON, and in the size that the text has."""
    fmt, path = table
    expected = read_bytes(read(spark, path, fmt).filter(PREDICATE))
    for found in lists(spark, table):
        assert found.ranges is not None
        (ranges,) = found.ranges.to_pylist()
        assert sum(each["length"] for each in ranges) == expected < found.files.total_bytes / 4
        (file,) = found.to_json()["files"]
        assert file["ranges"] == [(each["start"], each["length"]) for each in ranges]
        assert str(found).startswith(f"1 of 2 files, {expected / 1024:.1f} KiB of ")
    whole = xskip.open_index(path).files("ts >= 0")
    assert whole.ranges is None
    assert "ranges" not in whole.to_json()["files"][0]


def test_engines_read_the_ranges(spark: SparkSession, table: tuple[str, str]) -> None:
    """[STA-RG-2]"""
    fmt, _ = table
    import polars as pl

    for found in lists(spark, table):
        frame = found.to_polars()
        kept = frame.filter((pl.col("ts") >= 1000) & (pl.col("ts") < 1100)).collect()
        assert sorted(kept["ts"].to_list()) == list(range(1000, 1100))
        count = frame.select(pl.len()).collect().item()
        assert 100 <= count < 700
        if fmt == "parquet":
            data = found.to_pyarrow()
            assert data.to_table().num_rows == count
            in_window = (ds.field("ts") >= 1000) & (ds.field("ts") < 1100)
            assert data.to_table(filter=in_window).num_rows == 100
            assert found.to_duckdb().filter(PREDICATE).aggregate("count(*), sum(ts)").fetchall() == [
                (100, sum(range(1000, 1100)))
            ]
            assert len(found.to_pandas(["ts"])) == count


def test_new_and_changed_files_are_whole(spark: SparkSession, table: tuple[str, str]) -> None:
    """[STA-RG-1]"""
    fmt, path = table
    made = xskip.SkippingIndex.for_path(spark, path, format=fmt)
    rows(spark, 50, 1).write.format(fmt).mode("append").save(path)
    for found in (made.files(PREDICATE), xskip.open_index(path).files(PREDICATE)):
        assert found.ranges is not None
        assert sorted(found.ranges.is_null().to_pylist()) == [False, True]
        assert sum(1 for _ in found.to_polars().collect().rows()) >= 150
    first = next(Path(path).glob(f"*.{fmt}"))
    first.touch()
    for found in (made.files("ts < 10"), xskip.open_index(path).files("ts < 10")):
        assert found.ranges is None or None in found.ranges.to_pylist()


def test_no_ranges(spark: SparkSession, table: tuple[str, str]) -> None:
    """[STA-RG-1] A predicate that no index answers, and a file of which no part can match."""
    _, path = table
    assert xskip.open_index(path).files("s IS NOT NULL").ranges is None
    # each file can match by its bounds, and no part
    none = xskip.open_index(path).files("ts > 5 AND h = 1")
    assert none.ranges is None or all(each == [] for each in none.ranges.to_pylist())
    assert none.to_polars().collect().is_empty()


@pytest.mark.parametrize("codec", ["uncompressed", "deflate", "snappy"])
def test_files_of_which_no_part_is_read(spark: SparkSession, tmp_path: Path, codec: str) -> None:
    """[STA-RG-2] Polars cannot read a compressed file without blocks; here, and where no row was written."""
    path = str(tmp_path / "t")
    options = {"compression": codec, "avro.mapred.sync.interval": "500"}
    pairs = spark.range(0, 4000, 1, 1).selectExpr("id AS ts", "id AS k")
    pairs.write.format("avro").options(**options).save(path)
    pairs.filter("ts < 0").write.format("avro").options(**options).mode("append").save(path)
    made = indexed(spark, path, "avro", [MinMax("ts"), MinMax("k")])
    for found in (made.files("ts < 100 AND k > 3900"), xskip.open_index(path).files("ts < 100 AND k > 3900")):
        assert found.ranges is not None
        assert [] in found.ranges.to_pylist()
        assert found.to_polars().collect().is_empty()
    assert made.files("ts >= 0 OR k IS NULL").to_polars().collect().height == 4000


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_each_block_is_in_one_range(codec: str) -> None:
    """[MDS-PT-2] Of random ranges that cover a file; markers can begin at any byte of a range."""
    random.seed(5)
    schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]})
    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, [{"a": i} for i in range(2000)], codec=codec, sync_interval=200)
    data = buffer.getvalue()
    size = len(data)

    def numbers(ranges: list[tuple[int, int]]) -> list[int]:
        found = blocks_in(lambda start, length: data[start : start + length], size, ranges)
        rows_found: list[Any] = list(fastavro.reader(io.BytesIO(found)))
        return [row["a"] for row in rows_found]

    assert numbers([(0, size)]) == list(range(2000))
    assert numbers([]) == []
    for _ in range(60):
        edges = sorted({0, size, *(random.randrange(size) for _ in range(random.randrange(1, 9)))})
        ranges = [(start, end - start) for start, end in itertools.pairwise(edges)]
        assert numbers(ranges) == list(range(2000))
        assert [number for each in ranges for number in numbers([each])] == list(range(2000))


def test_a_damaged_header(spark: SparkSession) -> None:
    for data in (b"", b"Obj", b"Obj\x01\x00", b"PAR1" + b"\x00" * 40):
        with pytest.raises((DatasetError, ValueError, LookupError)):
            blocks_in(lambda start, length, data=data: data[start : start + length], len(data), [(0, 1)])  # type: ignore[misc]
