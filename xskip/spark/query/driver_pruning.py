"""The pruning of metadata in the driver, with at most one call of Spark for all functions of a clause.

Rule: [PRU-FN-10].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from xskip.clauses.clause import Clause, Undetermined, leaves
from xskip.metadata.table import MetadataTable
from xskip.pruning.prune import PruneResult, prune
from xskip.spark.catalyst.evaluator import Evaluation, Evaluator

__all__ = ["collect_evaluations", "prune_in_driver"]


def prune_in_driver(clause: Clause, table: MetadataTable, evaluator: Evaluator) -> PruneResult:
    """Prune the files of a metadata table: collect the evaluations of functions, run them in one call, then prune.

    Parameters
    ----------
    clause : Clause
        The clause of the query. Its functions use ``evaluator``.
    table : MetadataTable
        The metadata that the clause requires.
    evaluator : Evaluator
        The evaluator of the request.
    """
    evaluator.evaluate(collect_evaluations(clause, table, evaluator))
    return prune(clause, table)


def collect_evaluations(clause: Clause, table: MetadataTable, evaluator: Evaluator) -> Iterable[Evaluation]:
    """Return the evaluations that the leaves of a clause need, without running them.

    Only a leaf knows the values that it gives to its function. So this pass evaluates each leaf that has a function,
    while the evaluator collects, and discards the verdicts. Each leaf gets a copy of the table, so that no result of
    this pass enters the table's cache.

    Parameters
    ----------
    clause : Clause
        The clause of the query. Its functions use ``evaluator``.
    table : MetadataTable
        The metadata that the clause requires.
    evaluator : Evaluator
        The evaluator of the request.
    """
    with evaluator.collecting() as evaluations:
        for leaf in leaves(clause):
            if not isinstance(leaf, Undetermined) and leaf.asks_spark:
                leaf.evaluate(replace(table), np.full(len(table), True))
    return evaluations
