"""Repairs: files whose metadata are wrong are collected anew, in one commit with the changes of the dataset."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.build.builder import Build, OnError, ProgressOption
from xskip.build.commit_attempts import Collected, retry_conflicts
from xskip.build.planning import plan_existing
from xskip.build.reader import FrameReader, Reader
from xskip.build.source import (
    Source,
    check_reading,
    existing_write_options,
    open_source,
    require_own_snapshot,
)
from xskip.build.validation import Validation
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.operations import RefreshResult
from xskip.results.validation import RepairResult
from xskip.settings import FOOTERS
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Repair"]


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair of one index.

    Attributes
    ----------
    engine : Engine
        The engine of the session's JVM.
    spark : SparkSession
        The user's session.
    reader : Reader
        The reader of the dataset.
    progress : bool, callable or None
        See :meth:`xskip.SkippingIndex.create`.
    on_error : {"raise", "skip"}
        See :meth:`xskip.SkippingIndex.create`.
    """

    engine: Engine
    spark: SparkSession
    reader: Reader
    progress: ProgressOption
    on_error: OnError
    _collected: Collected = field(default_factory=Collected, repr=False)

    def run(self) -> RepairResult:
        """Validate the index, collect the wrong files anew, and validate these files again.

        Returns
        -------
        RepairResult

        Raises
        ------
        CollectError
            If a file cannot be read.
        CommitConflictError
            If another writer committed first in every attempt.
        """
        started = time.monotonic()
        found = Validation(self.engine, self._open()).run(None, 0)
        wrong = frozenset(found.files_with_errors)
        with self._collected:
            refreshed = retry_conflicts(lambda: self._attempt(wrong), partial(storage_for, self.engine.hook))
        left = Validation(self.engine, self._open()).run(None, 0, wrong).wrong if wrong else ()
        seconds = time.monotonic() - started
        return RepairResult(found.files, tuple(sorted(wrong)), refreshed.removed, left, refreshed.failed, seconds)

    def _open(self) -> Source:
        """Open the dataset for a build that reads rows, because footers and other claims can be what is wrong."""
        source = open_source(self.spark, self.engine, self.reader)
        source.df.sparkSession.conf.set(FOOTERS.key, "false")
        return replace(source, claims=None)

    def _attempt(self, wrong: Collection[str]) -> RefreshResult:
        source = self._open()
        snapshot = require_own_snapshot(source)
        check_reading(source, snapshot)
        form = existing_write_options(self.spark, self.engine, snapshot)
        planned = plan_existing(source, snapshot)
        common = (self.engine, source, planned, self.progress, self.on_error, form, self._collected)
        return Build(*common, operation="repair").run(snapshot, outdated=self._outdated(snapshot, wrong))

    def _outdated(self, snapshot: Snapshot, wrong: Collection[str]) -> npt.NDArray[np.bool_]:
        names = snapshot.load(()).files.names
        found: npt.NDArray[np.bool_] = pc.is_in(names, pa.array(list(wrong), pa.string())).to_numpy(
            zero_copy_only=False
        )
        if isinstance(self.reader, FrameReader) and self.reader.outdated is not None:
            found = found | self.reader.outdated(snapshot)
        return found
