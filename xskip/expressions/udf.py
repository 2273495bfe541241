"""Registry of the predicates that user-defined functions imply. Rules: specs/pruning.rst, [PRU-UF]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from xskip.errors import PredicateError
from xskip.expressions.operands import Call
from xskip.expressions.predicate import And, Comparison, Equivalent, In, NotIn, Op, Or, Predicate, Value
from xskip.types.datatypes import BITS, decimal_digits

__all__ = ["FunctionCall", "Implies", "forget_function", "implied", "register_implied"]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """The comparison ``function(arguments) op value`` in a filter.

    Attributes
    ----------
    name : str
        The name of the function.
    arguments : tuple
        :class:`~xskip.expressions.operands.Column`, and literals as :data:`~xskip.expressions.predicate.Value`.
    op : Op
        The comparison operator.
    value : Value
        The literal on the right side; True if the function itself is the condition.
    """

    name: str
    arguments: tuple[object, ...]
    op: Op
    value: Value


#: A callable that returns a predicate that is TRUE for every row for which the call is TRUE, or None if unknown.
Implies = Callable[[FunctionCall], Predicate | None]
_implied: dict[str, Implies] = {}


def register_implied(identity: str, implies: Implies) -> None:
    """Register the predicates that calls of a user-defined function imply, in place of any earlier registration.

    ``identity`` is that of a :class:`~xskip.expressions.operands.Call`.
    """
    _implied[identity] = implies


def forget_function(identity: str) -> None:
    """Remove the registration of a function, if any, so that its calls imply nothing."""
    _implied.pop(identity, None)


def implied(comparison: Comparison) -> Predicate | None:
    """Return the predicate that a comparison of a call implies, or None if nothing known follows from it.

    PredicateError if the predicate has a literal that its column's type cannot hold.
    """
    call = comparison.operand
    implies = _implied.get(call.identity) if isinstance(call, Call) else None
    if implies is None or not isinstance(call, Call):
        return None
    found = implies(FunctionCall(call.name, call.arguments, comparison.op, comparison.value))
    if found is not None:
        _check(found, call.name)
    return found


def _check(predicate: Predicate, name: str) -> None:
    match predicate:
        case And(children) | Or(children) | Equivalent(children):
            for child in children:
                _check(child, name)
        case Comparison(_, operand, value):
            _check_value(operand.type, value, name)
        case In(operand, values) | NotIn(operand, values):
            for value in values:
                _check_value(operand.type, value, name)
        case _:
            return


def _check_value(kind: str, value: Value, name: str) -> None:
    # rounding the literal would change the meaning of the predicate, perhaps towards fewer rows
    if not _holds(kind, value):
        raise PredicateError(
            f"the predicate that {name} implies has a literal that its column cannot hold", found=type(value).__name__,
            expected=f"a value of {kind}", hint="round the literal in the direction that keeps more rows",
        )  # fmt: skip


def _holds(kind: str, value: Value) -> bool:
    """Return whether a Spark type represents a value without rounding."""
    match value:
        case bool():
            return kind == "boolean"
        case bytes():
            return kind in ("string", "binary")
        case Decimal():
            digits = decimal_digits(kind)
            exponent = value.as_tuple().exponent
            return digits is not None and isinstance(exponent, int) and -exponent <= digits[1]
        case int():
            bits = BITS.get(kind)
            in_range = bits is None or -(1 << bits - 1) <= value < 1 << bits - 1
            return in_range and kind not in ("string", "binary", "boolean")
        case float():
            return kind == "double" or (kind == "float" and (math.isnan(value) or float(np.float32(value)) == value))
        case _:
            return False
