"""Reports on the single files of a scan: their classes, their bounds, and why a query reads or skips each."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.e2e.conftest import Lake
from tests.helpers import index, opened_files, write_once
from xskip import BloomFilter, GapList, MinMax, SkippingReport, ValueList
from xskip.errors import ArgumentError
from xskip.results.file_explanation import FileExplanation
from xskip.results.file_picture import FilePicture
from xskip.results.skipping_report import ScanReport

VALUES = "spark.xskip.report.values"
MATCHES, NO_MATCH = "the statistics admit a matching row", "the statistics exclude every row"


def only(report: SkippingReport) -> ScanReport:
    (scan,) = report.scans
    return scan


def picture(scan: ScanReport) -> FilePicture:
    assert scan.drawing is not None
    found = scan.drawing.picture()
    assert isinstance(found, FilePicture), found
    return found


def no_picture(scan: ScanReport) -> str:
    assert scan.drawing is not None
    found = scan.drawing.picture()
    assert isinstance(found, str)
    return found


def explained(df: DataFrame, files: int = 100) -> dict[str, FileExplanation]:
    """Return the explanations by the names of the files, in their order."""
    return {Path(each.name).stem: each for each in only(xskip.explain(df, files=files)).explained}


def brief(found: FileExplanation) -> tuple[str, str, str, str]:
    return found.verdict, found.predicate, found.index, found.reason


@pytest.mark.parametrize(
    "predicate",
    ["a > 15", "s = 's1'", "a = 1 OR s = 's3'", "a > 1000", "a >= 0", "d > 2 AND a > 15", "abs(a) > 15", "a % 7 = 3",
     "p = 1 AND a > 5", "p = 1 OR a = 31", "a IS NULL", "NOT (a > 15 OR s = 's0')"],
)  # fmt: skip
def test_the_classes_are_those_of_the_plan(spark: SparkSession, lake: Lake, api: str, predicate: str) -> None:
    """[REP-P-2] [REP-F-1]"""
    read = lake.read_parted if "p =" in predicate else lake.read
    opened = opened_files(read().filter(predicate))
    read().filter(predicate).collect()
    after = only(xskip.last_report(spark))
    scan = only(xskip.explain(read().filter(predicate), files=100))
    for each in (scan, after):
        drawn = picture(each)
        assert drawn.files == each.files
        assert drawn.counts["skipped"] == each.skipped
        assert drawn.counts["unindexed"] == each.not_indexed == 0
        assert sum(line.files for line in drawn.lines) == each.files
    assert len(scan.explained) == scan.files
    kept = [Path(each.name).stem for each in scan.explained if each.verdict == "kept"]
    assert kept == sorted(opened)
    assert [each.verdict for each in scan.explained] == ["kept"] * scan.kept + ["skipped"] * scan.skipped
    assert all(each.reason for each in scan.explained)
    assert all(each.bytes == os.stat(each.name).st_size for each in scan.explained)


def test_the_deciding_part_of_the_filter_is_named(lake: Lake) -> None:
    """[REP-F-2]"""
    found = explained(lake.read().filter("a > 5 AND (s = 's1' OR a > 31) AND d > 0"))
    assert list(found) == ["f1", "f3", "f0", "f2"]
    assert brief(found["f1"]) == brief(found["f3"]) == ("kept", "d > ?", "", "there is no index on d")
    assert brief(found["f0"]) == ("skipped", "a > ?", "minmax(a)", NO_MATCH)
    assert brief(found["f2"]) == ("skipped", "s = ? AND a > ?", "valuelist(s), minmax(a)", NO_MATCH)
    twice = explained(lake.read().filter("a < -1 OR a < -2"))
    assert {each.predicate for each in twice.values() if each.verdict == "skipped"} == {"a < ?"}
    matching = explained(lake.read().filter("a > 15"))
    assert brief(matching["f2"]) == ("kept", "a > ?", "minmax(a)", MATCHES)


def test_files_without_statistics_are_undecided(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-P-2] [REP-F-2]"""
    files = {"few": [("a",)], "many": [("b",), ("c",)], "other": [("d",)]}
    path = write_once(spark, tmp_path / "data", "s string", files)
    index(spark, path, [ValueList("s", max_values=1)])
    scan = only(xskip.explain(spark.read.parquet(path).filter("s = 'a'"), files=9))
    found = {Path(each.name).stem: brief(each) for each in scan.explained}
    assert found == {
        "few": ("kept", "s = ?", "valuelist(s)", MATCHES),
        "many": ("kept", "s = ?", "valuelist(s)", "the index has no statistics of the file"),
        "other": ("skipped", "s = ?", "valuelist(s)", NO_MATCH),
    }
    drawn = picture(scan)
    assert (drawn.index, drawn.counts["undecided"], drawn.unplaced["undecided"]) == ("valuelist(s)", 1, 1)


