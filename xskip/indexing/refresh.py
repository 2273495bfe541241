"""Refreshes: collect the statistics of new files, and commit them on top of the latest snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from xskip.data_systems import system_of
from xskip.errors import DatasetError, IndexDeletedError
from xskip.hints import Argument, Words
from xskip.indexing.build_plan import plan, registered
from xskip.indexing.builder import Build
from xskip.indexing.indexed_listing import IndexedListing, listing_from_index
from xskip.indexing.reader import FrameReader, PathReader, Reader, TableReader
from xskip.indexing.source import (
    Source,
    check_reading,
    check_same_reading,
    reading_differences,
    require_own_snapshot,
)
from xskip.indexing.update import Update
from xskip.metadatastore.definition_copy import DefinitionCopy, find_copy
from xskip.results.operations import RefreshResult
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Refresh", "trusted"]


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
        return self.run_prepared(self._prepared)

    def _prepared(self, found: IndexedListing | None) -> Callable[[], RefreshResult]:
        """Prepare a build over the changed directories, or over the whole dataset, which Spark lists."""
        source = self.open(found)
        try:
            snapshot = found.snapshot if found else require_own_snapshot(source)
        except IndexDeletedError:
            copy = find_copy(source.storage, source.location)
            if copy is None:
                raise
            return partial(self._rebuilt, source, copy)
        if self.recheck is not None:
            check_reading(source, snapshot)
        reread = reading_differences(source, snapshot)
        if reread and found:
            return self._prepared(None)
        build = self.build_on(source, snapshot, Build, rereads=bool(reread))
        return self.prepare_run(build, snapshot, found, reread)

    def _rebuilt(self, source: Source, copy: DefinitionCopy) -> RefreshResult:
        """Build an index again that was deleted with its dataset."""
        check_same_reading(source, copy.read_profile)
        planned = plan(source, registered(source, copy.indexes))
        build = self.new_build(source, planned, copy.version, copy.part_bytes)
        return replace(build.run(None), rebuilt=True)


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
