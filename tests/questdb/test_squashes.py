"""Squashes that are not committed yet, or that leave the stamp of a file as it was [QDB-SN-3]."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.questdb.copies import copy_table
from tests.questdb.server import Server
from tests.questdb.spark_values import load
from xskip.errors import TableChangedError
from xskip.questdb.table import open_table
from xskip.questdb_files.snapshot import Snapshot
from xskip.questdb_files.transaction_file import read_transaction

_ROWS = 8000
_SPLIT = "insert into {name} select -x, (x * 10 + 60000000000L)::timestamp from long_sequence(10)"
_SQUASH = "alter table {name} squash partitions"
_GROWTH = "insert into {name} values (6, '1970-01-01T23:59:59')"
_REMOVAL = "alter table {name} drop partition list '1970-01-03'"
_OTHER_REMOVAL = "alter table {name} drop partition list '1970-01-02'"


class Copies:
    """A copy of a table, which a test brings from one state of the server's table to the next."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.name = server.name("squashed")
        server.exec(f"create table {self.name} (x long, ts timestamp) timestamp(ts) partition by day wal")
        values = f"x, (x * 10000000)::timestamp from long_sequence({_ROWS})"
        server.run(self.name, f"insert into {self.name} select {values}")
        copy_table(server.folder(self.name), folder)
        (self.piece,) = folder.glob("1970-01-01*")

    def write(self, name: str, content: bytes) -> None:
        """Write into a file of the piece, which stays the same file."""
        with (self.piece / name).open("r+b") as file:
            file.write(content)

    def take(self, *, squashed: bool) -> None:
        """Take over the control files and the new folders, and the files of the piece if they are squashed."""
        source = self.server.folder(self.name)
        for folder in source.glob("1970*"):
            if not (self.folder / folder.name).exists():
                shutil.copytree(folder, self.folder / folder.name)
        if squashed:
            for name in ("x.d", "ts.d"):
                self.write(name, (source / self.piece.name / name).read_bytes())
        for name in ("_meta", "_cv", "_txn"):
            shutil.copy(source / name, self.folder / name)

    def change(self, *statements: str) -> None:
        """Run statements, and take over the state of the table without the files of the piece."""
        self.server.run(self.name, *(statement.format(name=self.name) for statement in statements))
        self.take(squashed=False)

    def begin_squash(self) -> None:
        """Commit a split, and write the first of the two columns of a squash."""
        self.change(_SPLIT)
        transaction = read_transaction(self.folder / "_txn")
        assert transaction is not None
        kept = transaction.record(0).rows
        assert 0 < kept < _ROWS
        x = np.arange(1, _ROWS + 1)
        x[kept:] = -7
        self.write("x.d", x.tobytes())

    def squash(self) -> None:
        """Commit a split and a squash that leave the time of modification of the stamped file as it was."""
        before = (self.piece / "ts.d").stat()
        self.server.run(self.name, _SPLIT.format(name=self.name), _SQUASH.format(name=self.name))
        self.take(squashed=True)
        os.utime(self.piece / "ts.d", ns=(before.st_atime_ns, before.st_mtime_ns))
        assert (self.piece / "ts.d").stat().st_ino == before.st_ino


@pytest.fixture
def copies(server: Server, tmp_path: Path) -> Copies:
    return Copies(server, tmp_path / "db" / "squashed")


def after_the_stamps(monkeypatch: pytest.MonkeyPatch, action: Callable[[], None]) -> list[bool]:
    """Run an action once, when the stamps of the pieces are taken and nothing is read."""
    plain = Snapshot.is_current
    calls: list[bool] = []

    def is_current(self: Snapshot) -> bool:
        calls.append(plain(self))
        if len(calls) == 1:
            action()
        return calls[-1]

    monkeypatch.setattr(Snapshot, "is_current", is_current)
    return calls


def rows_of_split() -> pa.Table:
    """Return the rows of both states after the split."""
    x, ts = np.arange(1, _ROWS + 1), np.arange(1, _ROWS + 1) * 10_000_000
    late = np.arange(1, 11)
    x, ts = np.concatenate([x, -late]), np.concatenate([ts, late * 10 + 60_000_000_000])
    order = np.argsort(ts, kind="stable")
    return pa.table({"x": x[order], "ts": pa.array(ts[order]).cast(pa.timestamp("us", "UTC"))})


