"""A snapshot merges its files and reads each column once. Rules: specs/metadatastore.rst, [MDS-C] and [MDS-L]."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.metadatastore.samples import (
    FOREIGN,
    assert_same,
    bloomfilter,
    commit,
    files_of,
    minmax,
    numbered_table,
    opened,
    put_foreign,
    record_of,
    replace_all,
    rewrite,
    table_of,
    valuelist,
)
from xskip.errors import MetadataCorruptError, MetadataVersionError
from xskip.metadata.table import PartitionColumn, PartitionKey
from xskip.metadatastore import codec, snapshot
from xskip.metadatastore.codec import encode
from xskip.metadatastore.commit import find_live, new_file_name, publish
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.snapshot import open_snapshot
from xskip.metadatastore.versions import WriteOptions

DISK = LocalStorage()
K, S, V = ("minmax", ("k",)), ("bloomfilter", ("s",)), ("valuelist", ("k",))
P = PartitionKey("p")


@pytest.fixture
def md(tmp_path: Path) -> str:
    return str(tmp_path / "md")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[Any]]:
    """Return a list to which each call of decode() adds its requested columns."""
    asked: list[frozenset[Any]] = []

    def spy(file: codec.MetadataFile, wanted: Any) -> Any:
        asked.append(frozenset(wanted))
        return codec.decode(file, wanted)

    monkeypatch.setattr(snapshot, "decode", spy)
    return asked


def partition(name: str, values: list[int | None]) -> PartitionColumn:
    return PartitionColumn(name, "int", pa.array(values, pa.int32()))


def two_files(md: str, tmp_path: Path) -> None:
    """Commit a file with bounds, a filter and two partition columns, and one with bounds, a list and one of them."""
    first = table_of(
        files_of(["/a", "/b"]),
        [minmax("k", "int", [1, 2], [3, 4]), bloomfilter("s", [[b"x"], [b"y"]])],
        [partition("p", [1, None]), partition("q", [1, 2])],
    )
    second = table_of(
        files_of(["/c"]), [valuelist("k", "int", [[9]]), minmax("k", "int", [9], [9])], [partition("p", [3])]
    )
    commit(DISK, md, tmp_path / "s", [first, second])


def test_files_are_merged(md: str, tmp_path: Path) -> None:
    """[MDS-T-6] [MDS-P-2] Columns that a file lacks are unknown; partition columns must be in all files."""
    two_files(md, tmp_path)
    found = opened(md)
    assert found.rows == 3
    assert found.table_identifier == "/lake/events"
    assert found.partitions == {"p": "int"}
    assert [d.key for d, _ in found.indexes] == [K, S, V]
    table = found.load()
    assert table.files.names.to_pylist() == ["/a", "/b", "/c"]
    assert table.partitions["p"].values.to_pylist() == [1, None, 3]
    assert table.indexes[K].values.to_pylist() == [{"min": 1, "max": 3}, {"min": 2, "max": 4}, {"min": 9, "max": 9}]
    assert table.indexes[S].values.is_valid().to_pylist() == [True, True, False]
    assert table.indexes[V].values.to_pylist() == [None, None, [9]]


def test_recorded_types(md: str, tmp_path: Path) -> None:
    """[MDS-C-2] The record's types become part of the definitions, if all of them are recorded."""
    two_files(md, tmp_path)
    assert {d.key: d.types for d, _ in opened(md).indexes} == {K: ("int",), V: ("int",), S: ()}


def test_an_index_of_two_types_is_left_out(md: str, tmp_path: Path) -> None:
    """[MDS-T-6] An index whose type differs between files is unknown."""
    tables = [
        table_of(files_of(["/a"]), [minmax("k", "int", [1], [2])]),
        table_of(files_of(["/b"]), [minmax("k", "bigint", [1], [2])]),
    ]
    commit(DISK, md, tmp_path / "s", tables)
    assert opened(md).load().indexes == {}


