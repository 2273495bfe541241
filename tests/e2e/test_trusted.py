"""Reads without a listing find the files that the index knows, and miss exactly the expected ones. Rules: [PRU-TL]."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import DAYS, by_days, kept, listed, opened_files, rows_of, write_files, write_once
from xskip import MinMax, SkippingIndex, ValueList
from xskip.errors import DatasetError, IndexDefinitionError, MetadataNotFoundError
from xskip.indexing.builder import Build


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_the_same_rows_and_the_same_skipping(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[PRU-TL-1] Rows, types, columns and skipped files are the same as with a listing."""
    index, _ = by_days(spark, tmp_path, fmt)
    trusting, plain = index.read(trust_listing=True), index.read()
    assert trusting.schema == plain.schema
    assert trusting.count() == 6
    filters = {"x > 30": "d3h1 d3h2", "s = 's2'": "d2h1 d2h2", "x = 11 OR h = 2 AND x > 25": "d1h1 d3h2", "x < 0": "",
               "day = date'2026-01-02' AND x = 21": "d2h1", "h = 1": "d1h1 d2h1 d3h1", "h = 1 AND x > 30": "d3h1",
               "day > date'2026-01-01' AND month(day) = 1 AND x < 22": "d2h1"}  # fmt: skip
    for predicate, names in filters.items():
        assert opened_files(trusting.filter(predicate)) == set(names.split()), predicate
        expected = sorted(map(tuple, plain.filter(predicate).collect()))
        assert sorted(map(tuple, trusting.filter(predicate).collect())) == expected, predicate
    xskip.disable(spark)
    try:
        assert opened_files(trusting.filter("x > 30")) == {name.rpartition("/")[2] for name in DAYS}
    finally:
        xskip.enable(spark)
    assert len(trusting.inputFiles()) == 6
    assert sorted(trusting.inputFiles()) == sorted(plain.inputFiles())
    names = "_metadata.file_name, _metadata.file_size, _metadata.file_path"
    for field in names.split(", "):
        assert sorted(map(str, trusting.select(field).collect())) == sorted(map(str, plain.select(field).collect()))


def test_partitions_of_type_binary(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-TL-1] [JVM-SN-1] Values of a binary partition column skip files with and without a listing."""
    null = "__HIVE_DEFAULT_PARTITION__"
    files = {f"p={value}/f{i}": [(i,)] for i, value in enumerate(["k0", "k1", "é", null])}
    path, schema = write_once(spark, tmp_path / "data", "a int", files), "a int, p binary"
    index = SkippingIndex.for_path(spark, path, schema=schema)
    index.create([MinMax("a")])
    values: list[tuple[int, bytes | None]] = [(0, b"k0"), (1, b"k1"), (2, "é".encode()), (3, None)]
    for df in (spark.read.schema(schema).parquet(path), index.read(trust_listing=True)):
        assert sorted(map(tuple, df.collect())) == values
        for predicate, rows in {
            "p = X'6B31'": [1],
            "p = X'6B31' OR a = 2": [1, 2],
            "p IS NULL OR a = 0": [0, 3],
        }.items():
            assert opened_files(df.filter(predicate)) == {f"f{i}" for i in rows}, predicate
            assert sorted(map(tuple, df.filter(predicate).collect())) == [values[i] for i in rows]


def test_what_is_listed(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-TL-2] Only the newest partition, unknown partitions and those that the user names are listed."""
    index, _ = by_days(spark, tmp_path)
    write_files(spark, tmp_path / "lake", "x int, s string", {"day=2025-12-31/h=9/old": [(1, "old")]})
    paths = listed(monkeypatch)
    index.read(trust_listing=True)
    directories = [p.partition("/lake/")[2] for p in paths if not p.endswith(".parquet")]
    assert directories == ["day=2025-12-31", "day=2026-01-03"]
    paths.clear()
    index.read(trust_listing=True, recheck=["day=2026-01-01/h=2", "day=2026-01-03/h=1", "day=2020-01-01"])
    directories = [p.partition("/lake/")[2] for p in paths if not p.endswith(".parquet")]
    assert directories == ["day=2025-12-31", "day=2026-01-01/h=2", "day=2026-01-03"]


