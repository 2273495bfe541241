"""The index of a topic: bounds that descriptors and names claim, and statistics of the messages. Rules: [QLK-IX]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xskip.api.arguments import check_indexes
from xskip.api.index import SkippingIndex
from xskip.indexes import Index, MinMax
from xskip.indexing.builder import OnError
from xskip.indexing.progress import ProgressOption
from xskip.indexing.reader import FrameReader
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import CURRENT_VERSION
from xskip.quixlake.claims import IndexTrust, SegmentClaims, differing
from xskip.quixlake.payload import Payload
from xskip.quixlake.topic_dataset import TopicSource
from xskip.results.operations import EnsureResult, RefreshResult
from xskip.spark.collect.planned_index import PlannedIndex

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["BOUNDS", "topic_index"]

#: The indexes that claims serve.
BOUNDS: tuple[Index, ...] = (MinMax("timestamp"), MinMax("time"), MinMax("offset"), MinMax("partition"))
_BYTES = Payload()
_TIMESTAMPS = (MinMax.name, ("timestamp",))


@dataclass(frozen=True, slots=True)
class TopicIndex(SkippingIndex):
    """The index of a topic in a lake, which need not exist yet.

    All operations are those of :class:`xskip.SkippingIndex`; :meth:`create` and :meth:`ensure` add the bounds that
    descriptors claim.

    Attributes
    ----------
    payload : Payload
        The decoding of payloads, to which the columns of indexes refer.
    """

    payload: Payload = _BYTES

    def create(
        self,
        indexes: Sequence[Index] | None = None,
        *,
        progress: ProgressOption = None,
        on_error: OnError = "raise",
        version: int = CURRENT_VERSION,
        parts: str | int | None = "auto",
    ) -> RefreshResult:
        """Build the index of bounds, and further indexes, and commit them.

        Without further indexes, the build opens only segments whose offsets or partition are unknown.

        Parameters
        ----------
        indexes : sequence of Index, optional
            Indexes in addition to the bounds of ``timestamp``, ``time``, ``offset`` and ``partition``,
            such as ``[BloomFilter("key")]``, or ``[MinMax("value.temp")]`` if the payload is decoded. None adds none.
        progress : bool or callable, optional
            See :meth:`xskip.SkippingIndex.create`.
        on_error : {"raise", "skip"}
            See :meth:`xskip.SkippingIndex.create`.
        version : int
            See :meth:`xskip.SkippingIndex.create`.
        parts : str, int, optional
            See :meth:`xskip.SkippingIndex.create`.

        Returns
        -------
        RefreshResult

        Raises
        ------
        IndexExistsError
            If the topic already has an index.
        CollectError
            If a segment that the build opens cannot be read.
        PredicateError
            If an index on the payload has a decoding that cannot be indexed.
        """
        return SkippingIndex.create(
            self, self._with_bounds(indexes), progress=progress, on_error=on_error, version=version, parts=parts
        )

    def ensure(
        self,
        indexes: Sequence[Index] | None = None,
        *,
        progress: ProgressOption = None,
        on_error: OnError = "raise",
        dry_run: bool = False,
        parts: str | int | None = "auto",
    ) -> EnsureResult:
        """Create, change or refresh the index until it has the bounds, and exactly these further indexes.

        Parameters
        ----------
        indexes : sequence of Index, optional
            Indexes in addition to the bounds, also on the decoded payload as in :meth:`create`; None adds none.
        progress : bool or callable, optional
            See :meth:`xskip.SkippingIndex.create`.
        on_error : {"raise", "skip"}
            See :meth:`xskip.SkippingIndex.create`.
        dry_run : bool
            Whether to return what the call would do without doing it.
        parts : str, int, optional
            See :meth:`xskip.SkippingIndex.ensure`.

        Returns
        -------
        EnsureResult

        Raises
        ------
        CollectError
            If a segment that the build opens cannot be read.
        PredicateError
            If an index on the payload has a decoding that cannot be indexed.
        """
        wanted = self._with_bounds(indexes)
        return SkippingIndex.ensure(self, wanted, progress=progress, on_error=on_error, dry_run=dry_run, parts=parts)

    def add(
        self, indexes: Sequence[Index], *, progress: ProgressOption = None, on_error: OnError = "raise"
    ) -> RefreshResult:
        """Add indexes to the index of the topic in one commit, see :meth:`xskip.SkippingIndex.add`.

        Parameters
        ----------
        indexes : sequence of Index
            The indexes, also on the decoded payload as in :meth:`create`.
        progress : bool or callable, optional
            See :meth:`xskip.SkippingIndex.create`.
        on_error : {"raise", "skip"}
            See :meth:`xskip.SkippingIndex.create`.

        Returns
        -------
        RefreshResult

        Raises
        ------
        PredicateError
            If an index on the payload has a decoding that cannot be indexed.
        """
        wanted = [self.payload.on_bytes(index) for index in check_indexes(indexes)]
        return SkippingIndex.add(self, wanted, progress=progress, on_error=on_error)

    def _with_bounds(self, indexes: Sequence[Index] | None) -> tuple[Index, ...]:
        """Return the indexes of bounds, and others as indexes of the messages."""
        others = check_indexes(indexes) if indexes else ()
        return (*BOUNDS, *(self.payload.on_bytes(index) for index in others if index not in BOUNDS))


def topic_index(spark: SparkSession, source: TopicSource, trust: IndexTrust, payload: Payload = _BYTES) -> TopicIndex:
    """Return the index of a topic.

    ``trust`` says which timestamps the index has [QLK-TR-2]. With ``data``, a build reads those that do not count.
    """
    claims = SegmentClaims(source.store.root, trust)

    def read(session: SparkSession) -> DataFrame:
        segments = source.segments()
        claims.use(segments)
        return source.rows(session, segments)

    def outdated(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
        found = _outgrown(snapshot, claims)
        return found | _without_timestamps(snapshot) if trust == "data" else found

    name = f"topic {source.topic}"
    return TopicIndex(name, spark, FrameReader(name, read, claims, outdated), payload)


def _outgrown(snapshot: Snapshot, claims: SegmentClaims) -> npt.NDArray[np.bool_]:
    """Return for each segment of a snapshot whether descriptors claim wider bounds now [QLK-IX-3]."""
    planned = [
        PlannedIndex(index, index.columns, definition, storage)
        for definition, storage in snapshot.indexes
        for index in BOUNDS
        if definition.key == (index.name, index.columns)
    ]
    return differing(snapshot, planned, claims, wider=True)


def _without_timestamps(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Return for each segment of a snapshot whether its timestamps are unknown [QLK-IX-4]."""
    column = snapshot.load([_TIMESTAMPS]).indexes.get(_TIMESTAMPS)
    if column is None:
        return np.zeros(snapshot.rows, np.bool_)
    return np.asarray(column.values.is_null().to_numpy(zero_copy_only=False))
