"""User-defined functions, chance, subqueries, hidden columns, limits and aggregates give correct rows.

Classes: SND-32 (a UDF made anew), SND-33 (rand, subqueries, ``_metadata``), SND-38 (LIMIT), SND-39 (top-k with NULL),
SND-40 (MIN, MAX and COUNT), SND-41 (metadata of several files), SND-42 (a wrong skip leaves no trace: these tests must
see one).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegerType

from tests.helpers import assert_same_rows, opened_files
from tests.soundness.checking import (
    ALL,
    NONE,
    Family,
    count_each,
    family,
    rows_of_each,
    run_all,
    same_rows_of_each,
    shown,
    shown_each,
    together,
)
from xskip import BloomFilter, Index, MinMax, ValueList
from xskip.clauses import bounds
from xskip.expressions.evaluate import compare
from xskip.expressions.predicate import Op

FILES: dict[str, list[Any]] = {
    "low": [(1, "a"), (2, "b"), (None, "c")],
    "mid": [(5, "a"), (6, None)],
    "high": [(10, "b"), (20, "z")],
    "nulls": [(None, None)],
}
KINDS: dict[str, list[Index]] = {
    "minmax": [MinMax("x")],
    "valuelist": [ValueList("x")],
    "bloom": [BloomFilter("x", fpp=1e-6)],
}


@pytest.fixture(scope="module")
def data(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    return family(session, tmp_path_factory.mktemp("data"), "x int, s string", FILES, KINDS)


@pytest.fixture
def view(spark: SparkSession, data: Family) -> Family:
    """Register the copies as views with their names, and return the copies."""
    for copy in ("plain", *KINDS):
        data.read(copy).createOrReplaceTempView(copy)
    return data


def test_udf_defined_anew(spark: SparkSession, data: Family) -> None:
    """[SND-32] A user-defined function skips no file, because its name may get another meaning."""
    for limit, name in ((10, "high"), (2, "low"), (5, "mid")):
        spark.udf.register("wanted", lambda x, limit=limit: x == limit, BooleanType())
        found = [data.read(kind).filter("wanted(x)") for kind in KINDS]
        both = [data.read(kind).filter(f"wanted(x) and x = {limit}") for kind in KINDS]
        results = run_all([df.select("x") for df in (*found, *both)])
        assert results == [([f"({limit},)"], set(FILES))] * len(KINDS) + [([f"({limit},)"], {name})] * len(KINDS)
    double = F.udf(lambda x: None if x is None else 2 * x, IntegerType())
    either = (double("x") == 20) | (F.col("x") == 1)
    frames = [data.read(kind).filter(condition) for kind in KINDS for condition in (double("x") == 20, either)]
    assert count_each(frames) == [1, 2] * len(KINDS)


def test_chance(spark: SparkSession, data: Family) -> None:
    """[SND-33] A condition on chance skips no file, and does not affect other conditions."""
    counts = {
        "rand() >= 0 and x = 5": 1,
        "rand() < 2 or x = 5": 8,
        "x = 5 or rand() < 0": 1,
        "monotonically_increasing_id() >= 0 and x = 10": 1,
    }
    for kind in KINDS:
        asked = data.read(kind)
        assert opened_files(asked.filter("rand() < 0.5")) == set(FILES)
        assert opened_files(asked.filter("rand() >= 0 and x = 5")) >= {"mid"}
        assert count_each([asked.filter(condition) for condition in counts]) == list(counts.values())


@pytest.mark.parametrize("kind", list(KINDS))
def test_subqueries(spark: SparkSession, view: Family, kind: str) -> None:
    """[SND-33] Queries with subqueries have the rows of plain Spark."""
    whole = (
        "select * from {0} where x = (select max(x) from plain)",
        "select * from {0} where x = (select max(x) from {0})",
        "select * from {0} where x > (select avg(x) from plain) or x = 1",
        "select * from {0} where x in (select x from plain where s = 'b')",
        "select * from {0} where x not in (select x from plain where x < 6)",
        "select * from {0} where x not in (select x from plain)",
        "select * from {0} o where exists (select 1 from {0} i where i.x = o.x and i.s = 'a')",
        "select * from {0} o where not exists (select 1 from {0} i where i.x = o.x and i.x > 5)",
        "select * from {0} where x = 5 union all select * from {0} where x = 10",
        "with q as (select * from {0} where x > 5) select * from q where s = 'z' or x is null",
    )
    pairs = (
        "select l.x, r.x as y from {0} l left join {0} r on l.x = r.x and r.x = 5",
        "select l.x, r.x as y from {0} l full join {0} r on l.x = r.x + 5 where l.x is null or l.x = 10",
    )
    for queries in (whole, pairs):
        found = shown_each([spark.sql(query.format(kind)) for query in queries])
        expected = shown_each([spark.sql(query.format("plain")) for query in queries])
        assert dict(zip(queries, found, strict=True)) == dict(zip(queries, expected, strict=True))


def test_hidden_columns(spark: SparkSession, data: Family) -> None:
    """[SND-33] ``_metadata`` describes files, even if a data column has the name of one of its fields."""
    for kind in KINDS:
        cases = {"_metadata.file_size > 0 and x = 5": "mid", "_metadata.file_name = 'low.parquet' or x = 5": "low mid"}
        data.check(kind, cases)
        asked = data.read(kind)
        of_file = ("input_file_name() like '%low%'", "_metadata.file_name = 'low.parquet'")
        assert count_each([asked.filter(condition) for condition in of_file]) == [3, 3]


def test_data_columns_named_as_hidden_ones(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-33] Data columns with the names of hidden fields are told apart from them."""
    for name, size in (("small", 1), ("large", 1_000_000)):
        (tmp_path / "plain").mkdir(exist_ok=True)
        table = pa.table({"file_size": pa.array([size], pa.int64()), "file_name": [name + "!"]})
        pq.write_table(table, tmp_path / "plain" / f"{name}.parquet")
    made = Family(spark, tmp_path)
    for kind, index in (("minmax", MinMax), ("valuelist", ValueList), ("bloom", BloomFilter)):
        made.add(kind, [index("file_size"), index("file_name")])
        cases = {"file_size = 1": "small", "_metadata.file_size = 1": NONE, "_metadata.file_size > 1": ALL}
        made.check(kind, cases | {"_metadata.file_name = 'small.parquet' or file_size = 1000000": ALL})