def test_what_changed_is_found_or_missed(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-TL-2] [PRU-TL-3] New partitions and the newest one are current; other additions are missed."""
    index, _ = by_days(spark, tmp_path)
    root = tmp_path / "lake"
    new = {"day=2026-01-04/h=0/next": [(40, "s4")], "day=2026-01-03/h=2/more": [(39, "s3")],
           "day=2026-01-03/h=5/late": [(35, "s3")], "day=2026-01-01/h=1/missed": [(19, "s1")]}  # fmt: skip
    write_files(spark, root, "x int, s string", new)
    (root / "day=2026-01-03/h=1/d3h1.parquet").unlink()
    (root / "day=2026-01-01/h=2/d1h2.parquet").unlink()
    shutil.rmtree(root / "day=2026-01-02")
    trusting = index.read(trust_listing=True)
    assert sorted(row.x for row in trusting.collect()) == [11, 32, 35, 39, 40]
    assert opened_files(trusting.filter("x > 34")) == {"late", "more", "next"}
    assert opened_files(trusting.filter("x < 12")) == {"d1h1", "late", "more", "next"}, "what is new is read"
    checked = index.read(trust_listing=True, recheck=["day=2026-01-01"])
    assert sorted(row.x for row in checked.collect()) == [11, 19, 32, 35, 39, 40]
    assert sorted(row.x for row in index.read().collect()) == [11, 19, 32, 35, 39, 40]
    index.refresh()
    assert opened_files(trusting.filter("x < 12")) == {"d1h1", "d1h2"}, "of what a newer snapshot does not know"
    fresh = index.read(trust_listing=True)
    assert sorted(row.x for row in fresh.collect()) == [11, 19, 32, 35, 39, 40]
    assert opened_files(fresh.filter("x < 12")) == {"d1h1"}


SEGMENTS = {
    f"Topic={t}/Key={k}/Start=2026-01-0{d}/{t}{k}{d}": [(d, f"{t}{k}")] for t in "ab" for k in "xy" for d in (1, 2, 3)
    if (t, k, d) != ("b", "y", 3)
}  # fmt: skip


def segments(spark: SparkSession, root: Path) -> tuple[SkippingIndex, Path]:
    """Write files by topic, key and day, and return their index and the path."""
    path = write_once(spark, root / "Raw", "x int, s string", SEGMENTS, "avro")
    index = SkippingIndex.for_path(spark, path, format="avro")
    index.create([MinMax("x"), ValueList("s")])
    return index, Path(path)


def test_the_last_directories_of_each_directory(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PRU-TL-2] The last days below topics and keys are listed, and new directories of any level."""
    index, root = segments(spark, tmp_path)
    later = ["Topic=a/Key=x/Start=2026-01-03", "Topic=a/Key=y/Start=2026-01-04", "Topic=b/Key=y/Start=2026-01-02",
             "Topic=b/Key=z/Start=2026-01-01", "Topic=c/Key=x/Start=2025-12-31"]  # fmt: skip
    missed = "Topic=b/Key=x/Start=2026-01-01"
    write_once(spark, root, "x int, s string", {f"{each}/new{i}": [(9, "n")] for i, each in enumerate(later)}, "avro")
    write_once(spark, root, "x int, s string", {f"{missed}/missed": [(9, "n")]}, "avro")
    shutil.rmtree(root / "Topic=a/Key=x/Start=2026-01-01")
    shutil.rmtree(root / "Topic=b/Key=x/Start=2026-01-03")
    paths = listed(monkeypatch)
    trusting = index.read(trust_listing=True)
    directories = [p.partition("/Raw/")[2] for p in paths if not p.endswith(".avro")]
    assert directories == ["Topic=a/Key=x/Start=2026-01-03", "Topic=a/Key=y/Start=2026-01-03",
                           "Topic=a/Key=y/Start=2026-01-04", "Topic=b/Key=y/Start=2026-01-02",
                           "Topic=b/Key=z", "Topic=c"]  # fmt: skip
    stems = {name.rpartition("/")[2] for name in SEGMENTS} - {"ax1", "bx3"}
    assert opened_files(trusting) == stems | {f"new{i}" for i in range(5)}
    assert trusting.schema == index.read().schema
    assert opened_files(trusting.filter("x = 2")) == {"ax2", "ay2", "bx2", "by2", *(f"new{i}" for i in range(5))}
    assert opened_files(index.read(trust_listing=True, recheck=[missed])) == opened_files(index.read())


