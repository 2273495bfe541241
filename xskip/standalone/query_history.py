"""The query history in a directory, without Spark."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from xskip.errors import ArgumentError
from xskip.query_history.files import HistoryFiles
from xskip.query_history.summary import savings_of, usage_of, workload_of
from xskip.settings import HISTORY
from xskip.standalone.store import Store

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

    from xskip.metadatastore.snapshot import Snapshot
    from xskip.results.index_usage import DatasetUsage
    from xskip.results.overview import Overview
    from xskip.results.savings import Savings
    from xskip.results.workload import Workload

__all__ = [
    "history_without_spark",
    "no_history",
    "savings_in_history",
    "usage_in_history",
    "with_savings",
    "workload_in_history",
]

#: The number of days that advice, descriptions and overviews take into account if only a history is given.
_DAYS = 30


def _days_ago(days: int | None) -> datetime | None:
    """Return the moment a number of days ago; None, which is all days, stays None."""
    if days is None:
        return None
    if not isinstance(days, int) or isinstance(days, bool) or days < 1:
        raise ArgumentError(
            "the number of days is not valid", found=repr(days), expected="a whole number of at least 1"
        )
    return datetime.now(timezone.utc) - timedelta(days=min(days, 100_000))


def no_history(hint: str) -> ArgumentError:
    """Return the error for a number of days without a history."""
    return ArgumentError("days= needs a query history", hint=hint)


def history_without_spark(
    location: str | os.PathLike[str] | None, filesystem: FileSystem | None = None
) -> HistoryFiles:
    """Return the history in a directory."""
    if location is None:
        raise no_history(f"pass history=, the directory of {HISTORY.key}")
    store = Store.of(location, filesystem)
    return HistoryFiles(store.storage, store.root)


def with_savings(overview: Overview, history: HistoryFiles, days: int | None) -> Overview:
    """Return an overview with what the queries of the last days, 30 by default, have skipped."""
    days = _DAYS if days is None else days
    return overview.with_savings(savings_in_history(history, days), days)


def savings_in_history(history: HistoryFiles, days: int | None) -> Savings:
    """Return what the queries of the last days have read and skipped; None for those of all days."""
    return savings_of(history.rows(_days_ago(days)))


def usage_in_history(history: HistoryFiles, dataset: str, snapshot: Snapshot, days: int | None) -> DatasetUsage:
    """Return how the queries of the last days, 30 by default, used the indexes of a dataset."""
    days = _DAYS if days is None else days
    present = (str(definition) for definition, _ in snapshot.indexes)
    return usage_of(history.rows(_days_ago(days)), dataset, present, days)


def workload_in_history(history: HistoryFiles, dataset: str) -> Workload:
    """Return what the queries of the last 30 days asked of a dataset."""
    return workload_of(history.rows(_days_ago(_DAYS)), dataset)
