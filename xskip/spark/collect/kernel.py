"""The kernel that collects statistics in a single pass over the rows of many files, on executors, without a shuffle.

A task reads the rows of a file consecutively, so the accumulators need no grouping: the task builds a file's state,
emits the state and resets the accumulators. Spark's own aggregates would cost several times as much; only indexes
without accumulators use aggregates. The kernel's classes (``java/XSkipKernel.java``) reach the executors in a jar that
the driver builds at run time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.evaluate import sort_key
from xskip.indexes.base import Accumulator, Input
from xskip.spark.collect.relation import ORDINAL, Dataset
from xskip.types.datatypes import atomic_name, element_of, json_field, to_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["accumulate", "gathered_table", "merge_runs"]

_PHYSICAL = {
    "date": "int",
    "timestamp": "bigint",
    "timestamp_ntz": "bigint",
    "interval year to month": "int",
    "interval day to second": "bigint",
}


def accumulate(dataset: Dataset, rows: DataFrame, gathered: Sequence[Sequence[tuple[Input, Accumulator]]]) -> DataFrame:
    """Run the accumulators of all indexes over the rows of a subset.

    Parameters
    ----------
    dataset : Dataset
        The dataset of the rows.
    rows : DataFrame
        A subset of the dataset, from :meth:`Dataset.subset`.
    gathered : sequence of sequences of (Input, Accumulator)
        The accumulators of each index, with their inputs.

    Returns
    -------
    DataFrame
        The file's position in column ``ORDINAL`` and the results of the i-th index in columns ``<i>_<j>``. A file that
        several tasks read has several rows. Dates and times are plain numbers.
    """
    position = {sql: i for i, sql in enumerate(dict.fromkeys(each.sql for pairs in gathered for each, _ in pairs))}
    chosen = rows.selectExpr(ORDINAL, *(f"{sql} AS c{i}" for sql, i in position.items()))
    specs, fields = [], [json_field(ORDINAL, "integer")]
    for i, pairs in enumerate(gathered):
        j = 0
        for each, accumulator in pairs:
            physical = _physical(each, accumulator)
            rate = math.log(accumulator.fpp)
            specs.append(f"{accumulator.kind}:{position[each.sql] + 1}:{physical}:{accumulator.cap}:{rate!r}")
            for kind in _results(accumulator, to_json(element_of(physical) or physical)):
                fields.append(json_field(f"{i}_{j}", kind))
                j += 1
    return dataset.accumulate(chosen, specs, json.dumps({"type": "struct", "fields": fields}))


def gathered_table(table: pa.Table, gathered: Sequence[Sequence[tuple[Input, Accumulator]]]) -> pa.Table:
    """Return the collected rows of :func:`accumulate` with the hashes of Bloom filters as lists of int64.

    Parameters
    ----------
    table : pyarrow.Table
        The collected rows, which have hashes as binary values.
    gathered : sequence of sequences of (Input, Accumulator)
        The accumulators that were passed to :func:`accumulate`.
    """
    for i, pairs in enumerate(gathered):
        j = 0
        for _, accumulator in pairs:
            if accumulator.kind in ("hashes", "words"):
                chunks = [_longs(chunk) for chunk in table.column(f"{i}_{j}").chunks]
                column = pa.chunked_array(chunks, pa.list_(pa.int64()))
                table = table.set_column(table.column_names.index(f"{i}_{j}"), f"{i}_{j}", column)
            j += len(_results(accumulator, ""))
    return table


def _longs(packed: pa.Array) -> pa.Array:
    """Return lists of int64 from their little-endian bytes.

    >>> _longs(pa.array([b"", (7).to_bytes(8, "little") * 2, None])).to_pylist()
    [[], [7, 7], None]
    """
    _, offsets, data = packed.buffers()
    ends = np.frombuffer(offsets, np.int32)[packed.offset : packed.offset + len(packed) + 1]
    values = np.frombuffer(data or b"", "<i8", count=int(ends[-1]) // 8)
    lists = pa.ListArray.from_arrays(pa.array(ends // 8, pa.int32()), pa.array(values, pa.int64()))
    return pc.if_else(packed.is_valid(), lists, pa.scalar(None, lists.type))


def _physical(given: Input, accumulator: Accumulator) -> str:
    """Return the type in which the kernel reads an input's values: plain numbers for dates and times."""
    if accumulator.kind == "counts":  # counts of NULL do not depend on the type
        return "bigint"
    element = element_of(given.type)
    name = atomic_name(element or given.type) or given.type
    physical = _PHYSICAL.get(name, name)
    return f"array<{physical}>" if element else physical


