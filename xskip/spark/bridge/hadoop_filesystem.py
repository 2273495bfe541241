"""The storage of metadata directories on any file system that Spark can reach."""

from __future__ import annotations

import base64
import json
import logging
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from xskip.errors import StorageError
from xskip.hints import Words
from xskip.metadatastore.filesystem import FileEntry, LocalStorage, PutInDoubtError, Storage
from xskip.metadatastore.temporary import lasting_folder
from xskip.settings import LOCATION
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.java_arrays import string_array
from xskip.spark.bridge.java_errors import in_short
from xskip.spark.bridge.packages import FILE_SYSTEM_PACKAGE

__all__ = ["HadoopStorage", "storage_for"]


# Prefixes of the Java exceptions after which the file was certainly not written.
_REFUSALS = ("AccessControl", "AccessDenied", "FileNotFound", "NoAuth", "ParentNotDirectory", "PathIO", "UnknownStore")
_DENIALS = ("AccessControl", "AccessDenied", "NoAuth")
_told: set[str] = set()
_lock = threading.Lock()
_log = logging.getLogger("xskip")
_CONDITIONAL = "fs.s3a.create.conditional.enabled"
_THREADS = 64


def storage_for(hook: Hook, directory: str) -> Storage:
    """Return the storage of a directory: local paths directly, all other paths through Hadoop's file systems."""
    if directory.startswith(("/", "file:")):
        return LocalStorage()
    return HadoopStorage(hook)


class HadoopStorage:
    """A storage that reaches files through the JVM, with Spark's credentials.

    The class implements :class:`xskip.metadatastore.filesystem.Storage`: a failure that a method does not name raises a
    :class:`~xskip.errors.StorageError`.
    """

    def __init__(self, hook: Hook) -> None:
        self._gateway = hook.gateway
        self._files: Any = hook.builds.files()
        self._lock = threading.Lock()

    def list(self, directory: str) -> Sequence[FileEntry]:
        """Return the files of a directory, none if the directory does not exist."""
        with _storage_errors("list the directory", directory):
            found = json.loads(self._files.list(directory))
        return [FileEntry(name, size, modified) for name, size, modified in found]

    def directories(self, directory: str) -> Sequence[str]:
        """Return the full paths of the directories in a directory, none if the directory does not exist."""
        with _storage_errors("list the directory", directory):
            return [str(path) for path in json.loads(self._files.directories(directory))]

    def read(self, path: str) -> bytes:
        """Return the bytes of a file, or raise FileNotFoundError."""
        with _storage_errors("read the file", path):
            data = self._files.read(path)
        if data is None:
            raise FileNotFoundError(path)
        return bytes(data)

    def read_listed(self, paths: Sequence[str], sizes: Sequence[int]) -> Sequence[bytes]:
        """Return the bytes of small files of a listing, with a single request for each file.

        If a file has been replaced by a longer one since the listing, the result has only the size in the listing.
        """
        if not paths:
            return []
        lengths = bytearray(np.array(sizes, "<i8").tobytes())
        with _storage_errors("read the file", paths[0]):
            packed = self._files.readListed(bytearray("\0".join(paths), "utf-8"), lengths, _THREADS)
        data = memoryview(base64.b64decode(packed))
        found = np.frombuffer(data, "<i8", len(paths)).tolist()
        if -1 in found:
            raise FileNotFoundError(paths[found.index(-1)])
        ends = np.cumsum([8 * len(paths), *found]).tolist()
        return [bytes(data[start:end]) for start, end in pairwise(ends)]

    def fetch(self, path: str) -> Path:
        """Return a local copy of a file, which lasts until the process ends; each process copies a file once."""
        local = _cache_directory() / path.rpartition("/")[2]  # two metadata files never have the same name
        with self._lock:
            if not local.exists():
                unfinished = local.with_name(f"{uuid.uuid4().hex}.part")  # another storage may fetch the file, too
                with _storage_errors("read the file", path):
                    found = self._files.fetch(path, str(unfinished))
                if not found:
                    raise FileNotFoundError(path)
                unfinished.replace(local)
        return local

    def add(self, local: Path, path: str) -> None:
        """Copy a finished local file to ``path``, where the file appears whole."""
        with _storage_errors("write the file", path):
            self._files.add(str(local), path)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file, whole, unless ``path`` exists; return whether the call created the file.

        A PutInDoubtError says that the file may exist now or later, although the store reported an error.
        """
        self._warn_of_concurrent_writers(path)
        with _storage_errors("write the file", path, in_doubt=PutInDoubtError):
            return bool(self._files.putIfAbsent(path, bytearray(data)))

    def _warn_of_concurrent_writers(self, path: str) -> None:
        """Warn once per store if the second of two concurrent writers can overwrite the first writer's file."""
        store = "/".join(path.split("/", 3)[:3])
        if store in _told:
            return
        with _storage_errors("write the file", path):
            apart = bool(self._files.keepsWritersApart(path))
        with _lock:
            is_first = store not in _told
            _told.add(store)
        if is_first and not apart:
            _log.warning(
                "%s does not detect concurrent writers of an index, so a writer can lose its commit; build and refresh "
                "in one process at a time, or use Spark 4.1 or newer, whose S3A supports conditional puts",
                store,
            )

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, and ignore files that do not exist."""
        listed = list(paths)
        with _storage_errors("remove the file", listed[0] if listed else ""):
            self._files.remove(string_array(self._gateway, listed))

    def remove_tree(self, directory: str) -> None:
        """Remove a directory with all its contents."""
        with _storage_errors("remove the directory", directory):
            self._files.removeTree(directory)


@contextmanager
def _storage_errors(action: str, path: str, in_doubt: type[StorageError] = StorageError) -> Iterator[None]:
    """Run the body and turn a Java exception into a StorageError with the infinitive ``action``.

    If the exception does not prove that the operation failed, the error is ``in_doubt``.
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        yield
    except Py4JError as error:
        name, says = type(error).__name__, ""
        if isinstance(error, Py4JJavaError):
            thrown = error.java_exception
            name, says = thrown.getClass().getSimpleName(), str(thrown.getMessage() or "")
        if name.startswith("PathIO") and "onditional" in says:
            hint = f"set {_CONDITIONAL}=true, because xskip detects concurrent writers by conditional puts"
        elif name.startswith(_DENIALS):
            hint = "check the credentials of the Spark session and their permissions for the store"
        elif name.startswith("UnsupportedFileSystem") or "FileSystem not found" in says:
            correct = "{}, or correct the path; {} sets the path of metadata"
            hint = Words(correct, FILE_SYSTEM_PACKAGE, LOCATION.key)
        else:
            hint = "check the store, and try again"
        kind = StorageError if name.startswith(_REFUSALS) else in_doubt
        found = ": ".join(filter(None, (name, says.partition("\n")[0][:200])))
        raise kind(f"cannot {action}", where=path, found=found, hint=hint) from in_short(error)


_cache: list[Path] = []


def _cache_directory() -> Path:
    """Return the local directory of fetched files, which lasts until the process ends; recreate a deleted directory."""
    with _lock:
        if not (_cache and _cache[0].is_dir()):
            _cache[:] = [lasting_folder("metadata")]
        return _cache[0]
