"""The rewrite of a whole index in one commit, without reading the data files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from xskip.errors import MetadataCorruptError, MetadataNotFoundError
from xskip.hints import Call, Words
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
    """A snapshot that an operation replaces, from :meth:`open`."""

    storage: Storage
    directory: str
    snapshot: Snapshot
    #: The name of the operation, for the record.
    operation: str
    #: The time of the monotonic clock at which the operation began.
    started: float

    @staticmethod
    def open(storage: Storage, directory: str, operation: str) -> Target:
        """Open the current snapshot of a directory, and verify that no second program has added files to it.

        Without an index, MetadataNotFoundError is raised. MetadataCorruptError means that the index cannot be read, or
        that another program has added files.
        """
        started = time.monotonic()
        snapshot = open_snapshot(storage, directory)
        if snapshot is None:
            raise MetadataNotFoundError.at(directory)
        if snapshot.record is not None and snapshot.record.read_profile is not None and not snapshot.is_ours:
            raise MetadataCorruptError(
                "another program has added files to the index", where=directory, hint=Words("{} first", Call("refresh"))
            )
        return Target(storage, directory, snapshot, operation, started)

    @property
    def seconds(self) -> float:
        """Return the seconds since the operation began."""
        return time.monotonic() - self.started


def rewrite(target: Target, write_options: WriteOptions, change: Callable[[MetadataTable, int], MetadataTable]) -> None:
    """Rewrite each metadata file of a snapshot, then commit the new files.

    ``change`` returns the new metadata table of a file from its present table and its version. KeyNotAvailableError
    means that a key is not available, and CommitConflictError that another writer committed first. Nothing has changed
    then.
    """
    files: list[tuple[Path, RecordedFile]] = []
    with temporary_folder("rewrite") as scratch:
        for file in target.snapshot.metadata_files:  # only one file is in memory at a time
            table = change(decode(file), file.schema.version)
            files += write_files(table, target.snapshot.table_identifier, Path(scratch), len(files), write_options)
        replace_all(target, write_options.version, files)


def replace_all(target: Target, version: int, files: Sequence[tuple[Path, RecordedFile]]) -> None:
    """Commit new files in place of all files of a snapshot.

    ``version`` is the newest version of the files, which are complete local files with their entries for the record.
    """
    record = replace(
        _record(target.snapshot, version, tuple(entry for _, entry in files)), operation=Operation(target.operation)
    )
    publish(target.storage, target.directory, target.snapshot.live, files, record)


def _record(snapshot: Snapshot, version: int, files: tuple[RecordedFile, ...]) -> CommitRecord:
    """Return the record of the new files: the present record with these files, if xskip built the index."""
    if snapshot.record is not None and snapshot.read_profile is not None:
        reading = snapshot.read_profile if snapshot.write_options.footer_key is None else snapshot.read_profile.hidden()
        return replace(snapshot.record, version=version, metadata_files=files, read_profile=reading)
    # The metadata of another program remain another program's, so their record contains no read profile and no types.
    return CommitRecord(0, snapshot.table_identifier, version, files, None, {}, 0)
