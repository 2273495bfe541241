"""MinMax: the least and the greatest value of a column in each object.

Rules: specs/pruning.rst, [PRU-MM]. NULL rows are outside of the bounds. A struct of two nulls says that the object
holds no value at all (all rows NULL, or no rows); a null struct says that nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses import IndexClause, Mask, Verdicts
from xskip.datatypes import BOUNDED, Storage, Struct, arrow_type, atomic_name
from xskip.expressions import Comparison, In, IsNotNull, IsNull, Leaf, NotIn, NotStartsWith, Op, StartsWith
from xskip.indexes.base import Accumulator, check_column, column_of, unsupported
from xskip.metadata import IndexDefinition, IndexKey, MetadataTable
from xskip.monotone import bounds_of
from xskip.operands import Computed
from xskip.ordering import as_operand, compare, literal_key, literal_keys, matches, of_null, prefix_end, sort_key

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["MinMax", "MinMaxClause"]


@dataclass(frozen=True, slots=True)
class MinMax:
    """Bounds of a column in each object: for ranges, equality and prefixes on columns that data is ordered by.

    Parameters
    ----------
    column : str
        A column, or a field such as ``a.b``; a name that holds a dot goes in backticks.
    key_label : str, optional
        Label of the key that encrypts this index.

    Examples
    --------
    >>> MinMax("ts").columns
    ('ts',)
    """

    column: str
    key_label: str | None = None
    name: ClassVar[str] = "minmax"
    keeps_values: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_column(self.column)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, alone."""
        return (self.column,)

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """None."""
        return ()

    @classmethod
    def from_definition(cls, definition: IndexDefinition) -> MinMax:
        """The index that metadata speaks of."""
        (column,) = definition.columns
        return cls(column, definition.key_label)

    @property
    def accumulator(self) -> Accumulator:
        """Bounds."""
        return Accumulator("bounds")

    def storage(self, types: Sequence[str]) -> Storage:
        """A struct of ``min`` and ``max`` of the column's type."""
        name = atomic_name(types[0])
        if name is None:
            raise unsupported("MinMax", self.column, types[0], BOUNDED)
        return Struct((("min", name), ("max", name)))

    def aggregates(self, columns: Sequence[SparkColumn], types: Sequence[str]) -> Sequence[SparkColumn]:
        """Spark's own ``min`` and ``max``: its order decides."""
        from pyspark.sql import functions as F

        return F.min(columns[0]), F.max(columns[0])

    def assemble(self, collected: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Both bounds in one struct; nulls where the object has no values."""
        kind = arrow_type(self.storage(types))
        lo, hi = (values.cast(kind[0].type) for values in collected)
        return pa.StructArray.from_arrays([lo, hi], fields=list(kind))

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Everything but IS NULL of the column, which bounds say nothing of."""
        if isinstance(leaf, IsNull) and not isinstance(leaf.operand, Computed):
            return None
        return MinMaxClause(leaf, definition.key, isinstance(leaf.operand, Computed))


@dataclass(frozen=True, slots=True)
class MinMaxClause:
    """A leaf asked of the bounds."""

    leaf: Leaf
    requires: IndexKey
    expensive: bool = False

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """False where no value between the bounds can match; null where there are no bounds to ask."""
        column = column_of(table, self.requires)
        if column is None:
            return pa.nulls(len(table), pa.bool_())
        known = column.values.is_valid()
        low, high = (as_operand(self.leaf, pc.struct_field(column.values, i)) for i in (0, 1))
        no_value = pc.and_(pc.and_(low.is_null(), high.is_null()), known)
        operand = self.leaf.operand
        if isinstance(operand, Computed):
            possible = pc.or_kleene(self._computed(operand, low, high), pa.scalar(of_null(self.leaf)))
        else:
            possible = self._possible(sort_key(low), sort_key(high))
        of_none = pa.scalar(of_null(self.leaf))  # SQL: of NULL alone a leaf about the column itself is never TRUE
        return pc.if_else(known, pc.if_else(no_value, of_none, possible), pa.scalar(None, pa.bool_()))

    def _computed(self, operand: Computed, low: pa.Array, high: pa.Array) -> pa.BooleanArray:
        """Of one value alone a function is asked of that value; of a range where it follows the order."""
        least, greatest = bounds_of(operand, low, high)
        between = self._possible(sort_key(least), sort_key(greatest))
        if pa.types.is_floating(low.type):  # -0.0 and 0.0 are one value by order, and two for a function
            return between
        single = compare(Op.EQ, sort_key(low), sort_key(high)).fill_null(False)
        return pc.if_else(single, matches(self.leaf, pc.if_else(single, low, pa.scalar(None, low.type))), between)

    def _possible(self, lo: pa.Array, hi: pa.Array) -> pa.BooleanArray:
        """Can a value v with lo <= v <= hi match; null where a bound is missing."""
        match self.leaf:
            case IsNotNull() | IsNull():
                return pa.array(np.full(len(lo), True))
            case Comparison(op, operand, value):
                return _compared(op, lo, hi, literal_key(value, operand.type))
            case In(operand, wanted):
                return _any_between(lo, hi, literal_keys(wanted, operand.type))
            case NotIn(operand, wanted, has_null):
                if has_null:  # x NOT IN (…, NULL) is FALSE or NULL, never TRUE
                    return pa.array(np.full(len(lo), False))
                # every value is lo: lo = hi, and lo is excluded
                excluded = pc.is_in(lo, literal_keys(wanted, operand.type))
                return pc.invert(pc.and_kleene(compare(Op.EQ, lo, hi), excluded))
            case StartsWith(_, prefix):
                return _prefixed(lo, hi, prefix)
            case NotStartsWith(_, prefix):
                # lo and hi both in [prefix, end) <=> every value starts with the prefix
                end = prefix_end(prefix)
                inside = compare(Op.GE, lo, pa.scalar(prefix, lo.type))
                below = pa.array(np.full(len(lo), True)) if end is None else compare(Op.LT, hi, pa.scalar(end, hi.type))
                return pc.invert(pc.and_kleene(inside, below))


def _compared(op: Op, lo: pa.Array, hi: pa.Array, value: pa.Scalar) -> pa.BooleanArray:
    match op:
        case Op.EQ:  # some v = value  <=>  lo <= value <= hi
            return pc.and_kleene(compare(Op.LE, lo, value), compare(Op.GE, hi, value))
        case Op.NE:  # no v != value  <=>  lo = value = hi
            return pc.or_kleene(compare(Op.NE, lo, value), compare(Op.NE, hi, value))
        case Op.LT | Op.LE:  # some v < value  <=>  lo < value
            return compare(op, lo, value)
        case Op.GT | Op.GE:  # some v > value  <=>  hi > value
            return compare(op, hi, value)


def _any_between(lo: pa.Array, hi: pa.Array, wanted: pa.Array) -> pa.BooleanArray:
    """Does any wanted value lie in [lo, hi]: the least wanted value that is >= lo is <= hi.

    Values and bounds are replaced by their ranks among all of them, so that one search serves every type.
    """
    ranks = pc.rank(pa.concat_arrays([wanted, lo, hi]), tiebreaker="dense").to_numpy(zero_copy_only=False)
    values, lows, highs = np.split(ranks.astype(np.int64), [len(wanted), len(wanted) + len(lo)])
    values.sort()
    at = np.searchsorted(values, lows)
    least = np.append(values, np.iinfo(np.int64).max)[at]
    missing = pc.or_(lo.is_null(), hi.is_null()).to_numpy(zero_copy_only=False)
    return pa.array(least <= highs, mask=missing)


def _prefixed(lo: pa.Array, hi: pa.Array, prefix: bytes) -> pa.BooleanArray:
    """Can a value start with the prefix: [lo, hi] meets [prefix, prefix_end)."""
    reaches = compare(Op.GE, hi, pa.scalar(prefix, hi.type))
    end = prefix_end(prefix)
    return reaches if end is None else pc.and_kleene(reaches, compare(Op.LT, lo, pa.scalar(end, lo.type)))
