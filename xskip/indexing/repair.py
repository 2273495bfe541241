"""Repairs: files whose metadata are wrong are collected anew, in one commit with the changes of the dataset."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.indexing.builder import Build
from xskip.indexing.source import (
    Source,
    open_source,
    require_own_snapshot,
)
from xskip.indexing.update import Update
from xskip.indexing.validation import Validation
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.operations import RefreshResult
from xskip.results.validation import RepairResult
from xskip.settings import FOOTERS

__all__ = ["Repair"]


@dataclass(frozen=True, slots=True)
class Repair(Update):
    """A repair of one index."""

    def run(self) -> RepairResult:
        """Validate the index, collect the wrong files anew, and validate these files again."""
        started = time.monotonic()
        found = Validation(self.engine, self._open()).run(None, 0)
        wrong = frozenset(found.files_with_errors)
        refreshed = self.repeat(lambda: self._attempt(wrong))
        left = Validation(self.engine, self._open()).run(None, 0, wrong).wrong if wrong else ()
        seconds = time.monotonic() - started
        return RepairResult(found.files, tuple(sorted(wrong)), refreshed.removed, left, refreshed.failed, seconds)

    def _open(self) -> Source:
        """Open the dataset for a build that reads rows."""
        source = open_source(self.spark, self.engine, self.reader)
        # Footers and other claims can be what is wrong, so the build collects all statistics from rows.
        source.df.sparkSession.conf.set(FOOTERS.key, "false")
        return replace(source, claims=None)

    def _attempt(self, wrong: Collection[str]) -> RefreshResult:
        source = self._open()
        snapshot = require_own_snapshot(source)
        build = replace(self.build_on(source, snapshot, Build), operation="repair")
        return build.run(snapshot, outdated=self._wrong_or_outdated(snapshot, wrong))

    def _wrong_or_outdated(self, snapshot: Snapshot, wrong: Collection[str]) -> npt.NDArray[np.bool_]:
        names = snapshot.load(()).files.names
        found: npt.NDArray[np.bool_] = pc.is_in(names, pa.array(list(wrong), pa.string())).to_numpy(
            zero_copy_only=False
        )
        outdated = self.outdated(snapshot)
        return found if outdated is None else found | outdated
