"""Counts of how the queries of this process have used each index, and of what they ask of columns."""

from __future__ import annotations

import threading

from xskip.engine.bounded_map import BoundedMap
from xskip.engine.decision import ScanTrace
from xskip.expressions.condition_reasons import MissingIndex
from xskip.protocol.scan_records import UsedRequest
from xskip.pruning.prune import index_name
from xskip.results.index_usage import ConditionUsage, DatasetUsage, IndexUsage, bytes_of

__all__ = ["UsageLog", "columns_without_index", "ruled_out_by_indexes"]

_MAX_DATASETS = 256
_MAX_NAMES = 1000


def ruled_out_by_indexes(trace: ScanTrace, unneeded: int = 0) -> dict[str, int]:
    """Return how many files each index in use ruled out, by that of its conditions which ruled out most.

    ``unneeded`` is the number of files that a rewrite has left out by what it asked.
    """
    used: dict[str, int] = {}
    for count in () if trace.result is None else trace.result.counts:
        name = index_name(count.clause.needs)
        used[name] = max(used.get(name, 0), count.ruled_out)
    for name in trace.rewrite_indexes if unneeded else ():
        used[name] = max(used.get(name, 0), unneeded)
    return used


def columns_without_index(trace: ScanTrace) -> frozenset[str]:
    """Return the columns of the conditions that no index answered because no index is on them."""
    unused = () if trace.result is None else trace.result.unused
    return frozenset(part.reason.column for part in unused if isinstance(part.reason, MissingIndex))


def _after(usage: DatasetUsage, trace: ScanTrace, used: UsedRequest) -> DatasetUsage:
    """Return the use after another scan. If the set of indexes has changed, the counts begin anew."""
    if trace.indexes and usage.present and trace.indexes != usage.present:
        kept = DatasetUsage(useful=usage.useful & trace.indexes, rewrite_columns=usage.rewrite_columns)
        return _after(kept, trace, used)
    indexes, conditions, useful = dict(usage.indexes), dict(usage.conditions), set(usage.useful)
    columns = usage.rewrite_columns | {each.operand for each in trace.conditions if each.is_of_rewrite}
    whole_bytes = trace.whole_part(used.kept_bytes)
    for name, ruled_out in ruled_out_by_indexes(trace, used.unneeded).items():
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
            size = bytes_of(asked, trace.conditions, used.kept_bytes, whole_bytes)
            conditions[condition] = before_it + ConditionUsage(1, size)
    # a rewrite that has asked for a scan without filters, and left out no file, asked for no files to skip
    scans = usage.scans + ((trace.has_filters and not trace.is_of_join) or used.unneeded > 0)
    present = trace.indexes or usage.present
    return DatasetUsage(
        scans, indexes, conditions, present, frozenset(useful),
        rewrite_columns=columns if len(columns) <= _MAX_NAMES else usage.rewrite_columns,
    )  # fmt: skip


class UsageLog:
    """The use of the indexes of the latest 256 datasets by this process; several threads can use the log."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usages: BoundedMap[str, DatasetUsage] = BoundedMap(_MAX_DATASETS)
        #: The number of the latest request that counts.
        self._latest: BoundedMap[str, int] = BoundedMap(_MAX_DATASETS)

    def add(self, directory: str, trace: ScanTrace, used: UsedRequest) -> None:
        """Count a scan; leave out one that was planned before the set of indexes of a later scan was there.

        ``used`` states what a query has read.
        """
        with self._lock:
            usage, latest = self.of(directory), self._latest.get(directory) or -1
            if trace.indexes == usage.present or not usage.present or used.id > latest:
                self._usages.put(directory, _after(usage, trace, used))
                self._latest.put(directory, max(latest, used.id))

    def of(self, directory: str) -> DatasetUsage:
        """Return the use of the indexes in a directory, as of the latest scan."""
        return self._usages.get(directory) or DatasetUsage()
