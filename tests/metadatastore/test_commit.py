"""Commits replace one snapshot by the next. Rules: specs/metadatastore.rst, [MDS-C]."""

from __future__ import annotations

import copy
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import xskip
from tests.metadatastore.samples import FOREIGN, commit, numbered_table, put_foreign, record_of, replace_all
from xskip.errors import CommitConflictError, MetadataCorruptError, StorageError
from xskip.metadata.read_profile import ReadProfile
from xskip.metadatastore.codec import decode, encode, open_file
from xskip.metadatastore.commit import CommitRecord, RecordedFile, find_live, new_file_name, publish
from xskip.metadatastore.commit_records import RecordName, find_latest, read_record
from xskip.metadatastore.digests import footer_digest, sealed, unsealed
from xskip.metadatastore.filesystem import LocalStorage, PutInDoubtError
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.maintenance.history import history
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.writers import Writer, present_writer

DISK = LocalStorage()
DAY_SECONDS = 24 * 3600


@pytest.fixture
def md(tmp_path: Path) -> str:
    return str(tmp_path / "md")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


def metadata_files(md: str) -> set[str]:
    return {p.name for p in Path(md).iterdir() if p.is_file()}


def records(md: str) -> list[str]:
    """Return the names of the records, with a placeholder for the identity of the index."""
    live = find_live(DISK, md)
    index = live.index if live else ""
    names = (path.name for path in (Path(md) / "_commits").iterdir() if path.is_file())
    return sorted(name.replace(f"-{index}.json", "-index.json") for name in names)


def numbers(md: str) -> list[int]:
    """Return the numbers of the files in the live snapshot."""
    live = find_live(DISK, md)
    assert live is not None
    tables = [decode(open_file(Path(md) / name)) for name in live.names]
    return [int(name.rpartition("/f")[2]) for table in tables for name in table.files.names.to_pylist()]


def test_no_index(md: str) -> None:
    """[MDS-C-4] A missing or empty directory is not an index."""
    assert find_live(DISK, md) is None
    Path(md).mkdir()
    assert find_live(DISK, md) is None


