"""The rows after an insert into a table with deduplication, as the server has them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.questdb.frames import KEYS, create, frame_of, insert, sorted_rows
from tests.questdb.server import Server
from tests.questdb.spark_values import arrow_rows
from xskip.errors import DatasetError, PredicateError, UnsupportedTypeError, XskipError
from xskip.questdb import dedup_upsert
from xskip.questdb.table import open_table

SCHEMA = "ts long, k string, p double, q int"


@pytest.fixture(autouse=True)
def planned_once(spark: SparkSession, interpreted: None) -> None:
    """Let Spark plan a query once, not after each of the many stages of few rows."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")


def tables(server: Server, kinds: list[str], *, duplicates: bool = False) -> tuple[str, str]:
    """Create a table with deduplication by its keys, and a table of rows to insert in any order of time."""
    table, rows = server.name("dedup"), server.name("rows")
    keys = ", ".join(["ts", *(f"k{position}" for position in range(len(kinds)))])
    create(server, table, kinds, "timestamp(ts) partition by day wal")
    dedup = f"alter table {table} dedup enable upsert keys({keys})"
    if not duplicates:
        server.run(table, dedup)
    insert(server, table, kinds, 150)
    server.run(table, dedup)
    create(server, rows, kinds, "")
    insert(server, rows, kinds, 300, start=1000)
    return table, rows


#: Which of the new rows each insert has.
PARTS = ("x % 3 = 0", "x % 3 = 1", "x > 0")


