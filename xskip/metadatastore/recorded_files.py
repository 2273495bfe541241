"""Metadata files and their entries in commit records: files are written with entries, and verified by them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from xskip.errors import KeyNotAvailableError, MetadataCorruptError
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.codec import MetadataFile, encode, open_file
from xskip.metadatastore.commit import RecordedFile, new_file_name
from xskip.metadatastore.digests import RESTORE_HINT, footer_digest
from xskip.metadatastore.filesystem import reading
from xskip.metadatastore.versions import WriteOptions

__all__ = ["open_recorded", "write_files"]

_WRITE_OPTIONS = WriteOptions()


def open_recorded(path: Path, entry: RecordedFile | None) -> MetadataFile:
    """Open a metadata file and verify that it matches its entry in the commit record [MDS-D-2] [MDS-D-3].

    The entry is None for a file that another program has written. MetadataCorruptError means that the file is damaged,
    or is not the file that was committed. StorageError means that the storage refuses to read the file.
    """
    if entry is None:
        return open_file(path)
    with reading(path):
        size = path.stat().st_size
        if size != entry.size:
            raise _not_committed(path, f"{size} bytes", f"{entry.size} bytes")
        if entry.footer and (digest := footer_digest(path)) != entry.footer:
            raise _not_committed(path, f"footer {digest}", f"footer {entry.footer}")
    file = open_file(path)
    if file.rows != entry.rows:
        raise _not_committed(path, f"{file.rows} rows", f"{entry.rows} rows")
    return replace(file, name=entry.name, digest=entry.footer)


def _not_committed(path: Path, found: str, expected: str) -> MetadataCorruptError:
    return MetadataCorruptError(
        "a metadata file differs from its commit record",
        where=str(path),
        found=found,
        expected=expected,
        hint=RESTORE_HINT,
    )


def write_files(
    table: MetadataTable, table_identifier: str, folder: Path, first: int, write_options: WriteOptions = _WRITE_OPTIONS
) -> list[tuple[Path, RecordedFile]]:
    """Write a metadata table as complete local files, and return them with their entries for a commit record.

    ``first`` is the part number in the name of the first file. KeyNotAvailableError means that a key is not available,
    or that an index is locked.
    """
    for column in table.indexes.values():
        if column.is_locked:
            raise KeyNotAvailableError(
                "cannot rewrite an index without its key",
                where=str(column.definition),
                found=f"no key {column.definition.key_label}",
            )
    written = []
    each = max(1, min(write_options.rows_per_file, write_options.bytes_per_file * len(table) // max(table.nbytes, 1)))
    # A table without rows becomes one file, which holds the definitions of the indexes.
    for part, start in enumerate(range(0, max(len(table), 1), each), first):
        rows = pa.array(range(start, min(start + each, len(table))), pa.int64())
        name = new_file_name(part)
        path = folder / name
        encode(table.take(rows), table_identifier, path, write_options)
        written.append((path, RecordedFile(name, len(rows), path.stat().st_size, footer_digest(path))))
    return written
