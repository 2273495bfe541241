"""Reads after each operation of a server in the life of a table [QDB-FI], [QDB-RD]."""

from __future__ import annotations

import numpy as np
import pytest

from tests.questdb.server import Server
from tests.questdb.values import check
from xskip.errors import DatasetError, PredicateError
from xskip.questdb.table import open_table
from xskip.questdb_files import Database
from xskip.questdb_files.bitmap_index import BitmapIndex
from xskip.questdb_files.column_types import SYMBOL

COLUMNS = "x int, s string, sy symbol, v varchar, ts timestamp"
VALUES = "x::int, 'string ' || x, rnd_symbol('a', 'b', null), 'varchar no. ' || x"


def create(server: Server, *, wal: bool = True, days: int = 3, columns: str = COLUMNS) -> str:
    """Create a table with 25 rows on each day, and return its name."""
    name = server.name("life")
    server.exec(f"create table {name} ({columns}) timestamp(ts) partition by day {'wal' if wal else 'bypass wal'}")
    for day in range(days):
        insert(server, name, day)
    return name


def insert(server: Server, name: str, day: int, columns: str = "x, s, sy, v, ts", values: str = VALUES) -> None:
    moment = f"({day} * 86400000000L + x * 1000000000)::timestamp"
    server.run(name, f"insert into {name} ({columns}) select {values}, {moment} from long_sequence(25)")


@pytest.mark.parametrize("wal", [True, False])
def test_rows_that_come_late(server: Server, wal: bool) -> None:
    """[QDB-RD-1]: rows are in the order of their times, those of equal times in the order of their commits."""
    name = create(server, wal=wal)
    for day in (1, 0, 2, 1):
        insert(server, name, day)
    assert check(server, name).num_rows == 175


def test_columns_that_are_added(server: Server) -> None:
    """[QDB-RD-4]: rows from before the column are null, or zero in a type without null."""
    name = create(server, days=2)
    added = "a long, b byte, c symbol, d varchar, e double[], f string, g uuid, h boolean, k short"
    for declared in added.split(", "):
        server.run(name, f"alter table {name} add column {declared}")
    values = "x, 7, 'k' || x % 3, 'v' || x, rnd_double_array(1), 's', rnd_uuid4(), true, 9"
    insert(server, name, 1, "a, b, c, d, e, f, g, h, k, ts", values)
    insert(server, name, 2, "a, b, c, d, e, f, g, h, k, ts", values)
    table = check(server, name)
    assert table["a"].null_count == 50
    assert table["b"].null_count == 0
    snapshot = open_table(server.database / name).snapshot()
    column = snapshot.metadata.column("a")
    assert column is not None
    tops = [snapshot.files(piece, column) for piece in snapshot.pieces]
    assert tops[0] is None
    assert [files.top for files in tops[1:] if files is not None] in ([0, 0], [25, 0])
    insert(server, name, 0)
    assert check(server, name)["a"].null_count == 75


def test_columns_that_are_renamed_and_dropped(server: Server) -> None:
    """[QDB-FI-2], [QDB-FI-3]."""
    name = create(server)
    server.run(
        name,
        f"alter table {name} rename column s to was_s",
        f"alter table {name} rename column sy to was_sy",
        f"alter table {name} drop column v",
    )
    insert(server, name, 2, "x, was_s, was_sy, ts", "x::int, 'new', 'b'")
    table = check(server, name)
    assert table.column_names == ["x", "was_s", "was_sy", "ts"]
    server.run(name, f"alter table {name} add column v long")
    assert check(server, name)["v"].null_count == 100


@pytest.mark.parametrize("kind", ["long", "double", "string", "varchar", "symbol"])
def test_columns_whose_type_changes(server: Server, kind: str) -> None:
    """[QDB-FI-3]: the column is in the place of the former one."""
    name = create(server)
    server.run(name, f"alter table {name} alter column x type {kind}")
    insert(server, name, 1, "x, ts", f"x::{kind}" if kind != "symbol" else "x::string")
    table = check(server, name)
    assert table.column_names == ["x", "s", "sy", "v", "ts"]
    assert table["x"].null_count == 0
    server.run(name, f"alter table {name} alter column x type varchar" if kind != "varchar" else "select 1")
    check(server, name)


