"""Scans in Spark's SQL metrics: the numbers that the user interface and the event log show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.e2e.conftest import Lake
from tests.helpers import write_once
from tests.spark.java_classes import JavaClasses
from xskip.results.skipping_report import ScanReport

LISTED, SKIPPED = "xskip: number of files listed", "xskip: number of files skipped"
UNNEEDED = "xskip: number of skipped files that can match"
BYTES, INDEXES, TIME = "xskip: size of files skipped", "xskip: number of indexes used", "xskip: time to select files"


class Executions:
    """The executions that Spark's store for the user interface has."""

    def __init__(self, spark: SparkSession) -> None:
        self._bus: Any = spark.sparkContext._jsc.sc().listenerBus()
        self._store: Any = spark._jsparkSession.sharedState().statusStore()

    def _wait(self) -> None:
        for _ in range(2):  # a listener may have posted an event
            self._bus.waitUntilEmpty()

    def latest(self) -> int:
        self._wait()
        return int(self._store.executionsList().last().executionId())

    def scans(self, execution: int | None = None) -> list[dict[str, str]]:
        """Return the metrics of xskip with values in each scan of an execution, or of the latest one."""
        number = self.latest() if execution is None else execution
        self._wait()
        values = self._store.executionMetrics(number)
        nodes = self._store.planGraph(number).allNodes()
        found = [self._metrics(nodes.apply(i), values) for i in range(nodes.length())]
        return [metrics for metrics in found if metrics is not None]

    @staticmethod
    def _metrics(node: Any, values: Any) -> dict[str, str] | None:
        if "Scan" not in node.name():
            return None
        metrics = [node.metrics().apply(i) for i in range(node.metrics().length())]
        pairs = {metric.name(): values.get(metric.accumulatorId()) for metric in metrics}
        return {
            name: str(value.get()) for name, value in pairs.items() if name.startswith("xskip") and value.isDefined()
        }


@pytest.fixture
def executions(spark: SparkSession) -> Executions:
    return Executions(spark)


def expected(scan: ScanReport, indexes: int) -> dict[str, str]:
    """Return the metrics of a scan without its size, whose text Spark rounds, and its time."""
    numbers = {LISTED: scan.files, SKIPPED: scan.skipped, UNNEEDED: scan.unneeded, INDEXES: indexes}
    return {name: str(number) for name, number in numbers.items()}


def exact(metrics: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in metrics.items() if name not in (BYTES, TIME)}


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_the_metrics_are_those_of_the_report(
    spark: SparkSession, lake: Lake, api: str, executions: Executions, adaptive: str
) -> None:
    """[REP-M-1] [REP-M-2]"""
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    lake.read().filter("a > 15 AND s = 's2'").groupBy("s").sum("a").collect()
    (scan,) = xskip.last_report(spark).scans
    (metrics,) = executions.scans()
    assert exact(metrics) == expected(scan, 2)
    assert scan.skipped == 3
    size, unit = metrics[BYTES].split("\n")[-1].split()[:2]
    assert abs(float(size) * {"B": 1, "KiB": 1024}[unit] - scan.skipped_bytes) <= 0.05 * 1024
    assert metrics[TIME].split("\n")[-1].split()[1] in ("ms", "s")


def test_each_execution_of_a_dataframe_has_values(
    spark: SparkSession, lake: Lake, api: str, executions: Executions
) -> None:
    """[REP-M-2] Also if Spark has listed the files in an earlier execution."""
    df = lake.read().filter("a > 15")
    for _ in range(3):
        df.collect()
        (scan,) = xskip.last_report(spark).scans
        (metrics,) = executions.scans()
        assert exact(metrics) == expected(scan, 1)


def test_the_scans_of_a_join_and_a_subquery_have_values(
    spark: SparkSession, lake: Lake, api: str, executions: Executions
) -> None:
    """[REP-M-2] Each node has the numbers of its own scan."""
    lake.read().createOrReplaceTempView("v")
    spark.sql(
        "SELECT l.a FROM v l JOIN v r ON l.s = r.s WHERE l.a > 15 AND r.s = 's2' "
        "AND l.d > (SELECT min(d) FROM v WHERE s = 's0' AND a = 1)"
    ).collect()
    report = xskip.last_report(spark)
    found = executions.scans()
    assert {(m[LISTED], m[SKIPPED]) for m in found if m} == {(str(s.files), str(s.skipped)) for s in report.scans}
    assert len([m for m in found if m]) >= 3


def test_a_cached_relation_has_values_in_the_query_that_filled_the_cache(
    spark: SparkSession, lake: Lake, executions: Executions
) -> None:
    """[REP-M-2] [REP-Q-3]"""
    df = lake.read().filter("s = 's1'").cache()
    assert df.count() == 3
    assert [metrics[SKIPPED] for metrics in executions.scans() if metrics] == ["3"]
    assert df.filter("a > 10").count() == 2
    assert [metrics for metrics in executions.scans() if metrics] == []


def test_commands_have_values(spark: SparkSession, lake: Lake, executions: Executions, tmp_path: Path) -> None:
    """[REP-M-2]"""
    lake.read().filter("s = 's1'").write.parquet(str(tmp_path / "copy"))
    assert [metrics[SKIPPED] for metrics in executions.scans() if metrics] == ["3"]


def test_scans_that_ask_no_index_have_no_values(
    spark: SparkSession, lake: Lake, executions: Executions, tmp_path: Path
) -> None:
    """[REP-M-1]"""
    plain = write_once(spark, tmp_path / "plain", "a int", {"f0": [(1,)]})
    spark.read.parquet(plain).filter("a = 1").collect()
    assert executions.scans() == [{}]
    xskip.disable(spark)
    lake.read().filter("s = 's1'").collect()
    assert executions.scans() == [{}]


def test_plans_stay_spark_s_own(spark: SparkSession, lake: Lake, api: str, executions: Executions) -> None:
    """[REP-M-3] The nodes are of Spark's classes, and rows, reuse and Spark's own metrics are as without skipping."""
    df = lake.read().filter("a > 15").groupBy("s").agg(F.sum("a").alias("n"))
    both = df.union(df)
    rows = sorted(map(tuple, both.collect()))
    plan = both._jdf.queryExecution().executedPlan().toString()
    assert "ReusedExchange" in plan
    assert [metrics[SKIPPED] for metrics in executions.scans() if metrics] == ["2"]
    leaf = both._jdf.queryExecution().sparkPlan().collectLeaves().head()
    assert leaf.getClass().getName().startswith("org.apache.spark.sql.execution.")
    xskip.disable(spark)
    assert sorted(map(tuple, df.union(df).collect())) == rows


def test_metrics_do_not_pile_up(spark: SparkSession, lake: Lake, executions: Executions) -> None:
    """[REP-M-3] No value waits for an execution that has ended."""
    df = lake.read().filter("a > 15")
    for _ in range(5):
        df.collect()
    executions.latest()
    assert JavaClasses(spark).field("scan.ScanMetrics", "PENDING").size() == 0
