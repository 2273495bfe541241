"""The columns of metadata files that hold the parts of data files. Rules: [MDS-PT].

.. code-block:: text

    obj_name  xskip_ranges               ts_minmax_2  xskip_parts_ts_minmax_2
    a.avro    [(0, 4 MiB, 900 rows), …]  (1, 99)      [(1, 20), …]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from xskip.metadata.file_parts import with_values
from xskip.metadata.table import IndexColumn, MetadataTable
from xskip.metadatastore.schema import IndexField

__all__ = ["RANGES", "from_lists", "part_column", "part_columns", "to_lists"]

#: The column with the ranges of the parts.
RANGES = "xskip_ranges"
_PREFIX = "xskip_parts_"


def part_column(column: str) -> str:
    """Return the name of the column with the values by part for an index column.

    >>> part_column("ts_minmax_2")
    'xskip_parts_ts_minmax_2'
    """
    return _PREFIX + column


def part_columns(
    table: MetadataTable, indexes: Sequence[IndexField], to_file: Callable[[IndexColumn], pa.Array]
) -> dict[str, pa.Array]:
    """Return the columns with the values by part, by their names; none if no file has parts.

    ``to_file`` converts the values of an index to their form in a file.
    """
    if table.parts is None or table.parts.is_none:
        return {}
    found: dict[str, pa.Array] = {}
    for index in indexes:
        key = index.definition.key
        if key in table.parts.values:
            found[part_column(index.column)] = to_lists(table.parts.values[key], table.indexes[key], to_file)
    # two names can only be the same in version 1, which does not count the characters of names
    return {} if found.keys() & {index.column for index in indexes} else found


def to_lists(lists: pa.Array, column: IndexColumn, to_file: Callable[[IndexColumn], pa.Array]) -> pa.Array:
    """Return lists of an index's values in the form of a file."""
    flat = to_file(IndexColumn(column.definition, column.storage, lists.flatten()))
    return with_values(lists, flat)


def from_lists(lists: pa.Array, from_file: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return lists of values in memory from lists in the form of a file."""
    return with_values(lists, from_file(lists.flatten()))
