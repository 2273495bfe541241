"""A name means the column that Spark resolves, by case, dots, nesting, partitions, positions and field ids.

Classes: SND-29 (name resolution), SND-30 (partition columns that files do not hold).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType

from tests.helpers import opened_files
from tests.soundness.checking import ALL, NONE, Family, family, shown
from xskip import BloomFilter, Index, MinMax, SkippingIndex, ValueList
from xskip.errors import IndexDefinitionError


def _arrow(path: Path, **columns: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def _sound(df: DataFrame, plain: DataFrame) -> set[str]:
    """Assert that the rows are those without an index, and return the opened files."""
    assert shown(df) == shown(plain)
    return opened_files(df)


def _three(column: str) -> dict[str, list[MinMax] | list[ValueList] | list[BloomFilter]]:
    return {"minmax": [MinMax(column)], "valuelist": [ValueList(column)], "bloom": [BloomFilter(column, fpp=1e-6)]}


def test_columns_that_differ_by_case(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-29] In a case-sensitive session, columns a and A have separate indexes."""
    root = tmp_path_factory.mktemp("case")
    for name, lower, upper in (("one", [1, 2], [7, 8]), ("two", [7, 8], [1, 2])):
        _arrow(root / "plain" / f"{name}.parquet", a=pa.array(lower, pa.int32()), A=pa.array(upper, pa.int32()))
    spark.conf.set("spark.sql.caseSensitive", "true")
    made = Family(spark, root)
    for kind, indexes in _three("a").items():
        made.add(kind, indexes)
        made.add(f"{kind}_upper", [type(indexes[0])("A")])
    for kind in ("minmax", "valuelist", "bloom"):
        made.check(kind, {"a = 1": "one", "A = 1": ALL, "a = 7": "two", "A = 7": ALL, "a = 1 and A = 7": "one"})
        made.check(f"{kind}_upper", {"a = 1": ALL, "A = 1": "two", "A = 7": "one"})