def test_new_and_changed_files_are_not_indexed(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-P-2] [REP-F-2]"""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(4)})
    index(spark, path, [MinMax("a")])
    write_once(spark, tmp_path / "data", "a int", {"f1": [(50,), (51,)], "new": [(9,)]})
    scan = only(xskip.explain(spark.read.parquet(path).filter("a = 2"), files=9))
    drawn = picture(scan)
    assert (scan.files, scan.not_indexed) == (5, 2)
    assert drawn.counts == {"skipped": 2, "matched": 1, "undecided": 0, "unindexed": 2}
    assert drawn.unplaced == {"skipped": 0, "matched": 0, "undecided": 0, "unindexed": 2}
    found = [(Path(each.name).stem, each.verdict, each.reason) for each in scan.explained]
    assert found == [
        ("f2", "kept", MATCHES),
        ("f1", "kept", "the file has changed since it was indexed"),
        ("new", "kept", "the index does not have the file"),
        ("f0", "skipped", NO_MATCH),
        ("f3", "skipped", NO_MATCH),
    ]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6])
def test_explanations_are_limited(spark: SparkSession, tmp_path: Path, most: int) -> None:
    """[REP-F-1]"""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(4)})
    index(spark, path, [MinMax("a")])
    write_once(spark, tmp_path / "data", "a int", {"new": [(9,)]})
    report = xskip.explain(spark.read.parquet(path).filter("a = 2"), files=most)
    names = [Path(each.name).stem for each in only(report).explained]
    assert names == ["f2", "new", "f0", "f1", "f3"][:most]
    rest = 5 - most
    remark = "1 more file is not shown" if rest == 1 else f"{rest} more files are not shown"
    assert (remark in str(report)) is (rest > 0)
    assert (remark in report._repr_html_()) is (rest > 0)
    (scan,) = report.to_dict()["scans"]
    assert [row["verdict"] for row in scan["explained"]] == ["kept", "kept", "skipped", "skipped", "skipped"][:most]


@pytest.mark.parametrize("wrong", [0, -1, True, "5", 2.0])
def test_the_number_of_files_is_checked(lake: Lake, wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="files has an invalid value"):
        xskip.explain(lake.read().filter("a > 15"), files=wrong)


def test_bounds_are_shown_with_values_only(spark: SparkSession, lake: Lake) -> None:
    """[REP-F-3] [REP-P-5]"""
    df = lake.read().filter("a > 15")
    hidden = xskip.explain(df, files=9)
    assert {each.bounds for each in only(hidden).explained} == {""}
    assert picture(only(hidden)).ticks == ()
    assert "Values are hidden" in hidden._repr_html_()
    spark.conf.set(VALUES, "true")
    shown = xskip.explain(df, files=9)
    bounds = {Path(each.name).stem: each.bounds for each in only(shown).explained}
    assert bounds == {"f0": "0 … 2", "f1": "10 … 12", "f2": "20 … 22", "f3": "30 … 32"}
    assert {each.predicate for each in only(shown).explained} == {"a > 15"}
    drawn = picture(only(shown))
    assert [tick.text for tick in drawn.ticks] == ["0", "10", "20", "30"]
    assert [(line.kind, line.left, line.right) for line in drawn.lines] == [
        ("skipped", 0.0, 0.0625), ("skipped", 0.3125, 0.375), ("matched", 0.625, 0.6875), ("matched", 0.9375, 1.0),
    ]  # fmt: skip
    assert "a > 15: the statistics exclude every row; minmax(a): 0 … 2" in str(shown)
    assert "minmax(a): 0 … 2" in shown._repr_html_()


def test_encrypted_columns_have_no_picture(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-P-5] [REP-F-3]"""
    xskip.use_kms(xskip.LocalKms({"footer": bytes(16), "k1": bytes(range(16))}))
    try:
        spark.conf.set("spark.xskip.encryption.footer.key", "footer")
        spark.conf.set(VALUES, "true")
        files = {f"f{i}": [(7000 + i, i)] for i in range(3)}
        path = write_once(spark, tmp_path / "data", "a int, b int", files)
        index(spark, path, [MinMax("a", key_label="k1"), ValueList("a"), BloomFilter("b")])
        report = xskip.explain(spark.read.parquet(path).filter("a = 7001"), files=9)
        assert only(report).skipped == 2
        assert no_picture(only(report)) == "no index has bounds of a column without encryption"
        for text in (str(report), report._repr_html_(), report.to_json()):
            assert "700" not in text.replace("<wbr/>", "").replace(path, "")
    finally:
        xskip.use_kms(None)


