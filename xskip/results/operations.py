"""What the operations on an index return: frozen, with a text for terminals and HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xskip.metadata.objects import Objects, ObjectStatus
from xskip.results.render import KeyValueView, ShownTable, human_bytes

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ColumnChange",
    "DropResult",
    "FileList",
    "IndexDescription",
    "IndexInfo",
    "IndexList",
    "IndexStatus",
    "ListedIndex",
    "MigrationResult",
    "OptimizeResult",
    "Progress",
    "RefreshResult",
    "RotationResult",
]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is.

    Attributes
    ----------
    chunk, chunks : int
        Jobs done, and in all.
    objects, total : int
        Objects done, and in all.
    seconds : float
        Since the start.
    """

    chunk: int
    chunks: int
    objects: int
    total: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RefreshResult(KeyValueView):
    """What a build did.

    Attributes
    ----------
    added, removed, unchanged : int
        Objects whose metadata is new, is gone, stays.
    seconds : float
    failed : tuple of str
        Objects that could not be read and have no metadata (``on_error="skip"``).
    """

    added: int
    removed: int
    unchanged: int
    seconds: float
    failed: tuple[str, ...] = ()

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        pairs: list[tuple[str, Any]] = [
            ("objects added", self.added),
            ("removed", self.removed),
            ("unchanged", self.unchanged),
            ("seconds", self.seconds),
        ]
        return pairs + [("not readable", name) for name in self.failed]


