"""The conversion of parsed predicates to typed predicates, from which clauses are made.

The conversion is conservative: a typed predicate is TRUE for at least the rows for which the parsed predicate is TRUE
in any engine. Therefore negations are pushed down before the leaves get types.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from xskip.errors import did_you_mean
from xskip.expressions.condition_reasons import OtherReason, Reason, UnsupportedNode
from xskip.expressions.like import split_like
from xskip.expressions.operands import Column, Operand
from xskip.expressions.predicate import (
    And,
    ColumnComparison,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    Unknown,
    Value,
)
from xskip.standalone.literals import Range, UnusableError, range_of
from xskip.standalone.sql import Both, Compared, Either, Item, Like, Literal, Name, Node, Not, NullTest, Other

__all__ = ["Resolver"]

_FLOATING = ("float", "double")


@dataclass(frozen=True, slots=True)
class Resolver:
    """A converter of parsed predicates."""

    #: Returns the column with a path and its recorded type, or None if the index does not know it.
    column: Callable[[tuple[str, ...]], Column | None]
    #: The time zone of timestamps without an offset; None if the zone is not known.
    zone: str | None = None
    #: Returns the names of columns for a hint at a column that the index does not know.
    names: Callable[[], Collection[str]] = tuple
    #: The parts of the predicates that were not converted, each with the reason.
    unused: list[tuple[str, Reason]] = field(default_factory=list)

    def resolve(self, node: Node, *, negated: bool = False) -> Predicate:
        """Return the typed predicate of a parsed predicate, or of its negation."""
        match node:
            case Not(child):
                return self.resolve(child, negated=not negated)
            case Both(children) | Either(children):
                parts = [self.resolve(child, negated=negated) for child in children]
                is_and = isinstance(node, Both) != negated
                merged = tuple(_merged(parts, Op.NE if is_and else Op.EQ))
                return merged[0] if len(merged) == 1 else And(merged) if is_and else Or(merged)
            case Other(text, reason):
                return self._unknown(text, reason or UnsupportedNode("this condition without Spark"))
            case NullTest(name):
                column = self._known(name, f"{_shown(name)} IS {'NOT ' if negated else ''}NULL")
                if column is None:
                    return Unknown(OtherReason(""))
                return IsNotNull(column) if negated else IsNull(column)
            case Like(name, pattern):
                return self._like(name, pattern, negated=negated)
            case Compared(op, left, right):
                return self._compared(op.negated if negated else op, left, right, negated=negated)
            case Name():
                return self._compared(Op.NE if negated else Op.EQ, node, Literal("boolean", "TRUE"), negated=negated)
            case Literal("boolean", text):
                return Constant((text == "TRUE") != negated)
            case Literal("null"):
                return Constant(None)
            case Literal(kind, text):
                return self._unknown(text, f"a {kind.lower()} literal is no condition")

    def _unknown(self, text: str, reason: Reason | str) -> Unknown:
        reason = OtherReason(reason) if isinstance(reason, str) else reason
        if text and (text, reason) not in self.unused:
            self.unused.append((text, reason))
        return Unknown(reason)

    def _known(self, name: Name, condition: str) -> Column | None:
        """Return a column; if the index does not know it, note the condition as unused, with a similar name."""
        column = self.column(name.path)
        if column is None:
            hint = did_you_mean(_shown(name), self.names())
            reason = f"the index has no statistics of {_shown(name)}"
            self._unknown(condition, f"{reason}; {hint}" if hint else reason)
        return column

    def _compared(self, op: Op, left: Item, right: Item, *, negated: bool) -> Predicate:
        if isinstance(left, Literal):
            if isinstance(right, Literal):
                return self._unknown(f"{_shown(left)} {op.value} {_shown(right)}", "the comparison has no column")
            op, left, right = op.flipped, right, left
        condition = f"{_shown(left)} {op.value} {_shown(right)}"
        column = self._known(left, condition)
        if column is None:
            return Unknown(OtherReason(""))
        if isinstance(right, Name):
            return self._of_two(op, column, right, condition)
        if right.kind == "null":
            return Constant(None)
        try:
            found = range_of(right, column, self.zone)
        except UnusableError as error:
            return self._unknown(f"{column} {op.value} {_shown(right)}", str(error))
        predicate = _in_range(op, found)
        if negated and column.type in _FLOATING and op in (Op.LT, Op.LE):
            # NaN is the greatest value in Spark and DuckDB, and in no order elsewhere: NOT d > 5 is TRUE of NaN there.
            return Or((predicate, Comparison(Op.EQ, column, float("nan"))))
        return predicate

    def _of_two(self, op: Op, column: Column, name: Name, condition: str) -> Predicate:
        other = self._known(name, condition)
        if other is None:
            return Unknown(OtherReason(""))
        text = f"{column} {op.value} {other}"
        if other.type != column.type or column.type in _FLOATING:
            return self._unknown(text, f"engines compare {column.type} with {other.type} differently")
        if other == column:
            return self._unknown(text, "xskip cannot compare a column with itself")
        return ColumnComparison(op, column, other)

    def _like(self, name: Name, pattern: Literal, *, negated: bool) -> Predicate:
        column = self._known(name, f"{_shown(name)} LIKE '{pattern.text}'")
        if column is None:
            return Unknown(OtherReason(""))
        text = f"{column} LIKE '{pattern.text}'"
        prefix, rest = split_like(pattern.text, "\\")
        if column.type != "string" or prefix is None or not (prefix or not rest):
            return self._unknown(text, "xskip uses only the beginning of a LIKE pattern, on columns of type string")
        if not rest:
            return self._compared(Op.NE if negated else Op.EQ, name, pattern, negated=negated)
        try:
            beginning = prefix.encode()
        except UnicodeEncodeError:
            return self._unknown(text, "the pattern is not valid Unicode")
        if rest == "%":
            return NotStartsWith(column, beginning) if negated else StartsWith(column, beginning)
        rest_of_it = self._unknown(text, "xskip uses only the beginning of the LIKE pattern")
        return rest_of_it if negated else And((StartsWith(column, beginning), rest_of_it))


def _merged(parts: list[Predicate], op: Op) -> list[Predicate]:
    """Return the parts with comparisons of one operand by ``=``, or by ``!=``, as one leaf with a list of values."""
    values: dict[Operand, list[Value]] = {}
    for part in parts:
        if isinstance(part, Comparison) and part.op is op:
            values.setdefault(part.operand, []).append(part.value)
    lists = {operand: found for operand, found in values.items() if len(found) > 1}
    rest: list[Predicate] = [p for p in parts if not (isinstance(p, Comparison) and p.op is op and p.operand in lists)]
    for operand, found in lists.items():
        rest.append(In(operand, tuple(found)) if op is Op.EQ else NotIn(operand, tuple(found)))
    return rest


def _in_range(op: Op, found: Range) -> Predicate:
    """Return a condition that is TRUE if the comparison with at least one value of a range is TRUE."""
    operand, low, high = found.operand, found.low, found.high
    if found.is_exact:
        return Comparison(op, operand, low)
    match op:
        case Op.EQ:
            return And((Comparison(Op.GE, operand, low), Comparison(Op.LE, operand, high)))
        case Op.NE:
            return IsNotNull(operand)
        case Op.LT | Op.LE:
            return Comparison(op, operand, high)
        case Op.GT | Op.GE:
            return Comparison(op, operand, low)


def _shown(item: Item) -> str:
    if isinstance(item, Name):
        return ".".join(item.path)
    typed = (item.kind if item.kind == "X" else f"{item.kind} ") if item.kind.isupper() else ""
    return f"{typed}'{item.text}'" if typed or item.kind == "string" else item.text or "NULL"
