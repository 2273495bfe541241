"""Other formats, schemas, options and settings over the same files give correct rows.

Classes: SND-26 (defaults of columns added later), SND-31 (reader options and settings that change values).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import opened_files, write_files
from tests.soundness.checking import ALL, NONE, Family, family, shown
from xskip import BloomFilter, Index, MinMax, SkippingIndex, ValueList
from xskip.errors import IndexDefinitionError

REFUSED = "the index was built from|when the index was built|was not given|the one that the index was built with"


def _three(column: str) -> dict[str, list[Index]]:
    return {"minmax": [MinMax(column)], "valuelist": [ValueList(column)], "bloom": [BloomFilter(column, fpp=1e-6)]}


def _refused(df: DataFrame) -> None:
    """Assert that a query in strict mode fails with the reason why the index is not used."""
    with pytest.raises(Exception, match=REFUSED):
        df.collect()


ROWS: dict[str, list[Any]] = {
    "low": [(1, "a", 1.5), (2, None, -0.0)],
    "high": [(10, "b", None)],
    "nulls": [(None, None, None)],
}
CASES = {
    "i = 10": "high",
    "i < 10": "low",
    "i <> 10": "low",
    "i in (2, 77)": "low",
    "i not in (1, 2)": "high",
    "i is null": ALL,
    "s = 'b'": "high",
    "s like 'a%'": "low",
    "d < 1": "low",
    "d = 0": "low",
    "i = 10 or s = 'a'": "low high",
}


@pytest.mark.parametrize("v1", ["avro,csv,json,orc,parquet", ""], ids=["v1", "v2"])
@pytest.mark.parametrize("fmt", ["parquet", "avro", "orc", "csv", "json"])
def test_every_format_in_both_readers(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str, v1: str
) -> None:
    """[SND-31] Every format skips files in both data source APIs."""
    spark.conf.set("spark.sql.sources.useV1SourceList", v1)
    indexes = [ValueList("i"), ValueList("s"), ValueList("d")]
    schema = "i int, s string, d double"
    root = tmp_path_factory.mktemp(fmt)
    files = family(spark, root, schema, ROWS, {"valuelist": indexes}, fmt=fmt, read_schema=schema)
    files.check("valuelist", CASES)
    files.add("bloom", [BloomFilter("i", fpp=1e-6), BloomFilter("s", fpp=1e-6)])
    files.check("bloom", {"i = 10": "high", "s = 'b'": "high", "i = 10 or s = 'a'": "low high", "i <> 10": ALL})


OLD = {"type": "record", "name": "r", "fields": [{"name": "x", "type": "int"}]}
NEW = {**OLD, "fields": [*OLD["fields"], {"name": "c", "type": "int", "default": 42}]}
OTHER = {**OLD, "fields": [*OLD["fields"], {"name": "c", "type": "int", "default": 7}]}


@pytest.fixture
def avro(spark: SparkSession, tmp_path: Path) -> Family:
    """Write Avro files of two ages, the older ones without the column c, and return their copies."""
    write_files(spark, tmp_path / "plain", "x int", {"old": [(1,), (2,)]}, "avro")
    write_files(spark, tmp_path / "plain", "x int, c int", {"new": [(3, 42)], "newer": [(4, 7)]}, "avro")
    return Family(spark, tmp_path, "avro", {"avroSchema": json.dumps(NEW)})


def test_avro_defaults_at_the_build_and_at_the_query(spark: SparkSession, avro: Family) -> None:
    """[SND-26] The rows of the older file have the default 42 of the reader's schema."""
    for kind, indexes in _three("c").items():
        avro.add(kind, indexes)
        avro.check(kind, {"c = 42": "old new", "c = 7": "newer", "c = 1": NONE, "c in (7, 8)": "newer"})
    avro.check("minmax", {"c < 42": "newer", "c <> 42": "newer", "c is null": ALL, "not (c <=> 42)": ALL})


def test_avro_defaults_at_one_side_alone(spark: SparkSession, avro: Family) -> None:
    """[SND-26] The index is not used if only the build or only the query has the default."""
    for kind, indexes in _three("c").items():
        avro.add(kind, indexes)
    with_default = avro.options
    others: tuple[tuple[dict[str, str], str | None], ...] = (
        ({"avroSchema": json.dumps(OTHER)}, None),
        ({}, "x int, c int"),
    )
    for options, schema in others:
        asked = Family(spark, avro.root, "avro", options, schema)
        for kind in ("minmax", "valuelist", "bloom"):
            spark.conf.set("spark.xskip.strict", "true")
            _refused(asked.read(kind).filter("c = 42"))
            spark.conf.set("spark.xskip.strict", "false")
            asked.check(kind, {"c = 42": ALL, "c = 7": ALL})
    # built with nothing, asked with a default: NULL at the build, 42 at the query
    built = Family(spark, avro.root, "avro", {}, "x int, c int")
    for kind, indexes in _three("c").items():
        built.add(f"null_{kind}", indexes)
        built.check(f"null_{kind}", {"c = 42": "new", "c = 7": "newer"})
        Family(spark, avro.root, "avro", with_default).check(f"null_{kind}", {"c = 42": ALL, "c = 7": ALL})


