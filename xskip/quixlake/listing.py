"""The files below a directory of a local disk, all at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.fs import FileInfo, FileSelector, FileType, LocalFileSystem

from xskip.errors import StorageError, error_text
from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.filesystem import modified_of
from xskip.quixlake.parallel_map import parallel_map

__all__ = ["FilesBelow", "cannot_list", "local_files_below", "visible_files"]


class FilesBelow(NamedTuple):
    """The files below a directory, and the entries whose names are not valid UTF-8."""

    files: DataFiles
    #: The paths of files and directories whose names are not valid UTF-8, each such byte in the form ``\xNN``.
    #: ``files`` has neither them nor the files in such directories.
    undecodable: tuple[str, ...] = ()


def local_files_below(directory: str) -> FilesBelow:
    """Return all files below a directory in no particular order; none if the directory does not exist.

    No directory is hidden, and no file except those whose own names begin with ``.`` or ``_`` [QLK-PA-6].
    """
    try:
        return _local_files(directory)
    except OSError as error:
        raise cannot_list(directory, error_text(error)) from error


def cannot_list(uri: str, found: str) -> StorageError:
    """Return the error for a directory whose files cannot be listed."""
    hint = "check the path and the permissions of this user, and try again"
    return StorageError("cannot list the files of a directory", where=uri, found=found, hint=hint)


def _local_files(directory: str) -> FilesBelow:
    paths: list[str] = []
    sizes: list[int | None] = []
    times: list[int | None] = []
    undecodable: list[str] = []
    disk, level = LocalFileSystem(), [directory]

    def look(parent: str) -> Sequence[FileInfo]:
        entries: Sequence[FileInfo] = disk.get_file_info(FileSelector(parent, allow_not_found=True))
        return entries

    while level:
        deeper: list[str] = []
        # Arrow reads a directory without Python's global lock, so that the threads use all cores.
        for parent, found in zip(level, parallel_map(os.cpu_count() or 1, look, level), strict=True):
            entries, valid = found, _paths(found)
            if len(valid) < len(found):
                undecodable += _undecodable(parent)
                entries = [entry for entry in found if _paths([entry])]
            own = [entry.size for entry in entries]
            paths += valid
            sizes += own
            times += [entry.mtime_ns for entry in entries]
            if None in own:  # only files have a size
                deeper += [entry.path for entry in entries if entry.type is FileType.Directory]
        level = deeper
    return FilesBelow(visible_files(pa.array(paths, pa.string()), sizes, times), tuple(undecodable))


def _paths(entries: Sequence[FileInfo]) -> list[str]:
    """Return the paths of entries, without those that are not valid UTF-8."""
    try:
        return [entry.path for entry in entries]
    except UnicodeDecodeError:
        return [path for entry in entries for path in _path(entry)]


def _path(entry: FileInfo) -> Iterator[str]:
    with suppress(UnicodeDecodeError):
        yield entry.path


def visible_files(paths: pa.Array, sizes: Sequence[int | None], nanoseconds: Sequence[int | None]) -> DataFiles:
    """Return the entries that are files and not hidden; directories have no size."""
    known = pa.array(sizes, pa.int64())
    chosen = pc.and_(known.is_valid(), pc.invert(pc.match_substring_regex(paths, "/[._][^/]*$")))
    modified = modified_of(pa.array(nanoseconds, pa.int64()).filter(chosen).to_numpy())
    return DataFiles(paths.filter(chosen), known.filter(chosen), pa.array(modified, pa.int64()))


def _undecodable(directory: str) -> list[str]:
    """Return the paths of the entries of a directory whose names are not valid UTF-8."""
    names = [os.fsencode(name) for name in os.listdir(directory) if not _is_text(name)]
    return [f"{directory}/{name.decode('utf-8', 'backslashreplace')}" for name in sorted(names)]


def _is_text(name: str) -> bool:
    # Python decodes each byte that is not UTF-8 as a surrogate.
    return not any("\udc80" <= letter <= "\udcff" for letter in name)
