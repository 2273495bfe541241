"""Catalyst's filters, as the hook encodes them, to predicates.

The encoding is described in ``java/XSkipEncoder.java``: every node is an array that begins with its class name. What
is not known here becomes Unknown with a plain reason, which keeps files. Negation is pushed down by
:func:`xskip.expressions.negate` and nowhere else.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from xskip.datatypes import INTEGRAL, atomic_name, decimal_digits, is_widening
from xskip.expressions import (
    And,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Op,
    Or,
    Predicate,
    StartsWith,
    Unknown,
    Value,
    negate,
)
from xskip.operands import Cast, Column, Computed, Evaluate, Operand
from xskip.patterns import split_like
from xskip.spark.shapes import shape_of
from xskip.spark.terms import Call, decorate

__all__ = ["literal_value", "to_predicate"]

_COMPARISONS = {
    "EqualTo": Op.EQ,
    "LessThan": Op.LT,
    "LessThanOrEqual": Op.LE,
    "GreaterThan": Op.GT,
    "GreaterThanOrEqual": Op.GE,
}
Node = Any


def to_predicate(filters: Sequence[Node], evaluate: Evaluate | None = None) -> Predicate:
    """The conjunction of a scan's filters.

    Parameters
    ----------
    filters : sequence
        As the hook encodes them, decoded from JSON.
    evaluate : Evaluate, optional
        Without it functions are not understood.

    Examples
    --------
    >>> print(to_predicate([["Not", ["EqualTo", ["$", ["a"], "int"], ["#", "int", 5]]]]))
    a != ?
    """
    children = tuple(_predicate(decorate(node, evaluate)) for node in filters)
    return children[0] if len(children) == 1 else And(children)


def _predicate(node: Node) -> Predicate:
    """A filter: by its form, or else as a function whose value is TRUE."""
    found = _by_form(node)
    if isinstance(found, Unknown):
        held = _computed(node)
        return found if held is None else Comparison(Op.EQ, held, True)
    return found


def _by_form(node: Node) -> Predicate:
    match node:
        case ["And", left, right]:
            return And((_predicate(left), _predicate(right)))
        case ["Or", left, right]:
            return Or((_predicate(left), _predicate(right)))
        case ["Not", child]:
            return negate(_predicate(child))
        case ["#", "boolean", bool() | None as value]:
            return Constant(value)
        case ["$", path, "boolean"]:
            return Comparison(Op.EQ, Column(tuple(path), "boolean"), True)
        case ["IsNull" | "IsNotNull" as name, child]:
            return _null_test(name, child)
        case ["IsNaN", child]:
            return _is_nan(child)
        case ["In", child, str() as kind, [*values]]:
            return _membership(child, kind, values)
        case ["EqualNullSafe", left, right]:
            return _null_safe(left, right)
        case [str() as name, left, right, *_] if name in _COMPARISONS:
            return _comparison(_COMPARISONS[name], left, right)
        case ["StartsWith", child, ["#", "string", prefix]]:
            return _starts_with(child, prefix)
        case ["Like", child, ["#", "string", str() as pattern], str() as escape]:
            return _like(node, child, pattern, escape)
        case _:
            return Unknown(_reason(node))


def _operand(node: Node) -> Operand | Unknown:
    """A column that indexes can speak of, or why it is none."""
    match node:
        case ["$", [*path], str() as kind]:
            if atomic_name(kind) is None:
                return Unknown(f"values of type {kind} are not compared as metadata keeps them")
            return Column(tuple(path), kind)
        case ["Cast", inner, {"t": str() as target}, *_]:
            column = _operand(inner)
            if isinstance(column, Column) and is_widening(column.type, target):
                return Cast(column, target)
            if isinstance(column, Unknown):
                return column
            words = f"a cast of {column} to {target} can change values or their order"
            return _computed(node) or Unknown(words)
        case _:
            return _computed(node) or Unknown(_reason(node))


def _computed(node: Node) -> Computed | None:
    """A function of one column, where Spark can be asked for its values."""
    column = _column_in(node)
    if not isinstance(node, Call) or node.term is None or node.evaluate is None or column is None:
        return None
    if atomic_name(column.type) is None or atomic_name(node.type) is None:
        return None
    name = _words(node[0]).replace(" ", "_")
    return Computed(column, node.type, name, node.term, shape_of(node), node.evaluate, _call_in(node))


def _call_in(node: Node) -> tuple[object, ...]:
    """A function of a column itself and of literals, such as ``("Contains", b"x")``."""
    match node:
        case [str() as name, ["$", *_], *arguments]:
            values = [literal_value(a[2], a[1]) if _is_literal(a) else a for a in arguments]
            return () if any(value is None or isinstance(value, list | dict) for value in values) else (name, *values)
        case _:
            return ()


def _column_in(node: Node) -> Column | None:
    """The first column of an expression."""
    match node:
        case ["$", [*path], str() as kind]:
            return Column(tuple(path), kind)
        case list():
            return next((found for part in node if (found := _column_in(part)) is not None), None)
        case _:
            return None


def _null_test(name: str, child: Node) -> Predicate:
    """A null test speaks of the column alone, whatever its type: a nested or collated one has nulls like any other."""
    match child:
        case ["$", [*path], str() as kind]:
            column = Column(tuple(path), kind)
            return IsNull(column) if name == "IsNull" else IsNotNull(column)
        case ["#", _, value]:
            return Constant((value is None) == (name == "IsNull"))
    operand = _computed(child)
    if operand is None:
        return Unknown(_reason(child))
    return IsNull(operand) if name == "IsNull" else IsNotNull(operand)


def _comparison(op: Op, left: Node, right: Node) -> Predicate:
    if _is_literal(left):
        op, left, right = op.flipped, right, left
    if not _is_literal(right):
        return Unknown("a comparison of two columns" if _is_column(left) and _is_column(right) else _reason(right))
    operand = _operand(left)
    if isinstance(operand, Unknown):
        return operand
    _, kind, raw = right
    if raw is None:
        return Constant(None)
    if kind != operand.type:
        return Unknown(f"a comparison of {operand.type} with {kind}")
    value = literal_value(raw, kind)
    return Unknown(f"a literal of type {kind}") if value is None else Comparison(op, operand, value)


def _null_safe(left: Node, right: Node) -> Predicate:
    """``a <=> v`` is never NULL: TRUE iff a is not null and a = v, so its negation is a IS NULL OR a != v."""
    if _is_literal(left):
        left, right = right, left
    if _is_literal(right) and right[2] is None:
        return _null_test("IsNull", left)
    equal = _comparison(Op.EQ, left, right)
    return And((IsNotNull(equal.operand), equal)) if isinstance(equal, Comparison) else equal


def _is_nan(child: Node) -> Predicate:
    """``isnan(a)`` is FALSE for NULL."""
    operand = _operand(child)
    if isinstance(operand, Unknown) or operand.type not in ("float", "double"):
        return Unknown(_reason(child))
    return And((IsNotNull(operand), Comparison(Op.EQ, operand, float("nan"))))


def _membership(child: Node, kind: str, values: list[Any]) -> Predicate:
    operand = _operand(child)
    if isinstance(operand, Unknown):
        return operand
    if kind != operand.type:
        return Unknown(f"a list of {kind} for a column of {operand.type}")
    decoded = [literal_value(raw, kind) for raw in values if raw is not None]
    if any(value is None for value in decoded):
        return Unknown(f"a literal of type {kind}")
    return In(operand, tuple(decoded), has_null=any(raw is None for raw in values))


def _starts_with(child: Node, prefix: Any) -> Predicate:
    operand = _operand(child)
    if isinstance(operand, Unknown):
        return operand
    if prefix is None:
        return Constant(None)
    if operand.type != "string":
        return Unknown(f"a prefix of a column of type {operand.type}")
    raw = literal_value(prefix, "string")
    assert isinstance(raw, bytes)
    return StartsWith(operand, raw)


def _like(node: Node, child: Node, pattern: str, escape: str) -> Predicate:
    """``LIKE`` is its literal prefix and a rest that is asked of single values, so that a negation stays right."""
    prefix, rest = split_like(pattern, escape)
    if prefix is None:
        return Unknown("a LIKE pattern with an escape before an ordinary character")
    if rest == "":
        return _comparison(Op.EQ, child, ["#", "string", prefix])
    start, whole = _starts_with(child, prefix), _computed(node)
    if rest == "%":
        return start
    if whole is None:
        return And((start, Unknown("only the literal beginning of a LIKE pattern is used")))
    return And((start, Comparison(Op.EQ, whole, True))) if prefix else Comparison(Op.EQ, whole, True)


def literal_value(raw: Any, kind: str) -> Value | None:
    r"""A literal's value as :data:`xskip.expressions.Value` says, None for NULL and for what is not held.

    >>> literal_value("1.50", "decimal(10,2)"), literal_value(18262, "date"), literal_value("é", "string")
    (Decimal('1.50'), 18262, b'\xc3\xa9')
    """
    match raw:
        case {"b64": str() as text}:
            return base64.b64decode(text) if kind in ("string", "binary") else None
        case str() if kind == "string":
            return raw.encode()
        case str() if kind in ("float", "double"):
            return float(raw)
        case str() if decimal_digits(kind):
            return Decimal(raw)
        case bool():
            return raw if kind == "boolean" else None
        case int() if (
            kind in INTEGRAL or kind in ("date", "timestamp", "timestamp_ntz") or kind.startswith("interval ")
        ):
            return raw
        case _:
            return None


def _is_literal(node: Node) -> bool:
    return isinstance(node, list) and len(node) == 3 and node[0] == "#"


def _is_column(node: Node) -> bool:
    return isinstance(node, list) and bool(node) and node[0] == "$"


def _reason(node: Node) -> str:
    """A plain sentence about a node that is not understood."""
    match node:
        case ["$meta", path, _]:
            return f"the hidden column {'.'.join(path)} is not indexed"
        case ["$", path, _]:
            return f"column {'.'.join(path)} is not used here"
        case ["#", kind, _]:
            return f"a literal of type {kind} is not used here"
        case [str() as name, *_]:
            return f"the function or operator '{_words(name)}' is not understood"
        case _:
            return "an expression that is not understood"


def _words(name: str) -> str:
    """The name of a class in words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
