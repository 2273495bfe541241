"""The index type NullCount: the number of NULL rows of a column and the number of rows, per file.

Rules: specs/pruning.rst, [PRU-NC]. A null struct means that nothing is known of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import IndexClause, Mask, Verdicts
from xskip.clauses.index_clause import ColumnClause, Memo
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import IsNull, Leaf
from xskip.indexes.accumulator import Accumulator
from xskip.indexes.base import OneColumn
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Storage, Struct, arrow_type

__all__ = ["NullCount", "NullCountClause"]

_STORAGE = Struct((("nulls", "bigint"), ("rows", "bigint")))


@dataclass(frozen=True, slots=True)
class NullCount(OneColumn):
    """An index of NULL counts per file, for ``IS NULL`` and ``IS NOT NULL`` on columns of any type.

    Parameters
    ----------
    column : str
        A column, or a struct field such as ``a.b``. Put a name that contains a dot in backticks.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.
    expression : bool
        Whether ``column`` is an SQL expression such as ``size(tags)``, which queries must contain in the same form.

    Raises
    ------
    IndexDefinitionError
        If ``column`` is not a valid column path.

    Examples
    --------
    >>> NullCount("deleted_at").columns
    ('deleted_at',)
    """

    name: ClassVar[str] = "nullcount"
    keeps_values: ClassVar[bool] = False

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return the accumulator of NULL and row counts."""
        return (Accumulator("counts"),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return a struct of two numbers, ``nulls`` and ``rows``, for a column of any type."""
        return _STORAGE

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Combine both counts into one struct per file; the struct is null for a file without counts."""
        kind = arrow_type(_STORAGE)
        nulls, rows = (values.cast(pa.int64()) for values in results)
        return pa.StructArray.from_arrays(
            [nulls, rows], fields=list(kind), mask=pc.or_(nulls.is_null(), rows.is_null())
        )

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Return a clause for any leaf about the column itself, or None for a leaf about a function of the column."""
        if isinstance(leaf.operand, Computed) or storage != _STORAGE:
            return None
        return NullCountClause(leaf, definition.key)


@dataclass(frozen=True, slots=True)
class NullCountClause(ColumnClause):
    """A clause that tests a leaf against NULL counts."""

    def verdicts(self, values: pa.Array, among: Mask, memo: Memo) -> Verdicts:
        """Return false for files that lack the NULL row or the value that the leaf needs; null without sound counts."""
        nulls, rows = (pc.struct_field(values, i) for i in (0, 1))
        # in SQL, IS NULL is TRUE only for NULL, and every other leaf can be TRUE only for a value that is not NULL
        possible = pc.greater(nulls, 0) if isinstance(self.leaf, IsNull) else pc.less(nulls, rows)
        # other counts contradict each other, and decide nothing [PRU-V-10]
        sound = pc.and_(pc.greater_equal(nulls, 0), pc.less_equal(nulls, rows))
        return pc.if_else(pc.and_(values.is_valid(), sound), possible, pa.scalar(None, pa.bool_()))
