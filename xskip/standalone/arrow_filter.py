"""Selection of files by an expression of pyarrow, from what an index guarantees of each file."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from xskip.arrow_filters import skipped_by_guarantees
from xskip.clauses.clause import Mask
from xskip.metadata.table import MetadataTable
from xskip.pruning.clause_translation import IndexCatalog
from xskip.types.datatypes import arrow_type

__all__ = ["skipped_by_expression"]


def skipped_by_expression(
    expression: Any, table: MetadataTable, schema: pa.Schema, catalog: IndexCatalog, doubted: frozenset[str]
) -> Mask:
    """Return which files hold no row for which an expression is TRUE.

    ``table`` has the bounds and partition values of the files. The bounds of ``doubted`` columns do not count. No file
    is skipped if pyarrow cannot evaluate the expression.
    """
    return skipped_by_guarantees(expression, schema, _guarantees(table, schema, catalog, doubted))


def _guarantees(table: MetadataTable, schema: pa.Schema, catalog: IndexCatalog, doubted: frozenset[str]) -> list[Any]:
    """Return a condition for each file that is TRUE of all its rows."""
    folded = [catalog.name((name,)) for name in schema.names]
    parts: list[list[Any]] = [[] for _ in range(len(table))]
    for name, own in zip(schema.names, folded, strict=True):
        if folded.count(own) > 1 or name in doubted:  # Spark reads the columns of these names as one
            continue
        conditions = _of_partition(name, own, table, catalog) or _of_bounds(name, own, table, schema, catalog)
        for part, condition in zip(parts, conditions, strict=bool(conditions)):
            part.extend(condition)
    return [reduce(lambda a, b: a & b, part) if part else pc.scalar(True) for part in parts]


def _of_partition(name: str, own: str, table: MetadataTable, catalog: IndexCatalog) -> list[list[Any]]:
    column = next((c for c in table.partitions.values() if catalog.name((c.name,)) == own), None)
    if column is None:
        return []
    field = pc.field(name)
    return [[field == value] if value.is_valid else [field.is_null()] for value in column.values]


def _of_bounds(name: str, own: str, table: MetadataTable, schema: pa.Schema, catalog: IndexCatalog) -> list[list[Any]]:
    """Return the bounds of a column whose type in the files is that of the index."""
    column = table.indexes.get(("minmax", (own,)))
    if column is None or column.is_locked or column.values.type.num_fields != 2:
        return []
    kind = schema.field(name).type
    types = next((d.types for d, _ in catalog.on_column(own) if d.key == column.definition.key), ())
    if not types or arrow_type(types[0]) != kind:
        return []
    field = pc.field(name)
    low, high = column.values.flatten()
    conditions = []
    for least, greatest in zip(low, high, strict=True):
        # NaN is the greatest value in Spark and in no order in pyarrow, so only a greatest value excludes NaN.
        usable = greatest.is_valid and greatest.as_py() == greatest.as_py() if pa.types.is_floating(kind) else True
        sides = [field >= least] if usable and least.is_valid else []
        sides += [field <= greatest] if usable and greatest.is_valid else []
        # Bounds say nothing of nulls.
        conditions.append([side | field.is_null() for side in sides])
    return conditions
