"""Files, directories, partitions and columns may have unusual names."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.conftest import Lake
from tests.helpers import assert_same_rows, frame_of, index, opened_files, spoiled, write_once
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList

NAMES = [
    "with space", "100%", "a%20b", "x+y", "x#1", "#", "[b]", "{c}", "{d,e}", "s*r", "q?m", "ünïcødé", "日本語",
    "e\u0301", "😀", "it's", 'say "hi"', "semi;colon", "amp&er", "a=b", "back\\slash", "tab\tbed", "~tilde",
    "com,ma", "$HOME",
]  # fmt: skip


@pytest.fixture(scope="module")
def named(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, SkippingIndex]:
    """Return the index of a dataset of each format that has a file of each name, which no test changes."""
    files, found = {name: [(number, f"v{number}")] for number, name in enumerate(NAMES)}, {}
    for fmt in ("parquet", "avro"):
        path = write_once(session, tmp_path_factory.mktemp(fmt) / "data", "a int, s string", files, fmt)
        found[fmt] = index(session, path, [MinMax("a"), ValueList("s")], fmt)
    return found


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_files_may_have_any_name(spark: SparkSession, named: dict[str, SkippingIndex], api: str, fmt: str) -> None:
    made, path = named[fmt], named[fmt].name
    df = spark.read.format(fmt).load(path)
    for number, name in enumerate(NAMES):
        assert opened_files(df.filter(f"a = {number}")) == {name}
    assert sorted(Path(name).stem for name in made.files("s >= 'v2' AND a < 9")) == sorted(NAMES[2:9])
    others = [Path(path) / f"{name}.{fmt}" for name in NAMES[1:]]
    with spoiled(others):
        assert [row.s for row in df.filter("a = 0").collect()] == ["v0"]
    assert made.refresh().unchanged == len(NAMES)


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_collecting_from_data_knows_files_by_any_name(spark: SparkSession, fmt: str, tmp_path: Path) -> None:
    files = {name: [(number, number / 2)] for number, name in enumerate(NAMES)}
    path = write_once(spark, tmp_path / "data", "a int, d double", files, fmt)
    index(spark, path, [MinMax("d"), BloomFilter("a")], fmt)
    df = spark.read.format(fmt).load(path)
    for number, name in enumerate(NAMES):
        assert opened_files(df.filter(f"d = {number / 2}D")) == {name}
        assert name in opened_files(df.filter(f"a = {number}"))
    assert opened_files(df.filter("a = 123456")) < set(NAMES)


# a name for a directory, and how Spark's readers must be told it: they take a path as a pattern
DIRECTORIES = {
    "with space": "with space", "100%": "100%", "a%20b": "a%20b", "x+y": "x+y", "x#1": "x#1", "[b]": "\\[b\\]",
    "{c}": "\\{c\\}", "s*r": "s\\*r", "ünïcødé": "ünïcødé", "日本語 😀": "日本語 😀", "it's": "it's", "a=b": "a=b",
}  # fmt: skip


@pytest.mark.parametrize("name", DIRECTORIES)
def test_directories_may_have_any_name(spark: SparkSession, tmp_path: Path, name: str) -> None:
    root = tmp_path / name / "data"
    write_once(spark, root, "a int", {f"f{i}": [(i,)] for i in range(3)})
    path = f"{tmp_path}/{DIRECTORIES[name]}/data"
    made = SkippingIndex.for_path(spark, path)
    made.create([MinMax("a")])
    assert made.describe().dataset == str(root)
    assert list((root / "_xskip").iterdir())
    for api in ("parquet", ""):
        spark.conf.set("spark.sql.sources.useV1SourceList", api)
        df = spark.read.parquet(path)
        assert opened_files(df.filter("a = 1")) == {"f1"}
        assert sorted(row.a for row in df.filter("a >= 1").collect()) == [1, 2]
    assert made.status().up_to_date
    made.drop()
    assert opened_files(spark.read.parquet(path).filter("a = 1")) == {"f0", "f1", "f2"}


VALUES = [
    "plain",
    "with space",
    "a/b",
    "a=b",
    "100%",
    "%41",
    "#",
    "+",
    "{x}",
    "[y]",
    "s*r",
    "é",
    "日本",
    "😀",
    "",
    None,
]


@pytest.fixture(scope="module")
def parted(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, SkippingIndex]:
    """Return the index of a dataset of each format that has a partition of each value, which no test changes."""
    rows, found = [(number, value) for number, value in enumerate(VALUES)], {}
    df = frame_of(session, rows, "a int, p string")
    for fmt in ("parquet", "avro"):
        path = str(tmp_path_factory.mktemp(fmt) / "data")
        df.write.format(fmt).partitionBy("p").save(path)
        found[fmt] = index(session, path, [MinMax("a")], fmt)
    return found


def condition(value: str) -> str:
    """Return a condition on a value of the partition and on a column."""
    literal = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"p = '{literal}' OR a = -1"


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_partitions_may_have_any_value(parted: dict[str, SkippingIndex], fmt: str) -> None:
    made = parted[fmt]
    # an empty string is written as the directory of NULL, which then holds two rows
    assert len(made.files("a >= 0")) == len(VALUES) - 1
    for number, value in enumerate(VALUES):
        found = made.files(f"a = {number}")
        assert len(found) == 1
        if value:
            assert made.files(condition(value)).names == found.names
    assert len(made.files("p IS NULL OR a = 0")) == 2


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_queries_of_partitions_with_any_value(
    spark: SparkSession, parted: dict[str, SkippingIndex], api: str, fmt: str
) -> None:
    df = spark.read.format(fmt).load(parted[fmt].name)
    for number, value in list(enumerate(VALUES))[::4]:
        assert value
        query = df.filter(condition(value))
        assert len(opened_files(query)) == 1
        assert [row.a for row in query.collect()] == [number]
    assert assert_same_rows(lambda: df.filter("p IS NULL OR a = 0"), spark) == 3


COLUMNS = {
    "`a.b`": "`a.b`", "`my col`": "`my col`", "`größe`": "`größe`", "`日本`": "`日本`", "CamelCase": "camelcase",
    "UPPER": "Upper",
    "`x#y`": "`x#y`", "`tick``ed`": "`tick``ed`", "`dollar$`": "`dollar$`", "`a.b.c`.`d.e`": "`A.B.C`.`D.E`",
    "n.b.c": "N.b.C", "min": "MIN", "name": "name", "`ẞ`": "`ẞ`", "`İ`": "`İ`", "`co,mma`": "`co,mma`",
    "`p(q)`": "`p(q)`", "`12`": "`12`",
}  # fmt: skip


PLAIN = [column for column in COLUMNS if "." not in column.replace("`a.b`", "")]


@pytest.fixture(scope="module")
def columns(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of an indexed dataset with all columns, which no test changes."""
    exprs = [f"CAST(10 * file + {i} AS INT) AS {column}" for i, column in enumerate(PLAIN)]
    exprs += [
        "named_struct('b', named_struct('c', CAST(10 * file AS INT))) AS n",
        "named_struct('d.e', CAST(10 * file AS INT)) AS `a.b.c`",
    ]
    home = tmp_path_factory.mktemp("columns")
    session.range(0, 3, 1, 3).selectExpr("id AS file").selectExpr(*exprs).write.parquet(str(home / "parts"))
    (home / "data").mkdir()
    for part in (home / "parts").glob("part-*.parquet"):
        part.rename(home / "data" / f"f{int(part.name.split('-')[1])}.parquet")
    index(session, str(home / "data"), [kind(column) for column in COLUMNS for kind in (MinMax, ValueList)])
    return str(home / "data")


