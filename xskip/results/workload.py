"""The conditions of recorded queries on the columns of a dataset, with any indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from xskip.results.index_usage import Condition, ConditionKind, ConditionUsage, DatasetUsage

__all__ = ["ColumnUses", "Workload", "uses_by_column"]

#: The scans by the kinds of their conditions on one column, with the bytes that they read without an index.
ColumnUses = Mapping[tuple[ConditionKind, ...], ConditionUsage]


@dataclass(frozen=True, slots=True)
class Workload:
    """The recorded scans of a dataset whose conditions are known."""

    scans: int = 0
    #: The conditions of the scans by columns, in lower case.
    uses: Mapping[str, ColumnUses] = field(default_factory=lambda: MappingProxyType({}))
    #: The texts of the indexes that have ruled out files.
    useful: frozenset[str] = frozenset()
    #: Whether the scans are those of all drivers over a day or more, so that an index without use can go.
    is_complete: bool = False

    def __add__(self, other: Workload) -> Workload:
        """Return the scans of both, which are not all of them if one of the two has not all."""
        uses = {column: dict(kinds) for column, kinds in self.uses.items()}
        for column, kinds in other.uses.items():
            present = uses.setdefault(column, {})
            for kind, use in kinds.items():
                present[kind] = present.get(kind, ConditionUsage()) + use
        return Workload(
            self.scans + other.scans, uses, self.useful | other.useful, self.is_complete and other.is_complete
        )

    @staticmethod
    def of_process(usage: DatasetUsage, mean_bytes: float) -> Workload:
        """Return the scans of this process; ``mean_bytes`` is the mean size of a file."""
        ruled_out: dict[str, int] = {}
        for name, index_use in usage.indexes.items():
            column = name.partition("(")[2].removesuffix(")").lower()
            ruled_out[column] = max(ruled_out.get(column, 0), index_use.ruled_out)
        scans: dict[str, int] = {}
        for condition, use in usage.conditions.items():
            if condition.is_answered:
                scans[condition.operand.lower()] = scans.get(condition.operand.lower(), 0) + use.scans
        conditions = []
        for condition, use in usage.conditions.items():
            column = condition.operand.lower()
            # which of the conditions on a column has ruled out files is not known: each scan counts the same
            part = use.scans / scans[column] if condition.is_answered else 0.0
            size = use.kept_bytes + round(part * ruled_out.get(column, 0) * mean_bytes)
            conditions.append((condition, ConditionUsage(use.scans, size)))
        return Workload(usage.scans if conditions else 0, uses_by_column(conditions), usage.useful)


def uses_by_column(conditions: Iterable[tuple[Condition, ConditionUsage]]) -> Mapping[str, ColumnUses]:
    """Return conditions by columns; a condition on an expression with values counts for its column, as another one.

    >>> uses = uses_by_column([(Condition("City", ("equal",)), ConditionUsage(2, 10))])
    >>> uses["city"]["equal",].scans
    2
    """
    found: dict[str, dict[tuple[ConditionKind, ...], ConditionUsage]] = {}
    for condition, use in conditions:
        plain = condition.without_values()
        if not plain.is_expression:
            uses = found.setdefault(plain.operand.lower(), {})
            uses[plain.kinds] = uses.get(plain.kinds, ConditionUsage()) + use
    return found
