"""ValueList: the distinct values of a column in each object.

Rules: specs/pruning.rst, [PRU-VL]. NULL is never in the list; an empty list says that the object holds no value; a
null list says that nothing is known, as for an object with more than ``max_values`` of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from xskip.clauses.index_clause import ValuesClause
from xskip.expressions.evaluate import matches
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import IsNull, Leaf
from xskip.indexes.base import Accumulator, OneColumn, Parameter, check_at_least_one, unsupported
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import BOUNDED, Array, Storage, atomic_name

__all__ = ["ValueList", "ValueListClause"]

_DEFAULT_MAX_VALUES = 10_000


@dataclass(frozen=True, slots=True)
class ValueList(OneColumn):
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

    max_values: int = _DEFAULT_MAX_VALUES
    name: ClassVar[str] = "valuelist"
    of_elements: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("max_values", "io.xskip.index.valuelist.maxvalues", int),)

    def __post_init__(self) -> None:
        OneColumn.__post_init__(self)
        check_at_least_one(self, "max_values")

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Values up to the cap."""
        return (Accumulator("values", self.max_values),)

    def storage(self, types: Sequence[str]) -> Storage:
        """An array of the column's type."""
        name = atomic_name(types[0])
        if name is None:
            raise unsupported("ValueList", self.column, types[0], BOUNDED)
        return Array(name)

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> ValueListClause | None:
        """Everything but IS NULL of the column, which the list says nothing of."""
        if isinstance(leaf, IsNull) and not isinstance(leaf.operand, Computed):
            return None
        return ValueListClause(leaf, definition.key, expensive=isinstance(leaf.operand, Computed))


@dataclass(frozen=True, slots=True)
class ValueListClause(ValuesClause):
    """Leaves asked of every value of the list."""

    def matching(self, leaf: Leaf, parts: pa.Array) -> pa.BooleanArray:
        """Is the leaf TRUE of the value."""
        return matches(leaf, parts)
