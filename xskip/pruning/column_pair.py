"""Comparison of two columns of a file by the bounds of each column. Rules: specs/pruning.rst, [PRU-CC]."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.bounds import Bounds
from xskip.clauses.clause import Mask, Verdicts
from xskip.clauses.function_bounds import bounds_of
from xskip.expressions.evaluate import cast_type, compare
from xskip.expressions.operands import Computed, Operand
from xskip.expressions.predicate import ColumnComparison, Op
from xskip.indexes.minmax import bounds_in
from xskip.metadata.table import MetadataTable, PartitionKey, Requirement
from xskip.types.datatypes import arrow_type
from xskip.types.sort_keys import sort_key

__all__ = ["ColumnPairClause"]


@dataclass(frozen=True, slots=True)
class ColumnPairClause:
    """A clause over two columns, each with bounds or with a partition value."""

    compared: ColumnComparison
    #: The sources of the columns' bounds: a MinMax index or a partition column.
    left: Requirement
    right: Requirement
    #: Whether cheaper clauses should run first.
    expensive: bool = False

    @property
    def predicate(self) -> str:
        """Return the comparison as text."""
        return str(self.compared)

    @property
    def asks_spark(self) -> bool:
        """Return whether a side of the comparison is a function, which Spark evaluates."""
        return isinstance(self.compared.left, Computed) or isinstance(self.compared.right, Computed)

    @property
    def needs(self) -> tuple[Requirement, ...]:
        """Return the sources of the bounds of both columns."""
        return self.left, self.right

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """Return false for each file whose bounds exclude the comparison; ``among`` has no effect.

        The verdict is false if no value of the left column satisfies the comparison with any value of the right column,
        or if all values of a column are NULL. It is null if bounds are missing.
        """
        left_side = _side(self.compared.left, self.left, table)
        right_side = _side(self.compared.right, self.right, table)
        if left_side is None or right_side is None:
            return pa.nulls(len(table), pa.bool_())
        (left, no_left), (right, no_right) = left_side, right_side
        # a comparison with NULL is never TRUE
        return pc.if_else(pc.or_(no_left, no_right), pa.scalar(False), _possible(self.compared.op, left, right))


def _possible(op: Op, left: Bounds, right: Bounds) -> pa.BooleanArray:
    """Return whether there can be values a in ``left`` and b in ``right`` with ``a op b``."""
    match op:
        case Op.LT | Op.LE:  # the least a and the greatest b decide
            return compare(op, left.lo, right.hi)
        case Op.GT | Op.GE:
            return compare(op, left.hi, right.lo)
        case Op.EQ:  # the ranges overlap
            return pc.and_kleene(compare(Op.LE, left.lo, right.hi), compare(Op.GE, left.hi, right.lo))
        case Op.NE:  # unless both ranges hold only one value, the same
            spread = pc.or_kleene(compare(Op.NE, left.lo, left.hi), compare(Op.NE, right.lo, right.hi))
            return pc.or_kleene(spread, compare(Op.NE, left.lo, right.lo))


def _side(operand: Operand, source: Requirement, table: MetadataTable) -> tuple[Bounds, pa.BooleanArray] | None:
    """Return the bounds of an operand and whether all rows of its column are NULL, or None if nothing is known."""
    match source:
        case PartitionKey(name):
            column = table.partitions.get(name)
            if column is None:
                return None
            bounds, empty = Bounds.of(operand, column.values, column.values), column.values.is_null()
        case key:
            index = table.indexes.get(key)
            if index is None:
                return None
            values = index.values
            bounds, bounded, unbounded = table.memo((key, cast_type(operand)), lambda: bounds_in(operand, values))
            empty = pc.and_(pc.invert(bounded), unbounded.is_valid())
    if not isinstance(operand, Computed):
        return bounds, empty
    of_null = operand(pa.nulls(1, arrow_type(operand.column.type)))
    least, greatest = bounds_of(operand, bounds.low, bounds.high)
    if of_null.failed[0] or of_null.values[0].is_valid:  # NULL rows get a value outside the bounds
        return None
    return Bounds(least, greatest, sort_key(least), sort_key(greatest)), empty
