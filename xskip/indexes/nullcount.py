"""NullCount: how many rows of a column are NULL in each object, and how many rows there are.

Rules: specs/pruning.rst, [PRU-NC]. A null struct says that nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import IndexClause, Mask, Verdicts
from xskip.clauses.index_clause import ColumnClause, Once
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import IsNull, Leaf
from xskip.indexes.base import Accumulator, OneColumn
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Storage, Struct, arrow_type

__all__ = ["NullCount", "NullCountClause"]

_STORAGE = Struct((("nulls", "bigint"), ("rows", "bigint")))


@dataclass(frozen=True, slots=True)
class NullCount(OneColumn):
    """Counts of NULL in each object, of a column of any type: for ``IS NULL`` and ``IS NOT NULL``.

    Parameters
    ----------
    column : str
        A column, or a field such as ``a.b``; a name that holds a dot goes in backticks.
    key_label : str, optional
        Label of the key that encrypts this index.

    Examples
    --------
    >>> NullCount("deleted_at").columns
    ('deleted_at',)
    """

    name: ClassVar[str] = "nullcount"
    keeps_values: ClassVar[bool] = False

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Counts."""
        return (Accumulator("counts"),)

    def storage(self, types: Sequence[str]) -> Storage:
        """A struct of two numbers, ``nulls`` and ``rows``, whatever the column's type."""
        return _STORAGE

    def assemble(self, collected: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Both counts in one struct; a null one for an object of which nothing was collected."""
        kind = arrow_type(_STORAGE)
        nulls, rows = (values.cast(pa.int64()) for values in collected)
        return pa.StructArray.from_arrays(
            [nulls, rows], fields=list(kind), mask=pc.or_(nulls.is_null(), rows.is_null())
        )

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Every leaf about the column itself: is there a NULL, is there a value."""
        if isinstance(leaf.operand, Computed) or storage != _STORAGE:
            return None
        return NullCountClause(leaf, definition.key)


@dataclass(frozen=True, slots=True)
class NullCountClause(ColumnClause):
    """A leaf asked of the counts."""

    def verdicts(self, values: pa.Array, among: Mask, once: Once) -> Verdicts:
        """False where the leaf needs a NULL, or a value, and there is none; null where nothing was counted."""
        nulls, rows = (pc.struct_field(values, i) for i in (0, 1))
        # SQL: IS NULL is TRUE of NULL alone, and every other leaf of a value alone
        possible = pc.greater(nulls, 0) if isinstance(self.leaf, IsNull) else pc.less(nulls, rows)
        sound = pc.and_(pc.greater_equal(nulls, 0), pc.less_equal(nulls, rows))
        return pc.if_else(pc.and_(values.is_valid(), sound), possible, pa.scalar(None, pa.bool_()))