def merge_runs(
    parts: Sequence[pa.Array], starts: npt.NDArray[np.int64], accumulators: Sequence[Accumulator]
) -> list[pa.Array]:
    """Merge the rows of each file into a single row, for the accumulators of an index.

    Parameters
    ----------
    parts : sequence of pyarrow.Array
        The result columns of the accumulators, in which the rows of a file are adjacent.
    starts : numpy.ndarray of int64
        The position of the first row of each file.
    accumulators : sequence of Accumulator
        The accumulators of the index, in the order of their columns.

    Returns
    -------
    list of pyarrow.Array
        The result columns with a row for each file.
    """
    ends = np.append(starts[1:], len(parts[0]))
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    found: list[pa.Array] = []
    for accumulator in accumulators:
        own = parts[len(found) : len(found) + len(_results(accumulator, ""))]
        found += _merged(own, spans, accumulator)
    return found


def _merged(parts: Sequence[pa.Array], spans: list[tuple[int, int]], accumulator: Accumulator) -> list[pa.Array]:
    match accumulator.kind:
        case "bounds":
            return [_extremes(part, spans, last=bool(side)) for side, part in enumerate(parts)]
        case "counts":
            return [pa.array([pc.sum(part[a:b]).as_py() for a, b in spans], pa.int64()) for part in parts]
        case "ranges" | "boxes":
            return [pa.array([part[a:b].flatten() for a, b in spans], part.type) for part in parts]
        case "values":
            return [_unions(parts[0], spans, accumulator.cap)]
        case "hashes" | "words":
            alone = [a if b == a + 1 else None for a, b in spans]
            return [_unions(parts[0], spans), parts[1].take(pa.array(alone, pa.int64()))]


def _extremes(part: pa.Array, spans: list[tuple[int, int]], *, last: bool) -> pa.Array:
    """Return the least or greatest value of each span of rows in Spark's order; null for a span without values."""
    ranks = pc.rank(sort_key(part), tiebreaker="dense").to_numpy(zero_copy_only=False)
    valid = part.is_valid().to_numpy(zero_copy_only=False)
    chosen = []
    for a, b in spans:
        rows = np.flatnonzero(valid[a:b]) + a
        best = rows[np.argmax(ranks[rows]) if last else np.argmin(ranks[rows])] if len(rows) else None
        chosen.append(None if best is None else int(best))
    return part.take(pa.array(chosen, pa.int64()))


def _unions(lists: pa.Array, spans: list[tuple[int, int]], cap: int | None = None) -> pa.Array:
    """Return the distinct values of the lists in each span; null if a list is null or the values exceed the cap."""
    found = []
    for a, b in spans:
        values = None if lists[a:b].null_count else pc.unique(lists[a:b].flatten())
        found.append(None if values is None or (cap is not None and len(values) > cap) else values)
    return pa.array(found, lists.type)


def _results(accumulator: Accumulator, element: str) -> list[object]:
    match accumulator.kind:
        case "bounds":
            return [element, element]
        case "counts":
            return ["long", "long"]
        case "values" | "ranges":
            return [_array(element)]
        case "hashes" | "words":  # hashes as little-endian int64, and a Bloom filter
            return ["binary", "binary"]
        case "boxes":
            return [_array("double")]


def _array(element: str) -> object:
    return {"type": "array", "elementType": element, "containsNull": False}
