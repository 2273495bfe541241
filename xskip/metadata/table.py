"""Metadata in memory: a row for each object, a column for each index. No version, no file, no Spark."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

import pyarrow as pa

from xskip.metadata.objects import Objects
from xskip.types.datatypes import Opaque, Storage, arrow_type

__all__ = [
    "EXPRESSION",
    "SETTINGS",
    "IndexColumn",
    "IndexDefinition",
    "IndexKey",
    "MetadataTable",
    "PartitionColumn",
    "concat",
]

#: The parameter of an index on an expression: its form.
EXPRESSION = "io.xskip.index.expression"
#: The parameter with the settings that its values depend on.
SETTINGS = "io.xskip.index.expression.settings"
_K = TypeVar("_K")
_V = TypeVar("_V")

#: An index is known by its name and its columns.
IndexKey = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """What an index is, as metadata records it.

    Attributes
    ----------
    name : str
        The index type's name, such as ``minmax``.
    columns : tuple of str
        The columns in Spark's spelling, lower case unless the dataset was read case-sensitively.
    params : tuple of (str, str)
        Parameters by full name, in order.
    key_label : str, optional
        The label of the encryption key, never the key.
    types : tuple of str
        The columns' Spark types when they were indexed; empty where nobody recorded them.
    """

    name: str
    columns: tuple[str, ...]
    params: tuple[tuple[str, str], ...] = ()
    key_label: str | None = None
    types: tuple[str, ...] = ()

    @property
    def expression(self) -> str | None:
        """The form of the expression that is indexed, None where it is a column."""
        return dict(self.params).get(EXPRESSION)

    @property
    def settings(self) -> str | None:
        """The settings on which the expression's values depend, None where a column is indexed."""
        return dict(self.params).get(SETTINGS)

    @property
    def key(self) -> IndexKey:
        """Name and columns."""
        return self.name, self.columns

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.columns)})"


@dataclass(frozen=True, slots=True)
class IndexColumn:
    """The metadata of one index.

    Attributes
    ----------
    definition : IndexDefinition
    storage : Storage
        What each value is.
    values : pyarrow.Array
        A row for each object, of the Arrow type of ``storage``; null means: not collected, nothing is known.
    unreadable : int
        The number of objects of which something was kept that cannot be read: nothing is known of them.
    is_locked : bool
        The key of the index was not available: nothing is known.
    doubt : str
        Why nothing is taken for proved by what is kept, or nothing.
    """

    definition: IndexDefinition
    storage: Storage
    values: pa.Array
    unreadable: int = 0
    is_locked: bool = False
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """The values of a partition column, one for each object; null is the partition's own NULL value."""

    name: str
    type: str
    values: pa.Array


@dataclass(frozen=True, slots=True)
class MetadataTable:
    """Metadata of objects: equally long columns, in the order of ``objects``."""

    objects: Objects
    partitions: Mapping[str, PartitionColumn] = field(default_factory=dict)
    indexes: Mapping[IndexKey, IndexColumn] = field(default_factory=dict)
    _made: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.objects)

    def once(self, key: Hashable, make: Callable[[], _V]) -> _V:
        """What ``make`` returns, made at the first call with this key and kept as long as the table."""
        if key not in self._made:
            self._made[key] = make()
        return cast(_V, self._made[key])

    @property
    def nbytes(self) -> int:
        """The bytes of all values in memory."""
        columns = (*(p.values for p in self.partitions.values()), *(i.values for i in self.indexes.values()))
        return int(self.objects.names.nbytes + sum(column.nbytes for column in columns))

    def take(self, rows: pa.Array) -> MetadataTable:
        """The metadata of these rows, in this order."""
        return MetadataTable(
            self.objects.take(rows),
            {name: replace(column, values=column.values.take(rows)) for name, column in self.partitions.items()},
            {key: replace(column, values=column.values.take(rows)) for key, column in self.indexes.items()},
        )


def concat(tables: Iterable[MetadataTable]) -> MetadataTable:
    """The rows of all tables; a column that a table lacks is null there, a column of two types is left out.

    Leaving out is sound: what is not known keeps objects.
    """
    parts = list(tables)
    if len(parts) == 1:
        return parts[0]
    objects = Objects(
        _join([p.objects.names for p in parts], pa.string()),
        _join([p.objects.sizes for p in parts], pa.int64()),
        _join([p.objects.modified for p in parts], pa.int64()),
    )
    partitions = {}
    for name, first in _firsts(p.partitions for p in parts).items():
        found = [p.partitions.get(name) for p in parts]
        if all(f is not None and f.type == first.type for f in found):  # a missing partition value is not NULL
            partitions[name] = replace(first, values=_join([f.values for f in found if f], first.values.type))
    indexes = {}
    understood = [{k: c for k, c in p.indexes.items() if not isinstance(c.storage, Opaque)} for p in parts]
    for key, index in _firsts((*understood, *(p.indexes for p in parts))).items():
        columns = [p.indexes.get(key) for p in parts]
        if not isinstance(index.storage, Opaque):  # of what is not understood elsewhere nothing is known there
            columns = [known.get(key) for known in understood]
        if all(c is None or c.storage == index.storage for c in columns):
            kind = arrow_type(index.storage)
            values = [pa.nulls(len(p), kind) if c is None else c.values for p, c in zip(parts, columns, strict=True)]
            unreadable = sum(c.unreadable for c in columns if c is not None)
            locked = any(c.is_locked for c in columns if c is not None)
            indexes[key] = replace(index, values=_join(values, kind), unreadable=unreadable, is_locked=locked)
    return MetadataTable(objects, partitions, indexes)


def _firsts(mappings: Iterable[Mapping[_K, _V]]) -> dict[_K, _V]:
    """Every key's first value."""
    merged: dict[_K, _V] = {}
    for mapping in mappings:
        for key, value in mapping.items():
            merged.setdefault(key, value)
    return merged


def _join(arrays: list[pa.Array], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays([a.cast(kind) for a in arrays]) if arrays else pa.nulls(0, kind)
