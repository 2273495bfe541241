"""Scans that read only ranges of large files, by statistics of parts. Rules: [PLN-RG], [MDS-PT]."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.e2e.parts import (
    FORMATS,
    PART,
    RANGES,
    indexed,
    input_ranges,
    joined,
    plain,
    read,
    read_bytes,
    rows,
    snapshot_of,
    write,
)  # fmt: skip
from xskip import (
    BloomFilter,
    Formatted,
    GeoBox,
    Hybrid,
    LocalKms,
    MinMax,
    NullCount,
    SkippingIndex,
    ValueList,
)  # fmt: skip
from xskip.api import arguments
from xskip.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("small_parts")


@pytest.fixture(params=["v1", "v2"])
def api(request: pytest.FixtureRequest, spark: SparkSession) -> str:
    """Read by both data source APIs."""
    if request.param == "v2":
        spark.conf.set("spark.sql.sources.useV1SourceList", "")
    return str(request.param)


# --- what a scan reads --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_scan_reads_the_parts_that_can_match(spark: SparkSession, tmp_path: Path, api: str, fmt: str) -> None:
    """[PLN-RG-1] [PLN-RG-2] [PLN-RG-3] [MDS-PT-5] The ranges are those of the parts, and no others."""
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), fmt)
    made = indexed(spark, path, fmt)
    parts = snapshot_of(made).parts()
    assert parts is not None
    (ranges,) = parts.ranges.to_pylist()
    assert len(ranges) > 8
    starts = [sum(r["rows"] for r in ranges[:i]) for i in range(len(ranges))]
    for low, high in [(0, 10), (1500, 1700), (3990, 4000), (0, 4000)]:
        query = read(spark, path, fmt).filter(f"ts >= {low} AND ts < {high}")
        hit = [
            (r["start"], r["start"] + r["length"])
            for r, first in zip(ranges, starts, strict=True)
            if first < high and first + r["rows"] > low
        ]
        found = sorted((start, start + length) for _, start, length in input_ranges(query))
        assert joined(found) == joined(hit)
        assert query.count() == high - low


FILTERS = [
    "ts = 1234", "ts < 0", "ts >= 0", "h = xxhash64(3210L)", "v = 5 AND ts > 3000", "s LIKE 'word33 %'", "x IS NULL",
    "x > 3499", "ts IN (1, 2000, 3999)", "NOT (ts < 3900)", "ts < 100 OR h = xxhash64(3999L)", "s = 'word12 of 1'",
    "x IS NOT NULL AND ts > 3400", "ts BETWEEN 10 AND 20 AND v = 11",
]  # fmt: skip


@pytest.mark.parametrize("fmt", FORMATS)
def test_results_are_those_of_whole_files(spark: SparkSession, tmp_path: Path, api: str, fmt: str) -> None:
    """[PLN-RG-1] Rows and their order within a file; some filters must leave out parts of kept files."""
    path = write(rows(spark), str(tmp_path / "t"), fmt)
    indexed(spark, path, fmt)
    cut = 0
    for text in FILTERS:

        def query(text: str = text) -> list[Any]:
            return [tuple(row) for row in read(spark, path, fmt).filter(text).collect()]

        df = read(spark, path, fmt).filter(text)
        whole = {name: os.path.getsize(Path(path, name)) for name, _, _ in input_ranges(df)}
        cut += read_bytes(df) < sum(whole.values())
        expected = plain(spark, query)
        assert sorted(query(), key=str) == sorted(expected, key=str), text
        assert [row for row in query() if row[0] < 2000] == [row for row in expected if row[0] < 2000], text
    assert cut >= 8


@pytest.mark.parametrize("fmt", FORMATS)
def test_rewrites_and_joins_read_ranges(spark: SparkSession, tmp_path: Path, api: str, fmt: str) -> None:
    """[PLN-RG-1] LIMIT, ORDER BY, aggregates, joins, subqueries, caches and writes return what they return without."""
    path = write(rows(spark).selectExpr("*", "ts % 2 = 0 AS p"), str(tmp_path / "t"), fmt, "p")
    indexed(spark, path, fmt)
    read(spark, path, fmt).createOrReplaceTempView("t")
    queries = [
        "SELECT count(*), sum(x), max(s) FROM t WHERE ts BETWEEN 500 AND 700",
        "SELECT * FROM t WHERE ts > 3000 ORDER BY ts DESC LIMIT 5",
        "SELECT v, count(*) FROM t WHERE ts < 600 AND p GROUP BY v ORDER BY v",
        "SELECT a.ts, b.s FROM t a JOIN t b ON a.ts = b.ts + 1 WHERE a.ts BETWEEN 100 AND 110 ORDER BY 1",
        "SELECT ts FROM t WHERE ts IN (SELECT ts + 5 FROM t WHERE h = xxhash64(77L)) ORDER BY 1",
        "SELECT ts FROM t WHERE ts = (SELECT max(ts) FROM t WHERE v = 3) ",
        "SELECT count(*) FROM (SELECT * FROM t WHERE ts > 3900 LIMIT 50)",
        "SELECT ts, p FROM t WHERE h = xxhash64(1001L) UNION ALL SELECT ts, p FROM t WHERE h = xxhash64(4L) ORDER BY 1",
    ]
    for text in queries:

        def query(text: str = text) -> list[Any]:
            return [tuple(row) for row in spark.sql(text).collect()]

        expected = plain(spark, query)
        for adaptive in ("true", "false"):
            spark.conf.set("spark.sql.adaptive.enabled", adaptive)
            assert query() == expected, text


def test_the_row_index_is_that_of_the_file(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-RG-1]"""
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), "parquet")
    indexed(spark, path, "parquet")
    df = read(spark, path, "parquet").filter("h = xxhash64(3210L)").selectExpr("ts", "_metadata.row_index")
    assert read_bytes(df) < os.path.getsize(next(Path(path).glob("*.parquet"))) / 4
    assert [tuple(row) for row in df.collect()] == [(3210, 3210)]


