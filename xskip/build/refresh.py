"""Refreshes: collect the statistics of new files, and commit them on top of the latest snapshot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from xskip.build.builder import Build, OnError, ProgressOption
from xskip.build.commit_attempts import Collected, retry_conflicts
from xskip.build.indexed_listing import IndexedListing, compare, trust
from xskip.build.planning import plan_existing
from xskip.build.reader import FrameReader, PathReader, Reader, TableReader
from xskip.build.source import check_reading, existing_write_options, open_source, require_own_snapshot
from xskip.errors import DatasetError
from xskip.results.operations import RefreshResult
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.engine import Engine, engine_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Refresh", "trusted"]

_log = logging.getLogger("xskip")


@dataclass(frozen=True, slots=True)
class Refresh:
    """A refresh of one index.

    Attributes
    ----------
    spark : SparkSession
        The user's session.
    reader : Reader
        The reader of the dataset.
    progress : bool, callable or None
        See :meth:`xskip.SkippingIndex.create`.
    on_error : {"raise", "skip"}
        See :meth:`xskip.SkippingIndex.create`.
    recheck : sequence of str or None
        Directories to list in addition to those that may have changed by their names. None finds the changes in all
        directories.
    """

    spark: SparkSession
    reader: Reader
    progress: ProgressOption
    on_error: OnError
    recheck: Sequence[str] | None
    _collected: Collected = field(default_factory=Collected, repr=False)

    def run(self) -> RefreshResult:
        """Refresh the index, and repeat the refresh if another writer committed first.

        Returns
        -------
        RefreshResult

        Raises
        ------
        CommitConflictError
            If another writer committed first in every attempt, or dropped the index.
        """
        with self._collected:
            return retry_conflicts(self._attempt, partial(storage_for, engine_of(self.spark).hook))

    def _attempt(self) -> RefreshResult:
        """Refresh the index once, and leave the collected rows for the next attempt if the commit fails."""
        if self.recheck is not None:
            return self._prepared(trusted(engine_of(self.spark), self.reader, self.recheck))()
        refreshing = None
        try:
            found = compare(engine_of(self.spark), self.reader)
            refreshing = self._prepared(found) if found else None
        except Exception as error:  # noqa: BLE001 - of whatever is in a shortcut's way Spark's listing is judge
            _log.debug("Spark lists the whole dataset: %r", error)
        return (refreshing or self._prepared(None))()

    def _prepared(self, found: IndexedListing | None) -> Callable[[], RefreshResult]:
        """Prepare a build over the changed directories, or over the whole dataset, which Spark lists."""
        engine = engine_of(self.spark)
        source = open_source(self.spark, engine, found.read_changed if found else self.reader)
        snapshot = found.snapshot if found else require_own_snapshot(source)
        check_reading(source, snapshot)
        form = existing_write_options(self.spark, engine, snapshot)
        planned = plan_existing(source, snapshot)
        build = Build(engine, source, planned, self.progress, self.on_error, form, self._collected)
        if isinstance(self.reader, FrameReader) and self.reader.outdated is not None:
            return partial(build.run, snapshot, outdated=self.reader.outdated(snapshot))
        return partial(build.run, snapshot, found.in_question if found else None)


def trusted(engine: Engine, reader: Reader, recheck: Sequence[str]) -> IndexedListing:
    """Find an index that can replace the listing, see :func:`xskip.build.indexed_listing.trust`.

    Parameters
    ----------
    engine : Engine
        The engine of the session's JVM.
    reader : Reader
        The reader of the dataset.
    recheck : sequence of str
        Further directories below the root to list.

    Returns
    -------
    IndexedListing

    Raises
    ------
    DatasetError
        If the dataset is a table, because the catalog determines its files, or a table of QuestDB.
    """
    match reader:
        case PathReader(format=kind) if kind.lower() == "questdb":
            raise DatasetError(
                "an index cannot replace the transaction of a QuestDB table", where=reader.path,
                hint="omit trust_listing: xskip lists no directory of the table",
            )  # fmt: skip
        case PathReader():
            return trust(engine, reader, recheck)
        case TableReader():
            raise DatasetError("the catalog determines the files of a table", where=reader.table, hint="use for_path()")
        case FrameReader():
            raise DatasetError("an index cannot replace the listing of this dataset", where=reader.name)
