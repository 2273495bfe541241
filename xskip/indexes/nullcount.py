"""NullCount: how many rows of a column are NULL in each object, and how many rows there are.

Rules: specs/pruning.rst, [PRU-NC]. A null struct says that nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses import IndexClause, Mask, Verdicts
from xskip.datatypes import Storage, Struct, arrow_type
from xskip.expressions import IsNull, Leaf
from xskip.indexes.base import Accumulator, check_column, column_of
from xskip.metadata import IndexDefinition, IndexKey, MetadataTable
from xskip.operands import Computed

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["NullCount", "NullCountClause"]

_STORAGE = Struct((("nulls", "bigint"), ("rows", "bigint")))


@dataclass(frozen=True, slots=True)
class NullCount:
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

    column: str
    key_label: str | None = None
    name: ClassVar[str] = "nullcount"
    keeps_values: ClassVar[bool] = False

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
    def from_definition(cls, definition: IndexDefinition) -> NullCount:
        """The index that metadata speaks of."""
        (column,) = definition.columns
        return cls(column, definition.key_label)

    @property
    def accumulator(self) -> Accumulator:
        """Counts."""
        return Accumulator("counts")

    def storage(self, types: Sequence[str]) -> Storage:
        """A struct of two numbers, ``nulls`` and ``rows``, whatever the column's type."""
        return _STORAGE

    def aggregates(self, columns: Sequence[SparkColumn], types: Sequence[str]) -> Sequence[SparkColumn]:
        """Rows that are NULL, and rows."""
        from pyspark.sql import functions as F

        return F.sum(F.when(columns[0].isNull(), 1).otherwise(0)).cast("bigint"), F.count(F.lit(1))

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
class NullCountClause:
    """A leaf asked of the counts."""

    leaf: Leaf
    requires: IndexKey
    expensive: bool = False

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """False where the leaf needs a NULL, or a value, and there is none; null where nothing was counted."""
        column = column_of(table, self.requires)
        if column is None:
            return pa.nulls(len(table), pa.bool_())
        nulls, rows = (pc.struct_field(column.values, i) for i in (0, 1))
        # SQL: IS NULL is TRUE of NULL alone, and every other leaf of a value alone
        possible = pc.greater(nulls, 0) if isinstance(self.leaf, IsNull) else pc.less(nulls, rows)
        return pc.if_else(column.values.is_valid(), possible, pa.scalar(None, pa.bool_()))
