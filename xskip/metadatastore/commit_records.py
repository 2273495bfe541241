"""Commit records: their content, their file names, and the choice of the record that counts. Rules: [MDS-C].

.. code-block:: text

    _commits/00000000000000000001.json                                     the first record of an index
    _commits/00000000000000000002-0f6c0a5be14c4f4e8a2b6d1f5f2f4d11.json    a later record of the same index

The first record defines the identity of the index, and the name of every later record contains this identity. A writer
that began before a drop therefore cannot commit to an index that was created after the drop: readers ignore its record.
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
from xskip.metadatastore.build_notes import BuildNotes
from xskip.metadatastore.digests import sealed, unsealed
from xskip.metadatastore.filesystem import FileEntry, Storage
from xskip.metadatastore.writers import Writer

__all__ = [
    "COMMITS",
    "WRITE",
    "CommitRecord",
    "Latest",
    "Operation",
    "RecordName",
    "RecordedFile",
    "changed_repeatedly",
    "find_latest",
    "is_of_writes",
    "later_records",
    "list_records",
    "new_index_id",
    "read_record",
    "records_among",
]

#: The directory of commit records in a metadata directory.
COMMITS = "_commits"
_NAME = re.compile(r"(\d{20})(?:-([0-9a-f]{32}))?\.json")
_ATTEMPTS = 10
_NO_NOTES = BuildNotes()
_UNKNOWN = Writer()


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A metadata file as a commit record lists it, under its name in the metadata directory."""

    name: str
    rows: int
    #: In bytes.
    size: int
    #: The digest of the footer; empty if the record contains none.
    footer: str = ""


#: The name of the operation of a write by Spark.
WRITE = "write"


