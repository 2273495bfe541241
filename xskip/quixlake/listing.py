"""The files below a directory of a lake, on local disks and on any file system that Spark can reach."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileType, LocalFileSystem

from xskip.errors import StorageError
from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.filesystem import local_path, modified_of
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.java_errors import first_line, spark_errors
from xskip.spark.collect.relation import Listing

__all__ = ["FilesBelow", "files_below", "list_below"]


class FilesBelow(NamedTuple):
    r"""The files below a directory, and the entries whose names are not valid UTF-8.

    Attributes
    ----------
    files : DataFiles
        The files.
    undecodable : tuple of str
        The paths of files and directories whose names are not valid UTF-8, each such byte in the form ``\xNN``. The
        files include neither them nor the files in such directories.
    """

    files: DataFiles
    undecodable: tuple[str, ...] = ()


def list_below(hook: Hook, uri: str) -> DataFiles:
    """Return the files of :func:`files_below`."""
    return files_below(hook, uri).files


def files_below(hook: Hook, uri: str) -> FilesBelow:
    """Return all files in a directory and in the directories below it.

    No directory is hidden, and no file except those whose own names begin with ``.`` or ``_``.

    Parameters
    ----------
    hook : Hook
        The hook of the session's JVM.
    uri : str
        The directory, with its scheme.

    Returns
    -------
    FilesBelow
        The files in no particular order; none if the directory does not exist.

    Raises
    ------
    StorageError
        If a directory cannot be read.
    """
    failures: tuple[type[Exception], ...] = (OSError, *spark_errors())
    try:
        if uri.startswith(("/", "file:")):
            return _local_files(str(local_path(uri)))
        return FilesBelow(Listing(hook.builds.files().below(uri)).files())
    except failures as error:
        hint = "check the path and the permissions of the Spark session, and try again"
        found = first_line(error)
        raise StorageError("cannot list the files of a directory", where=uri, found=found, hint=hint) from error


def _local_files(directory: str) -> FilesBelow:
    """Return the files below a directory of a local disk.

    Arrow reads a directory without Python's global lock, so that the threads use all cores.
    """
    paths: list[str] = []
    sizes: list[int] = []
    times: list[int] = []
    undecodable: list[str] = []
    disk, level = LocalFileSystem(), [directory]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while level:
            deeper: list[str] = []
            selectors = (FileSelector(each, allow_not_found=True) for each in level)
            for parent, entries in zip(level, pool.map(disk.get_file_info, selectors), strict=True):
                valid = [entry for entry in entries if _has_text(entry)]
                if len(valid) < len(entries):
                    undecodable += _undecodable(parent)
                visible = [entry for entry in valid if _is_visible_file(entry)]
                paths += [entry.path for entry in visible]
                sizes += [entry.size for entry in visible]
                times += [modified_of(entry.mtime_ns) for entry in visible]
                if len(visible) < len(valid):
                    deeper += [entry.path for entry in valid if entry.type is FileType.Directory]
            level = deeper
    files = DataFiles(pa.array(paths, pa.string()), pa.array(sizes, pa.int64()), pa.array(times, pa.int64()))
    return FilesBelow(files, tuple(undecodable))


def _has_text(entry: FileInfo) -> bool:
    """Return whether the path of an entry is valid UTF-8."""
    try:
        return bool(entry.path)
    except UnicodeDecodeError:
        return False


def _is_visible_file(entry: FileInfo) -> bool:
    return entry.type is FileType.File and not entry.base_name.startswith((".", "_"))


def _undecodable(directory: str) -> list[str]:
    """Return the paths of the entries of a directory whose names are not valid UTF-8."""
    names = [os.fsencode(name) for name in os.listdir(directory) if not _is_text(name)]
    return [f"{directory}/{name.decode('utf-8', 'backslashreplace')}" for name in sorted(names)]


def _is_text(name: str) -> bool:
    r"""Return whether a name has no byte that Python could not decode.

    >>> _is_text("caf\u00e9"), _is_text("\udcff")
    (True, False)
    """
    return not any("\udc80" <= letter <= "\udcff" for letter in name)
