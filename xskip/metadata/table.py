"""Metadata as in-memory tables with one row per file; independent of format versions, metadata files and Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

import pyarrow as pa

from xskip.column_paths import columns_in, split_path
from xskip.metadata.data_files import DataFiles
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.file_parts import FileParts, IndexKey
from xskip.types.datatypes import Opaque, Storage, arrow_type

__all__ = [
    "EXPRESSION",
    "SETTINGS",
    "IndexColumn",
    "IndexDefinition",
    "IndexKey",
    "MetadataTable",
    "PartitionColumn",
    "PartitionKey",
    "Requirement",
    "concat",
    "index_text",
]

#: The index parameter that holds the form of the indexed expression.
EXPRESSION = "io.xskip.index.expression"
#: The index parameter that holds the settings on which the expression's values depend.
SETTINGS = "io.xskip.index.expression.settings"
_K = TypeVar("_K")
_V = TypeVar("_V")


def index_text(key: IndexKey) -> str:
    """Return the text of an index, in which users name it.

    >>> index_text(("minmax", ("a", "b")))
    'minmax(a, b)'
    """
    name, columns = key
    return f"{name}({', '.join(columns)})"


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A partition column that a clause reads, in the spelling of the metadata table."""

    column: str


#: The metadata that a clause reads: an index, or a partition column.
Requirement = IndexKey | PartitionKey


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """The definition of an index, as metadata records it."""

    #: The name of the index type, such as ``minmax``.
    name: str
    #: In Spark's spelling, in lower case unless Spark read the dataset case-sensitively.
    columns: tuple[str, ...]
    #: The full names and values of the parameters, in order.
    params: tuple[tuple[str, str], ...] = ()
    #: The label of the encryption key, never the key. None if the index is not encrypted.
    key_label: str | None = None
    #: The Spark types of the columns at the time of the build; empty if not recorded.
    types: tuple[str, ...] = ()

    @property
    def expression(self) -> str | None:
        """Return the form of the indexed expression, or None if the index is on a column."""
        return dict(self.params).get(EXPRESSION)

    @property
    def settings(self) -> str | None:
        """Return the settings on which the expression's values depend, or None if the index is on a column."""
        return dict(self.params).get(SETTINGS)

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """Return the paths of the columns of the files on which the values depend, also those in an expression."""
        if self.expression is None:
            return tuple(map(split_path, self.columns))
        try:
            return tuple(dict.fromkeys(columns_in(json.loads(self.expression))))
        except ValueError:  # damaged: no filter has this expression
            return ()

    @property
    def plain_columns(self) -> tuple[str, ...]:
        """Return the columns of the index; none for an index on an expression."""
        return self.columns if self.expression is None else ()

    @property
    def key(self) -> IndexKey:
        """Return the name and the columns, which identify the index."""
        return self.name, self.columns

    def is_same(self, other: IndexDefinition) -> bool:
        """Return whether two definitions are equal; the order of parameters does not count, nor do unknown types.

        >>> IndexDefinition("minmax", ("a",), types=("int",)).is_same(IndexDefinition("minmax", ("a",)))
        True
        """
        are_of_one_type = not (self.types and other.types) or self.types == other.types
        return (
            are_of_one_type
            and (self.key, self.key_label) == (other.key, other.key_label)
            and dict(self.params) == dict(other.params)
        )

    def __str__(self) -> str:
        return index_text(self.key)


