"""The statistics of Parquet files, and of their parts, from footers. Rules: [MDS-PT]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from xskip.metadata.file_counts import FileCounts
from xskip.metadata.file_parts import RANGE, FileParts
from xskip.spark.collect.parquet_footers import (
    FooterStatistics,
    footer_statistics,
    is_plain,
    row_group_starts,
    tail_of,
)
from xskip.spark.collect.part_layout import PartLayout
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.types.datatypes import Storage, array_of, arrow_type

__all__ = ["FooterResult", "counts_of", "footer_of", "footer_result", "parts_of", "values_of"]


@dataclass(frozen=True, slots=True)
class FooterResult:
    """The statistics of a file."""

    file: FooterStatistics
    #: Of each part its range, as in :data:`~xskip.metadata.file_parts.RANGE`, and its statistics.
    parts: tuple[tuple[tuple[int, int, int], FooterStatistics], ...] = ()


def footer_of(source: str | bytes) -> pq.FileMetaData | None:
    """Return the footer of a local file or from a footer's bytes, or None if it is not plain."""
    try:
        tail = source if isinstance(source, bytes) else tail_of(source)
        footer = pq.read_metadata(pa.BufferReader(b"PAR1" + tail)) if tail else None
        return footer if footer is not None and is_plain(footer, tail) else None
    except (pa.ArrowException, OSError, ValueError):
        return None


def footer_result(
    footer: pq.FileMetaData | None, columns: Sequence[tuple[str, str]], layout: PartLayout, size: int
) -> FooterResult | None:
    """Return the statistics of columns in a file of some bytes and in its parts, or None for a footer without them.

    The columns are in Spark's spelling, each with its Spark type.
    """
    try:
        found = None if footer is None else footer_statistics(footer, columns)
        return None if found is None else FooterResult(found, _parts(footer, columns, layout, size))
    except (pa.ArrowException, OSError, ValueError):
        return None


def _parts(
    footer: pq.FileMetaData, columns: Sequence[tuple[str, str]], layout: PartLayout, size: int
) -> tuple[tuple[tuple[int, int, int], FooterStatistics], ...]:
    groups = row_group_starts(footer) if layout.part_bytes and size >= layout.least_divided else None
    if groups is None or not len(groups):
        return ()
    starts = layout.starts(size, groups)
    lengths = np.diff(np.append(starts, size))
    members = np.searchsorted(starts, groups, "right") - 1
    found = []
    for part, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        statistics = footer_statistics(footer, columns, np.flatnonzero(members == part).tolist())
        if statistics is None or statistics.rows is None:
            return ()
        found.append(((start, length, statistics.rows), statistics))
    return tuple(found)


def values_of(found: Sequence[FooterStatistics], indexes: Sequence[PlannedIndex]) -> list[pa.Array]:
    """Return the values of indexes on one column each."""
    return [_bounds_array([each.bounds[k] for each in found], p.storage) for k, p in enumerate(indexes)]


def counts_of(found: Sequence[FooterResult], indexes: Sequence[PlannedIndex]) -> FileCounts:
    """Return the numbers of rows and NULLs of files."""
    nulls = {
        name: pa.array([each.file.nulls[k] for each in found], pa.int64())
        for k, planned in enumerate(indexes)
        for name in planned.counted
    }
    return FileCounts(pa.array([each.file.rows for each in found], pa.int64()), nulls)


def parts_of(found: Sequence[FooterResult], indexes: Sequence[PlannedIndex]) -> FileParts | None:
    """Return the parts of files, or None if no file has any."""
    parts = [part for each in found for part in each.parts]
    if not parts:
        return None
    values = values_of([statistics for _, statistics in parts], indexes)
    ranges = pa.array([dict(zip(RANGE.names, bounds, strict=True)) for bounds, _ in parts], RANGE)
    by_key = {planned.definition.key: each for planned, each in zip(indexes, values, strict=True)}
    return FileParts.of_files([len(each.parts) for each in found], ranges, by_key).complete(counts_of(found, indexes))


def _bounds_array(bounds: Sequence[tuple[Any, Any]], storage: Storage) -> pa.Array:
    kind = arrow_type(storage)
    sides = [array_of([pair[side] for pair in bounds], kind[side].type) for side in (0, 1)]
    return pa.StructArray.from_arrays(sides, fields=list(kind))
