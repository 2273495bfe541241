"""The protocol of index types, and a base class for indexes over one column."""

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


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A statistic that the build's kernel computes over one input of an index, per file.

    Attributes
    ----------
    kind : {"bounds", "values", "hashes", "words", "counts", "ranges", "boxes"}
        The statistic:

        - ``bounds``: the minimum and the maximum.
        - ``values``: the list of distinct values.
        - ``hashes``: a Bloom filter of the values. If several tasks read parts of the file, the kernel returns the
          distinct pairs of hashes instead, because the filters of parts cannot be merged.
        - ``words``: as ``hashes``, for the words of the values.
        - ``counts``: the number of NULL rows and the number of rows.
        - ``ranges``: ranges that cover all numbers, as a flat list of alternating lower and upper ends.
        - ``boxes``: boxes that cover all points, as a flat list of four numbers per box.
    cap : int
        For ``values``, the maximum length of the list; a file with more distinct values has a null list. For ``ranges``
        and ``boxes``, the maximum number of ranges or boxes per task that reads a part of the file. For ``hashes`` and
        ``words``, the number of distinct values that every filter is sized for; 0 sizes a filter for the number of
        values in its file.
    of : int
        The position of the input in the result of :meth:`Index.inputs`.
    fpp : float
        The false positive rate of the Bloom filters.
    """

    kind: Literal["bounds", "values", "hashes", "words", "counts", "ranges", "boxes"]
    cap: int = 0
    of: int = 0
    fpp: float = 1.0


class Input(NamedTuple):
    """A column, or an expression over columns, that a build aggregates.

    Attributes
    ----------
    sql : str
        The column or the expression, in SQL.
    type : str
        The Spark type of the values.
    """

    sql: str
    type: str

    @property
    def column(self) -> SparkColumn:
        """Return the input as a Spark column, for Spark aggregates."""
        from pyspark.sql import functions as F

        return F.expr(self.sql)


class Index(Protocol):
    """An index over one or more columns of a dataset.

    A build calls ``storage`` to check the columns' types, computes ``accumulators`` or ``aggregates`` over ``inputs``
    for every file, and calls ``assemble`` to turn the results into metadata values. A query calls ``translate`` to turn
    a leaf of the predicate into a clause over those values.
    """

    #: The name of the index type in the metadata, without an underscore.
    name: ClassVar[str]
    #: Whether the metadata holds values of the column's own type, so that the metadata shows which type was indexed.
    keeps_values: ClassVar[bool] = True
    #: Whether the index covers the elements of an array column, rather than whole arrays or no arrays at all.
    of_elements: ClassVar[bool] = False
    #: Whether the index answers calls of user-defined functions whose column arguments are the columns of the index.
    of_calls: ClassVar[bool] = False
    #: Whether ``aggregates`` are grouped pandas functions, which Spark cannot combine with its own aggregates.
    in_python: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns in Spark's notation, as the user wrote them."""

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """Return the parameters that the metadata records, as pairs of full name and text."""

    @property
    def key_label(self) -> str | None:
        """Return the label of the encryption key, or None if the index is in plaintext."""

    @property
    def expression(self) -> bool:
        """Return whether the column of the index is an SQL expression."""

    @classmethod
    def from_definition(cls, definition: IndexDefinition) -> Index:
        """Return the index that a definition in the metadata describes."""

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return the accumulators that the build's kernel runs, or an empty tuple if the index uses ``aggregates``."""

    def storage(self, types: Sequence[str]) -> Storage:
        """Return the type of one metadata value.

        Parameters
        ----------
        types : sequence of str
            The Spark types of the columns, or of the array elements if ``of_elements`` is true.

        Raises
        ------
        UnsupportedTypeError
            If the index cannot serve a type.
        """

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """Return the inputs of the accumulators or of the aggregates.

        Parameters
        ----------
        columns : sequence of str
            The columns as the dataset spells them.
        types : sequence of str
            The columns' Spark types.
        """

    def aggregates(self, inputs: Sequence[SparkColumn]) -> Sequence[SparkColumn]:
        """Return the Spark aggregates over the rows of one file, or nothing if the index uses ``accumulators``."""

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Assemble the metadata values of many files.

        Parameters
        ----------
        results : sequence of pyarrow.Array
            The result columns of ``accumulators`` or of ``aggregates``, with one row per file. For a file without rows,
            lists are empty and all other results are null. Dates and times can be plain numbers.
        types : sequence of str
            The Spark types of the columns, or of the array elements if ``of_elements`` is true.

        Returns
        -------
        pyarrow.Array
            One metadata value per file, in the order of ``results``; null means that nothing is known of the file.
        """

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Return a clause that answers a leaf about a column of the index, or None if the index cannot answer the leaf.

        Parameters
        ----------
        leaf : Leaf
            A predicate about one operand.
        definition : IndexDefinition
            The index as the metadata records it.
        storage : Storage
            The type of the metadata values.
        """

    def translate_all(
        self, leaves: Sequence[Leaf], definition: IndexDefinition, storage: Storage
    ) -> IndexClause | None:
        """Return a clause for leaves that a single row must satisfy together.

        The parameters are those of :meth:`translate`. The result is None if the joint clause would rule out no more
        files than the separate clauses of the leaves.
        """


