"""The index type GeoBox: boxes that cover every point of two columns in a file.

Rules: specs/pruning.rst, [PRU-GB]. If one column of a row is NULL, the row lies in a box that is unbounded along that
column. If both columns are NULL, no box covers the row. An empty list means that both columns are NULL in every row. A
null list means that nothing is known of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from xskip.clauses.bounds import Bounds, possible
from xskip.clauses.clause import IndexClause
from xskip.clauses.index_clause import Lists, PartsClause, conjoin
from xskip.column_paths import join_path, quoted
from xskip.errors import IndexDefinitionError
from xskip.expressions.operands import Cast, Column, column_of
from xskip.expressions.predicate import Comparison, In, IsNotNull, Leaf, NotIn
from xskip.indexes.accumulator import Accumulator, Input
from xskip.indexes.argument_checks import check_at_least_one, check_column, check_label, unsupported
from xskip.indexes.base import Parameter, attributes_of, params_of
from xskip.indexes.omissions import groups_omit
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Array, Storage, arrow_type

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["GeoBox", "GeoBoxClause"]

#: The types whose values a double represents exactly.
_SERVED = ("double", "float", "int", "smallint", "tinyint")
_MAX_BOXES = 1000


@dataclass(frozen=True, slots=True)
class GeoBox:
    """An index of boxes around the points of two columns per file, for filters on both columns and on distances.

    For a filter on a distance, register the user-defined distance function with :func:`xskip.register_function`, and
    return the box that contains all points within the distance.

    Parameters
    ----------
    x, y : str
        Columns of numbers, or struct fields such as ``a.b``. Put a name that contains a dot in backticks.
    boxes : int
        The maximum number of boxes, at least 1. If several tasks read parts of a file, the maximum applies per task.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.

    Raises
    ------
    IndexDefinitionError
        If a column path is invalid, both columns are equal, or ``boxes`` is below 1.

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
    of_paths: ClassVar[bool] = False
    expression: ClassVar[bool] = False
    in_python: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("boxes", "io.xskip.index.geobox.boxes", int),)

    def __post_init__(self) -> None:
        check_column(self.x)
        check_column(self.y)
        check_label(self.key_label)
        check_at_least_one(self, "boxes")
        if self.x == self.y:
            raise IndexDefinitionError("GeoBox needs two different columns", found=self.x, expected="two columns")

    @property
    def columns(self) -> tuple[str, ...]:
        """Return both columns."""
        return self.x, self.y

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """Return the number of boxes as a parameter for the metadata, or nothing if the number is the default."""
        return params_of(self, self.parameters)

    @classmethod
    def from_definition(cls, definition: IndexDefinition) -> GeoBox:
        """Return the index that a definition in the metadata describes.

        Parameters
        ----------
        definition : IndexDefinition
            The index as the metadata records it.

        Returns
        -------
        GeoBox
            The index with the recorded columns and number of boxes.

        Raises
        ------
        ValueError
            If the recorded number of boxes is invalid.
        """
        x, y = definition.columns
        return cls(x, y, key_label=definition.key_label, **attributes_of(definition, cls.parameters))

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return the accumulator of boxes."""
        return (Accumulator("boxes", self.boxes),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return an array of doubles: the minimum x, maximum x, minimum y and maximum y of every box.

        Parameters
        ----------
        types : sequence of str
            The Spark types of both columns.

        Returns
        -------
        Storage
            ``Array("double")``.

        Raises
        ------
        UnsupportedTypeError
            If a column has a type whose values a double cannot represent exactly.
        """
        for column, kind in zip(self.columns, types, strict=True):
            if kind not in _SERVED:
                raise unsupported("GeoBox", column, kind, _SERVED)
        return Array("double")

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """Return one input: the points, as arrays of two doubles.

        Parameters
        ----------
        columns : sequence of str
            Both columns as the dataset spells them.
        types : sequence of str
            The Spark types of both columns.

        Returns
        -------
        sequence of Input
            A list of length 1.
        """
        numbers = ", ".join(f"CAST({quoted(column)} AS DOUBLE)" for column in columns)
        return [Input(f"array({numbers})", "array<double>")]

    def aggregates(self, inputs: Sequence[SparkColumn]) -> Sequence[SparkColumn]:
        """Return no aggregates, because the kernel's accumulator computes the boxes.

        Parameters
        ----------
        inputs : sequence of Column
            The inputs of the index as Spark columns.

        Returns
        -------
        sequence of Column
            An empty tuple.
        """
        return ()

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Return the lists of boxes, cast to arrays of doubles.

        Parameters
        ----------
        results : sequence of pyarrow.Array
            The result columns of the accumulator, with one row per file.
        types : sequence of str
            The Spark types of both columns.

        Returns
        -------
        pyarrow.Array
            One metadata value per file, in the order of ``results``; null means that nothing is known of the file.
        """
        return results[0].cast(arrow_type(Array("double")))

    def omits(self, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
        """Return whether a point lies outside of the stored boxes, see :meth:`xskip.OneColumn.omits`.

        Parameters
        ----------
        stored, actual : pyarrow.Array
            The boxes of files in the metadata, and those that a build would now collect.

        Returns
        -------
        pyarrow.BooleanArray
            Null where it is not known.
        """
        return groups_omit(stored, actual, 4)

    def exact(self) -> GeoBox:
        """Return an index whose boxes are single points, for files with up to 1,000 points.

        Returns
        -------
        GeoBox
            The same index with more boxes.
        """
        return replace(self, boxes=_MAX_BOXES)

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> GeoBoxClause | None:
        """Return a clause for a comparison of x or y with literals or ``IS NOT NULL``, or None for any other leaf.

        Parameters
        ----------
        leaf : Leaf
            A predicate about one operand.
        definition : IndexDefinition
            The index as the metadata records it.
        storage : Storage
            The type of the metadata values.

        Returns
        -------
        GeoBoxClause or None
            A clause that is false for a file only if no box holds a point that can satisfy the leaf.
        """
        if _axis(leaf, definition.columns) is None or storage != Array("double"):
            return None
        return GeoBoxClause(leaf, definition.key)

    def translate_all(
        self, leaves: Sequence[Leaf], definition: IndexDefinition, storage: Storage
    ) -> IndexClause | None:
        """Return one clause that tests all leaves on every box, or None if boxes answer fewer than two leaves.

        Parameters
        ----------
        leaves : sequence of Leaf
            Predicates about columns of the index, which the query combines with AND.
        definition : IndexDefinition
            The index as the metadata records it.
        storage : Storage
            The type of the metadata values.

        Returns
        -------
        IndexClause or None
            A clause that is false for a file only if no box holds a point that can satisfy all leaves.
        """
        return conjoin(self.translate(leaf, definition, storage) for leaf in leaves)


def _axis(leaf: Leaf, columns: tuple[str, ...]) -> int | None:
    """Return the position of the column that a leaf is about, or None if boxes cannot answer the leaf."""
    operand = leaf.operand
    exact = isinstance(operand, Column) or (isinstance(operand, Cast) and operand.type in _SERVED)
    column = column_of(operand)
    if column is None or not exact or not isinstance(leaf, Comparison | In | NotIn | IsNotNull):
        return None
    name = join_path(column.path)
    found = [k for k, column in enumerate(columns) if column == name]
    # a name in other case means a column if only one of both columns has the name
    found = found or [k for k, column in enumerate(columns) if column.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _doubled(leaf: Leaf) -> Leaf:
    """Return a leaf with its literals as doubles."""
    # a double represents every value of the served types exactly, so the leaf keeps its meaning
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
    """A clause that tests leaves against every box."""

    def parts(self, values: pa.Array) -> tuple[Lists, list[pa.Array]] | None:
        """Return the lists of boxes and the four sides of all boxes, or None if a list has an incomplete box."""
        # a list that is not of whole boxes decides nothing
        return Lists.of_groups(values, 4)

    def matching(self, leaf: Leaf, parts: list[pa.Array]) -> pa.BooleanArray:
        """Return, for each box, whether the leaf can be TRUE for a point in the box; null means unknown."""
        axis = _axis(leaf, self.requires[1])
        assert axis is not None
        doubled = _doubled(leaf)
        # a box contains its points along each axis, and a row with NULL on the other axis lies in an unbounded box, so
        # a leaf that is possible in no box is TRUE for no row [PRU-GB-1]
        return possible(doubled, Bounds.of(doubled.operand, *parts[2 * axis : 2 * axis + 2]))
