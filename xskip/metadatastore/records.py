"""Records of commits: what they say, how they are named, and which of a directory's records count. Rules: [MDS-C].

.. code-block:: text

    _commits/00000000000000000001.json                                     the record that an index begins with
    _commits/00000000000000000002-0f6c0a5be14c4f4e8a2b6d1f5f2f4d11.json    a later one of the same index

The first record gives the index its identity, and every later one has it in its name. So a writer that began before the
index was dropped puts a record that no reader takes for one of the index that was made afterwards.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from xskip.errors import MetadataCorruptError
from xskip.metadata.read_profile import ReadProfile, text_of, texts_of
from xskip.metadatastore.digests import sealed, unsealed
from xskip.metadatastore.filesystem import FileEntry, Storage

__all__ = [
    "COMMITS",
    "CommitRecord",
    "Latest",
    "RecordName",
    "RecordedFile",
    "find_latest",
    "list_records",
    "new_index_id",
    "read_record",
    "records_among",
]

#: The directory of the records, in the directory of the metadata.
COMMITS = "_commits"
_NAME = re.compile(r"(\d{20})(?:-([0-9a-f]{32}))?\.json")
_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file of a snapshot: name, rows, size in bytes, the digest of its footer or nothing where none was recorded."""

    name: str
    rows: int
    size: int
    footer: str = ""


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """The content of a commit.

    Attributes
    ----------
    number : int
        1 for the first.
    root : str
        The dataset's root, with scheme and authority.
    version : int
        The version of the metadata format.
    files : tuple of RecordedFile
    reading : ReadProfile or None
        How the indexed values were read; None where another program made them and did not say.
    types : mapping of str to str
        The Spark types of the indexed columns.
    created : int
        Milliseconds since the epoch.
    index : str
        The identity of the index; empty in records that were made before indexes had one.
    """

    number: int
    root: str
    version: int
    files: tuple[RecordedFile, ...]
    reading: ReadProfile | None
    types: Mapping[str, str]
    created: int
    index: str = ""

    def to_bytes(self) -> bytes:
        """Return the record as JSON with its digest."""
        body = {
            "number": self.number,
            "index": self.index,
            "root": self.root,
            "version": self.version,
            "created": self.created,
            "files": [{"name": f.name, "rows": f.rows, "size": f.size, "footer": f.footer} for f in self.files],
            "reading": self.reading.to_json() if self.reading else None,
            "types": dict(self.types),
        }
        return sealed(json.dumps(body, indent=1).encode())

    @staticmethod
    def from_bytes(data: bytes) -> CommitRecord:
        """The inverse of :meth:`to_bytes`.

        Raises
        ------
        MetadataCorruptError
            The bytes are no record, such as one torn by a crash.
        """
        try:
            body: dict[str, Any] = json.loads(unsealed(data))
            if not isinstance(body["files"], list):
                raise ValueError("something else in place of a list of files")
            files = tuple(map(_recorded_file, body["files"]))
            if len({f.name for f in files}) < len(files):
                raise ValueError("a file is named twice")
            return CommitRecord(
                _number(body["number"]),
                text_of(body["root"]),
                _number(body["version"]),
                files,
                None if body["reading"] is None else ReadProfile.from_json(body["reading"]),
                texts_of(body["types"]),
                _number(body["created"]),
                text_of(body.get("index", "")),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise MetadataCorruptError("a commit record that is not whole", found=type(error).__name__) from error


def _recorded_file(entry: Mapping[str, Any]) -> RecordedFile:
    name, footer = text_of(entry["name"]), text_of(entry.get("footer", ""))
    return RecordedFile(name, _number(entry["rows"]), _number(entry["size"]), footer)


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{type(value).__name__} in place of a number from 0 on")
    return value


class RecordName(NamedTuple):
    """The name of a record: its number, and the identity of its index, which the first record of one leaves empty."""

    number: int
    identity: str = ""

    @property
    def file_name(self) -> str:
        """The name itself.

        >>> RecordName(7).file_name
        '00000000000000000007.json'
        """
        return f"{self.number:020d}-{self.identity}.json" if self.identity else f"{self.number:020d}.json"

    def path(self, directory: str) -> str:
        """Return the path of the record below the directory of the metadata."""
        return f"{directory}/{COMMITS}/{self.file_name}"

    @staticmethod
    def parse(file_name: str) -> RecordName | None:
        """Return the number and the identity in a name; None where it is no record's.

        >>> RecordName.parse("00000000000000000007.json"), RecordName.parse("7.json")
        (RecordName(number=7, identity=''), None)
        """
        match = _NAME.fullmatch(file_name)
        return RecordName(int(match[1]), match[2] or "") if match else None


@dataclass(frozen=True, slots=True)
class Latest:
    """The record that counts in a directory.

    Attributes
    ----------
    record : CommitRecord
    index : str
        The identity of the index.
    first : RecordName
        The record that the identity comes from.
    entries : tuple of FileEntry
        That record's file and the latest one's, as they were listed.
    """

    record: CommitRecord
    index: str
    first: RecordName
    entries: tuple[FileEntry, ...]


def new_index_id() -> str:
    """Return an identity that no other index has."""
    return uuid.uuid4().hex


def list_records(storage: Storage, directory: str) -> dict[RecordName, FileEntry]:
    """List the records of a directory."""
    return records_among(storage.list(f"{directory}/{COMMITS}"))


def records_among(entries: Iterable[FileEntry]) -> dict[RecordName, FileEntry]:
    """Return the records among files, by what their names say."""
    return {name: entry for entry in entries if (name := RecordName.parse(entry.name)) is not None}


def read_record(storage: Storage, directory: str, name: RecordName) -> tuple[CommitRecord, str]:
    """Read a record, and tell the identity of its index.

    A record that was made before indexes had one gives its index the digest of its bytes, which is the same to all.

    Raises
    ------
    MetadataCorruptError
        It is not whole.
    FileNotFoundError
        It is not there.
    """
    data = storage.read(name.path(directory))
    record = CommitRecord.from_bytes(data)
    index = record.index or hashlib.sha256(data).hexdigest()[:32]
    if name.identity not in ("", index):
        raise MetadataCorruptError("a commit record of another index than its name says", where=name.path(directory))
    return record, index


def find_latest(storage: Storage, directory: str, known: Latest | None = None) -> Latest | None:
    """Find the record that counts; None where there is no index.

    The greatest of the records without an identity in their names says which index there is. Of the records of that
    index the greatest counts. Records that are not whole are passed over.

    Parameters
    ----------
    storage : Storage
    directory : str
    known : Latest, optional
        What was found before: nothing is read where the same records are listed.
    """
    for _ in range(_ATTEMPTS):
        listed = list_records(storage, directory)
        if known is not None and _is_still(known, listed):
            return known
        try:
            return _latest_of(storage, directory, listed)
        except FileNotFoundError:  # removed since it was listed: there are newer ones
            continue
    return None


def _is_still(known: Latest, listed: Mapping[RecordName, FileEntry]) -> bool:
    first = max((name for name in listed if not name.identity), default=None)
    last = max((name for name in listed if name.identity == known.index), default=first)
    return first == known.first and last is not None and known.entries == (listed[known.first], listed[last])


def _latest_of(storage: Storage, directory: str, listed: Mapping[RecordName, FileEntry]) -> Latest | None:
    for first in sorted((name for name in listed if not name.identity), reverse=True):
        begun = _whole(storage, directory, first)
        if begun is None:
            continue
        record, index = begun
        for later in sorted(_later(listed, first, index), reverse=True):
            found = _whole(storage, directory, later)
            if found is not None:
                return Latest(found[0], index, first, (listed[first], listed[later]))
        return Latest(record, index, first, (listed[first], listed[first]))
    return None


def _later(listed: Iterable[RecordName], first: RecordName, index: str) -> list[RecordName]:
    return [name for name in listed if name.identity == index and name.number > first.number]


def _whole(storage: Storage, directory: str, name: RecordName) -> tuple[CommitRecord, str] | None:
    try:
        return read_record(storage, directory, name)
    except MetadataCorruptError:
        return None