def test_case_sensitivity_changed_after_the_build(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """[SND-29] The index is not used with another case sensitivity, and strict mode says so."""
    root = tmp_path_factory.mktemp("changed")
    _arrow(root / "plain" / "one.parquet", Ab=pa.array([1], pa.int32()))
    _arrow(root / "plain" / "two.parquet", Ab=pa.array([2], pa.int32()))
    made = Family(spark, root)
    made.add("folded", [MinMax("aB")])
    made.check("folded", {"ab = 1": "one", "AB = 2": "two", "aB = 3": NONE})
    spark.conf.set("spark.sql.caseSensitive", "true")
    with pytest.raises(Exception, match="caseSensitive"):
        made.read("folded").filter("Ab = 1").collect()
    spark.conf.set("spark.xskip.strict", "false")
    made.check("folded", {"Ab = 1": ALL})
    # a name of another case is another column, that no file has
    made = Family(spark, root, schema="ab int")
    made.check("folded", {"ab = 1": ALL, "ab is null": ALL})


def test_names_of_files_in_another_case(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-29] In a case-insensitive session, names in files match in upper and lower case."""
    root = tmp_path_factory.mktemp("filecase")
    _arrow(root / "plain" / "lower.parquet", a=pa.array([1], pa.int32()))
    _arrow(root / "plain" / "upper.parquet", A=pa.array([2], pa.int32()))
    made = Family(spark, root, schema="a int")
    for kind, indexes in _three("a").items():
        made.add(kind, indexes)
        made.check(kind, {"a = 1": "lower", "a = 2": "upper", "A = 2": "upper"})


@pytest.mark.parametrize("dotted_last", [True, False])
def test_dotted_names_and_nested_fields(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, dotted_last: bool
) -> None:
    """[SND-29] A field b of a struct a and a column a.b are told apart, although footers write both as a.b."""
    root = tmp_path_factory.mktemp("dots")
    for name, nested, dotted in (("one", 1, 7), ("two", 7, 1)):
        columns = {
            "a": pa.array([{"b": nested}], pa.struct([("b", pa.int32())])),
            "a.b": pa.array([dotted], pa.int32()),
        }
        ordered = columns if dotted_last else dict(reversed(columns.items()))
        (root / "plain").mkdir(exist_ok=True)
        pq.write_table(pa.table(ordered), root / "plain" / f"{name}.parquet")
    made = Family(spark, root)
    for kind, indexes in _three("a.b").items():
        made.add(kind, indexes)
        made.add(f"{kind}_dotted", [type(indexes[0])("`a.b`")])
        made.check(kind, {"a.b = 1": "one", "a.b = 7": "two", "`a.b` = 1": ALL})
        made.check(f"{kind}_dotted", {"`a.b` = 1": "two", "`a.b` = 7": "one", "a.b = 1": ALL})


def test_names_of_strange_characters(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-29] Columns may have spaces, backticks, keywords and non-ASCII letters as names."""
    schema = "`x y` int, `é\U0001f600` int, `select` int, `a``b` int"
    files = {"one": [(1, 1, 1, 1)], "two": [(2, 2, 2, 2)]}
    columns = ["x y", "é\U0001f600", "select", "`a``b`"]
    kinds: dict[str, list[Index]] = {
        "minmax": [MinMax(c) for c in columns],
        "bloom": [BloomFilter(c, fpp=1e-6) for c in columns],
    }
    strange = family(spark, tmp_path_factory.mktemp("strange"), schema, files, kinds)
    quoted = ("`x y`", "`é\U0001f600`", "`select`", "`a``b`", "`É\U0001f600`")
    for kind in kinds:
        strange.check(kind, {f"{name} = 2": "two" for name in quoted})


def test_fields_by_id(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-29] With field ids, a name means the column with the id in the query's schema."""
    root = tmp_path_factory.mktemp("ids")
    fields = [pa.field(n, pa.int32(), metadata={"PARQUET:field_id": str(i)}) for n, i in (("x", 1), ("y", 2))]
    (root / "plain").mkdir()
    for name, x, y in (("one", 1, 7), ("two", 7, 1)):
        pq.write_table(pa.table([[x], [y]], schema=pa.schema(fields)), root / "plain" / f"{name}.parquet")
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")

    def by_id(number: int) -> StructType:
        return StructType([StructField("c", IntegerType(), metadata={"parquet.field.id": number})])

    for kind, indexes in _three("c").items():
        made = Family(spark, root, schema=by_id(1))
        made.add(kind, indexes)
        made.check(kind, {"c = 1": "one"})
        spark.conf.set("spark.xskip.strict", "false")
        other = Family(spark, root, schema=by_id(2))
        assert "two" in _sound(other.read(kind).filter("c = 1"), other.read("plain").filter("c = 1")), kind
        spark.conf.set("spark.xskip.strict", "true")


def test_orc_columns_by_position(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-29] ORC files of Hive have no names, so that the position in the query's schema counts."""
    files = {"one": [(1, 7)], "two": [(7, 1)]}
    for kind, indexes in _three("a").items():
        root = tmp_path_factory.mktemp("orc")
        made = family(spark, root, "_col0 int, _col1 int", files, {}, fmt="orc", read_schema="a int, b int")
        made.add(kind, indexes)
        made.check(kind, {"a = 1": "one"})
        spark.conf.set("spark.xskip.strict", "false")
        other = Family(spark, root, "orc", schema="b int, a int")
        assert "two" in _sound(other.read(kind).filter("a = 1"), other.read("plain").filter("a = 1")), kind
        spark.conf.set("spark.xskip.strict", "true")


PARTED: dict[str, list[Any]] = {
    "p=1/one": [(1,), (5,)],
    "p=2/two": [(5,), (None,)],
    "p=__HIVE_DEFAULT_PARTITION__/null": [(1,), (9,)],
    "p=010/ten": [(9,)],
}
MIXED = {
    "p = 1 or x = 9": "one null ten",
    "p is null or x = 9": "null ten",
    "p <=> null or x = 9": "null ten",
    "p is not null or x = 9": ALL,
    "p <> 1 or x = 9": "two null ten",
    "not (p <=> 1) or x = 9": "two null ten",
    "p not in (1, 2) or x = 100": "ten",
    "p in (2, null) or x = 100": "two",
    "p = 10 or x = 100": "ten",
    "p > 2 and x = 9": "ten",
    "p is null and x = 9": "null",
    "p = 1": "one",
    "p is null": "null",
    "(p = 1 and x = 5) or (p = 2 and x = 100)": "one",
    "p = x": "one two ten",
}


@pytest.mark.parametrize("v1", ["parquet", ""])
def test_null_partitions(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, v1: str) -> None:
    """[SND-30] NULL is a partition value; conditions can combine partition and data columns."""
    spark.conf.set("spark.sql.sources.useV1SourceList", v1)
    parted = family(spark, tmp_path_factory.mktemp("parted"), "x int", PARTED, {"valuelist": [ValueList("x")]})
    cases = dict(MIXED)
    cases["p not in (1, 2) or x = 9"] = "null ten"
    parted.check("valuelist", cases)


def test_partition_types_that_differ(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-30] Partition 010 is a number or a string; only the recorded type is used."""
    root = tmp_path_factory.mktemp("inferred")
    parted = family(spark, root, "x int", PARTED, {"valuelist": [ValueList("x")]})
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    parted.check("valuelist", {"p = '010' or x = 100": ALL, "p = '010' and x = 9": "ten", "p <> '1' or x = 100": ALL})
    spark.conf.unset("spark.sql.sources.partitionColumnTypeInference.enabled")
    for kind in ("string", "bigint", "double"):
        typed = Family(spark, root, schema=f"x int, p {kind}")
        typed.check("valuelist", {"p = 10 or x = 100": ALL, "p = 2 and x = 5": "two"})


def test_timestamp_partitions_and_the_time_zone(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-30] The instant of a directory's local time depends on the session's zone."""
    files = {"t=2020-01-01 00%3A00%3A00/one": [(1,)], "t=2020-01-01 05%3A00%3A00/two": [(2,)]}
    parted = family(spark, tmp_path_factory.mktemp("zones"), "x int", files, {"valuelist": [ValueList("x")]})
    parted.check("valuelist", {"t = timestamp'2020-01-01 05:00:00' or x = 100": "two"})
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    spark.conf.set("spark.xskip.strict", "false")
    parted = Family(spark, parted.root)
    for text, name in (("2020-01-01 00:00:00", "one"), ("2020-01-01 05:00:00", "two")):
        predicate = f"t = timestamp'{text}' or x = 100"
        assert name in _sound(parted.read("valuelist").filter(predicate), parted.read("plain").filter(predicate))


@pytest.fixture
def lying(tmp_path: Path) -> Family:
    """Return files with a column p whose values differ from the directories' names."""
    for name, p, value in (("one", 1, 7), ("two", 2, 8)):
        columns = {"p": pa.array([value], pa.int32()), "x": pa.array([value], pa.int32())}
        _arrow(tmp_path / "plain" / f"p={p}" / f"{name}.parquet", **columns)
    return Family(SparkSession.active(), tmp_path)


def test_partition_column_that_is_also_in_the_files(spark: SparkSession, lying: Family) -> None:
    """[SND-29] [SND-30] The partition's value replaces the column in the files."""
    lying.add("valuelist", [ValueList("x")])
    lying.check("valuelist", {"p = 1 or x = 100": "one", "p = 7 or x = 100": NONE, "p = 7 or x = 8": "two"})
    with pytest.raises(IndexDefinitionError, match="a partition column needs no index"):
        lying.skipping("plain").create([MinMax("p")])


def test_one_partition_read_by_itself(spark: SparkSession, lying: Family) -> None:
    """[SND-29] [SND-30] If only the directory p=1 is read, p is the column in the files."""
    lying.add("valuelist", [ValueList("x")])
    spark.conf.set("spark.xskip.strict", "false")
    for predicate in ("p = 7", "p = 7 or x = 100", "p <> 1", "p > 1"):
        inner = spark.read.parquet(lying.path("valuelist") + "/p=1").filter(predicate)
        assert _sound(inner, spark.read.parquet(lying.path("plain") + "/p=1").filter(predicate)) == {"one"}, predicate


def test_directories_are_not_partitions_at_the_query(spark: SparkSession, lying: Family) -> None:
    """[SND-29] [SND-30] With recursiveFileLookup, p is the column in the files."""
    lying.add("copy", [ValueList("x")])
    spark.conf.set("spark.xskip.strict", "false")
    lying.options["recursiveFileLookup"] = "true"
    for predicate, name in {"p = 7": "one", "p = 8 or x = 100": "two", "p > 2": "one"}.items():
        opened = _sound(lying.read("copy").filter(predicate), lying.read("plain").filter(predicate))
        assert name in opened, predicate


def test_directories_are_not_partitions_at_the_build(spark: SparkSession, lying: Family) -> None:
    """[SND-29] [SND-30] An index on a file column does not serve a partition column."""
    lying.options["recursiveFileLookup"] = "true"
    lying.add("copy", [MinMax("p"), MinMax("x")])
    lying.check("copy", {"p = 7": "one", "p = 1": NONE})
    spark.conf.set("spark.xskip.strict", "false")
    del lying.options["recursiveFileLookup"]
    for predicate, name in {"p = 1 or x = 100": "one", "p = 2 or x = 100": "two", "p < 2 or x = 100": "one"}.items():
        opened = _sound(lying.read("copy").filter(predicate), lying.read("plain").filter(predicate))
        assert name in opened, predicate


def test_partitions_that_a_table_places_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-30] [PRU-PC-6] A table's partition values count for the table, a directory's for the path."""
    for p in (5, 6):
        _arrow(tmp_path / "t" / f"p={p}" / f"f{p}.parquet", x=pa.array([p], pa.int32()))
    spark.sql(f"CREATE TABLE placed (x INT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}/t'")
    for p, directory in ((9, "p=5"), (8, "p=6")):
        spark.sql(f"ALTER TABLE placed ADD PARTITION (p={p}) LOCATION '{tmp_path}/t/{directory}'")
    SkippingIndex.for_path(spark, str(tmp_path / "t")).create([ValueList("x")])
    spark.conf.set("spark.xskip.strict", "false")
    by_path = spark.read.parquet(str(tmp_path / "t"))
    assert opened_files(by_path.filter("p = 5 or x = 100")) == {"f5"}
    found = spark.table("placed").filter("p = 9 or x = 100")
    assert shown(found) == ["(5, 9)"]
    assert shown(spark.table("placed").filter("p = 5 or x = 100")) == []
