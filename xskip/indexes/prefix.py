"""Prefix: the distinct beginnings of a column's strings in each object.

Rules: specs/pruning.rst, [PRU-PX]. A beginning that is shorter than the length is the whole string. An empty list says
that the object holds no value; a null list says that nothing is known, as for an object with too many beginnings.
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
from xskip.indexes.base import Accumulator, Input, OneColumn, Parameter, check_at_least_one, unsupported
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Array, Storage

__all__ = ["Prefix", "PrefixClause"]

_SERVED = ("string", "binary")


@dataclass(frozen=True, slots=True)
class Prefix(OneColumn):
    """The beginnings of strings in each object: for prefixes, equality and ranges where strings share few beginnings.

    Parameters
    ----------
    column : str
        A column, or a field such as ``a.b``; a name that holds a dot goes in backticks.
    length : int
        Of the beginnings, in bytes of UTF-8.
    max_values : int
        An object with more distinct beginnings has no list, and is always read.
    key_label : str, optional
        Label of the key that encrypts this index.

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
        Parameter("length", "io.xskip.index.prefix.length", int, is_always_told=True),
        Parameter("max_values", "io.xskip.index.prefix.maxvalues", int),
    )

    def __post_init__(self) -> None:
        OneColumn.__post_init__(self)
        check_at_least_one(self, "length")
        check_at_least_one(self, "max_values")

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Distinct beginnings up to the cap."""
        return (Accumulator("values", self.max_values),)

    def storage(self, types: Sequence[str]) -> Storage:
        """An array of bytes."""
        if types[0] not in _SERVED:
            raise unsupported("Prefix", self.column, types[0], _SERVED)
        return Array("binary")

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """The first bytes."""
        return [Input(f"substring(CAST({self.source(columns[0])} AS BINARY), 1, {self.length})", "binary")]

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Everything about the column itself but IS NULL."""
        if isinstance(leaf, IsNull) or not isinstance(leaf.operand, Column) or storage != Array("binary"):
            return None
        return PrefixClause(leaf, definition.key, self.length)


@dataclass(frozen=True, slots=True)
class PrefixClause(ValuesClause):
    """Leaves asked of all strings that begin so."""

    length: int

    def matching(self, leaf: Leaf, parts: pa.Array) -> pa.BooleanArray:
        """Can a string match that begins so, or that is it where it is shorter than the length."""
        return pc.or_kleene(self._possible(leaf, parts), pc.greater(pc.binary_length(parts), self.length))

    def _possible(self, leaf: Leaf, parts: pa.Array) -> pa.BooleanArray:
        n, whole = self.length, pc.less(pc.binary_length(parts), self.length)
        match leaf:
            case Comparison(Op.EQ, _, bytes() as value):
                return pc.equal(parts, pa.scalar(value[:n], pa.binary()))
            case Comparison(Op.NE, _, value):  # a beginning that is not the whole string goes on in many ways
                return pc.invert(pc.and_(whole, pc.equal(parts, pa.scalar(value, pa.binary()))))
            case Comparison(Op.LT | Op.LE as op, _, value):  # the least string that begins so is the beginning itself
                return compare(op, parts, pa.scalar(value, pa.binary()))
            case Comparison(op, _, bytes() as value):  # some string that begins with q is above v <=> v[:n] <= q
                above = compare(op, parts, pa.scalar(value, pa.binary()))
                return pc.if_else(whole, above, compare(Op.GE, parts, pa.scalar(value[:n], pa.binary())))
            case In(_, values):
                return pc.is_in(parts, _bytes(value[:n] for value in values if isinstance(value, bytes)))
            case NotIn(_, values, has_null):
                listed = pc.and_(whole, pc.is_in(parts, _bytes(values)))
                return pc.and_(pc.invert(listed), not has_null)
            case StartsWith(_, prefix) if len(prefix) <= n:
                return pc.starts_with(parts, prefix)
            case StartsWith(_, prefix):
                return pc.equal(parts, pa.scalar(prefix[:n], pa.binary()))
            case NotStartsWith(_, prefix) if len(prefix) <= n:
                return pc.invert(pc.starts_with(parts, prefix))
            case _:
                return pa.array(np.full(len(parts), True))


def _bytes(values: Iterable[Value]) -> pa.Array:
    return pa.array(list(values), pa.binary())