def test_symbols_with_an_index(server: Server) -> None:
    """[QDB-IX-1]: the index has the rows of each key, null included; rows before the column are null."""
    name = create(server, columns=COLUMNS.replace("sy symbol", "sy symbol capacity 16 index capacity 4"))
    server.run(name, f"alter table {name} add column late symbol index capacity 4")
    insert(server, name, 2, "x, sy, late, ts", "x::int, 'k' || x % 5, rnd_symbol('p', 'q', null)")
    insert(server, name, 3, "x, sy, late, ts", "x::int, 'k' || x % 5, rnd_symbol('p', 'q', null)")
    table = check(server, name)
    snapshot = open_table(server.database / name).snapshot()
    indexed = [column for column in snapshot.metadata.columns if column.indexed]
    assert [column.name for column in indexed] == ["sy", "late"]
    compared = 0
    for column in indexed:
        values = table[column.name].combine_chunks()
        keys = np.array([-1 if key is None else key for key in values.indices.to_pylist()])
        start = 0
        for piece in snapshot.pieces:
            files = snapshot.files(piece, column)
            own = keys[start : start + piece.rows]
            start += piece.rows
            if files is None:
                continue
            paths = [snapshot.path(piece, column, files, extension) for extension in "kv"]
            index = BitmapIndex(paths[0], paths[1], files.top, piece.rows)
            for key in range(-1, len(values.dictionary) + 2):
                rows = index.rows_of(None if key < 0 else key)
                assert rows.tolist() == np.flatnonzero(own == key).tolist()
                compared += len(rows)
    assert compared > 150


def test_keys_of_deduplication(server: Server) -> None:
    """[QDB-FI-2]."""
    name = create(server)
    server.run(name, f"alter table {name} dedup enable upsert keys(ts, x)")
    insert(server, name, 1)
    insert(server, name, 2, values=VALUES.replace("x::int", "-x::int"))
    assert check(server, name).num_rows == 100
    columns = open_table(server.database / name).snapshot().metadata.columns
    assert [column.name for column in columns if column.dedup_key] == ["x", "ts"]


@pytest.mark.parametrize("wal", [True, False])
def test_updates(server: Server, wal: bool) -> None:
    """[QDB-FI-4]: an update writes files of a column under a new name."""
    name = create(server, wal=wal)
    server.run(
        name,
        f"update {name} set x = -x, s = 'updated' where x > 20",
        f"update {name} set sy = 'a new symbol', v = null where ts > '1970-01-02' and x < 10",
    )
    table = check(server, name)
    assert table["s"].to_pylist().count("updated") == 15


def test_partitions_that_leave_and_come(server: Server) -> None:
    """[QDB-FI-5]: folders that the transaction does not name do not count."""
    name = create(server, days=4)
    server.run(name, f"alter table {name} detach partition list '1970-01-02'")
    folder = server.folder(name)
    assert [path.name for path in folder.glob("*.detached")] == ["1970-01-02.detached"]
    assert check(server, name).num_rows == 75
    (folder / "1970-01-02.detached").rename(folder / "1970-01-02.attachable")
    assert check(server, name).num_rows == 75
    server.run(name, f"alter table {name} attach partition list '1970-01-02'")
    assert check(server, name).num_rows == 100
    server.run(name, f"alter table {name} drop partition list '1970-01-01'")
    insert(server, name, 0)
    assert check(server, name).num_rows == 100


@pytest.mark.parametrize("wal", [True, False])
def test_truncated_tables(server: Server, wal: bool) -> None:
    """[QDB-SN-5]: keys of symbols start again."""
    name = create(server, wal=wal)
    table = open_table(server.database / name)
    before = table.snapshot().transaction.truncate_version
    server.run(name, f"truncate table {name}")
    assert table.to_arrow().num_rows == table.count() == len(table.pieces) == 0
    assert table.schema == check(server, name).schema
    insert(server, name, 5, values=VALUES.replace("'a', 'b'", "'z', 'y', 'x'"))
    assert set(check(server, name)["sy"].to_pylist()) <= {"x", "y", "z", None}
    assert table.snapshot().transaction.truncate_version > before


