"""Reads of one transaction while a server writes [QDB-SN]."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.effort import THOROUGH
from tests.questdb.copies import copy_table
from tests.questdb.server import COUNTS_SQUASHES, Server
from tests.questdb.values import check, compare
from xskip.errors import TableChangedError, TableDamagedError
from xskip.questdb.table import open_table
from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.native_columns import NativeFiles
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.snapshot import PieceKey, Snapshot

_SECONDS = 4
_ROWS = 10
#: The number of commits after which the writer truncates its table.
_TRUNCATING = 97
#: The commits and the states that a reader of a sample sees, so that each kind of change has come between them.
_COMMITS, _STATES = 110, 11
_DAY = 86_400_000_000


class Writer:
    """A thread that commits without pause, so that every state of its table is recognisable.

    Each insert has ``_ROWS`` rows of one number ``k``, which grows by one. ``base`` is the number at the last
    truncation, and an update sets ``u`` of all rows.
    """

    def __init__(self, server: Server, name: str, *, changing: bool) -> None:
        self.server, self.name, self.changing = server, name, changing
        self.errors: list[BaseException] = []
        self.committed = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def is_wanted(self, states: int) -> bool:
        """Return whether reads have to go on, of which some have seen a number of states."""
        is_enough = not THOROUGH and states >= _STATES and self.committed >= _COMMITS
        return not self.errors and not is_enough

    def _run(self) -> None:
        base = updated = 0
        try:
            while not self._stop.is_set():
                self.committed += 1
                k = self.committed
                day, second = k % 3, (k * 7919) % 80_000
                moment = f"({day} * {_DAY} + {second} * 1000000L + x)::timestamp"
                self.server.exec(
                    f"insert into {self.name} select {k}, x, {base}, {updated}, 'k{k}', 'varchar of row ' || {k},"
                    f" {moment} from long_sequence({_ROWS})"
                )
                if self.changing and k % 29 == 0:
                    updated = k
                    self.server.run(self.name, f"update {self.name} set u = {k}")
                if self.changing and k % _TRUNCATING == 0:
                    base = k
                    self.server.run(self.name, f"truncate table {self.name}")
                if not self.changing and k % 11 == 0:
                    to = ("parquet", "native")[k // 11 % 2]
                    self.server.run(
                        self.name, f"alter table {self.name} convert partition to {to} where ts < '1970-01-02'"
                    )
                if k % 13 == 0:
                    self.server.exec(f"alter table {self.name} squash partitions")
        except BaseException as error:  # noqa: BLE001 - the test reports it
            self.errors.append(error)


def create(server: Server, prefix: str) -> str:
    name = server.name(prefix)
    server.exec(
        f"create table {name} (k long, n long, base long, u long, s symbol, v varchar, ts timestamp)"
        " timestamp(ts) partition by day wal"
    )
    return name


def check_state(table: pa.Table) -> tuple[int, int]:
    """Check that a table has a state that was committed, and return its base and its last number."""
    table.validate(full=True)
    times = table["ts"].cast(pa.int64()).to_pylist()
    assert times == sorted(times)
    if not times:
        return -1, -1
    rows = [list(table[name].to_pylist()) for name in ("k", "n", "base", "u", "s", "v")]
    k, n, base, u, s, v = rows
    assert len(set(base)) == len(set(u)) == 1, (set(base), set(u))
    assert sorted(zip(k, n, strict=True)) == [
        (number, row) for number in range(base[0] + 1, max(k) + 1) for row in range(1, _ROWS + 1)
    ]
    assert s == [f"k{number}" for number in k]
    assert v == [f"varchar of row {number}" for number in k]
    return base[0], max(k)


@pytest.mark.parametrize("changing", [True, False])
def test_reads_have_a_committed_state_while_a_server_writes(server: Server, changing: bool) -> None:
    """[QDB-SN-1], [QDB-SN-4]: with updates and truncations, or with conversions to Parquet and back."""
    name = create(server, "busy")
    table = open_table(server.database / name)
    states = set[tuple[int, int]]()
    with Writer(server, name, changing=changing) as writer:
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end and writer.is_wanted(len(states)):
            states.add(check_state(table.to_arrow()))
    assert writer.errors == []
    server.wait(name)
    is_empty = changing and writer.committed % _TRUNCATING == 0  # the last thing was a truncation
    assert check_state(check(server, name))[1] == (-1 if is_empty else writer.committed)
    assert len(states) > 10


@pytest.mark.parametrize("changing", [True, False])
def test_batches_have_a_committed_state_while_a_server_writes(server: Server, changing: bool) -> None:
    """[QDB-BA-1], [QDB-BA-3]: a read that ends has the rows of one transaction."""
    name = create(server, "busy_batches")
    table = open_table(server.database / name)
    states, refused = set[tuple[int, int]](), 0
    with Writer(server, name, changing=changing) as writer:
        end, latest = (time.monotonic() + seconds for seconds in (_SECONDS, 5 * _SECONDS))
        # a busy machine refuses most reads, because the writer gets ahead of them
        while time.monotonic() < (end if len(states) > 3 else latest) and writer.is_wanted(len(states)):
            try:
                states.add(check_state(table.to_batches(batch_rows=64).read_all()))
            except TableChangedError:
                refused += 1
    assert writer.errors == []
    assert len(states) > 3, f"{refused} reads were refused"


def in_the_middle(monkeypatch: pytest.MonkeyPatch, action: Callable[[], None]) -> list[str]:
    """Run an action once when a read has read its first column, and return the list of columns that are read."""
    plain = NativeFiles.values
    read: list[str] = []

    def values(self: NativeFiles, piece: Piece, column: Column, rows: range) -> Iterator[Any]:
        yield from plain(self, piece, column, rows)
        read.append(column.name)
        if len(read) == 1:
            action()

    monkeypatch.setattr(NativeFiles, "values", values)
    return read


COLUMNS = "x long, v varchar, s string, sy symbol, ts timestamp"
VALUES = "x, 'varchar ' || x, 'string ' || x, rnd_symbol('a', 'b', 'c')"
LATE = "-x, 'late ' || x, 'late ' || x, 'late'"


def create_rows(server: Server, *, unit: str = "day") -> str:
    """Create a table with one partition of 8000 rows."""
    name = server.name("moving")
    server.exec(f"create table {name} ({COLUMNS}) timestamp(ts) partition by {unit} {'wal' if unit == 'day' else ''}")
    server.run(name, f"insert into {name} select {VALUES}, (x * 10000000)::timestamp from long_sequence(8000)")
    return name


def late(name: str, at: int = 60_000_000_000) -> str:
    return f"insert into {name} select {LATE}, (x * 10 + {at})::timestamp from long_sequence(10)"


def test_a_squash_between_the_snapshot_and_the_look_at_a_piece(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-SN-3] The second of two pieces is split and squashed before its stamp is taken."""
    name = create_rows(server)
    day = 86_400_000_000
    server.run(name, f"insert into {name} select {VALUES}, ({day} + x * 10000000)::timestamp from long_sequence(8000)")
    table = open_table(server.database / name)
    before, plain, looked = table.to_arrow(columns=["x"]), Snapshot.key, list[int]()

    def key(self: Snapshot, piece: Piece, columns: Any) -> Any:
        looked.append(piece.position)
        if len(looked) == 2:
            server.run(name, late(name, day + 60_000_000_000), f"alter table {name} squash partitions")
        return plain(self, piece, columns)

    monkeypatch.setattr(Snapshot, "key", key)
    found = table.to_arrow(columns=["x"])
    monkeypatch.undo()
    assert len(looked) == 4, "the read began anew"
    assert not found.equals(before)
    assert found.equals(table.to_arrow(columns=["x"]))


