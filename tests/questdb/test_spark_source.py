"""Tables that Spark reads, compared with the Arrow tables of the same files."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DecimalType, DoubleType, LongType, StringType, TimestampType

import xskip
from tests.pages import blocks_of
from tests.questdb.copies import copy_table
from tests.questdb.server import Server
from tests.questdb.spark_values import arrow_rows, bytes_read, check_spark, compare_rows, load, spark_rows
from tests.questdb.tables import create_numbers, create_with_all_types
from xskip.errors import DatasetError
from xskip.questdb.table import open_table

#: A table from which partitions are missing.
MISSING = "t_col_top_день_missing_parts"


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


def convert(server: Server, name: str) -> None:
    server.run(name, f"alter table {name} convert partition to parquet where ts < '1970-01-02'")


def test_the_database_of_files(spark: SparkSession, files: Path) -> None:
    """[QDB-SP-1]: tables of all units but WEEK, with column tops and rows that came late."""
    tables = [path.parent for path in sorted(files.glob("*/_txn")) if path.parent.name != MISSING]
    assert len(tables) > 10
    for table in tables:
        check_spark(spark, table)


def test_every_type(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-2]."""
    name = server.name("all_types")
    create_with_all_types(server, name, rows=150)
    df = check_spark(spark, server.folder(name))
    types = {field.name: field.dataType for field in df.schema}
    assert (types["d"], types["t"], types["tn"]) == (TimestampType(), TimestampType(), LongType())
    assert {types[n] for n in ("ch", "sy", "l256", "g59", "u", "ip", "v", "s")} == {StringType()}
    assert types["a3"] == ArrayType(ArrayType(ArrayType(DoubleType())))
    assert all(field.nullable for field in df.schema)


def test_decimals(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-2]: decimals with more digits than Spark's are text."""
    name = server.name("decimals")
    kinds = {"d2": (2, 1), "d4": (4, 2), "d9": (9, 3), "d18": (18, 6), "d38": (38, 10), "d76": (76, 20)}
    declared = ", ".join(f"{n} decimal({p}, {s})" for n, (p, s) in kinds.items())
    server.exec(f"create table {name} ({declared}, ts timestamp) timestamp(ts) partition by day wal")
    row = ", ".join(f"{value}::decimal({p}, {s})" for value, (p, s) in zip(
        ("-1.5m", "12.25m", "123456.789m", "-123456789012.5m", "12345678901234567890.5m", "-1234567890123456789012.5m"),
        kinds.values(), strict=True,
    ))  # fmt: skip
    server.run(name, f"insert into {name} select {row}, 0::timestamp from long_sequence(1)",
               f"insert into {name} (ts) values (1)")  # fmt: skip
    df = check_spark(spark, server.folder(name))
    assert [df.schema[n].dataType for n in kinds] == [
        *(DecimalType(p, s) for p, s in kinds.values() if p <= 38), StringType(),
    ]  # fmt: skip


def test_parquet_partitions(spark: SparkSession, each_server: Server) -> None:
    """[QDB-SP-1], [QDB-PQ-1], [QDB-PQ-3], [QDB-PQ-9]: native and Parquet partitions in one read, with all types."""
    server = each_server
    name = server.name("mixed")
    create_with_all_types(server, name, rows=150)
    server.run(name, f"insert into {name} (ts, dbl, f) values (5, cast('Infinity' as double), 1.5)")
    convert(server, name)
    df = check_spark(spark, server.folder(name))
    assert sorted(path.endswith("/data.parquet") for path in df.inputFiles()) == [False, True]