def test_defaults_of_a_table(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-26] A table reads its default 42 from files without the column, a path reads NULL."""
    spark.sql(f"CREATE TABLE defaults (x INT) USING parquet LOCATION '{tmp_path}/t'")
    spark.sql("INSERT INTO defaults VALUES (1)")
    spark.sql("ALTER TABLE defaults ADD COLUMNS (c INT DEFAULT 42)")
    spark.sql("INSERT INTO defaults VALUES (2, 7)")
    expected = ["(1, 42)"]
    assert shown(spark.table("defaults").filter("c = 42")) == expected
    index = SkippingIndex.for_path(spark, f"{tmp_path}/t", schema="x int, c int")
    spark.conf.set("spark.xskip.strict", "false")
    for indexes in _three("c").values():
        index.create(indexes)
        assert shown(spark.table("defaults").filter("c = 42")) == expected, indexes
        assert shown(spark.read.schema("x int, c int").parquet(f"{tmp_path}/t").filter("c = 42")) == []
        index.drop()
    # and built by the table
    for indexes in _three("c").values():
        index = SkippingIndex.for_table(spark, "defaults")
        index.create(indexes)
        found = spark.table("defaults").filter("c = 42")
        assert shown(found) == expected
        assert len(opened_files(found)) == 1
        by_path = spark.read.schema("x int, c int").parquet(f"{tmp_path}/t")
        assert by_path.filter("c is null").count() == 1
        assert by_path.filter("not (c <=> 42)").count() == 2
        index.drop()


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    """Write CSV files in which 2 < 10 as numbers and '10' < '2' as strings, and return the directory."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "low.csv").write_text("1,2020-01-05\n2,2020/01/06\n")
    (tmp_path / "plain" / "high.csv").write_text("10,2021/02/03\n")
    (tmp_path / "plain" / "text.csv").write_text("n/a,\n")
    return tmp_path


def test_csv_built_as_text_and_read_as_numbers(spark: SparkSession, csv: Path) -> None:
    """[SND-31] [PRU-RD-3] An index on strings does not serve a query that reads numbers."""
    made = Family(spark, csv, "csv", schema="a string, b string")
    for kind, indexes in _three("a").items():
        made.add(kind, indexes)
        made.check(kind, {"a = '10'": "low high" if kind == "minmax" else "high"})
    numbers = Family(spark, csv, "csv", schema="a int, b string")
    swapped = Family(spark, csv, "csv", schema="b string, a string")
    for kind in ("minmax", "valuelist", "bloom"):
        spark.conf.set("spark.xskip.strict", "true")
        _refused(swapped.read(kind).filter("a = '2021/02/03'"))
        spark.conf.set("spark.xskip.strict", "false")
        numbers.check(kind, {"a = 10": ALL, "a > 5": ALL})
        swapped.check(kind, {"a = '2021/02/03'": ALL, "b = '1'": ALL})


@pytest.mark.parametrize(
    ("option", "value"),
    [("nullValue", "2"), ("dateFormat", "yyyy/MM/dd"), ("header", "true"), ("sep", "/"), ("comment", "1"),
     ("encoding", "UTF-16"), ("timeZone", "Asia/Tokyo"), ("locale", "de")],
)  # fmt: skip
def test_csv_options(spark: SparkSession, csv: Path, option: str, value: str) -> None:
    """[SND-31] The index is not used if an option that can change values is missing on one side."""
    plain = Family(spark, csv, "csv", schema="a string, b date")
    plain.add("without", [MinMax("a"), MinMax("b")])
    given = Family(spark, csv, "csv", {option: value}, "a string, b date")
    given.add("with", [MinMax("a"), MinMax("b")])
    _refused(given.read("without").filter("a = '2'"))
    _refused(plain.read("with").filter("a = '2'"))
    with pytest.raises(IndexDefinitionError, match="read differently than when it was indexed"):
        given.skipping("without").refresh()
    spark.conf.set("spark.xskip.strict", "false")
    plain.check("with", {"a = '2'": ALL, "b = date'2020-01-05'": ALL})


def _under_two_settings(made: Family, indexes: list[Index], setting: tuple[str, str, str], predicate: str) -> None:
    """Assert that a query under another setting than the build's has the rows without an index."""
    key, built, asked = setting
    made.spark.conf.set("spark.xskip.strict", "false")
    made.spark.conf.set(key, built)
    made.add("copy", indexes)
    made.spark.conf.set(key, asked)
    expected = shown(made.read("plain").filter(predicate))
    assert len(expected) == 1
    assert shown(made.read("copy").filter(predicate)) == expected


