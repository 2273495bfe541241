"""Predicates that are expressions of pyarrow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from xskip.clauses.clause import Mask
from xskip.expressions.condition_reasons import Cause, OtherReason
from xskip.metadata.table import Requirement
from xskip.pruning.clause_translation import IndexCatalog
from xskip.standalone.arrow_filter import skipped_by_expression
from xskip.standalone.arrow_nodes import NodeMaker, fields_of, has_nan, text_of
from xskip.standalone.arrow_tree import FormError, Tree, tree_of
from xskip.standalone.columns import Columns
from xskip.standalone.selection import Pruned, StandaloneSelection, recorded_column

__all__ = ["ArrowPredicate"]


@dataclass(frozen=True, slots=True)
class ArrowPredicate:
    """A predicate that is an expression of pyarrow."""

    expression: Any
    #: The parts of the expression; None if they are not known, for the reason in problem.
    tree: Tree | None = None
    problem: str = ""

    @staticmethod
    def of(expression: Any) -> ArrowPredicate:
        """Return a predicate with its parts."""
        try:
            return ArrowPredicate(expression, tree_of(expression))
        except FormError as error:
            return ArrowPredicate(expression, problem=str(error))

    def check(self, columns: Columns) -> None:
        """Raise an error if the predicate names a column that the dataset does not have."""
        if self.tree is not None:
            columns.check_fields(text_of(self.tree), fields_of(self.tree))

    def is_exact(self, selection: StandaloneSelection) -> bool:
        """Return False: Spark takes no expressions of pyarrow."""
        return False

    def skipped(self, selection: StandaloneSelection) -> Pruned:
        """Return the indexed files without a matching row, and the parts of the predicate that were not used."""
        columns, text = selection.columns, str(self.expression)
        nothing: Mask = np.zeros(columns.snapshot.rows, np.bool_)
        schema = columns.schema
        if schema is None:
            reason = OtherReason(f"the schema of the dataset is not known: {columns.problem}")
            return Pruned(nothing, ((text, reason),))
        found = Pruned(nothing, ((text, OtherReason(self.problem)),))
        if self.tree is not None:
            recorded = partial(_recorded, selection.catalog, columns.doubted)
            partitions = frozenset(columns.snapshot.partitions)
            maker = NodeMaker(schema, recorded, partitions, case_sensitive=columns.case_sensitive)
            found = selection.skipped(maker.node(self.tree), tuple)
        # pyarrow takes x < NaN for TRUE of a file whose bounds it knows, and FALSE of each row, so that it rules out
        # files with rows for which ~(x < NaN) is TRUE.
        unused = tuple(pair for pair in found.unused if pair[1] is not Cause.IN_PARTITIONS)
        by_pyarrow = bool(found.unused) and not self._may_have_nan
        skip = found.skip | self._skipped_by_pyarrow(selection) if by_pyarrow else found.skip
        return Pruned(skip, unused, found.selection)

    @property
    def _may_have_nan(self) -> bool:
        """Return whether the expression may have the literal NaN."""
        return "nan" in str(self.expression).lower() if self.tree is None else has_nan(self.tree)

    def _skipped_by_pyarrow(self, selection: StandaloneSelection) -> Mask:
        """Return the files that pyarrow itself rules out by bounds and partition values."""
        columns = selection.columns
        snapshot, schema = columns.snapshot, columns.schema
        keys: list[Requirement] = [d.key for d, _ in snapshot.indexes if d.name == "minmax" and d.expression is None]
        table = snapshot.load_proven([*keys, *snapshot.partition_keys], selection.profile)
        assert schema is not None
        return skipped_by_expression(self.expression, table, schema, selection.catalog, columns.doubted)


def _recorded(catalog: IndexCatalog, doubted: frozenset[str], path: tuple[str, ...]) -> str | None:
    """Return the recorded type of a column; empty if the files differ in the column's type."""
    column = recorded_column(catalog, path)
    return None if column is None else "" if path[0] in doubted else column.type
