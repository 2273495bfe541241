"""Keys of the side of a join that Spark broadcasts leave out files of the other side [PLN-JN]."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.e2e.star import read_star
from tests.effort import cases
from tests.helpers import index, write_once
from tests.plans.measure import measure
from xskip import MinMax
from xskip.spark.bridge.gateway import hook_of

pytestmark = pytest.mark.usefixtures("api")


def has_runtime_filter(plan: object) -> bool:
    """Return whether a plan tests files by keys: by their number, or in the second API by a filter of the scan."""
    return "__xskip_file" in str(plan) or "dynamicpruning" in str(plan)


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select f.* from f join d on f.k = d.k where d.name in ('day5', 'day93')", [2]),
        ("select f.v, d.* from d join f on f.k = d.k where d.name = 'day5'", [1]),
        ("select f.v from f join d on f.k = d.k where d.name like 'day1_' and f.v > 0", [1]),
        ("select v from f where k in (select k from d where name = 'day77')", [1]),
        ("select v from f where exists (select 1 from d where d.k = f.k and name = 'day77')", [1]),
        ("select f.v, d.name from d left join f on f.k = d.k where d.name = 'day5'", [10]),
        ("select f.v, d.name from f right join d on f.k = d.k where d.name = 'day5'", [10]),
        ("select f.v, d.name from f left join d on f.k = d.k and d.name = 'day5'", [10]),
        ("select f.v from f left anti join d on f.k = d.k and d.name = 'day5'", [10]),
        ("select f.v from f join d on f.k = d.k", [10]),
        ("select f.v from f join d on f.k < d.k where d.name = 'day5'", [10]),
        ("select f.v from f join d on f.k + 1 = d.k where d.name = 'day5'", [10]),
        ("select x.w from (select k x, v + 1 w from f where m >= 0) x join d on x = d.k where name = 'day5'", [1]),
        ("select f.v from f join d on f.k = d.k and f.m = d.g where d.name = 'day5'", [1]),
        ("select f.v from f join d on f.j = d.k where d.name = 'day5'", [1]),
        ("select sum(f.v) from f join d a on f.k = a.k join d b on f.j = b.k where a.g = 3 and b.name = 'day5'", [1]),
        ("select f.v from f join d a on f.k = a.k join d b on f.k = b.k where a.k < 30 and b.k > 15 and a.g < 9", None),
        ("select f.v from f join d on f.m = d.k where d.name = 'day115'", [0]),
    ],
)
def test_the_files_that_a_join_reads(
    spark: SparkSession, star_views: None, query: str, files: list[int] | None
) -> None:
    """[PLN-JN-1] [PLN-JN-2]"""
    found = read_star(spark, query)
    assert files is None or found in (files, [] if files == [0] else files), query


def test_no_keys(spark: SparkSession, star_views: None) -> None:
    """[PLN-JN-3] NULL is no key."""
    assert read_star(spark, "select f.v from f join d on f.k = d.k where d.name = 'no day'") in ([0], [])
    query = "select f.v from f join (select if(k > 3, null, k) k, name from d) d on f.k = d.k where name like 'day_'"
    assert read_star(spark, query) == [1]


def test_many_keys(spark: SparkSession, star: tuple[str, str], tmp_path: Path) -> None:
    """[PLN-JN-3] Of more than 10,000 keys, the least and the greatest count."""
    fmt, home = star
    spark.read.format(fmt).load(f"{home}/facts").createOrReplaceTempView("f")
    for last, files in ((9_000, [8]), (12_000, [10])):
        keys = [0, *range(35, last)]
        path = write_once(spark, tmp_path / f"keys{last}", "k int, one int", {"d": [(k, 1) for k in keys]}, fmt)
        spark.read.format(fmt).load(path).createOrReplaceTempView("d")
        query = "select /*+ BROADCAST(d) */ f.v from f join d on f.k = d.k where d.one = 1"
        assert read_star(spark, query) == files
        assert read_star(spark, f"{query} and d.k > 3") == [7]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.xskip.planning.joins", "false"),
        ("spark.sql.optimizer.dynamicPartitionPruning.enabled", "false"),
        ("spark.sql.autoBroadcastJoinThreshold", "-1"),
        ("spark.sql.exchange.reuse", "false"),
        ("spark.sql.codegen.wholeStage", "false"),
        ("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
    ],
)
def test_settings(spark: SparkSession, star_views: None, key: str, value: str) -> None:
    """[PLN-JN-1]"""
    spark.conf.set(key, value)
    found = read_star(spark, "select f.v from f join d on f.k = d.k where d.name = 'day5'")
    assert found == ([1] if "codegen" in key else [10])


def test_sort_merge_joins(spark: SparkSession, star_views: None) -> None:
    """[PLN-JN-1] Plans travel to executors without classes of xskip."""
    spark.conf.set("spark.sql.join.preferSortMergeJoin", "true")
    query = "select /*+ MERGE(f, d) */ f.v from f join d on f.k = d.k where d.name = 'day5' order by v"
    assert read_star(spark, query) == [10]
    query = (
        "select /*+ MERGE(x, y) */ x.v from (select f.* from f join d on f.k = d.k where d.name = 'day5') x "
        "join (select f.* from f join d on f.k = d.k where d.name < 'day5') y on x.v = y.v order by x.v"
    )
    read_star(spark, query)


def test_datasets_that_occur_twice(spark: SparkSession, star_views: None) -> None:
    """[PLN-JN-2] Parts of a plan that are equal stay equal."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    query = (
        "with x as (select k, count(*) c from f where v >= 0 group by k) select a.c from x a "
        "join (select x.k from x join d on x.k = d.k where d.name = 'day5') b on a.k = b.k"
    )
    assert not has_runtime_filter(spark.sql(query)._jdf.queryExecution().executedPlan().toString())
    read_star(spark, query)


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select a.v, b.v w from {x} a join {y} b on a.m = b.m", [1, 1]),
        ("select v, k from {x} union all select v, k from {y}", [1, 1]),
        ("select v from {x} where m = (select max(m) from f where j <> 3)", [1, 10]),
        ("select x.v from {x} x join {y} y on x.k = y.k", [1, 1]),
        ("select f.v from f join {x} x on f.k = x.k", [1, 10]),
        (
            "with x as (select v, k from f where m > 5) select count(*) from x a join x b on a.v = b.v and a.k > b.k",
            [10, 10],
        ),
    ],
)
def test_datasets_that_occur_in_several_joins(
    spark: SparkSession, star_views: None, query: str, files: list[int]
) -> None:
    """[PLN-JN-2] Each occurrence is pruned by the keys of its own join."""
    join = "(select f.* from f join d on f.k = d.k where d.name = '{}')"
    query = query.format(x=join.format("day5"), y=join.format("day77"))
    read_star(spark, query)
    assert sorted(scan.files for scan in measure(spark.sql(query)).scans if scan.table == "facts") == files


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_parts_that_stay_equal(spark: SparkSession, star: tuple[str, str], adaptive: str) -> None:
    """[PLN-JN-2] Spark reads equal parts of a plan once, with and without the pruning."""
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    for name, folder in (("f", "facts"), ("d", "days")):
        spark.read.format(star[0]).load(f"{star[1]}/{folder}").createOrReplaceTempView(name)
    join = "select f.v, count(*) c from f join d on f.k = d.k where d.name > 'day5' group by f.v"
    query = f"with x as ({join}) select a.v, b.c from x a join x b on a.v = b.v + 1"
    scans = {}
    for value in ("false", "true"):
        spark.conf.set("spark.xskip.planning.joins", value)
        df = spark.sql(query)
        df.collect()
        plan = str(df._jdf.queryExecution().executedPlan().toString())
        plan = plan.partition("== Initial Plan ==")[0]
        scans[value] = plan.count("Scan "), plan.count("ReusedExchange")
    assert has_runtime_filter(plan)
    assert scans["true"][1] >= scans["false"][1] > 0
    read_star(spark, query)


