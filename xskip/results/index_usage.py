"""The use of the indexes of a dataset by queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

__all__ = [
    "KEYS",
    "ORDERS",
    "Condition",
    "ConditionKind",
    "ConditionUsage",
    "DatasetUsage",
    "IndexUsage",
    "bytes_of",
    "kind_of_keys",
]

#: The kinds of conditions: ``=`` and ``IN``; ``>`` and ``>=``; ``<`` and ``<=``; prefixes of texts; tests for NULL. All
#: others, and all conditions inside of an ``OR``, are other ones. Then the keys of joins, by the number of keys, and
#: what rewrites of plans need of the metadata of a column: exact bounds, a number of NULLs, one value in each file, and
#: the first rows in an order of the column, from its least or its greatest value on, with NULL before or behind. Last,
#: conditions that need whole words of a text, of which no record tells.
ConditionKind = Literal[
    "equal", "above", "below", "prefix", "null", "other",
    "keys_1", "keys_4", "keys_16", "keys_64", "keys_256", "keys_1024",
    "bounds", "count", "group", "least", "greatest", "least_or_null", "greatest_or_null", "words",
]  # fmt: skip
#: The kinds of conditions by keys of joins, with the most keys of each.
KEYS: Mapping[ConditionKind, int] = MappingProxyType(
    {"keys_1": 1, "keys_4": 4, "keys_16": 16, "keys_64": 64, "keys_256": 256, "keys_1024": 1024}
)
#: The kinds of needs that rewrites of the first rows in an order have.
ORDERS: frozenset[ConditionKind] = frozenset(("least", "greatest", "least_or_null", "greatest_or_null"))
_OF_REWRITES: frozenset[ConditionKind] = ORDERS | {"bounds", "count", "group"}


def kind_of_keys(count: int) -> ConditionKind:
    """Return the kind of a condition by a number of keys.

    >>> kind_of_keys(1), kind_of_keys(5), kind_of_keys(5000)
    ('keys_1', 'keys_16', 'keys_1024')
    """
    return next((kind for kind, most in KEYS.items() if count <= most), "keys_1024")


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """The conditions of a scan on a column or an expression, by the kinds that an index answers, or none."""

    #: The column in Spark's spelling, or the expression in SQL.
    operand: str
    #: In order.
    kinds: tuple[ConditionKind, ...] = ("other",)
    is_expression: bool = False
    is_answered: bool = False
    #: A column to name in place of an expression with literals, for texts that show no values; empty without literals.
    column: str = ""

    @property
    def is_of_rewrite(self) -> bool:
        """Return whether a rewrite of plans needs metadata of the column, and no filter does."""
        return not _OF_REWRITES.isdisjoint(self.kinds)

    def without_values(self) -> Condition:
        """Return the condition without the literals of its expression.

        >>> Condition("(a % 10)", ("equal",), is_expression=True, column="a").without_values()
        Condition(operand='a', kinds=('other',), is_expression=False, is_answered=False, column='')
        """
        return Condition(self.column, is_answered=self.is_answered) if self.column else self


@dataclass(frozen=True, slots=True)
class ConditionUsage:
    """The scans with a condition."""

    scans: int = 0
    #: The bytes of the files that the indexes and partitions kept for these scans. If a rewrite lacks metadata of the
    #: column, only those of the files all of whose rows match; several such columns of a scan have equal parts of them.
    kept_bytes: int = 0

    def __add__(self, other: ConditionUsage) -> ConditionUsage:
        return ConditionUsage(self.scans + other.scans, self.kept_bytes + other.kept_bytes)


def bytes_of(condition: Condition, conditions: Iterable[Condition], kept_bytes: int, whole_bytes: int) -> int:
    """Return the bytes that a scan with some conditions read because of one of them, see :class:`ConditionUsage`.

    ``whole_bytes`` are those of the files all of whose rows match, among those that the scan reads.
    """
    if not condition.is_of_rewrite or condition.is_answered:
        return kept_bytes
    return whole_bytes // sum(each.is_of_rewrite and not each.is_answered for each in conditions)


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
    #: The scans with each condition.
    conditions: Mapping[Condition, ConditionUsage] = field(default_factory=lambda: MappingProxyType({}))
    #: The texts of all indexes of the dataset, with or without use.
    present: frozenset[str] = frozenset()
    #: The texts of the indexes that have ruled out files, also while the dataset had other indexes beside them.
    useful: frozenset[str] = frozenset()
    #: The queries are those that all drivers recorded in this number of last days; None counts those of this process.
    days: int | None = None
    #: The days from the first to the last of the queries, from 1 to ``days``; None without a history.
    days_recorded: float | None = None
    #: The columns that rewrites of plans asked about, also while the dataset had other indexes.
    rewrite_columns: frozenset[str] = frozenset()

    def of(self, index: str) -> IndexUsage:
        """Return the use of an index."""
        return self.indexes.get(index, IndexUsage())

    def among(self, present: Iterable[str]) -> DatasetUsage:
        """Return the use; if it is that of another set of indexes than the present one, only which were useful."""
        if self.present == frozenset(present):
            return self
        return DatasetUsage(useful=self.useful, days=self.days, rewrite_columns=self.rewrite_columns)

    def without_values(self) -> DatasetUsage:
        """Return the use without the literals of expressions."""
        conditions: dict[Condition, ConditionUsage] = {}
        for condition, use in self.conditions.items():
            shown = condition.without_values()
            conditions[shown] = conditions.get(shown, ConditionUsage()) + use
        return replace(self, conditions=conditions)
