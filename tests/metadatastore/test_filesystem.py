"""The storage on a local disk fulfils the contract.

Rules: specs/metadatastore.rst, [MDS-C-1], [MDS-C-3] and [MDS-C-12].
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.metadatastore.filesystem_contract import CHECKS, Check
from xskip.errors import StorageError
from xskip.metadatastore.filesystem import LocalStorage, local_path, put_once


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check: Check, prefix: str, tmp_path: Path) -> None:
    """[MDS-C-12] The contract holds for plain paths and both forms of URI, in a directory with special characters."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    check(LocalStorage(), f"{prefix}{tmp_path}/md ü %20#1", scratch)
    assert (tmp_path / "md ü %20#1").exists() or check.__name__ == "nothing_there"


def test_local_path() -> None:
    """[MDS-C-12] URIs contain decoded paths, as in Hadoop, so that a percent sign has no special meaning."""
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
    """[MDS-C-7] Of eight concurrent writers exactly one wins, and its file is complete."""
    storage = LocalStorage()
    for round_ in range(20):
        path = tmp_path / "new directory" / f"{round_}.json"
        won = put_from_threads(storage, str(path), 8)
        assert sorted(won) == [False] * 7 + [True]
        assert path.read_bytes() in {f"writer {i}".encode() * 1000 for i in range(8)}
    assert len(list((tmp_path / "new directory").iterdir())) == 20


@pytest.mark.parametrize("error", [PermissionError, OSError])
def test_disks_without_hard_links(error: type[OSError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-7] Without hard links, the name is created exclusively."""

    def refused(*args: object) -> None:
        raise error(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refused)
    storage = LocalStorage()
    won = put_from_threads(storage, str(tmp_path / "1.json"), 8)
    assert sorted(won) == [False] * 7 + [True]
    assert len((tmp_path / "1.json").read_bytes()) == 8000
    assert [p.name for p in tmp_path.iterdir()] == ["1.json"]


def test_a_file_that_goes_while_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-3] A listing omits a file that was just removed, and still contains all others."""
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


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_full_disk_leaves_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool) -> None:
    """[MDS-C-3] [MDS-C-21] A full disk leaves no record, so that the next writer finds the name free."""

    def refused(*args: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "1.json"
    with monkeypatch.context() as patch:
        if not links:
            patch.setattr(os, "link", refused)
        real = os.fsync
        calls: Iterator[Callable[[int], None]] = iter([full] if links else [real, full])

        def sync(descriptor: int) -> None:
            next(calls, real)(descriptor)

        patch.setattr(os, "fsync", sync)
        with pytest.raises(StorageError, match=r"cannot write the file .*1\.json.*No space left.*free some space"):
            LocalStorage().put_if_absent(str(path), b"{}")
    assert list(tmp_path.iterdir()) == []
    assert LocalStorage().put_if_absent(str(path), b"{}") is True


def test_a_part_of_the_path_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    source = tmp_path / "source"
    source.write_bytes(b"x")
    for path in (f"{tmp_path}/file/x", f"{tmp_path}/file/folder/x"):
        with pytest.raises(StorageError, match=r"cannot write the file .*a part is no directory; .*location"):
            LocalStorage().add(source, path)


@pytest.mark.skipif(sys.platform != "linux", reason="what a descriptor is of is asked of Linux")
def test_bytes_are_on_the_disk_before_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-21] A file is synced before it gets its name, and then its directory and all that hold new directories."""
    done: list[str] = []
    fsync, link, replace = os.fsync, os.link, Path.replace

    def note_fsync(descriptor: int) -> None:
        done.append("sync " + Path(os.readlink(f"/proc/self/fd/{descriptor}")).name[:8])
        fsync(descriptor)

    def note_link(source: Path, target: Path) -> None:
        done.append("name")
        link(source, target)

    def note_replace(source: Path, target: Path) -> Path:
        done.append("name")
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "link", note_link)
    monkeypatch.setattr(Path, "replace", note_replace)
    storage, source = LocalStorage(), tmp_path / "source"
    source.write_bytes(b"x")
    storage.add(source, f"{tmp_path}/above/md/f.parquet")
    assert done == ["sync ._f.parq", "name", "sync md", "sync above", f"sync {tmp_path.name[:8]}"]
    done.clear()
    storage.put_if_absent(f"{tmp_path}/above/md/_commits/1.json", b"{}")
    assert done == ["sync ._1.json", "name", "sync _commits", "sync md"]
    done.clear()
    storage.add(source, f"{tmp_path}/above/md/g.parquet")
    storage.put_if_absent(f"{tmp_path}/above/md/_commits/2.json", b"{}")
    assert done == ["sync ._g.parq", "name", "sync md", "sync ._2.json", "name", "sync _commits"]


def refused(storage: LocalStorage, place: Path) -> list[str]:
    """Return the messages of calls on a place that cannot be used."""
    (source := place.with_name("source")).write_bytes(b"x")
    calls: dict[str, Callable[[], object]] = {
        "list": lambda: storage.list(str(place)),
        "read": lambda: storage.read(f"{place}/x"),
        "write": lambda: storage.put_if_absent(f"{place}/x", b"1"),
        "write ": lambda: storage.add(source, f"{place}/x"),
        "remove": lambda: storage.remove([f"{place}/x"]),
    }
    said = []
    for action, call in calls.items():
        pattern = f"cannot {action.strip()} the (file|directory) .*place.*; check"
        with pytest.raises(StorageError, match=pattern) as caught:
            call()
        said.append(str(caught.value.found))
    return said


def test_a_loop_of_links(tmp_path: Path) -> None:
    """[MDS-C-21] An error of the operating system becomes a StorageError that names the place."""
    (tmp_path / "place").symlink_to(tmp_path / "place")
    said = refused(LocalStorage(), tmp_path / "place")
    assert said[0] == "Too many levels of symbolic links"


def test_a_place_of_somebody_else(tmp_path: Path) -> None:
    """[MDS-C-21] A directory without permissions raises a StorageError, and does not count as empty."""
    place = tmp_path / "place"
    place.mkdir(mode=0)
    tmp_path.chmod(0o777)
    for above in tmp_path.parents[:3]:
        if above.stat().st_uid == os.geteuid():
            above.chmod(0o755)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65534)  # whom the permissions concern
        assert set(refused(LocalStorage(), place)) == {"Permission denied"}
        for call in (LocalStorage().directories, LocalStorage().fetch):
            with pytest.raises(StorageError, match="Permission denied"):
                call(f"{place}/x")
    finally:
        if root:
            os.seteuid(0)
        place.chmod(0o700)


def test_nothing_is_left_of_a_failed_add(tmp_path: Path) -> None:
    """[MDS-C-1] A failed copy leaves no file and no part of it."""
    with pytest.raises(StorageError, match="cannot write the file"):
        LocalStorage().add(tmp_path / "none", str(tmp_path / "md" / "f.parquet"))
    assert list((tmp_path / "md").iterdir()) == []


def test_a_file_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-1] During the copy, the file's name begins with ``._``, which readers of the format ignore."""
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


