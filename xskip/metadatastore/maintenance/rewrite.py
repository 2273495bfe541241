"""An index written anew as a whole, in one commit; the data stays untouched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from xskip.errors import MetadataCorruptError, MetadataNotFoundError
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.codec import decode
from xskip.metadatastore.commit import CommitRecord, RecordedFile, publish
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.snapshot import Snapshot, open_snapshot, write_files
from xskip.metadatastore.temporary import temporary_folder
from xskip.metadatastore.versions import WriteOptions

__all__ = ["open_whole", "replace_all", "rewrite"]


def open_whole(storage: Storage, directory: str) -> Snapshot:
    """The present snapshot of a directory, which one program has written.

    Raises
    ------
    MetadataNotFoundError
        There is no index.
    MetadataCorruptError
        It cannot be read, or another program has added to it.
    """
    snapshot = open_snapshot(storage, directory)
    if snapshot is None:
        raise MetadataNotFoundError.at(directory)
    if snapshot.record is not None and snapshot.record.reading is not None and not snapshot.is_ours:
        raise MetadataCorruptError(
            "another program has added to the index", where=directory, hint="call refresh() first"
        )
    return snapshot


def rewrite(
    storage: Storage,
    directory: str,
    snapshot: Snapshot,
    form: WriteOptions,
    change: Callable[[MetadataTable, int], MetadataTable],
) -> None:
    """Writes each file of a snapshot again, then commits.

    Parameters
    ----------
    storage : Storage
    directory : str
    snapshot : Snapshot
    form : WriteOptions
    change : callable
        What becomes of a file's table, given the file's version.

    Raises
    ------
    KeyNotAvailableError
        A key is not to be had.
    CommitConflictError
        Another writer was faster; nothing has changed.
    """
    files: list[tuple[Path, RecordedFile]] = []
    with temporary_folder("rewrite") as scratch:
        for file in snapshot.files:  # one of them is in memory at a time
            table = change(decode(file), file.schema.version)
            files += write_files(table, snapshot.table_identifier, Path(scratch), len(files), form)
        replace_all(storage, directory, snapshot, form.version, files)


def replace_all(
    storage: Storage, directory: str, snapshot: Snapshot, version: int, files: Sequence[tuple[Path, RecordedFile]]
) -> None:
    """Commits new files in the place of all that a snapshot has.

    Parameters
    ----------
    storage : Storage
    directory : str
    snapshot : Snapshot
    version : int
        The newest of the files.
    files : sequence of (Path, RecordedFile)
        Finished local files.

    Raises
    ------
    CommitConflictError
        Another writer was faster; nothing has changed.
    """
    record = _record(snapshot, version, tuple(entry for _, entry in files))
    publish(storage, directory, snapshot.live, files, record)


def _record(snapshot: Snapshot, version: int, files: tuple[RecordedFile, ...]) -> CommitRecord:
    """What was on record stays; another program's metadata stay another program's, with nothing known of them."""
    if snapshot.record is not None and snapshot.reading is not None:
        reading = snapshot.reading if snapshot.form.footer_key is None else snapshot.reading.hidden()
        return replace(snapshot.record, version=version, files=files, reading=reading)
    return CommitRecord(0, snapshot.table_identifier, version, files, None, {}, 0)
