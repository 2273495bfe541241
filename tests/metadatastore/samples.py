"""Helpers of the metadatastore's tests: values of every type, small tables, indexes on disk, and a failing disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from tests.filters import made
from xskip.metadata.data_files import DataFiles
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable, PartitionColumn
from xskip.metadatastore.codec import encode
from xskip.metadatastore.commit import CommitRecord, LiveSnapshot, RecordedFile, find_live, publish
from xskip.metadatastore.filesystem import FileEntry, LocalStorage
from xskip.metadatastore.filesystem import Storage as Disk
from xskip.metadatastore.portable_forms import is_list, list_to_file
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.metadatastore.versions import WriteOptions
from xskip.types.datatypes import Array, Bloom, Storage, Struct, arrow_type

ROOT = "/lake/events"
FORM = WriteOptions()
#: The keys of encrypted indexes, by their labels.
KEYS = {label: label.encode().ljust(16, b"!") for label in ("k1", "k2", "footer", "new")}
#: How another program names its files, by number.
FOREIGN = "part-{:05d}-36f20317-12bf-4a20-ac25-6294857411a3-c000.snappy.parquet"
DAY = 86_400_000_000
# two values and null of every type that metadata holds, as numbers where Arrow takes numbers
VALUES: dict[str, list[Any]] = {
    "boolean": [False, True, None],
    "tinyint": [-128, 127, None],
    "smallint": [-32768, 32767, None],
    "int": [-(2**31), 2**31 - 1, None],
    "bigint": [-(2**63), 2**63 - 1, None],
    "float": [-0.0, float("inf"), None],
    "double": [float("-inf"), 1e-300, None],
    "string": ["", "\U0001f600 ü#%", None],
    "binary": [b"", b"\x00\xff", None],
    "date": [-354285, 18262, None],  # 1000-01-01
    "timestamp": [-30610224000_000000, 1_600_000_000_123456, None],  # 1000-01-01
    "timestamp_ntz": [-1, 253_402_300_799_999999, None],  # 9999-12-31 23:59:59.999999
    "decimal(9,2)": [Decimal("-9999999.99"), Decimal("0.01"), None],
    "decimal(18,4)": [Decimal("-0.0001"), Decimal("99999999999999.9999"), None],
    "decimal(38,10)": [Decimal("-1234567890123456789012345678.0123456789"), Decimal("0E-10"), None],
    "interval year to month": [-13, 25, None],
    "interval day to second": [-DAY, 1, None],
}


def array_of(kind: str, values: Sequence[Any]) -> pa.Array:
    """Return values of a Spark type as the metadata stores them."""
    target = arrow_type(kind)
    if pa.types.is_timestamp(target):
        return pa.array(values, pa.int64()).view(target)
    if pa.types.is_date32(target):
        return pa.array(values, pa.int32()).view(target)
    return pa.array(values, target)


def files_of(names: Iterable[str], size: int = 100) -> DataFiles:
    """Return files of equal size with modification times one second apart."""
    listed = list(names)
    return DataFiles(
        pa.array(listed, pa.string()),
        pa.array([size] * len(listed), pa.int64()),
        pa.array([1_700_000_000_000 + 1000 * i for i in range(len(listed))], pa.int64()),
    )


def minmax(
    column: str, kind: str, lows: Sequence[Any], highs: Sequence[Any], unknown: Sequence[bool] | None = None
) -> IndexColumn:
    """Return bounds; None for both bounds means a file without values, ``unknown`` means an unknown file."""
    storage = Struct((("min", kind), ("max", kind)))
    fields = list(arrow_type(storage))
    mask = None if unknown is None else pa.array(unknown)
    values = pa.StructArray.from_arrays([array_of(kind, lows), array_of(kind, highs)], fields=fields, mask=mask)
    return IndexColumn(IndexDefinition("minmax", (column,)), storage, values)


def valuelist(column: str, kind: str, lists: Sequence[Sequence[Any] | None]) -> IndexColumn:
    """Return lists; None means unknown values."""
    storage = Array(kind)
    flat = array_of(kind, [value for values in lists for value in values or ()])
    offsets, at = [], 0
    for values in lists:
        offsets.append(at)
        at += len(values or ())
    mask = pa.array([values is None for values in lists])
    built = pa.ListArray.from_arrays(pa.array([*offsets, at], pa.int32()), flat, mask=mask)
    return IndexColumn(IndexDefinition("valuelist", (column,)), storage, built.cast(arrow_type(storage)))


def bloomfilter(column: str, values: Sequence[Sequence[bytes] | None]) -> IndexColumn:
    """Return filters of byte strings; None means unknown values."""
    params = (("io.xskipper.index.bloom.ndv", "10"), ("io.xskipper.index.bloom.fpp", "0.01"))
    filters = [None if v is None else filter_of(v) for v in values]
    return IndexColumn(IndexDefinition("bloomfilter", (column,), params), Bloom(), pa.array(filters, pa.binary()))


def filter_of(values: Iterable[int | bytes]) -> bytes:
    """Return a filter for ten values that contains the given values."""
    return made(list(values), ndv=10)


def table_of(
    files: DataFiles, indexes: Iterable[IndexColumn] = (), partitions: Iterable[PartitionColumn] = ()
) -> MetadataTable:
    """Return a table of these columns."""
    return MetadataTable(files, {p.name: p for p in partitions}, {i.definition.key: i for i in indexes})


def numbered_table(start: int, stop: int) -> MetadataTable:
    """Return the files ``f<n>`` with the bounds n and n + 1 of column k, which reveal mixed rows."""
    numbers = list(range(start, stop))
    names = [f"{ROOT}/f{n}" for n in numbers]
    return table_of(files_of(names), [minmax("k", "int", numbers, [n + 1 for n in numbers])])


def assert_same(read: MetadataTable, written: MetadataTable) -> None:
    """Assert that two tables are equal, value for value, in files, partitions and indexes."""
    assert read.files.names.equals(written.files.names)
    assert read.files.modified.equals(written.files.modified)
    assert read.files.sizes.equals(written.files.sizes)
    assert list(read.partitions) == list(written.partitions)
    for name, column in written.partitions.items():
        assert read.partitions[name].type == column.type
        assert read.partitions[name].values.equals(column.values)
    assert list(read.indexes) == list(written.indexes)
    for key, index in written.indexes.items():
        assert read.indexes[key].storage == index.storage
        assert read.indexes[key].definition == index.definition
        assert read.indexes[key].values.type == index.values.type
        assert as_in_files(read.indexes[key]).equals(as_in_files(index))


def as_in_files(column: IndexColumn) -> pa.Array:
    """Return values as files store them: lists contain both zeros or none [MDS-F-7]."""
    return list_to_file(column.values) if is_list(column.definition, column.storage) else column.values


def record_of(files: Iterable[RecordedFile], root: str = ROOT) -> CommitRecord:
    """Return a record that names these files, in which publish() sets the number and the time."""
    return CommitRecord(0, root, 4, tuple(files), ReadProfile("parquet"), {"k": "int"}, 0)


def metadata_files_of(
    tables: Iterable[MetadataTable], scratch: Path, write_options: WriteOptions = FORM
) -> list[tuple[Path, RecordedFile]]:
    """Write tables as finished files into a local folder, with at least one file for each table."""
    scratch.mkdir(parents=True, exist_ok=True)
    files: list[tuple[Path, RecordedFile]] = []
    for table in tables:
        files += write_files(table, ROOT, scratch, len(files), write_options)
    return files


def commit(
    storage: Disk,
    directory: str,
    scratch: Path,
    tables: Iterable[MetadataTable],
    base: LiveSnapshot | None = None,
    kept: Iterable[RecordedFile] = (),
) -> CommitRecord:
    """Publish tables, each in a separate file, together with the files to keep."""
    files = metadata_files_of(tables, scratch)
    return publish(storage, directory, base, files, record_of((*kept, *(entry for _, entry in files))))


def replace_all(storage: Disk, directory: str, scratch: Path, tables: Iterable[MetadataTable]) -> CommitRecord:
    """Commit tables in place of all present files."""
    return commit(storage, directory, scratch, tables, find_live(storage, directory))


def put_foreign(
    directory: str | Path, tables: Iterable[MetadataTable], write_options: WriteOptions = FORM, identifier: str = ROOT
) -> None:
    """Write tables, each in a separate file and without a record, as another program does."""
    Path(directory).mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        encode(table, identifier, Path(directory) / FOREIGN.format(number), write_options)


def index_of(tmp_path: Path, tables: Iterable[MetadataTable], options: WriteOptions = FORM) -> str:
    """Commit an index of xskip with a metadata file for each table, and return its directory."""
    md = str(tmp_path / "md")
    files = metadata_files_of(tables, tmp_path / "scratch", options)
    publish(LocalStorage(), md, None, files, record_of(entry for _, entry in files))
    return md


def keyed(column: IndexColumn, label: str | None) -> IndexColumn:
    """Return an index with the label of a key, or without a key."""
    return replace(column, definition=replace(column.definition, key_label=label))


def opened(directory: str | Path) -> Snapshot:
    """Return the present snapshot of an index, which must exist."""
    snapshot = open_snapshot(LocalStorage(), str(directory))
    assert snapshot is not None
    return snapshot


def rows_of(table: MetadataTable) -> list[tuple[int, int, int]]:
    """Return the number and the bounds of every file of a numbered table."""
    names = [int(name.rpartition("/f")[2]) for name in table.files.names.to_pylist()]
    bounds = table.indexes["minmax", ("k",)].values.to_pylist()
    return [(name, b["min"], b["max"]) for name, b in zip(names, bounds, strict=True)]


def read_rows(directory: str) -> list[tuple[int, int, int]] | None:
    """Return the rows of the index in a directory as :func:`rows_of` does, or None without an index."""
    snapshot = open_snapshot(LocalStorage(), directory)
    return None if snapshot is None else rows_of(snapshot.load())


def expected_rows(*ranges: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Return the rows of numbered tables of ranges as :func:`rows_of` does."""
    return [(n, n, n + 1) for start, stop in ranges for n in range(start, stop)]