def test_a_table_that_is_created_again_during_a_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-SN-5] A table without a log keeps its folder, and the number of its transaction can be the same."""
    name = server.name("again")

    def create(values: str, first: int) -> None:
        server.exec(f"create table {name} ({COLUMNS}) timestamp(ts) partition by month bypass wal")
        server.exec(f"insert into {name} select {values}, ({first} + x * 10000000)::timestamp from long_sequence(8000)")

    create(VALUES, 0)
    table = open_table(server.database / name)
    before = table.to_arrow(columns=["x", "ts"])

    def act() -> None:
        server.exec(f"drop table {name}")
        create(LATE, 5)

    in_the_middle(monkeypatch, act)
    found = table.to_arrow(columns=["x", "ts"])
    monkeypatch.undo()
    assert found.num_rows == 8000
    assert not found.equals(before)
    compare(server, found, f"select x, ts from {name}")


def test_a_table_with_other_symbols_and_files_during_a_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-SN-5] A missing file shows that the table is another one, whose symbols have the same keys and count."""
    name = server.name("symbols")

    def create(symbol: str, day: int) -> None:
        server.exec(f"create table {name} (s symbol, x long, ts timestamp) timestamp(ts) partition by day bypass wal")
        server.exec(f"insert into {name} values ('{symbol}', 1, {day * _DAY})")

    create("former", 0)
    table = open_table(server.database / name)

    def act() -> None:
        server.exec(f"drop table {name}")
        create("new", 5)

    in_the_middle(monkeypatch, act)
    found = table.to_arrow()
    monkeypatch.undo()
    assert found["s"].to_pylist() == ["new"]
    compare(server, found, f"select * from {name}")


