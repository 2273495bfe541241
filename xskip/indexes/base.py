"""What an index is: the protocol, and what the indexes of one column share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses import IndexClause, Mask, Verdicts
from xskip.datatypes import Storage
from xskip.errors import IndexDefinitionError, UnsupportedTypeError
from xskip.expressions import Leaf
from xskip.metadata import IndexDefinition, IndexKey, MetadataTable
from xskip.operands import split_path
from xskip.ordering import of_null

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = [
    "Accumulator",
    "ColumnClause",
    "Index",
    "Input",
    "Lists",
    "OneColumn",
    "Parameter",
    "any_in_each",
    "check_at_least_one",
    "check_column",
    "check_rate",
    "found_in_lists",
    "unsupported",
]

_Own = TypeVar("_Own", bound="OneColumn")


@dataclass(frozen=True, slots=True)
class Accumulator:
    """What the build's own kernel gathers of an input in each object.

    Attributes
    ----------
    kind : {"bounds", "values", "hashes", "words", "counts", "ranges", "boxes"}
        Least and greatest value; the distinct values; the distinct pairs of a Bloom filter's hashes, of values or of
        their words; how many rows are NULL, and how many there are; ranges that hold all numbers, as a list of their
        ends in turn; boxes that hold all points, as a list of four numbers each.
    cap : int
        For ``values``: beyond so many there is no list. For ``ranges`` and ``boxes``: so many at most, for each task
        that reads a part of an object.
    of : int
        Which of the index's inputs.
    """

    kind: Literal["bounds", "values", "hashes", "words", "counts", "ranges", "boxes"]
    cap: int = 0
    of: int = 0


class Input(NamedTuple):
    """What is gathered: a column, or a function of some, its Spark type, and a text that no other input has."""

    text: str
    column: SparkColumn
    type: str


class Index(Protocol):
    """An index over the columns of a dataset.

    The first half is used by a build: ``storage`` accepts or refuses the columns' types, ``accumulators`` or
    ``aggregates`` gather ``inputs`` per object, ``assemble`` turns what they found into metadata. The second half is
    used by a query: ``translate`` answers one leaf with a clause.
    """

    name: ClassVar[str]
    #: Are its values in metadata of the column's own type, so that they tell which type was indexed.
    keeps_values: ClassVar[bool] = True
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

    @classmethod
    def from_definition(cls, definition: IndexDefinition) -> Index:
        """The index that metadata speaks of."""

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """What the build's own kernel gathers; nothing where ``aggregates`` do."""

    def storage(self, types: Sequence[str]) -> Storage:
        """What a metadata value is, for columns of these Spark types.

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
        """The clause that answers a leaf about the index's column, or None where this index cannot."""


class Parameter(NamedTuple):
    """A parameter of an index: its attribute, its name in metadata, how to read it from text.

    It is recorded where it is not the default, or always.
    """

    attribute: str
    key: str
    read: Callable[[str], Any]
    is_always_told: bool = False


@dataclass(frozen=True, slots=True)
class OneColumn:
    """What the indexes of one column share.

    Parameters
    ----------
    column : str
        A column, or a field such as ``a.b``; a name that holds a dot goes in backticks.
    key_label : str, optional
        Label of the key that encrypts the index.
    """

    column: str
    key_label: str | None = field(default=None, kw_only=True)
    keeps_values: ClassVar[bool] = True
    in_python: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __post_init__(self) -> None:
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
        return cls(column, key_label=definition.key_label, **attributes_of(definition, cls.parameters))

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """None."""
        return ()

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """The columns themselves."""
        return themselves(columns, types)

    def aggregates(self, inputs: Sequence[SparkColumn]) -> Sequence[SparkColumn]:
        """None."""
        return ()


def params_of(index: object, parameters: Sequence[Parameter]) -> tuple[tuple[str, str], ...]:
    """The parameters of an index that metadata records."""
    kind = {each.name: each.default for each in fields(index)}  # type: ignore[arg-type]
    told = [(p, getattr(index, p.attribute)) for p in parameters]
    return tuple((p.key, str(value)) for p, value in told if p.is_always_told or value != kind[p.attribute])


def attributes_of(definition: IndexDefinition, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The attributes of an index from the parameters that metadata records."""
    found = dict(definition.params)
    return {p.attribute: p.read(found[p.key]) for p in parameters if p.key in found}


def themselves(columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
    """Columns as inputs, just as they are."""
    from pyspark.sql import functions as F

    return [Input(column, F.col(column), kind) for column, kind in zip(columns, types, strict=True)]


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


@dataclass(frozen=True, slots=True)
class ColumnClause:
    """A question about one index's metadata: what the clauses of indexes share.

    Attributes
    ----------
    leaf : Predicate
        What it answers.
    requires : IndexKey
    expensive : bool
        Should it see only the objects that everything cheaper has left.
    """

    leaf: Leaf
    requires: IndexKey
    expensive: bool = field(default=False, kw_only=True)

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """A verdict for each row; null where the table lacks the index."""
        column = table.indexes.get(self.requires)
        return pa.nulls(len(table), pa.bool_()) if column is None else self.verdicts(column.values, among)

    def verdicts(self, values: pa.Array, among: Mask) -> Verdicts:
        """A verdict for each value of the metadata; null where it is null."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Lists:
    """A list array taken apart: values laid end to end, and where each list starts and ends."""

    values: pa.Array
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @staticmethod
    def of(lists: pa.Array) -> Lists:
        """Lists of an array; a null list is empty here."""
        offsets = lists.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        starts, ends = offsets[:-1], offsets[1:]
        missing = lists.is_null().to_numpy(zero_copy_only=False)
        return Lists(lists.values, starts, np.where(missing, starts, ends))

    @staticmethod
    def of_groups(lists: pa.Array, size: int) -> tuple[Lists, list[pa.Array]] | None:
        """Lists of groups of so many values, and the first, second … values of all groups; None where one is broken.

        >>> groups, (first, second) = Lists.of_groups(pa.array([[1, 2, 3, 4], None, [5, 6]]), 2)
        >>> first.to_pylist(), second.to_pylist(), groups.starts.tolist(), groups.ends.tolist()
        ([1, 3, 5], [2, 4, 6], [0, 2, 2], [2, 2, 3])
        """
        lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        if (lengths % size).any():
            return None
        values = lists.flatten()
        ends = np.cumsum(lengths // size)
        places = [values.take(pa.array(np.arange(k, len(values), size))) for k in range(size)]
        return Lists(values, ends - lengths // size, ends), places


def any_in_each(lists: Lists, matches: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    """For each list: does any of its values match.

    >>> lists = Lists.of(pa.array([[1, 2], [], [3]]))
    >>> any_in_each(lists, pa.array([False, True, False])).tolist()
    [True, False, False]
    """
    hits = np.concatenate(([0], np.cumsum(matches.to_numpy(zero_copy_only=False))))
    found: npt.NDArray[np.bool_] = hits[lists.ends] > hits[lists.starts]
    return found


def found_in_lists(leaf: Leaf, lists: pa.Array, parts: Lists, matching: pa.BooleanArray) -> Verdicts:
    """Verdicts of what was asked of every part of a list: true where one may match, null where there is no list.

    Parameters
    ----------
    leaf : Leaf
    lists : pyarrow.Array
        A list for each object.
    parts : Lists
        The same lists, taken apart.
    matching : pyarrow.BooleanArray
        For each part: may the leaf be TRUE of it. Null keeps.
    """
    found = any_in_each(parts, matching.fill_null(True)) | of_null(leaf)
    return pa.array(found, mask=lists.is_null().to_numpy(zero_copy_only=False))