def test_first_and_second_commit(md: str, scratch: Path) -> None:
    """[MDS-C-2] [MDS-C-3] [MDS-C-4] Commits count from 1; only files that are not replaced stay."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2), numbered_table(2, 4)])
    assert first.number == 1
    assert records(md) == ["00000000000000000001.json"]
    assert numbers(md) == [0, 1, 2, 3]
    live = find_live(DISK, md)
    second = commit(DISK, md, scratch, [numbered_table(9, 10)], live, first.metadata_files[1:])
    assert second.number == 2
    assert numbers(md) == [2, 3, 9]
    assert metadata_files(md) == {f.name for f in second.metadata_files}
    assert records(md) == ["00000000000000000001.json", "00000000000000000002-index.json"]


def test_a_commit_without_files(md: str, scratch: Path) -> None:
    """[MDS-C-4] An empty snapshot is an index of no files, and differs from no index."""
    commit(DISK, md, scratch, [numbered_table(0, 2)])
    replace_all(DISK, md, scratch, [])
    live = find_live(DISK, md)
    assert live is not None
    assert live.names == ()
    assert metadata_files(md) == set()


def test_what_a_record_holds(md: str, scratch: Path) -> None:
    """[MDS-C-2] A record has number, root, version, time, files, read profile and types."""
    before = int(time.time() * 1000)
    written = commit(DISK, md, scratch, [numbered_table(0, 3)])
    body = json.loads((Path(md) / "_commits/00000000000000000001.json").read_bytes())
    created = body.pop("created")
    assert before <= created <= int(time.time() * 1000)
    assert re.fullmatch("[0-9a-f]{8}", body.pop("checksum"))
    (name,) = metadata_files(md)
    assert re.fullmatch("[0-9a-f]{32}", written.index)
    footer = footer_digest(Path(md) / name)
    assert body == {
        "number": 1,
        "index": written.index,
        "root": "/lake/events",
        "version": 4,
        "files": [{"name": name, "rows": 3, "size": (Path(md) / name).stat().st_size, "footer": footer}],
        "reading": {"format": "parquet", "options": {}, "conf": {}, "schema": ""},
        "types": {"k": "int"},
        "writer": present_writer().to_json(),
    }
    live = find_live(DISK, md)
    assert live is not None
    assert live.record == written


def test_record_round_trip() -> None:
    """[MDS-C-2] Strings with special characters are read back from a record."""
    reading = ReadProfile(
        "csv", {"sep": '"\\\t\u2028'}, {"spark.sql.caseSensitive": "true"}, {"position": {"a": "0", "b c": "1"}}
    )
    record = CommitRecord(7, "s3a://b/ü #%\U0001f600", 4, (RecordedFile("f", 0, 2**40),), reading, {"`a.b`": "int"}, 1)
    assert CommitRecord.from_bytes(record.to_bytes()) == record


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"7", b"{}", b"\xff\xfe", b'{"number":1}', b'{"files":[{"name":"x"}]}', b"[" * 100_000],
)
def test_broken_records(data: bytes) -> None:
    """[MDS-C-4] Bytes that are not a record raise an error, which readers ignore."""
    with pytest.raises(MetadataCorruptError):
        CommitRecord.from_bytes(data)


def _places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path to each value within a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield (*path, key)
        yield from _places(each, (*path, key))


@pytest.mark.parametrize("other", [129, -1, True, 1.5, "text", None, [], {}], ids=repr)
def test_values_of_other_types(other: object) -> None:
    """[MDS-C-4] A record is invalid if a value has the wrong JSON type."""
    reading = ReadProfile("csv", {"sep": ","}, {"spark.sql.caseSensitive": "true"}, {"position": {"a": "0"}})
    record = CommitRecord(7, "file:/d", 4, (RecordedFile("f", 3, 9, "x"),), reading, {"a": "int"}, 1, "0" * 32)
    body: dict[str, Any] = json.loads(unsealed(record.to_bytes()))
    ways = [way for way in _places(body) if other is not None or way != ("reading",)]
    refused = 0
    for *way, last in ways:
        forged = copy.deepcopy(body)
        inner: Any = forged
        for step in way:
            inner = inner[step]
        if type(inner[last]) is type(other) and other != -1:
            continue
        inner[last] = other
        with pytest.raises(MetadataCorruptError):
            CommitRecord.from_bytes(sealed(json.dumps(forged, indent=1).encode()))
        refused += 1
    assert refused >= len(ways) / 2


def test_record_cut_at_any_length() -> None:
    """[MDS-C-4] A truncated record is invalid."""
    whole = record_of([RecordedFile("part-0", 3, 100)]).to_bytes()
    for length in range(len(whole)):
        with pytest.raises(MetadataCorruptError):
            CommitRecord.from_bytes(whole[:length])


@pytest.mark.parametrize("length", [0, 1, 20, 100, -1])
def test_torn_record_falls_back(length: int, md: str, scratch: Path) -> None:
    """[MDS-C-4] If a record is incomplete, the record before it counts, with its files."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2)])
    (Path(md) / "_commits/00000000000000000002.json").write_bytes(first.to_bytes()[:length])
    live = find_live(DISK, md)
    assert live is not None
    assert live.record == first
    assert numbers(md) == [0, 1]


