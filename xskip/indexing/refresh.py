"""Refreshes: collect the statistics of new files, and commit them on top of the latest snapshot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xskip.data_systems import system_of
from xskip.errors import DatasetError
from xskip.hints import Argument, Words
from xskip.indexing.builder import Build
from xskip.indexing.indexed_listing import IndexedListing, compare, listing_from_index
from xskip.indexing.reader import FrameReader, PathReader, Reader, TableReader
from xskip.indexing.source import check_reading, open_source, reading_differences, require_own_snapshot
from xskip.indexing.update import Update
from xskip.results.operations import RefreshResult
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Refresh", "trusted"]

_log = logging.getLogger("xskip")
_builds = logging.getLogger("xskip.builds")


@dataclass(frozen=True, slots=True)
class Refresh(Update):
    """A refresh of one index."""

    #: Directories to list in addition to those that may have changed by their names. None finds the changes in all
    #: directories.
    recheck: Sequence[str] | None = None

    def run(self) -> RefreshResult:
        """Refresh the index, and repeat the refresh if another writer committed first."""
        return self.repeat(self._attempt)

    def _attempt(self) -> RefreshResult:
        """Refresh the index once, and leave the collected rows for the next attempt if the commit fails."""
        if self.recheck is not None:
            return self._prepared(trusted(self.spark, self.engine, self.reader, self.recheck))()
        refreshing = None
        try:
            found = compare(self.spark, self.engine, self.reader)
            refreshing = self._prepared(found) if found else None
        except Exception as error:  # noqa: BLE001 - of whatever is in a shortcut's way Spark's listing is judge
            _log.debug("Spark lists the whole dataset: %r", error)
        return (refreshing or self._prepared(None))()

    def _prepared(self, found: IndexedListing | None) -> Callable[[], RefreshResult]:
        """Prepare a build over the changed directories, or over the whole dataset, which Spark lists."""
        source = open_source(self.spark, self.engine, found.read_changed if found else self.reader, self.reader.place)
        snapshot = found.snapshot if found else require_own_snapshot(source)
        if self.recheck is not None:
            check_reading(source, snapshot)
        reread = reading_differences(source, snapshot)
        if reread and found:
            return self._prepared(None)
        build = self.build_on(source, snapshot, Build, rereads=bool(reread))
        if reread:
            _builds.info("refresh of the index of %s reads all files again: %s", source.root, "; ".join(reread))
            build.reread = reread
            return partial(build.run, snapshot, outdated=np.ones(snapshot.rows, np.bool_))
        outdated = self.outdated(snapshot)
        if outdated is not None:
            return partial(build.run, snapshot, outdated=outdated)
        return partial(build.run, snapshot, found.in_question if found else None)


def trusted(spark: SparkSession, engine: SparkEngine, reader: Reader, recheck: Sequence[str]) -> IndexedListing:
    """Find an index that can replace the listing, see :func:`~xskip.indexing.indexed_listing.listing_from_index`.

    A table has no such index, because its catalog or its transaction determines its files.
    """
    match reader:
        case PathReader(format=kind):
            if (system := system_of(kind)) and not system.has_files:
                raise DatasetError(
                    f"an index cannot replace the listing of {system.dataset}", where=reader.path,
                    hint=Words("omit {}: xskip lists no directory of the dataset", Argument("trust_listing")),
                )  # fmt: skip
            return listing_from_index(spark, engine, reader, recheck)
        case TableReader():
            raise DatasetError("the catalog determines the files of a table", where=reader.table, hint="use for_path()")
        case FrameReader():
            raise DatasetError("an index cannot replace the listing of this dataset", where=reader.name)
