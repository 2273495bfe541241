"""Reports are about the query that they name: the latest one of a session, of a DataFrame, or of a block."""

from __future__ import annotations

import re
import shutil
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.e2e.conftest import Lake
from tests.helpers import index, write_once
from xskip import MinMax, SkippingReport, ValueList
from xskip.results.skipping_report import ScanReport


def last(spark: SparkSession) -> ScanReport:
    (scan,) = xskip.last_report(spark).scans
    return scan


@pytest.fixture
def plain(spark: SparkSession, tmp_path: Path) -> str:
    """Return a dataset of two files without an index."""
    return write_once(spark, tmp_path / "plain", "a int", {"f0": [(1,)], "f1": [(2,), (3,)]})


def indexed_query(lake: Lake) -> None:
    """Run a query that skips files, whose report must not appear as that of a later query."""
    assert len(lake.read().filter("a > 15").collect()) > 0
    assert last(lake.spark).skipped == 2


def test_a_dataset_without_an_index_says_so(spark: SparkSession, lake: Lake, plain: str, api: str) -> None:
    """[REP-Q-1] [REP-Q-2]"""
    indexed_query(lake)
    assert spark.read.parquet(plain).filter("a = 1").count() == 1
    scan = last(spark)
    assert (scan.dataset, scan.format, scan.problem) == (plain, "parquet", "the dataset has no index")
    assert (scan.files, scan.kept, scan.skipped, scan.not_indexed) == (2, 2, 0, 2)
    assert "filter" not in str(xskip.last_report(spark)), "no index was asked about the filter"
    assert scan.bytes == sum(path.stat().st_size for path in Path(plain).glob("*.parquet"))
    report = xskip.last_report(spark)
    assert report.headline.startswith("skipped none of 2 files: the dataset has no index; the query that ended at ")
    assert report.seconds is not None
    assert report.seconds > 0


def test_the_index_of_another_path_is_named(spark: SparkSession, lake: Lake, plain: str) -> None:
    """[REP-Q-2] A dataset that was copied with its index has none, and the report says what to do."""
    index(spark, plain, [MinMax("a")])
    copied = shutil.copytree(plain, f"{plain}-copy")
    assert spark.read.parquet(copied).filter("a = 1").count() == 1
    assert last(spark).problem == (
        "the dataset has no index of this path, but one of another path: call adopt() if it was moved or copied"
    )
    index(spark, copied, [MinMax("a")])
    assert len(spark.read.parquet(copied).filter("a = 1").collect()) == 1
    assert last(spark).skipped == 1


def test_a_base_location_is_named(spark: SparkSession, plain: str, tmp_path: Path) -> None:
    """[REP-Q-2]"""
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "elsewhere"))
    spark.read.parquet(plain).filter("a = 1").collect()
    assert last(spark).problem.startswith("the dataset has no index below spark.xskip.metadata.location")


def test_a_disabled_session_says_so(spark: SparkSession, lake: Lake, api: str) -> None:
    """[REP-Q-2]"""
    indexed_query(lake)
    xskip.disable(spark)
    lake.read().filter("a > 15").collect()
    xskip.enable(spark)  # the query ran before
    assert last(spark).problem == "skipping is off in this session; call xskip.enable(spark) to switch it on"
    assert (last(spark).files, last(spark).kept) == (4, 4)


def test_the_setting_that_disables_a_session_is_named(spark: SparkSession, lake: Lake) -> None:
    """[REP-Q-2]"""
    indexed_query(lake)
    spark.conf.set("spark.xskip.enabled", "False")
    lake.read().filter("a > 15").collect()
    assert last(spark).problem == "skipping is off in this session: spark.xskip.enabled is 'False'"


def test_another_session_has_its_own_report(spark: SparkSession, lake: Lake) -> None:
    """[REP-Q-1]"""
    other = spark.newSession()
    assert xskip.last_report(other).scans == ()
    assert xskip.last_report(other).note == "xskip has seen no query of this session since xskip.enable(spark)"
    indexed_query(lake)
    other.read.format(lake.fmt).load(lake.path).filter("a > 15").collect()
    assert "xskip.enable(spark)" in last(other).problem
    assert last(spark).skipped == 2


