"""The completion of committed batches: segments get their names, and then descriptors. Rules: [QLK-SK].

Several writers can complete the same batch at the same time, and each can end at any moment. Each step therefore
changes nothing that is complete.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count, islice, pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import MetadataCorruptError, StorageError
from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.filesystem import Storage
from xskip.quixlake.descriptors import DOCUMENT, IndexFiles, describe
from xskip.quixlake.lost_segments import identities, lost_error, lost_segments, paths_of
from xskip.quixlake.manifests import Manifest, ManifestLog, Recorded
from xskip.quixlake.names import METADATA, RAW, key_folder, topic_folder
from xskip.quixlake.small_files import read_small_files

if TYPE_CHECKING:
    from xskip.spark.quixlake.segments import PendingUpload

__all__ = ["Completion", "SegmentMoves"]

_CHUNK = 2_000
#: The number of index files that are in memory at the same time.
_MAX_INDEX_FILES = 64
_THREADS = 8
_ATTEMPTS = 1_000
#: The columns of segments in the order of the columns of descriptors.
_CLAIMS = ("stream_key", "partition", "start", "end", "first", "last", "rows", "size")
_log = logging.getLogger("xskip")


class SegmentMoves(Protocol):
    """The part of the hook by which segments appear under their final names."""

    def rename(self, topic: str, moves: Sequence[tuple[str, str, str]], ending: str) -> list[bool]:
        """Give segments their final names, see :meth:`xskip.spark.quixlake.segments.SegmentCalls.rename`."""

    def complete(self, topic: str, uploads: Sequence[str]) -> None:
        """Complete uploads, see :meth:`xskip.spark.quixlake.segments.SegmentCalls.complete`."""

    def uploads(self, folder: str) -> Sequence[PendingUpload]:
        """List uploads, see :meth:`xskip.spark.quixlake.segments.SegmentCalls.uploads`."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The completion of the batches of a topic."""

    storage: Storage
    moves: SegmentMoves
    #: The base of the lake, in the hook's spelling.
    base: str
    topic: str

    @property
    def log(self) -> ManifestLog:
        """Return the manifests of the topic."""
        return ManifestLog(self.storage, f"{self.base}/{topic_folder(METADATA, self.topic)}")

    @property
    def segments(self) -> str:
        """Return the folder of the topic's segments."""
        return f"{self.base}/{topic_folder(RAW, self.topic)}"

    def complete_all(self, recorded: Recorded, *, abandon_lost: bool = False) -> Recorded:
        """Complete unfinished batches, see :meth:`complete`; return all batches but those with damaged manifests."""
        committed = dict(recorded.manifests)
        for batch in recorded.unfinished:
            try:
                manifest = self.log.read(batch)
            except MetadataCorruptError as error:
                _log.warning("%s", error)
                del committed[batch]
                continue
            if manifest is not None:
                self.complete(manifest, abandon_lost=abandon_lost)
        return Recorded(committed, recorded.marks)

    def complete(self, manifest: Manifest, *, abandon_lost: bool = False) -> None:
        """Complete a committed batch; if that fails, a later writer completes it.

        With ``abandon_lost``, a batch becomes complete without its lost segments, and a compaction becomes undone.
        Without it, a lost segment is an error [QLK-SK-10].
        """
        try:
            named = self._named(manifest)
        except StorageError as error:
            if self.log.is_marked(manifest.batch):  # another writer was faster, and segments have moved on since then
                return
            lost = lost_segments(self.storage, self.segments, manifest, self.moves)
            if not len(lost):
                raise
            if not abandon_lost:
                raise lost_error(self.segments, manifest, lost) from error
            self._abandon(manifest, lost)
            return
        # Descriptors follow the segments that they describe [QLK-SK-5], and the mark follows the descriptors.
        index_files = self._index_files(manifest, named)
        with ThreadPoolExecutor(_THREADS) as pool:
            while some := list(islice(index_files, _MAX_INDEX_FILES)):
                list(pool.map(self._describe, some))
        self.log.mark(manifest)

    def _abandon(self, manifest: Manifest, lost: pa.Table) -> None:
        """Undo a compaction with lost segments, or complete another batch without them."""
        paths = paths_of(lost)
        if manifest.is_compaction:
            _log.warning("%s is undone, because it lacks segments: %s", manifest.batch, ", ".join(paths))
            self.log.undo(manifest)
            return
        _log.warning("%s is complete without its lost segments: %s", manifest.batch, ", ".join(paths))
        is_lost = pc.is_in(identities(manifest.segments), identities(lost))
        self.complete(replace(manifest, segments=manifest.segments.filter(pc.invert(is_lost))))

    def _named(self, manifest: Manifest) -> pa.Table:
        """Make the segments appear under their final names, and return them with these names."""
        names: list[pa.Array] = []
        for start in range(0, len(manifest.segments), _CHUNK):
            part = manifest.segments.slice(start, _CHUNK)
            is_hidden = pc.is_null(part["upload"]).combine_chunks()
            if uploads := part["upload"].drop_null().to_pylist():
                self.moves.complete(self.segments, uploads)
            given = self._renamed(part.filter(is_hidden), manifest.token)
            names.append(pc.replace_with_mask(part["name"].combine_chunks(), is_hidden, given))
        position = manifest.segments.schema.get_field_index("name")
        return manifest.segments.set_column(position, "name", pa.chunked_array(names, pa.string()))

    def _renamed(self, segments: pa.Table, token: str) -> pa.Array:
        """Rename segments with hidden names, and return their final names."""
        moves = list(zip(*(segments[name].to_pylist() for name in ("folder", "hidden", "name")), strict=True))
        # A segment gets this further suffix where other messages have its name [QLK-SK-8].
        ending = f".{token}"
        renamed = self.moves.rename(self.segments, moves, ending) if moves else []
        given = [f"{name}{ending if other else ''}" for (*_, name), other in zip(moves, renamed, strict=True)]
        return pa.array(given, pa.string())

    def _index_files(self, manifest: Manifest, segments: pa.Table) -> Iterator[_IndexFile]:
        """Yield the index files of a batch, for each stream key and partition in the order of offsets."""
        run = ("stream_key", "partition")
        table = segments.sort_by([(name, "ascending") for name in (*run, "first")])
        changed = np.zeros(len(table), np.bool_)
        for name in run:
            codes = table[name].combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
            changed[1:] |= codes[1:] != codes[:-1]
        starts = [0, *np.flatnonzero(changed).tolist(), len(table)] if len(table) else []
        numbers = count()
        for start, end in pairwise(starts):
            for at in range(start, end, manifest.index_rows):
                part = table.slice(at, min(manifest.index_rows, end - at))
                spare = hashlib.sha256(f"{manifest.token} {next(numbers)}".encode()).digest()
                yield _IndexFile(self._descriptors(part, manifest.created), int.from_bytes(spare[:7], "big"))

    def _descriptors(self, segments: pa.Table, created: int) -> pa.Table:
        rows = len(segments)
        paths = pc.binary_join_element_wise(self.segments, segments["folder"], segments["name"], "/")
        at = pa.scalar(created, pa.timestamp("us", "UTC"))
        columns = (
            paths, pa.repeat(self.topic, rows), *(segments[name] for name in _CLAIMS), pa.repeat(at, rows),
            pa.nulls(rows, at.type),
        )  # fmt: skip
        return pa.table(list(columns), DOCUMENT)

    def _describe(self, index_file: _IndexFile) -> None:
        """Write an index file under the first free name, unless it exists."""
        descriptors = index_file.descriptors
        key, partition, first = (descriptors[name][0].as_py() for name in ("Key", "Partition", "StartOffset"))
        folder = f"{self.base}/{key_folder(METADATA, self.topic, key)}"
        data = describe(descriptors, exact=True)
        for number in (first, *range(index_file.spare, index_file.spare + _ATTEMPTS)):
            path = f"{folder}/index_raw_{partition}_{number}.parquet"
            if self.storage.put_if_absent(path, data) or self._holds(path, descriptors):
                return
        raise StorageError("cannot write the descriptors of segments", where=folder, found="no free name")

    def _holds(self, path: str, descriptors: pa.Table) -> bool:
        """Return whether an index file has just these descriptors, marked as deleted or not."""
        file = DataFiles(pa.array([path]), pa.nulls(1, pa.int64()), pa.nulls(1, pa.int64()))
        (present,) = read_small_files(self.storage, "", file, {}).values()
        both = [IndexFiles.of({path: table}).descriptors for table in (present, descriptors)]
        left, right = (table.select(["below", "created"]) for table in both)
        return bool(left.equals(right))


@dataclass(frozen=True, slots=True, eq=False)
class _IndexFile:
    """An index file to write."""

    descriptors: pa.Table
    #: The number in the name of the file if the first offset is taken. Every writer computes the same number.
    spare: int