def test_a_partition_column_of_two_types_is_left_out(md: str, tmp_path: Path) -> None:
    """[MDS-P-2] A partition column whose type differs between files is unknown."""
    values = pa.array(["1"], pa.string())
    tables = [
        table_of(files_of(["/a"]), [], [partition("p", [1])]),
        table_of(files_of(["/b"]), [], [PartitionColumn("p", "string", values)]),
    ]
    commit(DISK, md, tmp_path / "s", tables)
    assert opened(md).partitions == {}
    assert opened(md).load().partitions == {}


def test_columns_are_read_once(md: str, tmp_path: Path, reads: list[frozenset[Any]]) -> None:
    """[MDS-T-7] Each column is read from each file once, at the first request."""
    two_files(md, tmp_path)
    found = opened(md)
    assert reads == []
    assert found.load(()).indexes == {}
    assert reads == [frozenset()] * 2
    assert list(found.load([K]).indexes) == [K]
    assert reads[2:] == [frozenset({K})] * 2
    again = found.load([K, P, ("minmax", ("other",)), PartitionKey("q")])
    assert (list(again.indexes), list(again.partitions)) == ([K], ["p"])
    assert reads[4:] == [frozenset({P})] * 2
    assert again.indexes[K].values is found.load([K]).indexes[K].values
    found.load()
    assert reads[6:] == [frozenset({S, V})] * 2
    found.load()
    found.load(())
    assert len(reads) == 8


def test_loads_from_threads(md: str, tmp_path: Path, reads: list[frozenset[Any]]) -> None:
    """[MDS-T-7] Concurrent threads get their columns, and no column is read twice."""
    two_files(md, tmp_path)
    found, whole = opened(md), opened(md).load()
    reads.clear()
    barrier, wrong = threading.Barrier(8), []

    def load(wanted: list[Any]) -> None:
        barrier.wait()
        table = found.load(wanted)
        if set(table.indexes) != {w for w in wanted if isinstance(w, tuple)}:
            wrong.append(wanted)
        if not all(table.indexes[key].values.equals(whole.indexes[key].values) for key in table.indexes):
            wrong.append(wanted)

    wishes: list[list[Any]] = [[K], [S], [V], [K, S], [P], [K, V, P], [], [S, K]]
    threads = [threading.Thread(target=load, args=(wanted,)) for wanted in wishes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    asked = [key for call in reads for key in call]
    assert {key: asked.count(key) for key in asked} == {K: 2, S: 2, V: 2, P: 2}
    assert_same(found.load(), whole)


def test_the_same_object_while_nothing_changes(md: str, tmp_path: Path) -> None:
    """[MDS-C-11] The same snapshot is returned until the next commit."""
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 2)])
    first = opened(md)
    assert open_snapshot(DISK, md, first) is first
    replace_all(DISK, md, tmp_path / "s", [numbered_table(2, 4)])
    second = open_snapshot(DISK, md, first)
    assert second is not None
    assert second is not first
    assert second.record is not None
    assert second.record.number == 2


def test_a_snapshot_takes_over_names_and_partitions(md: str, tmp_path: Path, reads: list[frozenset[Any]]) -> None:
    """[MDS-C-23] The names and partition values of common metadata files are read once, indexes again."""
    two_files(md, tmp_path)
    first = opened(md)
    first.load([P])
    assert first.record is not None
    added = [table_of(files_of(["/d"]), [], [partition("p", [None])])]
    commit(DISK, md, tmp_path / "s", added, find_live(DISK, md), first.record.metadata_files)
    second = open_snapshot(DISK, md, first)
    assert second is not None
    reads.clear()
    known = second.load([P, K])
    assert reads == [{K}, {K}, {P, K}]
    assert_same(known, opened(md).load([P, K]))
    third = open_snapshot(DISK, md, second)
    assert third is second