def refresh(storage: Disk, directory: str, scratch: Path) -> CommitRecord:
    """Commit a snapshot that keeps the first of two files, replaces the second, and adds a third."""
    base = find_live(LocalStorage(), directory)
    assert base is not None
    assert base.record is not None
    return commit(
        storage, directory, scratch, [numbered_table(2, 3), numbered_table(4, 6)], base, base.record.metadata_files[:1]
    )


def golden_directories(shared: Path) -> list[Path]:
    """Return all directories that Xskipper has written in any version, without encrypted ones."""
    home = shared / "fixtures"
    found = {path.parent for path in home.glob("xskipper/parquet_version_tests/end_to_end/*/*/*/*.parquet")}
    found |= {path.parent for path in home.glob("xskipper-1.6.0/metadata/[!e]*/*/*.parquet")}
    found |= {path.parent for path in home.glob("xskipper-1.6.0/v0*/*.parquet")}
    assert len(found) == 116 + 35 + 2
    return sorted(found)


class Crash(BaseException):
    """An exception that stands for the end of the process."""


_Found = TypeVar("_Found")


class CountingStorage:
    """A local disk that counts its calls, with subclasses that define the effect of each call."""

    def __init__(self) -> None:
        self._disk = LocalStorage()
        self.calls = 0

    def _run(self, work: Callable[..., _Found], *args: Any) -> _Found:
        """Count a call and execute it."""
        raise NotImplementedError

    def list(self, directory: str) -> Sequence[FileEntry]:
        return self._run(self._disk.list, directory)

    def directories(self, directory: str) -> Sequence[str]:
        return self._run(self._disk.directories, directory)

    def read(self, path: str) -> bytes:
        return self._run(self._disk.read, path)

    def fetch(self, path: str) -> Path:
        return self._run(self._disk.fetch, path)

    def add(self, local: Path, path: str) -> None:
        return self._run(self._disk.add, local, path)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return self._run(self._disk.put_if_absent, path, data)

    def remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._run(self._disk.remove, [path])

    def remove_tree(self, directory: str) -> None:
        return self._run(self._disk.remove_tree, directory)


