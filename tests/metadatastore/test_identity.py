"""An index that is dropped and created again is a new index for every writer. Rules: [MDS-C-16] to [MDS-C-18]."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.metadatastore.samples import CountingStorage, commit, numbered_table, opened, replace_all
from xskip.errors import CommitConflictError, IndexDroppedError
from xskip.metadatastore.commit import CommitRecord, LiveSnapshot, find_live
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.maintenance.drop import remove_index

DISK = LocalStorage()
DIGEST = "0a" * 32


class Interrupted(CountingStorage):
    """A local disk that runs an action before its call number ``k``."""

    def __init__(self, k: int, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self._k, self._meanwhile = k, meanwhile

    def _run(self, work: Callable[..., Any], *args: Any) -> Any:
        self.calls += 1
        if self.calls == self._k:
            self._meanwhile()
        return work(*args)


class Case:
    """An index with three commits in a directory, and a writer that has begun on it."""

    def __init__(self, home: Path, name: str) -> None:
        self.md, self.scratch = str(home / name), home / "scratch"
        for i in range(3):
            replace_all(DISK, self.md, self.scratch, [numbered_table(i, i + 1), numbered_table(10 + i, 11 + i)])
        base = find_live(DISK, self.md)
        assert base is not None
        assert base.record is not None
        self.base: LiveSnapshot = base
        self.kept = base.record.metadata_files[:1]

    def write(self, storage: Any) -> CommitRecord:
        """Commit the writer's files: one file stays, one file is new."""
        return commit(storage, self.md, self.scratch, [numbered_table(90, 92)], self.base, self.kept)

    def drop(self, storage: Any = DISK) -> None:
        remove_index(storage, self.md)

    def create(self, storage: Any = DISK) -> CommitRecord:
        return commit(storage, self.md, self.scratch, [numbered_table(50, 52)])

    @property
    def files(self) -> set[str]:
        """Return all files in the directory, including records."""
        root = Path(self.md)
        return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()} if root.exists() else set()


def metadata_files_of(record: CommitRecord) -> set[str]:
    return {f.name for f in record.metadata_files}


def records_in(files: set[str]) -> list[str]:
    return sorted(name for name in files if name.startswith("_commits/"))


@pytest.mark.parametrize("name", [DIGEST, "chosen"])
@pytest.mark.parametrize("again", [False, True], ids=["dropped", "made again"])
def test_a_drop_at_every_step_of_a_commit(tmp_path: Path, name: str, *, again: bool) -> None:
    """[MDS-C-16] [MDS-C-17] The commit precedes the drop or is refused; the new index is unaffected."""
    refused = []
    for k in range(1, 50):
        case = Case(tmp_path / str(k), name)
        made: list[CommitRecord] = []

        def meanwhile(case: Case = case, made: list[CommitRecord] = made) -> None:
            case.drop()
            made.extend([case.create()] if again else [])

        storage = Interrupted(k, meanwhile)
        try:
            case.write(storage)
            refused.append(False)
        except IndexDroppedError:
            refused.append(True)
        if storage.calls < k:
            break
        expected = {"_commits/00000000000000000001.json"} | metadata_files_of(made[0]) if again else set()
        assert case.files == expected, k
        live = find_live(DISK, case.md)
        assert (live is not None) == again
        assert not again or opened(case.md).load().files.names.to_pylist() == ["/lake/events/f50", "/lake/events/f51"]
    assert refused == sorted(refused, reverse=True)
    assert refused.count(True) >= 4
    assert refused.count(False) >= 2


@pytest.mark.parametrize("name", [DIGEST, "chosen"])
def test_a_commit_at_every_step_of_a_drop(tmp_path: Path, name: str) -> None:
    """[MDS-C-16] [MDS-C-17] After the drop there is neither an index nor a file of it."""
    told = []
    for k in range(1, 50):
        case = Case(tmp_path / str(k), name)

        def meanwhile(case: Case = case) -> None:
            try:
                case.write(DISK)
                told.append("made")
            except IndexDroppedError:
                told.append("dropped")

        storage = Interrupted(k, meanwhile)
        case.drop(storage)
        if storage.calls < k:
            break
        assert find_live(DISK, case.md) is None, k
        assert case.files == set(), k
    assert {"made", "dropped"} == set(told)