@dataclass(frozen=True, slots=True)
class IndexColumn:
    """The metadata of one index."""

    definition: IndexDefinition
    storage: Storage
    #: A value for each file, of the Arrow type of ``storage``. Null where the index has no value for the file, so that
    #: nothing is known.
    values: pa.Array
    #: The number of files whose value exists and cannot be decoded. Their values are null.
    unreadable: int = 0
    #: Whether the encryption key is not available, so that nothing is known.
    is_locked: bool = False
    #: The reason why values of this index prove nothing, or an empty string.
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A partition column of a dataset."""

    name: str
    #: The Spark type by its catalog name.
    type: str
    #: The partition value of each file. Null is the partition value NULL, not an unknown value.
    values: pa.Array


@dataclass(frozen=True, slots=True)
class MetadataTable:
    """The metadata of files, as columns of equal length in the order of ``files``."""

    files: DataFiles
    partitions: Mapping[str, PartitionColumn] = field(default_factory=dict)
    indexes: Mapping[IndexKey, IndexColumn] = field(default_factory=dict)
    #: The numbers of rows and of NULLs of each file; None if they are unknown or not loaded.
    counts: FileCounts | None = None
    #: The parts of each file; None if no file has parts, or if they are not loaded.
    parts: FileParts | None = None
    _made: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.files)

    def memo(self, key: Hashable, make: Callable[[], _V]) -> _V:
        """Return the result of ``make`` from the first call with this key; the table keeps the result."""
        if key not in self._made:
            self._made[key] = make()
        return cast(_V, self._made[key])

    @property
    def nbytes(self) -> int:
        """Return the bytes in memory of what row groups hold: file names, partition values and index values."""
        columns = (*(p.values for p in self.partitions.values()), *(i.values for i in self.indexes.values()))
        parts = 0 if self.parts is None else self.parts.nbytes
        return int(self.files.names.nbytes + parts + sum(column.nbytes for column in columns))

    def take(self, rows: pa.Array) -> MetadataTable:
        """Return the metadata of the files at the given positions, in the order of the positions."""
        return MetadataTable(
            self.files.take(rows),
            {name: replace(column, values=column.values.take(rows)) for name, column in self.partitions.items()},
            {key: replace(column, values=column.values.take(rows)) for key, column in self.indexes.items()},
            None if self.counts is None else self.counts.take(rows),
            None if self.parts is None else self.parts.take(rows),
        )

    def named(self, first: int, count: int) -> MetadataTable:
        """Return the names and partition values of a range of files without indexes, and without copies."""
        partitions = {
            n: replace(column, values=column.values.slice(first, count)) for n, column in self.partitions.items()
        }
        return MetadataTable(self.files.slice(first, count), partitions)


def concat(tables: Iterable[MetadataTable]) -> MetadataTable:
    """Concatenate the rows of metadata tables, in the order of the tables.

    An index that a table lacks is null for the table's rows. An index or partition column with different types in two
    tables is left out, and so is a partition column that a table lacks.
    """
    parts = list(tables)
    if len(parts) == 1:
        return parts[0]
    files = DataFiles(
        _join([p.files.names for p in parts], pa.string()),
        _join([p.files.sizes for p in parts], pa.int64()),
        _join([p.files.modified for p in parts], pa.int64()),
    )
    # Leaving a column out is sound, because unknown values keep files.
    partitions = {}
    for name, first in _firsts(p.partitions for p in parts).items():
        found = [p.partitions.get(name) for p in parts]
        if all(f is not None and f.type == first.type for f in found):  # a missing value is not NULL
            partitions[name] = replace(first, values=_join([f.values for f in found if f], first.values.type))
    indexes = {}
    understood = [{k: c for k, c in p.indexes.items() if not isinstance(c.storage, Opaque)} for p in parts]
    for key, index in _firsts((*understood, *(p.indexes for p in parts))).items():
        columns = [p.indexes.get(key) for p in parts]
        if not isinstance(index.storage, Opaque):  # where a table's storage is opaque, its rows become null
            columns = [known.get(key) for known in understood]
        if all(c is None or c.storage == index.storage for c in columns):
            kind = arrow_type(index.storage)
            values = [pa.nulls(len(p), kind) if c is None else c.values for p, c in zip(parts, columns, strict=True)]
            unreadable = sum(c.unreadable for c in columns if c is not None)
            locked = any(c.is_locked for c in columns if c is not None)
            indexes[key] = replace(index, values=_join(values, kind), unreadable=unreadable, is_locked=locked)
    return MetadataTable(files, partitions, indexes, _counts(parts), _parts(parts, indexes))


def _counts(parts: list[MetadataTable]) -> FileCounts | None:
    if all(part.counts is None for part in parts):
        return None
    return FileCounts.concat([part.counts or FileCounts.unknown(len(part)) for part in parts])


def _parts(parts: list[MetadataTable], indexes: Mapping[IndexKey, IndexColumn]) -> FileParts | None:
    if all(part.parts is None for part in parts):
        return None
    found = FileParts.concat([part.parts or FileParts.none(len(part)) for part in parts])
    return found.of_indexes([key for key, values in found.values.items() if _fits(indexes.get(key), values)])


def _fits(column: IndexColumn | None, values: pa.Array) -> bool:
    """Return whether lists have values of the type of an index."""
    return column is not None and values.type.value_type == arrow_type(column.storage)


def _firsts(mappings: Iterable[Mapping[_K, _V]]) -> dict[_K, _V]:
    merged: dict[_K, _V] = {}
    for mapping in mappings:
        for key, value in mapping.items():
            merged.setdefault(key, value)
    return merged


def _join(arrays: list[pa.Array], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays([a.cast(kind) for a in arrays]) if arrays else pa.nulls(0, kind)
