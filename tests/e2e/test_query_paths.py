"""Every way to read a dataset uses its index, according to the files in Spark's own plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.e2e.conftest import SCHEMA, Lake
from tests.helpers import assert_same_rows, index, matching_files, opened_by_scan, opened_files, scans_of
from xskip import MinMax, SkippingIndex, ValueList

pytestmark = pytest.mark.usefixtures("skipping_alone")

ALL = {"f0", "f1", "f2", "f3"}
Query = Callable[[Lake], DataFrame]


def load(lake: Lake, *paths: str, **options: str) -> DataFrame:
    return lake.spark.read.format(lake.fmt).options(**options).load([*(paths or (lake.path,))])


# name -> (the query, what each of its scans opens, its number of rows)
READS: dict[str, tuple[Query, list[set[str]], int]] = {
    "load": (lambda k: k.read().filter("a > 15"), [{"f2", "f3"}], 6),
    "column api": (lambda k: k.read().where((F.col("a") > 15) & (F.col("s") != "s3")), [{"f2"}], 3),
    "two filters": (lambda k: k.read().filter("a > 5").filter("a < 15"), [{"f1"}], 3),
    "renamed": (lambda k: k.read().select(F.col("a").alias("z"), "s").filter("z >= 30"), [{"f3"}], 3),
    "literal first": (lambda k: k.read().filter("5 < a AND 15 > a"), [{"f1"}], 3),
    "other case": (lambda k: k.read().filter("A > 15 AND S = 's2'"), [{"f2"}], 3),
    "nested": (lambda k: k.read().filter("n.b.c = 21"), [{"f2"}], 1),
    "nested, other case": (lambda k: k.read().filter("N.B.C BETWEEN 10 AND 19"), [{"f1"}], 3),
    "sql over path": (lambda k: k.spark.sql(f"SELECT * FROM {k.fmt}.`{k.path}` WHERE a > 15"), [{"f2", "f3"}], 6),
    "sub-select": (
        lambda k: k.spark.sql(f"SELECT x FROM (SELECT a x FROM {k.fmt}.`{k.path}`) WHERE x = 1"),
        [{"f0"}],
        1,
    ),
    "user's schema": (
        lambda k: k.spark.read.format(k.fmt).schema(SCHEMA).load(k.path).filter("a > 15"),
        [{"f2", "f3"}],
        6,
    ),
    "narrow schema": (
        lambda k: k.spark.read.format(k.fmt).schema("s string").load(k.path).filter("s='s1'"),
        [{"f1"}],
        3,
    ),
    "explicit files": (
        lambda k: load(k, str(k.file("f1")), str(k.file("f2"))).filter("a > 15"),
        [{"f2"}],
        3,
    ),
    "one file": (lambda k: load(k, str(k.file("f1"))).filter("a IN (10, 99)"), [{"f1"}], 1),
    "one file, no match": (lambda k: load(k, str(k.file("f1"))).filter("a = 99"), [set()], 0),
    "two datasets": (lambda k: load(k, k.path, f"{k.parted}/p=1").filter("a = 1"), [{"f0"}], 2),
    "glob": (lambda k: load(k, f"{k.path}/f[12].*").filter("a > 15"), [{"f2"}], 3),
    "glob of all": (lambda k: load(k, f"{k.path}/*").filter("a > 15"), [{"f2", "f3"}], 6),
    "glob of roots": (lambda k: load(k, k.path.replace("plain", "pl*n")).filter("a > 15"), [{"f2", "f3"}], 6),
    "glob of choices": (lambda k: load(k, f"{k.path}/{{f0,f3}}.*").filter("a > 15"), [{"f3"}], 3),
    "pathGlobFilter": (lambda k: load(k, pathGlobFilter="f[23]*").filter("a < 25"), [{"f2"}], 3),
    "recursiveFileLookup": (lambda k: load(k, k.parted, recursiveFileLookup="true").filter("a = 1"), [{"f0"}], 1),
    "slash at the end": (lambda k: load(k, k.path + "/").filter("a = 1"), [{"f0"}], 1),
    "file: scheme": (lambda k: load(k, "file:" + k.path).filter("a = 1"), [{"f0"}], 1),
    "file:/// scheme": (lambda k: load(k, "file://" + k.path).filter("a = 1"), [{"f0"}], 1),
    "partitions": (lambda k: k.read_parted().filter("p = 2 AND a > 25"), [{"f3"}], 3),
    "partitions alone": (lambda k: k.read_parted().filter("p = 2"), [{"f2", "f3"}], 6),
    "data in partitions": (lambda k: k.read_parted().filter("a = 21"), [{"f2"}], 1),
    "mixed or": (lambda k: k.read_parted().filter("p = 1 OR a = 31"), [{"f0", "f1", "f3"}], 7),
    "mixed or, both tight": (
        lambda k: k.read_parted().filter("(p = 1 AND a < 5) OR (p = 2 AND s = 's3')"),
        [{"f0", "f3"}],
        6,
    ),
    "mixed or and more": (lambda k: k.read_parted().filter("(p = 1 OR a = 31) AND s > 's0'"), [{"f1", "f3"}], 4),
    "partition directory": (lambda k: load(k, f"{k.parted}/p=2").filter("a = 21"), [{"f2"}], 1),
    "partition directory with basePath": (
        lambda k: load(k, f"{k.parted}/p=2", basePath=k.parted).filter("p = 2 AND a = 21"),
        [{"f2"}],
        1,
    ),
    "partition file": (lambda k: load(k, f"{k.parted}/p=2/f2.{k.fmt}").filter("a = 31"), [set()], 0),
    "glob of partitions": (lambda k: load(k, f"{k.parted}/p=*").filter("a = 21"), [{"f2"}], 1),
    "input_file_name": (lambda k: k.read().filter("a > 15").select(F.input_file_name()), [{"f2", "f3"}], 6),
    "nothing to find": (lambda k: k.read().filter("a > 1000"), [set()], 0),
    "no filter": (lambda k: k.read(), [ALL], 12),
    "filter over limit": (lambda k: k.read().orderBy("a").limit(2).filter("a > 15"), [ALL], 0),
    "not understood": (lambda k: k.read().filter("a % 10 = 1"), [ALL], 4),
    "half understood": (lambda k: k.read().filter("a % 10 = 1 AND a < 15"), [{"f0", "f1"}], 2),
    "or of not understood": (lambda k: k.read().filter("a % 10 = 1 OR a < 15"), [ALL], 8),
    "distinct": (lambda k: k.read().filter("a > 15").select("s").distinct(), [{"f2", "f3"}], 2),
    "sample": (lambda k: k.read().filter("s = 's1'").sample(1.0), [{"f1"}], 3),
    "window": (
        lambda k: k.read().filter("a > 15").selectExpr("a", "rank() OVER (PARTITION BY s ORDER BY a) r"),
        [{"f2", "f3"}],
        6,
    ),
    "explode": (lambda k: k.read().filter("a = 1").selectExpr("explode(sequence(1, 3))"), [{"f0"}], 3),
}


# the second API has no such columns
HIDDEN: dict[str, tuple[Query, list[set[str]], int]] = {
    "_metadata shown": (
        lambda k: k.read().filter("a > 15").select("a", "_metadata.file_path", "_metadata.file_size"),
        [{"f2", "f3"}],
        6,
    ),
    "_metadata filtered": (
        lambda k: k.read().filter(f"a > 5 AND _metadata.file_name != 'f1.{k.fmt}' AND s < 's3'"),
        [{"f2"}],  # _metadata rules f1 out in Spark's own listing
        3,
    ),
}


@pytest.mark.parametrize("name", READS)
def test_every_way_to_read_skips_files(spark: SparkSession, lake: Lake, api: str, name: str) -> None:
    query, expected, rows = READS[name]
    df = query(lake)
    assert opened_by_scan(df) == expected
    assert_rows(spark, lake, name, df, rows)


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_columns_skip_files(spark: SparkSession, lake: Lake, name: str) -> None:
    query, expected, rows = HIDDEN[name]
    df = query(lake)
    assert opened_by_scan(df) == expected
    assert_rows(spark, lake, name, df, rows)


_without: dict[tuple[str, str], list[str]] = {}


def assert_rows(spark: SparkSession, lake: Lake, name: str, df: DataFrame, count: int) -> None:
    """Assert that the rows are those of plain Spark, which runs once for each dataset."""
    found = sorted(map(repr, df.collect()))
    if (lake.fmt, name) not in _without:
        xskip.disable(spark)
        _without[lake.fmt, name] = sorted(map(repr, {**READS, **HIDDEN}[name][0](lake).collect()))
        xskip.enable(spark)
    assert found == _without[lake.fmt, name]
    assert len(found) == count


def test_both_apis_are_tested(spark: SparkSession, lake: Lake, api: str) -> None:
    scans = scans_of(lake.read().filter("a > 15")._jdf.queryExecution().executedPlan())
    kinds = [scan.getClass().getSimpleName() for scan in scans]
    assert kinds[0] in (("FileSourceScanExec", "RangedScan") if api == "v1" else ("BatchScanExec",))
    assert len(kinds) == 1


def test_views_skip_files(spark: SparkSession, lake: Lake, api: str) -> None:
    lake.read().createOrReplaceTempView("temporary")
    lake.read().filter("a > 5").createOrReplaceGlobalTempView("xskip_global")
    spark.sql(f"CREATE OR REPLACE VIEW permanent AS SELECT a AS z, s FROM {lake.fmt}.`{lake.path}` WHERE a > 5")
    try:
        for sql, files in (
            ("SELECT * FROM temporary WHERE a < 15", {"f0", "f1"}),
            ("SELECT * FROM global_temp.xskip_global WHERE a < 15", {"f1"}),
            ("SELECT * FROM permanent WHERE z < 15", {"f1"}),
        ):
            assert opened_files(spark.sql(sql)) == files
            assert assert_same_rows(lambda sql=sql: spark.sql(sql), spark) == 3 * len(files)
    finally:
        spark.catalog.dropGlobalTempView("xskip_global")
        spark.sql("DROP VIEW permanent")


@pytest.mark.parametrize("layout", ["plain", "partitioned", "bucketed"])
def test_saved_tables_skip_files(spark: SparkSession, lake: Lake, layout: str) -> None:
    data = lake.read().select("a", "s", F.expr("a div 20 AS p")).repartitionByRange(4, "a")
    writer = data.write.format(lake.fmt).mode("overwrite")
    if layout == "partitioned":
        writer = writer.partitionBy("p")
    if layout == "bucketed":
        writer = writer.bucketBy(3, "s").sortBy("a")
    writer.saveAsTable("saved")
    table = SkippingIndex.for_table(spark, "saved")
    table.create([MinMax("a"), ValueList("s")])
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    everything = opened_files(spark.table("saved"))
    predicates = ["s = 's2'", "a IN (1, 31) AND s = 's3'", "p = 1 AND a = 21"]
    for predicate in predicates + ["p = 0 OR s = 's3'"] * (layout == "partitioned"):
        matching = matching_files(spark.table("saved"), predicate)
        assert 0 < len(matching) < len(everything)
        assert opened_files(spark.table("saved").filter(predicate)) == matching
        assert opened_files(spark.sql(f"SELECT s FROM saved x WHERE {predicate}")) == matching
        assert assert_same_rows(lambda p=predicate: spark.table("saved").filter(p), spark) > 0
    location = spark.sql("DESCRIBE FORMATTED saved")
    row = location.filter("col_name = 'Location'").first()
    assert row is not None
    path = row["data_type"]
    by_path = spark.read.format(lake.fmt).load(path)
    assert opened_files(by_path.filter("s = 's2'")) == matching_files(by_path, "s = 's2'")


def test_bucketed_table_reads_one_bucket_of_the_kept_files(spark: SparkSession, lake: Lake) -> None:
    lake.read().select("a", "s").write.format(lake.fmt).bucketBy(2, "a").saveAsTable("buckets")
    index_of = SkippingIndex.for_table(spark, "buckets")
    index_of.create([ValueList("a")])
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    joined = spark.table("buckets").alias("x").join(spark.table("buckets").alias("y"), "a").filter("a = 21")
    (left, right) = opened_by_scan(joined)
    assert left == right == matching_files(spark.table("buckets"), "a = 21")
    assert assert_same_rows(lambda: joined, spark) == 1


@pytest.mark.parametrize("parted", [False, True])
def test_external_tables_skip_files(spark: SparkSession, lake: Lake, parted: bool) -> None:
    path = lake.parted if parted else lake.path
    columns = "a INT, s STRING, p INT" if parted else "a INT, s STRING"
    by = "PARTITIONED BY (p)" if parted else ""
    spark.sql(f"CREATE TABLE outside ({columns}) USING {lake.fmt} {by} LOCATION '{path}'")
    if parted:
        spark.sql("MSCK REPAIR TABLE outside")
    assert opened_files(spark.table("outside")) == ALL
    assert opened_files(spark.sql("SELECT * FROM outside WHERE a > 15 AND s <> 's3'")) == {"f2"}
    assert assert_same_rows(lambda: spark.sql("SELECT a FROM outside WHERE a > 15 AND s <> 's3'"), spark) == 3
    if parted:
        assert opened_files(spark.sql("SELECT * FROM outside WHERE p = 2 AND a < 25")) == {"f2"}
        assert opened_files(spark.sql("SELECT * FROM outside WHERE p = 1 OR a = 31")) == {"f0", "f1", "f3"}


def test_a_table_and_its_location_share_one_index(spark: SparkSession, lake: Lake) -> None:
    spark.sql(f"CREATE TABLE outside USING {lake.fmt} LOCATION '{lake.path}'")
    assert SkippingIndex.for_table(spark, "outside").describe().dataset == lake.path
    assert SkippingIndex.for_table(spark, "outside").exists()
    assert SkippingIndex.for_table(spark, "spark_catalog.default.outside").status().up_to_date


@pytest.mark.parametrize("fmt", ["orc", "csv", "json"])
def test_other_formats_skip_files(spark: SparkSession, api: str, fmt: str, tmp_path: Path) -> None:
    schema = "a int, s string"
    files = [(number * 10 + j, f"s{number}") for number in range(3) for j in range(4)]
    df = spark.createDataFrame(files, schema).repartitionByRange(3, "a")
    path = str(tmp_path / "data")
    df.write.format(fmt).save(path)

    def read() -> DataFrame:
        return spark.read.format(fmt).schema(schema).load(path)

    SkippingIndex.for_path(spark, path, format=fmt, schema=schema).create([MinMax("a"), ValueList("s")])
    everything = opened_files(read())
    for predicate in ("a = 21", "s = 's1'", "a < 5 OR s >= 's2'"):
        matching = matching_files(read(), predicate)
        assert 0 < len(matching) < len(everything)
        assert opened_files(read().filter(predicate)) == matching
        assert assert_same_rows(lambda p=predicate: read().filter(p), spark) > 0


def test_text_formats_read_with_another_schema_do_not_use_the_index(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "data")
    spark.range(0, 12, 1, 3).selectExpr("id % 5 + id AS a").write.csv(path)
    SkippingIndex.for_path(spark, path, format="csv", schema="a string").create([MinMax("a")])
    spark.conf.set("spark.xskip.strict", "false")
    as_int = spark.read.schema("a int").csv(path).filter("a = 10")
    assert opened_files(as_int) == opened_files(spark.read.schema("a int").csv(path))
    assert "had another type when it was indexed" in str(xskip.explain(as_int))
    as_string = spark.read.schema("a string").csv(path).filter("a = '9'")
    assert opened_files(as_string) == matching_files(spark.read.schema("a string").csv(path), "a = '9'")


def test_queries_use_an_index_at_the_base_location(spark: SparkSession, lake: Lake, api: str, tmp_path: Path) -> None:
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "indexes"))
    query = lake.read().filter("a = 21")
    assert opened_files(query) == ALL  # the dataset's own index is not looked for there
    index(spark, lake.path, [MinMax("a")], lake.fmt)
    assert opened_files(lake.read().filter("a = 21")) == {"f2"}
    assert assert_same_rows(lambda: lake.read().filter("a = 21"), spark) == 1
