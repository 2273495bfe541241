"""The rewrite of a whole index in one commit, without reading the data files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from xskip.errors import MetadataCorruptError, MetadataNotFoundError
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.codec import decode
from xskip.metadatastore.commit import CommitRecord, Operation, RecordedFile, publish
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.metadatastore.temporary import temporary_folder
from xskip.metadatastore.versions import WriteOptions

__all__ = ["Target", "replace_all", "rewrite"]


class Target(NamedTuple):
    """A snapshot that an operation replaces, from :meth:`open`.

    Attributes
    ----------
    storage : Storage
    directory : str
        The metadata directory.
    snapshot : Snapshot
        The current snapshot of the directory.
    operation : str
        The name of the operation, for the record.
    started : float
        The time of the monotonic clock at which the operation began.
    """

    storage: Storage
    directory: str
    snapshot: Snapshot
    operation: str
    started: float

    @staticmethod
    def open(storage: Storage, directory: str, operation: str) -> Target:
        """Open the current snapshot of a directory, and verify that no second program has added files to it.

        Parameters
        ----------
        storage : Storage
        directory : str
            The metadata directory.
        operation : str
            The name of the operation.

        Returns
        -------
        Target

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        MetadataCorruptError
            If the index cannot be read, or if another program has added files to the index.
        """
        started = time.monotonic()
        snapshot = open_snapshot(storage, directory)
        if snapshot is None:
            raise MetadataNotFoundError.at(directory)
        if snapshot.record is not None and snapshot.record.reading is not None and not snapshot.is_ours:
            raise MetadataCorruptError(
                "another program has added files to the index", where=directory, hint="call refresh() first"
            )
        return Target(storage, directory, snapshot, operation, started)

    @property
    def seconds(self) -> float:
        """Return the seconds since the operation began."""
        return time.monotonic() - self.started


def rewrite(target: Target, write_options: WriteOptions, change: Callable[[MetadataTable, int], MetadataTable]) -> None:
    """Rewrite each metadata file of a snapshot, then commit the new files.

    Parameters
    ----------
    target : Target
        The snapshot, its place, and the name of the operation.
    write_options : WriteOptions
        The options for the new files.
    change : callable
        Returns the new metadata table of a file from its present table and its version.

    Raises
    ------
    KeyNotAvailableError
        If a key is not available.
    CommitConflictError
        If another writer committed first. Nothing has changed.
    """
    files: list[tuple[Path, RecordedFile]] = []
    with temporary_folder("rewrite") as scratch:
        for file in target.snapshot.metadata_files:  # only one file is in memory at a time
            table = change(decode(file), file.schema.version)
            files += write_files(table, target.snapshot.table_identifier, Path(scratch), len(files), write_options)
        replace_all(target, write_options.version, files)


def replace_all(target: Target, version: int, files: Sequence[tuple[Path, RecordedFile]]) -> None:
    """Commit new files in place of all files of a snapshot.

    Parameters
    ----------
    target : Target
        The snapshot, its place, and the name of the operation.
    version : int
        The newest version of the new files.
    files : sequence of (Path, RecordedFile)
        Complete local files with their entries for the record.

    Raises
    ------
    CommitConflictError
        If another writer committed first. Nothing has changed.
    """
    record = replace(
        _record(target.snapshot, version, tuple(entry for _, entry in files)), operation=Operation(target.operation)
    )
    publish(target.storage, target.directory, target.snapshot.live, files, record)


def _record(snapshot: Snapshot, version: int, files: tuple[RecordedFile, ...]) -> CommitRecord:
    """Return the record of the new files: the present record with these files, if xskip built the index.

    The metadata of another program remain another program's, so their record contains no read profile and no types.
    """
    if snapshot.record is not None and snapshot.reading is not None:
        reading = snapshot.reading if snapshot.write_options.footer_key is None else snapshot.reading.hidden()
        return replace(snapshot.record, version=version, metadata_files=files, reading=reading)
    return CommitRecord(0, snapshot.table_identifier, version, files, None, {}, 0)