def test_the_picture_is_along_the_column_that_ruled_out_most(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-P-3]"""
    files = {f"f{i}": [(i % 2, 10 * i, float(i), f"s{i}")] for i in range(6)}
    path = write_once(spark, tmp_path / "data", "a int, b int, c double, s string", files)
    index(spark, path, [MinMax("a"), GapList("b"), MinMax("c"), ValueList("s")])
    read = spark.read.parquet(path)
    expected = {
        "a = 1 AND b = 30": "gaplist(b)", "a = 1": "minmax(a)", "c = 2": "minmax(c)", "s = 's1'": "valuelist(s)",
        "s = 's1' AND a = 1": "minmax(a)", "s = 's1' AND a >= 0": "valuelist(s)",
    }  # fmt: skip
    assert {p: picture(only(xskip.explain(read.filter(p)))).index for p in expected} == expected


def test_chosen_files_are_counted_alone(spark: SparkSession, tmp_path: Path, api: str) -> None:
    """[REP-F-4]"""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(12)})
    index(spark, path, [MinMax("a")])
    chosen = [f"{path}/f{i}.parquet" for i in (1, 2, 3, 4, 5)]
    spark.read.parquet(*chosen).filter("a > 100").collect()
    for scan in (only(xskip.last_report(spark)), only(xskip.explain(spark.read.parquet(*chosen).filter("a > 100")))):
        assert (scan.files, scan.skipped) == (5, 5)
        assert {each.predicate: each.ruled_out for each in scan.outcomes} == {"a IS NOT NULL": 0, "a > ?": 5}
        assert picture(scan).counts["skipped"] == 5
    partly = only(xskip.explain(spark.read.parquet(*chosen).filter("a > 3"), files=9))
    assert {each.predicate: each.ruled_out for each in partly.outcomes} == {"a IS NOT NULL": 0, "a > ?": 3}
    assert [Path(each.name).stem for each in partly.explained] == ["f4", "f5", "f1", "f2", "f3"]


def test_partitions_that_spark_excludes_are_not_counted(spark: SparkSession, lake: Lake) -> None:
    """[REP-F-4]"""
    scan = only(xskip.explain(lake.read_parted().filter("p = 1 AND a > 1000"), files=9))
    assert scan.files == 2
    assert max(each.ruled_out for each in scan.outcomes) == 2
    assert [Path(each.name).stem for each in scan.explained] == ["f0", "f1"]


def test_a_read_without_a_listing_has_a_picture(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-P-2]"""
    files = {f"day=2026-01-0{i}/f{i}": [(i,)] for i in range(1, 6)}
    path = write_once(spark, tmp_path / "data", "a int", files)
    made = index(spark, path, [MinMax("a")])
    scan = only(xskip.explain(made.read(trust_listing=True).filter("a = 2"), files=9))
    assert picture(scan).counts == {"skipped": 4, "matched": 1, "undecided": 0, "unindexed": 0}
    assert [Path(each.name).stem for each in scan.explained] == ["f2", "f1", "f3", "f4", "f5"]


