"""Directories that may hold unknown files are found on the disk without Spark. Rules: [PRU-TL]."""

from __future__ import annotations

import datetime as dt
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from xskip.indexing.directory_changes import DirectoryChanges, changed_partitions, diff_files, local_files
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.metadatastore.filesystem import LocalStorage

DAYS = pa.array([dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(2026, 1, 2), None], pa.date32())


def looked(root: Path, names: list[str], *columns: PartitionColumn, recheck: tuple[str, ...] = ()) -> DirectoryChanges:
    table = MetadataTable(
        DataFiles.of([FileStatus(f"{root}/{name}", 1, 1) for name in names]), {c.name: c for c in columns}
    )
    return changed_partitions(table, f"file:{root}", LocalStorage(), recheck)


def on_disk(root: Path, *directories: str) -> None:
    for each in directories:
        (root / each).mkdir(parents=True)


def test_directories_above_those_that_data_grows_by(tmp_path: Path) -> None:
    """The levels of partition columns follow from the names, also below a plain directory."""
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
    """Without a date or time, the data grows by the first column; files of deleted directories are replaced."""
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
    """A directory that the user names is listed once if it exists, without directories whose names are only similar."""
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


LAKE = [f"day={d}/h={h}/{n}" for d in (1, 2, 3) for h in (1, 2) for n in "ab"]


def lake(root: Path, names: list[str] = LAKE) -> None:
    """Write files of a few bytes with equal times, among files that no query reads."""
    for name in [*names, "_SUCCESS", ".x=1/f", "_old/f", "day=1/h=1/.f.crc", "day=1/h=2/_tmp/f"]:
        write(root / name)
    (root / "day=1/h=1/empty").touch()
    (root / "day=1/h=1/link").symlink_to("nowhere")


def write(path: Path, text: str = "text", time: int = 1_700_000_000) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time, time))


def compared(
    root: Path, names: list[str] = LAKE, partitions: tuple[str, ...] = ("day", "h")
) -> DirectoryChanges | None:
    known = [FileStatus(f"{root}/{name}", 4, 1_700_000_000_000) for name in names]
    columns = {c: PartitionColumn(c, "int", pa.array([1] * len(names), pa.int32())) for c in partitions}
    return diff_files(MetadataTable(DataFiles.of(known), columns), f"file:{root}", local_files(f"file:{root}"))


def found(root: Path) -> tuple[tuple[str, ...], list[str]]:
    """Return the directories to list, and the known files that the listing replaces."""
    changed = compared(root)
    assert changed is not None
    assert changed.is_complete
    return changed.listed, [name for name, replaced in zip(LAKE, changed.replaced, strict=True) if replaced]


def test_nothing_has_changed(tmp_path: Path) -> None:
    """[PRU-TL-6] Hidden files, hidden directories, empty files and broken links do not count as changes."""
    lake(tmp_path)
    assert found(tmp_path) == ((), [])
    flat = [name.replace("/", "-").replace("=", "-") for name in LAKE]
    lake(tmp_path / "flat", flat)
    changed = compared(tmp_path / "flat", flat, ())
    assert changed is not None
    assert (changed.listed, bool(changed.replaced.any()), changed.is_complete) == ((), False, True)


@pytest.mark.parametrize(
    "change",
    [
        lambda at: write(at / "c"),
        lambda at: write(at / "_c=1"),
        lambda at: write(at / "deeper/c"),
        lambda at: write(at / "a", "longer"),
        lambda at: write(at / "a", time=1_700_000_001),
        lambda at: (at / "a").rename(at / "c"),
        lambda at: (at / "b").unlink(),
    ],
)
def test_a_file_that_has_changed(tmp_path: Path, change: Callable[[Path], object]) -> None:
    """[PRU-TL-6] Only the directory of a changed file is listed."""
    lake(tmp_path)
    change(tmp_path / "day=2/h=1")
    listed, replaced = found(tmp_path)
    deeper = (tmp_path / "day=2/h=1/deeper").exists()
    assert listed == ("day=2/h=1/deeper" if deeper else "day=2/h=1",)
    assert replaced == ([] if deeper else ["day=2/h=1/a", "day=2/h=1/b"])


def test_directories_that_have_changed(tmp_path: Path) -> None:
    """[PRU-TL-6] New directories are listed; known files of deleted or emptied directories have no replacement."""
    lake(tmp_path)
    write(tmp_path / "day=4/h=1/a")
    write(tmp_path / "day=1/h=3/a")
    shutil.rmtree(tmp_path / "day=3/h=1")
    (tmp_path / "day=2/h=2/a").unlink()
    (tmp_path / "day=2/h=2/b").unlink()
    assert found(tmp_path) == (
        ("day=1/h=3", "day=4/h=1"), ["day=2/h=2/a", "day=2/h=2/b", "day=3/h=1/a", "day=3/h=1/b"],
    )  # fmt: skip


@pytest.mark.parametrize(
    "new", ["day=4/a", "day=4/hour=1/a", "h=1/day=4/a", "Day=4/h=1/a", "other/a", "a", "day=4/h=1/m=1/a"]
)
def test_directories_of_other_partitions(tmp_path: Path, new: str) -> None:
    """[PRU-TL-6] If a new directory changes the partition columns, Spark lists the whole dataset."""
    lake(tmp_path)
    write(tmp_path / new)
    assert compared(tmp_path) is None


@pytest.mark.parametrize("name", [b"day=2/h=1/c\xff", b"day=\xff/h=1/c"])
def test_names_that_are_no_text(tmp_path: Path, name: bytes) -> None:
    """[PRU-TL-6] If a name is not valid text, Spark lists the whole dataset."""
    lake(tmp_path)
    write(tmp_path / os.fsdecode(name))
    assert compared(tmp_path) is None


def test_where_all_may_as_well_be_listed(tmp_path: Path) -> None:
    """[PRU-TL-6] The whole dataset is listed if more than half of the files are in question, or without partitions."""
    lake(tmp_path)
    for day in (1, 2, 3):
        assert compared(tmp_path) is not None
        write(tmp_path / f"day={day}/h=1/new")
    assert compared(tmp_path) is not None, "half"
    write(tmp_path / "day=1/h=2/new")
    assert compared(tmp_path) is None
    assert compared(tmp_path, [], ()) is None
    shutil.rmtree(tmp_path)
    with pytest.raises(FileNotFoundError):
        compared(tmp_path)
