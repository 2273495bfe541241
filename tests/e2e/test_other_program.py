"""Another program never skips too much because of built, refreshed or migrated indexes. Rules: [MDS-F-6] ff."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.helpers import index, kept, record_again, write_once
from tests.metadatastore.other_program import Fault, left_out
from tests.metadatastore.samples import rewrite
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList
from xskip.expressions.predicate import Constant, Predicate
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.catalyst.filter_decoder import to_predicate
from xskip.spark.query.spark_engine import engine_of

NAN, INF = "double('NaN')", "double('Infinity')"
SCHEMA = (
    "l bigint, s string, d double, f float, b boolean, n decimal(10,2), x binary, dt date, ts timestamp, "
    "nt timestamp_ntz, h smallint, st struct<a: int, q: struct<z: string>>, tags array<string>"
)
#: The values of each file's column ``l``; the others follow from it, see ``ROW``.
NUMBERS: dict[str, list[int | None]] = {
    "few": [1, 2, None],
    "same": [5, 5],
    "many": [*range(10, 20)],
    "zeros": [0],
    "minus": [-1],
    "nulls": [None, None],
    "mixed": [1, 5, 9],
    "ends": [2**63 - 1, -(2**63)],
    "empty": [],
}
_ROW = """
    SELECT __file, l,
        CASE WHEN l = 0 THEN '' WHEN l = 5 THEN char(65533) WHEN l = 9 THEN decode(unhex('F09F9880'), 'UTF-8')
             WHEN l = 2 THEN repeat('long', 50) ELSE string(l) END AS s,
        CASE WHEN l = 0 THEN double('-0.0') WHEN l = 9 THEN double('NaN') WHEN l = 2 THEN double('Infinity')
             ELSE double(l) / 4 END AS d,
        if(l = -1, float('-0.0'), if(l = 1, float('0.0'), if(l = 5, float('NaN'), float(l)))) AS f,
        l % 2 = 0 AS b, CAST(l % 1000 AS decimal(10,2)) / 8 AS n, unhex(hex(l % 300)) AS x,
        CASE WHEN l = 0 THEN date'1500-01-01' ELSE date_add(date'2020-01-01', CAST(l % 1000 AS int)) END AS dt,
        CASE WHEN l = 0 THEN timestamp'1850-01-01 00:00:00' ELSE timestamp_micros(l % 1000000 * 1000003) END AS ts,
        CAST(timestamp_micros(l % 1000000 * 1000003) AS timestamp_ntz) AS nt,
        CAST(l % 100 AS smallint) AS h,
        CASE WHEN l = 1 THEN NULL
             ELSE named_struct('a', CAST(l % 1000 AS int), 'q', named_struct('z', string(l))) END AS st,
        CASE WHEN l = 9 THEN array() ELSE array(string(l), NULL) END AS tags
    FROM numbers
