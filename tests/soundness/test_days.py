"""[PRU-DY] Values that come from times without a date, which Spark reads as times of the present day."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import assert_same_rows, index, kept, needs_spark_4, opened_files, write_once
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList
from xskip.errors import IndexDefinitionError

TODAY = date.today()
#: The texts of a file each: "time" has one without a date, among full ones.
TEXTS = {
    "old": ["2020-01-01 10:15:00", "2020-01-02T11:00:00"],
    "present": [f"{TODAY} 00:00:00", f"{TODAY + timedelta(days=1)} 09:30:00"],
    "time": ["2020-01-01 10:15:00", "T07:05:09"],
    "hour": ["10:15"],
}
WITH_TIMES = {"time", "hour"}
#: A moment after all texts, as they are today.
LATER = datetime.combine(TODAY + timedelta(days=30), datetime.min.time())


def write_texts(folder: Path, line: str) -> str:
    folder.mkdir()
    for name, texts in TEXTS.items():
        content = "".join(line.format(text) + "\n" for text in texts)
        (folder / f"{name}.txt").write_text(f"<rs>{content}</rs>" if line.startswith("<") else content)
    return str(folder)


def stems(files: set[str]) -> set[str]:
    return {Path(name).stem for name in files}


CASES = ("csv", "json", "json struct", "json list")
LINES = {
    "csv": ("ts TIMESTAMP", "{}", "ts"),
    "json": ("ts TIMESTAMP", '{{"ts": "{}"}}', "ts"),
    "json struct": ("a STRUCT<ts: TIMESTAMP>", '{{"a": {{"ts": "{}"}}}}', "a.ts"),
    "json list": ("a ARRAY<TIMESTAMP>", '{{"a": ["{}"]}}', "a"),
    "xml": ("ts TIMESTAMP", "<r><ts>{}</ts></r>", "ts"),
}


@pytest.mark.parametrize("kind", [MinMax, ValueList, BloomFilter])
@pytest.mark.parametrize("case", [*CASES, pytest.param("xml", marks=needs_spark_4("has no XML"))])
def test_files_with_times_without_a_date_stay(spark: SparkSession, tmp_path: Path, case: str, kind: type) -> None:
    """[PRU-DY-1] Other files with timestamps of the present day are skipped."""
    fmt = case.split(maxsplit=1)[0]
    schema, line, column = LINES[case]
    path = write_texts(tmp_path / "data", line)
    options = {"rowTag": "r"} if fmt == "xml" else {}
    SkippingIndex.for_path(spark, path, format=fmt, schema=schema, options=options).create([kind(column)])
    test = f"array_contains({column}, timestamp'{LATER}')" if case == "json list" else f"{column} = timestamp'{LATER}'"

    def read() -> DataFrame:
        return spark.read.format(fmt).options(**options).schema(schema).load(path).filter(test)

    assert stems(opened_files(read())) == WITH_TIMES
    assert_same_rows(read, spark)


def test_other_columns_of_such_files_are_skipped(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-DY-1]"""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.csv").write_text("10:15,1\n")
    (folder / "b.csv").write_text("2020-01-01 10:15:00,2\n")
    schema = "ts TIMESTAMP, i INT"
    made = SkippingIndex.for_path(spark, str(folder), format="csv", schema=schema)
    made.create([MinMax("ts"), MinMax("i")])
    rows = spark.read.schema(schema).csv(str(folder))
    assert stems(opened_files(rows.filter("i = 2"))) == {"b"}
    assert stems(opened_files(rows.filter(f"ts = timestamp'{LATER}'"))) == {"a"}


@pytest.fixture
def texts(spark: SparkSession, tmp_path: Path) -> str:
    files = {name: [(text, {"t": text}) for text in each] for name, each in TEXTS.items()}
    return write_once(spark, tmp_path / "data", "s string, b struct<t: string>", files)


EXPRESSIONS = ["cast(s as timestamp)", "to_timestamp(s)", "date_trunc('day', s)", "cast(b.t as timestamp)"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_of_such_texts_stay(spark: SparkSession, texts: str, expression: str) -> None:
    """[PRU-DY-2]"""
    index(spark, texts, [MinMax(expression, expression=True)])
    test = f"{expression} = timestamp'{LATER}'"
    assert stems(kept(spark, texts, test)) == WITH_TIMES


def test_formats_decide_the_date(spark: SparkSession, texts: str) -> None:
    """[PRU-DY-2] With a format, no value depends on the day."""
    spark.conf.set("spark.sql.ansi.enabled", "false")
    expression = "to_timestamp(s, 'yyyy-MM-dd HH:mm:ss')"
    index(spark, texts, [MinMax(expression, expression=True)])
    assert kept(spark, texts, f"{expression} = timestamp'{LATER}'") == set()


@pytest.mark.parametrize(
    "expression",
    ["cast(substr(s, 2) as timestamp)", "cast(array(s) as array<timestamp>)", "from_csv(s, 'a timestamp').a",
     "from_json(s, 'a timestamp').a"],
)  # fmt: skip
def test_expressions_of_unknown_texts_are_refused(spark: SparkSession, texts: str, expression: str) -> None:
    """[PRU-DY-2]"""
    with pytest.raises(IndexDefinitionError, match="can depend on the day"):
        index(spark, texts, [ValueList(expression, expression=True)])


@pytest.mark.parametrize(
    "function", ["cast(s as timestamp)", "cast(concat(s, '') as timestamp)", "to_date(cast(s as timestamp))"]
)
def test_lists_of_such_texts_stay(spark: SparkSession, texts: str, function: str) -> None:
    """[PRU-DY-3] The other files are skipped by the values of the function."""
    index(spark, texts, [ValueList("s")])
    assert stems(kept(spark, texts, f"{function} = timestamp'{LATER}'")) == WITH_TIMES


def test_parsers_of_such_texts_are_unknown(spark: SparkSession, texts: str) -> None:
    """[PRU-DY-3]"""
    index(spark, texts, [ValueList("s")])
    assert stems(kept(spark, texts, f"from_csv(s, 'a timestamp').a = timestamp'{LATER}'")) == set(TEXTS)
    assert stems(kept(spark, texts, "from_csv(s, 'a int').a = 5")) == set()
