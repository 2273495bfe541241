"""The decoder of Catalyst literals in the hook's encoding."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

from xskip.expressions.evaluate import compare
from xskip.expressions.predicate import Constant, Op, Value
from xskip.types.datatypes import INTEGRAL, decimal_digits
from xskip.types.sort_keys import literal_keys

__all__ = ["constant_of", "is_literal", "literal_value"]

_COMPARISONS = {
    "EqualTo": Op.EQ,
    "EqualNullSafe": Op.EQ,
    "LessThan": Op.LT,
    "LessThanOrEqual": Op.LE,
    "GreaterThan": Op.GT,
    "GreaterThanOrEqual": Op.GE,
}


def literal_value(raw: Any, kind: str) -> Value | None:
    """Return the value of an encoded literal, or None for NULL and for a literal that has no supported form."""
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


def is_literal(node: Any) -> bool:
    """Return whether a node in the hook's encoding is a literal."""
    return isinstance(node, list) and len(node) == 3 and node[0] == "#"


def constant_of(node: Any) -> Constant | None:
    """Return the value of a condition on literals of one type alone, or None for other nodes.

    >>> print(constant_of(["LessThan", ["#", "int", 1], ["#", "int", 2]]))
    TRUE
    >>> print(constant_of(["In", ["#", "int", 1], "int", [2, None]]))
    NULL
    """
    match node:
        case ["EqualNullSafe", ["#", _, left], ["#", _, right]] if left is None or right is None:
            return Constant(left is right)
        case [str() as name, ["#", kind, left], ["#", other, right], *_] if name in _COMPARISONS and kind == other:
            return _compared(_COMPARISONS[name], left, [right], kind)
        case ["In", ["#", kind, value], other, [_, *_] as values] if kind == other:
            return _compared(Op.EQ, value, values, kind)
        case ["StartsWith", ["#", "string", str() as text], ["#", "string", str() as prefix]]:
            return Constant(text.startswith(prefix))
        case ["StartsWith", ["#", "string", text], ["#", "string", prefix]] if text is None or prefix is None:
            return Constant(None)
        case _:
            return None


def _compared(op: Op, left: Any, others: list[Any], kind: str) -> Constant | None:
    """Return whether a comparison with one of several values is TRUE; None for values without a supported form."""
    value = literal_value(left, kind)
    values = tuple(literal_value(other, kind) for other in others if other is not None)
    if left is None:
        return Constant(None)
    if value is None or None in values:
        return None
    if any(
        found.as_py() for found in compare(op, literal_keys((value,) * len(values), kind), literal_keys(values, kind))
    ):
        return Constant(True)
    # no value fits, but a NULL among them makes the result NULL
    return Constant(None if len(values) < len(others) else False)