def test_the_other_side_is_read_once(spark: SparkSession, star_views: None) -> None:
    """[PLN-JN-1] By the broadcast that the join uses."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    plan = str(
        spark.sql("select f.v from f join d on f.k = d.k where d.name = 'day5'")
        ._jdf.queryExecution().executedPlan().toString()
    )  # fmt: skip
    assert plan.count("BroadcastExchange") == 2
    assert "ReusedExchange" in plan


@pytest.mark.parametrize("between", ["rand(7) < 0.99", "v >= 0"])
def test_filters_between(spark: SparkSession, star_views: None, between: str) -> None:
    """[PLN-JN-2]"""
    query = f"select x.v from (select k, v from f where {between}) x join d on x.k = d.k where d.name = 'day5'"
    plan = spark.sql(query)._jdf.queryExecution().optimizedPlan().toString()
    assert has_runtime_filter(plan) == ("rand" not in between)


def test_plans_between(spark: SparkSession, star_views: None) -> None:
    """[PLN-JN-2]"""
    query = "select x.v from (select k, v from f order by v, k limit 15) x join d on x.k = d.k where d.name = 'day5'"
    assert read_star(spark, query) == [10]
    query = "select x.c from (select {} k, count(*) c from f group by {}) x join d on x.k = d.k where d.name = 'day5'"
    for key, group, files in (("k", "k", 1), ("k", "k, v", 1), ("k + 0.5", "k + 0.5", 10), ("max(k)", "v", 10)):
        assert read_star(spark, query.format(key, group)) == [files], key


def test_branches_of_a_union(spark: SparkSession, star_views: None, star: tuple[str, str], tmp_path: Path) -> None:
    """[PLN-JN-2]"""
    files = {f"f{i}": [(float(i), i, i + 100)] * 3 for i in range(5)}
    path = write_once(spark, tmp_path / "more", "x double, n int, w int", files, star[0])
    index(spark, path, [MinMax("n")], star[0])
    spark.read.format(star[0]).load(path).createOrReplaceTempView("g")
    union = "select v, k from f union all select w, n from g where w > 0 union all select 1, 5"
    query = f"select x.* from ({union}) x join d on x.k = d.k where d.name in ('day3', 'day77')"
    assert read_star(spark, query) == [2]
    assert read_star(spark, query, "more") == [1]


def test_two_runs_and_changed_files(spark: SparkSession, star: tuple[str, str], tmp_path: Path) -> None:
    """[PLN-JN-3] A file without metadata is read."""
    fmt, home = star
    path = write_once(spark, tmp_path / "facts", "k int, v int", {f"f{i}": [(i, i)] * 3 for i in range(5)}, fmt)
    index(spark, path, [MinMax("k")], fmt)
    Path(path, f"f4.{fmt}").touch()
    spark.read.format(fmt).load(path).createOrReplaceTempView("f")
    spark.read.format(fmt).load(f"{home}/days").createOrReplaceTempView("d")
    df = spark.sql("select f.v from f join d on f.k = d.k where d.name = 'day2'")
    for _ in range(2):
        assert [row.v for row in df.collect()] == [2, 2, 2]
    assert read_star(spark, "select f.v from f join d on f.k = d.k where d.name = 'day2'") == [2]


def test_tables_with_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-JN-2] Spark prunes partitions in its first API, and xskip in the second one, and the files of others."""
    files = {f"p={p}/f{p}{i}": [(10 * p + i,)] * 2 for p in range(4) for i in range(3)}
    path = write_once(spark, tmp_path / "facts", "k int", files)
    index(spark, path, [MinMax("k")])
    other = write_once(spark, tmp_path / "days", "k int, p int, name string", {"d": [(21, 2, "a"), (12, 1, "b")]})
    spark.read.parquet(path).createOrReplaceTempView("f")
    spark.read.parquet(other).createOrReplaceTempView("d")
    assert read_star(spark, "select f.* from f join d on f.k = d.k where name = 'a'") == [1]
    assert read_star(spark, "select f.* from f join d on f.p = d.p where name = 'a'") == [3]
    assert read_star(spark, "select f.* from f join d on f.p = d.p and f.k = d.k where name = 'a'") == [1]
    assert read_star(spark, "select f.* from f join d on f.k = d.k where name = 'a' and f.p < 2") in ([0], [])


