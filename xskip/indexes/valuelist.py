"""ValueList: the distinct values of a column in each object.

Rules: specs/pruning.rst, [PRU-VL]. NULL is never in the list; an empty list says that the object holds no value; a
null list says that nothing is known, as for an object with more than ``max_values`` of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from xskip.clauses import IndexClause, Mask, Verdicts
from xskip.datatypes import BOUNDED, Array, Storage, arrow_type, atomic_name
from xskip.errors import IndexDefinitionError
from xskip.expressions import IsNull, Leaf
from xskip.indexes.base import Accumulator, Lists, any_in_each, check_column, column_of, unsupported
from xskip.metadata import IndexDefinition, IndexKey, MetadataTable
from xskip.operands import Computed
from xskip.ordering import matches, of_null

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["ValueList", "ValueListClause"]

_MAX_VALUES = "io.xskip.index.valuelist.maxvalues"
_DEFAULT_MAX_VALUES = 10_000


@dataclass(frozen=True, slots=True)
class ValueList:
    """All values of a column in each object: for columns with few values in each file.

    Parameters
    ----------
    column : str
        A column, or a field such as ``a.b``; a name that holds a dot goes in backticks.
    max_values : int
        An object with more distinct values has no list, and is always read.
    key_label : str, optional
        Label of the key that encrypts this index.

    Examples
    --------
    >>> ValueList("city", max_values=100).params
    (('io.xskip.index.valuelist.maxvalues', '100'),)
    """

    column: str
    max_values: int = _DEFAULT_MAX_VALUES
    key_label: str | None = None
    name: ClassVar[str] = "valuelist"
    keeps_values: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_column(self.column)
        if self.max_values < 1:
            raise IndexDefinitionError(
                "ValueList with an impossible cap", found=f"max_values={self.max_values}", expected="1 or more"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, alone."""
        return (self.column,)

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """The cap, where it is not the default."""
        return () if self.max_values == _DEFAULT_MAX_VALUES else ((_MAX_VALUES, str(self.max_values)),)

    @classmethod
    def from_definition(cls, definition: IndexDefinition) -> ValueList:
        """The index that metadata speaks of."""
        (column,) = definition.columns
        cap = dict(definition.params).get(_MAX_VALUES, _DEFAULT_MAX_VALUES)
        return cls(column, int(cap), definition.key_label)

    @property
    def accumulator(self) -> Accumulator:
        """Values up to the cap."""
        return Accumulator("values", self.max_values)

    def storage(self, types: Sequence[str]) -> Storage:
        """An array of the column's type."""
        name = atomic_name(types[0])
        if name is None:
            raise unsupported("ValueList", self.column, types[0], BOUNDED)
        return Array(name)

    def aggregates(self, columns: Sequence[SparkColumn], types: Sequence[str]) -> Sequence[SparkColumn]:
        """Spark's ``collect_set``, dropped on the executors where it outgrew the cap."""
        from pyspark.sql import functions as F

        values = F.collect_set(columns[0])
        return (F.when(F.size(values) <= self.max_values, values),)

    def assemble(self, collected: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """The lists as they are."""
        return collected[0].cast(arrow_type(self.storage(types)))

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Everything but IS NULL of the column, which the list says nothing of."""
        if isinstance(leaf, IsNull) and not isinstance(leaf.operand, Computed):
            return None
        return ValueListClause(leaf, definition.key, isinstance(leaf.operand, Computed))


@dataclass(frozen=True, slots=True)
class ValueListClause:
    """A leaf asked of every value of the list."""

    leaf: Leaf
    requires: IndexKey
    expensive: bool = False

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """False where the leaf is TRUE of no value in the list; null where there is no list."""
        column = column_of(table, self.requires)
        if column is None:
            return pa.nulls(len(table), pa.bool_())
        lists = Lists.of(column.values)
        found = any_in_each(lists, matches(self.leaf, lists.values)) | of_null(self.leaf)
        return pa.array(found, mask=column.values.is_null().to_numpy(zero_copy_only=False))
