"""The search for indexes finds those of a base location and those inside of datasets, and opens no data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from xskip.errors import StorageError
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.index_search import index_directories

DIGESTS = [f"{i:064x}" for i in range(6)]


def made(root: Path, *names: str) -> list[str]:
    for name in names:
        (root / name).mkdir(parents=True)
    return sorted(str(root / name) for name in names)


def test_a_base_location(tmp_path: Path) -> None:
    expected = made(tmp_path, *DIGESTS)
    made(tmp_path, "other", f"{DIGESTS[0]}/_commits")
    (tmp_path / "data.parquet").touch()
    assert index_directories(LocalStorage(), str(tmp_path)) == expected


@pytest.mark.parametrize("start", ["", "a", "a/events"])
def test_datasets_with_indexes_inside(tmp_path: Path, start: str) -> None:
    expected = made(
        tmp_path, *(f"a/events/_xskip/{digest}" for digest in DIGESTS[:2]), f"b/c/visits/_xskip/{DIGESTS[2]}"
    )
    made(
        tmp_path, "a/events/_xskip/tmp", "a/events/p=1", f"a/events/p=1/_xskip/{DIGESTS[3]}",
        f"a/other/p=1/_xskip/{DIGESTS[3]}", f"a/_hidden/t/_xskip/{DIGESTS[3]}", f"a/events/nested/_xskip/{DIGESTS[3]}",
        f"b/c/d/e/too_deep/_xskip/{DIGESTS[3]}",
    )  # fmt: skip
    below = [path for path in expected if path.startswith(str(tmp_path / start))]
    assert index_directories(LocalStorage(), str(tmp_path / start)) == below


def test_a_chosen_directory_has_commits(tmp_path: Path) -> None:
    made(tmp_path, "md/events/_commits", "md/empty", "_commits")
    assert index_directories(LocalStorage(), str(tmp_path)) == [str(tmp_path / "md" / "events")]


def test_a_search_ends(tmp_path: Path) -> None:
    class Endless(LocalStorage):
        listed = 0

        def directories(self, directory: str) -> Sequence[str]:
            self.listed += 1
            return [f"{directory}/d{i}" for i in range(25)]

    storage = Endless()
    assert index_directories(storage, "/lake") == []
    assert storage.listed == 10_000


def test_a_directory_that_cannot_be_listed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A search goes on without a directory below the first one, and says so."""
    expected = made(tmp_path, f"a/_xskip/{DIGESTS[0]}", f"c/_xskip/{DIGESTS[1]}")
    made(tmp_path, f"b/_xskip/{DIGESTS[2]}")

    class Closed(LocalStorage):
        def directories(self, directory: str) -> Sequence[str]:
            if directory == closed:
                raise StorageError("cannot list the directory", where=directory)
            return super().directories(directory)

    closed = str(tmp_path / "b")
    assert index_directories(Closed(), str(tmp_path)) == expected
    assert f"xskip does not search {closed}" in caplog.text
    with pytest.raises(StorageError):
        index_directories(Closed(), closed)