def test_a_snapshot_takes_over_nothing_of_another_file(md: str, tmp_path: Path, reads: list[frozenset[Any]]) -> None:
    """[MDS-C-23] Another file, and a file without a recorded digest, is read again."""
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 2)])
    first = opened(md)
    first.load([])
    replace_all(DISK, md, tmp_path / "s", [numbered_table(2, 4)])
    put_foreign(md, [numbered_table(4, 5)])
    second = open_snapshot(DISK, md, first)
    assert second is not None
    reads.clear()
    expected = [f"/lake/events/f{n}" for n in (4, 2, 3)]
    assert sorted(second.load([]).files.names.to_pylist()) == sorted(expected)
    assert reads == [frozenset(), frozenset()]
    encode(numbered_table(5, 6), "/lake/events", Path(md) / FOREIGN.format(1))
    third = open_snapshot(DISK, md, second)
    assert third is not None
    reads.clear()
    assert len(third.load([]).files) == 4
    assert reads == [frozenset()] * 2  # both files of the other program


def test_dropped_and_created_again(md: str, tmp_path: Path) -> None:
    """[MDS-C-11] A new index at the same place is another snapshot, although its commits count from 1."""
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 2)])
    first = opened(md)
    DISK.remove_tree(md)
    assert open_snapshot(DISK, md, first) is None
    commit(DISK, md, tmp_path / "s", [numbered_table(2, 4)])
    second = open_snapshot(DISK, md, first)
    assert second is not None
    assert second.load().files.names.to_pylist() == ["/lake/events/f2", "/lake/events/f3"]


def test_foreign_snapshot(md: str, tmp_path: Path) -> None:
    """[MDS-C-5] [MDS-C-11] Without a record, the listing identifies the snapshot, and types are unknown."""
    put_foreign(md, [numbered_table(0, 2)])
    first = opened(md)
    assert first.record is None
    assert first.load().files.names.to_pylist() == ["/lake/events/f0", "/lake/events/f1"]
    assert [d.types for d, _ in first.indexes] == [()]
    assert open_snapshot(DISK, md, first) is first
    encode(numbered_table(2, 3), "/lake/events", Path(md) / FOREIGN.format(1))
    second = open_snapshot(DISK, md, first)
    assert second is not None
    assert second.rows == 3


def test_no_index(md: str) -> None:
    """[MDS-C-4] The result is None without an index."""
    assert open_snapshot(DISK, md) is None


def test_an_empty_snapshot(md: str, tmp_path: Path) -> None:
    """[MDS-C-4] A snapshot without metadata files can be loaded."""
    commit(DISK, md, tmp_path / "s", [])
    found = opened(md)
    assert (found.rows, found.table_identifier, found.partitions, found.indexes) == (0, "", {}, ())
    assert len(found.load()) == 0


def test_rows_are_split_over_files(md: str, tmp_path: Path) -> None:
    """[MDS-C-10] Each file except the last has the maximum number of rows, and files are numbered on."""
    assert (WriteOptions().rows_per_file, WriteOptions().bytes_per_file) == (50_000, 128 << 20)
    table, four = numbered_table(0, 10), WriteOptions(rows_per_file=4)
    files = write_files(table, "/lake/events", tmp_path, 3, four)
    assert [entry.rows for _, entry in files] == [4, 4, 2]
    assert [entry.name[:11] for _, entry in files] == ["part-00003-", "part-00004-", "part-00005-"]
    assert [path.stat().st_size for path, _ in files] == [entry.size for _, entry in files]
    assert [path.name for path, _ in files] == [entry.name for _, entry in files]
    publish(DISK, md, None, files, record_of(entry for _, entry in files))
    assert_same(opened(md).load(), table)
    exactly = write_files(numbered_table(0, 8), "/lake/events", tmp_path, 0, four)
    assert [entry.rows for _, entry in exactly] == [4, 4]