"""
FILTERS = [
    *(f"l {op} {v}" for v in (5, 0, 14, 9223372036854775807) for op in ("=", "<>", "<", "<=", ">", ">=")),
    "NOT (l = 5)", "l IN (1, 12)", "l NOT IN (5, 6)", "l IN (1,3,5,7,9,11,13,15,17,19,21,23)",
    "l NOT IN (1,2,3,4,5,6,7,8,9,10,11,12,13)", "l IS NULL", "l IS NOT NULL", "l = 5 OR l IS NULL",
    "l <=> 5", "NOT (l <=> 5)",
    "s = ''", "s = '14'", "s <> '14'", "s < '2'", "s >= 'l'", "s = repeat('long', 50)", "s > char(65533)",
    "s >= decode(unhex('F09F9880'), 'UTF-8')", "s IN ('1', '14', 'q')", "s LIKE '1%'", "s NOT IN ('5', '1')",
    "d = 0.0D", "d = -0.0D", "d <> 0.0D", "d IN (-0.0D, 100D)", "d NOT IN (0D, 1D)", f"d = {NAN}", f"d <> {NAN}",
    f"d < {NAN}",
    f"d >= {INF}", f"d > {INF}", "d < 0", "d IN (1D,2D,3D,4D,5D,6D,7D,8D,9D,10D,11D,-0.0D)",
    "f = float('0.0')", "f = float('-0.0')", "f <> float('0.0')", "f = float('NaN')", "f > float('1.5')",
    "b", "NOT b", "b = false", "b <> true", "b IN (true, false)", "b IS NULL", "b > false", "b <= false",
    "n = 0.63", "n = 1.75", "n > 2", "n <> 0.63", "n IN (0.63, 1.75)", "x = X'0E'", "x > X'05'", "x <> X'05'",
    "x IN (X'01', X'0E')", "dt < date'1600-01-01'", "dt = date'2020-01-15'", "dt <> date'2020-01-06'",
    "dt > date'2020-01-10'",
    "ts < timestamp'1900-01-01 00:00:00'", "ts = timestamp_micros(14000042)", "ts <> timestamp_micros(5000015)",
    "nt > timestamp_ntz'1970-01-01 00:00:09'", "nt = timestamp_ntz'1970-01-01 00:00:05.000015'", "h = 14",
    "h <> 5", "h = 14L",
    "st.a = 14", "st.a <> 5", "st.q.z = '14'", "st.q.z >= '5'", "st IS NULL", "array_contains(tags, '14')",
    "tags = array('5', NULL)", "tags IS NULL", "size(tags) = 0", "upper(s) = '14'", "size(tags) = 2", "length(s) = 2",
    "l = 14 AND s = '14'", "l = 14 OR s = '5'", "(l > 100 OR d = 0) AND NOT b", "l = 14 AND d <> 5D",
    "dt IN (date'2020-01-02', date'2020-01-15')",
]  # fmt: skip
INDEXES = [
    *(kind(c) for c in ("l", "s", "d", "f", "b", "n", "x", "dt", "ts", "nt", "h", "st.a", "st.q.z", "tags")
      for kind in (MinMax, lambda column: ValueList(column, max_values=4))),
    *(BloomFilter(c, fpp=1e-6) for c in ("l", "s", "x", "h", "st.q.z", "dt", "tags")),
    ValueList("size(tags)", expression=True), MinMax("upper(s)", expression=True),
    BloomFilter("length(s)", expression=True),
]  # fmt: skip


@pytest.fixture(scope="module")
def odd(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write files with unusual values of every type, and return their path."""
    spark, root = session, tmp_path_factory.mktemp("odd")
    path = write_once(spark, root / "numbers", "l bigint", {k: [(v,) for v in vs] for k, vs in NUMBERS.items()})
    numbers = spark.read.schema("l bigint").parquet(path)
    numbers.withColumn("__file", F.input_file_name()).createOrReplaceTempView("numbers")
    rows = spark.sql(_ROW).collect()
    files = {name: [tuple(r)[1:] for r in rows if f"/{name}.parquet" in r[0]] for name in NUMBERS}
    return write_once(spark, root / "data", SCHEMA, files)


def predicate_of(df: DataFrame, sql: str) -> Predicate:
    """Return a filter on a dataset as the optimizer leaves it."""
    spark = df.sparkSession
    xskip.disable(spark)
    plan: Any = df.filter(sql)._jdf.queryExecution().optimizedPlan()
    xskip.enable(spark)
    if plan.getClass().getSimpleName() == "LocalRelation":
        return Constant(False)
    while plan.getClass().getSimpleName() == "Project":
        plan = plan.child()
    return to_predicate([json.loads(hook_of(spark).rule.queries().encode(spark._jsparkSession, plan.condition()))])


def matching(spark: SparkSession, path: str, filters: list[str]) -> dict[str, set[str]]:
    """Return the files with a matching row for each filter, in one pass."""
    xskip.disable(spark)
    columns = [F.max(F.expr(f"coalesce({each}, false)")).alias(str(i)) for i, each in enumerate(filters)]
    found = spark.read.parquet(path).groupBy(F.input_file_name().alias("file")).agg(*columns).collect()
    xskip.enable(spark)
    return {each: {Path(row["file"]).stem for row in found if row[str(i)]} for i, each in enumerate(filters)}


def left(directory: str, predicate: Predicate, *without: Fault) -> set[str]:
    return {Path(path).stem for path in left_out(Path(directory), predicate, without)}


Asked = dict[str, tuple[Predicate, set[str]]]


def asked(spark: SparkSession, path: str, filters: list[str]) -> Asked:
    """Return the filters with their predicates for another program, and the files with a match."""
    df = spark.read.parquet(path)
    return {sql: (predicate_of(df, sql), rows) for sql, rows in matching(spark, path, filters).items()}


def assert_nothing_lost(made: SkippingIndex, filters: Asked) -> int:
    """Assert that no file with a match is skipped, except for the named fault; return how many files are skipped."""
    directory, count = made.describe().location, 0
    for sql, (predicate, matches) in filters.items():
        gone = left(directory, predicate, *Fault)
        assert not gone & matches, sql
        count += len(gone)
    return count


def test_odd_values_of_every_type_in_every_version(spark: SparkSession, odd: str) -> None:
    """[MDS-F-6] [MDS-F-7] [MDS-F-8] Many files are skipped in each version, and none with a match."""
    made = index(spark, odd, INDEXES)
    filters = asked(spark, odd, FILTERS)
    found = {4: assert_nothing_lost(made, filters)}
    for version in (3, 2, 1, 4):
        made.migrate(version)
        found[version] = assert_nothing_lost(made, filters)
    made.drop()
    assert found[3] == found[4] > 200
    assert found[1] == found[2] == 0  # a filter's class is not there


