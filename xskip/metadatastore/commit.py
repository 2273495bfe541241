"""Commits, which replace one complete snapshot of a metadata directory with the next. Rules: [MDS-C].

.. code-block:: text

    <directory>/part-00000-<uuid>-c000.snappy.parquet         rows, which any reader of the format lists
    <directory>/_commits/00000000000000000007-<index>.json    the record with the file names of the snapshot

A writer adds its new files first. Then it puts the record with the next number if no record has that number; of two
writers, one succeeds. Last, it removes the files that the new record does not list. So the directory contains a
complete snapshot at any moment, also for readers that ignore records. xskip names its files with a UUID of version 8. A
file with such a name that no record lists is unfinished or left over. Any other Parquet file comes from another
program, and then the listing of the directory defines the snapshot.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from xskip.errors import CommitConflictError, IndexDroppedError, MetadataCorruptError, RecordDamagedError, StorageError
from xskip.hints import Call, Words
from xskip.metadatastore.commit_records import (
    COMMITS,
    CommitRecord,
    Latest,
    Operation,
    RecordedFile,
    RecordName,
    find_latest,
    later_records,
    list_records,
    new_index_id,
    read_record,
    records_among,
)
from xskip.metadatastore.filesystem import FileEntry, PutInDoubtError, Storage, put_once
from xskip.metadatastore.writers import present_writer

__all__ = [
    "COMMITS",
    "CommitRecord",
    "LiveSnapshot",
    "Operation",
    "RecordedFile",
    "find_live",
    "is_own_name",
    "is_unfinished",
    "new_file_name",
    "publish",
]

_log = logging.getLogger("xskip.commits")
#: The records that stay: the latest ten, and those of the last 30 days. Above a hundred of these, which each query
#: lists, a commit archives all but the latest fifty: one file has many commits.
_KEPT_RECORDS, _MAX_RECORDS, _KEPT_OF_MANY = 10, 100, 50
_KEPT_MS = 30 * 24 * 3600 * 1000
_OURS = re.compile(r"part-\d{5}-[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-c000\..*parquet")
# the temporary names that writers give to incomplete files
_UNFINISHED = re.compile(
    r"\._(part-\d{5}-[0-9a-f-]{36}-c000\..*parquet|\d{20}(-[0-9a-f]{32})?\.json)(\.[0-9a-f-]+)?\.tmp"
)
_ATTEMPTS = 10
_LEFT_OVER_AFTER_MS = 24 * 3600 * 1000
# how often a writer reads an incomplete record, and how many seconds it waits after each read, before it gives up
_TORN_LOOKS, _TORN_WAIT = 5, 0.2


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """The current snapshot of a metadata directory."""

    #: The latest commit record; None if there is no record.
    record: CommitRecord | None
    #: The names of the metadata files, in order.
    names: tuple[str, ...]
    #: Whether a program that does not write records has added files; ``names`` is then the listing of the directory.
    foreign: bool
    #: The name of the first record and the identity of the index; None if there is no record.
    latest: Latest | None = None

    @property
    def identity(self) -> str:
        """Return a text that changes with the snapshot."""
        return "\n".join((self.index, *self.names))  # file names are never reused

    @property
    def index(self) -> str:
        """Return the identity of the index, which all its commits share; an empty text if there is no record."""
        return self.latest.index if self.latest else ""


def new_file_name(part: int) -> str:
    """Return a new, unique name for a metadata file, in Spark's form and with a UUID of version 8."""
    # Bits 76 to 79 of a UUID are its version.
    raw = uuid.uuid4().int & ~(0xF << 76) | 0x8 << 76
    return f"part-{part:05d}-{uuid.UUID(int=raw)}-c000.snappy.parquet"


def is_own_name(name: str) -> bool:
    """Return whether a file name has the form that :func:`new_file_name` creates."""
    return _OURS.fullmatch(name) is not None


def is_unfinished(name: str) -> bool:
    """Return whether a file name has the form of the temporary names of incomplete files."""
    return _UNFINISHED.fullmatch(name) is not None


