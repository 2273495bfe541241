"""A base class for indexes over one column, and the parameters of index types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import pyarrow as pa

from xskip.clauses.clause import IndexClause
from xskip.clauses.index_clause import conjoin
from xskip.column_paths import quoted
from xskip.expressions.predicate import Leaf
from xskip.indexes.accumulator import Accumulator, Input
from xskip.indexes.argument_checks import check_column, check_label, check_text
from xskip.indexes.omissions import differ
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Storage, arrow_type

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["OneColumn", "Parameter"]

_Own = TypeVar("_Own", bound="OneColumn")


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
    is_always_recorded : bool
        Whether the metadata always records the parameter. If not, the metadata omits the default value.

    Examples
    --------
    >>> parameter = Parameter("length", "example.suffix.length", int, is_always_recorded=True)
    >>> parameter.read("4")
    4
    """

    attribute: str
    key: str
    read: Callable[[str], Any]
    is_always_recorded: bool = False


@dataclass(frozen=True, slots=True)
class OneColumn(ABC):
    """A base class for indexes over one column, including user-defined index types.

    A subclass defines ``name``, :meth:`storage`, :meth:`translate`, and either :attr:`accumulators` or
    :meth:`aggregates`. The class attributes have the meaning and the defaults of :class:`xskip.Index`.

    Parameters
    ----------
    column : str
        A column, or a struct field such as ``a.b``. Put a name that contains a dot in backticks.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.
    expression : bool
        Whether ``column`` is an SQL expression such as ``size(tags)`` or ``props['k']``. The index then answers
        predicates about that expression.

    Attributes
    ----------
    parameters : tuple of Parameter
        The parameters of the index type that the metadata records.

    Raises
    ------
    IndexDefinitionError
        If ``column`` is not a valid column path and ``expression`` is false.

    Examples
    --------
    An index type that collects the years of a date, without a clause:

    >>> from pyspark.sql import functions as F
    >>> from xskip.types import Array
    >>> class Years(xskip.OneColumn):
    ...     name = "years"
    ...
    ...     def storage(self, types):
    ...         return Array("int")
    ...
    ...     def aggregates(self, inputs):
    ...         return [F.collect_set(F.year(inputs[0]))]
    ...
    ...     def translate(self, leaf, definition, storage):
    ...         return None
    >>> Years("ts").columns
    ('ts',)
    """

    column: str
    key_label: str | None = field(default=None, kw_only=True)
    expression: bool = field(default=False, kw_only=True, repr=False)
    name: ClassVar[str]
    keeps_values: ClassVar[bool] = True
    of_elements: ClassVar[bool] = False
    of_calls: ClassVar[bool] = False
    of_paths: ClassVar[bool] = False
    in_python: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __post_init__(self) -> None:
        check_text(self.column)
        check_label(self.key_label)
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
        """Return the index that a definition in the metadata describes.

        Parameters
        ----------
        definition : IndexDefinition
            The index as the metadata records it.

        Returns
        -------
        OneColumn
            An instance of this class with the recorded column and parameters.

        Raises
        ------
        ValueError, TypeError
            If a recorded parameter is invalid. xskip then does not use the index.
        """
        (column,) = definition.columns
        expression = definition.expression is not None
        own = attributes_of(definition, cls.parameters)
        return cls(column, key_label=definition.key_label, expression=expression, **own)

    @abstractmethod
    def storage(self, types: Sequence[str]) -> Storage:
        """Return the type of one metadata value for a column of this Spark type.

        Parameters
        ----------
        types : sequence of str
            The Spark type of the column, or of the array elements if ``of_elements`` is true; of length 1.

        Returns
        -------
        Storage
            The storage type, such as ``Array("int")``.

        Raises
        ------
        UnsupportedTypeError
            If the index cannot serve the type.
        """

    @abstractmethod
    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Return a clause that answers a leaf about the column, or None if the index cannot answer the leaf.

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
        IndexClause or None
            A clause that is false for a file only if no row of the file can satisfy the leaf.
        """

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return no accumulators; subclasses override this property or ``aggregates``."""
        return ()

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """Return one input: the column or the expression.

        Parameters
        ----------
        columns : sequence of str
            The column as the dataset spells it, of length 1.
        types : sequence of str
            The Spark type of the column, of length 1.

        Returns
        -------
        sequence of Input
            A list of length 1.
        """
        return [Input(self.source(columns[0]), types[0])]

    def source(self, column: str) -> str:
        """Return the SQL text of the column or of the expression.

        Parameters
        ----------
        column : str
            The column as the dataset spells it, or the expression.

        Returns
        -------
        str
            The column with its names in backticks, or the expression in parentheses.
        """
        return f"({column})" if self.expression else quoted(column)

    def aggregates(self, inputs: Sequence[SparkColumn]) -> Sequence[SparkColumn]:
        """Return no aggregates; subclasses override this method or ``accumulators``.

        Parameters
        ----------
        inputs : sequence of Column
            The inputs of the index as Spark columns.

        Returns
        -------
        sequence of Column
            The aggregates, in the order that :meth:`assemble` expects.
        """
        return ()

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Return the first result column, cast to the Arrow type of the storage.

        Parameters
        ----------
        results : sequence of pyarrow.Array
            The result columns of ``accumulators`` or of ``aggregates``, with one row per file.
        types : sequence of str
            The Spark type of the column, or of the array elements if ``of_elements`` is true; of length 1.

        Returns
        -------
        pyarrow.Array
            One metadata value per file, in the order of ``results``; null means that nothing is known of the file.
        """
        return results[0].cast(arrow_type(self.storage(types)))

    def omits(self, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
        """Return whether stored values leave out a row of their files, for ``SkippingIndex.validate()``.

        Index types whose values can differ although they are true override this method.

        Parameters
        ----------
        stored : pyarrow.Array
            The metadata values of files, of the Arrow type of the storage.
        actual : pyarrow.Array
            The values that a build would now collect from the same files.

        Returns
        -------
        pyarrow.BooleanArray
            True if a row is left out, false if the stored value admits every row, null if this is not known. This
            implementation compares for equality, and lists as sets.
        """
        return differ(stored, actual)

    def translate_all(
        self, leaves: Sequence[Leaf], definition: IndexDefinition, storage: Storage
    ) -> IndexClause | None:
        """Return one clause that tests all leaves on every list part, or None for fewer than two clauses over lists.

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
            A clause that is false for a file only if no part of the list can satisfy all leaves.
        """
        return conjoin(self.translate(leaf, definition, storage) for leaf in leaves)


def params_of(index: object, parameters: Sequence[Parameter]) -> tuple[tuple[str, str], ...]:
    """Return the parameters of an index that the metadata records, as pairs of full name and text."""
    kind = {each.name: each.default for each in fields(index)}  # type: ignore[arg-type]
    values = [(p, getattr(index, p.attribute)) for p in parameters]
    # metadata without a parameter stands for its default
    return tuple((p.key, str(value)) for p, value in values if p.is_always_recorded or value != kind[p.attribute])


def attributes_of(definition: IndexDefinition, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the attributes of an index, parsed from the parameters that the metadata records."""
    found = dict(definition.params)
    return {p.attribute: p.read(found[p.key]) for p in parameters if p.key in found}