# --- where a scan reads whole files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shown",
    ["input_file_block_start()", "input_file_block_length()", "_metadata.file_block_start", "_metadata"],
)
@pytest.mark.parametrize("fmt", FORMATS)
def test_queries_that_show_ranges(spark: SparkSession, tmp_path: Path, fmt: str, shown: str) -> None:
    """[PLN-RG-4]"""
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), fmt)
    indexed(spark, path, fmt)

    def query() -> list[Any]:
        return read(spark, path, fmt).filter("ts = 1234").selectExpr("ts", f"{shown} AS shown").collect()

    assert query() == plain(spark, query)
    df = read(spark, path, fmt).filter("ts = 1234").selectExpr("ts", f"{shown} AS shown")
    assert read_bytes(df) == size(path, fmt)
    other = read(spark, path, fmt).filter("ts = 1234").selectExpr("ts", "_metadata.file_path")
    assert read_bytes(other) < size(path, fmt) / 4


def size(path: str, fmt: str) -> int:
    return sum(file.stat().st_size for file in Path(path).glob(f"*.{fmt}"))


@pytest.mark.parametrize("fmt", FORMATS)
def test_settings_and_options_that_read_whole_files(spark: SparkSession, tmp_path: Path, api: str, fmt: str) -> None:
    """[PLN-RG-1] [PLN-RG-4]"""
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), fmt)
    indexed(spark, path, fmt)
    assert read_bytes(read(spark, path, fmt).filter("ts = 5")) < size(path, fmt) / 4
    spark.conf.set(RANGES, "false")
    assert read_bytes(read(spark, path, fmt).filter("ts = 5")) == size(path, fmt)
    spark.conf.unset(RANGES)
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    assert read_bytes(read(spark, path, fmt).filter("ts = 5")) == size(path, fmt)
    spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_changed_file_is_read_whole(spark: SparkSession, tmp_path: Path, api: str, fmt: str) -> None:
    """[PLN-RG-1] [JVM-AN-2]"""
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), fmt)
    indexed(spark, path, fmt)
    (file,) = Path(path).glob(f"*.{fmt}")
    os.utime(file, (1, 1))
    df = read(spark, path, fmt).filter("ts = 5")
    assert (read_bytes(df), df.count()) == (size(path, fmt), 1)


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_file_that_was_rewritten_since_its_listing(spark: SparkSession, tmp_path: Path, api: str, fmt: str) -> None:
    """[PLN-RG-6] A kept DataFrame has the former size and time of the file."""
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), fmt)
    indexed(spark, path, fmt)
    df = read(spark, path, fmt).filter("ts BETWEEN 1000 AND 1100")
    assert df.count() == 101
    other = write(rows(spark, tasks=1).filter("ts >= 900"), str(tmp_path / "other"), fmt)
    (file,), (new,) = (Path(folder).glob(f"*.{fmt}") for folder in (path, other))
    file.with_name(f".{file.name}.crc").unlink()
    file.write_bytes(new.read_bytes())
    assert df.count() == plain(spark, df.count)


