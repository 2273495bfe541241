"""Costs and use of indexes, the savings of a session, and advice on indexes."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.helpers import index, kept, put_files, write_once
from xskip import BloomFilter, Hybrid, MinMax, NullCount, OneColumn, SkippingIndex, ValueList
from xskip.results.index_status import IndexInfo
from xskip.types import Array

FILES = 10
SCHEMA = "ts int, noise int, kind string, city string, gap int"
ARROW = pa.schema(
    [("ts", pa.int32()), ("noise", pa.int32()), ("kind", pa.string()), ("city", pa.string()), ("gap", pa.int32())]
)


class Years(OneColumn):
    """An index type whose statistics Spark aggregates."""

    name = "years"

    def storage(self, types):  # type: ignore[no-untyped-def]
        return Array("int")

    def aggregates(self, inputs):  # type: ignore[no-untyped-def]
        return [F.collect_set(F.year(inputs[0]))]

    def translate(self, leaf, definition, storage):  # type: ignore[no-untyped-def]
        return None


def events(spark: SparkSession, root: Path, fmt: str = "parquet") -> str:
    """Write ten files: ``ts`` is ordered, ``noise`` is not, each file has all values of ``kind`` and one ``city``."""
    rows = {
        f"f{i}": [(100 * i + j, (j * 7919 + i) % 100, f"k{j % 2}", f"c{i}", None if j % 2 else j) for j in range(100)]
        for i in range(FILES)
    }
    return put_files(root, ARROW, rows) if fmt == "parquet" else write_once(spark, root, SCHEMA, rows, fmt)


def infos(made: SkippingIndex) -> dict[str, IndexInfo]:
    return {f"{each.name}({', '.join(each.columns)})": each for each in made.describe().indexes}


def test_the_text_of_an_expression_shows_no_internal_parameters(spark: SparkSession, tmp_path: Path) -> None:
    made = index(spark, events(spark, tmp_path), [ValueList("upper(city)", expression=True, max_values=9)])
    (line,) = (line for line in str(made.describe()).splitlines() if line.startswith("valuelist"))
    assert line.startswith("valuelist   upper(city) string  maxvalues=9  ")
    assert dict(infos(made)["valuelist(upper(city))"].params).keys() > {"io.xskip.index.expression"}


# --- costs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_each_index_has_the_time_of_its_builds(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[MDS-C-29] Batches and single rows are timed; further builds add up, and other operations keep the sum."""
    made = index(spark, events(spark, tmp_path / "d", fmt), [MinMax("ts"), BloomFilter("noise", ndv=10**6)], fmt)
    first = infos(made)
    bounds, blooms = (first[name].seconds for name in ("minmax(ts)", "bloomfilter(noise)"))
    assert bounds is not None
    assert blooms is not None
    assert min(bounds, blooms) > 0
    made.add([ValueList("city")])
    made.optimize()
    second = infos(made)
    assert (second["minmax(ts)"].seconds, second["bloomfilter(noise)"].seconds) == pytest.approx((bounds, blooms))
    (Path(tmp_path) / f"d/f0.{fmt}").unlink()
    made.refresh()
    assert infos(made)["bloomfilter(noise)"].seconds == pytest.approx(blooms)
    write_once(spark, tmp_path / "d", SCHEMA, {"g": [(1, 1, "k0", "c0", 1)]}, fmt)
    made.refresh()
    third = infos(made)
    assert (third["minmax(ts)"].seconds or 0) > bounds
    assert (third["bloomfilter(noise)"].seconds or 0) > blooms
    assert (third["valuelist(city)"].seconds or 0) > (second["valuelist(city)"].seconds or 0) > 0


