"""Indexes of bounds for topics without an index; they last as long as the process. Rules: [QLK-RD-3]."""

from __future__ import annotations

import hashlib
import logging
import threading
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import XskipError
from xskip.indexing.build_plan import plan
from xskip.indexing.builder import Build
from xskip.indexing.reader import FrameReader
from xskip.indexing.source import new_write_options, open_source
from xskip.metadatastore.temporary import lasting_folder
from xskip.metadatastore.versions import CURRENT_VERSION
from xskip.quixlake.claims import SegmentClaims, differing
from xskip.quixlake.selection import Trust
from xskip.quixlake.topic_dataset import TopicSource
from xskip.quixlake.topic_index import BOUNDS
from xskip.spark.query.spark_engine import SparkEngine, engine_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ProcessIndexes"]

_log = logging.getLogger("xskip")


class ProcessIndexes:
    """The indexes of bounds that serve the reads of one lake in this process."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self._lock = threading.Lock()

    def update(self, spark: SparkSession, source: TopicSource, segments: pa.Table, trust: Trust) -> str | None:
        """Enter the bounds of segments that count into the index of a topic, and return the index's directory.

        Return None if the topic has an index of its own, if the session does not skip, or if the index cannot be
        written. ``segments`` are all or some segments of the topic.
        """
        engine = engine_of(spark)
        if not engine.hook.is_installed(spark) or _has_index(spark, engine, source.root):
            return None
        with self._lock:
            self._folder = self._folder or str(lasting_folder("lake"))
            digest = hashlib.sha256(f"{source.root}\0{trust}".encode()).hexdigest()[:32]
            directory = f"{self._folder}/{digest}"
            try:
                # A read opens no segment to learn its bounds.
                claims = SegmentClaims(source.store.root, trust, may_read=False)
                _build(spark, source, segments, claims, directory)
            except (XskipError, OSError) as error:
                _log.warning("filters on topic %s skip no segments: %s", source.topic, error)
                return None
        return directory


def _has_index(spark: SparkSession, engine: SparkEngine, root: str) -> bool:
    try:
        candidates = engine.hook.locations.of_path(spark, engine.hook.locations.qualified(root))
        return any(engine.indexes.snapshot(each.directory) is not None for each in candidates)
    except XskipError:
        return True  # the query reports the damage


def _build(spark: SparkSession, source: TopicSource, segments: pa.Table, claims: SegmentClaims, directory: str) -> None:
    engine = engine_of(spark)
    claims.use(segments)
    reader = FrameReader(f"topic {source.topic}", lambda session: source.rows(session, segments, directory), claims)
    opened = open_source(spark, engine, reader)
    found = engine.indexes.snapshot(directory)  # queries have read its columns
    snapshot = None if found is None else found[0]
    form = new_write_options(spark, engine, CURRENT_VERSION)
    planned = plan(opened, BOUNDS)
    listed = outdated = None
    if snapshot is not None:
        below = pc.utf8_slice_codeunits(snapshot.load(()).files.names, len(source.store.root) + 1)
        listed = pc.is_in(below, segments["path"].combine_chunks()).to_numpy(zero_copy_only=False)
        # Descriptors can change while their segments stay as they are [QLK-RD-3].
        outdated = listed & differing(snapshot, planned, claims)
    Build(engine, opened, planned, False, "raise", form).run(snapshot, listed, outdated)