def test_the_name_of_the_number(spark: SparkSession, tmp_path: Path, star: tuple[str, str], api: str) -> None:
    """[PLN-JN-2] A dataset can have a column with the name of the column that the plan adds in the first API."""
    files = {f"f{i}": [(i, i + 100)] * 3 for i in range(5)}
    path = write_once(spark, tmp_path / "facts", "k int, __xskip_file int", files)
    index(spark, path, [MinMax("k")])
    spark.read.parquet(path).createOrReplaceTempView("f")
    spark.read.format(star[0]).load(f"{star[1]}/days").createOrReplaceTempView("d")
    assert read_star(spark, "select f.* from f join d on f.k = d.k where d.name = 'day2'") == [5 if api == "v1" else 1]


def test_an_index_that_cannot_answer(spark: SparkSession, tmp_path: Path, star: tuple[str, str]) -> None:
    """[PLN-JN-3]"""
    path = write_once(spark, tmp_path / "facts", "k int, v int", {f"f{i}": [(i, i)] * 3 for i in range(5)})
    made = index(spark, path, [MinMax("k")])
    spark.read.parquet(path).createOrReplaceTempView("f")
    spark.read.format(star[0]).load(f"{star[1]}/days").createOrReplaceTempView("d")
    spark.conf.set("spark.xskip.strict", "false")
    for file in Path(made.describe().location).rglob("*.parquet"):
        file.write_bytes(b"no Parquet")
    xskip.enable(spark)
    assert len(spark.sql("select f.v from f join d on f.k = d.k where d.name = 'day2'").collect()) == 3