class Operation(NamedTuple):
    """A description of a commit for people. No query decides anything by it."""

    #: The name of the operation, such as ``refresh``.
    name: str
    #: The number of data files whose entries were added; None if the operation changed no entries. So is ``removed``.
    added: int | None = None
    removed: int | None = None

    @staticmethod
    def parse(body: object) -> Operation | None:
        """Parse the entry of a record; return None for anything that is not such an entry."""
        if not isinstance(body, dict) or not isinstance(body.get("name"), str):
            return None
        counts = [c if isinstance(c := body.get(key), int) else None for key in ("added", "removed")]
        return Operation(body["name"], *counts)


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """The content of a commit record."""

    #: The first commit has number 1.
    number: int
    #: The URI of the dataset's root, with scheme and authority.
    root: str
    #: The version of the metadata format.
    version: int
    #: All metadata files of the snapshot.
    metadata_files: tuple[RecordedFile, ...]
    #: How the build read the data files; None if another program collected the statistics.
    read_profile: ReadProfile | None
    #: The Spark type of each indexed column, by column name.
    types: Mapping[str, str]
    #: In milliseconds since the epoch.
    created: int
    #: The identity of the index; empty in records from before indexes had an identity.
    index: str = ""
    #: None in records from before commits had an operation.
    operation: Operation | None = None
    notes: BuildNotes = _NO_NOTES
    #: Nothing is known of the writers of records from before records had a writer.
    writer: Writer = _UNKNOWN
    #: The number of bytes of the parts that data files are divided into; 0 for none, None for the default.
    part_bytes: int | None = None

    def to_bytes(self) -> bytes:
        """Return the record as JSON that ends with a checksum."""
        entries = [{"name": f.name, "rows": f.rows, "size": f.size, "footer": f.footer} for f in self.metadata_files]
        body = {
            "number": self.number,
            "index": self.index,
            "root": self.root,
            "version": self.version,
            "created": self.created,
            "files": entries,
            "reading": self.read_profile.to_json() if self.read_profile else None,
            "types": dict(self.types),
            **({"operation": self.operation._asdict()} if self.operation else {}),
            **({"notes": self.notes.to_json()} if self.notes != _NO_NOTES else {}),
            **({"writer": self.writer.to_json()} if self.writer != _UNKNOWN else {}),
            **({"parts": self.part_bytes} if self.part_bytes is not None else {}),
        }
        return sealed(json.dumps(body, indent=1).encode())

    @staticmethod
    def from_bytes(data: bytes) -> CommitRecord:
        """Parse the JSON that :meth:`to_bytes` returned.

        MetadataCorruptError means that the bytes are not a complete commit record, for example after a crash during the
        write.
        """
        try:
            body: dict[str, Any] = json.loads(unsealed(data))
            if not isinstance(body["files"], list):
                raise ValueError("the files are not a list")
            files = tuple(map(_recorded_file, body["files"]))
            if len({f.name for f in files}) < len(files):
                raise ValueError("the record lists a file twice")
            return CommitRecord(
                _number(body["number"]),
                text_of(body["root"]),
                _number(body["version"]),
                files,
                None if body["reading"] is None else ReadProfile.from_json(body["reading"]),
                texts_of(body["types"]),
                _number(body["created"]),
                text_of(body.get("index", "")),
                Operation.parse(body.get("operation")),
                BuildNotes.parse(body.get("notes")),
                Writer.parse(body.get("writer")),
                None if body.get("parts") is None else _number(body["parts"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise MetadataCorruptError(
                "a commit record is damaged or incomplete", found=type(error).__name__
            ) from error


def _recorded_file(entry: Mapping[str, Any]) -> RecordedFile:
    name, footer = text_of(entry["name"]), text_of(entry.get("footer", ""))
    return RecordedFile(name, _number(entry["rows"]), _number(entry["size"]), footer)


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"expected a number of at least 0, found {type(value).__name__}")
    return value


class RecordName(NamedTuple):
    """The name of a commit record."""

    number: int
    #: The identity of the index; empty in the name of the first record.
    identity: str = ""

    @property
    def file_name(self) -> str:
        """Return the file name of the record.

        >>> RecordName(7).file_name
        '00000000000000000007.json'
        """
        return f"{self.number:020d}-{self.identity}.json" if self.identity else f"{self.number:020d}.json"

    def path(self, directory: str) -> str:
        """Return the path of the record in a metadata directory."""
        return f"{directory}/{COMMITS}/{self.file_name}"

    @staticmethod
    def parse(file_name: str) -> RecordName | None:
        """Parse the file name of a commit record; return None for any other file name.

        >>> RecordName.parse("00000000000000000007.json"), RecordName.parse("7.json")
        (RecordName(number=7, identity=''), None)
        """
        match = _NAME.fullmatch(file_name)
        return RecordName(int(match[1]), match[2] or "") if match else None


@dataclass(frozen=True, slots=True)
class Latest:
    """The commit record that counts in a metadata directory."""

    record: CommitRecord
    #: The identity of the index.
    index: str
    #: The name of the record that defines the identity.
    first: RecordName
    #: The listed file of the first record and that of ``record``, in this order.
    entries: tuple[FileEntry, ...]


def new_index_id() -> str:
    """Return a new, unique identity for an index: 32 hexadecimal digits."""
    return uuid.uuid4().hex


def list_records(storage: Storage, directory: str) -> dict[RecordName, FileEntry]:
    """List the commit records of a metadata directory by their names; return none if it does not exist."""
    return records_among(storage.list(f"{directory}/{COMMITS}"))


def is_of_writes(storage: Storage, directory: str, latest: Latest) -> bool:
    """Return whether all records of an index are of writes: nobody has created or changed it in another way."""
    if not latest.index:  # its records are from before indexes had an identity
        return False
    names = [name for name in list_records(storage, directory) if name.identity in ("", latest.index)]
    records = [read_record(storage, directory, name)[0] for name in names]
    return len(records) == latest.record.number and all(
        each.operation is not None and each.operation.name == WRITE for each in records
    )


def records_among(entries: Iterable[FileEntry]) -> dict[RecordName, FileEntry]:
    """Select the commit records among the files of a directory ``_commits``."""
    return {name: entry for entry in entries if (name := RecordName.parse(entry.name)) is not None}


def read_record(storage: Storage, directory: str, name: RecordName) -> tuple[CommitRecord, str]:
    """Read a commit record and determine the identity of its index.

    MetadataCorruptError means that the record is incomplete, or that its name contains the identity of another index.
    """
    data = storage.read(name.path(directory))
    record = CommitRecord.from_bytes(data)
    # A record from before indexes had an identity contains none. The start of the digest of its bytes serves as the
    # identity, so that every reader computes the same identity.
    index = record.index or hashlib.sha256(data).hexdigest()[:32]
    if name.identity not in ("", index):
        raise MetadataCorruptError(
            "a commit record belongs to another index than its file name states", where=name.path(directory)
        )
    return record, index


def find_latest(storage: Storage, directory: str, known: Latest | None = None) -> Latest | None:
    """Find the commit record that counts in a metadata directory, or None if the directory contains no index.

    If the first and the latest record of ``known``, the result of an earlier call, are still listed unchanged, the
    function returns ``known`` and reads no record. MetadataCorruptError means that each listed record was gone when it
    was read.
    """
    for _ in range(_ATTEMPTS):
        listed = list_records(storage, directory)
        if known is not None and _is_still(known, listed):
            return known
        try:
            return _latest_of(storage, directory, listed)
        except FileNotFoundError:  # a commit removed the record after the listing, so there is a newer record
            continue
    raise changed_repeatedly(directory)


def changed_repeatedly(directory: str) -> MetadataCorruptError:
    """Return the error for a metadata directory in which listed files are gone whenever they are read."""
    return MetadataCorruptError(
        "other writers changed the index repeatedly during the read", where=directory, hint="try again"
    )


def _is_still(known: Latest, listed: Mapping[RecordName, FileEntry]) -> bool:
    first = max((name for name in listed if not name.identity), default=None)
    last = max((name for name in listed if name.identity == known.index), default=first)
    return first == known.first and last is not None and known.entries == (listed[known.first], listed[last])


def _latest_of(storage: Storage, directory: str, listed: Mapping[RecordName, FileEntry]) -> Latest | None:
    # Of the complete records without an identity in their names, the record with the greatest number defines the index.
    # Of the complete records of that index, the record with the greatest number counts.
    for first in sorted((name for name in listed if not name.identity), reverse=True):
        begun = _whole(storage, directory, first)
        if begun is None:
            continue
        record, index = begun
        for later in sorted(later_records(listed, first.number, index), reverse=True):
            found = _whole(storage, directory, later)
            if found is not None:
                return Latest(found[0], index, first, (listed[first], listed[later]))
        return Latest(record, index, first, (listed[first], listed[first]))
    return None


def later_records(listed: Iterable[RecordName], number: int, index: str) -> list[RecordName]:
    """Return the names of the records of an index whose numbers are greater than a number."""
    return [name for name in listed if name.identity == index and name.number > number]


def _whole(storage: Storage, directory: str, name: RecordName) -> tuple[CommitRecord, str] | None:
    try:
        return read_record(storage, directory, name)
    except MetadataCorruptError:
        return None
