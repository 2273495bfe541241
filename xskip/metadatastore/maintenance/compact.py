"""Many files of metadata joined into few, in one commit; the data stays untouched.

.. code-block:: text

    files -> families of one schema -> ranks of their rows -> full files, one after the other -> one commit

Only files of one schema are joined: so nothing is lost, and what metadata of another program proves stays the same.
"""

from __future__ import annotations

import math
import sys
import time
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
from xskip.metadatastore.maintenance.rewrite import open_whole, replace_all
from xskip.metadatastore.schema import IndexField
from xskip.metadatastore.snapshot import Snapshot, write_files
from xskip.metadatastore.temporary import temporary_folder
from xskip.metadatastore.versions import WriteOptions
from xskip.metadatastore.wording import is_worded
from xskip.results.operations import OptimizeResult
from xskip.types.datatypes import Struct

__all__ = ["optimize"]

Ranks = npt.NDArray[np.int64]


def optimize(storage: Storage, directory: str, limits: WriteOptions) -> OptimizeResult:
    """Rewrites an index as few files, or changes nothing where it is in shape.

    Rows go by partition columns, then by the first MinMax's least value, then by name: what filters are mostly about
    gets narrow bounds in the statistics of row groups, and names tell rows apart that are equal in both.

    Parameters
    ----------
    storage : Storage
    directory : str
    limits : WriteOptions
        Of which ``rows_per_file`` and ``bytes_per_file`` count; versions and labels of keys stay as they are.

    Raises
    ------
    MetadataNotFoundError
        There is no index.
    MetadataCorruptError
        It cannot be read, or another program has added to it.
    KeyNotAvailableError
        The index is encrypted and a key is not to be had.
    CommitConflictError
        Another writer was faster; nothing has changed.
    """
    started = time.monotonic()
    snapshot = open_whole(storage, directory)
    limits = replace(limits, own=snapshot.form.own)
    sizes = {entry.name: entry.size for entry in storage.list(directory)}
    before = sum(sizes.get(name, 0) for name in snapshot.live.names)
    families = [_family(files, limits) for files in _alike(snapshot.files)]
    count, after = len(snapshot.files), before
    worded = not snapshot.is_ours or all(is_worded(f.schema, f.footer.metadata, limits) for f in snapshot.files)
    if not (worded and all(family.is_in_shape for family in families)):
        written = _rewrite(storage, directory, snapshot, families)
        count, after = len(written), sum(entry.size for entry in written)
    seconds = time.monotonic() - started
    return OptimizeResult(directory, len(snapshot.files), count, snapshot.rows, before, after, seconds)


def _rewrite(
    storage: Storage, directory: str, snapshot: Snapshot, families: Sequence[_Family]
) -> tuple[RecordedFile, ...]:
    files: list[tuple[Path, RecordedFile]] = []
    with temporary_folder("optimize") as scratch:
        for family in families:
            form = replace(family.form, rows_per_file=family.each, bytes_per_file=sys.maxsize)
            for table in family.tables():
                files += write_files(table, snapshot.table_identifier, Path(scratch), len(files), form)
        replace_all(storage, directory, snapshot, snapshot.version, files)
    return tuple(entry for _, entry in files)


@dataclass(frozen=True, slots=True)
class _Family:
    """Files of one schema.

    Attributes
    ----------
    files : tuple of MetadataFile
    ranks : tuple of numpy.ndarray
        For each file the places of its rows among the rows of all.
    form : WriteOptions
        Of the files, with the limits that are set.
    each : int
        How many rows each file is to have.
    at_once : int
        How many rows are in memory at a time: those of a whole number of files.
    """

    files: tuple[MetadataFile, ...]
    ranks: tuple[Ranks, ...]
    form: WriteOptions
    each: int
    at_once: int

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def is_in_shape(self) -> bool:
        """Are files as few as can be, none and no row group too long, and the rows of several row groups in order."""
        groups = [f.footer.row_group(i).num_rows for f in self.files for i in range(f.footer.num_row_groups)]
        few = len(self.files) <= max(1, math.ceil(self.rows / self.each))
        short = all(file.rows <= self.form.rows_per_file for file in self.files)
        ordered = len(groups) <= 1 or bool((np.diff(np.concatenate(self.ranks)) == 1).all())
        return few and short and max(groups, default=0) <= GROUP_ROWS and ordered

    def tables(self) -> Iterator[MetadataTable]:
        """The rows in order, as many as may be in memory at a time; one table without rows where there are none."""
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
        """A table with its columns in the order of the first file."""
        schema = self.files[0].schema
        return replace(
            table,
            partitions={name: table.partitions[name] for name, _ in schema.partitions},
            indexes={each.definition.key: table.indexes[each.definition.key] for each in schema.indexes},
        )


def _alike(files: Sequence[MetadataFile]) -> list[tuple[MetadataFile, ...]]:
    """Files by what they hold, in whichever order of columns, in which version and under which keys."""
    families: dict[object, list[MetadataFile]] = {}
    for file in files:
        schema = file.schema
        indexes = frozenset((index.definition, index.storage) for index in schema.indexes)
        key = (schema.version, frozenset(schema.partitions), indexes, _form(file, WriteOptions()))
        families.setdefault(key, []).append(file)
    return [tuple(family) for family in families.values()]


def _form(file: MetadataFile, limits: WriteOptions) -> WriteOptions:
    """The form of a file, with other limits."""
    labels = file.schema.encryption
    footer_key, plain = (None, False) if labels is None else (labels.footer_key, labels.plaintext_footer)
    return replace(limits, version=file.schema.version, footer_key=footer_key, plaintext_footer=plain)


def _family(files: tuple[MetadataFile, ...], limits: WriteOptions) -> _Family:
    """Files of one schema, their rows ranked; one of them is in memory at a time."""
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
    fitting = limits.bytes_per_file * rows // max(size, 1)  # rows of as many bytes as a file may have
    count = max(1, math.ceil(rows / max(1, min(limits.rows_per_file, fitting))))
    each = max(1, math.ceil(rows / count))  # equally many in each file
    ends = np.cumsum([len(key) for key in keys])[:-1]
    at_once = each * max(1, fitting // each)
    return _Family(files, tuple(np.split(ranks, ends)), _form(files[0], limits), each, at_once)


def _is_bounds(index: IndexField) -> bool:
    return index.definition.name == "minmax" and isinstance(index.storage, Struct)


def _keys(table: MetadataTable, partitions: Sequence[str], bounds: IndexKey | None) -> pa.Table:
    """What the rows of a table are ordered by: partition columns, least values where there are bounds, names."""
    columns = [table.partitions[name].values for name in partitions]
    if bounds is not None:
        columns.append(pc.struct_field(table.indexes[bounds].values, 0))
    columns.append(table.objects.names)
    return pa.table(columns, [str(number) for number in range(len(columns))])
