"""Description of an index, and comparison of an index with its dataset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.build.source import Source, require_snapshot
from xskip.errors import MetadataVersionError
from xskip.expressions.evaluate import to_mask
from xskip.indexes import keys_of_paths
from xskip.metadata.data_files import DataFiles, compare_files
from xskip.metadata.table import IndexDefinition, IndexKey, MetadataTable
from xskip.metadatastore.codec import MetadataFile
from xskip.metadatastore.snapshot import Snapshot, file_versions
from xskip.metadatastore.versions import VersionStatus, status_of
from xskip.results.index_status import IndexDescription, IndexInfo, IndexStatus
from xskip.spark.collect.listing import list_files
from xskip.spark.query.usage import DatasetUsage, IndexUsage
from xskip.types.datatypes import Storage, value_type

__all__ = ["describe", "status"]

_MOST_EXAMPLES = 10


def describe(source: Source, usage: DatasetUsage) -> IndexDescription:
    """Return the description of a dataset's index.

    Parameters
    ----------
    source : Source
        The opened dataset.
    usage : DatasetUsage
        How queries have used the index.

    Returns
    -------
    IndexDescription

    Raises
    ------
    MetadataNotFoundError
        If there is no index.
    """
    snapshot = require_snapshot(source)
    record = snapshot.record
    usage = usage.among(str(definition) for definition, _ in snapshot.indexes)
    entries = source.storage.list(source.directory)
    return IndexDescription(
        dataset=source.root,
        location=source.directory,
        format=record.reading.format if record and record.reading else source.reading.format,
        version=snapshot.version,
        commit=record.number if record else 0,
        files=snapshot.rows,
        metadata_bytes=sum(e.size for e in entries if e.name in set(snapshot.live.names)),
        partitions=tuple(f"{name} {kind}" for name, kind in snapshot.partitions.items()),
        indexes=tuple(_info(snapshot, d, s, usage.of(str(d))) for d, s in snapshot.indexes),
        scans=usage.scans,
    )


def _info(snapshot: Snapshot, definition: IndexDefinition, storage: Storage, usage: IndexUsage) -> IndexInfo:
    types = definition.types or (value_type(storage) or "unknown",) * len(definition.columns)
    spent = snapshot.record.notes.of(definition.key) if snapshot.record else None
    size = _size_of(snapshot, definition.key)
    return IndexInfo(
        definition.name, definition.columns, types, definition.params, size, spent, usage.scans, usage.ruled_out
    )


def _size_of(snapshot: Snapshot, key: IndexKey) -> int | None:
    """Return the compressed size of an index's statistics in bytes, or None if a metadata file is encrypted.

    Arrow aborts the process if the metadata of an encrypted column chunk are read.
    """
    if any(file.schema.encryption is not None for file in snapshot.metadata_files):
        return None
    columns = (
        (file, index.column)
        for file in snapshot.metadata_files
        for index in file.schema.indexes
        if index.definition.key == key
    )
    return sum(_size_in(file, column) for file, column in columns)


def _size_in(file: MetadataFile, column: str) -> int:
    """Return the compressed size of a column, with all its nested columns, in a metadata file."""
    groups = [file.footer.row_group(i) for i in range(file.footer.num_row_groups)]
    chunks = (group.column(j) for group in groups for j in range(group.num_columns))
    own = (c.total_compressed_size for c in chunks if f"{c.path_in_schema}.".startswith(f"{column}."))
    return sum(own)


def status(source: Source) -> IndexStatus:
    """Return the state of an index in comparison with the present files of its dataset.

    Parameters
    ----------
    source : Source
        The opened dataset.

    Returns
    -------
    IndexStatus
        For metadata of a newer release, the state counts all files of the dataset as missing.

    Raises
    ------
    MetadataNotFoundError
        If there is no index.
    MetadataVersionError
        If this release does not know the version of the metadata, and the version is not that of a newer release.
    """
    try:
        snapshot = require_snapshot(source)
    except MetadataVersionError:
        versions = file_versions(source.storage, source.directory)
        if _worst(versions) is not VersionStatus.TOO_NEW:
            raise
        problem = "a newer release built the index; use a newer xskip"
        missing = len(list_files(source.dataset))
        return IndexStatus(VersionStatus.TOO_NEW.value, 0, missing, 0, problem, versions)
    listed = list_files(source.dataset)
    table = snapshot.load(keys_of_paths(definition for definition, _ in snapshot.indexes))
    fresh, alive = compare_files(listed.files, table.files)
    unknown = _unknown_paths(table, alive)
    problem = snapshot.reason_unusable(source.location, source.reading)
    present = int(alive.sum())
    versions = tuple(zip(snapshot.live.names, (file.schema.version for file in snapshot.metadata_files), strict=True))
    return IndexStatus(
        _worst(versions).value,
        present,
        len(fresh),
        len(alive) - present,
        problem,
        versions,
        len(unknown),
        tuple(unknown.slice(0, _MOST_EXAMPLES).to_pylist()),
        _unreadable(snapshot, listed.files.take(pa.array(fresh))),
    )


def _unreadable(snapshot: Snapshot, missing: DataFiles) -> tuple[tuple[str, str], ...]:
    """Return the files without metadata that the latest build could not read and that have not changed since."""
    noted = snapshot.record.notes.unreadable if snapshot.record else ()
    positions = pc.index_in(pa.array([each.name for each in noted], pa.string()), missing.names).to_pylist()
    found = (
        (each.name, each.reason)
        for each, position in zip(noted, positions, strict=True)
        if position is not None and missing.modified[position].as_py() == each.modified
    )
    return tuple(sorted(found))


def _unknown_paths(table: MetadataTable, alive: npt.NDArray[np.bool_]) -> pa.StringArray:
    """Return the paths of present files that say nothing to at least one of the table's indexes."""
    unknown = np.zeros(len(table), np.bool_)
    for column in table.indexes.values():
        if column.unreadable:  # the null of an encrypted value says nothing about the path
            continue
        unknown |= to_mask(column.values.is_null())
    return table.files.names.filter(pa.array(unknown & alive))


def _worst(versions: Sequence[tuple[str, int]]) -> VersionStatus:
    """Return the least supported status among the versions of the metadata files."""
    found = (status_of(version) for _, version in versions)
    return max(found, key=list(VersionStatus).index, default=VersionStatus.CURRENT)
