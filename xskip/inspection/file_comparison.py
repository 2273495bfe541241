"""The comparison of an index with the present files of its dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import IndexDeletedError, MetadataVersionError
from xskip.indexes import keys_of_paths
from xskip.metadata.data_files import DataFiles, compare_files, count_changed
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.snapshot import Snapshot, file_versions
from xskip.metadatastore.versions import VersionStatus, status_of
from xskip.results.index_status import IndexStatus
from xskip.types.masks import to_mask

__all__ = ["compare_with_files", "status_without_snapshot"]

_MAX_EXAMPLES = 10


def compare_with_files(snapshot: Snapshot, files: DataFiles, problem: str) -> IndexStatus:
    """Return the state of an index in comparison with the present files of its dataset.

    ``problem`` says why queries do not use the index; empty if they do.
    """
    table = snapshot.load(keys_of_paths(definition for definition, _ in snapshot.indexes))
    fresh, alive = compare_files(files, table.files)
    unknown = _unknown_paths(table, alive)
    present = int(alive.sum())
    missing = files.take(pa.array(fresh))
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


def status_without_snapshot(
    error: IndexDeletedError | MetadataVersionError, storage: Storage, directory: str, count: Callable[[], int]
) -> IndexStatus:
    """Return the state of an index that was deleted or that a newer release built, or raise the error.

    The state counts all files of the dataset as missing; ``count`` returns their number.
    """
    if isinstance(error, IndexDeletedError):
        return IndexStatus(VersionStatus.CURRENT.value, 0, count(), 0, error.what)
    versions = file_versions(storage, directory)
    if _worst(versions) is not VersionStatus.TOO_NEW:
        raise error
    problem = "a newer release built the index; use a newer xskip"
    return IndexStatus(VersionStatus.TOO_NEW.value, 0, count(), 0, problem, versions)


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