SETTINGS = [
    ("spark.sql.session.timeZone", "UTC", "America/New_York"),
    ("spark.sql.legacy.timeParserPolicy", "CORRECTED", "LEGACY"),
    ("spark.sql.legacy.csv.enableDateTimeParsingFallback", "false", "true"),
]


@pytest.mark.parametrize("kind", ["minmax", "valuelist", "bloom"])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s[0].rpartition(".")[2])
def test_csv_settings(spark: SparkSession, csv: Path, kind: str, setting: tuple[str, str, str]) -> None:
    """[SND-31] A setting decides whether texts that do not fit the format are times."""
    own = "" if setting[0].endswith("Fallback") else "2020/01/06"
    made = Family(spark, csv, "csv", {"timestampFormat": "yyyy/MM/dd"}, "a string, b timestamp")
    literal = own.replace("/", "-") or "2020-01-05"
    _under_two_settings(made, _three("b")[kind], setting, f"b = timestamp'{literal} 00:00:00'")


def test_csv_rows_dropped_for_another_column(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-31] With DROPMALFORMED, a row is dropped because of columns that only some queries read."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "bad.csv").write_text("7,x\n1,1\n")
    (tmp_path / "plain" / "good.csv").write_text("2,2\n")
    dropping = Family(spark, tmp_path, "csv", {"mode": "DROPMALFORMED"}, "a int, b int")
    with pytest.raises(IndexDefinitionError, match="DROPMALFORMED"):
        dropping.add("refused", [MinMax("a"), MinMax("b")])
    keeping = Family(spark, tmp_path, "csv", schema="a int, b int")
    keeping.add("copy", [MinMax("a"), MinMax("b")])
    _refused(dropping.read("copy").filter("a = 7"))
    spark.conf.set("spark.xskip.strict", "false")
    assert shown(dropping.read("copy").filter("a = 7").select("a")) == ["(7,)"]
    assert shown(dropping.read("copy").filter("a = 7")) == []
    keeping.check("copy", {"a = 7": "bad", "b = 2": "good"})


@pytest.mark.parametrize("kind", ["minmax", "valuelist", "bloom"])
def test_json_partial_results(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """[SND-31] A setting decides the value of a struct with a field that cannot be parsed."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "bad.json").write_text('{"a": {"x": 7, "y": "no"}}\n{"a": {"x": 1, "y": 1}}\n')
    (tmp_path / "plain" / "good.json").write_text('{"a": {"x": 2, "y": 2}}\n')
    setting = ("spark.sql.json.enablePartialResults", "false", "true")
    made = Family(spark, tmp_path, "json", schema="a struct<x: int, y: int>")
    _under_two_settings(made, _three("a.x")[kind], setting, "a.x = 7")


def test_json_as_other_types(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-31] [PRU-RD-3] No file is skipped if JSON values are read as other types."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "low.json").write_text('{"a": 9, "b": "x"}\n')
    (tmp_path / "plain" / "high.json").write_text('{"a": 10}\n{"b": "y"}\n')
    made = Family(spark, tmp_path, "json")
    for kind, indexes in _three("a").items():
        made.add(kind, indexes)
        made.check(kind, {"a = 10": "high", "a = 9": "low"})
        Family(spark, tmp_path, "json", schema="a string, b string").check(kind, {"a = '9'": ALL})
        Family(spark, tmp_path, "json", {"primitivesAsString": "true"}).check(kind, {"a = '9'": ALL})
    # without a schema, the files' types are looked at anew: a text among them makes the column a text
    (tmp_path / "minmax" / "more.json").write_text('{"a": "text", "b": "x"}\n')
    assert opened_files(made.read("minmax").filter("a = '9'")) == {"low", "high", "more"}


def test_another_format_over_the_same_files(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-31] An index on CSV does not serve a query that reads another format."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "one.json").write_text("1\n")
    (tmp_path / "plain" / "two.json").write_text("2\n")
    made = Family(spark, tmp_path, "csv", schema="a int")
    for name in ("one", "two"):
        (tmp_path / "plain" / f"{name}.csv").write_text(f"{name}\n1\n2\n")
    made.add("copy", [ValueList("a")])
    _refused(spark.read.schema("a int").json(made.path("copy")).filter("a = 1"))
    spark.conf.set("spark.xskip.strict", "false")
    as_text = spark.read.text(made.path("copy")).filter("value = '2'")
    assert as_text.count() == 3


@pytest.mark.parametrize("option", ["mergeSchema", "pathGlobFilter", "ignoreCorruptFiles"])
def test_options_that_change_no_value(spark: SparkSession, tmp_path: Path, option: str) -> None:
    """[SND-31] Options that choose files or columns do not prevent the use of the index."""
    made = family(spark, tmp_path, "x int", {"one": [(1,)], "two": [(2,)]}, {"copy": [MinMax("x")]})
    made.options[option] = "*.parquet" if option == "pathGlobFilter" else "true"
    made.check("copy", {"x = 1": "one"})