def test_near_ranges_are_one(spark: SparkSession, tmp_path: Path, api: str) -> None:
    """[PLN-RG-2] Spark's cost of opening a file is that of a gap between two ranges."""
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), "parquet")
    indexed(spark, path, "parquet")
    text = "ts IN (100, 300, 3000)"
    for cost, count in {"0": 3, "20000": 2, "4MB": 1}.items():
        spark.conf.set("spark.sql.files.openCostInBytes", cost)
        found = input_ranges(read(spark, path, "parquet").filter(text))
        assert len(joined(sorted((start, start + length) for _, start, length in found))) == count
    assert read_bytes(read(spark, path, "parquet").filter("ts IN (0, 300, 3999)")) == size(path, "parquet")


@pytest.mark.parametrize(
    "settings",
    [
        {"openCostInBytes": "0", "minPartitionNum": "300"}, {"openCostInBytes": "1", "maxPartitionBytes": "900"},
        {"openCostInBytes": "1000", "maxPartitionBytes": "5000", "maxPartitionNum": "2"},
        {"openCostInBytes": "0", "minPartitionNum": "50"}, {"minPartitionNum": "1", "maxPartitionBytes": "700"},
    ],
    ids=str,
)  # fmt: skip
def test_odd_settings_of_tasks(spark: SparkSession, tmp_path: Path, api: str, settings: dict[str, str]) -> None:
    """[PLN-RG-2] No more tasks than Spark has for whole files, and the ranges of a file in their order."""
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), "avro")
    indexed(spark, path, "avro")
    for name, value in settings.items():
        spark.conf.set(f"spark.sql.files.{name}", value)
    for text in ("ts = 1234", "ts < 60 OR ts BETWEEN 1000 AND 2000", "ts IN (5, 900, 1900, 2900, 3900)"):

        def query(text: str = text) -> tuple[int, list[int]]:
            df = read(spark, path, "avro").filter(text)
            return df.rdd.getNumPartitions(), [row.ts for row in df.collect()]

        (tasks, found), (whole, expected) = query(), plain(spark, query)
        assert found == sorted(expected)
        assert tasks <= whole + 1
    for name in settings:
        spark.conf.unset(f"spark.sql.files.{name}")


def test_a_failure_reads_whole_files(
    spark: SparkSession, tmp_path: Path, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PLN-RG-1] [JVM-AN-6] An error of Python, and a malformed section."""
    from xskip.engine.scan_units import FileRanges, ScanParts

    path = write(rows(spark, tasks=1), str(tmp_path / "t"), "parquet")
    indexed(spark, path, "parquet")

    def fail(*_: object) -> None:
        raise ValueError("unexpected")

    monkeypatch.setattr(ScanParts, "ranges", fail)
    df = read(spark, path, "parquet").filter("ts = 5")
    assert (read_bytes(df), df.count()) == (size(path, "parquet"), 1)
    monkeypatch.undo()
    monkeypatch.setattr(arguments, "LEAST_PART", 1)
    for i, content in enumerate((b"", b"\x00", b"\x00" + b"\xff" * 8, b"\x00" + b"\x05" + b"\x00" * 7 + b"\x01")):
        monkeypatch.setattr(FileRanges, "to_bytes", lambda _, content=content: content)
        df = read(spark, path, "parquet").filter(f"ts = {100 + i}")
        assert (read_bytes(df), df.count()) == (size(path, "parquet"), 1)


def test_bucketed_tables_are_read_whole(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-RG-2]"""
    spark.sql("DROP TABLE IF EXISTS bucketed")
    try:
        rows(spark).write.bucketBy(2, "v").option("path", str(tmp_path / "t")).saveAsTable("bucketed")
        SkippingIndex.for_table(spark, "bucketed").create([MinMax("ts")], parts=100)

        def query() -> list[Any]:
            text = "SELECT v, count(*) FROM bucketed WHERE ts < 500 GROUP BY v ORDER BY v"
            return [tuple(row) for row in spark.sql(text).collect()]

        assert query() == plain(spark, query)
    finally:
        spark.sql("DROP TABLE IF EXISTS bucketed")


