"""The query history: what queries of many drivers asked and skipped [REP-H-1]."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.cli.calls import call, call_json
from tests.helpers import index, write_files
from xskip import MinMax, ValueList
from xskip.errors import ArgumentError, SettingError
from xskip.metadatastore.filesystem import LocalStorage
from xskip.query_history.files import HistoryFiles
from xskip.query_history.rows import ScanKind, ScanSums
from xskip.query_history.summary import usage_of
from xskip.results.index_usage import Condition, ConditionUsage
from xskip.results.savings import DatasetSavings, Savings
from xskip.spark.query.spark_engine import engine_of

FILES = {f"f{i}": [(10 * i + j, f"s{i}", j) for j in range(3)] for i in range(10)}


@pytest.fixture
def history(spark: SparkSession, tmp_path: Path) -> str:
    """Return the directory of the history of the session, from now on."""
    engine_of(spark).history.flush()
    spark.conf.set("spark.xskip.history.location", str(tmp_path / "history"))
    return str(tmp_path / "history")


@pytest.fixture
def data(spark: SparkSession, tmp_path: Path) -> tuple[xskip.SkippingIndex, str]:
    path = write_files(spark, tmp_path / "data", "a int, s string, b int", FILES)
    return index(spark, path, [MinMax("a"), ValueList("s")]), path


def rows(history: str) -> list[tuple[ScanKind, ScanSums]]:
    return list(HistoryFiles(LocalStorage(), history).rows())


def test_the_history_has_what_queries_asked(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], history: str
) -> None:
    _, path = data
    for value in (85, 55):
        spark.read.parquet(path).filter(f"a > {value} AND b = 1").collect()
    spark.read.parquet(path).collect()
    sums = xskip.savings(spark, days=1)
    assert (sums.queries, sums.files, sums.skipped) == (3, 30, 9 + 6)
    found = {kind.predicate: (kind, counts) for kind, counts in rows(history)}
    kind, counts = found["(a IS NOT NULL AND b IS NOT NULL AND a > ? AND b = ?)"]
    assert (kind.dataset, kind.format, kind.problem) == (path, "parquet", "")
    assert (kind.present, kind.used, kind.without_index) == (("minmax(a)", "valuelist(s)"), ("minmax(a)",), ("b",))
    assert (counts.queries, counts.scans, counts.ruled_out) == (2, 2, (15,))
    assert counts.first <= counts.last
    assert spark.sparkContext.applicationId in kind.application


def test_the_sums_are_those_of_the_session(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], tmp_path: Path, history: str
) -> None:
    """[REP-H-4] Each scan counts as ``savings`` of the session counts it, whatever the plan is."""
    parts = write_files(spark, tmp_path / "parts", "a int, s string", {f"b={b}/f": [(b, "x")] for b in range(3)})
    index(spark, parts, [MinMax("a")])
    session = spark.newSession()
    xskip.enable(session)
    session.conf.set("spark.xskip.history.location", history)

    def queries() -> dict[str, DataFrame]:
        indexed, by_parts = session.read.parquet(data[1]), session.read.parquet(parts)
        return {
            "self join": indexed.filter("a > 85").join(indexed.filter("a < 5").select("b"), "b"),
            "pruning by a join": by_parts.join(indexed.filter("a = 90").select("b"), "b"),
            "partitions": by_parts.filter("b = 1"),
            "subquery": indexed.filter(f"a > (SELECT max(a) FROM parquet.`{data[1]}` WHERE a < 5)"),
            "union": indexed.filter("a > 85").union(indexed.filter("a > 85")),
            "no filter": indexed,
        }

    def sums(found: Savings) -> list[tuple[object, ...]]:
        return [(e.dataset, e.scans, e.files, e.bytes, e.skipped, e.skipped_bytes) for e in found]

    for setting, value in (("evaluate", "false"), ("V2", ""), ("evaluate", "true"), ("enabled", "false")):
        key = "spark.sql.sources.useV1SourceList" if setting == "V2" else f"spark.xskip.{setting}"
        session.conf.set(key, value)
        for name, query in queries().items():
            query.collect()
            assert sums(xskip.savings(session, days=1)) == sums(xskip.savings(session)), (name, setting)
        session.conf.unset(key)
    assert xskip.savings(session, days=1).skipped > 0


def test_nothing_is_recorded_without_a_place(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], tmp_path: Path
) -> None:
    spark.read.parquet(data[1]).filter("a > 85").collect()
    engine_of(spark).history.flush()
    assert not (tmp_path / "history").exists()
    with pytest.raises(ArgumentError, match=r"days= needs a query history; .*spark.xskip.history.location"):
        xskip.savings(spark, days=1)


@pytest.mark.parametrize("shows", [False, True])
def test_values_are_recorded_only_if_reports_show_them(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], history: str, *, shows: bool
) -> None:
    spark.conf.set("spark.xskip.report.values", str(shows).lower())
    spark.read.parquet(data[1]).filter("s = 'secret'").collect()
    engine_of(spark).history.flush()
    (row,) = rows(history)
    assert row[0].predicate == ("(s IS NOT NULL AND s = 'secret')" if shows else "(s IS NOT NULL AND s = ?)")
    (file,) = Path(history).rglob("*.parquet")
    assert (b"secret" in json.dumps(pq.read_table(file).drop(["first", "last"]).to_pylist()).encode()) is shows


def test_a_session_that_redacts_texts_records_no_values(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], history: str
) -> None:
    spark.conf.set("spark.xskip.report.values", "true")
    spark.conf.set("spark.sql.redaction.string.regex", "secret")
    spark.read.parquet(data[1]).filter("s = 'secret'").collect()
    engine_of(spark).history.flush()
    assert [kind.predicate for kind, _ in rows(history)] == ["(s IS NOT NULL AND s = ?)"]


def test_each_session_has_its_own_history(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], history: str, tmp_path: Path
) -> None:
    other = spark.newSession()
    xskip.enable(other)
    other.conf.set("spark.xskip.history.location", str(tmp_path / "other"))
    spark.read.parquet(data[1]).filter("a > 85").collect()
    other.read.parquet(data[1]).filter("a > 55").collect()
    engine_of(spark).history.flush()
    assert [counts.kept for _, counts in rows(history)] == [1]
    assert [counts.kept for _, counts in rows(str(tmp_path / "other"))] == [4]


def test_advice_and_descriptions_work_over_drivers_and_days(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], history: str
) -> None:
    """[REP-H-4]."""
    made, path = data
    for value in range(12):
        spark.read.parquet(path).filter(f"a > {50 + value} AND b = {value}").collect()
    described = {each.name: each for each in made.describe(days=7).indexes}
    assert (described["minmax"].scans, described["valuelist"].scans) == (12, 0)
    expected = {
        "valuelist(s)": "no condition of 12 scans of the last 7 days concerns valuelist(s)",
        "b": "add an index on b: 12 of 12 scans of the last 7 days have a condition on b",
    }
    opened = xskip.open_index(path)
    for advice in (made.advise(days=7), opened.advise(history=history, days=7)):
        assert {each.subject: each.text.partition("; ")[0].partition(", which")[0] for each in advice} == expected
    assert opened.describe(history=history).scans == 12
    # after a change of the indexes, the scans before count only for what was useful
    made.add([ValueList("b")])
    assert made.describe(days=7).scans == 0


def test_a_history_that_cannot_be_written_fails_no_query(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = engine_of(spark)
    engine.history.flush()
    (tmp_path / "file").write_text("no directory")
    spark.conf.set("spark.xskip.history.location", str(tmp_path / "file" / "history"))
    assert spark.read.parquet(data[1]).filter("a > 85").count() == 3
    with caplog.at_level(logging.WARNING, "xskip"):
        engine.history._record(is_last=True)
        engine.history._record(is_last=True)
    assert [record.message for record in caplog.records if "query history" in record.message] != []
    assert caplog.text.count("is not written") == 1
    engine.history._pending.clear()


def test_rows_stay_until_the_store_takes_them(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], history: str
) -> None:
    Path(history).write_text("no directory")
    spark.read.parquet(data[1]).filter("a > 85").collect()
    engine_of(spark).history._record(is_last=True)
    Path(history).unlink()
    assert xskip.savings(spark, days=1).queries == 1


def test_wrong_days_remove_no_day(spark: SparkSession, data: tuple[xskip.SkippingIndex, str], history: str) -> None:
    """[REP-H-3]: the days are those of the session that ran the query."""
    recorder = engine_of(spark).history
    kept = Path(history) / "20200101"
    kept.mkdir(parents=True)
    (kept / "1-0-0.parquet").write_bytes(b"old")
    spark.conf.set("spark.xskip.history.days", "365d")
    spark.read.parquet(data[1]).filter("a > 85").collect()
    recorder._record(is_last=False)
    assert list(kept.iterdir())
    spark.conf.set("spark.xskip.history.days", "365")
    spark.read.parquet(data[1]).filter("a > 85").collect()
    recorder._pending.clear()  # days are maintained once a day
    recorder._record(is_last=False)
    assert not kept.exists()


#: A driver of its own that runs one query with a local history, and one that reaches the same history by Hadoop.
DRIVER = """
import sys, xskip
from pyspark.sql import SparkSession

