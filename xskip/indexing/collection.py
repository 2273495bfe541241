"""The collection of statistics from a dataset's files, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from xskip.errors import CollectError
from xskip.indexing.source import Source
from xskip.metadata.data_files import table_identifier
from xskip.metadata.table import MetadataTable
from xskip.settings import CHUNK_BYTES, CHUNK_FILES, FOOTERS
from xskip.spark.collect.build_costs import BuildCosts
from xskip.spark.collect.collector import Collector
from xskip.spark.collect.listing import ListedFiles
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["chunk_ends", "chunks_of", "collect", "collector_of"]

Positions = npt.NDArray[np.int64]
#: The most bytes of a chunk for each core, if the setting of the bytes is 0.
_BYTES_PER_CORE = 512 << 20


def collector_of(
    engine: SparkEngine,
    source: Source,
    listed: ListedFiles,
    planned: tuple[PlannedIndex, ...],
    costs: BuildCosts | None = None,
) -> Collector:
    """Return a collector of indexes for the files of a dataset, with the session's settings, and without parts."""
    footers = engine.settings.of(source.df.sparkSession, FOOTERS)
    reading, claims = source.read_profile, source.claims
    costs = costs or BuildCosts()
    return Collector(engine.hook, source.dataset, listed, planned, reading, footers, claims, costs=costs)


def chunks_of(engine: SparkEngine, source: Source, listed: ListedFiles, chosen: Positions) -> Iterator[Positions]:
    """Yield the positions of files in chunks that one job and the memory of the driver can hold.

    ``chosen`` are positions in the listing.
    """
    session = source.df.sparkSession
    most_files, most_bytes = (engine.settings.of(session, each) for each in (CHUNK_FILES, CHUNK_BYTES))
    most_bytes = most_bytes or _BYTES_PER_CORE * max(4, session.sparkContext.defaultParallelism)
    start = 0
    for end in chunk_ends(listed.sizes[chosen], most_files, most_bytes):
        yield chosen[start:end]
        start = end


def chunk_ends(sizes: Positions, most_files: int, most_bytes: int) -> Iterator[int]:
    """Yield where chunks of files end. A chunk has at least one file, and otherwise keeps to both limits.

    >>> list(chunk_ends(np.array([5, 5, 5, 50, 1]), 2, 20))
    [2, 3, 4, 5]
    """
    volumes = np.cumsum(sizes)
    end = 0
    while end < len(sizes):
        limit = most_bytes + (volumes[end - 1] if end else 0)
        end = max(min(end + most_files, int(np.searchsorted(volumes, limit, side="right"))), end + 1)
        yield end


def collect(collector: Collector, chunk: Positions, unreadable: dict[str, str] | None = None) -> MetadataTable:
    """Collect the metadata of a chunk, which consists of positions in the listing.

    The metadata leave out each file that Spark cannot read, and ``unreadable`` gets its path and the reason. If
    ``unreadable`` is None, or if no single file is the cause, the function raises a CollectError instead.
    """
    while True:
        try:
            return collector.collect(chunk)
        except CollectError as error:
            bad = _culprit(collector, chunk, error)
            if bad is None:
                raise
            (path,) = collector.listed.paths_of(np.array([bad]))
            if unreadable is None:
                raise CollectError(error.what, where=path, found=error.found, hint=error.hint) from error
            unreadable[path] = error.found or error.what
            chunk = chunk[chunk != bad]


def _culprit(collector: Collector, chunk: Positions, error: CollectError) -> int | None:
    """Return the position of the file that caused an error, or None if no single file caused it."""
    named = pc.index(collector.listed.files.names, table_identifier(error.where or "")).as_py()
    if named in chunk:
        return int(named)
    # The error names no file of the chunk: bisect the chunk.
    while len(chunk) > 1:
        half = chunk[: len(chunk) // 2]
        try:
            collector.collect(half)
            chunk = chunk[len(half) :]
        except CollectError:
            chunk = half
    try:
        collector.collect(chunk)
        return None
    except CollectError:
        return int(chunk[0])