def find_live(storage: Storage, directory: str, known: LiveSnapshot | None = None) -> LiveSnapshot | None:
    """Find the current snapshot of a metadata directory, or None if the directory contains no index.

    While ``known``, the result of an earlier call, is current, the function lists two directories and reads no file.
    RecordDamagedError means that there are metadata files, and that the first record of the index is incomplete.
    MetadataCorruptError means that the latest record lists files that do not exist, and that no concurrent commit
    explains their absence.
    """
    latest: Latest | None = None
    missing: list[str] = []
    # a missing file reveals an outdated record; a record without files cannot reveal it and is never reused
    before = known.latest if known is not None and known.names else None
    for attempt in range(_ATTEMPTS):  # the next round detects a commit that falls between the two listings
        latest = find_latest(storage, directory, before)
        record = latest.record if latest else None
        present = sorted(e.name for e in storage.list(directory) if _is_data(e.name))
        foreign = [name for name in present if not is_own_name(name)]
        if foreign:
            return LiveSnapshot(record, tuple(present), foreign=True, latest=latest)
        if record is None:
            # an index without a first record was dropped; a new first record is complete in the next round
            if not present or all(name.identity for name in list_records(storage, directory)):
                return None
            continue
        names = tuple(f.name for f in record.metadata_files)
        missing = [name for name in names if name not in set(present)]
        if not missing or (attempt == _ATTEMPTS - 1 and _are_there(storage, directory, missing)):
            return LiveSnapshot(record, names, foreign=False, latest=latest)
        before = None
    if latest is None:
        raise RecordDamagedError(
            "the first commit record of the index is incomplete", where=f"{directory}/{COMMITS}",
            hint=Words("restore the record, or {} again", Call("create")),
        )  # fmt: skip
    found = f"{len(missing)} missing, the first of them {missing[0]}"
    if incomplete := later_records(list_records(storage, directory), latest.record.number, latest.index):
        found += f"; the commit record {max(incomplete).file_name} is incomplete"
    raise MetadataCorruptError(
        "metadata files are missing", where=directory, found=found, hint="drop the index and create it again"
    )