def test_a_report_counts_the_bytes_outside(spark: SparkSession, tmp_path: Path, api: str) -> None:
    """[PLN-RG-5]"""
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), "parquet")
    indexed(spark, path, "parquet")
    df = read(spark, path, "parquet").filter("h = xxhash64(1234L)")
    expected = read_bytes(df)
    assert df.count() == 1
    report = xskip.last_report(spark)
    assert report is not None
    (scan,) = report.scans
    assert (scan.files, scan.kept, scan.kept_bytes) == (1, 1, expected)
    assert 0 < expected < size(path, "parquet") / 4


# --- builds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_build_with_parts_finds_what_a_build_without_finds(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[MDS-PT-2] [JVM-AC-4] The statistics of files, and the parts have all rows."""
    path = write(rows(spark), str(tmp_path / "t"), fmt)
    made = indexed(spark, path, fmt, parts=None)
    before = snapshot_of(made).load()
    assert before.parts is None
    made.drop()
    indexed(spark, path, fmt)
    after = snapshot_of(made).load()
    assert after.parts is not None
    assert after.counts is not None
    assert before.counts is not None
    assert (after.counts.rows, after.counts.nulls) == (before.counts.rows, before.counts.nulls)
    for key, column in before.indexes.items():
        found = [sorted(v) if isinstance(v, list) and key[0] == "valuelist" else v for v in column.values.to_pylist()]
        now = after.indexes[key].values.to_pylist()
        now = [sorted(v) if isinstance(v, list) and key[0] == "valuelist" else v for v in now]
        if key[0] != "gaplist":  # its ranges depend on the order in which it meets the values
            assert now == found, key
    for ranges, count, file in zip(
        after.parts.ranges.to_pylist(), after.counts.rows.to_pylist(), after.files.sizes.to_pylist(), strict=True
    ):
        assert sum(r["rows"] for r in ranges) == count
        assert ranges[-1]["start"] + ranges[-1]["length"] <= file
    assert set(after.parts.values) == set(after.indexes)


@pytest.mark.parametrize("kind", ["bounds", "beside a list"])
def test_footers_have_the_bounds_of_row_groups(spark: SparkSession, tmp_path: Path, kind: str, api: str) -> None:
    """[MDS-PT-2] [MDS-PT-5] From the footer alone, the parts are those that a build from rows finds."""
    path = write(rows(spark), str(tmp_path / "t"), "parquet")
    found: list[tuple[pa.Array, dict[Any, pa.Array]]] = []
    for footers in ("true", "false"):
        spark.conf.set("spark.xskip.build.footers", footers)
        kinds = [MinMax("ts"), MinMax("v"), MinMax("s")] + ([ValueList("v")] if kind != "bounds" else [])
        made = indexed(spark, path, "parquet", kinds)
        parts = snapshot_of(made).parts()
        assert parts is not None
        assert (parts.counts > 8).all()
        assert made.describe().parts == parts.counts.sum()
        assert f"parts of files  {parts.counts.sum()}" in str(made.describe())
        found.append((parts.ranges, {key: values for key, values in parts.values.items() if key[0] == "minmax"}))
        query = read(spark, path, "parquet").filter("ts BETWEEN 1000 AND 1010")
        assert (read_bytes(query) < size(path, "parquet") / 4, query.count()) == (True, 11)
        made.drop()
    assert found[0] == found[1]