def test_a_query_without_a_filter_says_so(spark: SparkSession, lake: Lake, api: str) -> None:
    """[REP-Q-2]"""
    indexed_query(lake)
    lake.read().collect()
    assert (last(spark).problem, last(spark).files) == ("no filter reaches this scan", 4)


def test_an_unknown_format_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-Q-2]"""
    (tmp_path / "picture.png").write_bytes(b"no picture")
    spark.read.format("image").load(str(tmp_path)).filter("image.height = 1").collect()
    assert last(spark).problem.startswith("xskip does not support files of the format org.apache.spark.ml.source.image")


def test_a_query_without_files_is_the_latest(spark: SparkSession, lake: Lake) -> None:
    """[REP-Q-1]"""
    indexed_query(lake)
    spark.range(3).collect()
    report = xskip.last_report(spark)
    assert report.scans == ()
    assert report.headline.startswith("no scan reads files; the query that ended at ")


def test_commands_and_explanations_are_no_queries(spark: SparkSession, lake: Lake, plain: str) -> None:
    """[REP-Q-1]"""
    indexed_query(lake)
    lake.read().createOrReplaceTempView("v")
    spark.sql("SET spark.sql.shuffle.partitions=2")
    spark.sql("EXPLAIN SELECT * FROM v WHERE a = 1").collect()
    xskip.explain(spark.read.parquet(plain).filter("a = 1"))
    spark.read.parquet(plain).filter("a = 1").explain(mode="formatted")
    assert last(spark).skipped == 2


def test_a_command_that_reads_is_a_query(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    """[REP-Q-3]"""
    lake.read().filter("s = 's1'").write.parquet(str(tmp_path / "copy"))
    assert (last(spark).dataset, last(spark).skipped) == (lake.path, 3)
    lake.read().filter("a > 15").createOrReplaceTempView("v")
    spark.sql("CREATE TABLE report_copy USING parquet AS SELECT * FROM v")
    assert (last(spark).dataset, last(spark).skipped) == (lake.path, 2)


def test_an_rdd_has_a_report(spark: SparkSession, lake: Lake) -> None:
    """[REP-Q-1]"""
    spark.range(1).collect()
    assert lake.read().filter("s = 's1'").rdd.count() > 0
    assert last(spark).skipped == 3


def test_a_query_that_runs_again_is_the_latest(spark: SparkSession, lake: Lake) -> None:
    """[REP-Q-1]"""
    df = lake.read().filter("s = 's1'")
    df.collect()
    indexed_query(lake)
    df.collect()
    assert last(spark).skipped == 3


def test_a_cached_relation_reads_no_files(spark: SparkSession, lake: Lake) -> None:
    """[REP-Q-3]"""
    df = lake.read().filter("s = 's1'").cache()
    df.count()
    assert last(spark).skipped == 3
    df.count()
    assert xskip.last_report(spark).scans == ()


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_scans_of_stages_and_subqueries_are_found(spark: SparkSession, lake: Lake, adaptive: str) -> None:
    """[REP-Q-3]"""
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    lake.read().createOrReplaceTempView("t")
    lake.read_parted().createOrReplaceTempView("u")
    spark.sql(
        "SELECT t.s, count(*) FROM t JOIN u ON t.d = u.d WHERE t.a > 15 AND u.s = 's2'"
        " AND t.d <= (SELECT max(d) FROM u WHERE a > 25) GROUP BY t.s ORDER BY 1"
    ).collect()
    found = sorted((scan.dataset, scan.kept) for scan in xskip.last_report(spark).scans)
    assert found == sorted([(lake.path, 2), (lake.parted, 1), (lake.parted, 1)])


def test_a_failed_query_has_a_report(spark: SparkSession, lake: Lake) -> None:
    """[REP-Q-1]"""
    spark.range(1).collect()
    with pytest.raises(Exception, match="boom"):
        lake.read().filter("s = 's1'").select(F.raise_error(F.lit("boom"))).collect()
    assert last(spark).skipped == 3
    report = xskip.last_report(spark)
    assert " failed after " in report.headline
    assert report.to_dict()["failed"]
    lake.read().filter("s = 's1'").collect()
    assert " took " in xskip.last_report(spark).headline


def test_a_dataframe_has_a_report_before_and_after_it_runs(spark: SparkSession, lake: Lake, plain: str) -> None:
    """[REP-Q-4]"""
    df = lake.read().filter("a > 15 AND d >= 0")
    before = xskip.report(df)
    df.collect()
    spark.range(1).collect()
    after = xskip.report(df)
    for report in (before, after):
        assert [(scan.dataset, scan.skipped) for scan in report.scans] == [(lake.path, 2)]
    unindexed = spark.read.parquet(plain).filter("a = 1")
    reports = [xskip.report(unindexed)]
    unindexed.collect()
    reports.append(xskip.report(unindexed))
    assert [[(scan.files, scan.problem) for scan in report.scans] for report in reports] == [
        [(2, "the dataset has no index")]
    ] * 2


def test_a_watch_collects_the_queries_of_its_block(spark: SparkSession, lake: Lake, plain: str) -> None:
    """[REP-Q-5]"""
    indexed_query(lake)
    other = spark.newSession()
    with xskip.watch(spark) as watched:
        lake.read().filter("s = 's1'").collect()
        other.range(2).collect()
        spark.read.parquet(plain).filter("a = 1").count()
        assert len(watched.reports) == 2
        lake.read().filter("s = 's2'").rdd.count()
    indexed_query(lake)
    assert [[scan.skipped for scan in report.scans] for report in watched.reports] == [[3], [0], [3]]
    assert (watched.report.files, watched.report.skipped) == (10, 6)
    assert str(watched).startswith("skipped 6 of 10 files in 3 scans (60.0 %), ")
    assert "3 queries took" in watched.report.headline
    assert "60.0 % <small>of 10 files in 3 scans skipped</small>" in watched._repr_html_()


def test_a_watch_without_queries_says_so(spark: SparkSession) -> None:
    """[REP-Q-5]"""
    with xskip.watch(spark) as watched:
        pass
    assert (watched.reports, str(watched)) == ((), "no query of this session ran")


def test_queries_of_other_threads_of_a_session_are_watched(spark: SparkSession, lake: Lake) -> None:
    """[REP-Q-5]"""
    with xskip.watch(spark) as watched:
        threads = [threading.Thread(target=lambda i=i: lake.read().filter(f"s = 's{i}'").collect()) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [scan.skipped for scan in watched.report.scans] == [3, 3, 3]


def shown(spark: SparkSession, path: str, predicate: str) -> SkippingReport:
    return xskip.explain(spark.read.parquet(path).filter(predicate))


def test_a_setting_shows_values(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-V-1]"""
    files = {f"f{i}": [(i, f"s{i}")] for i in range(3)}
    path = write_once(spark, tmp_path / "data", "a int, s string", files)
    index(spark, path, [MinMax("a"), ValueList("s")])
    predicate = "s = 's1' AND a IN (1, 2)"
    hidden = shown(spark, path, predicate)
    assert "s1" not in hidden.to_json()
    spark.conf.set("spark.xskip.report.values", "true")
    report = shown(spark, path, predicate)
    assert "s = 's1'" in report.scans[0].predicate
    assert "a IN (1, 2)" in report.scans[0].predicate
    assert "s = 's1'" in str(report.scans[0].outcomes)
    for other in ("false", "yes please"):
        spark.conf.set("spark.xskip.report.values", other)
        report = shown(spark, path, predicate)
        assert report.scans[0].skipped == 2
        assert "s1" not in report.to_json()


