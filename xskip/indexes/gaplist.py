"""The index type GapList: ranges that cover every number of a column in a file, separated by the widest gaps.

Rules: specs/pruning.rst, [PRU-GL]. The ranges ignore NULL rows. An empty list means that the file holds no value except
NULL. A null list means that nothing is known of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa

from xskip.clauses.bounds import Bounds, possible
from xskip.clauses.clause import IndexClause
from xskip.clauses.index_clause import Lists, PartsClause
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import IsNull, Leaf
from xskip.indexes.accumulator import Accumulator
from xskip.indexes.argument_checks import check_at_least_one, unsupported
from xskip.indexes.base import OneColumn, Parameter
from xskip.indexes.omissions import groups_omit
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import INTEGRAL, Array, Storage, decimal_digits

__all__ = ["GapList", "GapListClause"]

_SERVED = (*INTEGRAL, "float", "double", "date", "timestamp", "timestamp_ntz")
#: The largest precision of a decimal whose unscaled value fits in a 64-bit integer.
_LONGEST = 18
_MAX_GAPS = 100_000


@dataclass(frozen=True, slots=True)
class GapList(OneColumn):
    """An index of the widest gaps between a column's numbers per file, for values in distant clusters.

    Parameters
    ----------
    column : str
        A column of numbers or times, or a struct field such as ``a.b``. Put a name that contains a dot in backticks.
    gaps : int
        The maximum number of gaps, at least 1. If several tasks read parts of a file, the maximum applies per task.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.
    expression : bool
        Whether ``column`` is an SQL expression such as ``size(tags)``, which queries must contain in the same form.

    Raises
    ------
    IndexDefinitionError
        If ``column`` is not a valid column path, or ``gaps`` is below 1.

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
        """Return the accumulator of ranges, whose number is at most one more than the number of gaps."""
        return (Accumulator("ranges", self.gaps + 1),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return an array of the column's type, for the alternating lower and upper ends of the ranges."""
        digits = decimal_digits(types[0])
        if types[0] not in _SERVED and (digits is None or digits[0] > _LONGEST):
            raise unsupported("GapList", self.column, types[0], (*_SERVED, f"decimal of at most {_LONGEST} digits"))
        return Array(types[0])

    def omits(self, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
        """Return whether a value lies outside of the stored ranges, see :meth:`OneColumn.omits`."""
        return groups_omit(stored, actual, 2)

    def exact(self) -> GapList:
        """Return an index whose ranges are single values, for files with up to 100,000 values.

        Returns
        -------
        GapList
            The same index with more gaps.
        """
        return replace(self, gaps=_MAX_GAPS)

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Return a clause for any leaf except ``IS NULL`` on the column itself, because ranges ignore NULL rows."""
        if isinstance(leaf, IsNull) and not isinstance(leaf.operand, Computed):
            return None
        # a function may need Spark, so its clause runs only on files that cheaper clauses leave
        return GapListClause(leaf, definition.key, expensive=isinstance(leaf.operand, Computed))


@dataclass(frozen=True, slots=True)
class GapListClause(PartsClause[list[pa.Array]]):
    """A clause that tests leaves against every range."""

    def parts(self, values: pa.Array) -> tuple[Lists, list[pa.Array]] | None:
        """Return the lists of ranges, with all lower ends and all upper ends, or None if an end has no counterpart."""
        # an odd number of ends cannot be ranges: such lists decide nothing
        return Lists.of_groups(values, 2)

    def matching(self, leaf: Leaf, parts: list[pa.Array]) -> pa.BooleanArray:
        """Return, for each range, whether the leaf can be TRUE for a value in the range; null means unknown."""
        # each value lies in a range, so a leaf that is possible in no range is TRUE for no value [PRU-GL-1]
        return possible(leaf, Bounds.of(leaf.operand, *parts))