def test_parquet_partitions_that_change(spark: SparkSession, server: Server) -> None:
    """[QDB-PQ-2], [QDB-PQ-4]: rows that come late are appended to the file, and columns are found by their numbers."""
    name = server.name("late")
    columns = "x int, y short, s symbol, c char, b boolean, ts timestamp"
    server.exec(f"create table {name} ({columns}) timestamp(ts) partition by day wal")
    values = "x::int, x::short, rnd_symbol('a', 'b', null), rnd_char(), true, (x * 3600000000L)::timestamp"
    server.run(name, f"insert into {name} select {values} from long_sequence(40)")
    convert(server, name)
    server.run(name, f"insert into {name} select {values} from long_sequence(10)")
    check_spark(spark, server.folder(name))
    server.run(name, f"alter table {name} add column later symbol", f"alter table {name} rename column s to other")
    server.run(name, f"insert into {name} (x, later, other, ts) values (4, 'x', 'b', '1970-01-03')")
    check_spark(spark, server.folder(name))


def with_changed_type(server: Server, kind: str, folder: Path) -> Path:
    """Return a copy of a table with a Parquet partition, in which the type of the first column was changed since.

    9.3.0 refuses the change while there are Parquet partitions, newer servers do not: the copy has the ``_meta`` of
    another table.
    """
    name, other = server.name("then"), server.name("now")
    for table in (name, other):
        server.exec(f"create table {table} (x int, ts timestamp) timestamp(ts) partition by day wal")
    server.run(name, f"insert into {name} select x::int, (x * 3600000000L)::timestamp from long_sequence(40)")
    convert(server, name)
    server.run(other, f"alter table {other} alter column x type {kind}")
    copy = copy_table(server.folder(name), folder / name)
    meta = bytearray((server.folder(other) / "_meta").read_bytes())
    meta[32:40] = (copy / "_meta").read_bytes()[32:40]
    (copy / "_meta").write_bytes(meta)
    return copy


@pytest.mark.parametrize("kind", ["long", "double"])
def test_changes_of_types(spark: SparkSession, server: Server, tmp_path: Path, kind: str) -> None:
    """[QDB-PQ-6]: a Parquet partition has a former type of a column."""
    df = load(spark, with_changed_type(server, kind, tmp_path)).filter("ts < '1970-01-02'")
    assert sorted(row.x for row in df.collect()) == list(range(1, 24))