def test_a_table_that_gets_another_unit_of_time_during_a_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-RD-2], [QDB-SN-4]: a range of datetimes is in the ticks of the transaction that is read."""
    name = server.name("unit")

    def create(kind: str, ticks: int) -> None:
        server.exec(f"create table {name} (x long, ts {kind}) timestamp(ts) partition by month bypass wal")
        server.exec(f"insert into {name} select x, (x * {ticks}L)::{kind} from long_sequence(100)")

    create("timestamp", 1_000_000)
    table = open_table(server.database / name)

    def act() -> None:
        server.exec(f"drop table {name}")
        create("timestamp_ns", 1_000_000_000)

    in_the_middle(monkeypatch, act)
    found = table.to_arrow(start=datetime(1970, 1, 1, 0, 0, 10), end=datetime(1970, 1, 1, 0, 0, 20))
    monkeypatch.undo()
    assert pa.types.is_timestamp(found["ts"].type)
    assert found["ts"].type.unit == "ns"
    assert found["x"].to_pylist() == list(range(10, 20))


ACTIONS = {
    "squash": ["{late}", "alter table {name} squash partitions"],
    "split": ["{late}"],
    "truncate": ["truncate table {name}"],
    "truncate and insert": ["truncate table {name}", "{late}"],
    "drop and insert": ["alter table {name} drop partition list '1970-01-01'", "{late}"],
    "update": ["update {name} set x = -x, s = 'updated', sy = 'updated', v = 'updated'"],
    "rename": ["alter table {name} rename column s to was_s", "alter table {name} add column s string"],
    "drop column": ["alter table {name} drop column v", "alter table {name} add column v varchar"],
    "change type": ["alter table {name} alter column s type varchar"],
    "convert": [
        "insert into {name} (x, ts) values (1, '1971-01-01')",
        "alter table {name} convert partition to parquet where ts < '1970-01-02'",
    ],
    "append": ["insert into {name} (x, ts) values (1, '1970-01-01T23:59:59')"],
}


@pytest.mark.parametrize("action", list(ACTIONS))
def test_what_a_server_does_in_the_middle_of_a_read(
    server: Server, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    """[QDB-SN-2], [QDB-SN-3], [QDB-SN-4]: the rows are those from before or those from after."""
    name = create_rows(server)
    table = open_table(server.database / name)
    before = table.to_arrow()

    def act() -> None:
        server.run(name, *(statement.format(name=name, late=late(name)) for statement in ACTIONS[action]))

    in_the_middle(monkeypatch, act)
    found = table.to_arrow()
    monkeypatch.undo()
    if not found.equals(before):
        compare(server, found, f"select * from {name}")
    if action in ("squash", "truncate", "truncate and insert"):
        assert not found.equals(before)  # the files no longer hold the former rows
    check(server, name)


@pytest.mark.parametrize("action", ["squash", "split", "truncate and insert"])
def test_what_a_server_does_in_the_middle_of_a_batch(
    server: Server, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    """[QDB-BA-3]: the rows are those from before, or the read is refused. Columns of one width have no other proof."""
    name = create_rows(server)
    table = open_table(server.database / name)
    before = table.to_arrow(["x", "ts"])

    def act() -> None:
        server.run(name, *(statement.format(name=name, late=late(name)) for statement in ACTIONS[action]))

    read = in_the_middle(monkeypatch, act)
    reader = table.to_batches(["x", "ts"])
    with suppress(TableChangedError):
        assert reader.read_all().to_pylist() == before.to_pylist()
    assert read[0] == "x"


def test_a_squash_is_noticed_in_the_files_it_overwrites(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-SN-3]: the server squashes into the folder of the first piece; the record of 9.3.0 does not tell it."""
    name = create_rows(server)
    table = open_table(server.database / name)
    first = table.snapshot()

    def act() -> None:
        server.run(name, late(name), f"alter table {name} squash partitions")

    read = in_the_middle(monkeypatch, act)
    compare(server, table.to_arrow(), f"select * from {name}")
    assert read.count("x") == 2
    last = table.snapshot()
    assert [p.folder for p in first.pieces] == [p.folder for p in last.pieces]
    assert (first.pieces[0].record.squashes, last.pieces[0].record.squashes) == (0, int(COUNTS_SQUASHES))


@pytest.mark.parametrize("statements", [["truncate table {name}"], ["truncate table {name}", "{late}"]])
def test_a_truncation_in_place_is_noticed(
    server: Server, monkeypatch: pytest.MonkeyPatch, statements: list[str]
) -> None:
    """[QDB-SN-5]: a table without partitions keeps its files."""
    name = create_rows(server, unit="none")
    table = open_table(server.database / name)

    def act() -> None:
        server.run(name, *(statement.format(name=name, late=late(name)) for statement in statements))

    in_the_middle(monkeypatch, act)
    compare(server, table.to_arrow(), f"select * from {name}")


