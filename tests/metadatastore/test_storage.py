"""Files on a local disk. Rules: specs/metadatastore.rst, [MDS-C-1], [MDS-C-3] and [MDS-C-12]."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest

from tests.metadatastore.storage_contract import CHECKS, Check
from xskip.errors import StorageError
from xskip.metadatastore.storage import LocalStorage, local_path


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check: Check, prefix: str, tmp_path: Path) -> None:
    """[MDS-C-12] The contract, for plain paths and both forms of URI, in a directory with an odd name."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    check(LocalStorage(), f"{prefix}{tmp_path}/md ü %20#1", scratch)
    assert (tmp_path / "md ü %20#1").exists() or check.__name__ == "nothing_there"


def test_local_path() -> None:
    """[MDS-C-12] URIs carry decoded paths, as Hadoop's do: a percent sign is a percent sign."""
    assert local_path("file:///tmp/a%20b#c") == Path("/tmp/a%20b#c")
    assert local_path("file:/tmp/a?b") == Path("/tmp/a?b")
    assert local_path("/tmp/file:x") == Path("/tmp/file:x")


def put_from_threads(storage: LocalStorage, path: str, count: int) -> list[bool]:
    barrier = threading.Barrier(count)
    won: list[bool] = []

    def put(i: int) -> None:
        barrier.wait()
        won.append(storage.put_if_absent(path, f"writer {i}".encode() * 1000))

    threads = [threading.Thread(target=put, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


def test_one_of_eight_writers_wins(tmp_path: Path) -> None:
    """[MDS-C-7] Of eight at once exactly one is told that it won, and its bytes are there, whole."""
    storage = LocalStorage()
    for round_ in range(20):
        path = tmp_path / "new directory" / f"{round_}.json"
        won = put_from_threads(storage, str(path), 8)
        assert sorted(won) == [False] * 7 + [True]
        assert path.read_bytes() in {f"writer {i}".encode() * 1000 for i in range(8)}
    assert len(list((tmp_path / "new directory").iterdir())) == 20


@pytest.mark.parametrize("error", [PermissionError, OSError])
def test_disks_without_hard_links(error: type[OSError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-7] Where a file cannot have two names, the name is taken exclusively instead."""

    def refused(*args: object) -> None:
        raise error(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refused)
    storage = LocalStorage()
    won = put_from_threads(storage, str(tmp_path / "1.json"), 8)
    assert sorted(won) == [False] * 7 + [True]
    assert len((tmp_path / "1.json").read_bytes()) == 8000
    assert [p.name for p in tmp_path.iterdir()] == ["1.json"]


def test_a_file_that_goes_while_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-3] A listing without the file that has just gone, not an empty one: that would be no index at all."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"x")
    scandir = os.scandir

    def late(path: Path) -> contextlib.nullcontext[list[os.DirEntry[str]]]:
        with scandir(path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        (tmp_path / "b").unlink()
        return contextlib.nullcontext(entries)

    monkeypatch.setattr(os, "scandir", late)
    assert [entry.name for entry in LocalStorage().list(str(tmp_path))] == ["a", "c"]


def test_nothing_is_left_of_a_failed_add(tmp_path: Path) -> None:
    """[MDS-C-1] A file that could not be copied whole is not there, not even in part."""
    with pytest.raises(StorageError, match="could not be written"):
        LocalStorage().add(tmp_path / "none", str(tmp_path / "md" / "f.parquet"))
    assert list((tmp_path / "md").iterdir()) == []


def test_a_file_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-1] While it is copied its name begins with ``._``, which readers of the format pass over."""
    seen: list[str] = []
    replace = Path.replace

    def spy(self: Path, target: Path) -> Path:
        seen.extend(p.name for p in self.parent.iterdir())
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", spy)
    (tmp_path / "source").write_bytes(b"x")
    LocalStorage().add(tmp_path / "source", f"{tmp_path}/md/f.parquet")
    assert seen == ["._f.parquet.tmp"]
    assert [p.name for p in (tmp_path / "md").iterdir()] == ["f.parquet"]
