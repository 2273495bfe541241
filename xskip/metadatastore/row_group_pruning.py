"""Pruning of whole row groups of metadata files by their Parquet statistics. Rules: [PRU-JB].

A row group represents the union of its data files. The bounds of the union are the least minimum and the greatest
maximum. These bounds are known if Parquet has statistics of both, and if every data file of the row group has bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from xskip.clauses.clause import (
    AllOf,
    Always,
    AnyOf,
    Clause,
    Mask,
    PartitionKey,
    Requirement,
    Trace,
    Undetermined,
    evaluate,
    is_false,
)
from xskip.clauses.partition import PartitionClause
from xskip.expressions.predicate import IsNull
from xskip.indexes.minmax import MinMaxClause
from xskip.metadata.objects import Objects
from xskip.metadata.table import IndexColumn, IndexDefinition, IndexKey, MetadataTable
from xskip.metadatastore.codec import MetadataFile, leaf_paths
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.stored import same_values
from xskip.metadatastore.versions import rules_of
from xskip.pruning.column_pair import ColumnPairClause
from xskip.types.datatypes import Storage, Struct, array_of, arrow_type, decimal_digits

__all__ = ["RowGroups"]

_Bounds = tuple[Any, Any] | None
_UNKNOWN = "row groups have no bounds for this predicate"


class RowGroups:
    """The row groups of a snapshot's metadata files, which xskip must have written.

    Parameters
    ----------
    snapshot : Snapshot

    Attributes
    ----------
    places : list of (int, int)
        For each row group, the position of its file in the snapshot and its position in that file.
    rows : numpy.ndarray of int64
        The number of data files in each row group.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._files = snapshot.files
        self._storages = {definition.key: storage for definition, storage in snapshot.indexes}
        self._partitions = snapshot.partitions
        self._known: dict[IndexKey, IndexColumn] = {}
        self.places = [(i, g) for i, file in enumerate(self._files) for g in range(file.footer.num_row_groups)]
        self.rows = np.array([self._files[i].footer.row_group(g).num_rows for i, g in self.places], np.int64)

    def ruled_out(self, clause: Clause) -> Mask:
        """Find the row groups in which no data file can hold a matching row, by the bounds of the row groups.

        Parameters
        ----------
        clause : Clause

        Returns
        -------
        numpy.ndarray of bool
            True for each row group that need not be read, in the order of ``places``.
        """
        keys: dict[IndexKey, None] = {}
        asked = self._of_bounds(clause, keys)
        count = len(self.places)
        nothing = Objects(*(pa.nulls(count, kind) for kind in (pa.string(), pa.int64(), pa.int64())))
        table = MetadataTable(nothing, {}, {key: self._column(key) for key in keys})
        return is_false(evaluate(asked, table, np.full(count, True), Trace()))

    def _of_bounds(self, clause: Clause, keys: dict[IndexKey, None]) -> Clause:
        """Return the clause on the bounds of row groups, and add the bounds that the new clause reads to ``keys``.

        A partition column becomes a range of its values. Any clause that does not read bounds becomes undetermined.
        """
        match clause:
            case AllOf(children):
                return AllOf(tuple(self._of_bounds(child, keys) for child in children))
            case AnyOf(children):
                return AnyOf(tuple(self._of_bounds(child, keys) for child in children))
            case Always() | Undetermined():
                return clause
        asked: Clause | None = None
        if not clause.asks_spark and all(map(self._has_bounds, clause.needs)):
            if type(clause) is MinMaxClause:
                asked = clause
            elif isinstance(clause, PartitionClause) and not isinstance(clause.leaf, IsNull):
                asked = MinMaxClause(clause.leaf, (_PARTITION, (clause.requires,)))
            elif isinstance(clause, ColumnPairClause):
                asked = ColumnPairClause(clause.compared, _key(clause.left), _key(clause.right))
        if asked is None:
            return Undetermined(clause.predicate, _UNKNOWN)
        keys.update(dict.fromkeys(map(_key, clause.needs)))
        return asked

    def _has_bounds(self, needed: Requirement) -> bool:
        if isinstance(needed, PartitionKey):
            return needed.column in self._partitions
        return self._kind(self._storages.get(needed)) != ""

    @staticmethod
    def _kind(storage: Storage | None) -> str:
        """Return the Spark type of the bounds in a storage; an empty text if the storage has no bounds."""
        match storage:
            case Struct((("min", low), ("max", high))) if low == high:
                return low
            case _:
                return ""

    def _column(self, key: IndexKey) -> IndexColumn:
        if key not in self._known:
            self._known[key] = self._gathered(key)
        return self._known[key]

    def _gathered(self, key: IndexKey) -> IndexColumn:
        name, columns = key
        kind = self._partitions[columns[0]] if name == _PARTITION else self._kind(self._storages[key])
        found = [bounds for file in self._files for bounds in self._of_file(file, key, kind)]
        unknown = np.array([bounds is None for bounds in found], bool)
        storage = Struct((("min", kind), ("max", kind)))
        sides = [_array([None if bounds is None else bounds[side] for bounds in found], kind) for side in (0, 1)]
        values = pa.StructArray.from_arrays(sides, fields=list(arrow_type(storage)), mask=pa.array(unknown))
        return IndexColumn(IndexDefinition("minmax", columns), storage, values)

    def _of_file(self, file: MetadataFile, key: IndexKey, kind: str) -> Iterator[_Bounds]:
        """Yield the bounds of each row group of a file."""
        leaves = self._leaves(file, key)
        paths = leaf_paths(file.footer)
        columns = [paths.index(leaf) for leaf in leaves]
        for group in range(file.footer.num_row_groups):
            yield _bounds(file.footer.row_group(group), columns, kind) if columns else None

    def _leaves(self, file: MetadataFile, key: IndexKey) -> tuple[str, ...]:
        """Return the Parquet leaves of the minima and the maxima in a file; an empty tuple if their types differ."""
        name, columns = key
        if name == _PARTITION:
            column, storage = (
                rules_of(file.schema.version).partition_name(columns[0]),
                arrow_type(self._partitions[columns[0]]),
            )
            leaves: tuple[str, ...] = (column, column)
        else:
            index = next((i for i in file.schema.indexes if i.definition.key == key), None)
            if index is None or index.storage != self._storages[key]:
                return ()
            column, storage = index.column, arrow_type(index.storage)
            leaves = (f"{column}.min", f"{column}.max")
        held = file.reader.schema_arrow.field(column).type
        return leaves if same_values(held, storage) and set(leaves) <= set(leaf_paths(file.footer)) else ()


#: The index name in the key of a partition column. Each partition value is both minimum and maximum.
_PARTITION = ""


def _key(needed: Requirement) -> IndexKey:
    return (_PARTITION, (needed.column,)) if isinstance(needed, PartitionKey) else needed


def _bounds(group: pq.RowGroupMetaData, columns: list[int], kind: str) -> _Bounds:
    """Return the least minimum and the greatest maximum as raw Parquet values; None if either is uncertain."""
    low, high = (group.column(c).statistics for c in columns)
    for side in (low, high):
        if side is None or not side.has_min_max or not side.has_null_count or side.null_count:
            return None
    # statistics omit NaN, which Spark orders above all numbers: only the minimum is known
    return low.min_raw, float("nan") if kind in ("float", "double") else high.max_raw


def _array(raw: list[Any], kind: str) -> pa.Array:
    """Convert raw Parquet values to an Arrow array of a Spark type."""
    digits = decimal_digits(kind)
    if digits is None:
        return array_of(raw, arrow_type(kind))
    return pa.array([None if v is None else _decimal(v, digits[1]) for v in raw], arrow_type(kind))


def _decimal(raw: int | bytes, scale: int) -> Decimal:
    number = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
