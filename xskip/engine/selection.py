"""The selection of the files that a query needs: from a predicate and a snapshot to clauses, and to a skip mask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xskip.clauses.clause import Clause, Undetermined, leaves
from xskip.engine.ports import Functions, NoFunctions
from xskip.expressions.predicate import Predicate
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import MetadataTable, Requirement
from xskip.metadatastore.snapshot import Snapshot
from xskip.pruning.clause_translation import IndexCatalog, translate, without_columns
from xskip.pruning.prune import PruneResult, prune, requirements

__all__ = ["Selection", "collect_evaluations", "index_catalog", "prune_with_functions", "select"]

_NO_FUNCTIONS = NoFunctions()


@dataclass(frozen=True, slots=True)
class Selection:
    """A predicate as clauses over the statistics of a snapshot."""

    predicate: Predicate
    clause: Clause
    catalog: IndexCatalog
    #: The indexes and partition columns that the clause reads.
    needed: frozenset[Requirement]

    @classmethod
    def of(cls, predicate: Predicate, catalog: IndexCatalog) -> Selection:
        """Translate a predicate."""
        clause = translate(predicate, catalog)
        return cls(predicate, clause, catalog, requirements(clause))


def index_catalog(
    snapshot: Snapshot,
    profile: ReadProfile,
    *,
    case_sensitive: bool,
    queried: Mapping[str, str] | None = None,
    settings: str = "",
) -> IndexCatalog:
    """Return the indexes and partition columns of a snapshot that a query can use.

    ``queried`` are the partition columns of the query's relation with their types, and ``settings`` those of the query
    on which the values of expressions depend.
    """
    differing = snapshot.differing_columns(profile)
    return IndexCatalog(
        without_columns(snapshot.indexes, differing),
        snapshot.partitions,
        queried,
        case_sensitive=case_sensitive,
        untyped=not snapshot.is_ours,
        settings=settings,
        differing=differing,
    )


def select(
    selection: Selection, snapshot: Snapshot, profile: ReadProfile, functions: Functions = _NO_FUNCTIONS
) -> PruneResult:
    """Return the files of a snapshot that hold no matching row; statistics of another reading prove nothing."""
    return prune_with_functions(selection.clause, snapshot.load_proven(selection.needed, profile), functions)


def prune_with_functions(clause: Clause, table: MetadataTable, functions: Functions) -> PruneResult:
    """Prune the files of a table, with at most one evaluation of all functions of the clause [PRU-FN-10]."""
    functions.evaluate(collect_evaluations(clause, table, functions))
    return prune(clause, table)


def collect_evaluations(clause: Clause, table: MetadataTable, functions: Functions) -> Iterable[Any]:
    """Return the evaluations that the leaves of a clause need, without running them."""
    # Only a leaf knows the values that it gives to its function. So this pass evaluates each leaf that has a function,
    # and discards the verdicts. Each leaf gets a copy of the table, so that no result enters the table's cache.
    with functions.collecting() as evaluations:
        for leaf in leaves(clause):
            if not isinstance(leaf, Undetermined) and leaf.asks_spark:
                leaf.evaluate(replace(table), np.full(len(table), True))
    return evaluations
