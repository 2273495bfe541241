"""The values of indexes for files, from the results of jobs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.user_classes import method_errors
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.table import IndexColumn, IndexKey
from xskip.spark.collect.file_results import FileResults
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.types.datatypes import arrow_type

__all__ = ["assemble", "columns_of", "counts_of_rows", "rows_of"]


def rows_of(results: FileResults, chosen: npt.NDArray[np.int64]) -> pa.Array:
    """Return the row in results of each chosen file, a position in the listing; null for a file without rows."""
    row_of = np.full(max(results.ordinals.max(initial=-1), chosen.max(initial=-1)) + 1, -1)
    row_of[results.ordinals] = np.arange(len(results.ordinals))
    rows = row_of[chosen]
    return pa.array(rows, pa.int64(), mask=rows < 0)


def assemble(planned: PlannedIndex, columns: Sequence[pa.ChunkedArray], take: pa.Array) -> pa.Array:
    """Return the values of an index for each file, whose row in the result columns is in ``take``."""
    ordered = [_no_rows_are_empty(column.combine_chunks().take(take), take) for column in columns]
    with method_errors(type(planned.index), "assemble"):
        assembled = planned.index.assemble(ordered, planned.types).cast(arrow_type(planned.storage))
        if len(assembled) != len(take):
            raise ValueError(f"it returned {len(assembled)} values for {len(take)} files")
    return assembled


def columns_of(indexes: Sequence[PlannedIndex], values: Sequence[pa.Array]) -> dict[IndexKey, IndexColumn]:
    """Return the columns of a metadata table from the values of indexes, in their order."""
    return {
        planned.definition.key: IndexColumn(planned.definition, planned.storage, column)
        for planned, column in zip(indexes, values, strict=True)
    }


def counts_of_rows(results: FileResults, take: pa.Array) -> FileCounts:
    """Return the numbers of rows and of NULLs of each file, whose row in the results is in ``take``."""
    return _no_rows_are_none(results.counts.take(take), take)


def _no_rows_are_empty(values: pa.Array, take: pa.Array) -> pa.Array:
    """Replace the null lists of files without rows by empty lists."""
    if not pa.types.is_list(values.type) or not take.null_count:
        return values
    # A null list means unknown values, but a file without rows has none.
    empty = pa.array([[]], values.type)
    missing = take.is_null()
    source = pa.concat_arrays([values, empty])
    positions = pc.if_else(missing, len(values), pa.array(range(len(values))))
    return source.take(positions)


def _no_rows_are_none(counts: FileCounts, take: pa.Array) -> FileCounts:
    """Replace the unknown counts of files without rows by 0."""
    missing = take.is_null()
    filled = [pc.if_else(missing, 0, values) for values in (counts.rows, *counts.nulls.values())]
    return FileCounts(filled[0], dict(zip(counts.nulls, filled[1:], strict=True)))
