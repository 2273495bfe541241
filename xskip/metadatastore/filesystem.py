"""Files of a metadata directory, on any file system: the seam between commits and the world.

A file appears whole or not at all, and is never changed afterwards; the tests put a faulty storage in this place.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xskip.errors import StorageError

__all__ = ["FileEntry", "LocalStorage", "PutInDoubtError", "Storage", "local_path", "modified_of"]

# why a file system makes no second name for a file: it has none, or not for this one
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL, errno.EXDEV}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file: its name in the directory, size in bytes, modification time in ms."""

    name: str
    size: int
    modified: int


class PutInDoubtError(StorageError):
    """The storage did not answer, or not as it should: a file may have been put or not."""


class Storage(Protocol):
    """A directory tree that can list, read, add and remove files.

    Whatever else than the errors named here goes wrong is a StorageError.
    """

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
        """Makes a file appear, whole, unless there is one; says whether it did.

        Raises
        ------
        PutInDoubtError
            It may have appeared, or may still.
        """

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
        with _family("listed", directory):
            try:
                with os.scandir(local_path(directory)) as entries:
                    return [found for entry in entries if (found := _file_entry(entry)) is not None]
            except (FileNotFoundError, NotADirectoryError):
                return []

    def directories(self, directory: str) -> Sequence[str]:
        """See :class:`Storage`."""
        root = local_path(directory)
        with _family("listed", directory):
            if not root.is_dir():
                return []
            with os.scandir(root) as entries:  # which tells directories without a look at each entry
                return sorted(entry.path for entry in entries if _is_directory(entry))

    def read(self, path: str) -> bytes:
        """See :class:`Storage`."""
        with _family("read", path):
            return local_path(path).read_bytes()

    def fetch(self, path: str) -> Path:
        """See :class:`Storage`."""
        found = local_path(path)
        with _family("read", path):
            if not found.exists():
                raise FileNotFoundError(path)
        return found

    def add(self, local: Path, path: str) -> None:
        """See :class:`Storage`."""
        target = local_path(path)
        hidden = target.with_name(f"._{target.name}.tmp")  # neither Spark nor Xskipper lists such names
        with _family("written", path), _vanishing(hidden):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(local, hidden)
            _sync(hidden)
            hidden.replace(target)
            _sync_directories(target.parent)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """See :class:`Storage`."""
        target = local_path(path)
        hidden = target.with_name(f"._{target.name}.{uuid.uuid4().hex}.tmp")
        with _family("written", path), _vanishing(hidden):
            target.parent.mkdir(parents=True, exist_ok=True)
            hidden.write_bytes(data)
            _sync(hidden)
            made = _name_exclusively(hidden, target)
            _sync_directories(target.parent)
        return made

    def remove(self, paths: Iterable[str]) -> None:
        """See :class:`Storage`."""
        for path in paths:
            with _family("removed", path):
                local_path(path).unlink(missing_ok=True)

    def remove_tree(self, directory: str) -> None:
        """See :class:`Storage`."""
        shutil.rmtree(local_path(directory), ignore_errors=True)


@contextmanager
def _family(done: str, path: str) -> Iterator[None]:
    """Turns what the operating system says into an error of the family; a file to be read that is not there stays."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        if done == "read" and isinstance(error, FileNotFoundError):
            raise
        if error.errno in _FULL:
            hint = "the disk is full: free some space and call again"
        elif error.errno in _REFUSED:
            hint = "check what this user may do there, and whether the place is read-only"
        else:
            hint = "check the storage and call again"
        found = error.strerror or type(error).__name__
        raise StorageError(f"metadata could not be {done}", where=path, found=found, hint=hint) from error


@contextmanager
def _vanishing(path: Path) -> Iterator[None]:
    """Takes a temporary file away at the end, if that can be done."""
    try:
        yield
    finally:
        with suppress(OSError):  # where this fails, what failed before says more
            path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Sync a file's bytes to the disk, before a name of it counts."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_directories(directory: Path) -> None:
    """Sync the directory of a name and the one above it, which may be new, where the file system can."""
    for each in (directory, directory.parent):
        with suppress(OSError):
            _sync(each)


def _name_exclusively(hidden: Path, target: Path) -> bool:
    """Gives a whole file its name unless that is taken; says whether it did."""
    try:
        os.link(hidden, target)  # the one call that both names the whole file and fails where the name is taken
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _create_exclusively(target, hidden.read_bytes())  # the name is taken first, the bytes follow at once
    return True


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
        file = target.open("xb", buffering=0)
    except FileExistsError:
        return False
    try:
        with file:
            if file.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
    except BaseException:
        target.unlink(missing_ok=True)  # ours: nobody else could take the name
        raise
    return True
