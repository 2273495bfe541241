"""Columns of a metadata file, read no further than memory is meant for them. Rule: [MDS-D-5].

Footers tell how many values there are, and not how large: one dictionary entry can stand for millions. So rows come in
batches that are counted; and lists of strings, of which one row can hold all, are first read as dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from xskip.errors import MetadataCorruptError

__all__ = ["RATIO", "Opened", "demand_room", "read_bounded"]

#: Opens the file again, with leaves that are read as dictionaries.
Opened = Callable[[list[str]], pq.ParquetFile]

#: Values may take so many times the bytes of their files; more than compression makes of what is worth an index.
RATIO = 32
_MOST_LEAVES = 100_000
_MOST_ROWS, _LEAST_ROWS = 65_536, 16
_LEAST_BYTES, _MOST_BYTES = 1, 16  # of a value, of one whose width is fixed
_WHERE = "a metadata file"
_FIXED = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE")


def demand_room(taken: int, limit: int, where: str) -> None:
    """Refuse values that take more bytes than they may.

    Raises
    ------
    MetadataCorruptError
        They do.
    """
    if taken > limit:
        raise MetadataCorruptError(
            "metadata takes more memory than it may", where=where, found=f"more than {limit:,} bytes of values",
            hint="set spark.xskip.metadata.maxBytes, or drop the index",
        )  # fmt: skip


def read_bounded(
    reader: pq.ParquetFile, leaves: Sequence[str], groups: Sequence[int], limit: int, again: Opened | None = None
) -> pa.Table:
    """Return leaves of row groups.

    Parameters
    ----------
    reader : pyarrow.parquet.ParquetFile
    leaves : sequence of str
    groups : sequence of int
    limit : int
        The most bytes of their values.
    again : Opened, optional
        Without it lists are not looked into before they are read.

    Raises
    ------
    MetadataCorruptError
        They have more.
    """
    # no look at single column chunks: of one that is encrypted Arrow aborts the process
    footer = reader.metadata
    # a footer tells the rows of the file and those of each row group, and either can be forged
    rows = max(footer.num_rows, sum(footer.row_group(group).num_rows for group in groups))
    demand_room(len(footer.schema), _MOST_LEAVES, _WHERE)
    demand_room(_LEAST_BYTES * rows * len(leaves), limit, _WHERE)
    if again is not None:
        with suppress(FileNotFoundError):  # a commit has removed it since, and the reader still has it
            for leaf in _lists_of_texts(footer, leaves):
                demand_room(_bytes_of_lists(again([leaf]), leaf, groups, limit), limit, _WHERE)
    fixed = _of_fixed_width(footer, leaves)
    if _MOST_BYTES * rows * len(fixed) > 2 * limit:
        fixed = []
    others = [leaf for leaf in leaves if leaf not in set(fixed)]
    if not fixed:
        return _in_batches(reader, others, groups, limit)
    found = reader.read_row_groups(list(groups), fixed, use_threads=len(groups) > 1)
    demand_room(found.nbytes, limit, _WHERE)
    return _beside(found, _in_batches(reader, others, groups, limit - found.nbytes)) if others else found


def _in_batches(reader: pq.ParquetFile, leaves: Sequence[str], groups: Sequence[int], limit: int) -> pa.Table:
    """Read leaves of which one value can be as large as the file says that a row group is."""
    largest = max((reader.metadata.row_group(group).total_byte_size for group in groups), default=1)
    rows = min(max(2 * limit // max(largest, 1), _LEAST_ROWS), _MOST_ROWS)
    batches, taken = [], 0
    for batch in reader.iter_batches(rows, list(groups), list(leaves), use_threads=False):  # batches are small
        taken += batch.nbytes
        demand_room(taken, limit, _WHERE)
        batches.append(batch)
    return pa.Table.from_batches(batches) if batches else reader.read_row_groups([], list(leaves))


def _beside(one: pa.Table, other: pa.Table) -> pa.Table:
    """Return the columns of two tables of as many rows."""
    if len(one) != len(other):
        found = f"{len(one)} and {len(other)} rows"
        raise MetadataCorruptError("columns of a metadata file differ in length", found=found)
    for field, column in zip(other.schema, other.columns, strict=True):
        one = one.append_column(field, column)
    return one


def _of_fixed_width(footer: pq.FileMetaData, leaves: Sequence[str]) -> list[str]:
    """Return the leaves of columns of which all values take as many bytes."""
    wanted, varying = set(leaves), set()
    columns = [footer.schema.column(c) for c in range(len(footer.schema))]
    for column in columns:
        if column.max_repetition_level or column.physical_type not in _FIXED:
            varying.add(column.path.partition(".")[0])
    return [c.path for c in columns if c.path in wanted and c.path.partition(".")[0] not in varying]


def _lists_of_texts(footer: pq.FileMetaData, leaves: Sequence[str]) -> list[str]:
    wanted = set(leaves)
    columns = (footer.schema.column(c) for c in range(len(footer.schema)))
    return [c.path for c in columns if c.path in wanted and c.max_repetition_level and c.physical_type == "BYTE_ARRAY"]


def _bytes_of_lists(reader: pq.ParquetFile, leaf: str, groups: Sequence[int], limit: int) -> int:
    """Return the bytes that strings of a leaf take, or a number above the limit."""
    taken = 0
    for group in groups:
        for chunk in reader.read_row_group(group, [leaf], use_threads=False).column(0).chunks:
            values = chunk
            while not pa.types.is_dictionary(values.type):
                values = values.field(0) if pa.types.is_struct(values.type) else values.values
            counts = np.bincount(values.indices.drop_null().to_numpy(), minlength=len(values.dictionary))
            taken += int(counts @ pc.binary_length(values.dictionary).to_numpy().astype(np.int64))
        if taken > limit:
            break
    return taken