def test_a_change_of_type_that_may_lose_values(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """[QDB-PQ-6], [QDB-SP-4]: no setting lets Spark leave out the partition."""
    df = load(spark, with_changed_type(server, "float", tmp_path)).filter("ts < '1970-01-02'")
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        with pytest.raises(Exception, match=r"had the type INT .* no exact form in FLOAT"):
            df.collect()
        assert df.count() == 23
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


CONDITIONS = (
    "ts >= '1970-01-02T03:00:00Z'",
    "ts > '1970-01-02T03:00:00Z'",
    "ts < '1970-01-02T03:30:00Z'",
    "ts <= '1970-01-02T03:00:00Z'",
    "ts = '1970-01-02T03:00:00Z'",
    "ts BETWEEN '1970-01-01T23:59:59Z' AND '1970-01-02'",
    "ts IN ('1970-01-02T03:00:00Z', '1970-01-03T07:30:00Z')",
    "ts < '1970-01-01T02:00:00Z' OR ts > '1970-01-04T23:00:00Z'",
    "ts > '1970-01-02T12:00:00Z' AND x % 7 = 3",
    "NOT (ts > '1970-01-02T12:00:00Z')",
    "ts > '1971-01-01'",
    "ts IS NULL",
)


@pytest.mark.parametrize("unit", ["hour", "day", "week", "month", "year", "none"])
def test_ranges_of_time(spark: SparkSession, server: Server, unit: str) -> None:
    """[QDB-SP-5]: bounds between and within pieces, in all units."""
    name = server.name("ranges")
    wal = "" if unit == "none" else "wal"
    server.exec(f"create table {name} (x long, ts timestamp) timestamp(ts) partition by {unit} {wal}")
    server.run(name, f"insert into {name} select x, (x * 1800000000L)::timestamp from long_sequence(200)")
    folder = server.folder(name)
    df = load(spark, folder)
    every = spark.createDataFrame(arrow_rows(open_table(folder).to_arrow()), "x BIGINT, micros BIGINT")
    every = every.withColumn("ts", F.timestamp_micros("micros"))
    (expected,) = every.agg(*(F.count_if(F.expr(condition)).alias(condition) for condition in CONDITIONS)).collect()
    counts = [df.filter(condition).select(F.lit(i)) for i, condition in enumerate(CONDITIONS)]
    found = Counter(row[0] for row in reduce(DataFrame.unionAll, counts).collect())
    assert [found[i] for i in range(len(CONDITIONS))] == list(expected)
    assert df.filter(CONDITIONS[0]).count() == expected[0]


def test_a_range_in_nanoseconds(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-2], [QDB-SP-5]: the designated timestamp is a number of nanoseconds."""
    name = server.name("nanos")
    server.exec(f"create table {name} (x long, ts timestamp_ns) timestamp(ts) partition by day wal")
    server.run(name, f"insert into {name} select x, (x * 3600000000001L)::timestamp_ns from long_sequence(100)")
    df = check_spark(spark, server.folder(name))
    assert df.filter("ts >= 180000000000050 AND ts < 216000000000060").count() == 10


def test_the_greatest_time(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-5], [QDB-RD-2]: a table without partitions takes nanoseconds up to the greatest number."""
    name, greatest = server.name("greatest"), 2**63 - 1
    server.exec(f"create table {name} (x long, ts timestamp_ns) timestamp(ts) partition by none bypass wal")
    server.exec(f"insert into {name} values (1, 0), (2, {greatest - 1}L::timestamp_ns), (3, {greatest}L::timestamp_ns)")
    df, table = load(spark, server.database / name), open_table(server.database / name)
    for condition, expected in [
        (f"ts = {greatest}", [3]), (f"ts >= {greatest}", [3]), (f"ts > {greatest - 1}", [3]), (f"ts > {greatest}", []),
        (f"ts IN (0, {greatest})", [1, 3]), (f"ts < {greatest}", [1, 2]), (f"ts <= {greatest}", [1, 2, 3]),
    ]:  # fmt: skip
        assert sorted(row.x for row in df.filter(condition).collect()) == expected, condition
    assert table.to_arrow("x", greatest)["x"].to_pylist() == [3]
    assert table.to_arrow("x", greatest - 1, greatest)["x"].to_pylist() == [2]
    assert table.count(greatest, greatest + 1) == 1


def test_pieces_and_bytes_outside_of_a_range_are_not_read(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-5], [QDB-RD-3]: an hour in 90 days reads one piece, and of it the columns and rows of the hour."""
    name = server.name("bytes")
    server.exec(f"create table {name} (a long, b double, c long, ts timestamp) timestamp(ts) partition by day wal")
    server.run(name, f"insert into {name} select x, x, x, (x * 60000000L)::timestamp from long_sequence(129600)")
    df = load(spark, server.folder(name)).filter("ts >= '1970-02-01' AND ts < '1970-02-01T01:00:00Z'").select("b", "ts")
    scan = df._jdf.queryExecution().executedPlan()
    assert df.count() == 60
    rows = df.collect()
    assert len(rows) == 60
    leaves = scan.collectLeaves()
    metrics = leaves.head().metrics()
    assert metrics.apply("numFiles").value() == 1
    assert 60 * 16 <= bytes_read(spark, df) < 60 * 16 + 1000  # the search for the first and the last row
    table = load(spark, server.folder(name))
    for columns in (["a"], ["b", "ts"], ["a", "b", "c"]):
        assert bytes_read(spark, table.select(columns)) == 129_600 * 8 * len(columns)


def test_one_transaction_in_all_scans_of_a_query(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-3]: a query reads the last transaction at its start, and the plan names it."""
    name = server.name("txn")
    server.exec(f"create table {name} (x long, ts timestamp) timestamp(ts) partition by day wal")
    server.run(name, f"insert into {name} select x, (x * 1000000000L)::timestamp from long_sequence(100)")
    df = load(spark, server.folder(name))
    assert df.count() == 100
    server.run(name, f"insert into {name} select x, (x * 1000000000L)::timestamp from long_sequence(100)")
    assert df.count() == 200
    assert df.alias("a").join(df.alias("b"), "ts").count() == 400
    txn = open_table(server.folder(name)).snapshot().txn
    assert f"questdb, transaction {txn}" in load(spark, server.folder(name))._jdf.queryExecution().toString()


def test_views_and_sql(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-1]."""
    name = create_numbers(server, "view", rows=100)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW qdb USING questdb OPTIONS (path '{server.folder(name)}')")
    assert spark.sql("SELECT sum(x) FROM qdb WHERE x > 50").first() == (sum(range(51, 101)),)
    try:
        spark.sql(f"CREATE TABLE in_catalog USING questdb OPTIONS (path '{server.folder(name)}')")
        assert spark.table("in_catalog").filter("x <= 7").count() == 7
    finally:
        spark.sql("DROP TABLE IF EXISTS in_catalog")
    assert server.folder(name).exists()
    by_name = load(spark, server.database / name)
    assert by_name.count() == 100
    assert spark.read.format("questdb").load(f"file://{server.folder(name)}").count() == 100


def test_paths_with_characters_that_mean_something_in_a_uri(
    spark: SparkSession, server: Server, tmp_path: Path
) -> None:
    """[QDB-SP-1]: Spark's paths are decoded, those of its catalog too."""
    name = create_numbers(server, "escaped")
    for folder in ("50%41", "a #1", "a?b", "a%20b", "é+&"):
        copy = copy_table(server.folder(name), tmp_path / folder)
        spark.sql(f"CREATE TABLE of_uri USING questdb OPTIONS (path '{copy}')")
        try:
            assert spark.table("of_uri").filter("x <= 7").count() == 7, folder
        finally:
            spark.sql("DROP TABLE of_uri")
        loaded = [spark.read.format("questdb").load(f"{scheme}{copy}") for scheme in ("", "file:", "file://")]
        counts = [df.agg(F.count("*")) for df in loaded]
        assert [row[0] for row in reduce(DataFrame.unionAll, counts).collect()] == [500] * 3, folder
        index = xskip.SkippingIndex.for_path(spark, str(copy), format="questdb")
        index.create([xskip.MinMax("x")])
        assert load(spark, copy).filter("x = 7").count() == 1
        assert xskip.last_report(spark).scans[0].skipped == 5, folder


def test_rows_for_plans_without_batches(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-1]: Spark takes rows where it compiles no code."""
    name = server.name("rows")
    create_with_all_types(server, name, rows=20)
    expected = open_table(server.folder(name)).to_arrow()
    try:
        spark.conf.set("spark.sql.codegen.wholeStage", "false")
        compare_rows(load(spark, server.folder(name)), expected)
    finally:
        spark.conf.unset("spark.sql.codegen.wholeStage")
    assert len(spark_rows(load(spark, server.folder(name)).limit(3))) == 3


@pytest.mark.parametrize(("path", "options", "message"), [
    ("{db}/no_such_table", {}, "there is no such table"),
    ("s3a://bucket/db/t", {}, "only from a local or shared file system"),
    ("hdfs:///db/t", {}, "only from a local or shared file system"),
    ("{db}/x", {"mode": "fast"}, "no option mode"),
    ("{db}/x", {"frozen": "yes"}, "is yes, and not true or false"),
])  # fmt: skip
def test_errors(spark: SparkSession, server: Server, path: str, options: dict[str, str], message: str) -> None:
    """[QDB-SP-1]."""
    with pytest.raises(Exception, match=message):
        spark.read.format("questdb").options(**options).load(path.format(db=server.database))


@pytest.mark.parametrize("format", ["questdb", "QuestDB"])
def test_a_name_of_the_format_in_any_case(spark: SparkSession, server: Server, format: str) -> None:  # noqa: A002
    """[QDB-SP-1]: Spark compares the names of its own formats without regard to case, too."""
    name = create_numbers(server, "written")
    path = str(server.folder(name))
    df = spark.read.format(format).load(path)
    assert df.count() == 500
    index = xskip.SkippingIndex.for_path(spark, path, format=format)
    index.create([xskip.MinMax("x")])
    assert df.filter("x = 7").count() == 1
    assert xskip.last_report(spark).scans[0].skipped == 5
    for mode in ("error", "append", "overwrite"):
        with pytest.raises(Exception, match="Spark cannot write to a table of QuestDB on disk; send the rows"):
            df.limit(1).write.format(format).mode(mode).save(path)
    with pytest.raises(Exception, match="Spark cannot write to a table of QuestDB on disk; send the rows"):
        spark.sql(f"CREATE TABLE selected USING {format} AS SELECT 1 AS x")
    assert load(spark, server.folder(name)).count() == 500


def test_a_table_without_partitions_of_its_transaction(spark: SparkSession, files: Path) -> None:
    """[QDB-SN-8]."""
    with pytest.raises(Exception, match="does not exist"):
        load(spark, files / MISSING).count()


def test_an_index_on_native_columns(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-6], [QDB-SP-7]: an append makes only its own partition new, and nothing is written below ``db``."""
    name = server.name("indexed")
    columns = "x long, s symbol, u uuid, ts timestamp"
    server.exec(f"create table {name} ({columns}) timestamp(ts) partition by day wal")
    values = "x, 'k' || (x / 100), rnd_uuid4(), (x * 864000000L)::timestamp"
    server.run(name, f"insert into {name} select {values} from long_sequence(1000)")
    folder = server.folder(name)
    before = sorted(path.name for path in folder.iterdir())
    index = xskip.SkippingIndex.for_path(spark, str(folder), format="questdb")
    assert index.create([xskip.MinMax("x"), xskip.ValueList("s"), xskip.BloomFilter("u", fpp=1e-9)]).added == 11
    assert sorted(path.name for path in folder.iterdir()) == before
    assert folder.name in [path.name for path in (server.root / "xskip").iterdir()]
    df = load(spark, folder)
    for condition, skipped in (("x = 250", 10), ("s = 'k4'", 10), ("s = 'none'", 11), ("x > 500 AND s < 'k2'", 10)):
        expected = [tuple(row) for row in df.collect() if spark_filter(row, condition)]
        assert sorted(tuple(row) for row in df.filter(condition).collect()) == sorted(expected)
        assert xskip.last_report(spark).scans[0].skipped == skipped, condition
    u = df.filter("x = 777").first().u  # type: ignore[union-attr]
    assert df.filter(f"u = '{u}'").count() == 1
    assert xskip.last_report(spark).scans[0].skipped == 10
    server.run(name, f"insert into {name} select {values.replace('x *', '5 + x *')} from long_sequence(150)")
    assert df.filter("x = 100").count() == 2
    result = index.refresh()
    assert (result.added, result.unchanged) == (2, 9)
    server.run(name, f"alter table {name} add column later int")
    assert index.refresh().added == 1  # the column begins in the last piece


def test_an_index_without_spark(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """[QDB-SP-6]: wherever the index is, its pieces are no files that other engines could read."""
    name = create_numbers(server, "opened")
    for folder in (server.folder(name), copy_table(server.folder(name), tmp_path / name)):
        xskip.SkippingIndex.for_path(spark, str(folder), format="questdb").create([xskip.MinMax("x")])
        with pytest.raises(DatasetError, match=r"only Spark uses an index of a table of QuestDB.*xskip\.questdb\.open"):
            xskip.open_index(str(folder))


def test_hidden_columns(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-6]: digests are times that Python and pandas have."""
    name = create_numbers(server, "hidden", rows=5999)
    rows = load(spark, server.folder(name)).select("_metadata.*").distinct()
    found = rows.collect()
    assert len(found) == 60
    assert len({row.file_modification_time for row in found}) == 60
    assert all(datetime(1970, 1, 1) < row.file_modification_time < datetime(2249, 1, 1) for row in found)
    assert {row.file_path for row in found} == set(load(spark, server.folder(name)).inputFiles())
    assert len(rows.toPandas()) == 60


def test_the_location_of_indexes_that_a_setting_names(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """[QDB-SP-7]: an index there replaces no listing either."""
    name = create_numbers(server, "located")
    folder = server.folder(name)
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path))
    try:
        index = xskip.SkippingIndex.for_path(spark, str(folder), format="questdb")
        index.create([xskip.MinMax("x")])
        assert len(list(tmp_path.iterdir())) == 1
        assert load(spark, folder).filter("x = 7").count() == 1
        assert xskip.last_report(spark).scans[0].skipped == 5
        with pytest.raises(xskip.XskipError, match="omit trust_listing"):
            index.read(trust_listing=True)
        with pytest.raises(xskip.XskipError, match="omit trust_listing"):
            index.refresh(trust_listing=True)
        index.drop()
    finally:
        spark.conf.unset("spark.xskip.metadata.location")
    assert load(spark, folder).filter("x = 7").count() == 1


def spark_filter(row: Any, condition: str) -> bool:
    return bool(eval(condition.replace(" = ", " == ").replace("AND", "and"), {"x": row.x, "s": row.s}))


def test_symbols_of_filters_are_looked_up(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-8]: an unknown symbol reads no column, and one in a few rows only their batches."""
    name = server.name("symbols")
    columns = ", ".join(f"d{i} double" for i in range(8))
    server.exec(f"create table {name} (s symbol, {columns}, ts timestamp) timestamp(ts) partition by year wal")
    symbol = "case when x = 150000 then 'rare' when x % 3 = 0 then null else 'k' || (x % 5) end"
    doubles = ", ".join(["x / 7.0"] * 8)
    server.run(
        name, f"insert into {name} select {symbol}, {doubles}, (x * 1000000)::timestamp from long_sequence(200000)"
    )
    df = load(spark, server.folder(name))
    sums = [F.sum(f"d{i}") for i in range(8)]

    def read(condition: str) -> int:
        return bytes_read(spark, df.filter(condition).agg(F.count("*"), *sums))

    everything, rare, unknown = read("s = 'k1'"), read("s IN ('rare', 'other')"), read("s = 'other'")
    assert rare < everything / 2
    assert unknown < 20_000
    counts = {row.s: row["count"] for row in df.groupBy("s").count().collect()}
    for value in ("k1", "rare", "other", "k4"):
        assert df.filter(F.col("s") == value).count() == counts.get(value, 0)
    assert df.filter("s IS NULL").count() == counts[None]
    assert df.filter("s = 'k1' AND ts < '1970-01-02' OR s = 'rare'").count() > 1
    assert df.filter("s <=> NULL").count() == counts[None]
    assert df.filter("s != 'rare'").count() == sum(n for s, n in counts.items() if s not in (None, "rare"))


def test_the_blocks_of_the_page_run(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """[QDB-SP-1], [QDB-DB-2], [QDB-RD-2], [QDB-CT-1], [QDB-CT-5]."""
    server.exec("create table trades (ts timestamp, price double, sym symbol) timestamp(ts) partition by day wal")
    server.run(
        "trades", "insert into trades select dateadd('m', x::int, '2026-01-31'), x, 'a' from long_sequence(1400)"
    )
    names: dict[str, Any] = {"spark": spark, "xskip": xskip, "MinMax": xskip.MinMax, "ValueList": xskip.ValueList}
    page = Path(__file__).parents[2] / "docs" / "how-to" / "questdb.rst"
    for code in blocks_of(page, "python"):
        here = code.replace("/root/.questdb", str(server.root)).replace("s3a://archive", str(tmp_path))
        exec(compile(here, page.name, "exec"), names)
    assert names["index"].status().indexed == 1
    assert names["hour"]["price"].to_pylist() == list(range(540, 600))
    assert "trades" in [table.name for table in names["tables"]]
    assert names["result"].rows == names["trades"].count() == 1400
