"""Verdicts on files: which files can hold a row that matches a predicate.

.. code-block:: text

    temp > 30 AND (city = 'Oslo' OR f(x))          the predicate
    AllOf(minmax(temp), AnyOf(valuelist(city), ?)) the clauses
    true, false, null …                            a verdict for each file
    skip = the verdict is false                    the only reason to skip a file
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xskip.clauses.clause import Clause, IndexClause, Mask, Trace, Undetermined, evaluate, is_false, leaves
from xskip.metadata.table import MetadataTable, PartitionKey, Requirement

__all__ = ["ClauseOutcome", "PruneResult", "index_name", "prune", "requirements"]


@dataclass(frozen=True, slots=True)
class ClauseOutcome:
    """The effect of a clause on the files of an index.

    Attributes
    ----------
    predicate : str
        The predicate of the clause, without literal values.
    index : str
        The index or partition column that the clause reads.
    ruled_out : int
        The number of files that the clause ruled out.
    unknown : int
        The number of files that the query reads and on which the clause has no verdict, because the statistics of the
        file are missing or do not decide.
    """

    predicate: str
    index: str
    ruled_out: int
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The result of pruning the files of a metadata table.

    Attributes
    ----------
    skip : numpy.ndarray of bool
        One value for each file: True if the file certainly holds no matching row.
    outcomes : tuple of ClauseOutcome
        The outcomes of the evaluated clauses.
    unused : tuple of (str, str)
        The predicates that could not be used, and the indexes of which a part could not be used, each with the reason
        in a plain sentence.
    """

    skip: Mask
    outcomes: tuple[ClauseOutcome, ...]
    unused: tuple[tuple[str, str], ...]


def requirements(clause: Clause) -> frozenset[Requirement]:
    """Return the indexes and partition columns that must be read to evaluate a clause.

    Parameters
    ----------
    clause : Clause

    Returns
    -------
    frozenset of Requirement
    """
    return frozenset(need for leaf in leaves(clause) if not isinstance(leaf, Undetermined) for need in leaf.needs)


def prune(clause: Clause, table: MetadataTable, listed: Mask | None = None) -> PruneResult:
    """Evaluate a clause for every file of a metadata table, and select the files to skip.

    Parameters
    ----------
    clause : Clause
    table : MetadataTable
        The metadata of the files, with all indexes and partition columns that the clause requires.
    listed : numpy.ndarray of bool, optional
        True for the files that the outcomes count. None counts all files.

    Returns
    -------
    PruneResult
    """
    trace = Trace()
    verdicts = evaluate(clause, table, np.full(len(table), True), trace)
    unused = {leaf: None for leaf in leaves(clause) if isinstance(leaf, Undetermined)}
    unreadable = [column for column in table.indexes.values() if column.unreadable]
    locked = [column for column in table.indexes.values() if column.is_locked]
    doubted = [column for column in table.indexes.values() if column.doubt]
    skip = is_false(verdicts)
    counted = trace.counts if listed is None else trace.ruled_out(listed)
    counts = zip(counted, trace.unknown(~skip if listed is None else ~skip & listed), strict=True)
    return PruneResult(
        skip,
        tuple(ClauseOutcome(c.predicate, index_name(c), count, unknown) for (c, count), unknown in counts),
        (
            *((leaf.predicate, leaf.reason) for leaf in unused),
            *((str(c.definition), f"the metadata of {c.unreadable:,} files cannot be read") for c in unreadable),
            *((str(c.definition), f"its key {c.definition.key_label} is not available") for c in locked),
            *((str(c.definition), c.doubt) for c in doubted),
        ),
    )


def index_name(clause: IndexClause) -> str:
    """Return the indexes or partition columns that a clause reads, for reports.

    Parameters
    ----------
    clause : IndexClause

    Returns
    -------
    str
    """
    return ", ".join(map(_name, clause.needs)) or "files"


def _name(needed: Requirement) -> str:
    match needed:
        case PartitionKey(column):
            return f"partition({column})"
        case (name, columns):
            return f"{name}({', '.join(columns)})"
