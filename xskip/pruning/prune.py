"""Verdicts on files: which files can hold a row that matches a predicate.

.. code-block:: text

    temp > 30 AND (city = 'Oslo' OR f(x))          the predicate
    AllOf(minmax(temp), AnyOf(valuelist(city), ?)) the clauses
    true, false, null …                            a verdict for each file
    skip = the verdict is false                    the only reason to skip a file
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from xskip.clauses.clause import Clause, IndexClause, Mask, Subject, Trace, Undetermined, evaluate, is_false, leaves
from xskip.expressions.condition_reasons import MissingKey, OtherReason, Reason, UnreadableMetadata
from xskip.metadata.table import MetadataTable, PartitionKey, Requirement, index_text

__all__ = ["ClauseCount", "PruneResult", "UnusedPart", "index_name", "prune", "requirements", "text_of"]


@dataclass(frozen=True, slots=True)
class ClauseCount:
    """The number of files that a clause ruled out, and of those that the query reads because it has no verdict."""

    clause: IndexClause
    ruled_out: int
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class UnusedPart:
    """A part that ruled out no file: the predicates of an undetermined clause or an index's name, with the reason."""

    subjects: tuple[Subject, ...]
    reason: Reason

    def text(self, texts: Mapping[str, str] | None = None) -> str:
        """Return the text of the subjects, see :func:`text_of`."""
        return text_of(self.subjects, texts)


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The result of pruning the files of a metadata table."""

    #: True for each file that certainly holds no matching row.
    skip: Mask
    #: The evaluated clauses, in the order of their evaluation.
    counts: tuple[ClauseCount, ...]
    unused: tuple[UnusedPart, ...]
    #: The number of files in row groups of the metadata that were not read, among the skipped ones; None without a job.
    unread: int | None = None


def text_of(subjects: Iterable[Subject], texts: Mapping[str, str] | None = None) -> str:
    """Return the text of the subjects of a clause, joined by AND, with values if ``texts`` has all of them.

    ``texts`` has texts with values, by the texts without.
    """
    plain = [str(subject) for subject in subjects]
    # either all values or none
    shown = plain if texts is None or not all(text in texts for text in plain) else [texts[text] for text in plain]
    return " AND ".join(shown)


def requirements(clause: Clause) -> frozenset[Requirement]:
    """Return the indexes and partition columns that must be read to evaluate a clause."""
    return frozenset(need for leaf in leaves(clause) if not isinstance(leaf, Undetermined) for need in leaf.needs)


def prune(clause: Clause, table: MetadataTable, listed: Mask | None = None) -> PruneResult:
    """Evaluate a clause for every file of a metadata table, and select the files to skip.

    The table has all indexes and partition columns that the clause requires. ``listed`` is True for the files that the
    outcomes count; None counts all files.
    """
    trace = Trace()
    verdicts = evaluate(clause, table, np.full(len(table), True), trace)
    unused = dict.fromkeys(leaf for leaf in leaves(clause) if isinstance(leaf, Undetermined))
    skip = is_false(verdicts)
    counted = trace.counts if listed is None else trace.ruled_out(listed)
    counts = zip(counted, trace.unknown(~skip if listed is None else ~skip & listed), strict=True)
    return PruneResult(
        skip,
        tuple(ClauseCount(clause, count, unknown) for (clause, count), unknown in counts),
        (*(UnusedPart(leaf.predicates, leaf.reason) for leaf in unused), *_unused_indexes(table)),
    )


def _unused_indexes(table: MetadataTable) -> Iterator[UnusedPart]:
    """Yield the indexes whose statistics cannot be read, at least in part, or prove nothing."""
    columns = table.indexes.values()
    for column in columns:
        if column.unreadable:
            yield UnusedPart((str(column.definition),), UnreadableMetadata(column.unreadable))
    for column in columns:
        if column.is_locked:
            yield UnusedPart((str(column.definition),), MissingKey(column.definition.key_label))
    for column in columns:
        if column.doubt:
            yield UnusedPart((str(column.definition),), OtherReason(column.doubt))


def index_name(needs: Iterable[Requirement]) -> str:
    """Return the names of the indexes or partition columns that a clause reads, for reports."""
    return ", ".join(map(_name, needs)) or "files"


def _name(needed: Requirement) -> str:
    match needed:
        case PartitionKey(column):
            return f"partition({column})"
        case _:
            return index_text(needed)
