"""The contract that every storage fulfils, as checks for the tests of local and other storages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from xskip.metadatastore.filesystem import Storage

Check = Callable[[Storage, str, Path], None]


def nothing_there(storage: Storage, root: str, scratch: Path) -> None:
    """Check that a missing directory is empty, and that a missing file raises FileNotFoundError."""
    assert list(storage.list(f"{root}/none")) == []
    assert list(storage.directories(f"{root}/none")) == []
    with pytest.raises(FileNotFoundError):
        storage.read(f"{root}/none/x")
    with pytest.raises(FileNotFoundError):
        storage.fetch(f"{root}/none/x")


def add_and_read(storage: Storage, root: str, scratch: Path) -> None:
    """Check that an added file is listed with its size, and that read() and fetch() return its bytes."""
    source = scratch / "source"
    source.write_bytes(bytes(range(256)) * 10)
    storage.add(source, f"{root}/a/b/{root.rpartition('/')[2]}-1.bin")
    (entry,) = storage.list(f"{root}/a/b")
    assert (entry.name, entry.size) == (f"{root.rpartition('/')[2]}-1.bin", 2560)
    assert abs(entry.modified / 1000 - source.stat().st_mtime) < 3600
    assert storage.read(f"{root}/a/b/{entry.name}") == source.read_bytes()
    assert storage.fetch(f"{root}/a/b/{entry.name}").read_bytes() == source.read_bytes()
    assert storage.fetch(f"{root}/a/b/{entry.name}").read_bytes() == source.read_bytes()
    assert source.exists()


def put_once(storage: Storage, root: str, scratch: Path) -> None:
    """Check that the first put wins, and that later puts change nothing and leave no files."""
    assert storage.put_if_absent(f"{root}/c/7.json", b"first\x00\xff") is True
    assert storage.put_if_absent(f"{root}/c/7.json", b"second") is False
    assert storage.read(f"{root}/c/7.json") == b"first\x00\xff"
    assert [e.name for e in storage.list(f"{root}/c")] == ["7.json"]
    assert storage.put_if_absent(f"{root}/c/8.json", b"") is True
    assert storage.read(f"{root}/c/8.json") == b""


def list_files_and_directories(storage: Storage, root: str, scratch: Path) -> None:
    """Check that files and directories are listed separately, directories with full paths."""
    storage.put_if_absent(f"{root}/x/file", b"1")
    storage.put_if_absent(f"{root}/x/inner/file", b"2")
    storage.put_if_absent(f"{root}/x/another/file", b"3")
    assert [e.name for e in storage.list(f"{root}/x")] == ["file"]
    found = sorted(storage.directories(f"{root}/x"))
    assert [path.rpartition("/")[2] for path in found] == ["another", "inner"]
    assert [storage.read(f"{path}/file") for path in found] == [b"3", b"2"]


def remove_files(storage: Storage, root: str, scratch: Path) -> None:
    """Check that files are removed, and that missing files are ignored."""
    for name in ("1", "2", "3"):
        storage.put_if_absent(f"{root}/r/{name}", b"x")
    storage.remove(iter([f"{root}/r/1", f"{root}/r/none", f"{root}/r/3", f"{root}/none/1"]))
    assert [e.name for e in storage.list(f"{root}/r")] == ["2"]
    storage.remove([])
    assert [e.name for e in storage.list(f"{root}/r")] == ["2"]


def remove_trees(storage: Storage, root: str, scratch: Path) -> None:
    """Check that a directory is removed with its contents, and that a missing directory is ignored."""
    storage.put_if_absent(f"{root}/t/u/v/file", b"x")
    storage.put_if_absent(f"{root}/t/w", b"x")
    storage.remove_tree(f"{root}/t/u")
    assert [e.name for e in storage.list(f"{root}/t")] == ["w"]
    assert list(storage.directories(f"{root}/t")) == []
    storage.remove_tree(f"{root}/t/none")
    storage.remove_tree(f"{root}/t")
    assert list(storage.list(f"{root}/t")) == []


def odd_names(storage: Storage, root: str, scratch: Path) -> None:
    """Check that spaces, percent signs, hashes and letters of all alphabets have no special meaning."""
    for folder in ("a b", "50%20x", "p=c#1", "größe \U0001f600"):
        assert storage.put_if_absent(f"{root}/{folder}/f {folder}", folder.encode()) is True
        assert storage.put_if_absent(f"{root}/{folder}/f {folder}", b"") is False
        assert [e.name for e in storage.list(f"{root}/{folder}")] == [f"f {folder}"]
        assert storage.read(f"{root}/{folder}/f {folder}") == folder.encode()


CHECKS: list[Check] = [
    nothing_there,
    add_and_read,
    put_once,
    list_files_and_directories,
    remove_files,
    remove_trees,
    odd_names,
]
