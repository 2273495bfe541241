"""MinMax: the least and the greatest value of a column in each object.

Rules: specs/pruning.rst, [PRU-MM]. NULL rows are outside of the bounds. A struct of two nulls says that the object
holds no value at all (all rows NULL, or no rows); a null struct says that nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.bounds import Bounds, possible
from xskip.clauses.clause import IndexClause, Mask, Verdicts
from xskip.clauses.index_clause import ColumnClause, Once
from xskip.expressions.evaluate import cast_type, null_may_match
from xskip.expressions.operands import Computed, Operand
from xskip.expressions.predicate import IsNull, Leaf
from xskip.indexes.base import Accumulator, OneColumn, unsupported
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import BOUNDED, Storage, Struct, arrow_type, atomic_name

__all__ = ["MinMax", "MinMaxClause", "bounds_in"]


@dataclass(frozen=True, slots=True)
class MinMax(OneColumn):
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

    name: ClassVar[str] = "minmax"
    of_elements: ClassVar[bool] = True

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Bounds."""
        return (Accumulator("bounds"),)

    def storage(self, types: Sequence[str]) -> Storage:
        """A struct of ``min`` and ``max`` of the column's type."""
        name = atomic_name(types[0])
        if name is None:
            raise unsupported("MinMax", self.column, types[0], BOUNDED)
        return Struct((("min", name), ("max", name)))

    def assemble(self, collected: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Both bounds in one struct; nulls where the object has no values."""
        kind = arrow_type(self.storage(types))
        lo, hi = (values.cast(kind[0].type) for values in collected)
        return pa.StructArray.from_arrays([lo, hi], fields=list(kind))

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Everything but IS NULL of the column, which bounds say nothing of."""
        if isinstance(leaf, IsNull) and not isinstance(leaf.operand, Computed):
            return None
        return MinMaxClause(leaf, definition.key, expensive=isinstance(leaf.operand, Computed))


@dataclass(frozen=True, slots=True)
class MinMaxClause(ColumnClause):
    """A leaf asked of the bounds."""

    def verdicts(self, values: pa.Array, among: Mask, once: Once) -> Verdicts:
        """False where no value between the bounds can match; null where there are no bounds to ask."""
        operand = self.leaf.operand
        bounds, asked, unasked = once(cast_type(operand), lambda: bounds_in(operand, values))
        found = possible(self.leaf, bounds)
        # of rows that are NULL bounds do not speak
        return pc.invert(unasked) if null_may_match(self.leaf) else pc.if_else(asked, found, unasked)


def bounds_in(operand: Operand, values: pa.Array) -> tuple[Bounds, pa.BooleanArray, pa.BooleanArray]:
    """Bounds, where there is one to ask, and the verdict on the others: false where there is no value, else null."""
    low, high = (pc.struct_field(values, side) for side in (0, 1))
    unasked = pc.if_else(values.is_valid(), pa.scalar(False), pa.scalar(None, pa.bool_()))
    return (
        Bounds.of(operand, low, high, within=values),
        pc.or_(low.is_valid(), high.is_valid()),
        unasked,
    )