def test_an_index_that_is_added_again_begins_at_zero(spark: SparkSession, tmp_path: Path) -> None:
    made = index(spark, events(spark, tmp_path / "d"), [MinMax("ts"), BloomFilter("noise", ndv=10**6)])
    (record,) = (Path(made.describe().location) / "_commits").glob("*.json")
    body = json.loads(record.read_text())
    seconds = body["notes"]["seconds"]
    seconds.update({name: 10**6 + value for name, value in seconds.items()})
    del body["checksum"]
    record.write_text(json.dumps(body))
    assert (infos(made)["bloomfilter(noise)"].seconds or 0) > 10**6
    made.remove(["bloomfilter(noise)"])
    made.add([BloomFilter("noise", ndv=10)])
    assert 0 < (infos(made)["bloomfilter(noise)"].seconds or 0) < 10**6 < (infos(made)["minmax(ts)"].seconds or 0)


def test_footers_and_aggregates_have_times(spark: SparkSession, tmp_path: Path) -> None:
    path = write_once(spark, tmp_path / "d", "day date, x int", {"a": [(None, 1)], "b": [(None, 2)]})
    by_footers = index(spark, path, [MinMax("x"), MinMax("day")])
    assert all((each.seconds or 0) > 0 for each in infos(by_footers).values())
    by_footers.drop()
    made = index(spark, path, [Years("day"), ValueList("x")])
    assert all((each.seconds or 0) > 0 for each in infos(made).values())


def test_descriptions_of_records_without_costs(spark: SparkSession, tmp_path: Path) -> None:
    made = index(spark, events(spark, tmp_path / "d"), [MinMax("ts")])
    (record,) = (Path(made.describe().location) / "_commits").glob("*.json")
    body = json.loads(record.read_text())
    del body["notes"], body["checksum"]
    record.write_text(json.dumps(body))
    assert infos(made)["minmax(ts)"].seconds is None
    assert "built in" not in str(made.describe())


# --- use ----------------------------------------------------------------------------------------------------------


def test_a_description_counts_the_scans_of_this_process(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-S-2]"""
    path = events(spark, tmp_path / "d")
    made = index(spark, path, [MinMax("ts"), ValueList("city")])
    df = spark.read.parquet(path)
    assert "scans" not in str(made.describe())
    assert df.filter("ts >= 200 AND ts < 300").count() == 100
    assert df.filter("ts >= 200 AND ts < 300").count() == 100  # the decision is in the cache
    assert df.filter("city = 'c3' AND noise > 1000").count() == 0
    xskip.explain(df.filter("ts > 5"))
    made.files("ts > 5")
    assert made.describe().scans == 3
    found = infos(made)
    assert (found["minmax(ts)"].scans, found["minmax(ts)"].ruled_out) == (2, 14)  # ts < 300 rules out 7, ts >= 200 2
    assert (found["valuelist(city)"].scans, found["valuelist(city)"].ruled_out) == (1, 9)
    assert "ruled out at least 14 files in 2 of 3 scans" in str(made.describe())
    assert made.describe().to_arrow().column("ruled_out").to_pylist() == [14, 9]


@pytest.mark.parametrize("v1", ["", "parquet"])
@pytest.mark.parametrize("look", [xskip.explain, xskip.report])
def test_a_query_that_was_explained_before_it_ran_counts(
    spark: SparkSession, tmp_path: Path, v1: str, look: Callable[[DataFrame], object]
) -> None:
    """[REP-S-2] Spark lists the files of a planned scan of the second data source API only once."""
    spark.conf.set("spark.sql.sources.useV1SourceList", v1)
    path = events(spark, tmp_path / "d")
    made = index(spark, path, [MinMax("ts")])
    query, other = (spark.read.parquet(path).filter(f"ts >= {low}") for low in (900, 800))
    for df in (query, other):
        look(df)
    assert made.describe().scans == 0
    for _ in range(2):  # another execution of the same plan lists no files
        assert len(query.collect()) == 100
        look(query)
        assert (made.describe().scans, infos(made)["minmax(ts)"].ruled_out) == (1, 9)
    assert len(other.collect()) == 200
    assert (infos(made)["minmax(ts)"].scans, infos(made)["minmax(ts)"].ruled_out) == (2, 17)
    assert other.count() == 200  # another plan
    assert (infos(made)["minmax(ts)"].scans, infos(made)["minmax(ts)"].ruled_out) == (3, 25)


def test_an_explanation_of_another_set_of_indexes_does_not_count(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-S-2]"""
    spark.conf.set("spark.sql.sources.useV1SourceList", "")
    path = events(spark, tmp_path / "d")
    made = index(spark, path, [MinMax("ts")])
    explained = spark.read.parquet(path).filter("ts >= 900")
    xskip.explain(explained)
    made.add([ValueList("city")])
    assert spark.read.parquet(path).filter("ts >= 200").count() == 800
    assert len(explained.collect()) == 100
    assert (made.describe().scans, infos(made)["minmax(ts)"].ruled_out) == (1, 2)