def publish(
    storage: Storage,
    directory: str,
    base: LiveSnapshot | None,
    files: Sequence[tuple[Path, RecordedFile]],
    record: CommitRecord,
) -> CommitRecord:
    """Commit a new snapshot of old and new metadata files, and return the record as written.

    Without a record in ``base``, the commit creates an index. ``files`` are the new files: complete local files with
    their entries for the record. ``record.metadata_files`` lists all files of the snapshot, including the new ones. The
    commit sets the number, the time, the identity of the index and the writer.

    IndexDroppedError means that the index was dropped after ``base`` was read, and CommitConflictError that another
    writer committed first. Nothing has changed then. After a StorageError, the new files stay only if it is a
    PutInDoubtError.
    """
    commit = _Commit.begun(storage, directory, base)
    added = [f"{directory}/{entry.name}" for _, entry in files]
    numbered = replace(
        record,
        number=commit.name.number,
        index=commit.index,
        created=int(time.time() * 1000),
        writer=present_writer(),
    )
    try:
        for (local, _), path in zip(files, added, strict=True):
            storage.add(local, path)
    except BaseException:
        _take_away(storage, added)
        raise
    try:
        is_sure = commit.put(numbered)
    except PutInDoubtError:
        raise  # the record may exist and list the new files, so the files must stay
    except (CommitConflictError, StorageError):
        _take_away(storage, added)
        raise
    with suppress(Exception):  # the commit is complete; a later commit removes the remaining files
        if is_sure:
            commit.clean(numbered)
    _log_commit(directory, numbered)
    return numbered


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit in preparation."""

    storage: Storage
    directory: str
    base: LiveSnapshot | None
    #: The name of its record.
    name: RecordName
    #: The name of the first record of the index.
    first: RecordName
    #: The identity of the index.
    index: str
    #: The records that existed when the commit began.
    listed: Mapping[RecordName, FileEntry]
    #: All files that existed when the commit began, by their paths in the directory.
    entries: Mapping[str, FileEntry]

    @staticmethod
    def begun(storage: Storage, directory: str, base: LiveSnapshot | None) -> _Commit:
        """Prepare a commit on a base snapshot, with the first free record number."""
        commits = storage.list(f"{directory}/{COMMITS}")
        listed, entries = records_among(commits), {e.name: e for e in storage.list(directory)}
        entries |= {f"{COMMITS}/{e.name}": e for e in commits}
        latest = base.latest if base else None
        if latest is None:
            name, index = RecordName(1), new_index_id()
        else:
            name, index = RecordName(latest.record.number + 1, latest.index), latest.index
        while name in listed:
            # An incomplete record counts as none, but its number stays taken.
            if not _is_torn(storage, directory, name):
                raise _conflict(directory, name)
            name = RecordName(name.number + 1, name.identity)
        first = latest.first if latest else name
        return _Commit(storage, directory, base, name, first, index, listed, entries)

    @property
    def is_first(self) -> bool:
        return not self.name.identity

    def put(self, record: CommitRecord) -> bool:
        """Put the record, and return False if the storage cannot tell whether the index still exists.

        IndexDroppedError, CommitConflictError and StorageError are raised as by :func:`publish`.
        """
        path, data = self.name.path(self.directory), record.to_bytes()
        if not put_once(self.storage, path, data):
            raise _conflict(self.directory, self.name)
        if self.is_first:
            return True
        try:
            # The first record decides whether the new record counts: a drop removes it.
            _, index = read_record(self.storage, self.directory, self.first)
        except (FileNotFoundError, MetadataCorruptError):
            index = ""
        except StorageError:
            return False
        if index != self.index:
            _take_away(self.storage, [path])
            raise IndexDroppedError.at(self.directory)
        return True

    def clean(self, record: CommitRecord) -> None:
        """Remove the files that the record has replaced, and the files that interrupted writers left."""
        kept = {f.name for f in record.metadata_files}
        replaced = [name for name in (self.base.names if self.base else ()) if name not in kept]
        horizon = record.created - _LEFT_OVER_AFTER_MS
        # a writer that added files before the first record of this index can no longer commit them
        stale = [
            path
            for path, entry in self.entries.items()
            if (is_own_name(path) and path not in kept and (self.is_first or entry.modified < horizon))
            or (_UNFINISHED.fullmatch(entry.name) and entry.modified < horizon)
        ]
        self.storage.remove(f"{self.directory}/{name}" for name in dict.fromkeys(replaced + stale))
        # Only records listed before the put are considered, because another index can have begun since.
        self.storage.remove(name.path(self.directory) for name in self.listed if self._is_old(name, record))
        late = [name for name in self.listed if self._is_late(name, record)]
        if len(late) >= _MAX_RECORDS:
            # only few commits need it, and each command would import it
            from xskip.metadatastore.commit_archive import archive_commits, remove_archived

            many = sorted(late)[: 1 - _KEPT_OF_MANY]  # the record is one of those that stay
            archive_commits(self.storage, self.directory, self.index, many)
            self.storage.remove(name.path(self.directory) for name in many)
            remove_archived(self.storage, self.directory, self.index, record.created - _KEPT_MS)

    def _is_late(self, name: RecordName, record: CommitRecord) -> bool:
        """Return whether a record is part of the history of the index, by its time."""
        # records from before indexes had an identity are no part of the history
        return name.identity == self.index != "" and self.listed[name].modified >= record.created - _KEPT_MS

    def _is_old(self, name: RecordName, record: CommitRecord) -> bool:
        """Return whether a record is of a former index, or no part of the history of the index any more."""
        if name == self.first:
            return False
        if self.is_first:
            return name.identity != "" or name < self.first
        if name.identity not in ("", self.index):
            return True
        return record.number - name.number >= _KEPT_RECORDS and not self._is_late(name, record)


def _log_commit(directory: str, record: CommitRecord) -> None:
    done, changes = record.operation, ""
    if done is not None and done.added is not None and done.removed is not None:
        changes = f", {done.added:,} files added and {done.removed:,} removed"
    _log.info("commit %d of %s: %s%s", record.number, directory, done.name if done else "unknown", changes)


def _take_away(storage: Storage, paths: Sequence[str]) -> None:
    # The error that led to the removal is more important than an error of the removal.
    with suppress(StorageError):
        storage.remove(paths)


def _conflict(directory: str, name: RecordName) -> CommitConflictError:
    hint = Words("{} again", Call("refresh"))
    error = CommitConflictError("another writer changed the index", where=directory, hint=hint)
    error.index = name.identity
    return error


def _is_torn(storage: Storage, directory: str, name: RecordName) -> bool:
    """Return whether a record stays incomplete; on some file systems a new record is incomplete for a moment."""
    for _ in range(_TORN_LOOKS):
        try:
            read_record(storage, directory, name)
        except MetadataCorruptError:
            time.sleep(_TORN_WAIT)
        except FileNotFoundError:
            return False
        else:
            return False
    return True


def _are_there(storage: Storage, directory: str, names: Sequence[str]) -> bool:
    """Return whether files exist that a listing omits; some stores list a new file later than they return it."""
    try:
        for name in names:
            storage.fetch(f"{directory}/{name}")
    except FileNotFoundError:
        return False
    return True


def _is_data(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith(("_", "."))
