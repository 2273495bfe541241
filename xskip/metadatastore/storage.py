"""Files of a metadata directory, on any file system: the seam between commits and the world.

A file appears whole or not at all, and is never changed afterwards; the tests put a faulty storage in this place.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["FileEntry", "LocalStorage", "Storage", "local_path", "modified_of"]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file: its name in the directory, size in bytes, modification time in ms."""

    name: str
    size: int
    modified: int


class Storage(Protocol):
    """A directory tree that can list, read, add and remove files."""

    def list(self, directory: str) -> Sequence[FileEntry]:
        """The files of a directory, none where it does not exist."""

    def directories(self, directory: str) -> Sequence[str]:
        """The directories in a directory, as full paths; none where it does not exist."""

    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises
        ------
        FileNotFoundError
            There is none.
        """

    def fetch(self, path: str) -> Path:
        """A local file with the same bytes, which stays as long as the process.

        Raises
        ------
        FileNotFoundError
            There is none.
        """

    def add(self, local: Path, path: str) -> None:
        """Makes a finished local file appear at ``path``, whole."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Makes a file appear, whole, unless there is one; says whether it did."""

    def remove(self, paths: Iterable[str]) -> None:
        """Removes files; those that are gone already are passed over."""

    def remove_tree(self, directory: str) -> None:
        """Removes a directory with all in it."""


def local_path(path: str) -> Path:
    """The local path of a ``file:`` URI or of a plain path.

    >>> str(local_path("file:///tmp/a b")), str(local_path("file:/tmp/x")), str(local_path("/tmp/y"))
    ('/tmp/a b', '/tmp/x', '/tmp/y')
    """
    return Path(path.removeprefix("file://").removeprefix("file:"))


def modified_of(nanoseconds: int) -> int:
    """When a file was modified, in ms since the epoch, as Hadoop tells it."""
    return nanoseconds // 1_000_000


class LocalStorage:
    """Storage on a local or mounted disk; paths may carry ``file:``."""

    def list(self, directory: str) -> Sequence[FileEntry]:
        """See :class:`Storage`."""
        try:
            with os.scandir(local_path(directory)) as entries:
                return [found for entry in entries if (found := _file_entry(entry)) is not None]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def directories(self, directory: str) -> Sequence[str]:
        """See :class:`Storage`."""
        root = local_path(directory)
        if not root.is_dir():
            return []
        with os.scandir(root) as entries:  # which tells directories without a look at each entry
            return sorted(entry.path for entry in entries if _is_directory(entry))

    def read(self, path: str) -> bytes:
        """See :class:`Storage`."""
        return local_path(path).read_bytes()

    def fetch(self, path: str) -> Path:
        """See :class:`Storage`."""
        found = local_path(path)
        if not found.exists():
            raise FileNotFoundError(path)
        return found

    def add(self, local: Path, path: str) -> None:
        """See :class:`Storage`."""
        target = local_path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        hidden = target.with_name(f"._{target.name}.tmp")  # neither Spark nor Xskipper lists such names
        try:
            shutil.copyfile(local, hidden)
            hidden.replace(target)
        finally:
            hidden.unlink(missing_ok=True)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """See :class:`Storage`."""
        target = local_path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        hidden = target.with_name(f"._{target.name}.{uuid.uuid4().hex}.tmp")
        try:
            hidden.write_bytes(data)
            os.link(hidden, target)  # the one call that both names the whole file and fails where the name is taken
        except FileExistsError:
            return False
        except OSError:  # file systems without hard links: the name is taken first, the bytes follow at once
            return _create_exclusively(target, data)
        finally:
            hidden.unlink(missing_ok=True)
        return True

    def remove(self, paths: Iterable[str]) -> None:
        """See :class:`Storage`."""
        for path in paths:
            local_path(path).unlink(missing_ok=True)

    def remove_tree(self, directory: str) -> None:
        """See :class:`Storage`."""
        shutil.rmtree(local_path(directory), ignore_errors=True)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) or (entry.is_symlink() and os.path.isdir(entry.path))


def _file_entry(entry: os.DirEntry[str]) -> FileEntry | None:
    """A file; None for anything else, and for a file that has just gone."""
    try:
        stat = entry.stat()
        return FileEntry(entry.name, stat.st_size, modified_of(stat.st_mtime_ns)) if entry.is_file() else None
    except FileNotFoundError:
        return None


def _create_exclusively(target: Path, data: bytes) -> bool:
    try:
        with target.open("xb") as file:
            file.write(data)
    except FileExistsError:
        return False
    return True
