"""The effect of compactions on readers: the segments that count. Rules: [QLK-CP-2]."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import MetadataCorruptError, StorageError
from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.filesystem import FileEntry, Storage
from xskip.quixlake.manifests import Manifest, ManifestLog, Recorded
from xskip.quixlake.names import METADATA, RAW

__all__ = ["Compacted", "Compactions", "added_paths"]

_ATTEMPTS = 5
_THREADS = 16
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Compacted:
    """The segments that do not count, by their paths relative to the base."""

    #: The segments that complete compactions have replaced.
    replaced: pa.ChunkedArray
    #: The segments that incomplete and undone compactions have added.
    pending: pa.ChunkedArray

    def __len__(self) -> int:
        return len(self.replaced) + len(self.pending)

    def excludes(self, paths: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Return for each path whether its segment does not count."""
        return pc.or_(_are_in(paths, self.replaced), _are_in(paths, self.pending))

    def without_excluded(self, files: DataFiles) -> DataFiles:
        """Return the files that count."""
        if not len(self):
            return files
        kept = pc.invert(self.excludes(files.names))
        return files.take(pc.indices_nonzero(kept).cast(pa.int64()))


def _are_in(paths: pa.Array | pa.ChunkedArray, others: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    # Arrow hashes the second side, which should be the smaller one.
    if len(paths) < len(others):
        others = others.filter(pc.is_in(others, paths))
    return pc.is_in(paths, others)


class _Remembered(Generic[T]):
    """The content of files that never change, by folder, name, size and modification time [QLK-CP-6]."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contents: dict[tuple[str, FileEntry], T] = {}

    def of(self, folder: str, files: Mapping[str, FileEntry], read: Callable[[str], T | None]) -> dict[str, T]:
        """Return the contents of files by the names of their batches, and read the unknown files in threads.

        ``files`` are all files of a topic's folder. ``read`` returns None for the file of a batch without valid
        content.
        """
        with self._lock:
            known = {name: self._contents.get((folder, entry)) for name, entry in files.items()}
        # The lock is free during the reads. Two threads can read the same file, which never changes.
        fresh = [name for name, content in known.items() if content is None]
        with ThreadPoolExecutor(_THREADS) as pool:
            known.update(zip(fresh, pool.map(read, fresh), strict=True))
        found = {name: content for name, content in known.items() if content is not None}
        with self._lock:
            others = {key: content for key, content in self._contents.items() if key[0] != folder}
            self._contents = others | {(folder, files[name]): content for name, content in found.items()}
        return found


class Compactions:
    """The compactions of a lake. Several threads can use an object of this class."""

    def __init__(self, storage: Storage, uri: str) -> None:
        self._storage, self._uri = storage, uri
        self._manifests: _Remembered[Manifest] = _Remembered()
        self._tokens: _Remembered[str] = _Remembered()

    def compacted(self, folders: Iterable[str]) -> Compacted:
        """Return the segments of topics' folders that do not count."""
        return self._excluded(self._recorded(folders))

    def steady(self, folders: Sequence[str], look: Callable[[], T]) -> tuple[Compacted, T]:
        """Return the segments that do not count and the result of ``look``, in one state of compactions [QLK-CP-2]."""
        before = self._recorded(folders)
        for _ in range(_ATTEMPTS):
            # A compaction marks the descriptors of replaced segments as deleted, so that ``look``, which lists segments
            # and reads descriptors, must see both in the state of the compactions.
            found = self._excluded(before), look()
            after = self._recorded(folders)
            if _state(after) == _state(before):
                return found
            before = after
        raise StorageError("compactions of the topic change during each listing", hint="read the topic again")

    def _recorded(self, folders: Iterable[str]) -> dict[str, Recorded]:
        return {folder: self._log(folder).recorded() for folder in folders}

    def _excluded(self, recorded: Mapping[str, Recorded]) -> Compacted:
        replaced: list[pa.Array] = []
        pending: list[pa.Array] = []
        for folder, listed in recorded.items():
            for manifest, token in self.read(folder, listed).values():
                # Another token is that of an undone compaction, whose segments never count [QLK-SK-10].
                if token == manifest.token:
                    replaced.append(manifest.replaced)
                else:
                    added = added_paths(manifest, folder)
                    # Before the mark, a replaced segment counts, even if an added one could get its name.
                    pending.append(added.filter(pc.invert(pc.is_in(added, manifest.replaced))))
        return Compacted(pa.chunked_array(replaced, pa.string()), pa.chunked_array(pending, pa.string()))

    def complete(self, folders: Iterable[str]) -> dict[str, Manifest]:
        """Return by their tokens the manifests of the complete compactions of topics' folders."""
        read = [self.read(folder, listed) for folder, listed in self._recorded(folders).items()]
        pairs = [pair for each in read for pair in each.values()]
        return {manifest.token: manifest for manifest, token in pairs if token == manifest.token}

    def ended(self, folder: str, numbers: Collection[int] = ()) -> dict[int, str]:
        """Return by their numbers the tokens in the marks of a topic's last compaction and of chosen other ones.

        The token is empty if it cannot be read. Old marks are not there any more.
        """
        log = self._log(folder)
        names = log.recorded().ended
        wanted = {number: names[number] for number in {max(names, default=0), *numbers} & names.keys()}
        return {number: log.token_of(name) or "" for number, name in wanted.items()}

    def read(self, folder: str, recorded: Recorded) -> dict[str, tuple[Manifest, str | None]]:
        """Return by name the manifests of a folder's compactions, and the tokens of their marks or None."""
        log = self._log(folder)

        def valid(batch: str) -> Manifest | None:
            try:
                return log.read(batch)
            except MetadataCorruptError:  # no compaction was committed by this file
                return None

        names = recorded.compactions
        manifests = self._manifests.of(folder, {name: recorded.manifests[name] for name in names}, valid)
        marks = {name: recorded.marks[name] for name in names if name in recorded.marks}
        tokens = self._tokens.of(folder, marks, log.token_of)
        return {name: (manifest, tokens.get(name)) for name, manifest in manifests.items()}

    def _log(self, folder: str) -> ManifestLog:
        return ManifestLog(self._storage, f"{self._uri}/{METADATA}/{folder}")


def _state(recorded: Mapping[str, Recorded]) -> dict[tuple[str, str], bool]:
    """Return by folder and name the compactions, and whether each has a mark."""
    return {(folder, name): name in listed.marks for folder, listed in recorded.items() for name in listed.compactions}


def added_paths(manifest: Manifest, folder: str) -> pa.Array:
    """Return the paths that the segments of a manifest can have, relative to the base."""
    places, names = (manifest.segments[name].combine_chunks() for name in ("folder", "name"))
    paths = pc.binary_join_element_wise(f"{RAW}/{folder}", places, names, "/")
    taken = pc.binary_join_element_wise(paths, manifest.token, ".")  # a taken name gets the token as a suffix
    return pa.concat_arrays([paths, taken])
