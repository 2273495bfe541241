"""Base classes for the clauses of index types, and list arrays as flat values with offsets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import IndexClause, LeafClause, Mask, Verdicts
from xskip.clauses.user_classes import method_errors
from xskip.expressions.evaluate import null_may_match
from xskip.expressions.predicate import Leaf
from xskip.metadata.table import IndexKey, MetadataTable
from xskip.types.masks import from_mask

__all__ = ["ColumnClause", "Lists", "Memo", "PartsClause", "ValuesClause", "any_in_each", "conjoin"]

_Taken = TypeVar("_Taken")
_Made = TypeVar("_Made")


class Memo(Protocol):
    """A cache of results that many clauses of one query compute from the same metadata."""

    def __call__(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return the result that ``make`` returned at the first call with this key."""


@dataclass(frozen=True, slots=True)
class ColumnClause(LeafClause):
    """The common base of clauses that read the metadata of one index."""

    requires: IndexKey

    @property
    def needs(self) -> tuple[IndexKey]:
        """Return the key of the index."""
        return (self.requires,)

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """Return a verdict for each row of a metadata table, or null for all rows if the table lacks the index.

        Parameters
        ----------
        table : MetadataTable
            The metadata, one row per file.
        among : numpy.ndarray of bool
            True for the rows that need a verdict, of the table's length.

        Returns
        -------
        pyarrow.BooleanArray
            True, false or null for each row.
        """
        column = table.indexes.get(self.requires)
        if column is None:
            return pa.nulls(len(table), pa.bool_())
        return self.verdicts(column.values, among, lambda key, make: table.memo((self.requires, key), make))

    def verdicts(self, values: pa.Array, among: Mask, memo: Memo) -> Verdicts:
        """Return a verdict for each value of the index.

        Parameters
        ----------
        values : pyarrow.Array
            The values of the index, one per file, of the Arrow type of the index's storage. Null where the index has no
            value for the file.
        among : numpy.ndarray of bool
            True for the rows that need a verdict, of the length of ``values``.
        memo : Memo
            A cache that all clauses over this index share: ``memo(key, make)`` returns the result of ``make``.

        Returns
        -------
        pyarrow.BooleanArray
            True, false or null for each value; null where the value is null.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Lists:
    """A list array as flat values and the offsets of each list.

    Attributes
    ----------
    values : pyarrow.Array
        The values of all lists, end to end.
    starts, ends : numpy.ndarray of int64
        The position of the first value of each list, and the position after its last value.

    Examples
    --------
    >>> lists = Lists.of(pa.array([[1, 2], None, [5]]))
    >>> lists.values.to_pylist(), lists.starts.tolist(), lists.ends.tolist()
    ([1, 2, 5], [0, 2, 2], [2, 2, 3])
    """

    values: pa.Array
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @staticmethod
    def of(lists: pa.Array) -> Lists:
        """Return the lists of a list array; a null list becomes an empty list.

        Parameters
        ----------
        lists : pyarrow.ListArray
            The lists, one per file.

        Returns
        -------
        Lists
            The values of all lists, and one start and end per list.
        """
        offsets = lists.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        starts, ends = offsets[:-1], offsets[1:]
        missing = lists.is_null().to_numpy(zero_copy_only=False)
        return Lists(lists.values, starts, np.where(missing, starts, ends))

    @staticmethod
    def of_groups(lists: pa.Array, size: int) -> tuple[Lists, list[pa.Array]] | None:
        """Split the lists of a list array into groups of ``size`` values.

        Parameters
        ----------
        lists : pyarrow.ListArray
            The lists, one per file. A null list counts as empty.
        size : int
            The number of values in a group.

        Returns
        -------
        tuple of (Lists, list of pyarrow.Array) or None
            The lists, whose ``starts`` and ``ends`` count groups, and ``size`` arrays with the first, second, ...
            values of all groups. None if the length of a list is not a multiple of ``size``.

        Examples
        --------
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
    """Return for each list whether at least one of its values, or groups of values, matches.

    >>> lists = Lists.of(pa.array([[1, 2], [], [3]]))
    >>> any_in_each(lists, pa.array([False, True, False])).tolist()
    [True, False, False]
    """
    # hits[k] is the number of matches among the first k values: a list without a match has equal numbers at its ends
    hits = np.concatenate(([0], np.cumsum(matches.to_numpy(zero_copy_only=False))))
    found: npt.NDArray[np.bool_] = hits[lists.ends] > hits[lists.starts]
    return found


