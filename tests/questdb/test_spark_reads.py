"""The bytes that Spark's tasks read of a table's files, the number of these reads, and the files that they refuse."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.questdb.copies import copy_table
from tests.questdb.damages import DAMAGES, create
from tests.questdb.server import Server
from tests.questdb.sidecars import SidecarFile
from tests.questdb.spark_values import bytes_read, load
from tests.questdb.tables import create_numbers


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


def sizes(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern))


def test_the_plan_and_its_tasks(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-1], [QDB-SP-3]: it has the columns and filters of the query; many tasks read the rows of a piece."""
    columns = "x long, ts timestamp, a timestamp, b timestamp"
    folder = server.folder(create_numbers(server, "plan", rows=3000, columns=columns))
    df = load(spark, folder).where("x > 2900 AND ts >= '1970-01-02'").select("a")
    plan = df._jdf.queryExecution().executedPlan().toString()
    assert "questdb, transaction 1" in plan
    assert "ReadSchema: struct<x:bigint,ts:timestamp,a:timestamp>" in plan
    assert "GreaterThan(x,2900)" in plan
    assert "GreaterThanOrEqual(ts," in plan
    assert 0 < df.rdd.getNumPartitions() < 30
    settings = {"spark.sql.files.maxPartitionBytes": "1000", "spark.sql.files.openCostInBytes": "1"}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        assert load(spark, folder).rdd.getNumPartitions() > 3 * 31
        assert load(spark, folder).agg(F.count("*"), F.sum("x")).first() == (3000, 3000 * 3001 // 2)
    finally:
        for key in settings:
            spark.conf.unset(key)


@pytest.mark.parametrize("kind", ["varchar", "string", "binary", "double[]"])
def test_entries_of_values_are_read_once(spark: SparkSession, server: Server, kind: str) -> None:
    """[QDB-RD-3]."""
    name = server.name("once")
    server.exec(f"create table {name} (v {kind}, ts timestamp) timestamp(ts) partition by year wal")
    value = {
        "varchar": "rnd_varchar(1, 20, 2)", "string": "rnd_str(1, 20, 2)", "binary": "rnd_bin(1, 20, 2)",
        "double[]": "rnd_double_array(1, 2, 0, 9)",
    }[kind]  # fmt: skip
    rows = 200_000
    server.run(name, f"insert into {name} select {value}, x::timestamp from long_sequence({rows})")
    df = load(spark, server.folder(name)).agg(F.count("v"))
    entry = 8 if kind in ("string", "binary") else 16
    assert bytes_read(spark, df) < sizes(server.folder(name), "*/v.d") + 1.5 * entry * rows


def with_symbols(server: Server, symbols: int) -> Path:
    """Return a table of five partitions, each of which has a fifth of the symbols."""
    name = server.name("symbols")
    server.exec(f"create table {name} (s symbol capacity 524288, ts timestamp) timestamp(ts) partition by day wal")
    server.run(
        name, f"insert into {name} select 'k' || x, (x * {5 * 86_400_000_000 // symbols})::timestamp"
        f" from long_sequence({symbols})",
    )  # fmt: skip
    return server.folder(name)


@pytest.mark.parametrize("symbols", [5_000, 300_000])
def test_symbols_are_read_once(spark: SparkSession, server: Server, symbols: int) -> None:
    """[QDB-SP-8]: also many symbols, and those for filters that match no row."""
    folder = with_symbols(server, symbols)
    df, content = load(spark, folder), sizes(folder, "s.c")
    assert df.filter("s = 'k7'").count() == 1
    assert bytes_read(spark, df.filter("s = 'k7'")) < content / 2 + 4 * symbols
    unknown = df.filter("s = 'none'")
    assert bytes_read(spark, unknown) < content / 2
    restored(folder, in_place=False)
    assert bytes_read(spark, unknown) > content
    assert bytes_read(spark, unknown) < content / 2


def restored(folder: Path, *, in_place: bool) -> None:
    """Give the symbols other values of the same sizes, as in a copy that takes the place of a table."""
    path = folder / "s.c"
    content = path.read_bytes().replace("k".encode("utf-16-le"), "é".encode("utf-16-le"))
    stat = path.stat()
    if not in_place:
        path.unlink()
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("in_place", [True, False])
def test_symbols_of_a_copy_in_the_same_place(
    spark: SparkSession, server: Server, tmp_path: Path, in_place: bool
) -> None:
    """[QDB-SP-8]: the numbers of the table are those of the one that was there before."""
    copy = copy_table(with_symbols(server, 10), tmp_path / "copy")
    df = load(spark, copy)
    assert df.filter("s = 'k7'").count() == 1
    restored(copy, in_place=in_place)
    assert df.filter("s = 'é7'").count() == 1
    assert sorted(row.s for row in df.collect()) == sorted(f"é{i}" for i in range(1, 11))


@pytest.fixture(scope="module")
def original(server: Server) -> Path:
    return server.folder(create(server))


@pytest.mark.parametrize("damage", sorted(DAMAGES.keys() - {"an unknown type"}))
def test_damaged_tables_are_errors(spark: SparkSession, original: Path, tmp_path: Path, damage: str) -> None:
    """[QDB-SN-8], [QDB-TY-4]: and never other rows. A column of an unknown type is left out [QDB-SP-2]."""
    folder = copy_table(original, tmp_path / "damaged")
    action, _, message = DAMAGES[damage]
    action(folder)
    with pytest.raises(Exception, match=f"(?s)xskip cannot read|does not exist.*CHECKPOINT|{message}"):
        load(spark, folder).collect()


@pytest.mark.parametrize("value", ["a", "a text that is not in its entry"])
@pytest.mark.parametrize("kind", ["varchar", "string", "symbol"])
def test_text_that_is_not_utf8(spark: SparkSession, server: Server, tmp_path: Path, kind: str, value: str) -> None:
    """[QDB-TY-4]: also in the entries of short values, and in Parquet partitions."""
    name = server.name("text")
    server.exec(f"create table {name} (v {kind}, b binary, ts timestamp) timestamp(ts) partition by day wal")
    for day in (0, 1):
        server.run(name, f"insert into {name} select '~{value}', rnd_bin(5, 9, 0), {day * 86_400_000_000}::timestamp")
    server.run(name, f"alter table {name} convert partition to parquet where ts < '1970-01-02'")
    folder = copy_table(server.folder(name), tmp_path / "text")
    before = load(spark, folder).collect()
    assert [row.v for row in before] == [f"~{value}"] * 2
    (parquet,) = folder.glob("*/data.parquet")
    replace(parquet, b"~" + value.encode())
    with pytest.raises(Exception, match=r"data\.parquet: .*not UTF-8"):
        load(spark, folder).filter("ts < '1970-01-02'").collect()
    assert load(spark, folder).agg(F.count("b")).first() == (2,)
    if kind == "varchar":
        for path in folder.glob("1970-01-02*/v.[di]"):
            replace(path, b"~" + value.encode())
        with pytest.raises(Exception, match="not UTF-8"):
            load(spark, folder).filter("ts >= '1970-01-02'").collect()


def replace(path: Path, text: bytes) -> None:
    """Replace the first byte of each copy of a text by one that UTF-8 does not have."""
    path.write_bytes(path.read_bytes().replace(text, b"\xff" + text[1:]))


def sidecar(size: int, **features: int) -> bytes:
    """Return a sidecar with a version before and after that of a size of ``data.parquet``."""
    file = SidecarFile([("x", 0, 6), ("ts", 1, 8)], 1, features.get("header", 0))
    for each in (size - 500, size, size + 500):
        file.version(each, [(23, [None, None])], features=features.get("footer", 0))
    return bytes(file.data)


def with_sidecar(server: Server, folder: Path, **features: int) -> Path:
    """Return a copy of a table whose first partition is Parquet with a sidecar, as newer servers write it."""
    name = server.name("sidecar")
    server.exec(f"create table {name} (x long, ts timestamp) timestamp(ts) partition by day wal")
    server.run(name, f"insert into {name} select x, (x * 3600000000L)::timestamp from long_sequence(40)")
    server.run(name, f"alter table {name} convert partition to parquet where ts < '1970-01-02'")
    copy = copy_table(server.folder(name), folder / name)
    (parquet,) = copy.glob("*/data.parquet")
    parquet.with_name("_pm").write_bytes(sidecar(parquet.stat().st_size, **features))
    return copy


def test_sidecars_of_parquet_partitions(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """[QDB-PM-1], [QDB-PM-2]: later bytes do not count; another byte, or no end, is an error."""
    folder = with_sidecar(server, tmp_path)
    (path,) = folder.glob("*/_pm")
    plain = path.read_bytes()
    early = load(spark, folder).filter("ts < '1970-01-02'")
    path.write_bytes(plain + b"\xff" * 77)
    assert early.count() == 23
    for place in (0, 7, 8, 16, len(plain) // 2, len(plain) - 60, len(plain) - 6, len(plain) - 1):
        path.write_bytes(plain[:place] + bytes([plain[place] ^ 0x41]) + plain[place + 1 :])
        with pytest.raises(Exception, match=r"xskip cannot read .*_pm"):
            early.count()
        path.write_bytes(plain[:place])
        with pytest.raises(Exception, match=r"xskip cannot read .*_pm"):
            early.count()
    path.write_bytes(sidecar(12_345))
    with pytest.raises(Exception, match="_pm: it has no footer for"):
        early.count()


@pytest.mark.parametrize(("features", "known"), [
    ({"header": 1 << 31, "footer": 1 << 31}, True),
    ({"footer": 1 << 32}, True),
    ({"header": 1 << 32}, False),
    ({"footer": 1 << 63}, False),
])  # fmt: skip
def test_features_of_sidecars(
    spark: SparkSession, server: Server, tmp_path: Path, features: dict[str, int], known: bool
) -> None:
    """[QDB-PM-3]."""
    df = load(spark, with_sidecar(server, tmp_path, **features))
    if known:
        assert df.agg(F.sum("x")).first() == (sum(range(1, 41)),)
    else:
        with pytest.raises(Exception, match=r"_pm: it requires features .* convert the partition to native"):
            df.collect()


@pytest.fixture(scope="module")
def month(server: Server) -> Path:
    return server.folder(create_numbers(server, "month", rows=3000))


@pytest.mark.parametrize(("condition", "files", "rows"), [
    (f"ts IN ({', '.join(f'timestamp_micros({int(x * 864_000_000)})' for x in (110, 1930, 1930.5))})", 2, 2),
    ("ts < '1970-01-01T02:24:00Z' OR ts = '1970-01-09T02:24:00Z' OR ts >= '1970-01-30T21:36:00Z'", 4, 21),
    ("(ts < '1970-01-03' OR ts >= '1970-01-28') AND (ts < '1970-01-02' OR ts >= '1970-01-30T12:00:00Z')", 3, 150),
    ("ts IN (timestamp_micros(345600000000), timestamp_micros(432000000000)) AND ts > '1970-01-05'", 1, 1),
    ("ts = '1970-01-05' OR x = 7", 31, 2),
    ("ts = '1970-01-05T00:00:01Z'", 1, 0),
])  # fmt: skip
def test_times_that_are_apart(spark: SparkSession, month: Path, condition: str, files: int, rows: int) -> None:
    """[QDB-SP-5]: pieces between the times of a filter are not read."""
    df = load(spark, month).where(condition)
    scan = df._jdf.queryExecution().executedPlan()
    assert len(df.collect()) == rows
    assert scan.collectLeaves().head().metrics().apply("numFiles").value() == files
    if files < 31:
        assert bytes_read(spark, df) < 16 * rows + 500 * files  # the searches for the first and the last row


def test_times_that_are_too_many(spark: SparkSession, month: Path) -> None:
    """[QDB-SP-5]."""
    df = load(spark, month)
    times = df.where("x % 2 = 0").select(F.unix_micros("ts")).collect()
    some = [f"timestamp_micros({row[0]})" for row in times]
    assert df.where(f"ts IN ({', '.join(some)})").count() == 1500
    assert df.where(f"ts IN ({', '.join(some)}) AND ts < '1970-01-03'").count() == 99


def test_a_row_group_is_proved_once(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-4]: not once for each of its batches."""
    name = server.name("proved")
    server.exec(f"create table {name} (x long, ts timestamp) timestamp(ts) partition by year wal")
    server.run(name, f"insert into {name} select x, x::timestamp from long_sequence(3000000)")
    server.run(name, f"insert into {name} values (0, '1971-01-01')")
    server.run(name, f"alter table {name} convert partition to parquet where ts < '1971'")
    df = load(spark, server.folder(name)).filter("ts < '1971'")
    java = spark.sparkContext._gateway.jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]

    def reads() -> int:
        """Return the calls of the system by which Java has read."""
        return int(Path(f"/proc/{java}/io").read_text().split("syscr: ")[1].split()[0])

    found = []
    for _ in range(4):  # the first ones load classes
        before = reads()
        assert df.agg(F.sum("x")).first() == (3_000_000 * 3_000_001 // 2,)
        found.append(reads() - before)
    assert min(found) < 700
