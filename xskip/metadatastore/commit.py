"""Commits: how a metadata directory goes from one whole snapshot to the next. Rules: [MDS-C].

.. code-block:: text

    <directory>/part-00000-<uuid>-c000.snappy.parquet         rows, as any reader of the format lists them
    <directory>/_commits/00000000000000000007-<index>.json    which of them are the snapshot

New files come first, then the record of the next number (put-if-absent: of two writers one wins), then the removal
of what the record no longer names. So the directory holds a whole snapshot at any moment, also for readers that know
nothing of records. Files of ours carry a UUID of version 8: those that no record names are unfinished or left over,
while any other Parquet file was put there by a foreign writer, and then the directory's listing is what counts.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from xskip.errors import CommitConflictError, IndexDroppedError, MetadataCorruptError, RecordDamagedError, StorageError
from xskip.metadatastore.filesystem import FileEntry, PutInDoubtError, Storage
from xskip.metadatastore.records import (
    COMMITS,
    CommitRecord,
    Latest,
    RecordedFile,
    RecordName,
    find_latest,
    list_records,
    new_index_id,
    read_record,
    records_among,
)

__all__ = [
    "COMMITS",
    "CommitRecord",
    "LiveSnapshot",
    "RecordedFile",
    "find_live",
    "is_own_name",
    "new_file_name",
    "publish",
]

_KEPT_RECORDS = 10
_OURS = re.compile(r"part-\d{5}-[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-c000\..*parquet")
# what writers name a file until it is whole
_UNFINISHED = re.compile(
    r"\._(part-\d{5}-[0-9a-f-]{36}-c000\..*parquet|\d{20}(-[0-9a-f]{32})?\.json)(\.[0-9a-f-]+)?\.tmp"
)
_ATTEMPTS = 10
_LEFT_OVER_AFTER_MS = 24 * 3600 * 1000
# how often, and after how many seconds each, a torn record is read again before it counts as one that nobody completes
_TORN_LOOKS, _TORN_WAIT = 5, 0.2
_PUTS = 3


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """The files that make a snapshot now.

    Attributes
    ----------
    record : CommitRecord or None
        The latest record; None where there is none.
    names : tuple of str
        The files, in order.
    foreign : bool
        True where a writer that knows no records has been there, and ``names`` are the directory's listing.
    latest : Latest or None
        Where the record was found, and of which index it is.
    """

    record: CommitRecord | None
    names: tuple[str, ...]
    foreign: bool
    latest: Latest | None = None

    @property
    def identity(self) -> str:
        """A text that changes with the snapshot."""
        return "\n".join((self.index, *self.names))  # no name is ever used twice

    @property
    def index(self) -> str:
        """The identity of the index, which all its commits share; empty where there is no record."""
        return self.latest.index if self.latest else ""


def new_file_name(part: int) -> str:
    """A name that no other file has, in Spark's form, with a UUID of version 8.

    >>> bool(_OURS.fullmatch(new_file_name(0)))
    True
    """
    raw = uuid.uuid4().int & ~(0xF << 76) | 0x8 << 76
    return f"part-{part:05d}-{uuid.UUID(int=raw)}-c000.snappy.parquet"


def is_own_name(name: str) -> bool:
    """Is this the name of a file that xskip has put."""
    return _OURS.fullmatch(name) is not None


def find_live(storage: Storage, directory: str, known: LiveSnapshot | None = None) -> LiveSnapshot | None:
    """The snapshot of a directory at this moment, or None where there is no index.

    Parameters
    ----------
    storage : Storage
    directory : str
    known : LiveSnapshot, optional
        What was found before: where it still holds, two listings are all that is asked of the storage.

    Raises
    ------
    RecordDamagedError
        There are files, and the record that the index begins with is not whole.
    MetadataCorruptError
        The latest record names files that are not there, though nobody else wrote.
    """
    record: CommitRecord | None = None
    missing: list[str] = []
    before = known.latest if known is not None and known.names else None  # what is missing tells an old one
    for attempt in range(_ATTEMPTS):  # a commit between the two listings shows in the next round
        latest = find_latest(storage, directory, before)
        record = latest.record if latest else None
        present = sorted(e.name for e in storage.list(directory) if _is_data(e.name))
        foreign = [name for name in present if not is_own_name(name)]
        if foreign:
            return LiveSnapshot(record, tuple(present), foreign=True, latest=latest)
        if record is None:
            # without the record that an index begins with it was dropped; one just put is whole in the next round
            if not present or all(name.identity for name in list_records(storage, directory)):
                return None
            continue
        names = tuple(f.name for f in record.files)
        missing = [name for name in names if name not in set(present)]
        if not missing or (attempt == _ATTEMPTS - 1 and _are_there(storage, directory, missing)):
            return LiveSnapshot(record, names, foreign=False, latest=latest)
        before = None
    if record is None:
        raise RecordDamagedError(
            "the commit record that the index begins with is not whole", where=f"{directory}/{COMMITS}",
            hint="restore the record, or call create() again",
        )  # fmt: skip
    raise MetadataCorruptError(
        "metadata files have gone", where=directory, found=f"{len(missing)} missing",
        hint="drop the index and create it again",
    )  # fmt: skip


def publish(
    storage: Storage,
    directory: str,
    base: LiveSnapshot | None,
    files: Sequence[tuple[Path, RecordedFile]],
    record: CommitRecord,
) -> CommitRecord:
    """Makes a new snapshot of old and new files.

    Parameters
    ----------
    storage : Storage
    directory : str
    base : LiveSnapshot or None
        The snapshot that the new one was made from.
    files : sequence of (Path, RecordedFile)
        Finished local files that are new, and what the record says of them.
    record : CommitRecord
        What the new snapshot is; ``record.files`` names all its files, new ones included.

    Raises
    ------
    IndexDroppedError
        The index was dropped since the snapshot was read. Nothing has changed.
    CommitConflictError
        Another writer was faster. Nothing has changed.
    """
    commit = _Commit.begun(storage, directory, base)
    added = [f"{directory}/{entry.name}" for _, entry in files]
    numbered = replace(record, number=commit.name.number, index=commit.index, created=int(time.time() * 1000))
    try:
        for (local, _), path in zip(files, added, strict=True):
            storage.add(local, path)
    except BaseException:
        _take_away(storage, added)
        raise
    try:
        is_sure = commit.put(numbered)
    except PutInDoubtError:
        raise  # the record that names the files may be there all the same
    except (CommitConflictError, StorageError):
        _take_away(storage, added)
        raise
    with suppress(Exception):  # the commit has been made; what is left over goes with a later one
        if is_sure:
            commit.clean(numbered)
    return numbered


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit about to be made.

    Attributes
    ----------
    storage : Storage
    directory : str
    base : LiveSnapshot or None
    name : RecordName
        Of its record.
    first : RecordName
        Of the record that the index begins with.
    index : str
        The identity of the index.
    listed : mapping of RecordName to FileEntry
        The records that there were when it began.
    entries : mapping of str to FileEntry
        All files that there were, by their paths in the directory.
    """

    storage: Storage
    directory: str
    base: LiveSnapshot | None
    name: RecordName
    first: RecordName
    index: str
    listed: Mapping[RecordName, FileEntry]
    entries: Mapping[str, FileEntry]

    @staticmethod
    def begun(storage: Storage, directory: str, base: LiveSnapshot | None) -> _Commit:
        """A commit on what there was before, with the first number that nobody has taken."""
        commits = storage.list(f"{directory}/{COMMITS}")
        listed, entries = records_among(commits), {e.name: e for e in storage.list(directory)}
        entries |= {f"{COMMITS}/{e.name}": e for e in commits}
        latest = base.latest if base else None
        if latest is None:
            name, index = RecordName(1), new_index_id()
        else:
            name, index = RecordName(latest.record.number + 1, latest.index), latest.index
        while name in listed:
            if not _is_torn(storage, directory, name):
                raise _conflict(directory, name)
            name = RecordName(name.number + 1, name.identity)
        first = latest.first if latest else name
        return _Commit(storage, directory, base, name, first, index, listed, entries)

    @property
    def is_first(self) -> bool:
        """Return whether an index begins with this commit."""
        return not self.name.identity

    def put(self, record: CommitRecord) -> bool:
        """Puts the record, and looks at the first record again, which decides whether it counts.

        Returns False where it was put and nobody can tell whether the index is still there.

        Raises
        ------
        IndexDroppedError
            The index is not there any more.
        CommitConflictError
            Another writer was faster.
        StorageError
            The storage refused it.
        """
        path, data = self.name.path(self.directory), record.to_bytes()
        if not self._put(path, data):
            raise _conflict(self.directory, self.name)
        if self.is_first:
            return True
        try:
            _, index = read_record(self.storage, self.directory, self.first)
        except (FileNotFoundError, MetadataCorruptError):
            index = ""
        except StorageError:
            return False
        if index != self.index:
            _take_away(self.storage, [path])
            raise IndexDroppedError.at(self.directory)
        return True

    def _put(self, path: str, data: bytes) -> bool:
        """Puts bytes unless others are there; a storage that lost its answer, or was asked twice, has put them."""
        refused: StorageError | None = None
        for _ in range(_PUTS):
            try:
                if self.storage.put_if_absent(path, data):
                    return True
            except PutInDoubtError as error:
                refused = error
                continue
            except StorageError as error:
                refused = refused or error  # a first put that was never answered can still be carried out
            break
        try:
            return self.storage.read(path) == data
        except FileNotFoundError:
            if refused is not None:
                raise refused from None
            return False  # taken by one that has gone since
        except StorageError as error:
            raise PutInDoubtError(error.what, where=path, found=error.found, hint=error.hint) from error

    def clean(self, record: CommitRecord) -> None:
        """Removes what the record has replaced, and what writers that died left."""
        kept = {f.name for f in record.files}
        replaced = [name for name in (self.base.names if self.base else ()) if name not in kept]
        horizon = record.created - _LEFT_OVER_AFTER_MS
        # whoever put files before the first record was put cannot commit them any more
        stale = [
            path
            for path, entry in self.entries.items()
            if (is_own_name(path) and path not in kept and (self.is_first or entry.modified < horizon))
            or (_UNFINISHED.fullmatch(entry.name) and entry.modified < horizon)
        ]
        self.storage.remove(f"{self.directory}/{name}" for name in dict.fromkeys(replaced + stale))
        self.storage.remove(name.path(self.directory) for name in self._old_records(record))

    def _old_records(self, record: CommitRecord) -> list[RecordName]:
        """Records of the index beyond the latest ten, but for the first, and all of indexes that are no more.

        Only what was listed before the record was put: another index can have begun since.
        """
        return [name for name in self.listed if name != self.first and self._is_old(name, record.number)]

    def _is_old(self, name: RecordName, number: int) -> bool:
        if self.is_first:
            return name.identity != "" or name < self.first
        return name.identity not in ("", self.index) or name.number <= number - _KEPT_RECORDS


def _take_away(storage: Storage, paths: Sequence[str]) -> None:
    """Removes files after something else went wrong, which says more than what goes wrong now."""
    with suppress(StorageError):
        storage.remove(paths)


def _conflict(directory: str, name: RecordName) -> CommitConflictError:
    error = CommitConflictError("another writer changed the index", where=directory, hint="call refresh() again")
    error.index = name.identity
    return error


def _is_torn(storage: Storage, directory: str, name: RecordName) -> bool:
    """Return whether a record stays torn: on some file systems one is not whole for a moment."""
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
    """Return whether files are there that a listing does not show: some stores list late what they give at once."""
    try:
        for name in names:
            storage.fetch(f"{directory}/{name}")
    except FileNotFoundError:
        return False
    return True


def _is_data(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith(("_", "."))
