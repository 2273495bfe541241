"""GeoBox: boxes that hold every point of two columns in each object.

Rules: specs/pruning.rst, [PRU-GB]. A row of which one column is NULL is in a box without bounds on that side; a row of
which both are is in none. An empty list says that the object holds no value of either; a null list says that nothing is
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from xskip.clauses.bounds import Bounds, possible
from xskip.clauses.clause import IndexClause
from xskip.clauses.index_clause import Lists, PartsClause, conjoin
from xskip.errors import IndexDefinitionError
from xskip.expressions.operands import Cast, Column, column_of, join_path, quoted
from xskip.expressions.predicate import Comparison, In, IsNotNull, Leaf, NotIn
from xskip.indexes.base import (
    Accumulator,
    Input,
    Parameter,
    attributes_of,
    check_at_least_one,
    check_column,
    params_of,
    unsupported,
)
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Array, Storage, arrow_type

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["GeoBox", "GeoBoxClause"]

#: The types of which every value is a double.
_SERVED = ("double", "float", "int", "smallint", "tinyint")


@dataclass(frozen=True, slots=True)
class GeoBox:
    """Boxes around the points of two columns in each object: for filters that bound both, and for distances.

    A distance is a function of yours: :func:`xskip.register_function` says which box it stays in.

    Parameters
    ----------
    x, y : str
        Columns of numbers, or fields such as ``a.b``; a name that holds a dot goes in backticks.
    boxes : int
        So many at most.
    key_label : str, optional
        Label of the key that encrypts this index.

    Examples
    --------
    >>> GeoBox("lon", "lat").columns
    ('lon', 'lat')
    """

    x: str
    y: str
    boxes: int = 8
    key_label: str | None = field(default=None, kw_only=True)
    name: ClassVar[str] = "geobox"
    keeps_values: ClassVar[bool] = False
    of_elements: ClassVar[bool] = False
    of_calls: ClassVar[bool] = False
    expression: ClassVar[bool] = False
    in_python: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("boxes", "io.xskip.index.geobox.boxes", int),)

    def __post_init__(self) -> None:
        check_column(self.x)
        check_column(self.y)
        check_at_least_one(self, "boxes")
        if self.x == self.y:
            raise IndexDefinitionError("GeoBox of one column", found=self.x, expected="two columns")

    @property
    def columns(self) -> tuple[str, ...]:
        """Both columns."""
        return self.x, self.y

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """The number of boxes, where it is not the default."""
        return params_of(self, self.parameters)

    @classmethod
    def from_definition(cls, definition: IndexDefinition) -> GeoBox:
        """The index that metadata speaks of."""
        x, y = definition.columns
        return cls(x, y, key_label=definition.key_label, **attributes_of(definition, cls.parameters))

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Boxes."""
        return (Accumulator("boxes", self.boxes),)

    def storage(self, types: Sequence[str]) -> Storage:
        """An array of doubles: of each box the least and greatest x, and the least and greatest y."""
        for column, kind in zip(self.columns, types, strict=True):
            if kind not in _SERVED:
                raise unsupported("GeoBox", column, kind, _SERVED)
        return Array("double")

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """Points, as arrays of two doubles."""
        numbers = ", ".join(f"CAST({quoted(column)} AS DOUBLE)" for column in columns)
        return [Input(f"array({numbers})", "array<double>")]

    def aggregates(self, inputs: Sequence[SparkColumn]) -> Sequence[SparkColumn]:
        """None."""
        return ()

    def assemble(self, collected: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """The lists as they are."""
        return collected[0].cast(arrow_type(Array("double")))

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> GeoBoxClause | None:
        """Comparisons with one of the columns."""
        if _axis(leaf, definition.columns) is None or storage != Array("double"):
            return None
        return GeoBoxClause(leaf, definition.key)

    def translate_all(
        self, leaves: Sequence[Leaf], definition: IndexDefinition, storage: Storage
    ) -> IndexClause | None:
        """Comparisons with both columns, of which one box must hold all."""
        return conjoin(self.translate(leaf, definition, storage) for leaf in leaves)


def _axis(leaf: Leaf, columns: tuple[str, ...]) -> int | None:
    """Which of the two columns a leaf is about, None where it is none that boxes answer."""
    operand = leaf.operand
    exact = isinstance(operand, Column) or (isinstance(operand, Cast) and operand.type in _SERVED)
    column = column_of(operand)
    if column is None or not exact or not isinstance(leaf, Comparison | In | NotIn | IsNotNull):
        return None
    name = join_path(column.path)
    found = [k for k, column in enumerate(columns) if column == name]
    found = found or [k for k, column in enumerate(columns) if column.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _doubled(leaf: Leaf) -> Leaf:
    """The same leaf about doubles, which hold all values of the types served."""
    operand = Column(("",), "double")
    match leaf:
        case Comparison(op, _, value):
            return Comparison(op, operand, float(value))  # type: ignore[arg-type]
        case In(_, values, has_null):
            return In(operand, tuple(map(float, values)), has_null)  # type: ignore[arg-type]
        case NotIn(_, values, has_null):
            return NotIn(operand, tuple(map(float, values)), has_null)  # type: ignore[arg-type]
        case _:
            return IsNotNull(operand)


@dataclass(frozen=True, slots=True)
class GeoBoxClause(PartsClause[list[pa.Array]]):
    """Leaves asked of every box."""

    def parts(self, values: pa.Array) -> tuple[Lists, list[pa.Array]] | None:
        """The least and greatest x, the least and greatest y."""
        return Lists.of_groups(values, 4)

    def matching(self, leaf: Leaf, parts: list[pa.Array]) -> pa.BooleanArray:
        """Can the leaf be TRUE of a point in the box."""
        axis = _axis(leaf, self.requires[1])
        assert axis is not None
        doubled = _doubled(leaf)
        return possible(doubled, Bounds.of(doubled.operand, *parts[2 * axis : 2 * axis + 2]))