def test_a_record_with_the_name_of_another_index(md: str, scratch: Path) -> None:
    """[MDS-C-4] A record whose name contains another identity than the record counts as incomplete."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2)])
    second = replace_all(DISK, md, scratch, [numbered_table(2, 4)])
    latest = max((Path(md) / "_commits").iterdir())
    renamed = latest.rename(latest.with_name(f"{latest.name[:20]}-{'0' * 32}.json"))
    with pytest.raises(MetadataCorruptError, match="belongs to another index than its file name states"):
        read_record(DISK, md, RecordName(2, "0" * 32))
    renamed.rename(latest)
    assert read_record(DISK, md, RecordName(2, first.index)) == (second, first.index)


def test_torn_record_does_not_block(md: str, scratch: Path) -> None:
    """[MDS-C-4] [MDS-C-7] A commit succeeds although an incomplete record has the next number."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2)])
    torn = Path(md) / "_commits/00000000000000000002.json"
    torn.write_bytes(first.to_bytes()[:50])
    old = time.time() - 2 * DAY_SECONDS
    os.utime(torn, (old, old))
    replace_all(DISK, md, scratch, [numbered_table(5, 7)])
    assert numbers(md) == [5, 6]


def test_two_writers_on_one_base(md: str, scratch: Path) -> None:
    """[MDS-C-7] The faster writer wins; the other gets an error and leaves no file."""
    commit(DISK, md, scratch, [numbered_table(0, 2)])
    base = find_live(DISK, md)
    winner = commit(DISK, md, scratch, [numbered_table(2, 4)], base)
    with pytest.raises(CommitConflictError, match=r"another writer.*md.*refresh\(\) again"):
        commit(DISK, md, scratch, [numbered_table(4, 6), numbered_table(6, 8)], base)
    assert numbers(md) == [2, 3]
    assert metadata_files(md) == {f.name for f in winner.metadata_files}
    assert records(md)[-1] == "00000000000000000002-index.json"


class Refusing(LocalStorage):
    """A disk whose first puts fail, before or after their work."""

    def __init__(self, error: type[StorageError], times: int, *, after: bool) -> None:
        self._error, self._times, self._after = error, times, after

    def put_if_absent(self, path: str, data: bytes) -> bool:
        if not self._times:
            return super().put_if_absent(path, data)
        self._times -= 1
        if self._after:
            super().put_if_absent(path, data)
        raise self._error("no answer")


def test_a_record_that_cannot_be_put(md: str, scratch: Path) -> None:
    """[MDS-C-3] [MDS-C-21] The old snapshot stays, the new files are removed, and the next commit succeeds."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2)])
    live = find_live(DISK, md)
    with pytest.raises(StorageError, match="no answer"):
        commit(Refusing(StorageError, 1, after=False), md, scratch, [numbered_table(2, 4)], live)
    assert metadata_files(md) == {first.metadata_files[0].name}
    replace_all(DISK, md, scratch, [numbered_table(4, 6)])
    assert numbers(md) == [4, 5]


@pytest.mark.parametrize("after", [False, True], ids=["not put", "put"])
def test_a_put_without_an_answer(md: str, scratch: Path, *, after: bool) -> None:
    """[MDS-C-20] The put is repeated, and a record that exists already is recognised by its bytes."""
    commit(DISK, md, scratch, [numbered_table(0, 2)])
    storage = Refusing(PutInDoubtError, 2, after=after)
    record = commit(storage, md, scratch, [numbered_table(2, 4)], find_live(DISK, md))
    assert metadata_files(md) == {f.name for f in record.metadata_files}
    assert records(md)[-1] == "00000000000000000002-index.json"
    assert numbers(md) == [2, 3]


def test_puts_that_are_never_answered(md: str, scratch: Path) -> None:
    """[MDS-C-3] [MDS-C-20] A final read of the record decides; without a record the files stay."""
    commit(DISK, md, scratch, [numbered_table(0, 2)])
    put, lost = (Refusing(PutInDoubtError, 9, after=after) for after in (True, False))
    commit(put, md, scratch, [numbered_table(2, 4)], find_live(DISK, md))
    assert numbers(md) == [2, 3]
    with pytest.raises(PutInDoubtError):
        commit(lost, md, scratch, [numbered_table(4, 6)], find_live(DISK, md))
    assert len(metadata_files(md)) == 2
    assert numbers(md) == [2, 3]


class Late(LocalStorage):
    """A disk that executes its first put much later, and refuses the second."""

    def __init__(self) -> None:
        self.first: tuple[str, bytes] | None = None

    def put_if_absent(self, path: str, data: bytes) -> bool:
        if self.first is None:
            self.first = path, data
            raise PutInDoubtError("no answer")
        raise StorageError("the token has expired")


def test_a_put_that_is_carried_out_late(md: str, scratch: Path) -> None:
    """[MDS-C-3] The files stay if a put in doubt is refused later, because the first put may still arrive."""
    late = Late()
    with pytest.raises(PutInDoubtError):
        commit(late, md, scratch, [numbered_table(0, 1)])
    assert late.first is not None
    assert DISK.put_if_absent(*late.first)
    live = find_live(DISK, md)
    assert live is not None
    assert len(live.names) == 1


class Mute(LocalStorage):
    """A disk on which reads fail after a record was put; the put may report another writer's record."""

    def __init__(self, *, denies: bool) -> None:
        self._denies, self._put = denies, False

    def put_if_absent(self, path: str, data: bytes) -> bool:
        self._put = super().put_if_absent(path, data)
        return self._put and not self._denies

    def read(self, path: str) -> bytes:
        if self._put:
            raise StorageError("no answer")
        return super().read(path)