@dataclass(frozen=True, slots=True)
class PartsClause(ColumnClause, ABC, Generic[_Taken]):
    """A clause over the parts of a list, which are values, ranges or boxes.

    A file can match only if one part of its list can satisfy the leaves of this clause and of all clauses in ``also``,
    or if all of these leaves may be TRUE of NULL, because lists omit NULL.

    Attributes
    ----------
    leaf : Leaf
        The leaf that the clause answers.
    requires : IndexKey
        The index that the clause reads.
    expensive : bool
        True if the clause must run only on the files that all cheaper clauses leave undecided.
    also : tuple of PartsClause
        Further clauses of the same class whose leaves the same row must satisfy.

    Examples
    --------
    A clause over lists of numbers, which answers ``a = value``:

    >>> from xskip.expressions import Column, Comparison, Op
    >>> from xskip.metadata.table import IndexDefinition
    >>> @dataclass(frozen=True, slots=True)
    ... class NumbersClause(PartsClause):
    ...     def parts(self, values):
    ...         lists = Lists.of(values)
    ...         return lists, lists.values
    ...
    ...     def matching(self, leaf, parts):
    ...         return pc.equal(parts, leaf.value)
    >>> leaf = Comparison(Op.EQ, Column(("a",), "int"), 5)
    >>> clause = NumbersClause(leaf, IndexDefinition("numbers", ("a",)).key)
    >>> lists = pa.array([[1, 5], [2], None])
    >>> clause.verdicts(lists, np.full(3, True), lambda key, make: make()).to_pylist()
    [True, False, None]
    """

    also: tuple[PartsClause[_Taken], ...] = field(default=(), kw_only=True)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Return the leaf of this clause, and those of all clauses in ``also``."""
        return (self.leaf, *(clause.leaf for clause in self.also))

    @abstractmethod
    def parts(self, values: pa.Array) -> tuple[Lists, _Taken] | None:
        """Split the values of the index into lists and their parts.

        The result must depend only on ``values``, because all clauses of the class share it.

        Parameters
        ----------
        values : pyarrow.Array
            The values of the index, one per file.

        Returns
        -------
        tuple of (Lists, parts) or None
            The lists, and the parts of all lists end to end. None if the values do not have the form that this index
            writes.
        """

    @abstractmethod
    def matching(self, leaf: Leaf, parts: _Taken) -> pa.BooleanArray:
        """Return for each part whether a leaf can be TRUE of a value in the part.

        The result must depend only on ``leaf`` and ``parts``, because all clauses of the class share it.

        Parameters
        ----------
        leaf : Leaf
            The leaf of this clause, or of a clause in ``also``.
        parts : object
            The parts of all lists, as :meth:`parts` returns them.

        Returns
        -------
        pyarrow.BooleanArray
            An entry for each part. Null keeps the file.
        """

    def verdicts(self, values: pa.Array, among: Mask, memo: Memo) -> Verdicts:
        """Return false where no part can hold a value of which all leaves are TRUE, and null where the list is null."""
        with method_errors(type(self), "parts"):
            taken = memo((type(self), "parts"), lambda: self.parts(values))
        if taken is None:
            return pa.nulls(len(values), pa.bool_())
        lists, parts = taken
        clauses = (self, *self.also)
        with method_errors(type(self), "matching"):
            # the value of a row lies in a single part, so one part must admit all leaves at once [PRU-V-9]
            each = (memo((type(self), c.leaf), partial(c.matching, c.leaf, parts)) for c in clauses)
            found = reduce(pc.and_kleene, each)
            # index types write no NULL into lists: a list with NULL is damaged, and the NULL counts as a match
            if isinstance(parts, pa.Array) and parts.null_count:
                found = pc.or_kleene(found, parts.is_null())
            # a part that does not decide a leaf keeps the file
            matched = any_in_each(lists, found.fill_null(True))
        # lists omit NULL: where all leaves may be TRUE of NULL, no list rules out a NULL row [PRU-FN-2]
        held = matched | all(null_may_match(clause.leaf) for clause in clauses)
        return pc.if_else(values.is_valid(), from_mask(held), pa.scalar(None, pa.bool_()))


class ValuesClause(PartsClause[pa.Array]):
    """A clause over the values of a list."""

    __slots__ = ()

    def parts(self, values: pa.Array) -> tuple[Lists, pa.Array]:
        """Return the lists and their values."""
        lists = Lists.of(values)
        return lists, lists.values


def conjoin(clauses: Iterable[IndexClause | None]) -> IndexClause | None:
    """Combine the clauses of one index into one clause that tests all leaves on the same part.

    None for fewer than two clauses of the class of the first :class:`PartsClause`; all other clauses are left out.
    """
    found = [clause for clause in clauses if isinstance(clause, PartsClause)]
    same = [clause for clause in found if type(clause) is type(found[0])]
    if len(same) < 2:
        return None
    return replace(same[0], also=tuple(same[1:]), expensive=any(clause.expensive for clause in same))
