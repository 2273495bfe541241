"""Files of a metadata directory on any file system that Spark reaches."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from xskip.metadatastore.storage import FileEntry, LocalStorage, Storage
from xskip.spark.jvm import Hook

__all__ = ["HadoopStorage", "storage_for"]


def storage_for(hook: Hook, directory: str) -> Storage:
    """The storage of a directory: a local disk directly, anything else through Hadoop's file systems."""
    if directory.startswith(("/", "file:")):
        return LocalStorage()
    return HadoopStorage(hook)


class HadoopStorage:
    """Storage through the JVM, with the credentials that Spark has; files are copied to a local directory once."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._files: Any = hook.files()
        self._lock = threading.Lock()

    def list(self, directory: str) -> Sequence[FileEntry]:
        """See :class:`xskip.metadatastore.storage.Storage`."""
        return [FileEntry(name, size, modified) for name, size, modified in json.loads(self._files.list(directory))]

    def directories(self, directory: str) -> Sequence[str]:
        """See :class:`xskip.metadatastore.storage.Storage`."""
        return [str(path) for path in json.loads(self._files.directories(directory))]

    def read(self, path: str) -> bytes:
        """See :class:`xskip.metadatastore.storage.Storage`."""
        data = self._files.read(path)
        if data is None:
            raise FileNotFoundError(path)
        return bytes(data)

    def fetch(self, path: str) -> Path:
        """See :class:`xskip.metadatastore.storage.Storage`."""
        local = _cache_directory() / path.rpartition("/")[2]  # names are never used twice
        with self._lock:
            if not local.exists():
                unfinished = local.with_suffix(".part")
                if not self._files.fetch(path, str(unfinished)):
                    raise FileNotFoundError(path)
                unfinished.rename(local)
        return local

    def add(self, local: Path, path: str) -> None:
        """See :class:`xskip.metadatastore.storage.Storage`."""
        self._files.add(str(local), path)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """See :class:`xskip.metadatastore.storage.Storage`."""
        return bool(self._files.putIfAbsent(path, bytearray(data)))

    def remove(self, paths: Iterable[str]) -> None:
        """See :class:`xskip.metadatastore.storage.Storage`."""
        self._files.remove(self._hook.strings(list(paths)))

    def remove_tree(self, directory: str) -> None:
        """See :class:`xskip.metadatastore.storage.Storage`."""
        self._files.removeTree(directory)


_cache: list[tempfile.TemporaryDirectory[str]] = []


def _cache_directory() -> Path:
    """A directory that goes with the process."""
    if not _cache:
        _cache.append(tempfile.TemporaryDirectory(prefix="xskip-metadata-"))
    return Path(_cache[0].name)