def test_a_record_that_cannot_be_read_again(md: str, scratch: Path) -> None:
    """[MDS-C-3] [MDS-C-17] The files of a record that may exist stay, and no other files are removed."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2)])
    second = commit(Mute(denies=False), md, scratch, [numbered_table(2, 4)], find_live(DISK, md))
    assert numbers(md) == [2, 3]
    assert metadata_files(md) == {first.metadata_files[0].name, second.metadata_files[0].name}
    with pytest.raises(PutInDoubtError):
        commit(Mute(denies=True), md, scratch, [numbered_table(4, 6)], find_live(DISK, md))
    assert numbers(md) == [4, 5]


def test_two_first_writers(md: str, scratch: Path) -> None:
    """[MDS-C-7] The slower of two first writers gets an error and leaves no file."""
    commit(DISK, md, scratch, [numbered_table(0, 2)], None)
    with pytest.raises(CommitConflictError):
        commit(DISK, md, scratch, [numbered_table(2, 4)], None)
    assert numbers(md) == [0, 1]
    assert len(metadata_files(md)) == 1


def test_new_names() -> None:
    """[MDS-C-1] Names have Spark's form, with a unique UUID of version 8."""
    form = re.compile(
        r"part-(\d{5})-[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-c000\.snappy\.parquet"
    )
    names = [new_file_name(i) for i in range(200)]
    assert [int(form.fullmatch(name)[1]) for name in names] == list(range(200))  # type: ignore[index]
    assert len({name[11:] for name in names}) == 200


