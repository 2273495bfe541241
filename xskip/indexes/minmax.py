"""The index type MinMax: the minimum and the maximum of a column per file.

Rules: specs/pruning.rst, [PRU-MM]. The bounds ignore NULL rows. A struct of two nulls means that the file holds no
value except NULL: all rows are NULL, or the file has no rows. A null struct means that nothing is known of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.bounds import Bounds, possible
from xskip.clauses.clause import IndexClause, Mask, Verdicts
from xskip.clauses.index_clause import ColumnClause, Memo
from xskip.expressions.evaluate import cast_type, null_may_match
from xskip.expressions.operands import Computed, Operand
from xskip.expressions.predicate import IsNull, Leaf
from xskip.indexes.accumulator import Accumulator
from xskip.indexes.argument_checks import unsupported
from xskip.indexes.base import OneColumn
from xskip.indexes.omissions import bounds_omit
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import BOUNDED, Storage, Struct, arrow_type, atomic_name

__all__ = ["MinMax", "MinMaxClause", "bounds_in"]


@dataclass(frozen=True, slots=True)
class MinMax(OneColumn):
    """An index of a column's bounds per file, for ranges, equality and prefixes on columns that order the data.

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
    >>> MinMax("ts").columns
    ('ts',)
    """

    name: ClassVar[str] = "minmax"
    of_elements: ClassVar[bool] = True

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return the accumulator of bounds."""
        return (Accumulator("bounds"),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return a struct of ``min`` and ``max``, both of the column's type."""
        name = atomic_name(types[0])
        if name is None:
            raise unsupported("MinMax", self.column, types[0], BOUNDED)
        return Struct((("min", name), ("max", name)))

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Combine both bounds into one struct per file; the bounds of a file without values are null."""
        kind = arrow_type(self.storage(types))
        lo, hi = (values.cast(kind[0].type) for values in results)
        return pa.StructArray.from_arrays([lo, hi], fields=list(kind))

    def omits(self, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
        """Return whether a value lies outside of the stored bounds, see :meth:`OneColumn.omits`."""
        return bounds_omit(stored, actual)

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Return a clause for any leaf except ``IS NULL`` on the column itself, because bounds ignore NULL rows."""
        return MinMaxClause.of(leaf, definition)


@dataclass(frozen=True, slots=True)
class MinMaxClause(ColumnClause):
    """A clause that tests a leaf against bounds."""

    @classmethod
    def of(cls, leaf: Leaf, definition: IndexDefinition) -> MinMaxClause | None:
        """Return a clause for a leaf, or None for ``IS NULL`` on the column itself."""
        is_function = isinstance(leaf.operand, Computed)
        # bounds ignore NULL rows [PRU-MM-6]
        if isinstance(leaf, IsNull) and not is_function:
            return None
        return cls(leaf, definition.key, expensive=is_function)

    def verdicts(self, values: pa.Array, among: Mask, memo: Memo) -> Verdicts:
        """Return false for files where no value between the bounds can match; null where a needed bound is unknown."""
        operand = self.leaf.operand
        bounds, has_bounds, verdict_without_bounds = memo(cast_type(operand), lambda: bounds_in(operand, values))
        found = possible(self.leaf, bounds)
        # every value lies between the bounds, so a leaf that is possible for none of them is TRUE for no value
        # [PRU-MM-1]; bounds ignore NULL rows: where a NULL row may match, every file with metadata stays [PRU-FN-2]
        return (
            pc.invert(verdict_without_bounds)
            if null_may_match(self.leaf)
            else pc.if_else(has_bounds, found, verdict_without_bounds)
        )


def bounds_in(operand: Operand, values: pa.Array) -> tuple[Bounds, pa.BooleanArray, pa.BooleanArray]:
    """Return the bounds of an operand, which files have a bound, and the verdict for the files without.

    ``values`` is the metadata of a MinMax index: a struct of ``min`` and ``max`` per file.
    """
    low, high = (pc.struct_field(values, side) for side in (0, 1))
    # a valid struct without bounds states that the file holds no value except NULL, so that no leaf but IS NULL is TRUE
    # [PRU-MM-7]; a null struct states nothing [PRU-V-3]
    verdict_without_bounds = pc.if_else(values.is_valid(), pa.scalar(False), pa.scalar(None, pa.bool_()))
    return (
        Bounds.of(operand, low, high, within=values),
        pc.or_(low.is_valid(), high.is_valid()),
        verdict_without_bounds,
    )