@pytest.mark.parametrize("kind", list(KINDS))
def test_limit(spark: SparkSession, data: Family, kind: str) -> None:
    """[SND-38] LIMIT counts matching rows in all files."""
    asked = data.read(kind)
    everywhere = asked.filter("x >= 2")
    assert everywhere.limit(3).count() == 3
    counts = count_each(
        [
            *(everywhere.limit(n) for n in (0, 1, 3, 5, 100)),
            asked.filter("x is null").limit(2),
            asked.filter("x = 20").limit(3),
            asked.limit(8),
            asked.limit(8).filter("x = 20"),
            asked.filter("x > 4").offset(2),
        ]
    )
    assert counts == [0, 1, 3, 5, 5, 2, 1, 8, 1, 2]
    assert len(asked.filter("x <> 1").take(4)) == 4
    first = asked.filter("x = 20").head()
    assert first is not None
    assert first.s == "z"


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("nulls", ["nulls first", "nulls last"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_top_k_with_nulls(spark: SparkSession, view: Family, kind: str, nulls: str, direction: str) -> None:
    """[SND-39] The first rows of an order are those of plain Spark, with NULL first or last."""
    conditions = ("true", "x > 1", "x is null or x = 5", "x <> 5")
    query = f"select x from {{}} where {{}} order by x {direction} {nulls} limit 3"
    top = {copy: together([spark.sql(query.format(copy, where)) for where in conditions]) for copy in (kind, "plain")}
    found, expected = (rows_of_each(asked, len(conditions)) for asked in top.values())
    assert found == expected
    assert [len(rows) for rows in found] == [3, 3, 3, 3]


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("v1", ["parquet", ""], ids=["v1", "v2"])
def test_min_max_count(spark: SparkSession, view: Family, kind: str, v1: str) -> None:
    """[SND-40] Aggregates are those of the rows, also if Spark takes counts from footers."""
    spark.conf.set("spark.sql.sources.useV1SourceList", v1)
    for copy in ("plain", kind):
        view.read(copy).createOrReplaceTempView(copy)
    conditions = ("true", "x > 4", "x = 5 or x = 1", "x is null", "x <> 5", "x > 100")
    query = "select min(x), max(x), count(*), count(x), min(s), max(s), sum(x) from {} where {}"
    found = shown_each([spark.sql(query.format(kind, where)) for where in conditions])
    expected = shown_each([spark.sql(query.format("plain", where)) for where in conditions])
    assert dict(zip(conditions, found, strict=True)) == dict(zip(conditions, expected, strict=True))
    grouped = "select s, count(*), max(x) from {} where x > 1 group by s having max(x) > 2"
    assert shown(spark.sql(grouped.format(kind))) == shown(spark.sql(grouped.format("plain")))
    assert spark.sql(f"select min(x), max(x), count(x) from {kind}").collect() == [(1, 20, 6)]
    spark.conf.set("spark.sql.parquet.aggregatePushdown", "true")
    counts = {"true": "(8, 6)", "x > 4": "(4, 4)", "x is null": "(2, 0)"}
    counted = shown_each([spark.sql(f"select count(*) n, count(x) m from {kind} where {where}") for where in counts])
    assert counted == [[text] for text in counts.values()]


@pytest.mark.parametrize("index", [MinMax("x"), ValueList("x"), BloomFilter("x", fpp=1e-6)], ids=lambda i: i.name)
def test_metadata_of_several_files(spark: SparkSession, tmp_path: Path, index: Any) -> None:
    """[SND-41] An index that grew by chunks and refreshes gives the same files as a new one."""
    spark.conf.set("spark.xskip.build.chunkFiles", "1")
    made = family(spark, tmp_path, "x int, s string", FILES, {"copy": [index]})
    for name, row in (("later", (7, "q")), ("last", (None, "q"))):
        rows = pa.table({"x": pa.array(row[:1], pa.int32()), "s": [row[1]]})
        for copy in ("plain", "copy"):
            pq.write_table(rows, tmp_path / copy / f"{name}.parquet")
        assert made.skipping("copy").refresh().added == 1
    cases = {"x = 7": "later", "x = 1": "low", "x in (5, 20)": "mid high", "x = 99": NONE, "x is null": ALL}
    made.check("copy", cases)
    if not isinstance(index, BloomFilter):
        made.check("copy", {"x > 6": "high later", "x is not null": "low mid high later", "x <> 7": "low mid high"})


SPLIT: dict[str, list[float | None]] = {
    "many": [1.0, 9.0, 2.0, float("nan"), None, 3.0],  # a row group each, and so a task each
    "two": [5.0, None, 5.0, 6.0, 5.0, 6.0],
    "nulls": [None, None, None, None],
}


def test_files_read_by_several_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-41] The results of tasks are combined: bounds of all parts, and no list above the maximum."""
    (tmp_path / "plain").mkdir()
    for name, values in SPLIT.items():
        table = pa.table(
            {
                "x": pa.array(values, pa.float64()),
                "s": pa.array([None if v is None else f"s{v}" for v in values], pa.string()),
            }
        )
        whole = [None if v is None or math.isnan(v) else int(v) for v in values]
        table = table.append_column("n", pa.array(whole, pa.int64()))
        pq.write_table(table, tmp_path / "plain" / f"{name}.parquet", row_group_size=1)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "200")
    made = Family(spark, tmp_path)
    assert made.read("plain").rdd.getNumPartitions() > len(SPLIT)
    made.add("minmax", [MinMax("x"), MinMax("s")])
    made.add("valuelist", [ValueList("x", max_values=3), ValueList("s", max_values=3)])
    made.add("bloom", [BloomFilter("n", fpp=1e-6), BloomFilter("s", fpp=1e-6)])
    numbers = {"x > 9": "many", "x < 5": "many", "x = 6": "many two", "x is not null": "many two"}
    made.check("minmax", numbers | {"s = 's9.0'": "many", "s > 's6.0'": "many", "s < 's2.0'": "many"})
    made.check("valuelist", {"x = 6": "many two", "x = 7": "many", "x <> 5": "many two", "s = 's7'": "many"})
    made.check("bloom", {"n = 9": "many", "n = 6": "two", "n = 7": NONE, "s = 's3.0'": "many", "s in ('s5.0')": "two"})


def test_indexes_of_a_column_together(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-41] Each of several indexes on a column may skip a file."""
    every = [MinMax("x"), ValueList("x", max_values=2), BloomFilter("x", fpp=1e-6)]
    made = family(spark, tmp_path, "x int, s string", FILES, {"copy": every})
    made.check("copy", {"x = 5": "mid", "x = 15": NONE, "x <> 5": "low mid high", "x not in (5, 6)": "low high"})


def _naive_negation(op: Any, lo: Any, hi: Any, value: Any) -> Any:
    if op is Op.NE:  # what a negated clause would be: v < lo or v > hi
        return pc.or_kleene(compare(Op.GT, lo, value), compare(Op.LT, hi, value))
    return _RIGHT(op, lo, hi, value)


_RIGHT: Callable[..., Any] = bounds._compared


def test_a_wrong_skip_would_be_seen(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[SND-42] The check of these tests detects a wrong skip, which the query itself cannot."""
    made = family(spark, tmp_path, "x int, s string", FILES, {"copy": [MinMax("x")]})
    made.check("copy", {"x <> 6": "low mid high"})
    monkeypatch.setattr(bounds, "_compared", _naive_negation)
    with pytest.raises(AssertionError, match=r"x <> 5: WRONGLY SKIPPED \['mid'\]"):
        made.check("copy", {"x <> 5": "low mid high"})
    with pytest.raises(AssertionError, match=r"x <> 5: WRONGLY SKIPPED \['mid'\]"):
        made.check("copy", {"x <> 5": "low mid high", "x = 20": "high"})
    with pytest.raises(AssertionError, match=r"opened .* should be"):
        made.check("copy", {"x = 5": "low mid"})


def test_the_whole_query_is_the_same(spark: SparkSession, data: Family) -> None:
    """[SND-42] A query has the same rows with skipping on and off."""
    predicates = ("x <> 5", "x > 5", "x is null", "not (x between 2 and 10)", "x in (1, 20)", "s = 'a' or x = 20")

    def queries(kind: str) -> list[DataFrame]:
        asked = data.read(kind)
        return [asked.filter(predicate) for predicate in predicates]

    for kind in KINDS:
        assert_same_rows(partial(data.read(kind).filter, predicates[0]), spark)
        assert same_rows_of_each(partial(queries, kind), spark) == [5, 3, 2, 2, 2, 3]
