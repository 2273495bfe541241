"""Partitions of a table that were exported: the records of the folder that has them. Rules: [QDB-CT]."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from xskip.errors import CommitConflictError, DatasetError, StorageError, TableDamagedError, TableVersionError
from xskip.metadatastore.filesystem import FileEntry, LocalStorage, Storage, put_once
from xskip.questdb_files.sequencer_file import read_creation
from xskip.questdb_files.snapshot import Snapshot
from xskip.spark.questdb.row_samples import Sample

__all__ = ["ColdColumn", "ColdFile", "ColdPartition", "ColdRecords", "ColdTier", "Replaced"]

_FOLDER = "_questdb"
_VERSION = 1
_SUFFIX = ".json"
_KEPT_RECORDS = 10
#: Parsed records by the path, size and time of modification of their files, which do not change.
_records: dict[tuple[str, int, int], ColdTier] = {}
_MAX_RECORDS = 4
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class ColdColumn:
    """A column of files."""

    #: The index that stays with the column in QuestDB when the column is renamed.
    writer_index: int
    #: In the files.
    name: str
    #: In QuestDB.
    type_code: int


@dataclass(frozen=True, slots=True)
class ColdFile:
    """A file with rows of one partition."""

    #: The path below the folder of the cold tier.
    path: str
    size: int
    #: In milliseconds since the epoch.
    modified: int


@dataclass(frozen=True, slots=True)
class ColdPartition:
    """Rows of a partition that one export copied."""

    #: The half-open bounds of the partition in ticks.
    start: int
    end: int
    rows: int
    #: The identity of the rows in the table [QDB-CT-3].
    key: str
    #: Some of the rows, the first and the last one among them.
    samples: tuple[Sample, ...]
    #: The position in :attr:`ColdTier.layouts` of the columns of the files.
    layout: int
    files: tuple[ColdFile, ...]
    #: Whether the table has dropped the rows.
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Replaced:
    """A file whose rows are in another file since a later export."""

    #: The path below the folder of the cold tier.
    path: str
    #: The time of the replacement in milliseconds since the epoch.
    at: int


@dataclass(frozen=True, slots=True)
class ColdTier:
    """The content of a record."""

    #: The number of the record; 0 if nothing is exported.
    number: int
    table_id: int
    format: str
    layouts: tuple[tuple[ColdColumn, ...], ...] = ()
    #: Sorted by time, and those of one partition in the order of their exports.
    partitions: tuple[ColdPartition, ...] = ()
    #: Files that can be removed when no query reads them any more.
    replaced: tuple[Replaced, ...] = ()
    #: The time at which the table was created, in microseconds, if its files have it [QDB-FI-6].
    created: int | None = None


class ColdRecords:
    """The records of a cold tier, which are numbered files; the last one has everything that is exported."""

    def __init__(self, storage: Storage, root: str) -> None:
        self.storage = storage
        self.root = root.rstrip("/")

    def last(self) -> ColdTier | None:
        """Return the last record, or None if there is none."""
        while True:
            entries = self._entries()
            if not entries:
                return None
            number = max(entries)
            key = (self._path(number), entries[number].size, entries[number].modified)
            with _lock:
                known = _records.get(key)
            if known is not None:
                return known
            try:
                data = self.storage.read(self._path(number))
            except FileNotFoundError:  # writers remove old records
                if self._numbers()[-1:] == [number]:
                    raise
                continue
            return _kept(key, _parsed(data, number, self._path(number)))

    def commit(self, tier: ColdTier) -> None:
        """Write a record, whose number is the one after the last record.

        The record is the commit of an export. After a PutInDoubtError, it may exist now or later.
        """
        # the name is free, too, if so many exports have committed that the record with this number was removed
        is_next = (self._numbers() or [0])[-1] < tier.number
        if not is_next or not put_once(self.storage, self._path(tier.number), _text(tier).encode()):
            raise CommitConflictError(
                "another export has committed meanwhile, and nothing has changed", where=self.root,
                hint="run one export at a time, and try again",
            )  # fmt: skip
        with suppress(StorageError):  # the record is committed
            self.storage.remove([self._path(number) for number in self._numbers()[:-_KEPT_RECORDS]])

    def files(self, folder: str) -> Sequence[FileEntry]:
        """Return the files of a folder below the root."""
        return self.storage.list(f"{self.root}/{folder}")

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files below the root."""
        full = [f"{self.root}/{path}" for path in paths]
        # Hadoop writes checksums beside local files
        if isinstance(self.storage, LocalStorage):
            full += [f"{folder}/.{name}.crc" for folder, _, name in (path.rpartition("/") for path in full)]
        self.storage.remove(full)

    def of_table(self, snapshot: Snapshot, file_format: str) -> ColdTier:
        """Return the last record, which must be of a table [QDB-CT-9], or one without partitions if there is none."""
        table_id, created = snapshot.metadata.table_id, read_creation(snapshot.place)
        tier = self.last()
        if tier is None:
            return ColdTier(0, table_id, file_format, created=created)
        same = tier.table_id == table_id and (tier.created or created) == (created or tier.created)
        if not same or not _has_types(snapshot, tier):
            raise DatasetError(
                "the folder has partitions of another table", where=self.root,
                found=_table(tier.table_id, tier.created), expected=_table(table_id, created),
                hint="name another folder; a table that was created again is another one",
            )  # fmt: skip
        return replace(tier, created=tier.created or created)

    def _numbers(self) -> list[int]:
        return sorted(self._entries())

    def _entries(self) -> dict[int, FileEntry]:
        """Return the files of the records by number."""
        entries = [e for e in self.storage.list(f"{self.root}/{_FOLDER}") if e.name.endswith(_SUFFIX)]
        stems = [(entry.name.removesuffix(_SUFFIX), entry) for entry in entries]
        return {int(stem): entry for stem, entry in stems if stem.isdigit()}

    def _path(self, number: int) -> str:
        return f"{self.root}/{_FOLDER}/{number:010}{_SUFFIX}"


