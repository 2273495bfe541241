"""Updates of an index: builds on the latest snapshot, which start over if another writer commits first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from xskip.indexing.builder import Build, OnError
from xskip.indexing.commit_attempts import Collected, retry_conflicts
from xskip.indexing.planning import plan_existing
from xskip.indexing.progress import ProgressOption
from xskip.indexing.reader import FrameReader, Reader
from xskip.indexing.source import Source, check_reading, existing_write_options
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.operations import RefreshResult
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Update"]

_B = TypeVar("_B", bound=Build)


@dataclass(frozen=True, slots=True)
class Update:
    """An update of one index; for the options, see :meth:`xskip.SkippingIndex.create`."""

    engine: SparkEngine
    spark: SparkSession
    reader: Reader
    progress: ProgressOption
    on_error: OnError
    _collected: Collected = field(default_factory=Collected, repr=False)

    def repeat(self, attempt: Callable[[], RefreshResult]) -> RefreshResult:
        """Run an attempt, and repeat it with the rows that it has collected if another writer committed first.

        An attempt opens the present snapshot and runs a build of :meth:`build_on`.
        """
        with self._collected:
            return retry_conflicts(attempt, partial(storage_for, self.engine.hook))

    def build_on(self, source: Source, snapshot: Snapshot, kind: type[_B], *, rereads: bool = False) -> _B:
        """Return a build with the indexes and the form of a snapshot.

        A build that ``rereads`` collects the statistics of all files anew, so that the dataset can be read in another
        way than when the index was built. Any other build raises an IndexDefinitionError for another way.
        """
        if not rereads:
            check_reading(source, snapshot)
        write_options = existing_write_options(self.spark, self.engine, snapshot)
        planned = plan_existing(source, snapshot)
        return kind(self.engine, source, planned, self.progress, self.on_error, write_options, self._collected)

    def outdated(self, snapshot: Snapshot) -> npt.NDArray[np.bool_] | None:
        """Return for each file of a snapshot whether the reader knows that it is outdated, or None if none is."""
        if isinstance(self.reader, FrameReader) and self.reader.outdated is not None:
            return self.reader.outdated(snapshot)
        return None