def test_tables_without_partitions_are_truncated_in_place(server: Server) -> None:
    """[QDB-SN-5]."""
    name = server.name("none")
    server.exec(f"create table {name} (x long, s symbol, ts timestamp) timestamp(ts) partition by none")
    for start in (0, 100):
        server.run(name, f"insert into {name} select x + {start}, 's' || x + {start}, x::timestamp"
                         " from long_sequence(20)")  # fmt: skip
        assert check(server, name).num_rows == 20
        server.run(name, f"truncate table {name}")
        assert check(server, name).num_rows == 0


def test_a_list_of_tables(server: Server) -> None:
    """[QDB-DB-1], [QDB-DB-2]: a table has the name that the server shows, in whatever folder."""
    renamed, dropped, plain = create(server, days=1), create(server, days=1), create(server, wal=False, days=1)
    other = server.name("renamed")
    server.run(renamed, f"rename table {renamed} to {other}")
    server.run(dropped, f"drop table {dropped}")
    shown = {row[0]: row[1] for row in server.select("select table_name, directoryName from tables()")}
    tables = {table.name: table for table in Database(server.root).tables()}
    assert {name: table.folder.name for name, table in tables.items()} == shown
    assert other in tables
    assert tables[other].folder.name.startswith(f"{renamed}~")
    assert (tables[other].wal, tables[plain].wal) == (True, False)
    assert check(server, other).num_rows == 25
    assert open_table(tables[other].folder).count() == 25
    assert [t.name for t in Database(server.database).tables(system=True) if t.name.startswith("sys.")]


def test_views(server: Server) -> None:
    """[QDB-DB-1]: a materialized view is a table; a view has a folder with a transaction, and no rows."""
    name = create(server, days=1)
    server.exec(
        f"create view view_of_{name} as (select * from {name} where x > 3)",
        f"create materialized view rows_of_{name} as (select ts, max(x) m from {name} sample by 1h) partition by day",
    )
    server.wait(f"rows_of_{name}")
    shown = [table.name for table in Database(server.database).tables()]
    assert f"rows_of_{name}" in shown
    assert f"view_of_{name}" not in shown
    assert open_table(server.database / f"rows_of_{name}").schema.names == ["ts", "m"]
    with pytest.raises(DatasetError, match=rf"a view has no rows on disk.*found: view_of_{name}"):
        open_table(server.database / f"view_of_{name}")
    server.exec(f"drop view view_of_{name}", f"drop materialized view rows_of_{name}")
    with pytest.raises(DatasetError, match="no such table"):
        open_table(server.database / f"view_of_{name}")


def test_a_checkpoint(server: Server) -> None:
    """[QDB-SN-6]: the files of the checkpoint have the transaction, and the database beside it has the data."""
    name = create(server)
    before = check(server, name)
    server.exec("checkpoint create")
    try:
        insert(server, name, 2)
        assert check(server, name).num_rows == 100
        frozen = open_table(server.root / ".checkpoint" / "db" / name)
        assert frozen.to_arrow().equals(before)
        assert open_table(server.root / ".checkpoint" / "db" / server.folder(name).name).count() == 75
        assert name in [table.name for table in Database(server.root / ".checkpoint").tables()]
    finally:
        server.exec("checkpoint release")


def test_columns_are_selected_by_name(server: Server) -> None:
    """[QDB-RD-1]."""
    name = create(server, days=1)
    table = open_table(server.database / name)
    assert table.to_arrow(["V", "x"]).column_names == ["v", "x"]
    assert table.to_arrow("sy").column_names == ["sy"]
    with pytest.raises(PredicateError, match=r"no column with this name.*nope"):
        table.to_arrow(["nope"])
    assert [c.name for c in table.snapshot().metadata.columns if c.type_code == SYMBOL] == ["sy"]