def test_values_of_a_redacting_session_stay_hidden(spark: SparkSession, lake: Lake) -> None:
    """[REP-V-2]"""
    spark.conf.set("spark.xskip.report.values", "true")
    spark.conf.set("spark.sql.redaction.string.regex", "nothing")
    assert "s1" not in str(xskip.explain(lake.read().filter("s = 's1'"))).replace(lake.path, "")


def test_values_of_encrypted_columns_stay_hidden(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-V-2]"""
    xskip.use_kms(xskip.LocalKms({"footer": bytes(16), "k1": bytes(range(16))}))
    try:
        spark.conf.set("spark.xskip.encryption.footer.key", "footer")
        files = {f"f{i}": [(i, f"s{i}")] for i in range(3)}
        path = write_once(spark, tmp_path / "data", "a int, s string", files)
        index(spark, path, [MinMax("a"), ValueList("s", key_label="k1")])
        spark.conf.set("spark.xskip.report.values", "true")
        report = shown(spark, path, "s = 's1' AND a = 1 AND upper(s) = 'S1'")
        assert report.scans[0].skipped == 2
        assert "a = 1" in str(report)
        assert "s1" not in report.to_json().lower().replace(path.lower(), "")
    finally:
        xskip.use_kms(None)


def test_a_plan_that_runs_again_counts_its_files_again(spark: SparkSession, plain: str) -> None:
    """[REP-Q-3] [REP-S-1] Spark sets its metrics of files only in the first execution of a plan."""
    df, none = spark.read.parquet(plain).filter("a > 1"), spark.read.parquet(plain).filter("a > 7")
    before = xskip.savings(spark)
    for each in (df, df, none, none):
        each.collect()
        scan = last(spark)
        assert (scan.files, scan.kept, scan.bytes > 0) == (2, 2, True)
    assert xskip.report(df).headline == "skipped none of 2 files: the dataset has no index"
    assert xskip.report(none).headline == "skipped none of 2 files: the dataset has no index"
    assert xskip.savings(spark).files - before.files == 8


def test_a_report_before_the_query_ran_counts_the_files(spark: SparkSession, lake: Lake) -> None:
    """[REP-Q-4] Also if a report was made before, and no filter reaches the index."""
    df = lake.read()
    files = xskip.explain(df).files
    assert files > 0
    assert [xskip.report(df).files for _ in range(2)] == [files, files]
    assert xskip.report(df).headline == f"skipped none of {files} files: no filter reaches this scan"


@pytest.mark.parametrize("indexed", [False, True])
def test_filters_of_partitions_that_wait_for_another_plan(
    spark: SparkSession, tmp_path: Path, *, indexed: bool
) -> None:
    """[REP-Q-4] The values of dynamic pruning and of subqueries are not known before the query runs."""
    path = write_once(spark, tmp_path / "d", "a int", {f"p={p}/f": [(p,)] for p in range(3)})
    if indexed:
        index(spark, path, [MinMax("a")])
    small = spark.range(9).filter("id = 1").selectExpr("cast(id AS int) AS p", "id AS x")
    for df in (
        spark.read.parquet(path).join(F.broadcast(small), "p"),
        spark.read.parquet(path).filter("p = (SELECT max(id) FROM range(2))"),
    ):
        assert xskip.explain(df).files == 3
        assert xskip.report(df).files == 3
        assert len(df.collect()) == 1
        ran = xskip.last_report(spark).files
        assert df.collect()
        assert xskip.last_report(spark).files == ran


def test_the_query_of_a_report_can_be_found(spark: SparkSession, plain: str) -> None:
    """[REP-Q-1] The name has the time with its zone, and where Spark shows the number."""
    spark.read.parquet(plain).collect()
    assert re.fullmatch(
        r"the query that ended at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(ID \d+ on Spark's SQL page\)",
        xskip.last_report(spark).query,
    )
    assert re.search(r" since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC skipped ", xskip.savings(spark).headline)
