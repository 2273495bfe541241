"""What compactions change for readers: which segments count. Rules: [QLK-CP-2]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import MetadataCorruptError, StorageError
from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.filesystem import Storage
from xskip.quixlake.manifests import Manifest, ManifestLog
from xskip.quixlake.names import METADATA, RAW

__all__ = ["Compacted", "steady"]

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Compacted:
    """The compactions of a topic's folder at one moment.

    Attributes
    ----------
    state : frozenset of str
        The names of manifests and marks.
    excluded : frozenset of str
        The paths of segments that do not count, relative to the base: those that complete compactions have replaced,
        and those that others are about to add.
    """

    state: frozenset[str]
    excluded: frozenset[str]

    @staticmethod
    def of(storage: Storage, uri: str, folder: str) -> Compacted:
        """Read the compactions of a topic's folder.

        Parameters
        ----------
        storage : Storage
        uri : str
            The base of the lake.
        folder : str
            The name of the topic's folder.
        """
        log = ManifestLog(storage, f"{uri}/{METADATA}/{folder}")
        recorded = log.recorded()
        excluded: set[str] = set()
        for name in recorded.compactions:
            try:
                manifest = log.read(name)
            except MetadataCorruptError:  # no compaction was committed by this file
                continue
            if manifest is not None:
                is_complete = name in recorded.marks
                excluded |= set(manifest.replaced) if is_complete else _added(manifest, folder)
        state = {f"{name} {name in recorded.marks}" for name in recorded.compactions}
        return Compacted(frozenset(state), frozenset(excluded))

    def without_excluded(self, files: DataFiles) -> DataFiles:
        """Return the files that count."""
        if not self.excluded:
            return files
        kept = pc.invert(pc.is_in(files.names, pa.array(sorted(self.excluded), pa.string())))
        return files.take(pc.indices_nonzero(kept).cast(pa.int64()))


def _added(manifest: Manifest, folder: str) -> set[str]:
    """Return the paths that the segments of a manifest can have; a taken name gets the token as a suffix."""
    places = zip(manifest.segments["folder"].to_pylist(), manifest.segments["name"].to_pylist(), strict=True)
    paths = [f"{RAW}/{folder}/{place}/{name}" for place, name in places]
    return {*paths, *(f"{path}.{manifest.token}" for path in paths)}


def steady(read: Callable[[], Compacted], listed: Callable[[], DataFiles]) -> DataFiles:
    """List files between two equal states of compactions, and return the files that count.

    Parameters
    ----------
    read : callable
        A function that reads the compactions.
    listed : callable
        A function that lists files, with names relative to the base.

    Raises
    ------
    StorageError
        If the compactions change again and again.
    """
    before = read()
    for _ in range(_ATTEMPTS):
        files = listed()
        after = read()
        if after.state == before.state:
            return after.without_excluded(files)
        before = after
    raise StorageError("compactions of the topic change during each listing", hint="read the topic again")
