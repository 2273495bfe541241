"""The use of the indexes of a dataset by queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["DatasetUsage", "IndexUsage"]


@dataclass(frozen=True, slots=True)
class IndexUsage:
    """The use of one index."""

    #: The number of scans with a condition that the index answered.
    scans: int = 0
    #: The sum over these scans of the files that the index ruled out, by that of its conditions which ruled out most.
    ruled_out: int = 0


@dataclass(frozen=True, slots=True)
class DatasetUsage:
    """The use of the indexes of a dataset by queries, since the dataset has had these indexes."""

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
    #: The queries are those that all drivers recorded in this number of last days; None counts those of this process.
    days: int | None = None

    def of(self, index: str) -> IndexUsage:
        """Return the use of an index."""
        return self.indexes.get(index, IndexUsage())

    def among(self, present: Iterable[str]) -> DatasetUsage:
        """Return the use; if it is that of another set of indexes than the present one, only which were useful."""
        return self if self.present == frozenset(present) else DatasetUsage(useful=self.useful, days=self.days)
