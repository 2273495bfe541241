"""The protocol of index types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

import pyarrow as pa

from xskip.clauses.clause import IndexClause
from xskip.expressions.predicate import Leaf
from xskip.indexes.accumulator import Accumulator, Input
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Storage

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["Index"]


class Index(Protocol):
    """An index over one or more columns of a dataset.

    A build calls ``storage`` to check the columns' types, computes ``accumulators`` or ``aggregates`` over ``inputs``
    for every file, and calls ``assemble`` to turn the results into metadata values. A query calls ``translate`` to turn
    a leaf of the predicate into a clause over those values.

    Attributes
    ----------
    name : str
        The name of the index type in the metadata, without an underscore.
    keeps_values : bool
        Whether the metadata holds values of the column's own type, so that the metadata shows which type was indexed.
    of_elements : bool
        Whether the index covers the elements of an array column, rather than whole arrays or no arrays at all.
    of_calls : bool
        Whether the index answers calls of user-defined functions whose column arguments are the columns of the index.
    of_paths : bool
        Whether the index is computed from the paths of files. A build then opens no file for the index: it calls
        ``assemble`` with the paths instead of the results of ``accumulators`` or ``aggregates``.
    in_python : bool
        Whether ``aggregates`` are grouped pandas functions, which Spark cannot combine with its own aggregates.

    Examples
    --------
    >>> index: xskip.Index = xskip.MinMax("ts")
    >>> index.storage(["date"])
    Struct(fields=(('min', 'date'), ('max', 'date')))
    >>> index.inputs(["ts"], ["date"])
    [Input(sql='`ts`', type='date')]
    """

    name: ClassVar[str]
    keeps_values: ClassVar[bool] = True
    of_elements: ClassVar[bool] = False
    of_calls: ClassVar[bool] = False
    of_paths: ClassVar[bool] = False
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
        """Return the index that a definition in the metadata describes.

        Parameters
        ----------
        definition : IndexDefinition
            The index as the metadata records it.

        Returns
        -------
        Index
            An instance of this class with the recorded columns and parameters.

        Raises
        ------
        ValueError, TypeError
            If a recorded parameter is invalid. xskip then does not use the index.
        """

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return the accumulators that the build's kernel runs, or an empty tuple if the index uses ``aggregates``."""

    def storage(self, types: Sequence[str]) -> Storage:
        """Return the type of one metadata value.

        Parameters
        ----------
        types : sequence of str
            The Spark types of the columns, or of the array elements if ``of_elements`` is true.

        Returns
        -------
        Storage
            The storage type, such as ``Array("int")``.

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

        Returns
        -------
        sequence of Input
            Columns or expressions, in the order that ``accumulators`` or ``aggregates`` expect.
        """

    def aggregates(self, inputs: Sequence[SparkColumn]) -> Sequence[SparkColumn]:
        """Return the Spark aggregates over the rows of one file, or nothing if the index uses ``accumulators``.

        Parameters
        ----------
        inputs : sequence of Column
            The inputs of the index as Spark columns.

        Returns
        -------
        sequence of Column
            The aggregates, in the order that ``assemble`` expects.
        """

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Assemble the metadata values of many files.

        Parameters
        ----------
        results : sequence of pyarrow.Array
            The result columns of ``accumulators`` or of ``aggregates``, with one row per file. For a file without rows,
            lists are empty and all other results are null. Dates and times can be plain numbers. If ``of_paths`` is
            true, a single column of strings: the paths of the files without scheme and authority.
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

        Returns
        -------
        IndexClause or None
            A clause that is false for a file only if no row of the file can satisfy the leaf.
        """

    def translate_all(
        self, leaves: Sequence[Leaf], definition: IndexDefinition, storage: Storage
    ) -> IndexClause | None:
        """Return a clause for leaves that a single row must satisfy together.

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
            None if the joint clause would rule out no more files than the separate clauses of the leaves.
        """