class FaultyStorage(CountingStorage):
    """A local disk whose call number ``k`` fails before or after its work.

    With ``dead``, the process has ended: every later call fails as well, so that no clean-up runs.
    """

    def __init__(self, k: int, *, after: bool = False, dead: bool = True) -> None:
        super().__init__()
        self._k, self._after, self._dead = k, after, dead

    def _run(self, work: Callable[..., _Found], *args: Any) -> _Found:
        self.calls += 1
        if self.calls == self._k:
            if self._after:
                work(*args)
            raise Crash
        if self._dead and self.calls > self._k:
            raise Crash
        return work(*args)


def storage_type(storage: Storage) -> str:
    """Return the Spark type of the indexed column as far as the storage of version 4 shows it."""
    match storage:
        case Struct(fields):
            return fields[0][1]
        case Array(element):
            return element
        case _:
            return ""


def rewrite(path: Path, footer: dict[bytes, bytes | None], columns: dict[str, pa.Array] | None = None) -> None:
    """Rewrite a metadata file with changed footer entries and columns; None removes an entry."""
    table = pq.read_table(path)
    entries = dict(pq.read_metadata(path).metadata or {})
    for name, array in (columns or {}).items():
        table = table.set_column(table.schema.get_field_index(name), name, array)
    for key, value in footer.items():
        entries.pop(key, None)
        if value is not None:
            entries[key] = value
    with pq.ParquetWriter(path, table.schema.remove_metadata(), store_schema=False) as writer:
        writer.write_table(table.replace_schema_metadata(None))
        writer.add_key_value_metadata(entries)