def test_which_files_have_parts(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-PT-5] By default only files of 32 MiB and more; a refresh divides new files as the index does."""
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), "avro")
    made = indexed(spark, path, "avro", [MinMax("ts")], "auto")
    assert snapshot_of(made).parts() is None
    assert not made.ensure([MinMax("ts")]).changed
    assert made.ensure([MinMax("ts")], parts=PART).reread == ("the parts of files get another size",)
    assert not made.ensure([MinMax("ts")]).changed
    write(rows(spark, 3000, 1), str(tmp_path / "more"), "avro")
    next((tmp_path / "more").glob("*.avro")).rename(Path(path, "more.avro"))
    made.refresh()
    parts = snapshot_of(made).parts()
    assert parts is not None
    assert (parts.counts > 4).tolist() == [True, True]
    assert made.add([BloomFilter("h"), NullCount("s")]).unchanged == 2
    parts = snapshot_of(made).parts()
    assert parts is not None
    assert all(values.null_count == 0 for values in parts.values.values())
    assert len(parts.values) == 3
    assert made.ensure([MinMax("ts")], parts=None).changed
    assert snapshot_of(made).parts() is None


@pytest.mark.parametrize("parts", ["", "4", "1.5MB", "-1", 0, -5, True, 1.0, b"8MB", "none", "1 parsec"])
def test_wrong_sizes(spark: SparkSession, tmp_path: Path, parts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "LEAST_PART", 64 << 10)
    made = SkippingIndex.for_path(spark, str(tmp_path))
    with pytest.raises(ArgumentError, match="parts has an invalid value"):
        made.create([MinMax("a")], parts=parts)


def test_encrypted_parts(spark: SparkSession, tmp_path: Path) -> None:
    """[ENC-L-5]"""
    keys = {"k": b"0" * 16, "footer": b"1" * 16}
    xskip.use_kms(LocalKms(keys))
    spark.conf.set("spark.xskip.encryption.footer.key", "footer")
    try:
        path = write(rows(spark, tasks=1), str(tmp_path / "t"), "avro")
        indexed(spark, path, "avro", [MinMax("ts", key_label="k"), BloomFilter("h")])
        assert read_bytes(read(spark, path, "avro").filter("ts = 5")) < size(path, "avro") / 4
        xskip.use_kms(LocalKms({"footer": keys["footer"]}))
        xskip.disable(spark)
        xskip.enable(spark)
        df = read(spark, path, "avro").filter("ts = 7")
        assert df.count() == 1
    finally:
        xskip.use_kms(None)


# --- random files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_blocks_of_other_writers(spark: SparkSession, tmp_path: Path, codec: str) -> None:
    """[MDS-PT-2] Avro files of fastavro with small, empty and large blocks; each value is found, alone and in pairs."""
    rng = random.Random(codec)
    root = tmp_path / "t"
    root.mkdir()
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}, {"name": "s", "type": "string"}]}
    with (root / "f.avro").open("w+b") as file:
        writer = fastavro.write.Writer(file, fastavro.parse_schema(schema), codec=codec, sync_interval=1 << 20)
        for value in range(300):
            writer.write({"a": value, "s": os.urandom(rng.choice([0, 3, 200])).hex()})
            if rng.random() < 0.3:
                writer.flush()
                if rng.random() < 0.2:
                    writer.dump()  # an empty block
        writer.flush()
    path = str(root)
    made = indexed(spark, path, "avro", [ValueList("a")], 97)
    parts = snapshot_of(made).parts()
    assert parts is not None
    assert parts.counts[0] > 20
    wholes = size(path, "avro")
    for low in range(0, 300, 25):
        chosen = [low, *rng.sample(range(300), 2)]
        df = read(spark, path, "avro").filter(f"a IN ({', '.join(map(str, chosen))})")
        assert sorted(row.a for row in df.collect()) == sorted(set(chosen))
        assert read_bytes(df) < wholes


def test_row_groups_of_arrow(spark: SparkSession, tmp_path: Path, api: str) -> None:
    """[MDS-PT-2]"""
    root = tmp_path / "t"
    root.mkdir()
    table = pa.table({"a": list(range(2000)), "s": [os.urandom(8).hex() for _ in range(2000)]})
    pq.write_table(table, root / "f.parquet", row_group_size=37)
    indexed(spark, str(root), "parquet", [BloomFilter("s")], 500)
    rng = random.Random(1)
    for i in rng.sample(range(2000), 12):
        df = read(spark, str(root), "parquet").filter(f"s = '{table['s'][i]}'")
        assert [row.a for row in df.collect()] == [i]
        assert read_bytes(df) < size(str(root), "parquet") / 4


@pytest.mark.parametrize("kind", ["bounds", "list"])
def test_row_groups_without_pages(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """[MDS-PT-5] Arrow writes no page of a row group without rows if it has no dictionary."""
    root = tmp_path / "t"
    root.mkdir()
    table = pa.table({"a": list(range(1000))})
    with pq.ParquetWriter(root / "f.parquet", table.schema, use_dictionary=False, compression="none") as writer:
        writer.write_table(table.slice(0, 0))
        for start in range(0, 1000, 100):
            writer.write_table(table.slice(start, 100))
            if start in (0, 300):
                writer.write_table(table.slice(0, 0))
    path = str(root)
    made = indexed(spark, path, "parquet", [MinMax("a") if kind == "bounds" else ValueList("a")], 400)
    assert (made.describe().parts or 0) > 5
    for value in (0, 99, 100, 399, 400, 999):
        df = read(spark, path, "parquet").filter(f"a = {value}")
        assert ([row.a for row in df.collect()], read_bytes(df) < size(path, "parquet") / 4) == ([value], True)
        found = made.files(f"a = {value}").to_pyarrow().to_table()["a"].to_pylist()
        assert value in found
        assert len(found) == 100
    assert made.validate().wrong == ()


@pytest.mark.parametrize("writer", ["polars", "duckdb"])
def test_row_groups_of_other_engines(spark: SparkSession, tmp_path: Path, writer: str) -> None:
    """[MDS-PT-2] Each value of some is found, by bounds from the footer and by lists from the rows."""
    root = tmp_path / "t"
    root.mkdir()
    table = pa.table({"ts": pa.array(range(20_000), pa.int64()), "v": pa.array([i % 7919 for i in range(20_000)])})
    if writer == "polars":
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        frame.write_parquet(root / "f.parquet", row_group_size=2500)
    else:
        duckdb.from_arrow(table).write_parquet(str(root / "f.parquet"), row_group_size=2048)
    path = str(root)
    for kinds in ([MinMax("ts")], [ValueList("v"), MinMax("ts")]):
        made = indexed(spark, path, "parquet", kinds, 1000)
        assert (made.describe().parts or 0) > 5
        for low in (0, 2047, 2048, 2499, 2500, 9999, 19_999):
            df = read(spark, path, "parquet").filter(f"ts = {low}")
            assert [(row.ts, row.v) for row in df.collect()] == [(low, low % 7919)]
            assert read_bytes(df) < size(path, "parquet") / 2
        made.drop()


def test_index_types_with_parts(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-PT-5] Boxes, forms and lists that become filters, beside those of the other tests."""
    path = write(rows(spark, tasks=1).selectExpr("*", "CAST(ts AS double) AS lon"), str(tmp_path / "t"), "avro")
    for kind, text in [
        (GeoBox("lon", "v"), "lon BETWEEN 100 AND 120 AND v > 3"),
        (Formatted("s", r"word(\d+) of"), "regexp_extract(s, 'word(\\\\d+) of', 1) = '33'"),
        (Hybrid("h"), "h = xxhash64(3210L)"),
    ]:
        made = indexed(spark, path, "avro", [kind])
        df = read(spark, path, "avro").filter(text)
        assert sorted(df.select("ts").collect()) == sorted(plain(spark, df.select("ts").collect))
        assert 0 < read_bytes(df) < size(path, "avro") / 4, text
        made.drop()


