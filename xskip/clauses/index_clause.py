"""What the clauses of indexes share: metadata of one index, and lists taken apart."""

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
from xskip.expressions.evaluate import from_mask, null_may_match
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import Leaf
from xskip.metadata.table import IndexKey, MetadataTable

__all__ = ["ColumnClause", "Lists", "Once", "PartsClause", "ValuesClause", "any_in_each", "conjoin"]

_Taken = TypeVar("_Taken")
_Made = TypeVar("_Made")


class Once(Protocol):
    """What many clauses of one query need of the same metadata, made once."""

    def __call__(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """What ``make`` returned at the first call with this key."""


@dataclass(frozen=True, slots=True)
class ColumnClause(LeafClause):
    """A question about one index's metadata: what the clauses of indexes share."""

    requires: IndexKey

    @property
    def needs(self) -> tuple[IndexKey]:
        """The index."""
        return (self.requires,)

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """A verdict for each row; null where the table lacks the index."""
        column = table.indexes.get(self.requires)
        if column is None:
            return pa.nulls(len(table), pa.bool_())
        return self.verdicts(column.values, among, lambda key, make: table.once((self.requires, key), make))

    def verdicts(self, values: pa.Array, among: Mask, once: Once) -> Verdicts:
        """A verdict for each value of the metadata; null where it is null.

        Parameters
        ----------
        values : pyarrow.Array
        among : numpy.ndarray of bool
        once : callable
            ``once(key, make)`` is what ``make`` returns, which all clauses of this index share.
        """
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


@dataclass(frozen=True, slots=True)
class PartsClause(ColumnClause, ABC, Generic[_Taken]):
    """Leaves asked of the parts of a list, of which one must satisfy all: values, ranges, boxes.

    Attributes
    ----------
    also : tuple of PartsClause
        Further clauses of the same class that the same row must satisfy.
    """

    also: tuple[PartsClause[_Taken], ...] = field(default=(), kw_only=True)

    @property
    def predicate(self) -> str:
        """All leaves, in words."""
        return " AND ".join(str(clause.leaf) for clause in (self, *self.also))

    @property
    def asks_spark(self) -> bool:
        """Is one of the leaves about a function."""
        return any(isinstance(clause.leaf.operand, Computed) for clause in (self, *self.also))

    @abstractmethod
    def parts(self, values: pa.Array) -> tuple[Lists, _Taken] | None:
        """The lists, and their parts laid end to end; None where they are not as this index writes them.

        They depend on the values alone: all clauses of the class share them.
        """

    @abstractmethod
    def matching(self, leaf: Leaf, parts: _Taken) -> pa.BooleanArray:
        """For each part: can a leaf be TRUE of a value in it. Null keeps.

        What is found for a leaf serves all clauses of the class, whether they ask it alone or with others.
        """

    def verdicts(self, values: pa.Array, among: Mask, once: Once) -> Verdicts:
        """False where no part can hold a value of which all leaves are TRUE; null where there is no list."""
        taken = once((type(self), "parts"), lambda: self.parts(values))
        if taken is None:
            return pa.nulls(len(values), pa.bool_())
        lists, parts = taken
        clauses = (self, *self.also)
        each = (once((type(self), c.leaf), partial(c.matching, c.leaf, parts)) for c in clauses)
        found = reduce(pc.and_kleene, each)
        if isinstance(parts, pa.Array) and parts.null_count:  # lists hold no NULL: one that does is not what it was
            found = pc.or_kleene(found, parts.is_null())
        held = any_in_each(lists, found.fill_null(True)) | all(null_may_match(clause.leaf) for clause in clauses)
        return pc.if_else(values.is_valid(), from_mask(held), pa.scalar(None, pa.bool_()))


class ValuesClause(PartsClause[pa.Array]):
    """Leaves asked of the values of a list."""

    __slots__ = ()

    def parts(self, values: pa.Array) -> tuple[Lists, pa.Array]:
        """The values."""
        lists = Lists.of(values)
        return lists, lists.values


def conjoin(clauses: Iterable[IndexClause | None]) -> IndexClause | None:
    """One clause for all leaves that an index answers by its parts, None where they are fewer than two."""
    found = [clause for clause in clauses if isinstance(clause, PartsClause)]
    same = [clause for clause in found if type(clause) is type(found[0])]
    if len(same) < 2:
        return None
    return replace(same[0], also=tuple(same[1:]), expensive=any(clause.expensive for clause in same))