def test_a_commit_at_every_step_of_the_next_create(tmp_path: Path) -> None:
    """[MDS-C-16] [MDS-C-17] A writer of the dropped index is refused; the new index has only its own files."""
    for k in range(1, 50):
        case = Case(tmp_path / str(k), "md")
        case.drop()

        def meanwhile(case: Case = case) -> None:
            with pytest.raises(IndexDroppedError):
                case.write(DISK)

        storage = Interrupted(k, meanwhile)
        made = case.create(storage)
        if storage.calls < k:
            break
        assert case.files == {"_commits/00000000000000000001.json"} | metadata_files_of(made), k
    assert k > 4


def test_a_record_of_a_dropped_index(tmp_path: Path) -> None:
    """[MDS-C-16] [MDS-C-18] The record of a writer that died before its last check is ignored and removed."""
    case = Case(tmp_path, "md")
    record = case.write(DISK)
    (left,) = [name for name in case.files if "0004-" in name]
    data = (Path(case.md) / left).read_bytes()
    case.drop()
    made = case.create()
    (Path(case.md) / left).write_bytes(data)
    assert record.number > made.number
    live = find_live(DISK, case.md)
    assert live is not None
    assert live.record == made
    replace_all(DISK, case.md, case.scratch, [numbered_table(60, 61)])
    assert left not in case.files
    assert opened(case.md).load().files.names.to_pylist() == ["/lake/events/f60"]


def as_before(md: str) -> None:
    """Rewrite the records in the form without identities of indexes."""
    for path in sorted((Path(md) / "_commits").iterdir()):
        body = json.loads(path.read_bytes())
        del body["index"], body["checksum"]
        path.unlink()
        path.with_name(f"{body['number']:020d}.json").write_text(json.dumps(body, indent=1))


def test_records_without_an_identity(tmp_path: Path) -> None:
    """[MDS-C-16] Records without an identity are valid, and the next commit gives the index an identity."""
    case = Case(tmp_path, "md")
    as_before(case.md)
    old = find_live(DISK, case.md)
    assert old is not None
    assert old.record is not None
    assert (old.record.number, old.record.index, old.names) == (3, "", case.base.names)
    new = commit(DISK, case.md, case.scratch, [numbered_table(20, 21)], old, case.kept)
    assert (new.number, new.index) == (4, old.index)
    with pytest.raises(CommitConflictError, match="another writer") as caught:
        commit(DISK, case.md, case.scratch, [numbered_table(30, 31)], old, case.kept)
    assert not isinstance(caught.value, IndexDroppedError)
    for i in range(12):
        replace_all(DISK, case.md, case.scratch, [numbered_table(i, i + 1)])
    assert records_in(case.files) == [
        "_commits/00000000000000000003.json",
        *(f"_commits/{n:020d}-{old.index}.json" for n in range(4, 17)),
    ]
    assert opened(case.md).load().files.names.to_pylist() == ["/lake/events/f11"]


def test_a_writer_that_began_without_an_identity(tmp_path: Path) -> None:
    """[MDS-C-16] [MDS-C-17] A writer that began before the identity is refused after a drop."""
    case = Case(tmp_path, "md")
    as_before(case.md)
    old = find_live(DISK, case.md)
    case.drop()
    made = case.create()
    with pytest.raises(IndexDroppedError):
        commit(DISK, case.md, case.scratch, [numbered_table(30, 31)], old)
    assert case.files == {"_commits/00000000000000000001.json"} | metadata_files_of(made)


@pytest.mark.parametrize("name", [DIGEST, "chosen"])
@pytest.mark.parametrize("old", [False, True], ids=["identity", "records without one"])
def test_a_drop_that_dies(tmp_path: Path, name: str, *, old: bool) -> None:
    """[MDS-C-18] After a crash at any step of a drop, the index is complete or absent.

    The next create removes the rest.
    """

    class Killed(BaseException):
        pass

    def kill() -> None:
        raise Killed

    seen = []
    for k in range(1, 50):
        case = Case(tmp_path / str(k), name)
        if old:
            as_before(case.md)
        storage = Interrupted(k, kill)
        try:
            case.drop(storage)
            break
        except Killed:
            pass
        live = find_live(DISK, case.md)
        seen.append(live is not None)
        assert live is None or live.names == case.base.names, k
        if live is None:
            made = case.create()
            assert case.files == {"_commits/00000000000000000001.json"} | metadata_files_of(made), k
        else:
            case.drop()
            assert case.files == set(), k
    assert seen == sorted(seen, reverse=True)
    assert {True, False} == set(seen)
