"""LIMIT reads files that match wholly until they have enough rows, and no other file [PLN-LM]."""

from __future__ import annotations

import datetime
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.helpers import formatted, index, opened_by_scan, opened_files, put_files, write_indexed, write_once
from xskip import MinMax, NullCount, ValueList
from xskip.spark.bridge.gateway import hook_of

SCHEMA = "k int, day int, n int, s string"
#: Each file has one day. In file 5, some n are NULL; file 6 has the fewest rows.
FILES = {
    f"f{day}": [
        (key, day, None if day == 5 and key % 2 else key, f"s{key % 3}") for key in range(4 if day == 6 else 40)
    ]
    for day in range(10)
}
INDEXES = [MinMax("k"), MinMax("day"), MinMax("n"), ValueList("s")]
SETTING = "spark.xskip.planning.limit"


@pytest.fixture(scope="module")
def written(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("limits")
    return {fmt: write_indexed(session, home / fmt, SCHEMA, FILES, INDEXES, fmt) for fmt in ("parquet", "avro", "orc")}


@pytest.fixture(params=["parquet", "avro", "orc"])
def fmt(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def data(spark: SparkSession, api: str, fmt: str, written: dict[str, str]) -> DataFrame:
    return spark.read.format(fmt).load(written[fmt])


@pytest.fixture
def parquet(spark: SparkSession, written: dict[str, str]) -> DataFrame:
    return spark.read.parquet(written["parquet"])


def test_the_files_that_limit_reads(data: DataFrame) -> None:
    """[PLN-LM-1] The smallest file with enough rows, or the files with the most rows."""
    assert opened_files(data.filter("k >= 0").limit(3)) == {"f6"}
    assert len(opened_files(data.filter("k >= 0").limit(40))) == 1
    assert len(opened_files(data.filter("k >= 0").limit(100))) == 3
    assert opened_files(data.filter("day > 6").limit(3)) < {"f7", "f8", "f9"}
    assert opened_files(data.filter("day > 6 and k >= 0").limit(120)) == {"f7", "f8", "f9"}
    assert data.filter("day > 6").limit(100).count() == 100
    assert data.limit(1000).count() == 364


def test_rows_that_the_driver_collects(spark: SparkSession, parquet: DataFrame) -> None:
    """[PLN-LM-7] Without a filter, no index is asked for a LIMIT at the top of a plan."""
    assert len(opened_files(parquet.limit(3))) == 10
    queries = hook_of(spark).queries
    before = queries.last_scan()
    parquet.limit(3).collect()
    parquet.show(3)
    assert queries.last_scan() == before
    assert len(opened_files(parquet.limit(3).groupBy("s").count())) == 1


def test_a_rewrite_asks_once(spark: SparkSession, parquet: DataFrame) -> None:
    """[PLN-LM-7] Also if it selects no file: the optimizer applies rules until the plan does not change."""
    queries = hook_of(spark).queries
    for query, rewrite in (("k >= 0", "limit"), ("k > 20", "")):
        before = queries.last_scan()
        df = parquet.filter(query).limit(3)
        df.collect()
        assert queries.last_scan() == before + 1
        report = xskip.last_report(spark)
        assert report is not None
        assert [scan.rewrite for scan in report.scans] == [rewrite]


def test_an_index_that_cannot_be_used(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-LM-7] A query without a filter does not fail in strict mode because a rewrite has asked."""
    path = write_once(spark, tmp_path / "data", "k int", {f"f{i}": [(i,)] * 5 for i in range(3)})
    made = index(spark, path, [MinMax("k")])
    for file in Path(made.describe().location).rglob("*.parquet"):
        file.write_bytes(b"no Parquet")
    xskip.enable(spark)
    data = spark.read.parquet(path)
    assert len(data.limit(3).groupBy("k").count().collect()) <= 3
    assert data.count() == 15
    assert len(data.orderBy("k").limit(3).collect()) == 3
    with pytest.raises(Exception, match=r"xskip \(strict\)"):
        data.filter("k > 0").limit(3).collect()


@pytest.mark.parametrize("api", ["avro", ""], ids=["avro-v1", "avro-v2"])
def test_names_of_avro_files(spark: SparkSession, tmp_path: Path, api: str) -> None:
    """[PLN-LM-3] Files that Spark passes over because of their names have no rows."""
    spark.conf.set("spark.sql.sources.useV1SourceList", api)
    path = write_once(spark, tmp_path / "data", "k int", {f"f{i}": [(i,)] * 5 for i in range(3)}, "avro")
    Path(path, "f0.avro").rename(Path(path, "f0.data"))
    index(spark, path, [MinMax("k")], "avro")
    for ignored, count in (("false", 10), ("true", 15)):
        data = spark.read.format("avro").option("ignoreExtension", ignored).load(path)
        assert data.count() == count
        assert data.filter("k < 1").limit(3).count() == (0 if ignored == "false" else 3)
        assert len(data.orderBy("k").limit(1).filter("k = 0").collect()) == (0 if ignored == "false" else 1)


def test_settings_change_before_the_scan(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-LM-4] Dates of the chosen file have other values."""
    schema = pa.schema([("d", pa.date32()), ("s", pa.string())])
    files = {"a": [(datetime.date(1500, 1, 20), "")] * 3, "b": [(datetime.date(1500, 2, 20), "b" * 999)] * 300}
    path = put_files(tmp_path / "data", schema, files)
    index(spark, path, [MinMax("d")])
    df = spark.read.parquet(path).filter("d >= date'1500-01-20'").limit(3)
    assert opened_files(df) == {"a"}
    spark.conf.set("spark.xskip.strict", "false")
    df._jdf.queryExecution().executedPlan()
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY")
    assert len(df.collect()) == 3


def test_files_that_match_in_part_do_not_count(data: DataFrame) -> None:
    """[PLN-LM-1] [PRU-CO-4] Neither does a file in which NULL does not satisfy the filter."""
    assert len(opened_files(data.filter("k >= 20").limit(3))) == 9
    assert opened_files(data.filter("day = 5 and n >= 0").limit(3)) == {"f5"}
    assert opened_files(data.filter("day in (4, 5) and n >= 0").limit(41)) == {"f4", "f5"}
    assert opened_files(data.filter("day in (4, 5) and n >= 0").limit(40)) == {"f4"}
    assert data.filter("day in (4, 5) and n >= 0").limit(70).count() == 60
    assert opened_files(data.filter("day in (5, 6) and n is not null").limit(4)) == {"f6"}


@pytest.mark.parametrize("fmt", ["parquet", "avro", "orc"])
def test_fields_of_null_structs(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[PLN-LM-8] Spark's ORC reader does not find them, and no result depends on the index."""
    files: dict[str, list[tuple[object, ...]]] = {"a": [(1, None), (2, None)], "b": [(3, (None,))]}
    schema = "k int, st struct<z:int>"
    path = write_indexed(spark, tmp_path / "t", schema, files, [MinMax("k"), MinMax("st.z"), NullCount("st.z")], fmt)
    for text in ("st.z IS NULL", "st.z IS NULL AND k > 0", "st.z <=> NULL"):

        def query(text: str = text) -> tuple[int, int]:
            df = spark.read.format(fmt).load(path).filter(text)
            return df.limit(2).count(), df.count()

        with_index = query()
        xskip.disable(spark)
        try:
            assert with_index == query()
        finally:
            xskip.enable(spark)


@pytest.mark.parametrize("value", ["false", "true"])
def test_the_setting(spark: SparkSession, parquet: DataFrame, value: str) -> None:
    """[PLN-LM-1]"""
    spark.conf.set(SETTING, value)
    assert len(opened_files(parquet.filter("k >= 0").limit(3))) == (1 if value == "true" else 10)


def test_places_of_limit(spark: SparkSession, data: DataFrame) -> None:
    """[PLN-LM-1] Below unions, outer joins, subqueries and projections."""
    old, new = data.filter("day < 3"), data.filter("day > 6")
    assert [len(files) for files in opened_by_scan(old.union(new).limit(5))] == [1, 1]
    joined = old.join(F.broadcast(data.withColumnRenamed("k", "j")), F.expr("k = j"), "left").limit(5)
    assert len(opened_by_scan(joined)[0]) == 1
    assert [len(files) for files in opened_by_scan(new.limit(5).groupBy("s").count())] == [1]
    data.createOrReplaceTempView("limited")
    text = "select * from (select k j, upper(s) t from limited where day > 6) where j >= 0 limit 7"
    assert len(opened_files(spark.sql(text))) == 1
    assert spark.sql(text).count() == 7
    nested = spark.sql("select count(*) c from (select * from limited where day > 6 limit 50)")
    assert [len(files) for files in opened_by_scan(nested)] == [2]
    assert nested.collect() == [Row(c=50)]
    assert [
        len(files) for files in opened_by_scan(spark.sql("select (select k from limited where k >= 0 limit 1) k"))
    ] == [1]


def test_a_write(spark: SparkSession, parquet: DataFrame, tmp_path: Path) -> None:
    """[PLN-LM-1]"""
    parquet.filter("day > 6").limit(30).write.parquet(str(tmp_path / "copy"))
    report = xskip.last_report(spark)
    assert report is not None
    (scan,) = report.scans
    assert (scan.files, scan.kept, scan.rewrite, scan.unneeded) == (10, 1, "limit", 2)
    assert spark.read.parquet(str(tmp_path / "copy")).count() == 30


@pytest.mark.parametrize(
    "filtered",
    [
        "rand() < 0.99 and day > 6",
        "day > (select max(id) from range(7))",
        "day > 6 and k + n >= 0",
        "day > 6 and concat(s, k) > ''",
    ],
)
def test_filters_that_prove_nothing(spark: SparkSession, parquet: DataFrame, filtered: str) -> None:
    """[PLN-LM-2]"""
    spark.conf.set("spark.xskip.strict", "false")
    report = xskip.explain(parquet.filter(filtered).limit(3))
    assert [(scan.kept in (3, 10), scan.rewrite) for scan in report.scans] == [(True, "")]


def test_partition_columns(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-LM-2]"""
    files = {f"p={p}/f{p}{i}": [(i,)] * 5 for p in (1, 2, 3) for i in range(3)}
    path = write_once(spark, tmp_path / "data", "k int", files)
    index(spark, path, [MinMax("k")])
    for api in ("parquet", ""):
        spark.conf.set("spark.sql.sources.useV1SourceList", api)
        data = spark.read.parquet(path)
        (name,) = opened_files(data.filter("p = 2 and k >= 0").limit(5))
        assert name.startswith("f2")
        assert opened_files(data.filter("p > 1 and k = 1").limit(6)) == {"f21", "f31"}
        assert opened_files(data.filter("p > 2 or k = 1").limit(30)) == {"f11", "f21", "f30", "f31", "f32"}
        assert len(opened_files(data.filter("p > 2 or k = 1").limit(6))) == 2
        assert data.filter("p > 2 or k = 1").limit(30).count() == 25


@pytest.mark.parametrize("name", ["ignoreCorruptFiles", "ignoreMissingFiles"])
@pytest.mark.parametrize("kind", ["setting", "option"])
def test_files_that_a_query_passes_over(spark: SparkSession, written: dict[str, str], name: str, kind: str) -> None:
    """[PLN-LM-3]"""
    reader = spark.read
    if kind == "setting":
        spark.conf.set(f"spark.sql.files.{name}", "true")
    else:
        reader = reader.option(name, "true")
    assert len(opened_files(reader.parquet(written["parquet"]).filter("k >= 0").limit(3))) == 10


def test_text_formats(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-LM-3]"""
    path = write_once(spark, tmp_path / "data", "k int", {f"f{i}": [(i,)] * 5 for i in range(3)}, "csv")
    index(spark, path, [MinMax("_c0")], "csv", inferSchema="true")
    assert len(opened_files(spark.read.csv(path, inferSchema=True).filter("_c0 >= 0").limit(3))) == 3


def test_pushed_aggregates(spark: SparkSession, written: dict[str, str]) -> None:
    """[PLN-LM-3] A scan of Parquet's footers has a row for each file and not its rows."""
    spark.conf.set("spark.sql.sources.useV1SourceList", "")
    spark.conf.set("spark.sql.parquet.aggregatePushdown", "true")
    data = spark.read.parquet(written["parquet"])
    assert data.groupBy().agg(F.max("k")).limit(1).collect() == [Row(**{"max(k)": 39})]


def test_spark_xskip_evaluate(spark: SparkSession, parquet: DataFrame) -> None:
    """[PLN-LM-3] Nothing is read, and the numbers are those without the rewrite."""
    spark.conf.set("spark.xskip.evaluate", "true")
    assert parquet.filter("day > 6").limit(3).collect() == []
    report = xskip.last_report(spark)
    assert report is not None
    assert [(scan.kept, scan.rewrite) for scan in report.scans] == [(3, "")]


@pytest.mark.parametrize("api", ["parquet", ""])
def test_a_chosen_file_changes(spark: SparkSession, tmp_path: Path, api: str) -> None:
    """[PLN-LM-4] All files are read if the chosen one is another file when the scan lists its files."""
    spark.conf.set("spark.sql.sources.useV1SourceList", api)
    path = write_once(spark, tmp_path / "data", "k int", {f"f{i}": [(i,)] * 5 for i in range(4)})
    index(spark, path, [MinMax("k")])
    df = spark.read.parquet(path).filter("k >= 0").limit(4)
    leaf = df._jdf.queryExecution().optimizedPlan().collectLeaves().apply(0)
    for i in range(4):  # whichever the rewrite chose
        file = Path(path, f"f{i}.parquet")
        os.utime(file, (file.stat().st_mtime + 9,) * 2)
    (leaf.relation().location() if api else leaf.scan().fileIndex()).refresh()
    assert len(df.collect()) == 4
    report = xskip.last_report(spark)
    assert report is not None
    assert [(scan.kept, scan.rewrite) for scan in report.scans] == [(4, "")]


def test_files_without_metadata(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-LM-1] Files that the index does not know are left out, too, if others suffice."""
    path = write_once(spark, tmp_path / "data", "k int", {f"f{i}": [(i,)] * 5 for i in range(3)})
    index(spark, path, [MinMax("k")])
    write_once(spark, tmp_path / "more", "k int", {"g": [(7,)] * 50})
    (tmp_path / "more" / "g.parquet").rename(Path(path, "g.parquet"))
    data = spark.read.parquet(path)
    assert len(opened_files(data.filter("k >= 0").limit(5))) == 1
    assert "g" not in opened_files(data.filter("k >= 0").limit(5))
    assert opened_files(data.filter("k > 1").limit(6)) == {"f2", "g"}
    data.filter("k >= 0").limit(5).collect()
    report = xskip.last_report(spark)
    assert report is not None
    (scan,) = report.scans
    assert (scan.files, scan.kept, scan.not_indexed, scan.unneeded) == (4, 1, 1, 3)
    assert "1 read, 3 skipped" in report._repr_html_()


def test_equal_relations_with_other_files(spark: SparkSession, parquet: DataFrame) -> None:
    """[PLN-LM-5] Each side of the join counts the rows of its own files."""
    few, many = (parquet.filter("day > 6").limit(n).groupBy("s").agg(F.count("*").alias(f"c{n}")) for n in (3, 100))
    (row,) = few.join(many, "s").agg(F.sum("c3").alias("few"), F.sum("c100").alias("many")).collect()
    assert row.few == 3
    assert row.many <= 100


def test_reports(spark: SparkSession, data: DataFrame) -> None:
    """[PLN-LM-6]"""
    df = data.filter("day > 6").limit(3)
    explained = xskip.explain(df)
    df.collect()
    for report in (explained, xskip.last_report(spark), xskip.explain(df)):
        assert report is not None
        (scan,) = report.scans
        assert (scan.files, scan.kept, scan.rewrite, scan.unneeded) == (10, 1, "limit", 2)
        assert "limit    2 of the skipped files can have matching rows" in str(report)


def test_texts_of_plans(data: DataFrame) -> None:
    """[REP-T-1] Before and after the query runs."""
    for df, note in (
        (data.filter("day > 6").limit(3), "(xskip: 1 of 10 files, 1 index, limit)"),
        (data.limit(3).groupBy("s").count(), "(xskip: 1 of 10 files, 0 indexes, limit)"),
    ):
        assert note in formatted(df)
        df.collect()
        assert note in formatted(df)


def conditions(chooser: random.Random) -> Iterator[str]:
    """Yield random conditions."""
    while True:
        leaves = [
            f"{chooser.choice(['k', 'day', 'n'])} {chooser.choice(['<', '<=', '=', '<>', '>=', '>', '<=>'])} "
            f"{chooser.randrange(-1, 41)}"
            for _ in range(chooser.randrange(1, 4))
        ]
        leaves += chooser.choice([[], ["n is null"], ["n is not null"], ["s in ('s0', 's1', 's2')"], ["s <> 's1'"]])
        text = leaves[0]
        for leaf in leaves[1:]:
            text = f"({text} {chooser.choice(['and', 'or'])} {leaf})"
        yield f"not ({text})" if chooser.random() < 0.2 else text


def test_random_limits(spark: SparkSession, written: dict[str, str]) -> None:
    """[PLN-LM-1] As many rows as without the rewrite, all of which satisfy the condition."""
    chooser = random.Random(11)
    fewer = 0
    for number, condition in zip(range(60), conditions(chooser), strict=False):
        fmt = ("parquet", "avro", "orc")[number % 3]
        limit = chooser.choice([1, 3, 39, 41, 100])
        matching = spark.read.format(fmt).load(written[fmt]).filter(condition)
        xskip.disable(spark)
        expected = Counter(matching.collect())
        xskip.enable(spark)
        found = Counter(matching.limit(limit).collect())
        assert found <= expected, condition
        assert sum(found.values()) == min(limit, sum(expected.values())), condition
        report = xskip.last_report(spark)
        fewer += report is not None and any(scan.rewrite for scan in report.scans)
    assert fewer >= 20