def test_writes_from_ranges(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-RG-1] A table and a directory that are written from parts have the rows of the filter."""
    path = write(rows(spark), str(tmp_path / "t"), "parquet")
    indexed(spark, path, "parquet")
    read(spark, path, "parquet").createOrReplaceTempView("t")
    spark.sql(f"CREATE TABLE made USING parquet LOCATION '{tmp_path}/made' AS SELECT * FROM t WHERE ts < 700")
    try:
        assert spark.table("made").count() == 700
        spark.sql("INSERT OVERWRITE made SELECT * FROM (SELECT * FROM t WHERE ts >= 3000 LIMIT 40)")
        assert spark.table("made").count() == 40
        read(spark, path, "parquet").filter("ts IN (5, 3995)").write.mode("append").parquet(f"{tmp_path}/made")
        assert spark.read.parquet(f"{tmp_path}/made").count() == 42
    finally:
        spark.sql("DROP TABLE made")


def test_many_threads(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-RG-2]"""
    path = write(rows(spark), str(tmp_path / "t"), "avro")
    indexed(spark, path, "avro")
    wrong: list[int] = []

    def run(first: int) -> None:
        values = range(first, first + 5)
        wrong.extend(v for v in values if read(spark, path, "avro").filter(f"h = xxhash64({v}L)").count() != 1)

    threads = [threading.Thread(target=run, args=(first,)) for first in range(0, 2000, 400)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
