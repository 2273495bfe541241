"""The effect of single clauses on the files of a scan, as texts for reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xskip.clauses.clause import subjects
from xskip.expressions.predicate import IsNotNull
from xskip.pruning.prune import ClauseCount, PruneResult, index_name, text_of

__all__ = ["ClauseOutcome", "outcomes_of", "unused_texts"]


@dataclass(frozen=True, slots=True)
class ClauseOutcome:
    """The effect of a clause on the files of an index.

    Attributes
    ----------
    predicate : str
        The predicate of the clause, without literal values unless ``spark.xskip.report.values`` is true.
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
    #: Whether the outcome tells nothing beside the others, so that texts leave it out.
    is_implied: bool = field(default=False, repr=False, compare=False)


def outcomes_of(result: PruneResult | None, texts: Mapping[str, str] | None = None) -> tuple[ClauseOutcome, ...]:
    """Return the outcomes of a result; ``texts`` has the texts of leaves with values, by those without."""
    if result is None:
        return ()
    found = [
        ClauseOutcome(
            text_of(subjects(count.clause), texts),
            index_name(count.clause.needs),
            count.ruled_out,
            count.unknown,
            _is_implied(count, result.counts),
        )
        for count in result.counts
    ]
    if result.unread is not None:
        found.append(ClauseOutcome("row groups that were not read", "statistics of the metadata", result.unread))
    return tuple(found)


def _is_implied(count: ClauseCount, counts: tuple[ClauseCount, ...]) -> bool:
    """Return whether Spark has added a clause that has no effect, or a clause is no more than its parts."""
    parts = subjects(count.clause)
    if len(parts) == 1:
        return isinstance(parts[0], IsNotNull) and not count.ruled_out and not count.unknown
    single = {subjects(c.clause): c.ruled_out for c in counts if c.clause.needs == count.clause.needs}
    alone = [single.get((part,)) for part in parts]
    return None not in alone and max(filter(None, alone), default=0) >= count.ruled_out


def unused_texts(result: PruneResult | None, texts: Mapping[str, str] | None = None) -> tuple[tuple[str, str], ...]:
    """Return the texts of the parts of a predicate that could not be used, each with the reason, and each pair once."""
    # conditions that differ only in hidden values have one text
    return () if result is None else tuple(dict.fromkeys((p.text(texts), str(p.reason)) for p in result.unused))
