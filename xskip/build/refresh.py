"""A refresh: what is new is collected, and committed on whatever is there by then."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from xskip.build.builder import Build, OnError, ProgressOption
from xskip.build.indexed_listing import IndexedListing, compare, trust
from xskip.build.reader import Reader, TableReader
from xskip.build.retry import Collected, again
from xskip.build.source import check_reading, existing_write_options, open_source, plan_existing, require_own_snapshot
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
    """A refresh about to run.

    Attributes
    ----------
    spark : SparkSession
    reader : Reader
    progress : bool, callable or None
    on_error : {"raise", "skip"}
    recheck : sequence of str or None
        Directories to list beside those that may have changed by their names; None lists whatever has changed.
    """

    spark: SparkSession
    reader: Reader
    progress: ProgressOption
    on_error: OnError
    recheck: Sequence[str] | None
    _collected: Collected = field(default_factory=Collected, repr=False)

    def run(self) -> RefreshResult:
        """Refresh, anew where another writer was faster.

        Raises
        ------
        CommitConflictError
            Another writer was faster each time, or dropped the index.
        """
        with self._collected:
            return again(self._attempt, partial(storage_for, engine_of(self.spark).hook))

    def _attempt(self) -> RefreshResult:
        """Refresh once; what was collected stays for the next attempt."""
        if self.recheck is not None:
            return self._prepared(trusted(engine_of(self.spark), self.reader, self.recheck))()
        refreshing = None
        try:
            found = compare(engine_of(self.spark), self.reader)
            refreshing = self._prepared(found) if found else None
        except Exception as error:  # noqa: BLE001 - of whatever is in a shortcut's way Spark's listing is judge
            name = self.reader.table if isinstance(self.reader, TableReader) else self.reader.path
            _log.debug("the whole of %s is listed: %r", name, error)
        return (refreshing or self._prepared(None))()

    def _prepared(self, found: IndexedListing | None) -> Callable[[], RefreshResult]:
        """Prepare a build by what is known of directories, or by Spark's listing of them all."""
        engine = engine_of(self.spark)
        source = open_source(self.spark, engine, found.read_changed if found else self.reader)
        snapshot = found.snapshot if found else require_own_snapshot(source)
        check_reading(source, snapshot)
        form = existing_write_options(self.spark, engine, snapshot)
        planned = plan_existing(source, snapshot)
        build = Build(engine, source, planned, self.progress, self.on_error, form, self._collected)
        return partial(build.run, snapshot, found.in_question if found else None)


def trusted(engine: Engine, reader: Reader, recheck: Sequence[str]) -> IndexedListing:
    """Find an index that can be trusted, see :func:`xskip.build.indexed_listing.trust`.

    Raises
    ------
    DatasetError
        The dataset is a table, whose files its catalog tells.
    """
    if isinstance(reader, TableReader):
        raise DatasetError("a table's files are its catalog's", where=reader.table, hint="use for_path()")
    return trust(engine, reader, recheck)