def test_a_changed_index_has_no_picture(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-P-7]"""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(3)})
    made = index(spark, path, [MinMax("a")])
    report = xskip.explain(spark.read.parquet(path).filter("a = 1"))
    write_once(spark, tmp_path / "data", "a int", {"f9": [(9,)]})
    made.refresh()
    spark.read.parquet(path).filter("a = 1").collect()
    gc.collect()
    assert no_picture(only(report)) == "the index has changed since the query"
    assert "no picture of the files: the index has changed since the query" in report._repr_html_()
    assert picture(only(xskip.last_report(spark))).files == 4


def test_a_report_of_an_earlier_query_has_its_own_picture(spark: SparkSession, lake: Lake) -> None:
    """[REP-P-7]"""
    with xskip.watch(spark) as watched:
        for predicate in ("a > 15", "a > 25", "a > 1000"):
            lake.read().filter(predicate).collect()
    assert [picture(only(report)).counts["skipped"] for report in watched.reports] == [2, 3, 4]


def test_an_index_that_a_job_prunes_has_no_picture(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-P-7] [REP-F-4]"""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(4)})
    index(spark, path, [MinMax("a")])
    spark.conf.set("spark.xskip.pruning.jobFiles", "1")
    report = xskip.explain(spark.read.parquet(path).filter("a = 1"), files=3)
    assert only(report).skipped == 3
    assert no_picture(only(report)) == "a Spark job pruned the index"
    assert "single files are not explained: a Spark job pruned the index" in str(report)


def test_a_scan_without_an_index_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-P-1]"""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(2)})
    html = xskip.explain(spark.read.parquet(path).filter("a = 1"), files=3)._repr_html_()
    assert '<p class="xs-share">0 % <small>of 2 files skipped</small></p>' in html
    assert "The index was not used: the dataset has no index" in html
    assert "<figure" not in html


def test_a_query_and_its_report_do_not_make_the_picture(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[REP-P-7]"""
    from xskip.spark.bridge.queries import ListedFiles

    asked: Counter[str] = Counter()

    def counting(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            asked[name] += 1
            return call(*arguments)

        return counted

    for name in ("ordinals", "kept", "unknown"):
        monkeypatch.setattr(ListedFiles, name, counting(name, getattr(ListedFiles, name)))
    lake.read().filter("a > 15").collect()
    report = xskip.last_report(spark)
    assert report.scans[0].skipped == 2
    assert str(report)
    assert not asked
    assert "<figure" in report._repr_html_()
    assert asked == {"ordinals": 1, "kept": 1}


def test_a_report_does_not_keep_the_metadata(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-P-7]"""
    from xskip.metadatastore.snapshot import Snapshot
    from xskip.spark.query.spark_engine import forget_indexes

    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(3)})
    index(spark, path, [MinMax("a")])
    forget_indexes()
    gc.collect()
    before = sum(isinstance(each, Snapshot) for each in gc.get_objects())
    report = xskip.explain(spark.read.parquet(path).filter("a = 1"), files=2)
    assert sum(isinstance(each, Snapshot) for each in gc.get_objects()) == before + 1
    forget_indexes()
    gc.collect()
    assert sum(isinstance(each, Snapshot) for each in gc.get_objects()) == before
    assert only(report).skipped == 2
