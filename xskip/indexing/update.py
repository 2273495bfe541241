"""Updates of an index: builds on the latest snapshot, which start over if another writer commits first."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from xskip.indexing.build_plan import plan_existing
from xskip.indexing.builder import Build, OnError
from xskip.indexing.commit_attempts import Collected, retry_conflicts
from xskip.indexing.indexed_listing import IndexedListing, compare
from xskip.indexing.progress import ProgressOption
from xskip.indexing.reader import FrameReader, Reader
from xskip.indexing.source import (
    Source,
    check_keys,
    check_reading,
    existing_write_options,
    new_write_options,
    open_source,
)
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.operations import RefreshResult
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Update"]

_B = TypeVar("_B", bound=Build)
_T = TypeVar("_T")
_log = logging.getLogger("xskip")
_builds = logging.getLogger("xskip.builds")


@dataclass(frozen=True, slots=True)
class Update:
    """An update of one index; for the options, see :meth:`xskip.SkippingIndex.create`."""

    engine: SparkEngine
    spark: SparkSession
    reader: Reader
    progress: ProgressOption
    on_error: OnError
    _collected: Collected = field(default_factory=Collected, repr=False)

    def repeat(self, attempt: Callable[[], _T]) -> _T:
        """Run an attempt, and repeat it with the rows that it has collected if another writer committed first.

        An attempt opens the present snapshot and runs a build of :meth:`build_on`.
        """
        with self._collected:
            return retry_conflicts(attempt, partial(storage_for, self.engine.hook))

    def build_on(
        self, source: Source, snapshot: Snapshot, kind: type[_B], planned: tuple[PlannedIndex, ...] | None = None,
        *, rereads: bool = False,
    ) -> _B:  # fmt: skip
        """Return a build with the form of a snapshot, and with its indexes unless others are ``planned``.

        A build that ``rereads`` collects the statistics of all files anew, so that the dataset can be read in another
        way than when the index was built. Any other build raises an IndexDefinitionError for another way.
        """
        if not rereads:
            check_reading(source, snapshot)
        write_options = existing_write_options(self.spark, self.engine, snapshot)
        chosen = plan_existing(source, snapshot) if planned is None else planned
        return kind(self.engine, source, chosen, self.progress, self.on_error, write_options, self._collected)

    def new_build(
        self, source: Source, planned: tuple[PlannedIndex, ...], version: int, part_bytes: int | None = None
    ) -> Build:
        """Return the build of a new index, after a check of its keys; ``part_bytes`` as in a commit record."""
        write_options = replace(new_write_options(self.spark, self.engine, version), part_bytes=part_bytes)
        check_keys(write_options, planned)
        return Build(self.engine, source, planned, self.progress, self.on_error, write_options, self._collected)

    def run_prepared(self, prepare: Callable[[IndexedListing | None], Callable[[], _T]]) -> _T:
        """Run what is prepared over the directories that have changed, or over the whole dataset if that fails."""
        prepared = None
        try:
            found = compare(self.spark, self.engine, self.reader)
            prepared = prepare(found) if found else None
        except Exception as error:  # noqa: BLE001 - of whatever is in a shortcut's way Spark's listing is judge
            _log.debug("Spark lists the whole dataset: %r", error)
        return (prepared or prepare(None))()

    def open(self, found: IndexedListing | None) -> Source:
        """Open the whole dataset, or the directories that a listing from the index has found to have changed."""
        return open_source(self.spark, self.engine, found.read_changed if found else self.reader, self.reader.place)

    def prepare_run(
        self, build: Build, snapshot: Snapshot, found: IndexedListing | None, reread: tuple[str, ...] = ()
    ) -> Callable[[], RefreshResult]:
        """Return a function that runs a build on a snapshot, over what the source of the build covers.

        ``reread`` says why the build collects the statistics of all files anew; none if it does not.
        """
        if reread:
            _builds.info("refresh of the index of %s reads all files again: %s", build.source.root, "; ".join(reread))
            build.reread = reread
            return partial(build.run, snapshot, outdated=np.ones(snapshot.rows, np.bool_))
        outdated = self.outdated(snapshot)
        if outdated is not None:
            return partial(build.run, snapshot, outdated=outdated)
        return partial(build.run, snapshot, found.in_question if found else None)

    def outdated(self, snapshot: Snapshot) -> npt.NDArray[np.bool_] | None:
        """Return for each file of a snapshot whether the reader knows that it is outdated, or None if none is."""
        if isinstance(self.reader, FrameReader) and self.reader.outdated is not None:
            return self.reader.outdated(snapshot)
        return None