@pytest.mark.parametrize("changes", [Copies.begin_squash, Copies.squash])
def test_a_squash_that_the_stamp_does_not_show(
    copies: Copies, monkeypatch: pytest.MonkeyPatch, changes: Callable[[Copies], None]
) -> None:
    """[QDB-SN-3] The columns before the stamped one are written, or the stamp is of the same tick of the clock."""
    os.utime(copies.piece / "ts.d", ns=(0, 1 << 62) if changes is Copies.squash else (0, 0))
    calls = after_the_stamps(monkeypatch, lambda: changes(copies))
    found = open_table(copies.folder).to_arrow()
    assert len(calls) == 2, "the read began anew"
    assert found.to_pydict() == rows_of_split().to_pydict()


@pytest.mark.parametrize("changes", [Copies.begin_squash, Copies.squash])
def test_spark_refuses_a_squash_that_the_stamp_does_not_show(
    spark: SparkSession, copies: Copies, monkeypatch: pytest.MonkeyPatch, changes: Callable[[Copies], None]
) -> None:
    """[QDB-SN-3], [QDB-SP-4]."""
    xskip.enable(spark)
    os.utime(copies.piece / "ts.d", ns=(0, 1 << 62) if changes is Copies.squash else (0, 0))
    df = load(spark, copies.folder)
    after_the_stamps(monkeypatch, lambda: changes(copies))
    with pytest.raises(Exception, match="a server has changed"):
        df.filter("x % 2 = 0").collect()
    monkeypatch.undo()
    assert sorted(row.x for row in df.collect()) == sorted(rows_of_split()["x"].to_pylist())


@pytest.mark.parametrize("changes", [Copies.begin_squash, Copies.squash])
def test_batches_refuse_a_squash_that_the_stamp_does_not_show(
    copies: Copies, monkeypatch: pytest.MonkeyPatch, changes: Callable[[Copies], None]
) -> None:
    """[QDB-BA-3]."""
    os.utime(copies.piece / "ts.d", ns=(0, 1 << 62) if changes is Copies.squash else (0, 0))
    after_the_stamps(monkeypatch, lambda: changes(copies))
    reader = open_table(copies.folder).to_batches(batch_rows=1000)
    with pytest.raises(TableChangedError, match="a server changed a piece of the table"):
        reader.read_all()


def test_pieces_that_a_server_leaves_count_after_the_removal_of_others(
    spark: SparkSession, copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QDB-SN-3], [QDB-SN-5]: one piece grows, one is as it was, and another one is removed."""
    xskip.enable(spark)
    copies.change("insert into {name} values (5, '1970-01-02'), (6, '1970-01-03')")
    for path in copies.folder.glob("1970*/ts.d"):
        os.utime(path, ns=(0, 0))
    with monkeypatch.context() as patch:
        calls = after_the_stamps(patch, lambda: copies.change(_GROWTH, _REMOVAL))
        found = open_table(copies.folder).to_arrow(end=datetime(1970, 1, 3))
    assert found["x"].to_pylist() == [*range(1, _ROWS + 1), 5]
    assert calls == [True]
    df = load(spark, copies.folder).filter("ts < timestamp_micros(86400000000)")
    with monkeypatch.context() as patch:
        calls = after_the_stamps(patch, lambda: copies.change(_GROWTH, _OTHER_REMOVAL))
        assert df.count() == _ROWS + 1
    assert calls == [True]


def test_a_piece_that_a_server_removes_is_not_read(
    spark: SparkSession, copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QDB-SN-5] A removal that changes the truncate version can be a truncation, which cuts files in place."""
    xskip.enable(spark)
    copies.change("insert into {name} values (5, '1970-01-02'), (6, '1970-01-03')")
    for path in copies.folder.glob("1970*/ts.d"):
        os.utime(path, ns=(0, 0))
    df = load(spark, copies.folder)
    with monkeypatch.context() as patch:
        after_the_stamps(patch, lambda: copies.change(_REMOVAL))
        with pytest.raises(Exception, match="a server has changed"):
            df.agg({"x": "sum"}).collect()
    with monkeypatch.context() as patch:
        calls = after_the_stamps(patch, lambda: copies.change(_OTHER_REMOVAL))
        assert open_table(copies.folder).to_arrow()["x"].to_pylist() == [*range(1, _ROWS + 1)]
    assert calls == [True, True]