# --- savings ------------------------------------------------------------------------------------------------------


def test_savings_are_the_sums_of_the_reports(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-S-1]"""
    path, other = events(spark, tmp_path / "d"), events(spark, tmp_path / "plain")
    index(spark, path, [MinMax("ts")])
    before = xskip.savings(spark)
    df, plain = spark.read.parquet(path), spark.read.parquet(other)
    with xskip.watch(spark) as watched:
        df.filter("ts >= 900").collect()
        df.filter("ts < 100").join(plain, "ts").collect()
    xskip.explain(df.filter("ts > 5"))
    after = xskip.savings(spark)
    report = watched.report
    assert after.queries - before.queries == 2
    assert after.files - before.files == report.files == 30
    assert after.skipped - before.skipped == report.skipped
    of = {each.dataset: each for each in after}
    assert (of[path].scans, of[path].files, of[path].skipped) == (2, 20, 18)
    assert (of[other].scans, of[other].files, of[other].skipped, of[other].skipped_bytes) == (1, 10, 0, 0)
    assert of[path].skipped_bytes == sum(scan.skipped_bytes for scan in report.scans)
    assert of[path].bytes == sum(scan.bytes for scan in report.scans if scan.dataset == path)
    assert of[path].milliseconds > 0
    assert after.headline.startswith(f"{after.queries:,} queries since 20")
    assert f"skipped {after.skipped:,} of {after.files:,} files" in str(after)
    assert path in str(after)
    assert path in after._repr_html_().replace("<wbr/>", "")
    assert after.to_dict()["skipped_bytes"] == after.skipped_bytes


def test_a_scan_of_two_datasets_counts_each_file_once(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-S-1]"""
    first, second = events(spark, tmp_path / "a"), events(spark, tmp_path / "b")
    index(spark, first, [MinMax("ts")])
    index(spark, second, [MinMax("ts")])
    before = xskip.savings(spark)
    assert spark.read.parquet(first, second).filter("ts >= 900").count() == 200
    after = xskip.savings(spark)
    assert (after.files - before.files, after.skipped - before.skipped) == (20, 18)


def test_the_inference_of_a_schema_is_no_query(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-S-1] Spark reads the first line of one file by a query of its own; users' queries of text do count."""
    path = str(tmp_path / "d")
    spark.range(20, numPartitions=4).selectExpr("id AS a", "id % 3 AS b").write.csv(path, header=True)
    spark.read.text(path).filter("value = 'a,b'").count()
    counted, latest = xskip.savings(spark).to_dict(), str(xskip.last_report(spark))
    df = spark.read.csv(path, header=True, inferSchema=True)
    assert df.columns == ["a", "b"]
    assert (xskip.savings(spark).to_dict(), str(xskip.last_report(spark))) == (counted, latest)
    assert df.filter("a > 15").count() == 4
    after = {each.dataset: (each.scans, each.files) for each in xskip.savings(spark)}
    assert after[path] == (2, 8)
    assert not any(name.endswith(".csv") for name in after)


