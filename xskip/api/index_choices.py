"""The indexes of operations without a list of them: the present ones, those of before, or a choice of xskip."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from xskip.api.query_history import history_of_session
from xskip.errors import RecordDamagedError, XskipError
from xskip.indexes import index_of
from xskip.indexing.additional_indexes import Extension
from xskip.indexing.adoption import Adoption
from xskip.indexing.choice import ChoiceRun
from xskip.indexing.source import new_write_options, require_collected, unregistered_types
from xskip.metadata.table import index_text
from xskip.metadatastore.definition_copy import find_copy
from xskip.metadatastore.snapshot import open_snapshot
from xskip.metadatastore.versions import CURRENT_VERSION
from xskip.results.operations import RefreshResult
from xskip.results.workload import Workload
from xskip.settings import HISTORY
from xskip.spark.collect.listing import list_files
from xskip.standalone.query_history import workload_in_history

if TYPE_CHECKING:
    from xskip.api.upkeep import IndexUpkeep
    from xskip.indexes import Index
    from xskip.indexing.source import Source
    from xskip.metadata.table import IndexDefinition
    from xskip.metadatastore.snapshot import Snapshot
    from xskip.results.index_choice import IndexChoice
    from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["choose_indexes", "indexes_to_ensure", "revise"]

_log = logging.getLogger("xskip.builds")


def choose_indexes(engine: SparkEngine, source: Source, snapshot: Snapshot | None) -> IndexChoice:
    """Return the choice of indexes for a dataset; ``snapshot`` is that of its index, if it has one."""
    choice = ChoiceRun(engine, source, _workload(engine, source), snapshot).run()
    for each in choice:
        if each.action in ("add", "remove"):
            _log.info("xskip chooses for %s to %s %s", source.root, each.action, each)
    return choice


def indexes_to_ensure(engine: SparkEngine, source: Source) -> tuple[tuple[Index, ...], IndexChoice | None]:
    """Return the indexes that a dataset has or had, without a choice, or those of a choice."""
    present = _present(engine, source)
    if not present:
        choice = choose_indexes(engine, source, None)
        return choice.indexes, choice
    return tuple(index for each in present if (index := index_of(each)) is not None), None


def _present(engine: SparkEngine, source: Source) -> tuple[IndexDefinition, ...]:
    """Return the definitions of the present index, of the one before an overwrite, or of a former path; or none."""
    with suppress(RecordDamagedError):
        snapshot = open_snapshot(source.storage, source.directory)
        if snapshot is not None:
            return _registered(source, tuple(each for each, _ in snapshot.indexes))
    copy = find_copy(source.storage, source.location)
    if copy is not None:
        return _registered(source, copy.indexes)
    with suppress(XskipError):
        limits = new_write_options(source.df.sparkSession, engine, CURRENT_VERSION)
        former = Adoption(engine, source, None, limits).find(None)
        return tuple(each for each, _ in former.snapshot.indexes)
    return ()


def _registered(source: Source, definitions: tuple[IndexDefinition, ...]) -> tuple[IndexDefinition, ...]:
    """Return definitions; raise an error if the type of one is not registered, because it would be removed."""
    unknown = [str(each) for each in definitions if index_of(each) is None]
    if unknown:
        raise unregistered_types(source, unknown)
    return definitions


def revise(index: IndexUpkeep, refreshed: RefreshResult) -> RefreshResult:
    """Revise the choice of indexes after a refresh, in a commit of its own if anything changes."""
    started = time.monotonic()
    engine, source = index._open()
    choice = choose_indexes(engine, source, require_collected(source))
    removed = tuple(each.subject for each in choice if each.action == "remove")
    texts = {each.subject for each in choice if each.action == "add"}
    added = [each for each in choice.indexes if index_text((each.name, tuple(each.columns))) in texts]
    failed = refreshed.failed
    if added:
        extension = Extension(engine, index._spark, index._reader, None, "raise" if not failed else "skip")
        failed = extension.run(added, removed).failed
    elif removed:
        index.remove(removed)
    return replace(refreshed, choice=choice, failed=failed, seconds=refreshed.seconds + time.monotonic() - started)


def _workload(engine: SparkEngine, source: Source) -> Workload:
    """Return what queries asked of a dataset: those of the session's history, or those of this process."""
    if engine.settings.of(engine.session(), HISTORY):
        return workload_in_history(history_of_session(engine), source.root)
    sizes = list_files(source.dataset).sizes
    return Workload.of_process(engine.usage(source.directory), float(sizes.mean()) if len(sizes) else 0.0)
