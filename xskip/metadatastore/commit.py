"""Commits: how a metadata directory goes from one whole snapshot to the next. Rules: [MDS-C].

.. code-block:: text

    <directory>/part-00000-<uuid>-c000.snappy.parquet    rows, as any reader of the format lists them
    <directory>/_commits/00000000000000000007.json       which of them are the snapshot

New files come first, then the record of the next number (put-if-absent: of two writers one wins), then the removal
of what the record no longer names. So the directory holds a whole snapshot at any moment, also for readers that know
nothing of records. Files of ours carry a UUID of version 8: those that no record names are unfinished or left over,
while any other Parquet file was put there by a foreign writer, and then the directory's listing is what counts.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xskip.errors import CommitConflictError, MetadataCorruptError
from xskip.metadatastore.storage import Storage
from xskip.reading import Reading

__all__ = ["COMMITS", "Live", "Record", "RecordedFile", "find_live", "is_own_name", "new_file_name", "publish"]

#: The directory of the records, in the directory of the metadata.
COMMITS = "_commits"
_RECORD = re.compile(r"(\d{20})\.json")
_KEPT_RECORDS = 10
_OURS = re.compile(r"part-\d{5}-[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-c000\..*parquet")
_ATTEMPTS = 10
_TORN_AFTER_MS = 600_000
_LEFT_OVER_AFTER_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file of a snapshot: name, rows, size in bytes."""

    name: str
    rows: int
    size: int


