"""Selection of files by an expression of pyarrow.

pyarrow itself decides whether an expression can be TRUE of a row, from what the index guarantees of each file.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Mask
from xskip.metadata.table import MetadataTable
from xskip.pruning.translate import Available
from xskip.types.datatypes import arrow_type

__all__ = ["skipped_by_expression"]

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def skipped_by_expression(
    expression: Any, table: MetadataTable, schema: pa.Schema, available: Available
) -> tuple[Mask, tuple[tuple[str, str], ...]]:
    """Return which files hold no row for which an expression is TRUE, and the columns that the index cannot use.

    Parameters
    ----------
    expression : pyarrow.dataset.Expression
        The expression.
    table : MetadataTable
        The bounds and partition values of the files.
    schema : pyarrow.Schema
        The schema of the dataset.
    available : Available
        The indexes and the names of columns.

    Returns
    -------
    tuple of (numpy.ndarray of bool, tuple of (str, str))
        The mask of the files, and pairs of a column and the reason.
    """
    from pyarrow.dataset import FileSystemDataset, ParquetFileFormat
    from pyarrow.fs import LocalFileSystem

    guarantees, covered = _guarantees(table, schema, available)
    words = set(re.findall(r"\w+", _TEXT.sub("", str(expression))))
    named = [name for name in schema.names if name in words or not name.isidentifier()]
    unused = tuple((n, "the index has no bounds of this column") for n in named if n not in covered and n in words)
    dataset = FileSystemDataset.from_paths(
        [str(row) for row in range(len(table))],
        schema=schema,
        format=ParquetFileFormat(),
        filesystem=LocalFileSystem(),
        partitions=guarantees,
    )
    skip = np.full(len(table), True)
    try:
        skip[[int(fragment.path) for fragment in dataset.get_fragments(filter=expression)]] = False
    except (pa.ArrowException, TypeError) as error:
        return np.zeros(len(table), np.bool_), ((str(expression), str(error)[:300]),)
    return skip, unused


def _guarantees(table: MetadataTable, schema: pa.Schema, available: Available) -> tuple[list[Any], set[str]]:
    """Return a condition for each file that is TRUE of all its rows, and the columns in these conditions."""
    folded = [available.name((name,)) for name in schema.names]
    parts: list[list[Any]] = [[] for _ in range(len(table))]
    covered = set()
    for name, own in zip(schema.names, folded, strict=True):
        if folded.count(own) > 1:  # Spark reads the columns of these names as one
            continue
        conditions = _of_partition(name, own, table, available) or _of_bounds(name, own, table, schema, available)
        if conditions:
            covered.add(name)
            for part, condition in zip(parts, conditions, strict=True):
                part.extend(condition)
    return [reduce(lambda a, b: a & b, part) if part else pc.scalar(True) for part in parts], covered


def _of_partition(name: str, own: str, table: MetadataTable, available: Available) -> list[list[Any]]:
    column = next((c for c in table.partitions.values() if available.name((c.name,)) == own), None)
    if column is None:
        return []
    field = pc.field(name)
    return [[field == value] if value.is_valid else [field.is_null()] for value in column.values]


def _of_bounds(name: str, own: str, table: MetadataTable, schema: pa.Schema, available: Available) -> list[list[Any]]:
    """Return the bounds of a column whose type in the files is that of the index."""
    column = table.indexes.get(("minmax", (own,)))
    if column is None or column.is_locked or column.values.type.num_fields != 2:
        return []
    kind = schema.field(name).type
    types = next((d.types for d, _ in available.on_column(own) if d.key == column.definition.key), ())
    if not types or arrow_type(types[0]) != kind:
        return []
    field = pc.field(name)
    low, high = column.values.flatten()
    conditions = []
    for least, greatest in zip(low, high, strict=True):
        # NaN is the greatest value in Spark and in no order in pyarrow, so only a greatest value excludes NaN
        usable = greatest.is_valid and greatest.as_py() == greatest.as_py() if pa.types.is_floating(kind) else True
        sides = [field >= least] if usable and least.is_valid else []
        sides += [field <= greatest] if usable and greatest.is_valid else []
        conditions.append([side | field.is_null() for side in sides])
    return conditions