def test_more_values_than_a_list_holds(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-F-6] Files beyond the default maximum are read by the other program, and skipped by xskip as before."""
    files = {"many": [(n,) for n in range(12_000)], "other": [(n,) for n in range(20_000, 20_003)]}
    path = write_once(spark, tmp_path / "data", "v bigint", files)
    made = index(spark, path, [ValueList("v")])
    filters = asked(spark, path, ["v = 7", "v <> 20000", "v IN (1, 2)", "v = 20001", "v < 5"])
    assert assert_nothing_lost(made, filters) == 2
    directory = made.describe().location
    assert left(directory, filters["v = 7"][0]) == left(directory, filters["v IN (1, 2)"][0]) == {"other"}
    assert left(directory, filters["v = 20001"][0]) == set()
    assert kept(spark, path, "v = 7") == {"many"}
    assert kept(spark, path, "v = 20001") == {"many", "other"}


def test_columns_that_are_taken_for_others(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-F-8] Expressions, hidden fields and names in two cases get names that only xskip knows."""
    spark.conf.set("spark.sql.caseSensitive", "true")
    schema = "k string, a int, A int, file_name string, file_size bigint, `upper(k)` string, v int"
    files = {"one": [("x", 1, 5, "n", 1, "q", 1)], "two": [("y", 2, 6, "m", 2, "r", 2)]}
    path = write_once(spark, tmp_path / "data", schema, files)
    kinds = [MinMax("a"), ValueList("A"), ValueList("file_name"), MinMax("file_size"), MinMax("v")]
    made = index(spark, path, [*kinds, ValueList("upper(k)", expression=True)])
    filters = ["A = 5", "a = 1", "_metadata.file_name = 'one.parquet'", "_metadata.file_size > 9", "`upper(k)` = 'q'"]
    assert assert_nothing_lost(made, asked(spark, path, filters)) == 0
    assert assert_nothing_lost(made, asked(spark, path, ["v = 1"])) == 1
    for sql in ("A = 5", "a = 1", "file_name = 'n'", "file_size = 1", "upper(k) = 'X'"):
        assert kept(spark, path, sql) == {"one"}, sql
    assert {i.name for i in made.describe().indexes} == {"minmax", "valuelist"}
    write_once(spark, Path(path), schema, {"three": [("z", 3, 7, "o", 3, "s", 3)]})
    assert made.refresh().added == 1
    assert assert_nothing_lost(made, asked(spark, path, filters)) == 0
    assert kept(spark, path, "A = 7") == kept(spark, path, "upper(k) = 'Z'") == {"three"}


def as_before(made: SkippingIndex) -> None:
    """Rewrite an index in the form that xskip wrote before it considered other programs."""
    for file in Path(made.describe().location).glob("*.parquet"):
        held = pq.read_table(file)["v_valuelist_1"].combine_chunks()
        lists = [None if values == [None] else values for values in held.to_pylist()]
        rewrite(file, {b"io.xskip.wording": None}, {"v_valuelist_1": pa.array(lists, held.type)})
        record_again(file.parent)


@pytest.mark.parametrize("by", ["refresh", "refresh of a new file", "optimize"])
def test_an_index_of_before(spark: SparkSession, tmp_path: Path, by: str) -> None:
    """[MDS-F-9] The old form can be read, and one commit converts it to the present form."""
    path = write_once(spark, tmp_path / "data", "v int", {"many": [(n,) for n in range(9)], "few": [(20,)]})
    made = index(spark, path, [ValueList("v", max_values=5), MinMax("v")])
    as_before(made)
    engine_of(spark).forget_all()
    directory, wanted = made.describe().location, predicate_of(spark.read.parquet(path), "v = 7")
    assert left(directory, wanted) == {"many", "few"}  # which is wrong
    assert kept(spark, path, "v = 7") == {"many"}
    if by == "optimize":
        made.optimize()
    else:
        if by != "refresh":
            write_once(spark, Path(path), "v int", {"new": [(30,)]})
        result = made.refresh()
        assert (result.added, result.removed, result.unchanged) == (int(by != "refresh"), 0, 2)
    assert left(directory, wanted) == {"few"} | ({"new"} if "new" in by else set())
    assert kept(spark, path, "v = 7") == {"many"}
    commit = made.describe().commit
    assert commit == 2
    assert made.refresh().unchanged == made.describe().files
    made.optimize()
    assert made.describe().commit == (3 if "new" in by else 2)