def check(
    server: Server,
    spark: SparkSession,
    folder: Path,
    kinds: list[str],
    *,
    parts: Sequence[str] = PARTS,
    duplicates: bool = False,
) -> int:
    """Compare inserts with the server's, and return the greatest number of rows with equal keys before them."""
    table, new = tables(server, kinds, duplicates=duplicates)
    keys = ["ts", *(f"k{position}" for position in range(len(kinds)))]
    before = open_table(server.database / table).to_arrow(keys)
    existing = frame_of(spark, server, table, folder)
    inserted = frame_of(spark, server, new, folder)
    found = existing
    for part in parts:
        server.run(table, f"insert into {table} select * from {new} where {part}")
        found = dedup_upsert(found, inserted.where(part), keys)
    (folder / "after").mkdir()
    expected = frame_of(spark, server, table, folder / "after")
    assert found.schema.names == expected.schema.names
    assert [f.dataType for f in found.schema] == [f.dataType for f in expected.schema]
    assert sorted_rows(found) == sorted_rows(expected)
    return max(Counter(map(repr, arrow_rows(before))).values())


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_of_each_type(server: Server, spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """[QDB-FN-6], [QDB-FN-7]: nulls are equal, and the last row of an insert counts."""
    assert check(server, spark, tmp_path, [kind], parts=PARTS[1:]) == 1


@pytest.mark.parametrize("seed", range(3))
def test_several_keys(server: Server, spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """[QDB-FN-6], [QDB-FN-7]."""
    assert check(server, spark, tmp_path, random.Random(seed).sample(list(KEYS), seed)) == 1


@pytest.mark.parametrize("kind", ["symbol", "int"])
def test_rows_from_before_the_deduplication(server: Server, spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """[QDB-FN-6]: they stay as many as they are, and a new row with their keys replaces each of them."""
    assert check(server, spark, tmp_path, [kind], duplicates=True) > 2


Rows = list[tuple[Any, ...]]
EXISTING: Rows = [(1, "a", 1.0, None), (1, None, 2.0, 1), (1, None, 2.5, 2), (5, "x", 3.0, 3), (None, None, 4.0, 4)]
NEW: Rows = [
    (1, None, 6.0, None), (1, "a", 7.0, 9), (2, "b", 8.0, 1), (1, "a", None, None), (2, "b", 9.0, None),
    (None, None, 9.5, 1), (None, "n", 9.6, 1),
]  # fmt: skip


def by_hand(existing: Rows, new: Rows, mode: str) -> Rows:
    """Return the rows after an insert, one new row after the other."""
    rows = list(existing)
    for row in new:
        same = [i for i, other in enumerate(rows) if other[:2] == row[:2]]
        if not same:
            rows.append(row)
        elif mode == "upsert":
            for i in same:
                rows[i] = row
    return sorted(rows, key=repr)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("mode", ["upsert", "skip"])
def test_the_first_or_the_last_row_stays(spark: SparkSession, mode: Any, text: bool) -> None:
    """[QDB-FN-6], [QDB-FN-7], [QDB-FN-8]."""
    kind = SCHEMA.replace("q int", "q string") if text else SCHEMA
    existing, new = (
        spark.createDataFrame([(*row[:3], str(row[3]) if text else row[3]) for row in rows], kind)
        for rows in (EXISTING, NEW)
    )
    changed = new.select("q", "P", "k", "ts")
    expected = by_hand([tuple(r) for r in existing.collect()], [tuple(r) for r in new.collect()], mode)
    found = dedup_upsert(existing, changed, ["TS", "k"], mode=mode)
    assert found.columns == existing.columns
    assert sorted_rows(found) == expected
    assert sorted_rows(found.where("p > 6")) == [row for row in expected if (row[2] or 0) > 6]
    assert sorted_rows(found.where("k = 'a'")) == [row for row in expected if row[1] == "a"]
    assert sorted_rows(found.select("k")) == sorted(((row[1],) for row in expected), key=repr)


@pytest.mark.parametrize(("mode", "prices"), [("upsert", [3.0, 9.0]), ("skip", [2.0, 8.0])])
def test_columns_give_the_order_of_new_rows(spark: SparkSession, mode: Any, prices: list[float]) -> None:
    """[QDB-FN-7], [QDB-FN-8]: nulls are first."""
    values = [(1, "a", 1.0 * (i % 4), i % 4) for i in range(2, 20)] + [(2, "b", 9.0, 1), (2, "b", 8.0, None)]
    new = spark.createDataFrame(values, SCHEMA).where("p > 1").repartition(3, "p")
    for order in ("q", ["q", "p"]):
        found = dedup_upsert(new.limit(0), new, ["ts", "k"], mode=mode, order=order)
        assert [row.p for row in found.sort("ts").collect()] == prices


@pytest.mark.parametrize("mode", ["upsert", "skip"])
def test_any_of_equal_rows_is_a_whole_row(spark: SparkSession, mode: Any) -> None:
    """[QDB-FN-7]."""
    new = spark.createDataFrame([(i % 3, "a", float(i), i) for i in range(300)], SCHEMA).repartition(4)
    found = dedup_upsert(new.limit(0), new, ["ts"], mode=mode, order=()).collect()
    assert sorted(row.ts for row in found) == [0, 1, 2]
    assert all(row.p == row.q and row.q % 3 == row.ts for row in found)


def test_every_column_can_be_a_key(spark: SparkSession) -> None:
    """[QDB-FN-6]."""
    existing, new = (spark.createDataFrame(rows, SCHEMA).select("ts", "k") for rows in (EXISTING, NEW))
    expected = by_hand([row[:2] for row in EXISTING], [row[:2] for row in NEW], "upsert")
    assert sorted_rows(dedup_upsert(existing, new, ["ts", "k"])) == expected


def test_both_frames_are_read_once(spark: SparkSession) -> None:
    """[QDB-FN-8]: new rows that differ in each read still give the rows of one read."""
    existing = spark.range(1000).selectExpr("id", "-1.0D as p")
    new = spark.range(1000).selectExpr("id", "rand() as p").where("p < 0.5")
    plan = dedup_upsert(existing, new, "id")._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Range (") == 2
    for mode in ("upsert", "skip"):
        assert dedup_upsert(existing, new, "id", mode=mode).select("id").distinct().count() == 1000


def changed(**columns: str) -> Callable[[DataFrame], DataFrame]:
    return lambda df: df.withColumns({name: F.expr(value) for name, value in columns.items()})


@pytest.mark.parametrize(
    ("change", "arguments", "error", "message"),
    [
        (changed(), {"keys": []}, PredicateError, "there are no keys"),
        (changed(), {"keys": "nope"}, PredicateError, "no column with this name.*where: keys; found: nope"),
        (changed(), {"keys": "m"}, UnsupportedTypeError, "cannot be compared.*where: keys, column m"),
        (changed(), {"order": "m"}, UnsupportedTypeError, "where: order, column m"),
        (changed(), {"order": "nope"}, PredicateError, "where: order; found: nope"),
        (changed(), {"mode": "merge"}, PredicateError, "mode does not exist.*'merge'; expected: 'upsert' or 'skip'"),
        (changed(z="1"), {}, DatasetError, "other columns than the existing.*found: ts, k, p, q, m, z; expected"),
        (lambda df: df.drop("q"), {}, DatasetError, "other columns.*null for those that are absent"),
        (lambda df: df.withColumnRenamed("q", "r"), {}, PredicateError, "no column.*where: new; found: q"),
        (changed(q="1"), {}, None, ""),
        (
            changed(q="1L"),
            {},
            DatasetError,
            "another type.*column q; found: bigint; expected: int.*cast",
        ),
    ],
)
def test_wrong_arguments(
    spark: SparkSession, change: Callable[[DataFrame], DataFrame], arguments: dict[str, Any],
    error: type[XskipError] | None, message: str,
) -> None:  # fmt: skip
    """[QDB-FN-9]."""
    existing = spark.createDataFrame(EXISTING, SCHEMA).withColumn("m", F.expr("map('a', 1)"))
    given = {"keys": ["ts", "k"], **arguments}
    if error is None:
        assert dedup_upsert(existing, change(existing), **given).count() == len(EXISTING)
        return
    with pytest.raises(error, match=message):
        dedup_upsert(existing, change(existing), **given)


def test_streams_are_refused(spark: SparkSession) -> None:
    """[QDB-FN-9]."""
    stream = spark.readStream.format("rate").load()
    table = spark.createDataFrame([], stream.schema)
    for first, second, where in ((stream, table, "existing"), (table, stream, "new")):
        with pytest.raises(DatasetError, match=f"where: {where}; found: a streaming DataFrame"):
            dedup_upsert(first, second, "value")
