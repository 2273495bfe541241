"""Predicates over the columns of a dataset, as a closed union of immutable nodes.

There is no Not node. :func:`negate` is total: it pushes a negation down to the leaves under SQL's three-valued logic,
so that ``NOT p`` is TRUE for exactly the rows for which ``p`` is FALSE. A predicate without a negation becomes Unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from xskip.expressions.condition_reasons import Reason, UnsupportedNode
from xskip.expressions.operands import Elements, Operand

__all__ = [
    "And",
    "ColumnComparison",
    "Comparison",
    "Constant",
    "Equivalent",
    "In",
    "IsNotNull",
    "IsNull",
    "Leaf",
    "NotIn",
    "NotStartsWith",
    "Op",
    "Or",
    "Predicate",
    "StartsWith",
    "Unknown",
    "Value",
    "negate",
    "operands",
]

#: The value of a literal in Spark's internal representation: dates are days since the epoch, timestamps
#: are microseconds since the epoch, day-time intervals are microseconds, year-month intervals are months, decimals are
#: ``decimal.Decimal``, strings are ``bytes`` of UTF-8, and binary values are ``bytes``.
Value = object


class Op(Enum):
    """The six comparison operators.

    Examples
    --------
    >>> Op.LT.negated, Op.LT.flipped
    (<Op.GE: '>='>, <Op.GT: '>'>)
    """

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def negated(self) -> Op:
        """Return the operator that is TRUE where this one is FALSE (Spark orders all values, NaN included)."""
        return _NEGATED[self]

    @property
    def flipped(self) -> Op:
        """Return the operator for exchanged sides."""
        return _FLIPPED[self]


_NEGATED = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}
_FLIPPED = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The leaf ``operand op value``.

    Attributes
    ----------
    op : Op
        The comparison operator.
    operand : Operand
        The left side.
    value : Value
        The literal on the right side, which is not null and has the operand's type.

    Examples
    --------
    >>> from xskip.expressions import Column
    >>> print(Comparison(Op.GE, Column(("s", "a"), "int"), 5))
    s.a >= ?
    """

    op: Op
    operand: Operand
    value: Value

    def __str__(self) -> str:
        return f"{self.operand} {self.op.value} ?"


@dataclass(frozen=True, slots=True)
class In:
    """The leaf ``operand IN (values)``.

    Without values the leaf is TRUE for no row, and its negation is a Constant: ``NULL NOT IN ()`` is TRUE in Spark.

    Attributes
    ----------
    operand : Operand
        The left side.
    values : tuple of Value
        The values of the list, without NULL.
    has_null : bool
        True if the list also holds NULL.
    """

    operand: Operand
    values: tuple[Value, ...]
    has_null: bool = False

    def __str__(self) -> str:
        return f"{self.operand} IN ({len(self.values)} values)"


@dataclass(frozen=True, slots=True)
class NotIn:
    """The leaf ``operand NOT IN (values)``.

    Attributes
    ----------
    operand : Operand
        The left side.
    values : tuple of Value
        The values of the list, at least one, without NULL.
    has_null : bool
        True if the list also holds NULL; the leaf is then TRUE for no row.
    """

    operand: Operand
    values: tuple[Value, ...]
    has_null: bool = False

    def __str__(self) -> str:
        return f"{self.operand} NOT IN ({len(self.values)} values)"


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The leaf that is TRUE where the UTF-8 bytes of a string start with ``prefix``."""

    operand: Operand
    prefix: bytes

    def __str__(self) -> str:
        return f"{self.operand} LIKE '?%'"


@dataclass(frozen=True, slots=True)
class NotStartsWith:
    """The leaf that is TRUE where a string is not null and its UTF-8 bytes do not start with ``prefix``."""

    operand: Operand
    prefix: bytes

    def __str__(self) -> str:
        return f"{self.operand} NOT LIKE '?%'"


@dataclass(frozen=True, slots=True)
class IsNull:
    """The leaf ``operand IS NULL``."""

    operand: Operand

    def __str__(self) -> str:
        return f"{self.operand} IS NULL"


@dataclass(frozen=True, slots=True)
class IsNotNull:
    """The leaf ``operand IS NOT NULL``."""

    operand: Operand

    def __str__(self) -> str:
        return f"{self.operand} IS NOT NULL"


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """The predicate ``left op right`` over two columns, or functions of columns, of one type."""

    op: Op
    left: Operand
    right: Operand

    def __str__(self) -> str:
        return f"{self.left} {self.op.value} {self.right}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A predicate that is TRUE, FALSE or NULL (None) for every row; only TRUE selects rows."""

    value: bool | None

    def __str__(self) -> str:
        return {True: "TRUE", False: "FALSE", None: "NULL"}[self.value]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A predicate that xskip cannot use, with the reason."""

    reason: Reason

    def __str__(self) -> str:
        return "?"


@dataclass(frozen=True, slots=True)
class And:
    """The conjunction of predicates: TRUE where all children are TRUE."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return "(" + " AND ".join(map(str, self.children)) + ")"


