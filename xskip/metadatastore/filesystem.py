"""Access to the files of a metadata directory, on any file system.

A file appears complete or not at all, and never changes afterwards. Tests replace this layer with a faulty storage.
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
from xskip.hints import Phrase, Words
from xskip.settings import LOCATION

__all__ = [
    "FileEntry",
    "LocalStorage",
    "PutInDoubtError",
    "Storage",
    "local_path",
    "modified_of",
    "put_once",
    "reading",
]

# errors of a file system that cannot create hard links, or no hard link to this file
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL, errno.EXDEV}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_NO_DIRECTORY = {errno.ENOTDIR, errno.EEXIST}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_PUTS = 3


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file in a directory listing, by its name in the directory."""

    name: str
    #: In bytes.
    size: int
    #: In milliseconds since the epoch.
    modified: int


class PutInDoubtError(StorageError):
    """An error for a put with an unknown outcome: the file may or may not exist."""


class Storage(Protocol):
    """A directory tree in which xskip lists, reads, adds and removes files.

    Any failure except the documented errors raises a StorageError.
    """

    def list(self, directory: str) -> Sequence[FileEntry]:
        """List the files of a directory, none if the directory does not exist."""

    def directories(self, directory: str) -> Sequence[str]:
        """List the full paths of the subdirectories of a directory, none if the directory does not exist."""

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; raise FileNotFoundError if the file does not exist."""

    def fetch(self, path: str) -> Path:
        """Return a local file that holds the bytes of a file and stays until the process ends.

        A file that does not exist raises FileNotFoundError.
        """

    def add(self, local: Path, path: str) -> None:
        """Copy a complete local file to ``path``, where it appears complete or not at all."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Write a complete file unless the path exists, and return whether the file was written.

        PutInDoubtError means that the file may exist now or later.
        """

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files; ignore files that do not exist."""

    def remove_tree(self, directory: str) -> None:
        """Remove a directory with its whole content."""


def put_once(storage: Storage, path: str, data: bytes) -> bool:
    """Write a complete file unless the path has other content, and return whether the path holds these bytes.

    PutInDoubtError means that the file may exist now or later. Any other StorageError means that the file was not
    written.
    """
    refused: StorageError | None = None
    for _ in range(_PUTS):
        try:
            if storage.put_if_absent(path, data):
                return True
        except PutInDoubtError as error:
            refused = error
            continue
        except StorageError as error:
            refused = refused or error  # the storage can still execute an earlier put that it did not answer
        break
    try:
        # An earlier put can have succeeded although its answer was lost, so the content of the path decides.
        return storage.read(path) == data
    except FileNotFoundError:
        if refused is not None:
            raise refused from None
        return False  # another writer took the name, and its record was removed since
    except StorageError as error:
        raise PutInDoubtError(error.what, where=path, found=error.found, hint=error.hint) from error


def local_path(path: str) -> Path:
    """Return the local path of a ``file:`` URI or of a plain path."""
    return Path(_without_scheme(path))


def _without_scheme(path: str) -> str:
    return path.removeprefix("file://").removeprefix("file:")


def modified_of(nanoseconds: int) -> int:
    """Convert a modification time from nanoseconds to milliseconds since the epoch, the unit of Hadoop."""
    return nanoseconds // 1_000_000