def test_reports(spark: SparkSession, star_views: None) -> None:
    """[PLN-JN-4]"""
    queries = hook_of(spark).queries
    before = queries.last_scan()
    spark.sql("select v from f where k in (select k from d where name = 'day77')").collect()
    report = xskip.last_report(spark)
    assert report is not None
    (scan,) = [scan for scan in report.scans if scan.dataset.endswith("facts")]
    assert (scan.files, scan.kept, scan.pruned, scan.pruned_by, scan.problem) == (10, 1, 0, "join", "")
    assert "  skipped  by join keys as it ran" in str(report)
    assert "k = ?" in scan.predicate or "k IN" in scan.predicate
    spark.sql("select v from f join d on f.k = d.k where name = 'day77' and v >= 0").collect()
    report = xskip.last_report(spark)
    assert report is not None
    (scan,) = [scan for scan in report.scans if scan.dataset.endswith("facts")]
    assert (scan.files, scan.kept, scan.pruned, scan.pruned_by) == (10, 10, 9, "join")
    assert "0 skipped (0.0 %), 9 pruned by join keys as it ran, 0 not indexed" in str(report)
    assert queries.last_scan() > before


@pytest.mark.parametrize("api", ["v2"], indirect=True)
@pytest.mark.parametrize(("hint", "files"), [("BROADCAST(d)", 1), ("MERGE(d)", 10)])
def test_a_scan_of_the_second_api(spark: SparkSession, star: tuple[str, str], hint: str, files: int) -> None:
    """[PLN-JN-5] The scan is as that of Spark, and lists fewer files once Spark passes keys."""
    for name, folder in (("f", "facts"), ("d", "days")):
        spark.read.format(star[0]).load(f"{star[1]}/{folder}").createOrReplaceTempView(name)
    df = spark.sql(f"select /*+ {hint} */ f.v, d.name from f join d on f.k = d.k where d.name = 'day5'")
    leaves = df._jdf.queryExecution().optimizedPlan().collectLeaves()
    (scan,) = (
        found
        for i in range(leaves.length())
        if (found := leaves.apply(i).scan()).getClass().getSimpleName() == "RuntimeFileScan"
    )
    plain = scan.fileScan()
    assert scan.description() == plain.description()
    assert scan.getMetaData().equals(plain.getMetaData())
    assert scan.readSchema().equals(plain.readSchema())
    assert scan.estimateStatistics().sizeInBytes() == plain.estimateStatistics().sizeInBytes()
    assert len(list(scan.planInputPartitions())) == len(list(plain.planInputPartitions()))
    for _ in range(2):
        assert [tuple(row) for row in df.collect()] == [(0, "day5")]
        assert sum(len(list(partition.files())) for partition in scan.planInputPartitions()) == files


def test_random_joins(spark: SparkSession, star_views: None) -> None:
    """[PLN-JN-1]"""
    chooser = random.Random(14)
    fewer = 0
    for _ in range(cases(25)):
        kind = chooser.choice(["join", "left join", "right join", "left semi join", "left anti join", "full join"])
        key = chooser.choice(["k", "m", "j"])
        where = chooser.choice(["name < 'day3'", f"d.k = {chooser.randrange(120)}", f"g = {chooser.randrange(7)}"])
        other = f"(select k dk, name, g from d where {where.replace('d.k', 'k')}) d"
        first, second = chooser.choice([("f", other), (other, "f")])
        found = read_star(spark, f"select * from {first} {kind} {second} on f.{key} = d.dk")
        fewer += found != [10]
    assert fewer >= cases(5)
