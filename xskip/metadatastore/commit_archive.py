"""The archive of commits: what the history of an index shows of commits whose records are removed. Rule: [MDS-C-33].

.. code-block:: text

    _commits/archive/00000000000000000002-00000000000000000051-<index>-<random>.json

Each file has the commits of several records. A query lists the records, but not the archive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, fields
from functools import partial

from xskip.errors import MetadataCorruptError
from xskip.metadatastore.commit_records import COMMITS, CommitRecord, RecordName, new_index_id, read_record
from xskip.metadatastore.digests import sealed, unsealed
from xskip.metadatastore.filesystem import Storage, put_once
from xskip.results.history import Commit

__all__ = ["archive_commits", "archived_commits", "read_commits", "remove_archived"]

#: The records that are read at once: a remote store takes longer to answer than to send.
_AT_ONCE = 16
_NAME = re.compile(r"\d{20}-\d{20}-([0-9a-f]{32})-[0-9a-f]{32}\.json")
_FIELDS = {field.name: field.type for field in fields(Commit)}


def read_commits(storage: Storage, directory: str, names: Iterable[RecordName]) -> list[Commit]:
    """Read the commits of records in the order of their numbers; records that are incomplete or gone are left out."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        records = threads.map(partial(_read, storage, directory), sorted(names))
        return [_commit(record) for record in records if record is not None]


def archive_commits(storage: Storage, directory: str, index: str, names: Iterable[RecordName]) -> None:
    """Write the commits of records of an index to a new file of its archive."""
    commits = read_commits(storage, directory, names)
    if commits:
        name = f"{commits[0].number:020d}-{commits[-1].number:020d}-{index}-{new_index_id()}.json"
        data = json.dumps({"commits": [asdict(each) for each in commits]}, indent=1).encode()
        put_once(storage, f"{_folder(directory)}/{name}", sealed(data))


def archived_commits(storage: Storage, directory: str, index: str) -> list[Commit]:
    """Return the archived commits of an index; files that are incomplete, damaged or gone are left out."""
    names = [name for name, of_index, _ in _listed(storage, directory) if of_index == index]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        found = threads.map(partial(_read_archived, storage, directory), names)
        return [commit for commits in found for commit in commits]


def remove_archived(storage: Storage, directory: str, index: str, horizon: float) -> None:
    """Remove the files of other indexes, and those that were written before a time in milliseconds since the epoch."""
    storage.remove(
        f"{_folder(directory)}/{name}"
        for name, of_index, written in _listed(storage, directory)
        if of_index != index or written < horizon
    )


def _folder(directory: str) -> str:
    return f"{directory}/{COMMITS}/archive"


def _listed(storage: Storage, directory: str) -> Iterator[tuple[str, str, int]]:
    """Yield the name of each file, its index, and when it was written."""
    for entry in storage.list(_folder(directory)):
        match = _NAME.fullmatch(entry.name)
        if match:
            yield entry.name, match[1], entry.modified


def _read(storage: Storage, directory: str, name: RecordName) -> CommitRecord | None:
    with suppress(MetadataCorruptError, FileNotFoundError):  # an incomplete record counts as none
        return read_record(storage, directory, name)[0]
    return None


def _read_archived(storage: Storage, directory: str, name: str) -> list[Commit]:
    with suppress(ValueError, KeyError, TypeError, FileNotFoundError, MetadataCorruptError):
        rows = json.loads(unsealed(storage.read(f"{_folder(directory)}/{name}")))["commits"]
        return [_parsed(row) for row in rows]
    return []


def _parsed(row: object) -> Commit:
    """Return the commit that an entry of a file is; TypeError means that it is none."""
    if not isinstance(row, dict):
        raise TypeError("expected an object")
    kinds = {"int": int, "str": str, "int | None": (int, type(None))}
    values = {name: row[name] for name in _FIELDS if name in row}
    for name, value in values.items():
        if not isinstance(value, kinds[str(_FIELDS[name])]):  # type: ignore[arg-type]
            raise TypeError(f"{name} has another type")
    return Commit(**values)


def _commit(record: CommitRecord) -> Commit:
    done, files = record.operation, record.metadata_files
    return Commit(
        record.number, record.created, done.name if done else "", sum(f.rows for f in files),
        done.added if done else None, done.removed if done else None, len(files), sum(f.size for f in files),
        record.version, record.writer.user, record.writer.application, record.writer.xskip, record.writer.spark,
    )  # fmt: skip