path, history, end = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder.config("spark.hadoop.fs.viewfs.mounttable.default.link./history", "file:" + history)
spark = builder.config("spark.xskip.history.location", history).getOrCreate()
in_hadoop = spark.newSession()
in_hadoop.conf.set("spark.xskip.history.location", "viewfs:///history")
for session in (spark, in_hadoop):
    xskip.enable(session)
    session.read.parquet(path).filter("a > 85").collect()
spark.stop() if end == "stop" else None
"""


@pytest.mark.parametrize("end", ["stop", "exit"])
def test_another_driver_writes_its_queries_when_it_ends(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], history: str, end: str
) -> None:
    Path(history).mkdir()
    subprocess.run([sys.executable, "-c", DRIVER, data[1], history, end], check=True, capture_output=True, timeout=300)
    assert len(list(Path(history).rglob("*.parquet"))) == 2
    spark.read.parquet(data[1]).filter("a > 55").collect()
    sums = xskip.savings(spark, days=1)
    assert (sums.queries, sums.skipped) == (3, 2 * 9 + 6)
    assert len({kind.application for kind, _ in rows(history)}) == 2
    usage = usage_of(rows(history), data[1], ["minmax(a)", "valuelist(s)"], 1)
    kept = sum(counts.kept_bytes for _, counts in rows(history))
    assert usage.conditions == {Condition("a", ("above",), is_answered=True): ConditionUsage(3, kept)}
    assert (usage.scans, usage.days_recorded) == (3, 1.0)


def test_the_queries_of_a_diagnosis_are_not_recorded(
    spark: SparkSession, data: tuple[xskip.SkippingIndex, str], history: str
) -> None:
    spark.read.parquet(data[1]).filter("a > 85").collect()
    assert xskip.doctor(spark, data[1]).is_ok
    assert [each.dataset for each in xskip.savings(spark, days=1).datasets] == [data[1]]


def test_the_command_shows_savings_without_spark(
    spark: SparkSession,
    data: tuple[xskip.SkippingIndex, str],
    history: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark.read.parquet(data[1]).filter("a > 85").collect()
    expected = xskip.savings(spark, days=7)
    monkeypatch.setattr("xskip.cli.sessions.session", None)
    found = call_json(capsys, "savings", history, "--days", "7")
    assert found == expected.to_dict()
    (each,) = found["datasets"]
    assert (each["dataset"], each["skipped"], found["since"][:2]) == (expected.datasets[0].dataset, 9, "20")
    assert str(xskip.savings(history=history)) == str(expected)


def test_an_overview_has_the_savings_of_the_last_days(
    spark: SparkSession,
    data: tuple[xskip.SkippingIndex, str],
    history: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """[STA-OV-4]."""
    spark.read.parquet(data[1]).filter("a > 85").collect()
    other = write_files(spark, tmp_path / "other", "a int, s string, b int", FILES)
    index(spark, other, [MinMax("a")])
    base = spark.conf.get("spark.xskip.metadata.location", None) or str(tmp_path)
    for found in (xskip.overview(base, spark=spark, days=7), xskip.overview(base, history=history, days=7)):
        by_dataset = {each.dataset: each for each in found}
        savings = by_dataset[data[1]].savings
        assert savings is not None
        assert (savings.scans, savings.files, savings.skipped) == (1, 10, 9)
        assert 0 < savings.skipped_bytes < savings.bytes
        assert by_dataset[other].savings == DatasetSavings(other, 0, 0, 0, 0, 0, 0.0)
        assert "skipped in the last 7 days" in str(found)
        assert "no scan" in found.to_html()
        skipped = float(savings.skipped_bytes)
    assert [each.savings for each in xskip.overview(base)] == [None, None]
    metrics = call(capsys, "list", base, "--history", history, "--format", "prometheus")
    assert f'xskip_index_skipped_bytes{{dataset="{data[1]}"}} {skipped}' in metrics
    assert "skipped_bytes{" not in call(capsys, "list", base, "--format", "prometheus")


def test_wrong_arguments_are_refused(spark: SparkSession, history: str) -> None:
    with pytest.raises(ArgumentError, match="number of days"):
        xskip.savings(spark, days=0)
    with pytest.raises(ArgumentError, match="days= needs a query history"):
        xskip.savings(days=3)
    spark.conf.set("spark.xskip.history.location", "relative")
    with pytest.raises(SettingError, match="absolute path"):
        xskip.savings(spark, days=1)
