"""Commits on a full disk leave a complete snapshot. Rules: specs/metadatastore.rst, [MDS-C]."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.metadatastore.samples import commit, expected_rows, numbered_table, read_rows, refresh, replace_all
from xskip.errors import StorageError
from xskip.metadatastore.commit import find_live
from xskip.metadatastore.filesystem import LocalStorage

DISK = LocalStorage()
KILOBYTES = 256
PAGE = 4096


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of a few pages in memory."""
    place = tmp_path / "small"
    place.mkdir()
    told = ["mount", "-t", "tmpfs", "-o", f"size={KILOBYTES}k", "tmpfs", str(place)]
    try:
        done = subprocess.run(told, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs the command mount")
    if done.returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, pages: int) -> Path:
    """Fill a file system up to a number of free pages."""
    ballast = place / "ballast"
    free = os.statvfs(place)
    with ballast.open("wb") as file:
        file.write(bytes(free.f_bavail * free.f_frsize - pages * PAGE))
    return ballast


def test_a_first_commit(small: Path, tmp_path: Path) -> None:
    """[MDS-C-3] [MDS-C-21] With any number of free pages there is no index or a complete one.

    The next commit succeeds.
    """
    outcomes = []
    for pages in range(12):
        ballast, md = fill(small, pages), str(small / f"md{pages}")
        try:
            commit(DISK, md, tmp_path / "s", [numbered_table(0, 2), numbered_table(2, 4)])
        except StorageError as error:
            assert "No space left" in str(error)  # noqa: PT017 - some numbers of pages are enough
        outcomes.append(read_rows(md))
        ballast.unlink()
        replace_all(DISK, md, tmp_path / "s", [numbered_table(7, 9)])
        assert read_rows(md) == expected_rows((7, 9))
        live = find_live(DISK, md)
        assert live is not None
        assert {p.name for p in Path(md).glob("*.parquet")} == set(live.names)
        shutil.rmtree(md)
    assert {str(seen) for seen in outcomes} == {str(None), str(expected_rows((0, 4)))}


def test_a_later_commit(small: Path, tmp_path: Path) -> None:
    """[MDS-C-3] [MDS-C-21] The old or the new snapshot is complete, and the next commit succeeds."""
    old, new = expected_rows((0, 4)), expected_rows((0, 2), (2, 3), (4, 6))
    outcomes = []
    for pages in range(12):
        md = str(small / f"md{pages}")
        commit(DISK, md, tmp_path / "s", [numbered_table(0, 2), numbered_table(2, 4)])
        ballast = fill(small, pages)
        try:
            refresh(DISK, md, tmp_path / "s")
        except StorageError as error:
            assert "No space left" in str(error)  # noqa: PT017 - some numbers of pages are enough
        outcomes.append(read_rows(md))
        assert outcomes[-1] in (old, new)
        ballast.unlink()
        replace_all(DISK, md, tmp_path / "s", [numbered_table(7, 9)])
        assert read_rows(md) == expected_rows((7, 9))
        shutil.rmtree(md)
    assert {str(seen) for seen in outcomes} == {str(old), str(new)}