@dataclass(frozen=True, slots=True)
class Or:
    """The disjunction of predicates: TRUE where at least one child is TRUE."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return "(" + " OR ".join(map(str, self.children)) + ")"


@dataclass(frozen=True, slots=True)
class Equivalent:
    """Several translations of one condition, so that each index can answer the translation that it knows.

    Each child is TRUE wherever the condition is TRUE, and its negation is TRUE wherever the condition is FALSE.
    """

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return str(self.children[0])


#: A predicate over one operand, which an index can answer.
Leaf = Comparison | In | NotIn | StartsWith | NotStartsWith | IsNull | IsNotNull
Predicate = Leaf | ColumnComparison | Constant | Unknown | And | Or | Equivalent


def negate(predicate: Predicate) -> Predicate:
    """Return the predicate that is TRUE for exactly the rows for which ``predicate`` is FALSE; Unknown if none is."""
    match predicate:
        case ColumnComparison(op, left, right):
            return ColumnComparison(op.negated, left, right)
        case Constant(value):
            return Constant(None if value is None else not value)
        case Unknown():  # nothing is known of the rows for which it is FALSE, either
            return predicate
        case And(children):
            # De Morgan's laws hold in three-valued logic: an AND is FALSE exactly where a child is FALSE
            return Or(tuple(negate(child) for child in children))
        case Or(children):
            return And(tuple(negate(child) for child in children))
        case Equivalent(children):
            # each negated child is TRUE wherever the condition is FALSE, see Equivalent
            return Equivalent(tuple(negate(child) for child in children))
        case _:
            return _negated_leaf(predicate)


def _negated_leaf(leaf: Leaf) -> Predicate:
    # no leaf expresses a condition on all elements
    if isinstance(leaf.operand, Elements) and not leaf.operand.is_one:
        return Unknown(UnsupportedNode("conditions on all elements of an array"))
    match leaf:
        case Comparison(op, operand, value):
            return Comparison(op.negated, operand, value)
        case In(operand, values, has_null):
            # x IN () is FALSE in Spark even for NULL, and x IN (NULL) is NULL for all rows
            return NotIn(operand, values, has_null) if values else Constant(None if has_null else True)
        case NotIn(operand, values, has_null):
            return In(operand, values, has_null) if values else Constant(None if has_null else False)
        case StartsWith(operand, prefix):
            return NotStartsWith(operand, prefix)
        case NotStartsWith(operand, prefix):
            return StartsWith(operand, prefix)
        case IsNull(operand):
            return IsNotNull(operand)
        case IsNotNull(operand):
            return IsNull(operand)


def operands(predicate: Predicate) -> Iterator[Operand]:
    """Yield the operands of a predicate's leaves in order, including repeats."""
    match predicate:
        case And(children) | Or(children) | Equivalent(children):
            for child in children:
                yield from operands(child)
        case Constant() | Unknown():
            return
        case ColumnComparison(_, left, right):
            yield left
            yield right
        case _:
            yield predicate.operand