def test_a_refresh_that_trusts(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-TL-5] The refresh adds the files that it lists, and keeps the metadata of all other files."""
    index, root = segments(spark, tmp_path)
    later = {"Topic=a/Key=x/Start=2026-01-04/new0": [(4, "ax")], "Topic=c/Key=x/Start=2026-01-01/new1": [(9, "n")],
             "Topic=b/Key=y/Start=2026-01-02/new2": [(8, "m")]}  # fmt: skip
    write_once(spark, root, "x int, s string", later, "avro")
    write_once(spark, root, "x int, s string", {"Topic=b/Key=x/Start=2026-01-01/missed": [(1, "b")]}, "avro")
    shutil.rmtree(root / "Topic=b/Key=x/Start=2026-01-03")
    (root / "Topic=a/Key=y/Start=2026-01-03/ay3.avro").unlink()
    (root / "Topic=a/Key=y/Start=2026-01-01/ay1.avro").unlink()
    paths = listed(monkeypatch)
    result = index.refresh(trust_listing=True)
    assert (result.added, result.removed, result.unchanged) == (3, 2, len(SEGMENTS) - 2)
    assert str(root) not in [path.removeprefix("file:") for path in paths]
    assert kept(spark, str(root), "x >= 8", "avro") == {"new1", "new2", "missed"}
    assert kept(spark, str(root), "s = 'ax' AND x = 4", "avro") == {"new0", "missed"}
    again = index.refresh(trust_listing=True)
    assert (again.added, again.removed) == (0, 0)
    assert index.status().missing == 1
    checked = index.refresh(trust_listing=True, recheck=["Topic=b/Key=x/Start=2026-01-01"])
    assert (checked.added, checked.removed) == (1, 0)
    whole = index.refresh()
    assert (whole.added, whole.removed) == (0, 1), "ay1 is gone from a directory that was not listed"
    by_steps = rows_of(index)
    index.drop()
    index.create([MinMax("x"), ValueList("s")])
    assert rows_of(index) == by_steps


def test_a_refresh_that_has_nothing_to_trust_in(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-TL-5] The dataset is listed without partitions, or if all known ones are deleted."""
    path = write_files(spark, tmp_path / "flat", "x int", {"a": [(1,)]})
    flat = SkippingIndex.for_path(spark, path)
    flat.create([MinMax("x")])
    write_files(spark, tmp_path / "flat", "x int", {"b": [(2,)]})
    assert flat.refresh(trust_listing=True).added == 1
    index, lake = by_days(spark, tmp_path)
    shutil.rmtree(lake)
    write_files(spark, Path(lake), "x int, s string", {"f": [(1, "a")]})
    index.create([MinMax("x")])
    (Path(lake) / "f.parquet").rename(Path(lake) / "g.parquet")
    result = index.refresh(trust_listing=True)
    assert (result.added, result.removed) == (1, 1)
    spark.sql("DROP TABLE IF EXISTS trusted_table")
    with pytest.raises(DatasetError, match="catalog"):
        SkippingIndex.for_table(spark, "trusted_table").refresh(trust_listing=True)


def test_a_refresh_whose_trust_is_overtaken(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PRU-TL-5] [MDS-C-19] A slower refresh retries and keeps the files of the faster one."""
    index, path = by_days(spark, tmp_path)
    write_files(spark, Path(path), "x int, s string", {"day=2026-01-03/h=2/more": [(39, "s3")]})
    real = Build.run

    def slow(build: Build, *args: Any) -> Any:
        monkeypatch.setattr(Build, "run", real)
        index.refresh()
        return real(build, *args)

    monkeypatch.setattr(Build, "run", slow)
    result = index.refresh(trust_listing=True)
    assert (result.added, result.removed, result.unchanged) == (0, 0, 7)
    assert index.status().missing == 0


def test_without_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-TL-3] A flat directory has the files that the index knows, also those with special characters."""
    files = {"a": [(1,)], "b #1": [(2,)], "c%20ü": [(3,)]}
    path = write_files(spark, tmp_path / "flat", "x int", files)
    index = SkippingIndex.for_path(spark, path)
    index.create([MinMax("x")])
    write_files(spark, tmp_path / "flat", "x int", {"missed": [(4,)]})
    trusting = index.read(trust_listing=True)
    assert sorted(row.x for row in trusting.collect()) == [1, 2, 3]
    assert opened_files(trusting.filter("x >= 2")) == {"b #1", "c%20ü"}
    assert trusting.filter("x >= 2").count() == 2


