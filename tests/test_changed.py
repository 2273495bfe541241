"""Which directories may hold other objects than are known: on the disk, without Spark. Rules: [PRU-TL-2]."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from xskip.changed import Changed, find_changed
from xskip.metadata import MetadataTable, PartitionColumn
from xskip.metadatastore.storage import LocalStorage
from xskip.objects import Objects, ObjectStatus

DAYS = pa.array([dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(2026, 1, 2), None], pa.date32())


def looked(root: Path, names: list[str], *columns: PartitionColumn, recheck: tuple[str, ...] = ()) -> Changed:
    table = MetadataTable(
        Objects.of([ObjectStatus(f"{root}/{name}", 1, 1) for name in names]), {c.name: c for c in columns}
    )
    return find_changed(table, f"file:{root}", LocalStorage(), recheck)


def on_disk(root: Path, *directories: str) -> None:
    for each in directories:
        (root / each).mkdir(parents=True)


def test_directories_above_those_that_data_grows_by(tmp_path: Path) -> None:
    """The column's level is told by names: here below a plain directory and a column that is no time."""
    names = [f"raw/k%20=a b/day=2026-01-0{d}/f" for d in (1, 2)] + ["raw/k%20=c/day=2026-01-02/f", "raw/k%20=c/day=x/f"]
    keys = PartitionColumn("k ", "string", pa.array(["a b", "a b", "c", "c"]))
    on_disk(tmp_path, *(name.removesuffix("/f") for name in names), "raw/k%20=c/day=2026-01-03", "raw/_tmp", "new/x")
    changed = looked(tmp_path, names, keys, PartitionColumn("day", "date", DAYS))
    assert changed.listed == (
        "new", "raw/k%20=a b/day=2026-01-02", "raw/k%20=c/day=2026-01-02", "raw/k%20=c/day=2026-01-03",
    )  # fmt: skip
    assert changed.replaced.tolist() == [False, True, True, False]


@pytest.mark.parametrize("gone", ["k=1", "k=1/day=b"])
def test_directories_that_are_gone(tmp_path: Path, gone: str) -> None:
    """Without a date the first column is the one: what is in a directory that is gone is known no more."""
    names = ["k=1/day=a/f", "k=1/day=b/f", "k=9/day=a/f"]
    columns = [
        PartitionColumn("k", "int", pa.array([1, 1, 9], pa.int32())),
        PartitionColumn("day", "string", pa.array(["a", "b", "a"])),
    ]
    on_disk(tmp_path, *(name.removesuffix("/f") for name in names if not name.startswith(gone)))
    changed = looked(tmp_path, names, *columns)
    assert changed.listed == ("k=9",)
    assert changed.replaced.tolist() == [gone == "k=1", gone == "k=1", True], "only levels that are looked at"


def test_directories_that_the_user_names(tmp_path: Path) -> None:
    """They are listed if they are there; one in another that is listed is listed once, and a like name is not in it."""
    names = ["day=1/a/f", "day=1/a/b/f", "day=1/a-b/f", "day=2/f"]
    on_disk(tmp_path, "day=1/a/b", "day=1/a-b", "day=2")
    column = PartitionColumn("day", "int", pa.array([1, 1, 1, 2], pa.int32()))
    changed = looked(tmp_path, names, column, recheck=("/day=1/a/", "day=1/a/b", "day=1/none", "day=2/f"))
    assert changed.listed == ("day=1/a", "day=2")
    assert changed.replaced.tolist() == [True, True, False, True]


def test_nothing_is_looked_at_without_partitions(tmp_path: Path) -> None:
    on_disk(tmp_path, "x", "y=1")
    changed = looked(tmp_path, ["f", "x/g"])
    assert (changed.listed, changed.replaced.tolist()) == ((), [False, False])
    assert looked(tmp_path, []).replaced.tolist() == []
