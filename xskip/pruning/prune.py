"""From a predicate to verdicts: which objects can hold a matching row.

.. code-block:: text

    temp > 30 AND (city = 'Oslo' OR f(x))          the predicate
    AllOf(minmax(temp), AnyOf(valuelist(city), ?)) the clauses
    true, false, null …                            a verdict for each object
    skip = the verdict is false                    and nothing else
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xskip.clauses.clause import (
    Clause,
    IndexClause,
    Mask,
    PartitionKey,
    Requirement,
    Trace,
    Undetermined,
    evaluate,
    is_false,
    leaves,
)
from xskip.metadata.table import MetadataTable

__all__ = ["ClauseOutcome", "PruneResult", "prune", "requirements"]


@dataclass(frozen=True, slots=True)
class ClauseOutcome:
    """How many objects one clause, asked of one index, ruled out."""

    predicate: str
    index: str
    ruled_out: int


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The outcome for the objects of a metadata table.

    Attributes
    ----------
    skip : numpy.ndarray of bool
        True for the objects that certainly hold no matching row.
    outcomes : tuple of ClauseOutcome
    unused : tuple of (str, str)
        The predicates that could not be used, and indexes of which a part could not, each with a plain sentence that
        says why.
    """

    skip: Mask
    outcomes: tuple[ClauseOutcome, ...]
    unused: tuple[tuple[str, str], ...]


def requirements(clause: Clause) -> frozenset[Requirement]:
    """What must be read to evaluate a clause."""
    return frozenset(need for leaf in leaves(clause) if not isinstance(leaf, Undetermined) for need in leaf.needs)


def prune(clause: Clause, table: MetadataTable) -> PruneResult:
    """Verdicts on every object of ``table``, which holds what the clause requires."""
    trace = Trace()
    verdicts = evaluate(clause, table, np.full(len(table), True), trace)
    unused = {leaf: None for leaf in leaves(clause) if isinstance(leaf, Undetermined)}
    unreadable = [column for column in table.indexes.values() if column.unreadable]
    locked = [column for column in table.indexes.values() if column.is_locked]
    doubted = [column for column in table.indexes.values() if column.doubt]
    return PruneResult(
        is_false(verdicts),
        tuple(ClauseOutcome(c.predicate, _index_name(c), count) for c, count in trace.counts),
        (
            *((leaf.predicate, leaf.reason) for leaf in unused),
            *((str(c.definition), f"the metadata of {c.unreadable:,} objects cannot be read") for c in unreadable),
            *((str(c.definition), f"its key {c.definition.key_label} is not available") for c in locked),
            *((str(c.definition), c.doubt) for c in doubted),
        ),
    )


def _index_name(clause: IndexClause) -> str:
    return ", ".join(map(_name, clause.needs)) or "files"


def _name(needed: Requirement) -> str:
    match needed:
        case PartitionKey(column):
            return f"partition({column})"
        case (name, columns):
            return f"{name}({', '.join(columns)})"
