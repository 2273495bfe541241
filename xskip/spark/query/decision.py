"""The decision about the request of a scan."""

from __future__ import annotations

from dataclasses import dataclass

from xskip.expressions.predicate import Predicate
from xskip.pruning.prune import PruneResult

__all__ = ["Decision", "ScanTrace"]


@dataclass(frozen=True, slots=True)
class ScanTrace:
    """The part of a decision that reports show.

    Attributes
    ----------
    predicate : str
        The decoded filters, without literal values.
    result : PruneResult or None
        The result without its skip mask, to save memory; None if the engine did not use the index.
    problem : str
        The reason why the engine did not use the index; empty without a problem.
    filters : str
        The filters as JSON with literal values, which distinguish two scans of a query.
    decoded : Predicate or None
        The decoded filters with their values.
    secret_columns : frozenset of str
        The columns, in lower case, whose values reports never show, because an index on them is encrypted.
    indexes : frozenset of str
        The texts of all indexes of the dataset; empty if the engine did not use the index.
    """

    predicate: str
    result: PruneResult | None
    problem: str = ""
    filters: str = ""
    decoded: Predicate | None = None
    secret_columns: frozenset[str] = frozenset()
    indexes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a request.

    Attributes
    ----------
    answer : bytes or None
        The bitmap of the files that the scan can skip, in the form of JVM-AN-1; None if the scan reads all files.
    trace : ScanTrace
        The details for reports.
    settings : str or None
        The digest of the only settings for which the decision is valid; empty if the decision is valid for any
        settings; None if the decision is valid for no other request.
    """

    answer: bytes | None
    trace: ScanTrace
    settings: str | None = ""
