"""Counts of how the queries of this process have used each index, and of the columns that they filter without one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from xskip.engine.bounded_map import BoundedMap
from xskip.engine.decision import ScanTrace
from xskip.expressions.condition_reasons import MissingIndex
from xskip.pruning.prune import index_name

__all__ = ["DatasetUsage", "IndexUsage", "UsageLog"]

_MAX_DATASETS = 256
_MAX_NAMES = 1000


@dataclass(frozen=True, slots=True)
class IndexUsage:
    """The use of one index."""

    #: The number of scans with a condition that the index answered.
    scans: int = 0
    #: The sum over these scans of the files that the index ruled out, by that of its conditions which ruled out most.
    ruled_out: int = 0


@dataclass(frozen=True, slots=True)
class DatasetUsage:
    """The use of the indexes of a dataset by the queries of this process, since the dataset has had these indexes."""

    #: The number of scans that asked for files to skip.
    scans: int = 0
    #: The use of each index that answered a condition, by its text, such as ``minmax(ts)``.
    indexes: Mapping[str, IndexUsage] = field(default_factory=lambda: MappingProxyType({}))
    #: For columns without an index, the number of scans with a condition on the column.
    without_index: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    #: The texts of all indexes of the dataset, with or without use.
    present: frozenset[str] = frozenset()
    #: The texts of the indexes that have ruled out files, also while the dataset had other indexes beside them.
    useful: frozenset[str] = frozenset()

    def of(self, index: str) -> IndexUsage:
        """Return the use of an index."""
        return self.indexes.get(index, IndexUsage())

    def among(self, present: Iterable[str]) -> DatasetUsage:
        """Return the use; if it is that of another set of indexes than the present one, only which were useful."""
        return self if self.present == frozenset(present) else DatasetUsage(useful=self.useful)

    def after(self, trace: ScanTrace) -> DatasetUsage:
        """Return the use after another scan. If the set of indexes has changed, the counts begin anew."""
        if trace.indexes and self.present and trace.indexes != self.present:
            return DatasetUsage(useful=self.useful & trace.indexes).after(trace)
        indexes, columns, useful = dict(self.indexes), dict(self.without_index), set(self.useful)
        if trace.result is not None:
            used: dict[str, int] = {}
            for count in trace.result.counts:
                name = index_name(count.clause.needs)
                used[name] = max(used.get(name, 0), count.ruled_out)
            for name, ruled_out in used.items():
                before = self.of(name)
                indexes[name] = IndexUsage(before.scans + 1, before.ruled_out + ruled_out)
                if ruled_out:
                    useful.add(name)
            missing = {part.reason for part in trace.result.unused if isinstance(part.reason, MissingIndex)}
            for column in (reason.column for reason in missing):
                if column in columns or len(columns) < _MAX_NAMES:
                    columns[column] = columns.get(column, 0) + 1
        return DatasetUsage(self.scans + 1, indexes, columns, trace.indexes or self.present, frozenset(useful))


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
                self._usages.put(directory, usage.after(trace))

    def of(self, directory: str) -> DatasetUsage:
        """Return the use of the indexes in a directory, as of the latest scan."""
        return self._usages.get(directory) or DatasetUsage()
