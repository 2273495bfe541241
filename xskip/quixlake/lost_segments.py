"""Lost segments: those of committed batches that vanished before they had their names. Rules: [QLK-SK-10].

The argument ``topic`` of these functions is the folder of a topic's segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import MetadataCorruptError, StorageError
from xskip.hints import Call, Method, Words
from xskip.metadatastore.filesystem import Storage
from xskip.quixlake.manifests import Manifest, ManifestLog

if TYPE_CHECKING:
    from xskip.spark.quixlake.segments import PendingUpload

__all__ = ["Uploads", "identities", "lost_error", "lost_of_topic", "lost_segments", "paths_of"]

_THREADS = 16
_MAX_EXAMPLES = 10


class Uploads(Protocol):
    """The part of the hook that lists uploads."""

    def uploads(self, folder: str) -> Sequence[PendingUpload]:
        """List uploads, see :meth:`xskip.spark.quixlake.segments.SegmentCalls.uploads`."""


def lost_segments(storage: Storage, topic: str, manifest: Manifest, uploads: Uploads) -> pa.Table:
    """Return the segments of a manifest that have neither their hidden name nor an upload nor a final name."""
    lost = _without_upload(topic, manifest.segments, uploads)
    for _ in range(2):  # a listing can miss a segment that another writer renames at the same time
        lost = _absent(storage, topic, lost, manifest.token)
    return lost


def identities(segments: pa.Table) -> pa.ChunkedArray:
    """Return a text for each segment of a manifest that no other one has."""
    return pc.coalesce(segments["hidden"], segments["upload"])


def _without_upload(topic: str, segments: pa.Table, uploads: Uploads) -> pa.Table:
    """Return the segments whose uploads have ended, and those without any."""
    if segments["upload"].null_count == len(segments):
        return segments
    pending = pa.array([text.partition(" ")[0] for text, _ in uploads.uploads(topic)], pa.string())
    identity = pc.list_element(pc.split_pattern(segments["upload"], " ", max_splits=1), 0)
    return segments.filter(pc.invert(pc.is_in(identity, pending)))


def _absent(storage: Storage, topic: str, segments: pa.Table, token: str) -> pa.Table:
    folders = pc.unique(segments["folder"]).to_pylist()

    def names(folder: str) -> list[str]:
        return [f"{folder}/{entry.name}" for entry in storage.list(f"{topic}/{folder}")]

    with ThreadPoolExecutor(_THREADS) as pool:
        present = pa.array([name for found in pool.map(names, folders) for name in found], pa.string())
    name = segments["name"]
    # A final name ends with the token where other messages had the name [QLK-SK-8].
    candidates = (segments["hidden"], name, pc.binary_join_element_wise(name, token, "."))
    exists = pa.scalar(False)
    for each in candidates:
        exists = pc.or_(exists, pc.is_in(pc.binary_join_element_wise(segments["folder"], each, "/"), present))
    return segments.filter(pc.invert(exists))


def lost_of_topic(
    storage: Storage, topic: str, log: ManifestLog, uploads: Uploads
) -> Iterator[tuple[Manifest, pa.Table]]:
    """Yield the committed batches of a topic that writers cannot complete, with their lost segments."""
    for batch in log.recorded().unfinished:
        try:
            manifest = log.read(batch)
        except MetadataCorruptError:  # no batch was committed by this file
            continue
        lost = None if manifest is None else lost_segments(storage, topic, manifest, uploads)
        # If another writer has completed the batch since the listing, its segments can have moved on.
        if manifest is not None and lost is not None and len(lost) and not log.is_marked(batch):
            yield manifest, lost


def lost_error(topic: str, manifest: Manifest, lost: pa.Table) -> StorageError:
    """Return the error for a batch with lost segments."""
    names = paths_of(lost)
    rest = Words(" and {} more, which {} lists", len(names) - _MAX_EXAMPLES, Method("check", command="quix check"))
    effect = "complete the batch without them, and write their messages as a new batch"
    if manifest.is_compaction:
        effect = "undo the compaction, which loses no message"
    clean = Call("clean", "abandon_lost=True", "quix clean --abandon-lost")
    hint = Words("restore these files, or {} to {}", clean, effect)
    more = rest if len(names) > _MAX_EXAMPLES else ""
    found = Words("{} missing: {}{}", len(names), ", ".join(names[:_MAX_EXAMPLES]), more)
    return StorageError("a segment of a committed batch is missing", where=topic, found=found, hint=hint)


def paths_of(segments: pa.Table) -> Sequence[str]:
    """Return the paths of segments under their final names, relative to the folder of the topic."""
    paths: list[str] = pc.binary_join_element_wise(segments["folder"], segments["name"], "/").to_pylist()
    return paths