def test_column_names(spark: SparkSession, columns: str, api: str) -> None:
    """Columns may have any name that a Parquet file can have, in upper and lower case."""
    df = spark.read.parquet(columns)
    for column, asked in COLUMNS.items():
        shift = PLAIN.index(column) if column in PLAIN else 0
        assert opened_files(df.filter(f"{asked} = {10 + shift}")) == {"f1"}, column
        assert opened_files(df.filter(f"{asked} > {10 + shift} OR {asked} <= 0")) >= {"f2"}, column
    assert assert_same_rows(lambda: df.filter("camelcase > 0 AND N.B.C < 20"), spark) == 2


def test_nested_columns_skip_files(spark: SparkSession, lake: Lake, api: str) -> None:
    df = lake.read()
    assert opened_files(df.filter("n.b.c >= 30")) == {"f3"}
    assert opened_files(df.filter("N.B.C IN (1, 12)")) == {"f0", "f1"}
    assert opened_files(df.select("n.b").filter("b.c = 21")) == {"f2"}
    assert assert_same_rows(lambda: lake.read().filter("n.b.c IN (1, 12)"), spark) == 2


def test_a_case_sensitive_session_tells_columns_apart(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    rows = {f"f{i}": [(i, 10 - i)] for i in range(3)}
    path = write_once(spark, tmp_path / "data", "x int, X int", rows)
    index(spark, path, [MinMax("x"), MinMax("X")])
    df = spark.read.parquet(path)
    assert opened_files(df.filter("x = 1")) == {"f1"}
    assert opened_files(df.filter("X = 10")) == {"f0"}
    assert assert_same_rows(lambda: spark.read.parquet(path).filter("X = 10 AND x = 0"), spark) == 1


def test_a_dotted_name_and_a_nested_one_are_two_columns(spark: SparkSession, tmp_path: Path) -> None:
    rows = {f"f{i}": [(i, (10 - i,))] for i in range(3)}
    path = write_once(spark, tmp_path / "data", "`a.b` int, a struct<b:int>", rows)
    index(spark, path, [MinMax("`a.b`"), MinMax("a.b")])
    df = spark.read.parquet(path)
    assert opened_files(df.filter("`a.b` = 1")) == {"f1"}
    assert opened_files(df.filter("a.b = 10")) == {"f0"}
    index_of = SkippingIndex.for_path(spark, path)
    assert [i.columns for i in index_of.describe().indexes] == [("`a.b`",), ("a.b",)]
