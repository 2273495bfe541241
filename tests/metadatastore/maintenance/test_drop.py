"""A drop removes the index and nothing else. Rules: specs/metadatastore.rst, [MDS-C-13]."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.metadatastore.samples import FOREIGN, commit, files_of, minmax, put_foreign, table_of
from xskip.errors import MetadataCorruptError, MetadataNotFoundError, XskipError
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.maintenance.drop import remove_index

DISK = LocalStorage()
TABLE = table_of(files_of(["/lake/events/a"]), [minmax("v", "int", [1], [2])])


def index(tmp_path: Path, name: str) -> Path:
    commit(DISK, str(tmp_path / name), tmp_path / "s", [TABLE])
    return tmp_path / name


def names(directory: Path) -> set[str]:
    return {str(p.relative_to(directory)) for p in directory.rglob("*")} if directory.exists() else set()


def test_a_directory_named_by_a_digest_goes(tmp_path: Path) -> None:
    """[MDS-C-13] The directory is removed with all its contents, in any state."""
    md = index(tmp_path, "0a" * 32)
    (md / "odd.parquet").write_bytes(b"torn")
    (md / "note.txt").write_text("x")
    assert remove_index(DISK, str(md)) == 2
    assert not md.exists()


def test_a_chosen_directory_that_holds_the_index_alone_goes(tmp_path: Path) -> None:
    """[MDS-C-13] The marker files of writers beside metadata files are removed as well."""
    md = index(tmp_path, "md")
    put_foreign(md, [TABLE])
    foreign = FOREIGN.format(0)
    for name in ("_SUCCESS", f".{foreign}.crc", f"._{foreign}.tmp"):
        (md / name).write_bytes(b"")
    assert remove_index(DISK, str(md)) == 2
    assert not md.exists()


def test_what_is_no_metadata_stays(tmp_path: Path) -> None:
    """[MDS-C-13] Other files and directories in a directory that a user chose stay."""
    md = index(tmp_path, "md")
    (md / "note.txt").write_text("x")
    (md / "p=1").mkdir()
    (md / "p=1/data.parquet").write_bytes(b"data")
    for name in ("_SUCCESS", "rows.csv", ".rows.csv.crc"):
        (md / name).write_text("x")
    remove_index(DISK, str(md))
    assert names(md) == {"note.txt", "p=1", "p=1/data.parquet", "_SUCCESS", "rows.csv", ".rows.csv.crc"}


def test_a_removal_that_does_not_happen(tmp_path: Path) -> None:
    """[MDS-C-13] A drop raises an error if the storage silently removes nothing."""

    class Deaf(LocalStorage):
        def remove(self, paths: object) -> None: ...

        def remove_tree(self, directory: str) -> None: ...

    for name in ("md", "0a" * 32):
        with pytest.raises(XskipError, match="cannot remove the index"):
            remove_index(Deaf(), str(index(tmp_path, name)))


def test_data_where_metadata_should_be(tmp_path: Path) -> None:
    """[MDS-C-13] Nothing is removed if a Parquet file is not metadata, because the directory could be a dataset."""
    md = index(tmp_path, "md")
    pq.write_table(pa.table({"v": [1]}), md / "rows.parquet")
    before = names(md)
    with pytest.raises(MetadataCorruptError, match=r"removed nothing.*rows\.parquet.*; move"):
        remove_index(DISK, str(md))
    assert names(md) == before
    (md / "rows.parquet").write_bytes(b"torn")
    with pytest.raises(MetadataCorruptError, match=r"drop\(\) removed nothing"):
        remove_index(DISK, str(md))
    assert names(md) == before


def test_no_index(tmp_path: Path) -> None:
    """[MDS-C-13] Files of an interrupted build are not an index."""
    with pytest.raises(MetadataNotFoundError):
        remove_index(DISK, str(tmp_path / "none"))
    md = index(tmp_path, "md")
    for record in (md / "_commits").iterdir():
        record.unlink()
    with pytest.raises(MetadataNotFoundError):
        remove_index(DISK, str(md))
    assert len(list(md.glob("*.parquet"))) == 1
