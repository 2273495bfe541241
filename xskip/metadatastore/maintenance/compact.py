"""Compaction: many metadata files become few in one commit, without reading the data files.

.. code-block:: text

    files -> families of one schema -> ranks of their rows -> full files, one after the other -> one commit
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.metadata.table import IndexKey, MetadataTable, concat
from xskip.metadatastore.codec import GROUP_ROWS, MetadataFile, decode
from xskip.metadatastore.commit import RecordedFile
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.maintenance.rewrite import Target, replace_all
from xskip.metadatastore.portable_forms import is_portable
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.schema import IndexField
from xskip.metadatastore.temporary import temporary_folder
from xskip.metadatastore.versions import WriteOptions
from xskip.results.operations import OptimizeResult
from xskip.types.datatypes import Struct

__all__ = ["optimize"]

Ranks = npt.NDArray[np.int64]


def optimize(storage: Storage, directory: str, limits: WriteOptions) -> OptimizeResult:
    """Rewrite an index as few metadata files, unless the index is already compact.

    Of ``limits``, only ``rows_per_file`` and ``bytes_per_file`` count: versions and key labels of the files do not
    change.
    """
    target = Target.open(storage, directory, "optimize")
    snapshot = target.snapshot
    limits = replace(limits, own=snapshot.write_options.own)
    sizes = {entry.name: entry.size for entry in storage.list(directory)}
    before = sum(sizes.get(name, 0) for name in snapshot.live.names)
    files = snapshot.metadata_files
    # Only files of one schema are merged. So no information is lost, and the metadata of another program prove neither
    # more nor less than before.
    families = [_family(alike, limits) for alike in _alike(files)]
    count, after = len(files), before
    portable = not snapshot.is_ours or all(is_portable(f.schema, f.footer.metadata, limits) for f in files)
    if not (portable and all(family.is_in_shape for family in families)):
        written = _rewrite(target, families)
        count, after = len(written), sum(entry.size for entry in written)
    return OptimizeResult(directory, len(files), count, snapshot.rows, before, after, target.seconds)


def _rewrite(target: Target, families: Sequence[_Family]) -> tuple[RecordedFile, ...]:
    files: list[tuple[Path, RecordedFile]] = []
    with temporary_folder("optimize") as scratch:
        for family in families:
            write_options = replace(family.write_options, rows_per_file=family.each, bytes_per_file=sys.maxsize)
            for table in family.tables():
                files += write_files(table, target.snapshot.table_identifier, Path(scratch), len(files), write_options)
        replace_all(target, target.snapshot.version, files)
    return tuple(entry for _, entry in files)


@dataclass(frozen=True, slots=True)
class _Family:
    """Metadata files of one schema."""

    files: tuple[MetadataFile, ...]
    #: For each file, the positions of its rows in the order of all rows.
    ranks: tuple[Ranks, ...]
    #: The write options of the files, with the limits of the operation.
    write_options: WriteOptions
    #: The number of rows for each new file.
    each: int
    #: The number of rows in memory at a time, a multiple of ``each``.
    at_once: int

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def is_in_shape(self) -> bool:
        """Return whether the files need no rewrite."""
        groups = [f.footer.row_group(i).num_rows for f in self.files for i in range(f.footer.num_row_groups)]
        few = len(self.files) <= max(1, math.ceil(self.rows / self.each))
        short = all(file.rows <= self.write_options.rows_per_file for file in self.files)
        ordered = len(groups) <= 1 or bool((np.diff(np.concatenate(self.ranks)) == 1).all())
        # The files are as few as possible, no file or row group has too many rows, and the rows of several row groups
        # are in order.
        return few and short and max(groups, default=0) <= GROUP_ROWS and ordered

    def tables(self) -> Iterator[MetadataTable]:
        """Yield all rows in order as tables of at most ``at_once`` rows; yield one empty table if there are no rows."""
        for start in range(0, max(self.rows, 1), self.at_once):
            tables, ranks = [], []
            for file, own in zip(self.files, self.ranks, strict=True):
                here = np.flatnonzero((own >= start) & (own < start + self.at_once))
                if len(here) or not self.rows:
                    tables.append(decode(file).take(pa.array(here, pa.int64())))
                    ranks.append(own[here])
            table = concat(tables).take(pa.array(np.argsort(np.concatenate(ranks)), pa.int64()))
            yield self._arranged(table)

    def _arranged(self, table: MetadataTable) -> MetadataTable:
        # The columns get the order of the first file.
        schema = self.files[0].schema
        return replace(
            table,
            partitions={name: table.partitions[name] for name, _ in schema.partitions},
            indexes={each.definition.key: table.indexes[each.definition.key] for each in schema.indexes},
        )


def _alike(files: Sequence[MetadataFile]) -> list[tuple[MetadataFile, ...]]:
    """Group files by version, partition columns, indexes and keys; the order of the columns does not matter."""
    families: dict[object, list[MetadataFile]] = {}
    for file in files:
        schema = file.schema
        indexes = frozenset((index.definition, index.storage) for index in schema.indexes)
        key = (schema.version, frozenset(schema.partitions), indexes, _form(file, WriteOptions()))
        families.setdefault(key, []).append(file)
    return [tuple(family) for family in families.values()]


def _form(file: MetadataFile, limits: WriteOptions) -> WriteOptions:
    """Return the write options of an existing file, with other limits."""
    labels = file.schema.encryption
    footer_key, plain = (None, False) if labels is None else (labels.footer_key, labels.plaintext_footer)
    return replace(limits, version=file.schema.version, footer_key=footer_key, plaintext_footer=plain)


def _family(files: tuple[MetadataFile, ...], limits: WriteOptions) -> _Family:
    """Build a family of files and rank its rows; only one decoded file is in memory at a time."""
    partitions = [name for name, _ in files[0].schema.partitions]
    bounds = next((i.definition.key for i in files[0].schema.indexes if _is_bounds(i)), None)
    keys, size = [], 0
    for file in files:
        table = decode(file)
        keys.append(_keys(table, partitions, bounds))
        size += table.nbytes
    merged = pa.concat_tables(keys)
    rows = len(merged)
    ranks = np.empty(rows, np.int64)
    ranks[pc.sort_indices(merged, [(name, "ascending") for name in merged.column_names]).to_numpy()] = np.arange(rows)
    fitting = limits.bytes_per_file * rows // max(size, 1)  # the number of rows that fit into the bytes of one file
    count = max(1, math.ceil(rows / max(1, min(limits.rows_per_file, fitting))))
    each = max(1, math.ceil(rows / count))  # the same number of rows in every file
    ends = np.cumsum([len(key) for key in keys])[:-1]
    at_once = each * max(1, fitting // each)
    return _Family(files, tuple(np.split(ranks, ends)), _form(files[0], limits), each, at_once)


def _is_bounds(index: IndexField) -> bool:
    return index.definition.name == "minmax" and isinstance(index.storage, Struct)


def _keys(table: MetadataTable, partitions: Sequence[str], bounds: IndexKey | None) -> pa.Table:
    """Return the sort keys of a table: partition columns, minima if there are bounds, and names of data files."""
    # Rows are ordered by partition columns, then by the minimum of the first MinMax index, then by the name of the data
    # file. Row groups then have narrow bounds for the most common filters. Names separate rows that are otherwise
    # equal.
    columns = [table.partitions[name].values for name in partitions]
    if bounds is not None:
        columns.append(pc.struct_field(table.indexes[bounds].values, 0))
    columns.append(table.files.names)
    return pa.table(columns, [str(number) for number in range(len(columns))])