class Parameter(NamedTuple):
    """A parameter of an index type, and its form in the metadata.

    Attributes
    ----------
    attribute : str
        The name of the attribute of the index that holds the value.
    key : str
        The full name of the parameter in the metadata.
    read : callable
        A function that parses the value from text.
    is_always_told : bool
        Whether the metadata always records the parameter. If not, the metadata omits the default value.
    """

    attribute: str
    key: str
    read: Callable[[str], Any]
    is_always_told: bool = False


@dataclass(frozen=True, slots=True)
class OneColumn(ABC):
    """A base class for indexes over one column, including user-defined index types.

    Parameters
    ----------
    column : str
        A column, or a struct field such as ``a.b``. Put a name that contains a dot in backticks.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.
    expression : bool
        Whether ``column`` is an SQL expression such as ``size(tags)`` or ``props['k']``. The index then answers
        predicates about that expression.

    Raises
    ------
    IndexDefinitionError
        If ``column`` is not a valid column path and ``expression`` is false.
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
        """Return the column of the index, as a tuple of length 1."""
        return (self.column,)

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """Return the parameters that the metadata records, as pairs of full name and text."""
        return params_of(self, self.parameters)

    @classmethod
    def from_definition(cls: type[_Own], definition: IndexDefinition) -> _Own:
        """Return the index that a definition in the metadata describes."""
        (column,) = definition.columns
        expression = definition.expression is not None
        own = attributes_of(definition, cls.parameters)
        return cls(column, key_label=definition.key_label, expression=expression, **own)

    @abstractmethod
    def storage(self, types: Sequence[str]) -> Storage:
        """Return the type of one metadata value for a column of this Spark type."""

    @abstractmethod
    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Return a clause that answers a leaf about the column, or None if the index cannot answer the leaf."""

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return no accumulators; subclasses override this property or ``aggregates``."""
        return ()

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """Return one input: the column or the expression."""
        return [Input(self.source(columns[0]), types[0])]

    def source(self, column: str) -> str:
        """Return the SQL text of the column, or of the expression; ``column`` is spelled as in the dataset."""
        return f"({column})" if self.expression else quoted(column)

    def aggregates(self, inputs: Sequence[SparkColumn]) -> Sequence[SparkColumn]:
        """Return no aggregates; subclasses override this method or ``accumulators``."""
        return ()

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Return the first result column, cast to the Arrow type of the storage."""
        return results[0].cast(arrow_type(self.storage(types)))

    def translate_all(
        self, leaves: Sequence[Leaf], definition: IndexDefinition, storage: Storage
    ) -> IndexClause | None:
        """Return one clause that tests all leaves on every list part, or None for fewer than two clauses over lists."""
        return conjoin(self.translate(leaf, definition, storage) for leaf in leaves)


def params_of(index: object, parameters: Sequence[Parameter]) -> tuple[tuple[str, str], ...]:
    """Return the parameters of an index that the metadata records, as pairs of full name and text."""
    kind = {each.name: each.default for each in fields(index)}  # type: ignore[arg-type]
    told = [(p, getattr(index, p.attribute)) for p in parameters]
    return tuple((p.key, str(value)) for p, value in told if p.is_always_told or value != kind[p.attribute])


def attributes_of(definition: IndexDefinition, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the attributes of an index, parsed from the parameters that the metadata records."""
    found = dict(definition.params)
    return {p.attribute: p.read(found[p.key]) for p in parameters if p.key in found}


def check_column(column: str) -> None:
    """Raise an error if a text is not a column path.

    Parameters
    ----------
    column : str
        A column such as ``a``, ``a.b`` or ```a.b```.

    Raises
    ------
    IndexDefinitionError
        If the text is empty or a backtick is not closed.
    """
    try:
        split_path(column)
    except ValueError as error:
        raise IndexDefinitionError(
            str(error), expected="a column such as a, a.b or `a.b`", hint="put a name that holds a dot in backticks"
        ) from error


def check_at_least_one(index: Index, attribute: str) -> None:
    """Raise an error if an integer attribute of an index is below 1.

    Raises
    ------
    IndexDefinitionError
        If the attribute is below 1.
    """
    found = getattr(index, attribute)
    if found < 1:
        raise IndexDefinitionError(
            f"{type(index).__name__} has an invalid {attribute}", found=f"{attribute}={found}", expected="1 or more"
        )


def check_rate(index: Index, fpp: float) -> None:
    """Raise an error if the false positive rate of an index is not between 0 and 1.

    Raises
    ------
    IndexDefinitionError
        If the rate is not greater than 0 and less than 1.
    """
    if not 0 < fpp < 1:
        raise IndexDefinitionError(
            f"{type(index).__name__} has an invalid rate", found=f"fpp={fpp}", expected="between 0 and 1"
        )


def unsupported(index: str, column: str, found: str, served: Sequence[str]) -> UnsupportedTypeError:
    """Return the error for a column whose type an index cannot serve.

    Parameters
    ----------
    index : str
        The name of the index class.
    column : str
        The column.
    found : str
        The column's Spark type.
    served : sequence of str
        The types that the index serves.
    """
    return UnsupportedTypeError(
        f"{index} cannot index this type", where=f"column {column}", found=found, expected="one of " + ", ".join(served)
    )
