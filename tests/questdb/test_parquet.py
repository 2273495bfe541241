"""Partitions that a server converts to Parquet [QDB-PQ]."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.questdb.server import VERSION, Server
from tests.questdb.tables import create_with_all_types
from tests.questdb.values import check, compare
from xskip.errors import TableDamagedError, UnsupportedTypeError
from xskip.questdb.table import open_table
from xskip.questdb_files.column_types import column_type
from xskip.questdb_files.parquet_partitions import ParquetPartition
from xskip.questdb_files.parquet_values import parquet_values

TRADES = ("symbol", "side", "price", "amount", "timestamp")


def plain(table: pa.Table) -> pa.Table:
    """Return a table with symbols as text, which is equal to another one whatever the dictionaries are."""
    kinds = [pa.utf8() if pa.types.is_dictionary(t) else t for t in table.schema.types]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True)))).combine_chunks()


def read(server: Server, name: str) -> pa.Table:
    server.wait(name)
    table = open_table(server.database / name).to_arrow()
    table.validate(full=True)
    return plain(table)


def stored_array(*elements: float) -> bytes:
    """Return the bytes of an array of one dimension in files of newer servers."""
    return struct.pack(f"<2i{len(elements)}d", len(elements), 0, *elements)


def convert(server: Server, name: str, condition: str = "ts < '1970-01-02'", to: str = "parquet") -> None:
    server.run(name, f"alter table {name} convert partition to {to} where {condition}")


def test_every_type_has_the_values_from_before_the_conversion(each_server: Server) -> None:
    """[QDB-PQ-1], [QDB-PQ-3], [QDB-PQ-9]: 9.3.0 shows null in GEOHASH and IPv4 columns as other values."""
    server = each_server
    name = server.name("parquet")
    create_with_all_types(server, name)
    server.run(
        name, f"insert into {name} (ts, dbl, f) values (5, cast('Infinity' as double), cast('-Infinity' as float))"
    )
    before = plain(check(server, name))
    convert(server, name)
    assert [p.is_parquet for p in open_table(server.database / name).pieces] == [True, False]
    assert read(server, name).equals(before)
    skipped = [f"g{n}" for n in ("1", "7", "8", "3c", "31", "5c", "59", "12c")] + ["ip"]
    shown = [c for c in before.column_names if c not in skipped]
    table = open_table(server.database / name).to_arrow()
    compare(server, table, f"select {', '.join(shown)} from {name}")
    convert(server, name, to="native")
    assert [p.is_parquet for p in open_table(server.database / name).pieces] == [False, False]
    assert read(server, name).select(shown).equals(before.select(shown))
    compare(server, open_table(server.database / name).to_arrow(), f"select {', '.join(shown)} from {name}")


def create_parquet(server: Server) -> str:
    """Create a table with a Parquet partition and a native one, and return its name."""
    name = server.name("mixed")
    server.exec(
        f"create table {name} (x int, y short, s symbol, c char, ts timestamp) timestamp(ts) partition by day wal"
    )
    values = "x::int, x::short, rnd_symbol('a', 'b', null), rnd_char(), (x * 3600000000L)::timestamp"
    server.run(name, f"insert into {name} select {values} from long_sequence(40)")
    convert(server, name)
    return name


def test_rows_that_come_late_are_appended_to_the_file(server: Server) -> None:
    """[QDB-PQ-2]: the file ends where the transaction says, although there are bytes after it."""
    name = create_parquet(server)
    folder = server.folder(name)
    table = open_table(server.database / name)
    first = table.snapshot()
    (file,) = folder.glob("*/data.parquet")
    before = file.read_bytes()
    rows = read(server, name)
    server.run(
        name,
        f"insert into {name} select -x::int, 1, 'late', 'z', (x * 3600000000L + 7)::timestamp from long_sequence(5)",
    )
    assert check(server, name).num_rows == 45
    size = first.pieces[0].record.parquet_size
    assert size == len(before)
    if VERSION > "9.3.0" and not file.exists():  # 9.3.4 has written the partition anew
        assert open_table(server.database / name).snapshot().pieces[0].folder != first.pieces[0].folder
        return
    assert file.read_bytes()[:size] == before
    old = ParquetPartition(first.pieces[0].folder, size, 23, first.metadata)
    columns = first.metadata.columns
    values = pa.table({c.name: pa.chunked_array(list(old.values(c, range(23)))) for c in columns})
    assert plain(values).equals(rows.slice(0, 23).select(values.column_names))


def test_columns_are_found_by_their_field(server: Server) -> None:
    """[QDB-PQ-4]: names change and columns come and go without a change of the file."""
    name = create_parquet(server)
    before = read(server, name)
    server.run(name, f"alter table {name} rename column x to was_x", f"alter table {name} add column n byte")
    server.run(name, f"alter table {name} add column m long")
    table = read(server, name)  # the server itself can no longer read its table
    assert table["n"].to_pylist() == [0] * 40
    assert table["m"].null_count == 40
    assert table["was_x"].to_pylist() == before["x"].to_pylist()
    server.run(name, f"alter table {name} drop column y", f"alter table {name} add column y short")
    renamed = read(server, name)
    assert renamed["y"].to_pylist() == [0] * 40
    assert renamed["c"].to_pylist() == before["c"].to_pylist()


def test_columns_that_are_younger_than_the_partition(each_server: Server) -> None:
    """[QDB-PQ-3], [QDB-PQ-9]: rows before the column are zeros in the file where the type has no null."""
    server = each_server
    name = server.name("tops")
    server.exec(f"create table {name} (x long, ts timestamp) timestamp(ts) partition by day wal")
    server.run(name, f"insert into {name} select x, (x * 1000)::timestamp from long_sequence(20)")
    kinds = ("boolean, byte, short, char, int, double, string, symbol, varchar, uuid, ipv4, binary, double[], long256,"
             " geohash(4c), date")  # fmt: skip
    for position, kind in enumerate(kinds.split(", ")):
        server.run(name, f"alter table {name} add column c{position} {kind}")
    values = ("true, 1, 2, 'c', 3, 4.0, 's', 'sy', 'v', rnd_uuid4(), rnd_ipv4(), rnd_bin(2, 9, 0), rnd_double_array(1),"
              " rnd_long256(), rnd_geohash(20), x::date")  # fmt: skip
    server.run(
        name,
        f"insert into {name} select x, (20000 + x)::timestamp, {values} from long_sequence(20)",
        f"insert into {name} (x, ts) values (1, '1970-01-02')",
    )
    before = plain(check(server, name))
    convert(server, name)
    after = read(server, name)
    assert after.equals(before)
    assert after["c3"].to_pylist()[:20] == [None] * 20
    assert after["c1"].to_pylist()[:20] == [0] * 20


def test_ranges_of_parquet_partitions(server: Server) -> None:
    """[QDB-PQ-5]."""
    name = create_parquet(server)
    table = open_table(server.database / name)
    hour = 3_600_000_000
    for start, end in ((hour, 2 * hour), (0, 24 * hour), (5 * hour + 1, 30 * hour), (23 * hour + 1, 24 * hour)):
        compare(
            server, table.to_arrow(start=start, end=end),
            f"select * from {name} where ts >= {start}::timestamp and ts < {end}::timestamp",
        )  # fmt: skip
        assert table.count(start, end) == table.to_arrow(start=start, end=end).num_rows


def test_a_file_of_many_row_groups(tmp_path: Path, server: Server) -> None:
    """[QDB-PQ-5]: a range reads the row groups that hold it."""
    name = create_parquet(server)
    snapshot = open_table(server.database / name).snapshot()
    piece = snapshot.pieces[0]
    whole = pq.read_table(piece.folder / "data.parquet")
    pq.write_table(whole, tmp_path / "data.parquet", row_group_size=4)
    file = ParquetPartition(tmp_path, (tmp_path / "data.parquet").stat().st_size, 23, snapshot.metadata)
    times = whole["ts"].cast(pa.int64()).to_pylist()
    x = snapshot.metadata.columns[0]
    for row, time in enumerate(times):
        assert (file.row_at(time - 1), file.row_at(time), file.row_at(time + 1)) == (row, row, row + 1)
        for stop in range(row, 23):
            values = [v for array in file.values(x, range(row, stop)) for v in array.to_pylist()]
            assert values == whole["x"].to_pylist()[row:stop]


def altered(server: Server, kind: str) -> tuple[str, str]:
    """Return a table with a Parquet partition, and one with the same columns whose first had its type changed."""
    name, other = create_parquet(server), server.name("altered")
    server.exec(
        f"create table {other} (x int, y short, s symbol, c char, ts timestamp) timestamp(ts) partition by day wal"
    )
    server.run(other, f"alter table {other} alter column x type {kind}")
    return name, other


@pytest.mark.parametrize("kind", ["long", "double"])
def test_a_change_of_type_leaves_the_file(server: Server, kind: str) -> None:
    """[QDB-PQ-6]: 9.3.0 refuses the change while there are Parquet partitions, newer servers do not."""
    name, other = altered(server, kind)
    piece = open_table(server.database / name).pieces[0]
    metadata = open_table(server.database / other).snapshot().metadata
    assert metadata.columns[0].former == (0,)
    assert piece.record.parquet_size is not None
    file = ParquetPartition(piece.folder, piece.record.parquet_size, piece.rows, metadata)
    values = pa.concat_arrays(list(file.values(metadata.columns[0], range(23))))
    assert values.type == column_type(metadata.columns[0].type_code, "x").arrow
    assert values.to_pylist() == list(range(1, 24))


def test_a_change_of_type_that_may_lose_values_is_refused(server: Server) -> None:
    """[QDB-PQ-6]."""
    name, other = altered(server, "float")
    piece = open_table(server.database / name).pieces[0]
    metadata = open_table(server.database / other).snapshot().metadata
    assert piece.record.parquet_size is not None
    file = ParquetPartition(piece.folder, piece.record.parquet_size, piece.rows, metadata)
    with pytest.raises(UnsupportedTypeError, match=r"former type.*INT.*FLOAT"):
        list(file.values(metadata.columns[0], range(23)))


def test_damaged_files_are_errors(server: Server, tmp_path: Path) -> None:
    """[QDB-PQ-7]."""
    name = create_parquet(server)
    snapshot = open_table(server.database / name).snapshot()
    piece = snapshot.pieces[0]
    size = piece.record.parquet_size
    assert size is not None
    shutil.copy(piece.folder / "data.parquet", tmp_path)
    with pytest.raises(TableDamagedError, match="shorter"):
        ParquetPartition(tmp_path, size + 1, 23, snapshot.metadata)
    with pytest.raises(TableDamagedError, match="cannot be read"):
        ParquetPartition(tmp_path, size - 1, 23, snapshot.metadata)
    with pytest.raises(TableDamagedError, match="other rows"):
        ParquetPartition(tmp_path, size, 24, snapshot.metadata)
    with (tmp_path / "data.parquet").open("ab") as file:
        file.write(os.urandom(100))
    ParquetPartition(tmp_path, size, 23, snapshot.metadata)


@pytest.mark.parametrize(
    ("code", "stored", "expected"),
    [
        (4, pa.array([0, 233, None], pa.uint16()), [None, "é", None]),
        (4, pa.array([0, 97], pa.int16()), [None, "a"]),
        (9, pa.array([1.5, float("inf"), None, float("nan")], pa.float32()), [1.5, None, None, None]),
        (10, pa.array([-0.0, float("-inf"), None]), [0.0, None, None]),
        (25, pa.array([0, -1, None, 1], pa.int32()), [None, "255.255.255.255", None, "0.0.0.1"]),
        (25, pa.array([1 << 31], pa.uint32()), ["128.0.0.0"]),
        (1, pa.array([True, None]), [True, False]),
        (2, pa.array([1, None], pa.int8()), [1, 0]),
        (12, pa.array(["a", None, ""]), ["a", None, ""]),
        (12, pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
        (24, pa.array([bytes(15) + b"\1", None], pa.binary(16)), ["01000000-0000-0000-0000-000000000000", None]),
        (2587, pa.array([stored_array(1.5, float("inf")), None, stored_array()]), [[1.5, None], None, []]),
        (2587, pa.array([None, b""], pa.binary()), [None, None]),
        (18971, pa.array([struct.pack("<2i2d", 2, 1, 0.5, -1)]), [[[0.5], [-1.0]]]),
    ],
)
def test_values_whose_null_differs(code: int, stored: pa.Array, expected: list[object]) -> None:
    """[QDB-PQ-3]."""
    of = column_type(code, "c")
    for values in (stored, pa.concat_arrays([stored, stored]).slice(len(stored))):
        found = parquet_values(of, values)
        found.validate(full=True)
        assert found.type == of.arrow
        assert found.to_pylist() == expected


@pytest.mark.parametrize(
    "value", [b"1234567", struct.pack("<2i", 1, 0), struct.pack("<2id", 2, 0, 1), struct.pack("<2i", -1, 0)]
)
def test_arrays_that_are_not_of_the_size_of_their_shape(value: bytes) -> None:
    """[QDB-PQ-9]"""
    with pytest.raises(ValueError, match="of arrays"):
        parquet_values(column_type(2587, "c"), pa.array([stored_array(1.0), value]))


def test_a_file_without_questdbs_key(shared: Path, server: Server) -> None:
    """[QDB-PQ-4]: a file of an early server has field numbers and nothing else of QuestDB."""
    path = shared / "fixtures" / "questdb" / "trades.parquet"
    name = server.name("trades")
    server.exec(
        f"create table {name} (symbol symbol, side symbol, price double, amount double, timestamp timestamp)"
        " timestamp(timestamp) partition by day wal"
    )
    metadata = open_table(server.database / name).snapshot().metadata
    whole = pq.read_table(path)
    assert b"questdb" not in (whole.schema.metadata or {})
    folder = server.root / server.name("copied")
    folder.mkdir()
    shutil.copy(path, folder / "data.parquet")
    file = ParquetPartition(folder, path.stat().st_size, whole.num_rows, metadata)
    for column in metadata.columns:
        values = pa.chunked_array(list(file.values(column, range(whole.num_rows))))
        assert values.to_pylist() == whole[column.name].to_pylist()
    assert [c.name for c in metadata.columns] == list(TRADES)


def test_a_dictionary_page_with_equal_entries(server: Server) -> None:
    """[QDB-PQ-8]: a partition has few of the symbols of its table, and its page has empty text for the others."""
    name = server.name("sparse")
    server.exec(f"create table {name} (k long, s symbol, ts timestamp) timestamp(ts) partition by day wal")
    for k in range(1, 16):
        server.exec(
            f"insert into {name} select {k}, 's{k}', ({k % 3} * 86400000000L + {k} * 1000 + x)::timestamp"
            " from long_sequence(3)"
        )
    server.wait(name)
    convert(server, name)
    table = check(server, name)
    assert table["s"].to_pylist() == [f"s{k}" for k in table["k"].to_pylist()]
    piece = open_table(server.database / name).pieces[0]
    merged = pq.read_table(piece.folder / "data.parquet", read_dictionary=["s"])["s"].chunk(0)
    assert max(merged.indices.to_pylist()) >= len(merged.dictionary)  # what a reader must not do
