"""A vacuum removes the indexes of former places of a dataset, and no other directory. Rule: [MDS-C-27]."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.metadatastore.samples import metadata_files_of, numbered_table, put_foreign, record_of
from xskip.metadatastore.commit import publish
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.maintenance.vacuum import Vacuum

DISK = LocalStorage()
OWN, FORMER, TORN, TABLE, LIVING, FOREIGN, EMPTY = (f"{i:064x}" for i in range(7))


def index_in(directory: Path, root: str, scratch: Path) -> Path:
    files = metadata_files_of([numbered_table(0, 2)], scratch)
    publish(DISK, str(directory), None, files, record_of((entry for _, entry in files), root))
    return directory


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return a lake with a dataset that was moved, beside whose index there are other directories."""
    home, scratch = tmp_path / "data/_xskip", tmp_path / "scratch"
    root, other = str(tmp_path / "data"), str(tmp_path / "other")
    index_in(home / OWN, root, scratch)
    index_in(home / FORMER, str(tmp_path / "gone"), scratch)
    torn = index_in(home / TORN, str(tmp_path / "gone"), scratch)
    for record in (torn / "_commits").iterdir():
        record.write_bytes(record.read_bytes()[:40])
    index_in(home / TABLE, root, scratch)
    index_in(home / LIVING, other, scratch)
    index_in(tmp_path / "other/_xskip" / LIVING, other, scratch)
    (home / "notes").mkdir()
    (home / EMPTY).mkdir()
    put_foreign(home / FOREIGN, [numbered_table(0, 2)])
    return tmp_path


def vacuum(lake: Path, seconds: float, *, dry_run: bool = False) -> tuple[set[str], set[str]]:
    location = IndexLocation(str(lake / "data"), str(lake / "data/_xskip" / OWN), str(lake / "data"))
    found = Vacuum(DISK, location, seconds).run(dry_run=dry_run)
    former, kept = ({Path(path).name for path in paths} for paths in (found.directories, found.kept))
    return former, kept


def test_only_indexes_of_former_places_go(lake: Path) -> None:
    """[MDS-C-27]"""
    others = {TORN, TABLE, LIVING, FOREIGN, EMPTY, "notes"}
    before = {path.name for path in (lake / "data/_xskip").iterdir()}
    assert vacuum(lake, 3600) == (set(), {*others, FORMER})
    time.sleep(0.01)
    assert vacuum(lake, 0, dry_run=True) == ({FORMER}, others)
    assert {path.name for path in (lake / "data/_xskip").iterdir()} == before
    assert vacuum(lake, 0) == ({FORMER}, others)
    assert {path.name for path in (lake / "data/_xskip").iterdir()} == before - {FORMER}
    assert len(list((lake / "data/_xskip" / TORN).glob("*.parquet"))) == 1
