"""GapList: ranges that hold every number of a column in each object, with the widest gaps between them.

Rules: specs/pruning.rst, [PRU-GL]. NULL rows are outside of the ranges; an empty list says that the object holds no
value; a null list says that nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from xskip.clauses.bounds import Bounds, possible
from xskip.clauses.clause import IndexClause
from xskip.clauses.index_clause import Lists, PartsClause
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import IsNull, Leaf
from xskip.indexes.base import Accumulator, OneColumn, Parameter, check_at_least_one, unsupported
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import INTEGRAL, Array, Storage, decimal_digits

__all__ = ["GapList", "GapListClause"]

_SERVED = (*INTEGRAL, "float", "double", "date", "timestamp", "timestamp_ntz")
#: A decimal of so many digits is a long.
_LONGEST = 18


@dataclass(frozen=True, slots=True)
class GapList(OneColumn):
    """The widest gaps between a column's numbers in each object: for values in clusters, far from each other.

    Parameters
    ----------
    column : str
        A column of numbers or times, or a field such as ``a.b``; a name that holds a dot goes in backticks.
    gaps : int
        So many at most.
    key_label : str, optional
        Label of the key that encrypts this index.

    Examples
    --------
    >>> GapList("price", gaps=4).params
    (('io.xskip.index.gaplist.gaps', '4'),)
    """

    gaps: int = 8
    name: ClassVar[str] = "gaplist"
    of_elements: ClassVar[bool] = True
    keeps_values: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("gaps", "io.xskip.index.gaplist.gaps", int),)

    def __post_init__(self) -> None:
        OneColumn.__post_init__(self)
        check_at_least_one(self, "gaps")

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Ranges, one more than gaps."""
        return (Accumulator("ranges", self.gaps + 1),)

    def storage(self, types: Sequence[str]) -> Storage:
        """An array of the column's type: the ends of the ranges in turn."""
        digits = decimal_digits(types[0])
        if types[0] not in _SERVED and (digits is None or digits[0] > _LONGEST):
            raise unsupported("GapList", self.column, types[0], (*_SERVED, f"decimal of at most {_LONGEST} digits"))
        return Array(types[0])

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Everything but IS NULL of the column, which ranges say nothing of."""
        if isinstance(leaf, IsNull) and not isinstance(leaf.operand, Computed):
            return None
        return GapListClause(leaf, definition.key, expensive=isinstance(leaf.operand, Computed))


@dataclass(frozen=True, slots=True)
class GapListClause(PartsClause[list[pa.Array]]):
    """Leaves asked of every range."""

    def parts(self, values: pa.Array) -> tuple[Lists, list[pa.Array]] | None:
        """The lower and the upper ends."""
        return Lists.of_groups(values, 2)

    def matching(self, leaf: Leaf, parts: list[pa.Array]) -> pa.BooleanArray:
        """Can the leaf be TRUE of a value in the range."""
        return possible(leaf, Bounds.of(leaf.operand, *parts))