def test_foreign_file(md: str, scratch: Path) -> None:
    """[MDS-C-5] After another writer has added a file, the listing counts until the next commit."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2)])
    put_foreign(md, [numbered_table(5, 6)])
    live = find_live(DISK, md)
    assert live is not None
    assert live.foreign is True
    assert live.record == first
    assert live.names == tuple(sorted([FOREIGN.format(0), first.metadata_files[0].name]))
    replace_all(DISK, md, scratch, [numbered_table(7, 8)])
    live = find_live(DISK, md)
    assert live is not None
    assert live.foreign is False
    assert numbers(md) == [7]


def test_foreign_files_alone(md: str) -> None:
    """[MDS-C-5] A directory with only files of other writers is an index without a record."""
    Path(md).mkdir()
    for name in ("part-1.parquet", "_SUCCESS", "_x.parquet", ".part-1.parquet.crc", ".y.parquet", "notes.txt"):
        (Path(md) / name).write_bytes(b"")
    live = find_live(DISK, md)
    assert live is not None
    assert (live.record, live.names, live.foreign) == (None, ("part-1.parquet",), True)


def test_unfinished_files_are_ignored(md: str, scratch: Path) -> None:
    """[MDS-C-6] Files of xskip without a record are ignored, with or without a snapshot."""
    Path(md).mkdir()
    encode(numbered_table(5, 6), "/lake/events", Path(md) / new_file_name(0))
    assert find_live(DISK, md) is None
    first = commit(DISK, md, scratch, [numbered_table(0, 2)])
    # nobody can commit what was there before the index began
    assert metadata_files(md) == {first.metadata_files[0].name}
    encode(numbered_table(6, 7), "/lake/events", Path(md) / new_file_name(1))
    assert numbers(md) == [0, 1]
    replace_all(DISK, md, scratch, [numbered_table(2, 3)])
    assert len(metadata_files(md)) == 2


def test_left_over_files_are_removed_after_a_day(md: str, scratch: Path) -> None:
    """[MDS-C-6] The next commit removes old files; younger files may belong to a running build."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2)])
    old, young, present = new_file_name(0), new_file_name(0), first.metadata_files[0].name
    for name, age in ((old, DAY_SECONDS + 60), (young, DAY_SECONDS - 600), (present, 9 * DAY_SECONDS)):
        (Path(md) / name).touch()
        os.utime(Path(md) / name, (time.time() - age, time.time() - age))
    other = Path(md) / "part-notes.txt"
    other.touch()
    os.utime(other, (0, 0))
    second = commit(DISK, md, scratch, [numbered_table(2, 4)], find_live(DISK, md), first.metadata_files)
    assert metadata_files(md) == {young, other.name, present, second.metadata_files[1].name}


def test_temporary_names_are_removed_after_a_day(md: str, scratch: Path) -> None:
    """[MDS-C-6] Temporary files of killed writers are removed; other hidden files stay."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2)])
    of_record = f"_commits/._{2:020d}-{first.index}.json.{first.index}.tmp"
    names = [f"._{new_file_name(0)}.tmp", f"._{new_file_name(0)}.0b7e6a4c-8f0d-4f2e-9d4e-0c5f1a2b3c4d.tmp", of_record]
    others = ["._notes.tmp", f".{new_file_name(0)}.crc", "_commits/._7.json.tmp"]
    for name in (*names, *others):
        (Path(md) / name).touch()
        os.utime(Path(md) / name, (time.time() - DAY_SECONDS - 60,) * 2)
    young = f"._{new_file_name(0)}.tmp"
    (Path(md) / young).touch()
    replace_all(DISK, md, scratch, [numbered_table(2, 4)])
    found = {str(p.relative_to(md)) for p in Path(md).rglob("*") if p.name.startswith(".")}
    assert found == {*others, young}


def test_ten_records_are_kept(md: str, scratch: Path) -> None:
    """[MDS-C-8] The first record, the latest ten, and those of the last 30 days stay."""
    for i in range(13):
        replace_all(DISK, md, scratch, [numbered_table(i, i + 1)])
    assert len(records(md)) == 13
    for days, name in ((31, "0002-"), (29, "0003-"), (31, "0009-")):
        (path,) = (path for path in (Path(md) / "_commits").iterdir() if name in path.name)
        os.utime(path, (time.time() - days * DAY_SECONDS,) * 2)
    replace_all(DISK, md, scratch, [numbered_table(13, 14)])
    assert records(md) == [f"{1:020d}.json", *(f"{n:020d}-index.json" for n in range(3, 15))]
    assert numbers(md) == [13]


def archived(md: str) -> list[Path]:
    return sorted((Path(md) / "_commits/archive").glob("*"))


def commit_often(md: str, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit 16 times, with at most 12 records of which 5 stay."""
    monkeypatch.setattr("xskip.metadatastore.commit._MAX_RECORDS", 12)
    monkeypatch.setattr("xskip.metadatastore.commit._KEPT_OF_MANY", 5)
    for i in range(16):
        replace_all(DISK, md, scratch, [numbered_table(i, i + 1)])


