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
from xskip.results.index_usage import Condition

__all__ = ["Decision", "Evidence", "ScanTrace"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The clause and metadata behind a decision, from which a report derives the verdicts on single files."""

    selection: Selection
    #: Weak: a report does not keep the metadata of a former snapshot in memory.
    snapshot: weakref.ref[Snapshot]
    profile: ReadProfile
    functions: Functions


@dataclass(frozen=True, slots=True)
class ScanTrace:
    """The part of a decision that reports show."""

    #: The decoded filters, without literal values.
    predicate: str
    #: Its skip mask is empty, to save memory. None if the engine did not use the index.
    result: PruneResult | None
    #: Why the engine did not use the index; empty without a problem.
    problem: str = ""
    #: The filters as JSON with literal values, which distinguish two scans of a query.
    filters: str = ""
    #: The decoded filters with their values.
    decoded: Predicate | None = None
    #: The columns, in lower case, whose values reports never show, because an index on them is encrypted.
    secret_columns: frozenset[str] = frozenset()
    #: The texts of all indexes of the dataset; empty if the engine did not use the index.
    indexes: frozenset[str] = frozenset()
    #: None if the driver has not evaluated the clause.
    evidence: Evidence | None = None
    #: What the scan asks of columns and expressions, with the literals of expressions.
    conditions: tuple[Condition, ...] = ()
    #: The bytes of the files of the index that the scan cannot skip; 0 if a job has decided, or nothing has.
    kept_bytes: int = 0
    #: The bytes of those of these files all of whose rows match, if a rewrite lacks metadata of columns; else 0.
    whole_bytes: int = 0
    #: The texts of the indexes whose statistics a rewrite has got.
    rewrite_indexes: tuple[str, ...] = ()
    #: Whether the filters are the keys of a join, which the same scan asks after its other filters.
    is_of_join: bool = False

    @property
    def has_filters(self) -> bool:
        """Return whether a filter reaches the scan."""
        return self.filters != "[]"

    def whole_part(self, kept_bytes: int) -> int:
        """Return the bytes of files all of whose rows match, of the bytes that a scan has read of its listing."""
        return kept_bytes * self.whole_bytes // self.kept_bytes if self.kept_bytes else 0


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a request."""

    #: The bitmap of the files that the scan can skip, in the form of JVM-AN-1; None if the scan reads all files.
    answer: bytes | None
    trace: ScanTrace
    #: The digest of the only settings for which the decision is valid; empty if the decision is valid for any settings;
    #: None if the decision is valid for no other request.
    settings: str | None = ""
    #: Whether the problem of the trace, if any, is one to warn of.
    is_failure: bool = True
