"""The history of an index, from its commit records."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from xskip.errors import MetadataCorruptError
from xskip.metadatastore.commit_records import CommitRecord, RecordName, find_latest, list_records, read_record
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.missing_index import no_index
from xskip.results.history import Commit, History

__all__ = ["history"]

#: The records that are read at once: a remote store takes longer to answer than to send.
_AT_ONCE = 16


def history(storage: Storage, location: IndexLocation) -> History:
    """Return the commits of an index whose records exist; raise MetadataNotFoundError if there are none."""
    directory = location.directory
    latest = find_latest(storage, directory)
    if latest is None:
        raise no_index(storage, location)
    names = [name for name in list_records(storage, directory) if name == latest.first or name.identity == latest.index]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        records = threads.map(partial(_read, storage, directory), sorted(names))
    return History(directory, tuple(_commit(record) for record in records if record is not None))


def _read(storage: Storage, directory: str, name: RecordName) -> CommitRecord | None:
    with suppress(MetadataCorruptError, FileNotFoundError):  # an incomplete record counts as none
        return read_record(storage, directory, name)[0]
    return None


def _commit(record: CommitRecord) -> Commit:
    done, files = record.operation, record.metadata_files
    return Commit(
        record.number, record.created, done.name if done else "", sum(f.rows for f in files),
        done.added if done else None, done.removed if done else None, len(files), sum(f.size for f in files),
        record.version, record.writer.user, record.writer.application, record.writer.xskip, record.writer.spark,
    )  # fmt: skip
