"""What an index is: the protocol, and what the indexes of one column share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.clauses import IndexClause
from xskip.datatypes import Storage
from xskip.errors import IndexDefinitionError, UnsupportedTypeError
from xskip.expressions import Leaf
from xskip.metadata import IndexDefinition, IndexKey, MetadataTable
from xskip.operands import split_path

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

    from xskip.metadata import IndexColumn

__all__ = ["Accumulator", "Index", "Lists", "any_in_each", "check_column", "column_of", "unsupported"]


@dataclass(frozen=True, slots=True)
class Accumulator:
    """What the build's own kernel gathers of a column in each object.

    Attributes
    ----------
    kind : {"bounds", "values", "hashes", "counts"}
        Least and greatest value; the distinct values; the distinct pairs of a Bloom filter's hashes; how many rows are
        NULL, and how many there are.
    cap : int
        For ``values``: beyond so many there is no list.
    """

    kind: Literal["bounds", "values", "hashes", "counts"]
    cap: int = 0


class Index(Protocol):
    """An index over the columns of a dataset.

    The first half is used by a build: ``storage`` accepts or refuses the columns' types, ``aggregates`` are native
    Spark aggregates evaluated per object, ``assemble`` turns their results into metadata. The second half is used by
    a query: ``translate`` answers one leaf with a clause.
    """

    name: ClassVar[str]
    #: Are its values in metadata of the column's own type, so that they tell which type was indexed.
    keeps_values: ClassVar[bool] = True

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
    def accumulator(self) -> Accumulator | None:
        """What gathers the same as ``aggregates`` on the index's one column, faster; None where nothing does."""

    def storage(self, types: Sequence[str]) -> Storage:
        """What a metadata value is, for columns of these Spark types.

        Raises
        ------
        UnsupportedTypeError
            The index cannot serve a type.
        """

    def aggregates(self, columns: Sequence[SparkColumn], types: Sequence[str]) -> Sequence[SparkColumn]:
        """Spark aggregates over the rows of one object."""

    def assemble(self, collected: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """The metadata, a row for each object.

        Parameters
        ----------
        collected : sequence of pyarrow.Array
            The results of ``aggregates`` or of ``accumulator``. Of an object without rows, lists are empty and all
            else is null; dates and times can come as plain numbers.
        types : sequence of str
            The columns' Spark types.
        """

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """The clause that answers a leaf about the index's column, or None where this index cannot."""


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


def unsupported(index: str, column: str, found: str, served: Sequence[str]) -> UnsupportedTypeError:
    """The error for a type that an index cannot serve."""
    return UnsupportedTypeError(
        f"{index} cannot index this type", where=f"column {column}", found=found, expected="one of " + ", ".join(served)
    )


def column_of(table: MetadataTable, key: IndexKey) -> IndexColumn | None:
    """The metadata column of an index, None where the table lacks it."""
    return table.indexes.get(key)


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


def any_in_each(lists: Lists, matches: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    """For each list: does any of its values match.

    >>> lists = Lists.of(pa.array([[1, 2], [], [3]]))
    >>> any_in_each(lists, pa.array([False, True, False])).tolist()
    [True, False, False]
    """
    hits = np.concatenate(([0], np.cumsum(matches.to_numpy(zero_copy_only=False))))
    found: npt.NDArray[np.bool_] = hits[lists.ends] > hits[lists.starts]
    return found
