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

from xskip.bounds import possible
from xskip.clauses import IndexClause, Mask, Verdicts
from xskip.datatypes import BOUNDED, Storage, Struct, arrow_type, atomic_name
from xskip.expressions import IsNull, Leaf
from xskip.indexes.asking import ColumnClause
from xskip.indexes.base import Accumulator, OneColumn, unsupported
from xskip.metadata import IndexDefinition
from xskip.operands import Computed
from xskip.ordering import of_null

__all__ = ["MinMax", "MinMaxClause"]


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

    def verdicts(self, values: pa.Array, among: Mask) -> Verdicts:
        """False where no value between the bounds can match; null where there are no bounds to ask."""
        known = values.is_valid()
        low, high = (pc.struct_field(values, i) for i in (0, 1))
        no_value = pc.and_(pc.and_(low.is_null(), high.is_null()), known)
        of_none = pa.scalar(of_null(self.leaf))  # SQL: of NULL alone a leaf about the column itself is never TRUE
        found = pc.or_kleene(possible(self.leaf, low, high), of_none)
        return pc.if_else(known, pc.if_else(no_value, of_none, found), pa.scalar(None, pa.bool_()))