def test_savings_are_those_of_the_session(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-S-1]"""
    path = events(spark, tmp_path / "d")
    index(spark, path, [MinMax("ts")])
    new = spark.newSession()
    xskip.enable(new)
    assert xskip.savings(new).headline == "no query of this session has ended since xskip.enable(spark)"
    assert len(xskip.savings(new)) == 0
    spark.read.parquet(path).filter("ts >= 900").collect()
    assert xskip.savings(new).queries == 0
    new.read.parquet(path).filter("ts >= 900").collect()
    assert (xskip.savings(new).queries, xskip.savings(new).skipped) == (1, 9)


# --- advice -------------------------------------------------------------------------------------------------------


def advice(made: SkippingIndex) -> dict[str, tuple[str, str]]:
    return {each.subject: (each.action, each.text) for each in made.advise()}


def test_useful_indexes_get_no_advice(spark: SparkSession, tmp_path: Path) -> None:
    made = index(spark, events(spark, tmp_path / "d"), [MinMax("ts"), ValueList("city"), BloomFilter("noise")])
    assert made.advise().advice == ()
    assert str(made.advise()) == "no advice: nothing tells against the indexes"


def test_statistics_that_rule_out_nothing(spark: SparkSession, tmp_path: Path) -> None:
    wanted = [MinMax("noise"), MinMax("kind"), ValueList("kind"), NullCount("gap"), NullCount("ts"), MinMax("ts")]
    made = index(spark, events(spark, tmp_path / "d"), wanted)
    found = advice(made)
    assert {name: action for name, (action, _) in found.items()} == {
        "minmax(noise)": "remove", "minmax(kind)": "remove", "valuelist(kind)": "remove", "nullcount(gap)": "remove",
    }  # fmt: skip
    assert "0 % of the files for noise > value, 0 % for noise < value, and 0 %" in found["minmax(noise)"][1]
    assert "each of them is in at least 100 % of the files" in found["valuelist(kind)"][1]
    assert "every file has rows with NULL and rows without" in found["nullcount(gap)"][1]
    made.remove(list(found))
    assert made.advise().advice == ()


def test_rare_values_and_outliers_are_worth_an_index(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-S-3] All ranges overlap, and each common value is in all files, but queries look for the others."""
    rows = {
        f"f{i}": [(j, 50.0 - j if j < 40 else 60.0 * i, -3 * i if j == 7 else j, "rare" if i + j == 4 else f"k{j % 20}")
                  for j in range(41)]
        for i in range(FILES)
    }  # fmt: skip
    path = write_once(spark, tmp_path / "d", "same int, delay double, early int, tag string", rows)
    made = index(spark, path, [MinMax("same"), MinMax("delay"), MinMax("early"), MinMax("tag"), ValueList("tag")])
    assert set(advice(made)) == {"minmax(same)"}
    assert len(kept(spark, path, "delay > 500")) == 1
    assert len(kept(spark, path, "early < -20")) == 3
    assert len(kept(spark, path, "tag = 'rare'")) == 5


