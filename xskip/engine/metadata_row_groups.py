"""Pruning of whole row groups of metadata files by their Parquet statistics. Rules: [PRU-JB]."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from xskip.clauses.clause import (
    Clause,
    IndexClause,
    Mask,
    Trace,
    Undetermined,
    evaluate,
    is_false,
    map_leaves,
    subjects,
)
from xskip.clauses.partition import PartitionClause
from xskip.expressions.condition_reasons import Cause
from xskip.expressions.predicate import IsNull
from xskip.indexes.minmax import MinMaxClause
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import IndexColumn, IndexDefinition, IndexKey, MetadataTable, PartitionKey, Requirement
from xskip.metadatastore.codec import MetadataFile, leaf_paths
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.value_conversion import same_values
from xskip.metadatastore.versions import rules_of
from xskip.pruning.column_pair import ColumnPairClause
from xskip.pruning.units import UnitKind, Units
from xskip.types.datatypes import Storage, Struct, array_of, arrow_type, decimal_digits

__all__ = ["RowGroups"]

_Bounds = tuple[Any, Any] | None


class RowGroups:
    """The row groups of a snapshot's metadata files, which xskip must have written.

    A row group represents the union of its data files. The bounds of the union are the least minimum and the greatest
    maximum. They are known if Parquet has statistics of both, and if every data file of the row group has bounds.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._files = snapshot.metadata_files
        self._storages = {definition.key: storage for definition, storage in snapshot.indexes}
        self._partitions = snapshot.partitions
        self._cached: dict[Requirement, IndexColumn] = {}
        #: For each row group, the position of its file in the snapshot and its position in that file.
        self.places = [(i, g) for i, file in enumerate(self._files) for g in range(file.footer.num_row_groups)]
        rows = [self._files[i].footer.row_group(g).num_rows for i, g in self.places]
        #: The row groups, whose members are data files.
        self.units = Units(UnitKind.METADATA_ROW_GROUP, np.array(rows, np.int64))

    def ruled_out(self, clause: Clause) -> Mask:
        """Return True for each of ``places`` whose bounds exclude a matching row in all data files of the row group."""
        needed: dict[Requirement, None] = {}
        over_bounds = map_leaves(clause, lambda leaf: self._over_bounds(leaf, needed))
        count = len(self.units)
        nothing = DataFiles(*(pa.nulls(count, kind) for kind in (pa.string(), pa.int64(), pa.int64())))
        table = MetadataTable(nothing, {}, {_bounds_key(source): self._column(source) for source in needed})
        return is_false(evaluate(over_bounds, table, np.full(count, True), Trace()))

    def _over_bounds(self, clause: IndexClause | Undetermined, needed: dict[Requirement, None]) -> Clause:
        """Return the clause over the bounds of row groups, and add the sources of these bounds to ``needed``."""
        if isinstance(clause, Undetermined):
            return clause
        leaf_over_bounds: Clause | None = None
        if not clause.asks_spark and all(map(self._bounds_type, clause.needs)):
            if type(clause) is MinMaxClause:
                leaf_over_bounds = clause
            # Data files of a row group can have different partition values, so the values become a range. A range
            # does not say whether one of the values is NULL.
            elif isinstance(clause, PartitionClause) and not isinstance(clause.leaf, IsNull):
                leaf_over_bounds = MinMaxClause(clause.leaf, _bounds_key(PartitionKey(clause.requires)))
            elif isinstance(clause, ColumnPairClause):
                left, right = _bounds_key(clause.left), _bounds_key(clause.right)
                leaf_over_bounds = ColumnPairClause(clause.compared, left, right)
        if leaf_over_bounds is None:
            return Undetermined(subjects(clause), Cause.NO_BOUNDS_OF_ROW_GROUPS)
        needed.update(dict.fromkeys(clause.needs))
        return leaf_over_bounds

    def _bounds_type(self, source: Requirement) -> str:
        """Return the Spark type of the bounds that a source has; an empty text if the source has no bounds."""
        match source:
            case PartitionKey(column):
                return self._partitions.get(column, "")
            case key:
                return _stored_bounds_type(self._storages.get(key))

    def _column(self, source: Requirement) -> IndexColumn:
        if source not in self._cached:
            self._cached[source] = self._read_column(source)
        return self._cached[source]

    def _read_column(self, source: Requirement) -> IndexColumn:
        kind = self._bounds_type(source)
        pairs = [pair for file in self._files for pair in self._pairs(file, source, kind)]
        unknown = np.array([pair is None for pair in pairs], bool)
        storage = Struct((("min", kind), ("max", kind)))
        sides = [_array([None if pair is None else pair[side] for pair in pairs], kind) for side in (0, 1)]
        values = pa.StructArray.from_arrays(sides, fields=list(arrow_type(storage)), mask=pa.array(unknown))
        return IndexColumn(IndexDefinition("minmax", _bounds_key(source)[1]), storage, values)

    def _pairs(self, file: MetadataFile, source: Requirement, kind: str) -> Iterator[_Bounds]:
        leaves = self._leaves(file, source)
        paths = leaf_paths(file.footer)
        columns = [paths.index(leaf) for leaf in leaves]
        for group in range(file.footer.num_row_groups):
            yield _bounds(file.footer.row_group(group), columns, kind) if columns else None

    def _leaves(self, file: MetadataFile, source: Requirement) -> tuple[str, ...]:
        """Return the Parquet leaves of the minima and the maxima in a file; an empty tuple if their types differ."""
        match source:
            case PartitionKey(partition):  # each partition value is both minimum and maximum
                column = rules_of(file.schema.version).partition_name(partition)
                snapshot_type = arrow_type(self._partitions[partition])
                leaves: tuple[str, ...] = (column, column)
            case key:
                index = next((i for i in file.schema.indexes if i.definition.key == key), None)
                if index is None or index.storage != self._storages[key]:
                    return ()
                column, snapshot_type = index.column, arrow_type(index.storage)
                leaves = (f"{column}.min", f"{column}.max")
        file_type = file.reader.schema_arrow.field(column).type
        return leaves if same_values(file_type, snapshot_type) and set(leaves) <= set(leaf_paths(file.footer)) else ()


def _bounds_key(source: Requirement) -> IndexKey:
    """Return the key under which clauses find the bounds of a source in the table of row groups."""
    match source:
        case PartitionKey(column):
            # MinMaxClause and ColumnPairClause read bounds of indexes. No index has this key, because the names of
            # index types are not empty.
            return "", (column,)
        case key:
            return key


def _stored_bounds_type(storage: Storage | None) -> str:
    match storage:
        case Struct((("min", low), ("max", high))) if low == high:
            return low
        case _:
            return ""


def _bounds(group: pq.RowGroupMetaData, columns: list[int], kind: str) -> _Bounds:
    """Return the least minimum and the greatest maximum as raw Parquet values; None if either is uncertain."""
    low, high = (group.column(c).statistics for c in columns)
    for side in (low, high):
        # a null is a data file without bounds, so that the bounds of the others say nothing about it
        if side is None or not side.has_min_max or not side.has_null_count or side.null_count:
            return None
    # statistics omit NaN, which Spark orders above all numbers: only the minimum is known
    return low.min_raw, float("nan") if kind in ("float", "double") else high.max_raw


def _array(raw: list[Any], kind: str) -> pa.Array:
    digits = decimal_digits(kind)
    if digits is None:
        return array_of(raw, arrow_type(kind))
    return pa.array([None if v is None else _decimal(v, digits[1]) for v in raw], arrow_type(kind))


def _decimal(raw: int | bytes, scale: int) -> Decimal:
    number = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