def _kept(key: tuple[str, int, int], tier: ColdTier) -> ColdTier:
    """Keep a parsed record instead of the one that was kept first."""
    with _lock:
        while len(_records) >= _MAX_RECORDS:
            del _records[next(iter(_records))]
        _records[key] = tier
    return tier


def _has_types(snapshot: Snapshot, tier: ColdTier) -> bool:
    """Return whether a table can have had the columns of exported files."""
    # a writer index keeps its type
    codes = snapshot.metadata.type_codes
    columns = (column for layout in tier.layouts for column in layout if column.writer_index < len(codes))
    return all(codes[column.writer_index] == column.type_code for column in columns)


def _table(table_id: int, created: int | None) -> str:
    of = f" of {datetime.fromtimestamp(created // 1_000_000, timezone.utc):%Y-%m-%d %H:%M:%S} UTC" if created else ""
    return f"table {table_id}{of}"


def _text(tier: ColdTier) -> str:
    return json.dumps(
        {
            "version": _VERSION,
            "tableId": tier.table_id,
            "created": tier.created,
            "format": tier.format,
            "layouts": [[[c.writer_index, c.name, c.type_code] for c in layout] for layout in tier.layouts],
            "partitions": [_fields(partition) for partition in tier.partitions],
            "replaced": [[file.path, file.at] for file in tier.replaced],
        },
        separators=(",", ":"),
    )


def _fields(partition: ColdPartition) -> dict[str, Any]:
    return {
        "start": partition.start, "end": partition.end, "rows": partition.rows, "key": partition.key,
        "samples": [[sample.time, sample.rows] for sample in partition.samples],
        "layout": partition.layout, "dropped": partition.dropped,
        "files": [[file.path, file.size, file.modified] for file in partition.files],
    }  # fmt: skip


def _parsed(data: bytes, number: int, path: str) -> ColdTier:
    try:
        value = json.loads(data)
        if value["version"] != _VERSION:
            raise TableVersionError(
                "the format of the records of exports is unknown", where=path, found=f"version {value['version']}",
                expected=f"version {_VERSION}", hint="use a newer release of xskip",
            )  # fmt: skip
        return ColdTier(
            number, value["tableId"], value["format"],
            tuple(tuple(ColdColumn(*column) for column in layout) for layout in value["layouts"]),
            tuple(_partition(fields) for fields in value["partitions"]),
            tuple(Replaced(*fields) for fields in value["replaced"]), value["created"],
        )  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise TableDamagedError("the record of an export is incomplete", where=path, found=str(error)) from error


def _partition(fields: dict[str, Any]) -> ColdPartition:
    return ColdPartition(
        fields["start"], fields["end"], fields["rows"], fields["key"],
        tuple(Sample(time, tuple(rows)) for time, rows in fields["samples"]), fields["layout"],
        tuple(ColdFile(*file) for file in fields["files"]), fields["dropped"],
    )  # fmt: skip
