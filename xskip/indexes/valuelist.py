"""The index type ValueList: the distinct values of a column per file.

Rules: specs/pruning.rst, [PRU-VL]. The list never contains NULL. An empty list means that the file holds no value
except NULL. A null list means that nothing is known, for example of a file with more than ``max_values`` values.
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
from xskip.indexes.accumulator import Accumulator
from xskip.indexes.argument_checks import check_at_least_one, unsupported
from xskip.indexes.base import OneColumn, Parameter
from xskip.indexes.omissions import lists_omit
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import BOUNDED, Array, Storage, atomic_name

__all__ = ["ValueList", "ValueListClause"]

_DEFAULT_MAX_VALUES = 10_000


@dataclass(frozen=True, slots=True)
class ValueList(OneColumn):
    """An index of the distinct values of a column per file, for columns with few values in a file.

    Parameters
    ----------
    column : str
        A column, or a struct field such as ``a.b``. Put a name that contains a dot in backticks.
    max_values : int
        The maximum length of a list, at least 1. The index never skips a file with more distinct values.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.
    expression : bool
        Whether ``column`` is an SQL expression such as ``size(tags)``, which queries must contain in the same form.

    Raises
    ------
    IndexDefinitionError
        If ``column`` is not a valid column path, or ``max_values`` is below 1.

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
        """Return the accumulator of at most ``max_values`` distinct values."""
        return (Accumulator("values", self.max_values),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return an array of the column's type."""
        name = atomic_name(types[0])
        if name is None:
            raise unsupported("ValueList", self.column, types[0], BOUNDED)
        return Array(name)

    def omits(self, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
        """Return whether a value is missing from the stored list, see :meth:`OneColumn.omits`."""
        return lists_omit(stored, actual, self.max_values)

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> ValueListClause | None:
        """Return a clause for any leaf except ``IS NULL`` on the column itself, because lists omit NULL."""
        if isinstance(leaf, IsNull) and not isinstance(leaf.operand, Computed):
            return None
        return ValueListClause(leaf, definition.key, expensive=isinstance(leaf.operand, Computed))


@dataclass(frozen=True, slots=True)
class ValueListClause(ValuesClause):
    """A clause that tests leaves against every value of a list."""

    def matching(self, leaf: Leaf, parts: pa.Array) -> pa.BooleanArray:
        """Return, for each value of the column, whether the leaf is TRUE for the value."""
        # the list has every value of the file, so the verdict is exact, also for negated leaves [PRU-VL-1]
        return matches(leaf, parts)
