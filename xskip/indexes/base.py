"""What an index is: the protocol, and what the indexes of one column share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from xskip.clauses.clause import IndexClause
from xskip.clauses.index_clause import conjoin
from xskip.errors import IndexDefinitionError, UnsupportedTypeError
from xskip.expressions.operands import quoted, split_path
from xskip.expressions.predicate import Leaf
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Storage, arrow_type

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = [
    "Accumulator",
    "Index",
    "Input",
    "OneColumn",
    "Parameter",
    "check_at_least_one",
    "check_column",
    "check_rate",
    "unsupported",
]

_Own = TypeVar("_Own", bound="OneColumn")
_Taken = TypeVar("_Taken")


@dataclass(frozen=True, slots=True)
class Accumulator:
    """What the build's own kernel gathers of an input in each object.

    Attributes
    ----------
    kind : {"bounds", "values", "hashes", "words", "counts", "ranges", "boxes"}
        Least and greatest value; the distinct values; of values or of their words, the distinct pairs of a Bloom
        filter's hashes where several tasks read parts of an object, and the filter where one reads it whole; how many
        rows are NULL, and how many there are; ranges that hold all numbers, as a list of their ends in turn; boxes that
        hold all points, as a list of four numbers each.
    cap : int
        For ``values``: beyond so many there is no list. For ``ranges`` and ``boxes``: so many at most, for each task
        that reads a part of an object. For ``hashes`` and ``words``: what every filter is sized for; 0: what it holds.
    of : int
        Which of the index's inputs.
    fpp : float
        The filters' rate of false positives.
    """

    kind: Literal["bounds", "values", "hashes", "words", "counts", "ranges", "boxes"]
    cap: int = 0
    of: int = 0
    fpp: float = 1.0


class Input(NamedTuple):
    """What is gathered: a column, or an expression over some, in SQL, and its Spark type."""

    sql: str
    type: str

    @property
    def column(self) -> SparkColumn:
        """As aggregates take it."""
        from pyspark.sql import functions as F

        return F.expr(self.sql)


class Index(Protocol):
    """An index over the columns of a dataset.

    The first half is used by a build: ``storage`` accepts or refuses the columns' types, ``accumulators`` or
    ``aggregates`` gather ``inputs`` per object, ``assemble`` turns what they found into metadata. The second half is
    used by a query: ``translate`` answers one leaf with a clause.
    """

    name: ClassVar[str]
    #: Are its values in metadata of the column's own type, so that they tell which type was indexed.
    keeps_values: ClassVar[bool] = True
    #: Is it, on an array, an index of the elements; else it is none on arrays, or one of the array itself.
    of_elements: ClassVar[bool] = False
    #: Does it answer calls of functions of users, whose column arguments are its columns.
    of_calls: ClassVar[bool] = False
    #: Are its aggregates grouped functions in Python, which Spark does not mix with its own.
    in_python: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in Spark's spelling, as the user wrote them."""

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """The parameters that metadata records."""

    @property
    def key_label(self) -> str | None:
        """The label of the encryption key."""

    @property
    def expression(self) -> bool:
        """Is its column an expression in SQL."""

    @classmethod
    def from_definition(cls, definition: IndexDefinition) -> Index:
        """The index that metadata speaks of."""

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """What the build's own kernel gathers; nothing where ``aggregates`` do."""

    def storage(self, types: Sequence[str]) -> Storage:
        """What a metadata value is, for columns, or elements of arrays, of these Spark types.

        Raises
        ------
        UnsupportedTypeError
            The index cannot serve a type.
        """

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """What is gathered, of columns as the dataset spells them."""

    def aggregates(self, inputs: Sequence[SparkColumn]) -> Sequence[SparkColumn]:
        """Spark aggregates over the rows of one object."""

    def assemble(self, collected: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """The metadata, a row for each object.

        Parameters
        ----------
        collected : sequence of pyarrow.Array
            The results of ``accumulators`` or of ``aggregates``. Of an object without rows, lists are empty and all
            else is null; dates and times can come as plain numbers.
        types : sequence of str
            The columns' Spark types.
        """

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """The clause that answers a leaf about one of the index's columns, or None where this index cannot."""

    def translate_all(
        self, leaves: Sequence[Leaf], definition: IndexDefinition, storage: Storage
    ) -> IndexClause | None:
        """The clause that answers leaves that one row must all satisfy, or None where that is no more than each."""


class Parameter(NamedTuple):
    """A parameter of an index: its attribute, its name in metadata, how to read it from text.

    It is recorded where it is not the default, or always.
    """

    attribute: str
    key: str
    read: Callable[[str], Any]
    is_always_told: bool = False


@dataclass(frozen=True, slots=True)
class OneColumn(ABC):
    """What the indexes of one column share: a class for indexes of your own.

    Parameters
    ----------
    column : str
        A column, or a field such as ``a.b``; a name that holds a dot goes in backticks.
    key_label : str, optional
        Label of the key that encrypts the index.
    expression : bool
        ``column`` is an expression in SQL, such as ``size(tags)`` or ``props['k']``, and so is what queries ask of.
    """

    column: str
    key_label: str | None = field(default=None, kw_only=True)
    expression: bool = field(default=False, kw_only=True, repr=False)
    name: ClassVar[str]
    keeps_values: ClassVar[bool] = True
    of_elements: ClassVar[bool] = False
    of_calls: ClassVar[bool] = False
    in_python: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __post_init__(self) -> None:
        if not self.expression:
            check_column(self.column)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, alone."""
        return (self.column,)

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """The parameters that are told."""
        return params_of(self, self.parameters)

    @classmethod
    def from_definition(cls: type[_Own], definition: IndexDefinition) -> _Own:
        """The index that metadata speaks of."""
        (column,) = definition.columns
        expression = definition.expression is not None
        own = attributes_of(definition, cls.parameters)
        return cls(column, key_label=definition.key_label, expression=expression, **own)

    @abstractmethod
    def storage(self, types: Sequence[str]) -> Storage:
        """What a metadata value is, for a column of this Spark type."""

    @abstractmethod
    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """The clause that answers a leaf about the column, or None."""

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """None."""
        return ()

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """The column itself, or the expression."""
        return [Input(self.source(columns[0]), types[0])]

    def source(self, column: str) -> str:
        """What is indexed, in SQL, of the column as the dataset spells it."""
        return f"({column})" if self.expression else quoted(column)

    def aggregates(self, inputs: Sequence[SparkColumn]) -> Sequence[SparkColumn]:
        """None."""
        return ()

    def assemble(self, collected: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """The one result, as it is."""
        return collected[0].cast(arrow_type(self.storage(types)))

    def translate_all(
        self, leaves: Sequence[Leaf], definition: IndexDefinition, storage: Storage
    ) -> IndexClause | None:
        """One clause, where leaves are asked of parts."""
        return conjoin(self.translate(leaf, definition, storage) for leaf in leaves)


def params_of(index: object, parameters: Sequence[Parameter]) -> tuple[tuple[str, str], ...]:
    """The parameters of an index that metadata records."""
    kind = {each.name: each.default for each in fields(index)}  # type: ignore[arg-type]
    told = [(p, getattr(index, p.attribute)) for p in parameters]
    return tuple((p.key, str(value)) for p, value in told if p.is_always_told or value != kind[p.attribute])


def attributes_of(definition: IndexDefinition, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The attributes of an index from the parameters that metadata records."""
    found = dict(definition.params)
    return {p.attribute: p.read(found[p.key]) for p in parameters if p.key in found}


def check_column(column: str) -> None:
    """Refuses what is no column path, early.

    Raises
    ------
    IndexDefinitionError
        The text is empty or its backticks are not closed.
    """
    try:
        split_path(column)
    except ValueError as error:
        raise IndexDefinitionError(
            str(error), expected="a column such as a, a.b or `a.b`", hint="put a name that holds a dot in backticks"
        ) from error


def check_at_least_one(index: Index, attribute: str) -> None:
    """Refuses a number below 1.

    Raises
    ------
    IndexDefinitionError
    """
    found = getattr(index, attribute)
    if found < 1:
        raise IndexDefinitionError(
            f"{type(index).__name__} with an impossible {attribute}", found=f"{attribute}={found}", expected="1 or more"
        )


def check_rate(index: Index, fpp: float) -> None:
    """Refuses a rate of false positives that is none.

    Raises
    ------
    IndexDefinitionError
    """
    if not 0 < fpp < 1:
        raise IndexDefinitionError(
            f"{type(index).__name__} with an impossible rate", found=f"fpp={fpp}", expected="between 0 and 1"
        )


def unsupported(index: str, column: str, found: str, served: Sequence[str]) -> UnsupportedTypeError:
    """The error for a type that an index cannot serve."""
    return UnsupportedTypeError(
        f"{index} cannot index this type", where=f"column {column}", found=found, expected="one of " + ", ".join(served)
    )