def test_files_are_kept_to_a_size(md: str, tmp_path: Path) -> None:
    """[MDS-C-10] A file has as many rows as fit into the maximum size, and at least one."""
    table = numbered_table(0, 10)
    half = write_files(table, "/lake/events", tmp_path, 0, WriteOptions(bytes_per_file=table.nbytes // 2))
    assert [entry.rows for _, entry in half] == [5, 5]
    each = write_files(table, "/lake/events", tmp_path, 2, WriteOptions(bytes_per_file=1))
    assert [entry.rows for _, entry in each] == [1] * 10
    publish(DISK, md, None, each, record_of(entry for _, entry in each))
    assert_same(opened(md).load(), table)


def test_a_table_without_rows_keeps_its_indexes(md: str, tmp_path: Path) -> None:
    """[MDS-C-10] An index of no files is one metadata file, which keeps the definitions."""
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 0)])
    found = opened(md)
    assert (found.rows, len(found.metadata_files)) == (0, 1)
    assert [(d.key, d.types) for d, _ in found.indexes] == [(K, ("int",))]
    assert len(found.load().indexes[K].values) == 0


def test_two_datasets_in_one_directory(md: str, tmp_path: Path) -> None:
    """[MDS-L-3] Metadata of another dataset in the directory is refused, whoever wrote it."""
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 2)])
    put_foreign(md, [numbered_table(2, 3)], identifier="/lake/other")
    with pytest.raises(MetadataCorruptError, match=r"several datasets.*found: /lake/events, /lake/other"):
        open_snapshot(DISK, md)


def test_a_file_of_another_version(md: str, tmp_path: Path) -> None:
    """[MDS-V-3] A file of an unknown version makes the index unreadable, with a clear error."""
    key = b"org.apache.spark.sql.parquet.row.metadata"
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 2)])
    newer = Path(md) / FOREIGN.format(0)
    encode(numbered_table(2, 3), "/lake/events", newer)
    text = codec.open_file(newer).footer.metadata[key].replace(b'"version":4', b'"version":5')
    rewrite(newer, {key: text})
    with pytest.raises(MetadataVersionError, match="cannot read metadata of version 5 "):
        open_snapshot(DISK, md)


def test_a_file_that_goes_between_footer_and_listing(md: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-9] [MDS-C-11] A reader follows a concurrent commit without an error."""
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 2)])
    calls: list[str] = []

    class Slow(LocalStorage):
        def fetch(self, path: str) -> Path:
            if not calls:
                calls.append(path)
                replace_all(DISK, md, tmp_path / "s", [numbered_table(5, 6)])
            return super().fetch(path)

    found = open_snapshot(Slow(), md)
    assert found is not None
    assert found.load().files.names.to_pylist() == ["/lake/events/f5"]
    assert len(calls) == 1


def test_a_commit_between_two_listings(md: str, tmp_path: Path) -> None:
    """[MDS-C-9] A reader lists again if its record is older than its listing."""
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 2)])
    calls: list[str] = []

    class Slow(LocalStorage):
        def list(self, directory: str) -> Any:
            if directory == md and not calls:
                calls.append(directory)
                replace_all(DISK, md, tmp_path / "s", [numbered_table(5, 6)])
            return super().list(directory)

    live = find_live(Slow(), md)
    assert live is not None
    assert live.record is not None
    assert live.record.number == 2
    assert new_file_name(0) not in live.names


def test_records_trimmed_between_listing_and_reading(md: str, tmp_path: Path) -> None:
    """[MDS-C-8] [MDS-C-9] A slow reader whose listed records were removed lists again."""
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 2)])
    calls: list[str] = []

    class Slow(LocalStorage):
        def read(self, path: str) -> bytes:
            if not calls:
                calls.append(path)
                for i in range(1, 12):
                    replace_all(DISK, md, tmp_path / "s", [numbered_table(i, i + 1)])
            return super().read(path)

    found = open_snapshot(Slow(), md)
    assert found is not None
    assert found.load().files.names.to_pylist() == ["/lake/events/f11"]
