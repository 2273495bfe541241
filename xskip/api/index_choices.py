"""Choices of indexes by what the queries of the session have asked, and the revision of a choice."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xskip.api.query_history import history_of_session
from xskip.errors import IndexDefinitionError, IndexExistsError
from xskip.indexing.additional_indexes import Extension
from xskip.indexing.choice import ChoiceRun
from xskip.indexing.source import require_collected
from xskip.metadata.table import index_text
from xskip.metadatastore.definition_copy import find_copy
from xskip.results.operations import RefreshResult
from xskip.results.workload import Workload
from xskip.settings import HISTORY
from xskip.spark.collect.listing import list_files
from xskip.spark.query.unindexed_scans import workload_without_index
from xskip.standalone.query_history import workload_in_history

if TYPE_CHECKING:
    from xskip.api.upkeep import IndexUpkeep
    from xskip.indexing.builder import OnError
    from xskip.indexing.progress import ProgressOption
    from xskip.indexing.source import Source
    from xskip.metadatastore.snapshot import Snapshot
    from xskip.results.index_choice import IndexChoice
    from xskip.spark.collect.listing import ListedFiles
    from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["Revision", "choose_indexes", "log_choice"]

_log = logging.getLogger("xskip.builds")


def choose_indexes(engine: SparkEngine, source: Source, snapshot: Snapshot | None = None) -> IndexChoice:
    """Return the choice of indexes for a dataset; ``snapshot`` is that of its index, if it has one."""
    copy = find_copy(source.storage, source.location)
    former = () if copy is None else copy.indexes
    listed = list_files(source.dataset)
    return ChoiceRun(engine, source, listed, _workload(engine, source, listed), snapshot, former).run()


def log_choice(choice: IndexChoice) -> None:
    """Log which indexes a dataset gets and loses, and why."""
    for each in choice:
        if each.action in ("add", "remove"):
            _log.info("xskip chooses for %s: %s %s", choice.dataset, each.action, each)


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision of the choice of indexes after a refresh."""

    index: IndexUpkeep
    progress: ProgressOption
    on_error: OnError

    def run(self, refreshed: RefreshResult) -> RefreshResult:
        """Choose anew, and add and remove indexes in one commit; choose again if another writer changes them first."""
        started = time.monotonic()
        with suppress(IndexExistsError, IndexDefinitionError):
            return self._attempt(refreshed, started)
        return self._attempt(refreshed, started)

    def _attempt(self, refreshed: RefreshResult, started: float) -> RefreshResult:
        index = self.index
        engine, source = index._open()
        choice = choose_indexes(engine, source, require_collected(source))
        removed = tuple(each.subject for each in choice if each.action == "remove")
        texts = {each.subject for each in choice if each.action == "add"}
        added = [each for each in choice.indexes if index_text((each.name, tuple(each.columns))) in texts]
        failed = refreshed.failed
        if added:
            extension = Extension(engine, index._spark, index._reader, self.progress, self.on_error)
            failed = extension.run(added, removed, "revise").failed
        elif removed:
            index.remove(removed)
        log_choice(choice)
        return replace(refreshed, choice=choice, failed=failed, seconds=refreshed.seconds + time.monotonic() - started)


def _workload(engine: SparkEngine, source: Source, listed: ListedFiles) -> Workload:
    """Return what queries asked of a dataset: those of the session's history, or those of this process."""
    if engine.settings.of(engine.session(), HISTORY):
        return workload_in_history(history_of_session(engine), source.root)
    mean = float(listed.sizes.mean()) if len(listed) else 0.0
    return workload_without_index(engine.hook, source.root) + Workload.of_process(engine.usage(source.directory), mean)