def commits_of(md: str) -> list[int]:
    return [each.number for each in history(DISK, IndexLocation("/data", md, "/data"))]


def test_many_records_are_archived(md: str, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-8] [MDS-C-33] Of many commits in 30 days, the latest records stay, and a file has the others."""
    commit_often(md, scratch, monkeypatch)
    assert records(md) == [f"{1:020d}.json", *(f"{n:020d}-index.json" for n in range(10, 17))]
    (file,) = archived(md)
    assert re.fullmatch(rf"{2:020d}-{9:020d}-[0-9a-f]{{32}}-[0-9a-f]{{32}}\.json", file.name)
    assert commits_of(md) == list(range(1, 17))
    assert numbers(md) == [15]
    before = {each.number: each for each in history(DISK, IndexLocation("/data", md, "/data"))}
    for i in range(16, 22):
        replace_all(DISK, md, scratch, [numbered_table(i, i + 1)])
    assert len(archived(md)) == 2
    after = {each.number: each for each in history(DISK, IndexLocation("/data", md, "/data"))}
    assert list(after) == list(range(1, 23))
    assert {number: after[number] for number in before} == before
    assert after[7].files == 1


def test_the_archive_has_commits_of_one_index_and_of_30_days(
    md: str, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[MDS-C-33]"""
    commit_often(md, scratch, monkeypatch)
    (file,) = archived(md)
    other = re.sub(r"-[0-9a-f]{32}-", f"-{'0' * 32}-", file.name)
    file.with_name(other).write_bytes(file.read_bytes().replace(b'"refresh"', b'"create"'))
    (Path(md) / "_commits/archive/notes.json").touch()
    assert commits_of(md) == list(range(1, 17))
    os.utime(file, (time.time() - 31 * DAY_SECONDS,) * 2)
    for i in range(16, 22):
        replace_all(DISK, md, scratch, [numbered_table(i, i + 1)])
    assert [each.name[:20] for each in archived(md)] == [f"{10:020d}", "notes.json"]
    assert commits_of(md) == [1, *range(10, 23)]


