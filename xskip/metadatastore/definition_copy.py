"""Copies of index definitions outside of datasets, which outlive an overwrite. Rules: [MDS-DC].

.. code-block:: text

    /lake/events                                      the dataset, with its index inside: an overwrite deletes both
    /lake/_xskip_definitions/<digest>/<time>.json     the copy of its definition
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from xskip.errors import MetadataCorruptError
from xskip.metadata.table import IndexDefinition
from xskip.metadatastore.digests import sealed, unsealed
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import IndexLocation, metadata_directory

__all__ = ["DefinitionCopy", "copy_directory", "find_copy", "keep_copy", "remove_copies"]

#: The folder beside datasets. Spark and other engines ignore names that begin with an underscore.
_FOLDER = "_xskip_definitions"


@dataclass(frozen=True, slots=True)
class DefinitionCopy:
    """The definition of a dataset's index, without statistics."""

    #: The dataset's root, in the form in which the hook writes paths.
    root: str
    #: The file format of the dataset.
    format: str
    #: The version of the metadata format.
    version: int
    indexes: tuple[IndexDefinition, ...]
    #: When the copy was written, in milliseconds since the epoch; 0 before.
    created: int = 0

    @property
    def time(self) -> str:
        """Return when the copy was written, in UTC."""
        return f"{datetime.fromtimestamp(self.created / 1000, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"

    def to_bytes(self) -> bytes:
        """Return the copy as JSON that ends with a checksum."""
        indexes = [
            {"name": d.name, "columns": d.columns, "params": d.params, "key_label": d.key_label} for d in self.indexes
        ]
        body = {
            "root": self.root, "format": self.format, "version": self.version, "created": self.created,
            "indexes": indexes,
        }  # fmt: skip
        return sealed(json.dumps(body, indent=1).encode())

    @staticmethod
    def parse(data: bytes) -> DefinitionCopy | None:
        """Parse the JSON that :meth:`to_bytes` returned; return None for anything else."""
        with suppress(MetadataCorruptError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            body: Mapping[str, Any] = json.loads(unsealed(data))
            indexes = tuple(map(_definition, body["indexes"]))
            return DefinitionCopy(
                str(body["root"]), str(body["format"]), int(body["version"]), indexes, int(body["created"])
            )
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
    '/lake/_xskip_definitions/'
    """
    root = location.root.rstrip("/")
    parent, _, name = root.rpartition("/")
    is_bucket = parent.endswith(":/")  # a bucket has no parent
    if not name or is_bucket or location.directory != metadata_directory(location.root, None):
        return None
    return metadata_directory(location.root, f"{parent}/{_FOLDER}")


def find_copy(storage: Storage, location: IndexLocation) -> DefinitionCopy | None:
    """Return the latest copy of the definition of an index that is gone, or None without a copy of this dataset."""
    directory = copy_directory(location)
    if directory is None:
        return None
    for name in sorted((entry.name for entry in storage.list(directory)), reverse=True):
        with suppress(FileNotFoundError):  # another writer has replaced it
            copy = DefinitionCopy.parse(storage.read(f"{directory}/{name}"))
            if copy is not None and copy.root == location.root:
                return copy
    return None


def keep_copy(
    storage: Storage, location: IndexLocation, fmt: str, version: int, indexes: Sequence[IndexDefinition]
) -> None:
    """Write a copy unless the latest copy is equal, and remove the earlier copies."""
    directory = copy_directory(location)
    if directory is None:
        return
    before = [entry.name for entry in storage.list(directory)]
    # the types of columns are those of the present files, and the order of parameters has no meaning
    plain = tuple(IndexDefinition(d.name, d.columns, tuple(sorted(d.params)), d.key_label) for d in indexes)
    known = find_copy(storage, location) if before else None
    if known == DefinitionCopy(location.root, fmt, version, plain, known.created if known else 0):
        return
    created = time.time_ns() // 1_000_000
    copy = DefinitionCopy(location.root, fmt, version, plain, created)
    storage.put_if_absent(f"{directory}/{created:020d}.json", copy.to_bytes())
    storage.remove(f"{directory}/{name}" for name in before if name < f"{created:020d}.json")


def remove_copies(storage: Storage, location: IndexLocation) -> None:
    """Remove the copies for an index that was dropped."""
    directory = copy_directory(location)
    if directory is not None:
        storage.remove_tree(directory)
