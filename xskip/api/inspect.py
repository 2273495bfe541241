"""The operations that tell the state of an index: exists, describe, status, advise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.api.upkeep import IndexUpkeep
from xskip.engine.usage import DatasetUsage, IndexUsage
from xskip.errors import IndexDeletedError, MetadataVersionError
from xskip.expressions.evaluate import to_mask
from xskip.indexes import keys_of_paths
from xskip.indexing.source import Source, require_snapshot
from xskip.inspection.advise import advise
from xskip.metadata.data_files import DataFiles, compare_files, count_changed
from xskip.metadata.table import IndexDefinition, IndexKey, MetadataTable
from xskip.metadatastore.codec import MetadataFile
from xskip.metadatastore.commit import find_live
from xskip.metadatastore.snapshot import Snapshot, file_versions
from xskip.metadatastore.versions import VersionStatus, status_of
from xskip.results.advice import AdviceList
from xskip.results.index_status import IndexDescription, IndexInfo, IndexStatus
from xskip.spark.collect.listing import list_files
from xskip.types.datatypes import Storage, value_type

__all__ = ["IndexInspection"]

_MAX_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class IndexInspection(IndexUpkeep):
    """The base of :class:`xskip.SkippingIndex` with the operations that tell the state of an index.

    Attributes
    ----------
    name : str
        The path or table, as the user gave it.
    """

    def exists(self) -> bool:
        """Return whether the dataset has an index.

        Returns
        -------
        bool
            Whether the directory of the metadata holds an index.

        Raises
        ------
        MetadataCorruptError
            If the commit records of the index are damaged.
        """
        _, source = self._open()
        return find_live(source.storage, source.directory) is not None

    def describe(self) -> IndexDescription:
        """Return the description of the index: its location, version, size, partition columns and index definitions.

        For each index, the description has the size of its statistics, the time that builds have spent on it, and how
        many scans in this process have used it. The counts begin anew if the set of indexes changes, and do not include
        :func:`xskip.explain` and :meth:`xskip.SkippingIndex.files`.

        Returns
        -------
        IndexDescription
            The description, which prints as text, shows as HTML in notebooks and converts to an Arrow table.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        """
        engine, source = self._open()
        return _describe(source, engine.usage(source.directory))

    def status(self) -> IndexStatus:
        """Return the state of the index in comparison with the present files of the dataset.

        Returns
        -------
        IndexStatus
            The numbers of indexed, missing and stale files, and the reason why queries do not use the index, if any.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        """
        _, source = self._open()
        return _status(source)

    def advise(self) -> AdviceList:
        """Return advice on the indexes, from their statistics and from the queries of this process.

        The advice names indexes that rule out next to nothing, indexes that another one replaces, indexes that no query
        of this process uses, and columns that queries filter without an index. Bounds are judged by their spread: by
        the files that they rule out for values in the range of the data, on average. Bloom filters, and statistics
        without their key, are judged by queries alone. An index that has ruled out files for a query of this process
        is never to be removed.

        Returns
        -------
        AdviceList
            One sentence with its evidence for each piece of advice.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.

        Examples
        --------
        >>> print(xskip.SkippingIndex.for_path(spark, indexed_path).advise())
        no advice: nothing tells against the indexes
        """
        engine, source = self._open()
        return advise(require_snapshot(source), source.root, engine.usage(source.directory))


def _describe(source: Source, usage: DatasetUsage) -> IndexDescription:
    """Return the description of a dataset's index."""
    snapshot = require_snapshot(source)
    record = snapshot.record
    usage = usage.among(str(definition) for definition, _ in snapshot.indexes)
    entries = source.storage.list(source.directory)
    return IndexDescription(
        dataset=source.root,
        location=source.directory,
        format=record.read_profile.format if record and record.read_profile else source.read_profile.format,
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
    """Return the compressed size of an index's statistics in bytes, or None if a metadata file is encrypted."""
    # Arrow aborts the process if the metadata of an encrypted column chunk are read.
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


def _status(source: Source) -> IndexStatus:
    """Return the state of an index in comparison with the present files of its dataset."""
    try:
        snapshot = require_snapshot(source)
    except IndexDeletedError as error:
        return IndexStatus(VersionStatus.CURRENT.value, 0, len(list_files(source.dataset)), 0, error.what)
    except MetadataVersionError:
        versions = file_versions(source.storage, source.directory)
        if _worst(versions) is not VersionStatus.TOO_NEW:
            raise
        # The state counts all files of the dataset as missing.
        problem = "a newer release built the index; use a newer xskip"
        return IndexStatus(VersionStatus.TOO_NEW.value, 0, len(list_files(source.dataset)), 0, problem, versions)
    listed = list_files(source.dataset)
    table = snapshot.load(keys_of_paths(definition for definition, _ in snapshot.indexes))
    fresh, alive = compare_files(listed.files, table.files)
    unknown = _unknown_paths(table, alive)
    problem = snapshot.reason_unusable(source.location, source.read_profile) or source.unfound
    present = int(alive.sum())
    missing = listed.files.take(pa.array(fresh))
    versions = tuple(zip(snapshot.live.names, (file.schema.version for file in snapshot.metadata_files), strict=True))
    return IndexStatus(
        _worst(versions).value,
        present,
        len(fresh),
        len(alive) - present,
        problem,
        versions,
        len(unknown),
        tuple(unknown.slice(0, _MAX_EXAMPLES).to_pylist()),
        _unreadable(snapshot, missing),
        count_changed(missing, table.files.take(pa.array(np.flatnonzero(~alive)))),
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