class LocalStorage:
    """A storage on a local or mounted disk; paths can have the scheme ``file:``."""

    def list(self, directory: str) -> Sequence[FileEntry]:
        """List the files of a directory."""
        with _storage_errors("list the directory", directory):
            try:
                with os.scandir(_without_scheme(directory)) as entries:
                    return [found for entry in entries if (found := _file_entry(entry)) is not None]
            except (FileNotFoundError, NotADirectoryError):
                return []

    def directories(self, directory: str) -> Sequence[str]:
        """List the subdirectories of a directory, in the order of their names."""
        root = local_path(directory)
        with _storage_errors("list the directory", directory):
            if not root.is_dir():
                return []
            with os.scandir(root) as entries:  # scandir identifies directories without a system call for each entry
                return sorted(entry.path for entry in entries if _is_directory(entry))

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        with _storage_errors("read the file", path):
            return local_path(path).read_bytes()

    def fetch(self, path: str) -> Path:
        """Return the local path of a file."""
        found = local_path(path)
        with _storage_errors("read the file", path):
            if not found.exists():
                raise FileNotFoundError(path)
        return found

    def add(self, local: Path, path: str) -> None:
        """Copy a local file."""
        target = local_path(path)
        hidden = target.with_name(f"._{target.name}.tmp")  # neither Spark nor Xskipper lists such names
        with _storage_errors("write the file", path), _temporary_file(hidden):
            changed = _make_directory(target.parent)
            shutil.copyfile(local, hidden)
            _sync(hidden)
            hidden.replace(target)
            _sync_directories(target.parent, *changed)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Write a file unless the path exists."""
        target = local_path(path)
        hidden = target.with_name(f"._{target.name}.{uuid.uuid4().hex}.tmp")
        with _storage_errors("write the file", path), _temporary_file(hidden):
            changed = _make_directory(target.parent)
            hidden.write_bytes(data)
            _sync(hidden)
            made = _name_exclusively(hidden, target)
            _sync_directories(target.parent, *changed)
        return made

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, and Hadoop's checksums of them."""
        for path in paths:
            found = local_path(path)
            with suppress(OSError):
                # Hadoop could not read a later file of the same name beside these checksums.
                found.with_name(f".{found.name}.crc").unlink(missing_ok=True)
            with _storage_errors("remove the file", path):
                found.unlink(missing_ok=True)

    def remove_tree(self, directory: str) -> None:
        """Remove a directory, and ignore what cannot be removed."""
        shutil.rmtree(local_path(directory), ignore_errors=True)


@contextmanager
def _storage_errors(action: str, path: str) -> Iterator[None]:
    """Run the body and convert OSError to StorageError; a missing file in a read still raises FileNotFoundError."""
    try:
        yield
    except OSError as error:
        if action == "read the file" and isinstance(error, FileNotFoundError):
            raise
        if error.errno in _FULL:
            hint = "free some space on the disk, and try again"
        elif error.errno in _REFUSED:
            hint = "check the permissions of this user, and whether the file system is read-only"
        elif error.errno in _NO_DIRECTORY:
            hint = "check the path, of which a part is no directory"
        else:
            hint = "check the storage, and try again"
        if action == "write the file" and error.errno in _REFUSED | _NO_DIRECTORY:
            location = Phrase(f"set {LOCATION.key}", "use --location")
            hint = Words("{}; to write indexes elsewhere, {}", hint, location)
        found = error.strerror or type(error).__name__
        raise StorageError(f"cannot {action}", where=path, found=found, hint=hint) from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Run the body, which reads a local file, and convert OSError to StorageError, except for a missing file."""
    with _storage_errors("read the file", str(path)):
        yield


@contextmanager
def _temporary_file(path: Path) -> Iterator[None]:
    """Run the body, then remove a temporary file if possible."""
    try:
        yield
    finally:
        with suppress(OSError):  # an error in the body is more important than an error of the removal
            path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Sync the bytes of a file or directory to the disk, before the name of a file counts."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_directory(directory: Path) -> list[Path]:
    """Create a directory and its parents; return the directories that hold the new ones, the innermost first."""
    changed = []
    for each in (directory, *directory.parents):
        if each.is_dir():
            break
        changed.append(each.parent)
    directory.mkdir(parents=True, exist_ok=True)
    return changed


def _sync_directories(*directories: Path) -> None:
    for each in directories:
        # Some file systems do not support the sync of a directory.
        with suppress(OSError):
            _sync(each)


def _name_exclusively(hidden: Path, target: Path) -> bool:
    """Give a complete file its final name unless the name is taken; return whether the file has this name now."""
    try:
        os.link(hidden, target)  # the only call that both names the complete file and fails if the name is taken
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _create_exclusively(target, hidden.read_bytes())  # readers can see the name before all bytes are there
    return True


def _is_directory(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) or (entry.is_symlink() and os.path.isdir(entry.path))


def _file_entry(entry: os.DirEntry[str]) -> FileEntry | None:
    """Return the entry of a file; None for anything else, and for a file that was just removed."""
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
        target.unlink(missing_ok=True)  # this process created the file, so no other writer can have the name
        raise
    return True