@dataclass(frozen=True, slots=True)
class DropResult(KeyValueView):
    """What a drop removed: the directory, and how many metadata files it held."""

    location: str
    files: int

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [("dropped", self.location), ("files", self.files)]


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """One index of a dataset: its type, its columns with their Spark types, its parameters."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    params: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class IndexDescription(KeyValueView):
    """What the index of a dataset is.

    Attributes
    ----------
    dataset : str
        The dataset's root.
    location : str
        The directory of the metadata.
    format : str
    version : int
        Of the metadata format.
    commit : int
    objects : int
    metadata_bytes : int
    partitions : tuple of str
    indexes : tuple of IndexInfo
    """

    dataset: str
    location: str
    format: str
    version: int
    commit: int
    objects: int
    metadata_bytes: int
    partitions: tuple[str, ...]
    indexes: tuple[IndexInfo, ...]

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        pairs: list[tuple[str, Any]] = [
            ("dataset", self.dataset),
            ("location", self.location),
            ("format", self.format),
            ("version", self.version),
            ("commit", self.commit),
            ("objects", self.objects),
            ("metadata", human_bytes(self.metadata_bytes)),
            ("partitions", ", ".join(self.partitions) or "none"),
        ]
        for index in self.indexes:
            typed = ", ".join(f"{c} {t}" for c, t in zip(index.columns, index.types, strict=True))
            params = ", ".join(f"{k.rpartition('.')[2]}={v}" for k, v in index.params)
            pairs.append((index.name, f"{typed}  {params}".rstrip()))
        return pairs

    def to_arrow(self) -> pa.Table:
        """A row for each index."""
        return pa.table(
            {
                "index": [i.name for i in self.indexes],
                "columns": [", ".join(i.columns) for i in self.indexes],
                "types": [", ".join(i.types) for i in self.indexes],
                "params": [", ".join(f"{k}={v}" for k, v in i.params) for i in self.indexes],
            }
        )

    def to_pandas(self) -> pd.DataFrame:
        """A row for each index; needs pandas."""
        return self.to_arrow().to_pandas()


@dataclass(frozen=True, slots=True)
class IndexStatus(KeyValueView):
    """How an index stands to its dataset now.

    Attributes
    ----------
    version : str
        CURRENT, DEPRECATED_SUPPORTED, DEPRECATED_UNSUPPORTED or TOO_NEW.
    indexed : int
        Objects whose metadata is in use.
    missing : int
        Objects of the dataset without metadata, new or changed since: queries read them.
    stale : int
        Objects in the metadata that are gone or were changed.
    problem : str
        Why queries do not use the index, or nothing.
    files : tuple of (str, int)
        The metadata files, each with its version.
    """

    version: str
    indexed: int
    missing: int
    stale: int
    problem: str = ""
    files: tuple[tuple[str, int], ...] = ()

    @property
    def up_to_date(self) -> bool:
        """Nothing for a refresh to do."""
        return not (self.missing or self.stale or self.problem)

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("version", f"{self.version} ({', '.join(map(str, sorted({v for _, v in self.files}))) or 'no files'})"),
            ("objects indexed", self.indexed),
            ("missing", self.missing),
            ("stale", self.stale),
            ("up to date", "yes" if self.up_to_date else "no, call refresh()"),
            *([("problem", self.problem)] if self.problem else []),
        ]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """What a migration makes of a column of the metadata; a name is empty where there is no column."""

    before: str
    after: str
    change: str


@dataclass(frozen=True, slots=True)
class MigrationResult(KeyValueView):
    """What a migration did, or would do.

    Attributes
    ----------
    location : str
        The metadata directory.
    before : tuple of int
        The versions of its files.
    after : int
    objects : int
    seconds : float
    dry_run : bool
        Nothing was changed.
    columns : tuple of ColumnChange
    problem : str
        Why the index stayed as it was, where several were to be migrated; else nothing.
    """

    location: str
    before: tuple[int, ...]
    after: int
    objects: int
    seconds: float
    dry_run: bool = False
    columns: tuple[ColumnChange, ...] = ()
    problem: str = ""

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("location", self.location),
            ("version", f"{', '.join(map(str, self.before)) or 'none'} -> {self.after}"),
            ("objects", self.objects),
            ("seconds", self.seconds),
            *([("dry run", "nothing was changed")] if self.dry_run else []),
            *((c.before or c.after, f"{c.after or 'gone'}: {c.change}") for c in self.columns),
            *([("problem", self.problem)] if self.problem else []),
        ]


@dataclass(frozen=True, slots=True)
class RotationResult(KeyValueView):
    """What a rotation of keys did: the directory, the files that were encrypted anew, the labels of their keys now."""

    location: str
    files: int
    labels: tuple[str, ...]
    seconds: float

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("location", self.location),
            ("files", self.files),
            ("labels", ", ".join(self.labels)),
            ("seconds", self.seconds),
        ]


@dataclass(frozen=True, slots=True)
class OptimizeResult(KeyValueView):
    """What joining metadata files did; where nothing was to be done, all is after as before.

    Attributes
    ----------
    location : str
        The metadata directory.
    files_before, files_after : int
    objects : int
    bytes_before, bytes_after : int
        Of all metadata files.
    seconds : float
    """

    location: str
    files_before: int
    files_after: int
    objects: int
    bytes_before: int
    bytes_after: int
    seconds: float

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("location", self.location),
            ("files", f"{self.files_before:,} -> {self.files_after:,}"),
            ("metadata", f"{human_bytes(self.bytes_before)} -> {human_bytes(self.bytes_after)}"),
            ("objects", self.objects),
            ("seconds", self.seconds),
        ]


@dataclass(frozen=True, slots=True)
class FileList(ShownTable):
    """The objects that a query must read.

    Attributes
    ----------
    objects : Objects
    total : int
        The objects of the whole dataset.
    total_bytes : int
    """

    objects: Objects
    total: int
    total_bytes: int

    def __len__(self) -> int:
        return len(self.objects)

    def __iter__(self) -> Iterator[ObjectStatus]:
        return (self.objects[i] for i in range(len(self.objects)))

    def __repr__(self) -> str:
        volume = f"{human_bytes(self.objects.total_bytes)} of {human_bytes(self.total_bytes)}"
        return f"FileList({len(self)} of {self.total} objects, {volume})"

    @property
    def names(self) -> list[str]:
        """The paths, without scheme."""
        return list(self.objects.names.to_pylist())

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "name": self.names,
            "size": self.objects.sizes.to_pylist(),
            "modified": self.objects.modified.to_pylist(),
        }


@dataclass(frozen=True, slots=True)
class ListedIndex:
    """An index among others: its dataset, where it is, how many objects it knows, its indexes in words."""

    dataset: str
    location: str
    objects: int
    indexes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IndexList(ShownTable):
    """The indexes that were found."""

    indexes: tuple[ListedIndex, ...]

    def __len__(self) -> int:
        return len(self.indexes)

    def __iter__(self) -> Iterator[ListedIndex]:
        return iter(self.indexes)

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "dataset": [i.dataset for i in self.indexes],
            "objects": [i.objects for i in self.indexes],
            "indexes": [", ".join(i.indexes) for i in self.indexes],
            "location": [i.location for i in self.indexes],
        }
