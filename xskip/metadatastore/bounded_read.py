"""Reads of metadata columns within a memory limit. Rule: [MDS-D-5]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from xskip.errors import MetadataCorruptError

__all__ = ["RATIO", "Opened", "demand_room", "read_bounded"]

#: A function that opens the same file with a second reader, which reads the given leaves as dictionaries.
Opened = Callable[[list[str]], pq.ParquetFile]

#: The memory limit as a multiple of the size of the files. Useful metadata compresses less than this.
RATIO = 32
_MAX_LEAVES = 100_000
_MAX_ROWS, _MIN_ROWS = 65_536, 16
_MIN_BYTES, _MAX_BYTES = 1, 16  # the least bytes of any value, the most bytes of a value with a fixed width
_WHERE = "a metadata file"
_FIXED = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE")


def demand_room(taken: int, limit: int, where: str) -> None:
    """Raise MetadataCorruptError if values take more memory, in bytes, than the limit.

    ``where`` is the file or directory, for the error message.
    """
    if taken > limit:
        raise MetadataCorruptError(
            "the metadata exceeds the memory limit", where=where, found=f"more than {limit:,} bytes of values",
            hint="increase spark.xskip.metadata.maxBytes, or drop the index",
        )  # fmt: skip


def read_bounded(
    reader: pq.ParquetFile, leaves: Sequence[str], groups: Sequence[int], limit: int, again: Opened | None = None
) -> pa.Table:
    """Read leaves of row groups, whose values take at most ``limit`` bytes.

    Without ``again``, the size of lists of strings is not checked first. MetadataCorruptError means that the values
    take more, or that the columns differ in length.
    """
    # do not inspect the footer of a column chunk: Arrow aborts the process if the chunk is encrypted
    footer = reader.metadata
    # a footer contains the number of rows of the file and of each row group, and either can be forged
    rows = max(footer.num_rows, sum(footer.row_group(group).num_rows for group in groups))
    demand_room(len(footer.schema), _MAX_LEAVES, _WHERE)
    demand_room(_MIN_BYTES * rows * len(leaves), limit, _WHERE)
    # Lists of strings are first read as dictionaries, because a single row can contain all values.
    if again is not None:
        with suppress(FileNotFoundError):  # a commit can have removed the file, which the reader still has open
            for leaf in _lists_of_texts(footer, leaves):
                demand_room(_bytes_of_lists(again([leaf]), leaf, groups, limit), limit, _WHERE)
    fixed = _of_fixed_width(footer, leaves)
    # No value of a fixed width takes more than _MAX_BYTES, so the number of rows bounds what one read takes.
    if _MAX_BYTES * rows * len(fixed) > 2 * limit:
        fixed = []
    others = [leaf for leaf in leaves if leaf not in set(fixed)]
    if not fixed:
        return _in_batches(reader, others, groups, limit)
    found = reader.read_row_groups(list(groups), fixed, use_threads=len(groups) > 1)
    demand_room(found.nbytes, limit, _WHERE)
    return _beside(found, _in_batches(reader, others, groups, limit - found.nbytes)) if others else found


def _in_batches(reader: pq.ParquetFile, leaves: Sequence[str], groups: Sequence[int], limit: int) -> pa.Table:
    """Read leaves in batches, because one value can be as large as the file's footer says that a row group is."""
    largest = max((reader.metadata.row_group(group).total_byte_size for group in groups), default=1)
    rows = min(max(2 * limit // max(largest, 1), _MIN_ROWS), _MAX_ROWS)
    batches, taken = [], 0
    # A footer contains the number of values but not their size: one dictionary entry can represent millions of values.
    # So the bytes of each batch count.
    for batch in reader.iter_batches(rows, list(groups), list(leaves), use_threads=False):  # small batches
        taken += batch.nbytes
        demand_room(taken, limit, _WHERE)
        batches.append(batch)
    return pa.Table.from_batches(batches) if batches else reader.read_row_groups([], list(leaves))


def _beside(one: pa.Table, other: pa.Table) -> pa.Table:
    """Combine the columns of two tables, which must have the same number of rows."""
    if len(one) != len(other):
        found = f"{len(one)} and {len(other)} rows"
        raise MetadataCorruptError("the columns of a metadata file differ in length", found=found)
    for field, column in zip(other.schema, other.columns, strict=True):
        one = one.append_column(field, column)
    return one


def _of_fixed_width(footer: pq.FileMetaData, leaves: Sequence[str]) -> list[str]:
    """Return the leaves of the columns in which every value takes the same number of bytes."""
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
    """Return the total bytes of the strings in a leaf, or a number above the limit."""
    taken = 0
    for group in groups:
        for chunk in reader.read_row_group(group, [leaf], use_threads=False).column(0).chunks:
            values = chunk
            while not pa.types.is_dictionary(values.type):
                values = values.field(0) if pa.types.is_struct(values.type) else values.values
            # Without a dictionary, each use of an entry takes a copy of the entry's bytes.
            counts = np.bincount(values.indices.drop_null().to_numpy(), minlength=len(values.dictionary))
            taken += int(counts @ pc.binary_length(values.dictionary).to_numpy().astype(np.int64))
        if taken > limit:
            break
    return taken
