"""The ranges of files that a query must read, for engines that can read parts of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["RANGES", "bytes_of", "first_page", "ranges_of", "row_groups_in"]

#: The ranges of files: for each file a list, or null for the whole file.
RANGES = pa.list_(pa.struct([("start", pa.int64()), ("length", pa.int64())]))


def ranges_of(ranges: pa.Array | None, row: int) -> list[tuple[int, int]] | None:
    """Return the start and the length of each range of a file, or None for the whole file.

    >>> found = pa.array([[(0, 4), (8, 2)], None], RANGES)
    >>> ranges_of(found, 0), ranges_of(found, 1), ranges_of(None, 0)
    ([(0, 4), (8, 2)], None, None)
    """
    found = None if ranges is None else ranges[row].as_py()
    return None if found is None else [(each["start"], each["length"]) for each in found]


def bytes_of(sizes: pa.Array, ranges: pa.Array | None) -> int:
    """Return the number of bytes to read of files of the given sizes.

    >>> bytes_of(pa.array([10, 20]), pa.array([[(0, 4), (8, 2)], None], RANGES))
    26
    """
    if ranges is None:
        return int(pc.sum(sizes).as_py() or 0)
    whole = pc.sum(sizes.filter(ranges.is_null())).as_py() or 0
    return int(whole + (pc.sum(ranges.flatten().field("length")).as_py() or 0))


def first_page(chunk: Any) -> int:
    """Return where the first page of a column chunk with rows begins."""
    return int(min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset))))


def row_groups_in(footer: Any, ranges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the positions of the row groups of a Parquet file whose middle lies in a range [MDS-PT-2]."""
    middles = []
    for i in range(footer.num_row_groups):
        group = footer.row_group(i)
        if not group.num_rows:  # it need not have a page
            middles.append(-1)
            continue
        columns = [group.column(c) for c in range(group.num_columns)]
        middles.append(first_page(columns[0]) + sum(column.total_compressed_size for column in columns) // 2)
    inside = np.zeros(len(middles), np.bool_)
    for start, length in ranges:
        inside |= (np.array(middles) >= start) & (np.array(middles) < start + length)
    return [int(i) for i in np.flatnonzero(inside)]
