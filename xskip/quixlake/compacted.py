"""The effect of compactions on readers: the segments that count. Rules: [QLK-CP-2]."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import MetadataCorruptError, StorageError
from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.filesystem import Storage
from xskip.quixlake.manifests import Manifest, ManifestLog
from xskip.quixlake.names import METADATA, RAW

__all__ = ["Compacted", "state_of", "steady"]

_ATTEMPTS = 5
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Compacted:
    """The compactions of a topic's folder at one moment.

    Attributes
    ----------
    excluded : frozenset of str
        The paths of segments that do not count, relative to the base: those that complete compactions have replaced,
        and those that others are about to add.
    """

    excluded: frozenset[str]

    @staticmethod
    def of(storage: Storage, uri: str, folders: Iterable[str]) -> Compacted:
        """Read the compactions of topics' folders.

        Parameters
        ----------
        storage : Storage
        uri : str
            The base of the lake.
        folders : iterable of str
            The names of the topics' folders.
        """
        excluded: set[str] = set()
        for folder in folders:
            log = ManifestLog(storage, f"{uri}/{METADATA}/{folder}")
            recorded = log.recorded()
            for name in recorded.compactions:
                try:
                    manifest = log.read(name)
                except MetadataCorruptError:  # no compaction was committed by this file
                    continue
                if manifest is not None:
                    is_complete = name in recorded.marks and log.is_completed_by(manifest)
                    excluded |= set(manifest.replaced) if is_complete else _added(manifest, folder)
        return Compacted(frozenset(excluded))

    @property
    def paths(self) -> pa.Array:
        """Return the excluded paths as an array of strings."""
        return pa.array(sorted(self.excluded), pa.string())

    def without_excluded(self, files: DataFiles) -> DataFiles:
        """Return the files that count."""
        if not self.excluded:
            return files
        kept = pc.invert(pc.is_in(files.names, self.paths))
        return files.take(pc.indices_nonzero(kept).cast(pa.int64()))


def _added(manifest: Manifest, folder: str) -> set[str]:
    """Return the paths that the segments of a manifest can have; a taken name gets the token as a suffix."""
    places = zip(manifest.segments["folder"].to_pylist(), manifest.segments["name"].to_pylist(), strict=True)
    paths = [f"{RAW}/{folder}/{place}/{name}" for place, name in places]
    return {*paths, *(f"{path}.{manifest.token}" for path in paths)} - set(manifest.replaced)


def state_of(storage: Storage, uri: str, folders: Iterable[str]) -> frozenset[str]:
    """Return the names of the compactions of topics' folders, and whether each is complete; read no manifest.

    The parameters are those of :meth:`Compacted.of`.
    """
    found: set[str] = set()
    for folder in folders:
        recorded = ManifestLog(storage, f"{uri}/{METADATA}/{folder}").recorded()
        found |= {f"{folder} {name} {name in recorded.marks}" for name in recorded.compactions}
    return frozenset(found)


def steady(state: Callable[[], frozenset[str]], look: Callable[[], T]) -> T:
    """Look at a topic between two equal states of its compactions.

    Parameters
    ----------
    state : callable
        A function that returns the state, see :func:`state_of`.
    look : callable
        A function that lists segments, reads descriptors and reads the compactions. A compaction marks the descriptors
        of replaced segments as deleted, so that all three must be of the same state.

    Returns
    -------
    T
        The result of ``look``.

    Raises
    ------
    StorageError
        If the compactions change again and again.
    """
    before = state()
    for _ in range(_ATTEMPTS):
        found = look()
        after = state()
        if after == before:
            return found
        before = after
    raise StorageError("compactions of the topic change during each listing", hint="read the topic again")
