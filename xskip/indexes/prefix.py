"""The index type Prefix: the distinct prefixes of a column's strings per file.

Rules: specs/pruning.rst, [PRU-PX]. A prefix that is shorter than the length is the whole string. An empty list means
that the file holds no value except NULL. A null list means that nothing is known, for example of a file with too many
prefixes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import IndexClause
from xskip.clauses.index_clause import ValuesClause
from xskip.expressions.evaluate import compare
from xskip.expressions.operands import Column
from xskip.expressions.predicate import Comparison, In, IsNull, Leaf, NotIn, NotStartsWith, Op, StartsWith, Value
from xskip.indexes.accumulator import Accumulator, Input
from xskip.indexes.argument_checks import check_at_least_one, unsupported
from xskip.indexes.base import OneColumn, Parameter
from xskip.indexes.omissions import lists_omit
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Array, Storage

__all__ = ["Prefix", "PrefixClause"]

_SERVED = ("string", "binary")


@dataclass(frozen=True, slots=True)
class Prefix(OneColumn):
    """An index of string prefixes per file, for prefixes, equality and ranges where strings share few prefixes.

    Parameters
    ----------
    column : str
        A column of strings or binary, or a struct field such as ``a.b``. Put a name that contains a dot in backticks.
    length : int
        The length of the prefixes in bytes, of UTF-8 for strings; at least 1.
    max_values : int
        The maximum length of a list, at least 1. The index never skips a file with more distinct prefixes.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.
    expression : bool
        Whether ``column`` is an SQL expression such as ``size(tags)``, which queries must contain in the same form.

    Raises
    ------
    IndexDefinitionError
        If ``column`` is not a valid column path, or ``length`` or ``max_values`` is below 1.

    Examples
    --------
    >>> Prefix("url", length=24).params
    (('io.xskip.index.prefix.length', '24'),)
    """

    length: int = 8
    max_values: int = 10_000
    name: ClassVar[str] = "prefix"
    keeps_values: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("length", "io.xskip.index.prefix.length", int, is_always_recorded=True),
        Parameter("max_values", "io.xskip.index.prefix.maxvalues", int),
    )

    def __post_init__(self) -> None:
        OneColumn.__post_init__(self)
        check_at_least_one(self, "length")
        check_at_least_one(self, "max_values")

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return the accumulator of at most ``max_values`` distinct prefixes."""
        return (Accumulator("values", self.max_values),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return an array of ``binary``."""
        if types[0] not in _SERVED:
            raise unsupported("Prefix", self.column, types[0], _SERVED)
        return Array("binary")

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """Return one input: the first ``length`` bytes of the column."""
        return [Input(f"substring(CAST({self.source(columns[0])} AS BINARY), 1, {self.length})", "binary")]

    def omits(self, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
        """Return whether a value is missing from the stored list, see :meth:`OneColumn.omits`."""
        return lists_omit(stored, actual, self.max_values)

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Return a clause for any leaf about the column itself except ``IS NULL``, or None for any other leaf."""
        if isinstance(leaf, IsNull) or not isinstance(leaf.operand, Column) or storage != Array("binary"):
            return None
        return PrefixClause(leaf, definition.key, self.length)


@dataclass(frozen=True, slots=True)
class PrefixClause(ValuesClause):
    """A clause that tests leaves against all strings with one of the listed prefixes."""

    #: The length of the prefixes in bytes.
    length: int

    def matching(self, leaf: Leaf, parts: pa.Array) -> pa.BooleanArray:
        """Return, for each prefix, whether the leaf can be TRUE for a string with the prefix."""
        # a prefix longer than the length contradicts the rules of the index, and rules out nothing [PRU-V-10]
        return pc.or_kleene(self._possible(leaf, parts), pc.greater(pc.binary_length(parts), self.length))

    def _possible(self, leaf: Leaf, parts: pa.Array) -> pa.BooleanArray:
        # ``whole``: an entry shorter than n bytes is the only string that it stands for [PRU-PX-1]
        n, whole = self.length, pc.less(pc.binary_length(parts), self.length)
        match leaf:
            case Comparison(Op.EQ, _, bytes() as value):
                # v has the entry v[:n], which is v itself if v is shorter than n bytes
                return pc.equal(parts, pa.scalar(value[:n], pa.binary()))
            case Comparison(Op.NE, _, value):  # a full-length prefix has continuations other than value
                return pc.invert(pc.and_(whole, pc.equal(parts, pa.scalar(value, pa.binary()))))
            case Comparison(Op.LT | Op.LE as op, _, value):  # the least string with prefix q is q itself
                return compare(op, parts, pa.scalar(value, pa.binary()))
            case Comparison(op, _, bytes() as value):  # a string with prefix q can be above v <=> v[:n] <= q
                above = compare(op, parts, pa.scalar(value, pa.binary()))
                return pc.if_else(whole, above, compare(Op.GE, parts, pa.scalar(value[:n], pa.binary())))
            case In(_, values):
                # as for =, for each value of the list; NULL in the list adds no TRUE row
                return pc.is_in(parts, _bytes(value[:n] for value in values if isinstance(value, bytes)))
            case NotIn(_, values, has_null):
                # a full-length prefix has more continuations than any list
                listed = pc.and_(whole, pc.is_in(parts, _bytes(values)))
                return pc.and_(pc.invert(listed), not has_null)
            case StartsWith(_, prefix) if len(prefix) <= n:
                return pc.starts_with(parts, prefix)
            case StartsWith(_, prefix):
                # a string with a longer prefix has the entry prefix[:n]
                return pc.equal(parts, pa.scalar(prefix[:n], pa.binary()))
            case NotStartsWith(_, prefix) if len(prefix) <= n:
                # all strings of an entry start with the prefix, or none of them does
                return pc.invert(pc.starts_with(parts, prefix))
            case _:
                # NOT LIKE of a longer prefix: an entry has other continuations; IS NOT NULL: TRUE of every string
                return pa.array(np.full(len(parts), True))


def _bytes(values: Iterable[Value]) -> pa.Array:
    return pa.array(list(values), pa.binary())