def test_a_truncation_that_is_not_committed_is_waited_for(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-SN-5]: the file ``_todo_`` tells it."""
    name = create_rows(server, unit="none")
    table = open_table(server.database / name)
    todo = server.folder(name) / "_todo_"
    plain = todo.read_bytes()

    def begin() -> None:
        todo.write_bytes(plain[:32] + (1).to_bytes(8, "little") + (1).to_bytes(8, "little") + plain[48:])
        threading.Timer(0.3, todo.write_bytes, [plain]).start()

    read = in_the_middle(monkeypatch, begin)
    assert table.to_arrow().num_rows == 8000
    assert read.count("x") == 2


def test_a_table_that_is_dropped_during_a_read(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """[QDB-SN-5] A server can remove ``_txn`` before ``_meta``."""
    folder = copy_table(server.folder(create_rows(server)), tmp_path / "dropped")
    table = open_table(folder)
    in_the_middle(monkeypatch, (folder / "_txn").unlink)
    with pytest.raises(TableDamagedError, match="does not exist"):
        table.to_arrow()


def test_a_table_that_never_rests_is_an_error(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-SN-4]."""
    name = create_rows(server)
    table = open_table(server.database / name)
    monkeypatch.setattr(Snapshot, "invalid", lambda _self, _stamps: (0,))
    with pytest.raises(TableChangedError, match="CHECKPOINT CREATE"):
        table.to_arrow(["x"], 0, 100_000_000)


def keys(server: Server, name: str) -> list[PieceKey]:
    snapshot = open_table(server.database / name).snapshot()
    return [snapshot.key(piece, snapshot.metadata.columns) for piece in snapshot.pieces]


def test_the_key_of_a_piece_changes_with_its_content(server: Server) -> None:
    """[QDB-SN-7]: a commit changes the keys of the pieces that it writes, and of no other."""
    name = create_rows(server)
    server.run(name, f"insert into {name} select {VALUES}, ({_DAY} + x)::timestamp from long_sequence(5)")
    before = keys(server, name)
    assert keys(server, name) == before
    server.run(name, f"insert into {name} select {VALUES}, ({_DAY} + 100 + x)::timestamp from long_sequence(5)")
    appended = keys(server, name)
    assert (appended[0], len(appended)) == (before[0], 2)
    assert appended[1] != before[1]
    for statement in (
        f"update {name} set x = 5 where ts = {_DAY + 3}::timestamp",
        late(name),
        f"alter table {name} squash partitions",
        f"alter table {name} dedup enable upsert keys(ts, x)",
    ):
        server.run(name, statement)
    changed = keys(server, name)
    assert len(changed) == 2
    assert not set(changed) & {*before, *appended}


def test_the_key_tells_a_squash_that_keeps_the_number_of_rows(server: Server) -> None:
    """[QDB-SN-7]: rows that replace others in a split piece, which a squash writes over the former ones."""
    name = create_rows(server)
    server.run(name, f"alter table {name} dedup enable upsert keys(ts)")
    before = keys(server, name)
    replaced = f"insert into {name} select {LATE}, (x * 10000000 + 60000000000)::timestamp from long_sequence(10)"
    server.run(name, replaced, f"alter table {name} squash partitions")
    after = keys(server, name)
    assert len(after) == 1
    assert check(server, name).num_rows == 8000
    assert after != before


def test_no_file_stays_open(server: Server) -> None:
    """[QDB-RD-3]."""
    name = create_rows(server)
    table = open_table(server.database / name)
    table.to_arrow()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        table.to_arrow()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_a_checkpoint_while_a_server_writes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-SN-6]: the server squashes nothing, and appends do not disturb the read."""
    name = create_rows(server)
    before = open_table(server.database / name).to_arrow()
    server.exec("checkpoint create")
    try:
        table = open_table(server.root / ".checkpoint" / "db" / name)

        def act() -> None:
            last = f"insert into {name} select {VALUES}, (80000000000 + x)::timestamp from long_sequence(5)"
            server.run(name, late(name), f"alter table {name} squash partitions", last, late(name, 70_000_000_000))

        read = in_the_middle(monkeypatch, act)
        assert table.to_arrow().equals(before)
        assert read.count("x") == 1
        assert table.to_arrow().equals(before)
        check(server, name)
    finally:
        server.exec("checkpoint release")
    with pytest.raises(TableDamagedError, match="_txn"):
        table.to_arrow()


def test_a_checkpoint_that_is_released_in_the_middle_of_a_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-SN-6]."""
    name = create_rows(server)
    server.exec("checkpoint create")
    table = open_table(server.root / ".checkpoint" / "db" / name)

    def act() -> None:
        server.exec("checkpoint release")
        server.run(name, late(name), f"alter table {name} squash partitions")

    in_the_middle(monkeypatch, act)
    with pytest.raises(TableDamagedError, match="does not exist"):
        table.to_arrow()