def test_checksums_of_a_removed_file_go_with_it(tmp_path: Path) -> None:
    """A later file of the same name can be read by Hadoop, and other files keep their checksums."""
    for name in ("a", ".a.crc", "b", ".b.crc", ".c.crc"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / ("x" * 255)).write_bytes(b"")
    LocalStorage().remove([f"file:{tmp_path}/a", f"{tmp_path}/{'x' * 255}", f"{tmp_path}/none"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.crc", ".c.crc", "b"]


def test_a_name_that_another_writer_took_and_removed(tmp_path: Path) -> None:
    """[MDS-C-20] The bytes are not written, and the writer learns so."""

    class Taken(LocalStorage):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            return False

    assert put_once(Taken(), str(tmp_path / "1.json"), b"{}") is False
    assert put_once(LocalStorage(), str(tmp_path / "1.json"), b"{}") is True
    assert put_once(Taken(), str(tmp_path / "1.json"), b"{}") is True
    assert put_once(Taken(), str(tmp_path / "1.json"), b"[]") is False


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_cannot_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool) -> None:
    """[MDS-C-21] An error of the disk, or a write that ends early, leaves no record."""

    def refused(*_: object) -> None:
        raise OSError(errno.EIO if links else errno.EPERM, "refused")

    class Short(io.FileIO):
        def write(self, data: Any) -> int:
            return super().write(bytes(data)[:1])

    monkeypatch.setattr(os, "link", refused)
    real = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, mode, **kw: Short(path, "x") if mode == "xb" else real(path, mode, **kw)
    )
    with pytest.raises(StorageError, match="refused.*check the storage" if links else "No space left.*free some space"):
        LocalStorage().put_if_absent(str(tmp_path / "1.json"), b"{}")
    assert list(tmp_path.iterdir()) == []
