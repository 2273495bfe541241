"""Counts of how the queries of this process have used each index, and of what they ask of columns."""

from __future__ import annotations

import threading

from xskip.engine.bounded_map import BoundedMap
from xskip.engine.decision import ScanTrace
from xskip.expressions.condition_reasons import MissingIndex
from xskip.pruning.prune import index_name
from xskip.results.index_usage import ConditionUsage, DatasetUsage, IndexUsage

__all__ = ["UsageLog", "columns_without_index", "ruled_out_by_indexes"]

_MAX_DATASETS = 256
_MAX_NAMES = 1000


def ruled_out_by_indexes(trace: ScanTrace) -> dict[str, int]:
    """Return how many files each index in use ruled out, by that of its conditions which ruled out most."""
    used: dict[str, int] = {}
    for count in () if trace.result is None else trace.result.counts:
        name = index_name(count.clause.needs)
        used[name] = max(used.get(name, 0), count.ruled_out)
    return used


def columns_without_index(trace: ScanTrace) -> frozenset[str]:
    """Return the columns of the conditions that no index answered because no index is on them."""
    unused = () if trace.result is None else trace.result.unused
    return frozenset(part.reason.column for part in unused if isinstance(part.reason, MissingIndex))


def _after(usage: DatasetUsage, trace: ScanTrace) -> DatasetUsage:
    """Return the use after another scan. If the set of indexes has changed, the counts begin anew."""
    if trace.indexes and usage.present and trace.indexes != usage.present:
        return _after(DatasetUsage(useful=usage.useful & trace.indexes), trace)
    indexes, conditions, useful = dict(usage.indexes), dict(usage.conditions), set(usage.useful)
    for name, ruled_out in ruled_out_by_indexes(trace).items():
        before = usage.of(name)
        indexes[name] = IndexUsage(before.scans + 1, before.ruled_out + ruled_out)
        if ruled_out:
            useful.add(name)
    for asked in trace.conditions:
        # Expressions with literals can be many, and leave room for all other conditions.
        has_room = asked in conditions or len(conditions) < _MAX_NAMES // 2
        condition = asked if has_room else asked.without_values()
        if condition in conditions or len(conditions) < _MAX_NAMES:
            before_it = conditions.get(condition, ConditionUsage())
            conditions[condition] = before_it + ConditionUsage(1, trace.kept_bytes)
    return DatasetUsage(usage.scans + 1, indexes, conditions, trace.indexes or usage.present, frozenset(useful))


class UsageLog:
    """The use of the indexes of the latest 256 datasets by this process; several threads can use the log."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usages: BoundedMap[str, DatasetUsage] = BoundedMap(_MAX_DATASETS)

    def add(self, directory: str, trace: ScanTrace, *, explained: bool = False) -> None:
        """Count a scan; leave out one that was ``explained`` before it ran if the set of indexes has changed since."""
        with self._lock:
            usage = self.of(directory)
            if not explained or trace.indexes == usage.present or not usage.present:
                self._usages.put(directory, _after(usage, trace))

    def of(self, directory: str) -> DatasetUsage:
        """Return the use of the indexes in a directory, as of the latest scan."""
        return self._usages.get(directory) or DatasetUsage()