def test_partition_values_of_every_type(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-TL-1] Partition values of each type are the same as with a listing."""
    values: dict[str, list[Any]] = {
        "i": [7, -3, None], "l": [2**40, 1, None], "f": [0.5, -1.25, None], "s": ["ä/b=c %", "", None],
        "b": [True, False, None], "m": ["1.10", "12345.67", None],
        "t": ["2020-02-29 01:02:03", "1960-01-01 00:00:00", None],
    }  # fmt: skip
    for name, given in values.items():
        rows = [(k, value) for k, value in enumerate(given)]
        kind = {"i": "int", "l": "bigint", "f": "double", "b": "boolean"}.get(name, "string")
        root = str(tmp_path / name)
        spark.createDataFrame(rows, f"x int, p {kind}").write.partitionBy("p").parquet(root)
        index = SkippingIndex.for_path(spark, root)
        index.create([MinMax("x")])
        trusting, plain = index.read(trust_listing=True), index.read()
        assert trusting.schema == plain.schema
        assert sorted(map(str, trusting.collect())) == sorted(map(str, plain.collect()))
        for k in range(3):
            assert opened_files(trusting.filter(f"x = {k}")) == opened_files(plain.filter(f"x = {k}"))


def test_a_schema_of_the_users(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-TL-1] A schema that the user gives is used."""
    _, path = by_days(spark, tmp_path)
    index = SkippingIndex.for_path(spark, path, schema="s string, x int, none double")
    trusting = index.read(trust_listing=True)
    assert trusting.columns == ["s", "x", "none", "day", "h"]
    assert opened_files(trusting.filter("x = 21 AND s = 's2'")) == {"d2h1"}
    assert trusting.filter("none IS NULL").count() == 6
    with_day = SkippingIndex.for_path(spark, path, schema="day date, x int")
    assert with_day.read(trust_listing=True).schema == with_day.read().schema


def test_a_column_with_the_name_of_a_partition(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-TL-4] A column with the name of a partition is refused, because Spark treats it specially."""
    path = write_files(spark, tmp_path / "lake", "x int, s string", {"s=a/f": [(1, "b")]})
    index = SkippingIndex.for_path(spark, path)
    index.create([MinMax("x")])
    with pytest.raises(DatasetError, match="partition column"):
        index.read(trust_listing=True)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_versions_that_do_not_tell_partitions(spark: SparkSession, tmp_path: Path, version: int) -> None:
    """[PRU-TL-4] Versions that do not store partition values are refused."""
    path = write_files(spark, tmp_path / "lake", "x int, s string", DAYS)
    index = SkippingIndex.for_path(spark, path)
    index.create([MinMax("x")], version=version)
    with pytest.raises(IndexDefinitionError, match=r"partitions.*migrate\(4\)"):
        index.read(trust_listing=True)
    index.migrate(4)
    assert index.read(trust_listing=True).schema == index.read().schema


def test_what_cannot_be_trusted(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-TL-4] Without an index of xskip for the same dataset and format, there is an error."""
    index, path = by_days(spark, tmp_path)
    spark.sql("DROP TABLE IF EXISTS trusted_table")
    with pytest.raises(DatasetError, match="catalog"):
        SkippingIndex.for_table(spark, "trusted_table").read(trust_listing=True)
    with pytest.raises(IndexDefinitionError, match="another format"):
        SkippingIndex.for_path(spark, path, format="avro").read(trust_listing=True)
    for options, text in (({"pathGlobFilter": "*1*"}, "pathglobfilter"), ({"mergeSchema": "true"}, "mergeSchema")):
        with pytest.raises(DatasetError, match=text):
            SkippingIndex.for_path(spark, path, options=options).read(trust_listing=True)
    spark.conf.set("spark.sql.parquet.mergeSchema", "true")
    try:
        with pytest.raises(DatasetError, match="mergeSchema"):
            index.read(trust_listing=True)
    finally:
        spark.conf.unset("spark.sql.parquet.mergeSchema")
    with pytest.raises(DatasetError, match="partition column"):
        SkippingIndex.for_path(spark, path, schema="x int, day string").read(trust_listing=True)
    with pytest.raises(DatasetError, match="cannot parse the schema"):
        SkippingIndex.for_path(spark, path, schema="x int,, day").read(trust_listing=True)
    index.drop()
    with pytest.raises(MetadataNotFoundError, match="no index"):
        index.read(trust_listing=True)
