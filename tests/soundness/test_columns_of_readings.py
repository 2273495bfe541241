"""What decides the values of an indexed column counts, and nothing else of how files are read.

Class SND-31. Rules: specs/pruning.rst, [PRU-RD].
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.helpers import assert_same_rows, index, opened_files, write_files
from xskip import MinMax, SkippingIndex, ValueList
from xskip.errors import IndexDefinitionError
from xskip.spark.query.spark_engine import engine_of

FILES = {"low": [(1,), (2,)], "high": [(10,), (20,)]}
PAIRS = {"low": [(1, "a"), (2, "b")], "high": [(10, "c"), (20, "d")]}


@contextmanager
def lenient(spark: SparkSession) -> Iterator[None]:
    """Run the body without strict mode, so that queries read all files if the index cannot be used."""
    spark.conf.set("spark.xskip.strict", "false")
    yield
    spark.conf.set("spark.xskip.strict", "true")


@contextmanager
def hadoop(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    """Run the body with a value in Hadoop's configuration."""
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set(key, value)
    try:
        yield
    finally:
        configuration.unset(key)


def table(spark: SparkSession, name: str, columns: str, fmt: str, path: str) -> None:
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(f"CREATE TABLE {name} ({columns}) USING {fmt} LOCATION '{path}'")


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_the_default_of_a_timestamp_is_of_the_sessions_zone(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[SND-31] [PRU-RD-11] The schema has the default as a text without a zone; a date has none."""
    path = write_files(spark, tmp_path / "data", "a int", FILES, fmt)
    table(spark, "t", "a INT", fmt, path)
    spark.sql("ALTER TABLE t ADD COLUMN b TIMESTAMP DEFAULT timestamp'2020-01-01 00:00:00'")
    spark.sql("ALTER TABLE t ADD COLUMN c DATE DEFAULT date'2020-01-01'")
    SkippingIndex.for_table(spark, "t").create([MinMax("a"), MinMax("b"), MinMax("c")])

    def noon() -> DataFrame:
        return spark.table("t").filter("b >= timestamp'2020-01-01 12:00:00'")

    def midnight() -> DataFrame:
        return spark.table("t").filter("b = timestamp'2020-01-01 00:00:00'")

    assert opened_files(noon()) == set()
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    with lenient(spark):
        assert_same_rows(midnight, spark)
        assert midnight().count() == 4
        assert len(opened_files(noon())) == 2
    assert opened_files(spark.table("t").filter("c > date'2020-01-01'")) == set()
    assert len(opened_files(spark.table("t").filter("a > 5"))) == 1


@pytest.mark.parametrize("fmt", ["parquet", "orc", "csv", "json"])
@pytest.mark.parametrize("kind", [MinMax, ValueList])
def test_the_default_of_a_column_that_files_lack(spark: SparkSession, tmp_path: Path, fmt: str, kind: Any) -> None:
    """[SND-31] [PRU-RD-11] Files have the default of the time at which the column was added, not the present one."""
    path = write_files(spark, tmp_path / "data", "a int", FILES, fmt)
    table(spark, "t", "a INT", fmt, path)
    spark.sql("ALTER TABLE t ADD COLUMN b INT DEFAULT 5")
    spark.sql("ALTER TABLE t ALTER COLUMN b SET DEFAULT 6")
    made = SkippingIndex.for_table(spark, "t")
    made.create([kind("b"), MinMax("a")])
    assert opened_files(spark.table("t").filter("b = 6")) == set()
    assert spark.table("t").filter("b = 5").count() == 4

    table(spark, "t", "a INT, b INT DEFAULT 6", fmt, path)
    expected = 0 if fmt in ("orc", "parquet") and not spark.table("t").filter("b = 6").count() else 4
    assert assert_same_rows(lambda: spark.table("t").filter("b = 6"), spark) == expected
    assert opened_files(spark.table("t").filter("b = 6 AND a > 5")) == {"high"}
    assert opened_files(spark.table("t").filter("b = 6")) == {"low", "high"}

    result = SkippingIndex.for_table(spark, "t").refresh()
    assert result.added == 2
    assert ["column b" in reason for reason in result.reread] == [True]
    assert assert_same_rows(lambda: spark.table("t").filter("b = 6"), spark) == expected
    assert opened_files(spark.table("t").filter("b = 5")) == set()


@pytest.mark.parametrize("fmt", ["parquet", "orc", "csv", "json"])
def test_two_tables_with_other_defaults_over_the_same_files(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[SND-31] [PRU-RD-11] The reports name the column, if an index on another column is used."""
    path = write_files(spark, tmp_path / "data", "a int", FILES, fmt)
    table(spark, "five", "a INT", fmt, path)
    table(spark, "six", "a INT", fmt, path)
    spark.sql("ALTER TABLE five ADD COLUMN b INT DEFAULT 5")
    spark.sql("ALTER TABLE six ADD COLUMN b INT DEFAULT 6")
    spark.sql("ALTER TABLE six ALTER COLUMN b SET DEFAULT 5")
    SkippingIndex.for_table(spark, "five").create([ValueList("b"), MinMax("a")])
    assert opened_files(spark.table("five").filter("b = 6")) == set()
    assert assert_same_rows(lambda: spark.table("six").filter("b = 6"), spark) == 4
    assert opened_files(spark.table("six").filter("b = 6 AND a > 5")) == {"high"}
    report = str(xskip.explain(spark.table("six").filter("b = 6")))
    assert "column b has another default in files that lack the column than when the index was built" in report


def test_the_only_column_read_in_another_way_ends_the_use_of_the_index(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-RD-11]"""
    path = write_files(spark, tmp_path / "data", "a int", FILES, "orc")
    table(spark, "t", "a INT", "orc", path)
    spark.sql("ALTER TABLE t ADD COLUMN b INT DEFAULT 5")
    SkippingIndex.for_table(spark, "t").create([MinMax("b")])
    read = spark.read.schema("a int, b int").orc(path).filter("b = 5")
    with pytest.raises(Exception, match="column b has another default"):
        read.collect()


@pytest.mark.parametrize("value", ["true", "TRUE"])
def test_columns_by_their_place_in_a_projection(spark: SparkSession, tmp_path: Path, value: str) -> None:
    """[SND-31] [PRU-RD-12] Spark finds a column by its place among the columns that a query reads."""
    rows = {"low": [(1, 1001), (5, 1005)], "high": [(10, 1010)]}
    path = write_files(spark, tmp_path / "data", "x bigint, y bigint", rows, "avro")
    options, schema = {"positionalFieldMatching": value}, "a bigint, b bigint"
    made = SkippingIndex.for_path(spark, path, format="avro", schema=schema, options=options)
    with pytest.raises(IndexDefinitionError, match="positionalFieldMatching"):
        made.create([MinMax("b")])
    assert not made.exists()
    index(spark, path, [MinMax("x"), MinMax("y")], "avro")

    def read() -> DataFrame:
        return spark.read.format("avro").options(**options).schema("x bigint, y bigint").load(path)

    with pytest.raises(Exception, match="positionalFieldMatching"):
        read().filter("y = 1005").collect()
    with lenient(spark):
        assert len(read().filter("y = 1005").collect()) == 1
    off = spark.read.format("avro").option("positionalFieldMatching", "FALSE").load(path)
    assert opened_files(off.filter("y = 1005")) == {"low"}


@pytest.mark.parametrize("build", ["Hadoop", "session", "option", "negated option"])
def test_a_build_reads_avro_files_of_any_name(spark: SparkSession, tmp_path: Path, build: str) -> None:
    """[SND-31] [PRU-RD-9] No setting makes a build take a file for empty, so that queries under any setting skip."""
    write_files(spark, tmp_path / "data", "a int", FILES, "avro")
    (tmp_path / "data" / "high.avro").rename(tmp_path / "data" / "high.bin")
    path, key = str(tmp_path / "data"), "avro.mapred.ignore.inputs.without.extension"
    if build == "Hadoop":
        with hadoop(spark, key, "true"):
            index(spark, path, [MinMax("a"), ValueList("a")], "avro")
    elif build == "session":
        spark.conf.set(key, "true")
        index(spark, path, [MinMax("a"), ValueList("a")], "avro")
        spark.conf.unset(key)
    else:
        options = {key: "true"} if build == "option" else {"ignoreExtension": "FALSE"}
        made = SkippingIndex.for_path(spark, path, format="avro", schema="a int", options=options)
        made.create([MinMax("a"), ValueList("a")])

    def read() -> DataFrame:
        return spark.read.format("avro").schema("a int").load(path)

    if build == "option":  # an option that Spark passes to Hadoop is not known to xskip
        spark.conf.set("spark.xskip.strict", "false")
    assert [row.a for row in read().filter("a > 15").collect()] == [20]
    assert opened_files(read().filter("a > 15")) == ({"high", "low"} if build == "option" else {"high"})
    if build != "option":
        with hadoop(spark, key, "true"):
            assert read().filter("a > 15").collect() == []
            assert opened_files(read().filter("a > 15")) == {"high"}
            assert assert_same_rows(lambda: read().filter("a < 5"), spark) == 2


def test_a_record_of_avro_files_that_a_build_may_have_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-31] [PRU-RD-9] Earlier releases recorded the same whether or not the setting was set."""
    write_files(spark, tmp_path / "data", "a int", FILES, "avro")
    path = str(tmp_path / "data")
    made = index(spark, path, [MinMax("a")], "avro")
    rewritten(made, conf={"avro.mapred.ignore.inputs.without.extension": "true"})
    assert opened_files(spark.read.format("avro").load(path).filter("a > 5")) == {"high"}
    made.drop()
    (tmp_path / "data" / "high.avro").rename(tmp_path / "data" / "high.bin")
    made.create([MinMax("a")])
    rewritten(made, conf={"avro.mapred.ignore.inputs.without.extension": "true"})
    with pytest.raises(Exception, match=r"avro\.mapred\.ignore\.inputs\.without\.extension has another value"):
        spark.read.format("avro").load(path).filter("a > 5").collect()


def rewritten(made: SkippingIndex, conf: dict[str, str] | None = None, **reading: Any) -> None:
    """Write the only commit record of an index again, without a checksum and with other parts of its read profile."""
    (record,) = Path(made.describe().location, "_commits").glob("*.json")
    body = json.loads(record.read_text())
    del body["checksum"]
    body["reading"] = {**body["reading"], **reading}
    body["reading"]["conf"] |= conf or {}
    if "schema" in reading:
        del body["reading"]["columns"]
    record.write_text(json.dumps(body))
    engine_of(made._spark).forget_all()


@pytest.mark.parametrize(("fmt", "text"), [("csv", "a INT"), ("json", "a INT"), ("orc", "a INT")])
def test_refresh_renews_a_record_without_columns(
    spark: SparkSession, tmp_path: Path, fmt: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """[PRU-RD-13] The record of an earlier release does not say what decides the values of columns."""
    path = write_files(spark, tmp_path / "data", "a int", FILES, fmt)
    made = SkippingIndex.for_path(spark, path, format=fmt, schema="a int")
    made.create([MinMax("a")])
    rewritten(made, schema=text)
    query = spark.read.format(fmt).schema("a int").load(path).filter("a > 5")
    with pytest.raises(Exception, match=r"call refresh\(\), which renews it"):
        query.collect()
    with caplog.at_level(logging.INFO, "xskip.builds"):
        result = made.refresh()
    assert (result.added, result.removed, result.unchanged) == (2, 2, 0)
    assert "call refresh()" in result.reread[0]
    assert "reads all files again" in caplog.text
    assert opened_files(spark.read.format(fmt).schema("a int").load(path).filter("a > 5")) == {"high"}
    assert made.refresh().reread == ()


@pytest.mark.parametrize(("fmt", "options"), [("parquet", {}), ("avro", {"mode": "FAILFAST"})])
def test_a_record_without_columns_that_proves_enough(
    spark: SparkSession, tmp_path: Path, fmt: str, options: dict[str, str]
) -> None:
    """[PRU-RD-13] The files of the format have the types, and the record has no default."""
    path = write_files(spark, tmp_path / "data", "a int", FILES, fmt)
    made = index(spark, path, [MinMax("a")], fmt)
    (record,) = Path(made.describe().location, "_commits").glob("*.json")
    assert "columns" not in json.loads(record.read_text())["reading"]
    rewritten(made, options=options)
    assert opened_files(spark.read.format(fmt).load(path).filter("a > 5")) == {"high"}


DEFAULTS = {
    "csv": {
        "header": "False", "sep": ",", "delimiter": ",", "quote": '"', "escape": "\\", "comment": "", "nullValue": "",
        "emptyValue": "", "nanValue": "NaN", "positiveInf": "Inf", "negativeInf": "-Inf", "multiLine": "false",
        "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "FALSE", "mode": "permissive",
        "encoding": "utf-8", "charset": "UTF-8", "enforceSchema": "true", "maxCharsPerColumn": "-1",
        "maxColumns": "20480", "unescapedQuoteHandling": "stop_at_delimiter", "locale": "en-US", "timeZone": "UTC",
        "columnNameOfCorruptRecord": "_corrupt_record", "preferDate": "true", "charToEscapeQuoteEscaping": "",
    },
    "json": {
        "allowComments": "false", "allowSingleQuotes": "True", "allowNonNumericNumbers": "true", "multiLine": "false",
        "allowUnquotedFieldNames": "false", "allowNumericLeadingZeros": "false", "allowUnquotedControlChars": "false",
        "allowBackslashEscapingAnyCharacter": "false", "mode": "PERMISSIVE", "locale": "en-US", "timeZone": "UTC",
        "primitivesAsString": "false", "columnNameOfCorruptRecord": "_corrupt_record",
    },
    "parquet": {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED", "mergeSchema": "false"},
    "avro": {
        "ignoreExtension": "true", "mode": "FAILFAST", "positionalFieldMatching": "false",
        "datetimeRebaseMode": "CORRECTED", "enableStableIdentifiersForUnionType": "false",
        "recursiveFieldMaxDepth": "-1",
    },
    "orc": {"mergeSchema": "false", "compression": "zlib"},
    "text": {"wholetext": "False", "encoding": "UTF-8"},
}  # fmt: skip


@pytest.mark.parametrize("fmt", DEFAULTS)
def test_options_with_their_defaults_are_none(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[PRU-RD-1] Both ways: given to the build, and given to the query."""
    schema, column = ("value string", "value") if fmt == "text" else ("a int", "a")
    files = {"low": [("1",), ("2",)], "high": [("5",), ("6",)]} if fmt == "text" else {"low": [(1,)], "high": [(6,)]}
    path = write_files(spark, tmp_path / "plain", schema, files, fmt)
    given = write_files(spark, tmp_path / "given", schema, files, fmt)
    SkippingIndex.for_path(spark, path, format=fmt, schema=schema).create([MinMax(column)])
    SkippingIndex.for_path(spark, given, format=fmt, schema=schema, options=DEFAULTS[fmt]).create([MinMax(column)])
    for name, value in DEFAULTS[fmt].items():
        read = spark.read.format(fmt).schema(schema).option(name, value).load(path)
        assert opened_files(read.filter(f"{column} > '4'")) == {"high"}, name
    both = spark.read.format(fmt).schema(schema).options(**DEFAULTS[fmt]).load(path)
    assert opened_files(both.filter(f"{column} > '4'")) == {"high"}
    assert opened_files(spark.read.format(fmt).schema(schema).load(given).filter(f"{column} > '4'")) == {"high"}


def test_text_and_headers_skip(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-RD-1] ``spark.read.text`` sets an option in every read, and Booleans are in any case."""
    path = write_files(spark, tmp_path / "text", "value string", {"low": [("1",)], "high": [("5",)]}, "text")
    SkippingIndex.for_path(spark, path, format="text").create([MinMax("value")])
    assert opened_files(spark.read.text(path).filter("value > '4'")) == {"high"}
    path = write_files(spark, tmp_path / "csv", "a int", FILES, "csv", {"header": "true"})
    SkippingIndex.for_path(spark, path, format="csv", schema="a int", options={"header": "TRUE"}).create([MinMax("a")])
    for header in (True, "true", "True"):
        assert opened_files(spark.read.schema("a int").csv(path, header=header).filter("a > 5")) == {"high"}
    with lenient(spark):
        assert opened_files(spark.read.schema("a int").csv(path).filter("a > 5")) == {"low", "high"}


CHANGES = {
    "a comment": "ALTER TABLE t ALTER COLUMN a COMMENT 'text'",
    "a comment on another column": "ALTER TABLE t ALTER COLUMN s COMMENT 'text'",
    "a default": "ALTER TABLE t ALTER COLUMN a SET DEFAULT 3",
    "another column": "ALTER TABLE t ADD COLUMN c INT",
    "another column with a default": "ALTER TABLE t ADD COLUMN c INT DEFAULT 7",
    "another column with a time": "ALTER TABLE t ADD COLUMN c TIMESTAMP",
}


@pytest.mark.parametrize("fmt", ["parquet", "orc", "csv", "json"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_schema_that_keeps_values(spark: SparkSession, tmp_path: Path, fmt: str, change: str) -> None:
    """[PRU-RD-11] [PRU-RD-13] The index stays in use, and a refresh reads only new files."""
    path = write_files(spark, tmp_path / "data", "a int, s string", PAIRS, fmt)
    table(spark, "t", "a INT, s STRING", fmt, path)
    made = SkippingIndex.for_table(spark, "t")
    made.create([MinMax("a"), ValueList("s")])
    spark.sql(CHANGES[change])

    def query() -> DataFrame:
        return spark.table("t").filter("a > 5 AND s IN ('c', 'd')")

    assert opened_files(query()) == {"high"}
    spark.sql("INSERT INTO t (a, s) VALUES (30, 'd')")
    result = made.refresh()
    assert (result.added, result.unchanged, result.reread) == (1, 2, ())
    assert "low" not in opened_files(query())
    assert assert_same_rows(query, spark) == 3


@pytest.mark.parametrize(
    ("fmt", "schema"),
    [("csv", "A INT, S STRING"), ("csv", "a int, s string, t timestamp"), ("orc", "A int, S string"),
     ("json", "s string, a int"), ("json", "z date, s string, a int, y int"), ("parquet", "s string, A int"),
     ("avro", "s string, A int")],
)  # fmt: skip
def test_schemas_that_read_the_same_columns(spark: SparkSession, tmp_path: Path, fmt: str, schema: str) -> None:
    """[PRU-RD-11] Neither the case of names, where names are not in files, nor other columns count."""
    path = write_files(spark, tmp_path / "data", "a int, s string", PAIRS, fmt)
    made = SkippingIndex.for_path(spark, path, format=fmt, schema="a int, s string")
    made.create([MinMax("a"), ValueList("s")])

    def query() -> DataFrame:
        return spark.read.schema(schema).format(fmt).load(path).filter("a > 5 AND s IN ('c', 'd')")

    assert opened_files(query()) == {"high"}
    assert assert_same_rows(query, spark) == 2


@pytest.mark.parametrize(
    ("fmt", "schema", "says"),
    [("csv", "x int, a int, s string", "place in the files"), ("orc", "s string, a int", "place in the files"),
     ("json", "A int, S string", "exact name")],
)  # fmt: skip
def test_schemas_that_read_columns_in_another_way(
    spark: SparkSession, tmp_path: Path, fmt: str, schema: str, says: str
) -> None:
    """[SND-31] [PRU-RD-11]"""
    path = write_files(spark, tmp_path / "data", "a int, s string", PAIRS, fmt)
    made = SkippingIndex.for_path(spark, path, format=fmt, schema="a int, s string")
    made.create([MinMax("a"), ValueList("s")])

    def query() -> DataFrame:
        return spark.read.schema(schema).format(fmt).load(path).filter("a > 5")

    with pytest.raises(Exception, match=says):
        query().collect()
    with lenient(spark):
        assert opened_files(query()) == {"low", "high"}


def avro_schema(*fields: dict[str, Any], **others: Any) -> str:
    return json.dumps({"type": "record", "name": "r", "fields": list(fields), **others})


A: dict[str, Any] = {"name": "a", "type": "int"}
C: dict[str, Any] = {"name": "c", "type": "int", "default": 7}


@pytest.mark.parametrize("given", ["option", "URL"])
def test_the_fields_of_an_avro_schema(spark: SparkSession, tmp_path: Path, given: str) -> None:
    """[SND-31] [PRU-RD-11] A field counts with its type, default and aliases, and without its comment."""
    path, url = write_files(spark, tmp_path / "data", "a int", FILES, "avro"), tmp_path / "schema.avsc"

    def options(schema: str) -> dict[str, str]:
        url.write_text(schema)
        return {"avroSchema": schema} if given == "option" else {"avroSchemaUrl": str(url)}

    def read(schema: str, condition: str) -> DataFrame:
        return spark.read.format("avro").options(**options(schema)).load(path).filter(condition)

    made = SkippingIndex.for_path(spark, path, format="avro", options=options(avro_schema(A, C)))
    made.create([MinMax("c"), MinMax("a")])
    same = [
        avro_schema(A, C, doc="text"), avro_schema(C, {"name": "d", "type": "string", "default": ""}, A),
        avro_schema(A | {"doc": "text"}, C | {"doc": "text", "order": "ignore"}),
    ]  # fmt: skip
    for schema in same:
        assert opened_files(read(schema, "c = 8")) == set()
        assert opened_files(read(schema, "c = 7 AND a > 5")) == {"high"}
    with lenient(spark):
        for other in (C | {"default": 8}, C | {"aliases": ["a"]}):
            schema = avro_schema(A, other)
            assert opened_files(read(schema, "c = 8")) == {"low", "high"}
            assert opened_files(read(schema, "c = 8 AND a > 5")) == (
                {"low", "high"} if "aliases" in other else {"high"}
            )
        assert opened_files(spark.read.format("avro").load(path).filter("a > 5")) == {"low", "high"}
