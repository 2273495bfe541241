"""Copies of index definitions outside of datasets, which outlive an overwrite. Rules: [MDS-DC].

.. code-block:: text

    /lake/events                                      the dataset, with its index inside: an overwrite deletes both
    /lake/.xskip_definitions/<digest>/<time>.json     the copy of its definition
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from xskip.errors import MetadataCorruptError, StorageError
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexDefinition
from xskip.metadatastore.digests import sealed, unsealed
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import IndexLocation, metadata_directory

__all__ = [
    "DEFINITIONS",
    "DefinitionCopy",
    "copy_directory",
    "find_copy",
    "has_dataset",
    "keep_copy",
    "read_copy",
    "remove_copies",
]

#: The folder beside datasets. Spark ignores names that begin with a dot, and so do patterns such as ``/lake/*``.
DEFINITIONS = ".xskip_definitions"
_NAME = re.compile(r"(\d{20})\.json")
#: The end of the year 2286, in milliseconds since the epoch.
_LAST = 10**13
_log = logging.getLogger("xskip")


@dataclass(frozen=True, slots=True)
class DefinitionCopy:
    """The definition of a dataset's index, without statistics."""

    #: The dataset's root, in the form in which the hook writes paths.
    root: str
    #: How the build read the data files.
    read_profile: ReadProfile
    #: The version of the metadata format.
    version: int
    #: Without the types of columns, which are those of the present files.
    indexes: tuple[IndexDefinition, ...]
    #: When the copy was written, in milliseconds since the epoch; 0 before.
    created: int = 0
    #: The number of bytes of the parts that data files are divided into; 0 for none, None for the default.
    part_bytes: int | None = None

    @property
    def time(self) -> str:
        """Return when the copy was written, in UTC."""
        return f"{datetime.fromtimestamp(self.created / 1000, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"

    def is_same(self, other: DefinitionCopy) -> bool:
        """Return whether another copy defines the same index; the order of indexes and parameters does not count."""
        mine, others = ({d.key: (dict(d.params), d.key_label) for d in each.indexes} for each in (self, other))
        same_reading = self.read_profile.to_json() == other.read_profile.to_json()
        return (
            mine == others
            and same_reading
            and (self.root, self.version, self.part_bytes) == (other.root, other.version, other.part_bytes)
        )

    def to_bytes(self) -> bytes:
        """Return the copy as JSON that ends with a checksum."""
        indexes = [
            {"name": d.name, "columns": d.columns, "params": d.params, "key_label": d.key_label} for d in self.indexes
        ]
        body = {
            "root": self.root, "version": self.version, "created": self.created, "indexes": indexes,
            "reading": self.read_profile.to_json(),
            **({"parts": self.part_bytes} if self.part_bytes is not None else {}),
        }  # fmt: skip
        return sealed(json.dumps(body, indent=1).encode())

    @staticmethod
    def parse(data: bytes) -> DefinitionCopy | None:
        """Parse the JSON that :meth:`to_bytes` returned; return None for anything else."""
        damage = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
        with suppress(MetadataCorruptError, *damage):
            body: Mapping[str, Any] = json.loads(unsealed(data))
            created, version = int(body["created"]), int(body["version"])
            if 0 <= created < _LAST:
                indexes, profile = tuple(map(_definition, body["indexes"])), ReadProfile.from_json(body["reading"])
                parts = None if body.get("parts") is None else int(body["parts"])
                return DefinitionCopy(str(body["root"]), profile, version, indexes, created, parts)
        return None


def _definition(entry: Mapping[str, Any]) -> IndexDefinition:
    params = tuple((str(key), str(value)) for key, value in entry["params"])
    label = entry["key_label"]
    return IndexDefinition(
        str(entry["name"]), tuple(map(str, entry["columns"])), params, None if label is None else str(label)
    )


def copy_directory(location: IndexLocation) -> str | None:
    """Return the directory of the copies for an index at the default place inside its dataset; None for any other.

    >>> copy_directory(IndexLocation("/lake/t", "/md/t", "/lake/t")) is None
    True
    >>> inside = metadata_directory("/lake/t", None)
    >>> copy_directory(IndexLocation("/lake/t", inside, "/lake/t"))[:25]
    '/lake/.xskip_definitions/'
    """
    root = location.root.rstrip("/")
    parent, _, name = root.rpartition("/")
    is_bucket = parent.endswith(":/")  # a bucket has no parent
    if not name or is_bucket or location.directory != metadata_directory(location.root, None):
        return None
    return metadata_directory(location.root, f"{parent}/{DEFINITIONS}")


def find_copy(storage: Storage, location: IndexLocation) -> DefinitionCopy | None:
    """Return the latest copy of the definition of a dataset's index, or None if there is none that can be read."""
    directory = copy_directory(location)
    if directory is None:
        return None
    copy = read_copy(storage, directory)
    return copy if copy is not None and copy.root == location.root else None


def read_copy(storage: Storage, directory: str) -> DefinitionCopy | None:
    """Return the latest copy in a directory of copies, or None if there is none that can be read."""
    try:
        for name in reversed(_names(storage, directory)):
            with suppress(FileNotFoundError):  # another writer has replaced it
                copy = DefinitionCopy.parse(storage.read(f"{directory}/{name}"))
                if copy is not None:
                    return copy
    except StorageError as error:
        _log.debug("xskip cannot look for a definition in %s: %s", directory, error)
    return None


def keep_copy(storage: Storage, location: IndexLocation, copy: DefinitionCopy) -> bool:
    """Write a copy unless the latest copy is equal, remove the earlier copies, and return whether it was written."""
    directory = copy_directory(location)
    known = find_copy(storage, location)
    if directory is None or (known is not None and known.is_same(copy)):
        return False
    before = _names(storage, directory)
    # also later than a copy of a writer whose clock is ahead
    created = max(time.time_ns() // 1_000_000, *(int(name[:20]) + 1 for name in before), 0)
    name = f"{created:020d}.json"
    written = storage.put_if_absent(f"{directory}/{name}", replace(copy, created=created).to_bytes())
    storage.remove(f"{directory}/{each}" for each in before)
    return written


def remove_copies(storage: Storage, location: IndexLocation) -> None:
    """Remove the copies for an index; a StorageError says that some remain."""
    directory = copy_directory(location)
    if directory is None or not _names(storage, directory):
        return
    storage.remove_tree(directory)
    if left := _names(storage, directory):
        raise StorageError("cannot remove a file", where=f"{directory}/{left[-1]}")


def has_dataset(storage: Storage, root: str) -> bool:
    """Return whether a dataset's directory exists; also True if the storage refuses to list the parent directory."""
    parent, _, name = root.rstrip("/").rpartition("/")
    try:
        return name in (each.rstrip("/").rpartition("/")[2] for each in storage.directories(parent))
    except StorageError as error:
        _log.debug("xskip cannot look for the dataset %s: %s", root, error)
        return True


def _names(storage: Storage, directory: str) -> list[str]:
    """Return the names of the copies in a directory, in the order of their times."""
    return sorted(entry.name for entry in storage.list(directory) if _NAME.fullmatch(entry.name))
