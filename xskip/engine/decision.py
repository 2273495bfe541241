"""The decision about the request of a scan."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

from xskip.engine.ports import Functions
from xskip.engine.selection import Selection
from xskip.expressions.predicate import Predicate
from xskip.metadata.read_profile import ReadProfile
from xskip.metadatastore.snapshot import Snapshot
from xskip.pruning.prune import PruneResult

__all__ = ["Decision", "Evidence", "ScanTrace"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The clause and metadata behind a decision, from which a report derives the verdicts on single files.

    Attributes
    ----------
    selection : Selection
        The clause that was evaluated, and the indexes and partition columns that the query can use.
    snapshot : weakref.ref of Snapshot
        The snapshot. A report does not keep the metadata of a former snapshot in memory.
    profile : ReadProfile
        How the query reads the data files.
    functions : Functions
        The results of the functions in the clause.
    """

    selection: Selection
    snapshot: weakref.ref[Snapshot]
    profile: ReadProfile
    functions: Functions


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
    evidence : Evidence or None
        What the decision follows from; None if the driver has not evaluated the clause.
    """

    predicate: str
    result: PruneResult | None
    problem: str = ""
    filters: str = ""
    decoded: Predicate | None = None
    secret_columns: frozenset[str] = frozenset()
    indexes: frozenset[str] = frozenset()
    evidence: Evidence | None = None


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
    is_failure : bool
        Whether the problem of the trace, if any, is one to warn of.
    """

    answer: bytes | None
    trace: ScanTrace
    settings: str | None = ""
    is_failure: bool = True