def test_an_index_that_ruled_out_files_is_never_to_be_removed(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-S-3] Neither by its statistics, nor beside another index, nor after the set of indexes has changed."""
    path = events(spark, tmp_path / "d")
    made = index(spark, path, [MinMax("noise"), MinMax("kind"), ValueList("city"), BloomFilter("city")])
    assert set(advice(made)) == {"minmax(noise)", "minmax(kind)", "bloomfilter(city)"}
    df = spark.read.parquet(path)
    assert df.filter("noise > 99").count() == 0
    assert df.filter("city = 'c3'").count() == 100
    assert {name: used.ruled_out for name, used in infos(made).items()} == {
        "minmax(noise)": 10, "minmax(kind)": 0, "valuelist(city)": 9, "bloomfilter(city)": 0,
    }  # fmt: skip
    assert set(advice(made)) == {"minmax(kind)", "bloomfilter(city)"}
    made.add([MinMax("ts")])
    assert set(advice(made)) == {"minmax(kind)", "bloomfilter(city)"}
    for _ in range(10):
        assert df.filter("ts >= 900").count() == 100
    assert set(advice(made)) == {"minmax(kind)", "bloomfilter(city)"}
    assert {action for action, _ in advice(made).values()} == {"remove"}
    made.remove(["minmax(noise)"])
    assert df.filter("ts >= 900").count() == 100
    made.add([MinMax("noise")])
    assert "minmax(noise)" in advice(made), "it is another index"


def test_indexes_that_say_the_same(spark: SparkSession, tmp_path: Path) -> None:
    path = events(spark, tmp_path / "d")
    made = index(
        spark, path, [ValueList("city"), BloomFilter("city"), ValueList("ts", max_values=5), BloomFilter("ts")]
    )
    found = advice(made)
    assert {name: action for name, (action, _) in found.items()} == {
        "bloomfilter(city)": "remove", "valuelist(ts)": "change",
    }  # fmt: skip
    assert "adds nothing to valuelist(city)" in found["bloomfilter(city)"][1]
    assert "has no list for 100 % of the files" in found["valuelist(ts)"][1]
    made.drop()
    made.create([Hybrid("noise"), BloomFilter("noise")])
    found = advice(made)
    assert "adds nothing to hybrid(noise), which has the list of values or a filter" in found["bloomfilter(noise)"][1]


def test_results_in_notebooks_have_tables_and_sizes(spark: SparkSession, tmp_path: Path) -> None:
    made = index(spark, events(spark, tmp_path / "d"), [MinMax("ts"), ValueList("city")])
    html = made.describe()._repr_html_()
    assert "<th>index</th><th>columns</th>" in html
    assert "<td>valuelist</td><td>city string</td>" in html
    assert xskip.savings(spark).headline in unescape(xskip.savings(spark)._repr_html_())
    assert repr(made.status()) == str(made.status())
    assert repr(made.history()) == str(made.history())


def test_few_files_say_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = write_once(spark, tmp_path / "d", "x int", {f"f{i}": [(1,), (2,)] for i in range(7)})
    assert index(spark, path, [MinMax("x"), ValueList("x"), BloomFilter("x")]).advise().advice == ()


def test_queries_that_do_not_need_an_index(spark: SparkSession, tmp_path: Path) -> None:
    path = events(spark, tmp_path / "d")
    made = index(spark, path, [MinMax("ts"), Hybrid("noise"), BloomFilter("city")])
    df = spark.read.parquet(path)
    for i in range(9):
        df.filter(f"ts > {i} AND noise < 1000 AND kind = 'k{i}'").count()
    assert set(advice(made)) == {"kind"}
    df.filter("ts > 950 AND noise < 1000 AND gap = 1").count()
    found = advice(made)
    assert {name: action for name, (action, _) in found.items()} == {
        "hybrid(noise)": "change", "bloomfilter(city)": "remove", "kind": "add",
    }  # fmt: skip
    assert "ruled out no file in 10 scans" in found["hybrid(noise)"][1]
    assert "no condition of 10 scans of this process concerns bloomfilter(city)" in found["bloomfilter(city)"][1]
    assert "9 of 10 scans of this process have a condition on kind" in found["kind"][1]


def test_counts_begin_anew_with_another_set_of_indexes(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-S-2] What queries did before an index was there says nothing about the index."""
    path = events(spark, tmp_path / "d")
    made = index(spark, path, [MinMax("ts")])
    df = spark.read.parquet(path)
    for _ in range(10):
        df.filter("city = 'c3' AND ts >= 300").count()
    assert set(advice(made)) == {"city"}
    made.add([ValueList("city"), BloomFilter("noise")])
    assert made.describe().scans == 0
    assert advice(made) == {}
    df.filter("city = 'c3'").count()
    assert made.describe().scans == 1
    assert infos(made)["valuelist(city)"].scans == 1


def test_an_index_without_its_key_gets_no_advice_from_statistics(spark: SparkSession, tmp_path: Path) -> None:
    path = events(spark, tmp_path / "d")
    spark.conf.set("spark.xskip.encryption.footer.key", "f")
    keys = {label: label.encode() * 16 for label in ("f", "k")}
    xskip.use_kms(xskip.LocalKms(keys))
    try:
        made = index(spark, path, [MinMax("noise", key_label="k"), MinMax("kind")])
        assert set(advice(made)) == {"minmax(noise)", "minmax(kind)"}
        xskip.use_kms(xskip.LocalKms({"f": keys["f"]}))
        assert set(advice(made)) == {"minmax(kind)"}
    finally:
        xskip.use_kms(None)