@dataclass(frozen=True, slots=True)
class Record:
    """What a commit says.

    Attributes
    ----------
    number : int
        1 for the first.
    root : str
        The dataset's root, with scheme and authority.
    version : int
        The version of the metadata format.
    files : tuple of RecordedFile
    reading : Reading or None
        How the indexed values were read; None where another program made them and did not say.
    types : mapping of str to str
        The Spark types of the indexed columns.
    created : int
        Milliseconds since the epoch.
    """

    number: int
    root: str
    version: int
    files: tuple[RecordedFile, ...]
    reading: Reading | None
    types: Mapping[str, str]
    created: int

    def to_bytes(self) -> bytes:
        """As JSON."""
        body = {
            "number": self.number,
            "root": self.root,
            "version": self.version,
            "created": self.created,
            "files": [{"name": f.name, "rows": f.rows, "size": f.size} for f in self.files],
            "reading": self.reading.to_json() if self.reading else None,
            "types": dict(self.types),
        }
        return json.dumps(body, indent=1).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Record:
        """The inverse of :meth:`to_bytes`.

        Raises
        ------
        MetadataCorruptError
            The bytes are no record, such as one torn by a crash.
        """
        try:
            body: dict[str, Any] = json.loads(data)
            files = tuple(RecordedFile(str(f["name"]), int(f["rows"]), int(f["size"])) for f in body["files"])
            return Record(
                int(body["number"]),
                str(body["root"]),
                int(body["version"]),
                files,
                None if body["reading"] is None else Reading.from_json(body["reading"]),
                dict(body["types"]),
                int(body["created"]),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MetadataCorruptError("a commit record that is not whole", found=type(error).__name__) from error


@dataclass(frozen=True, slots=True)
class Live:
    """The files that make a snapshot now.

    Attributes
    ----------
    record : Record or None
        The latest record; None where there is none.
    names : tuple of str
        The files, in order.
    foreign : bool
        True where a writer that knows no records has been there, and ``names`` are the directory's listing.
    """

    record: Record | None
    names: tuple[str, ...]
    foreign: bool

    @property
    def identity(self) -> str:
        """A text that changes with the snapshot."""
        return "\n".join(self.names)  # no name is ever used twice


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


def find_live(storage: Storage, directory: str) -> Live | None:
    """The snapshot of a directory at this moment, or None where there is no index.

    Raises
    ------
    MetadataCorruptError
        The latest record names files that are not there, though nobody else wrote.
    """
    missing: list[str] = []
    for _ in range(_ATTEMPTS):  # a commit between the two listings shows in the next round
        record = _latest(storage, directory)
        present = sorted(e.name for e in storage.list(directory) if _is_data(e.name))
        foreign = [name for name in present if not is_own_name(name)]
        if foreign:
            return Live(record, tuple(present), foreign=True)
        if record is None:
            return None
        missing = [f.name for f in record.files if f.name not in set(present)]
        if not missing:
            return Live(record, tuple(f.name for f in record.files), foreign=False)
    raise MetadataCorruptError(
        "metadata files have gone", where=directory, found=f"{len(missing)} missing", hint="refresh or drop the index"
    )


def publish(
    storage: Storage, directory: str, base: Live | None, files: Sequence[tuple[Path, RecordedFile]], record: Record
) -> Record:
    """Makes a new snapshot of old and new files.

    Parameters
    ----------
    storage : Storage
    directory : str
    base : Live or None
        The snapshot that the new one was made from.
    files : sequence of (Path, RecordedFile)
        Finished local files that are new, and what the record says of them.
    record : Record
        What the new snapshot is; ``record.files`` names all its files, new ones included.

    Raises
    ------
    CommitConflictError
        Another writer was faster. Nothing has changed.
    """
    added = [f"{directory}/{entry.name}" for _, entry in files]
    number = _next_number(storage, directory, base)
    numbered = replace(record, number=number, created=int(time.time() * 1000))
    try:
        for (local, _), path in zip(files, added, strict=True):
            storage.add(local, path)
    except BaseException:
        storage.remove(added)
        raise
    # from here on an error leaves the files: the record that names them may be there all the same
    data, path = numbered.to_bytes(), _record_path(directory, number)
    won = storage.put_if_absent(path, data) or storage.read(path) == data  # the store's client may have put it twice
    if not won:
        storage.remove(added)
        raise CommitConflictError("another writer changed the index", where=directory, hint="call refresh() again")
    with suppress(Exception):  # the commit has been made; what is left over goes with a later one
        _clean(storage, directory, base, numbered)
    return numbered


def _next_number(storage: Storage, directory: str, base: Live | None) -> int:
    """The number after the base's, past torn records that nobody is writing any more."""
    number = base.record.number + 1 if base and base.record else 1
    entries = {entry.name: entry for entry in storage.list(f"{directory}/{COMMITS}")}
    horizon = time.time() * 1000 - _TORN_AFTER_MS
    while (entry := entries.get(f"{number:020d}.json")) is not None and entry.modified < horizon:
        try:
            Record.from_bytes(storage.read(_record_path(directory, number)))
            break
        except MetadataCorruptError:
            number += 1
    return number


def _clean(storage: Storage, directory: str, base: Live | None, record: Record) -> None:
    """Removes what the record has replaced, and what died builds left long ago."""
    kept = {f.name for f in record.files}
    replaced = [name for name in (base.names if base else ()) if name not in kept]
    horizon = record.created - _LEFT_OVER_AFTER_MS
    stale = [
        e.name for e in storage.list(directory) if is_own_name(e.name) and e.name not in kept and e.modified < horizon
    ]
    old = [n for n in _numbers(storage, directory) if n <= record.number - _KEPT_RECORDS]
    storage.remove(f"{directory}/{name}" for name in dict.fromkeys(replaced + stale))
    storage.remove(_record_path(directory, number) for number in old)


def _latest(storage: Storage, directory: str) -> Record | None:
    """The record with the greatest number that is whole; a torn one was never followed by a removal."""
    for _ in range(_ATTEMPTS):
        gone = False
        for number in sorted(_numbers(storage, directory), reverse=True):
            try:
                return Record.from_bytes(storage.read(_record_path(directory, number)))
            except MetadataCorruptError:
                continue
            except FileNotFoundError:  # trimmed since it was listed: there are newer ones
                gone = True
        if not gone:
            break
    return None


def _numbers(storage: Storage, directory: str) -> list[int]:
    matches = (_RECORD.fullmatch(entry.name) for entry in storage.list(f"{directory}/{COMMITS}"))
    return [int(match[1]) for match in matches if match]


def _record_path(directory: str, number: int) -> str:
    return f"{directory}/{COMMITS}/{number:020d}.json"


def _is_data(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith(("_", "."))