@pytest.mark.parametrize("damage", ["cut", "changed", "another type", "no list", "an unknown key"])
def test_a_damaged_archive(md: str, scratch: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    """[MDS-C-33] The history passes over it, and shows the commits that are left."""
    commit_often(md, scratch, monkeypatch)
    (file,) = archived(md)
    body = json.loads(unsealed(file.read_bytes()))
    match damage:
        case "cut":
            file.write_bytes(file.read_bytes()[:-30])
        case "changed":
            file.write_bytes(file.read_bytes().replace(b'"files": 1', b'"files": 2'))
        case "another type":
            body["commits"][0]["files"] = "1"
            file.write_bytes(sealed(json.dumps(body, indent=1).encode()))
        case "no list":
            file.write_bytes(sealed(json.dumps({"commits": 3}, indent=1).encode()))
        case "an unknown key":
            body["commits"][0]["weather"] = "fine"
            file.write_bytes(sealed(json.dumps(body, indent=1).encode()))
    expected = [*range(1, 17)] if damage == "an unknown key" else [1, *range(10, 17)]
    assert commits_of(md) == expected


def test_records_stay_if_the_archive_cannot_be_written(md: str, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-33]"""

    def refuse(*_: object) -> None:
        raise StorageError("cannot write")

    with monkeypatch.context() as patched:
        patched.setattr("xskip.metadatastore.commit_archive.put_once", refuse)
        commit_often(md, scratch, monkeypatch)
        assert len(records(md)) == 16
    replace_all(DISK, md, scratch, [numbered_table(16, 17)])
    assert len(records(md)) == 1 + 5
    assert commits_of(md) == list(range(1, 18))


def test_a_record_names_its_writer(md: str, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-31] Any value in place of the writer is accepted."""
    monkeypatch.setattr("xskip.metadatastore.writers._declared", Writer("ada", "nightly (app-1)", "", "4.1.1"))
    made = commit(DISK, md, scratch, [numbered_table(0, 2)])
    assert made.writer == Writer("ada", "nightly (app-1)", xskip.__version__, "4.1.1")
    assert CommitRecord.from_bytes(made.to_bytes()) == made
    monkeypatch.setattr("xskip.metadatastore.writers._declared", Writer())
    monkeypatch.setattr("getpass.getuser", lambda: "x" * 300)
    made = replace_all(DISK, md, scratch, [numbered_table(2, 4)])
    assert CommitRecord.from_bytes(made.to_bytes()).writer == Writer("x" * 200, "", xskip.__version__, "")
    others: tuple[Any, ...] = (None, 3, [], {"user": 3, "other": "x"})
    for odd in others:
        assert Writer.parse(odd) == Writer()


def test_other_files_among_the_records(md: str, scratch: Path) -> None:
    """[MDS-C-4] Files with other names than records are ignored, whatever their order."""
    commit(DISK, md, scratch, [numbered_table(0, 2)])
    for name in ("9.json", "00000000000000000009.json.tmp", "._00000000000000000009.json.abc.tmp", "z"):
        (Path(md) / "_commits" / name).write_bytes(b"{")
    assert numbers(md) == [0, 1]


def test_vanished_files(md: str, scratch: Path) -> None:
    """[MDS-C-9] A record that names missing files raises an error with this reason."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2), numbered_table(2, 4)])
    (Path(md) / first.metadata_files[0].name).unlink()
    with pytest.raises(
        MetadataCorruptError, match=r"metadata files are missing .*1 missing.*drop the index and create it"
    ):
        find_live(DISK, md)


def test_an_incomplete_record_without_the_files_of_the_one_before(md: str, scratch: Path) -> None:
    """[MDS-C-4] [MDS-C-9] The error names the incomplete record, which is why files seem to be missing."""
    commit(DISK, md, scratch, [numbered_table(0, 2)])
    replace_all(DISK, md, scratch, [numbered_table(2, 4)])
    latest = max((Path(md) / "_commits").iterdir())
    latest.write_bytes(latest.read_bytes()[:20])
    gone = f"1 missing, the first of them part-.*; the commit record {latest.name} is incomplete"
    with pytest.raises(MetadataCorruptError, match=gone):
        find_live(DISK, md)


def test_a_source_that_is_not_there(md: str, scratch: Path) -> None:
    """[MDS-C-3] A failed publish leaves the old snapshot and no new file."""
    first = commit(DISK, md, scratch, [numbered_table(0, 2)])
    files = write_files(numbered_table(2, 4), "/lake/events", scratch, 0)
    files.append((scratch / "none", RecordedFile(new_file_name(1), 1, 1)))
    with pytest.raises(StorageError, match="cannot write the file"):
        publish(DISK, md, find_live(DISK, md), files, record_of(entry for _, entry in files))
    assert numbers(md) == [0, 1]
    assert metadata_files(md) == {first.metadata_files[0].name}


class Fleeting(LocalStorage):
    """A storage whose records are listed, and gone when they are read."""

    def read(self, path: str) -> bytes:
        raise FileNotFoundError(path)


def test_records_that_are_gone_whenever_they_are_read(md: str, scratch: Path) -> None:
    """[MDS-C-9] This is an error, and not the absence of an index, over which others would be created."""
    commit(DISK, md, scratch, [numbered_table(0, 1)])
    with pytest.raises(MetadataCorruptError, match="other writers changed the index repeatedly"):
        find_latest(Fleeting(), md)
    with pytest.raises(MetadataCorruptError, match="other writers changed the index repeatedly"):
        find_live(Fleeting(), md)
