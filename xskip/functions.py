"""Functions of users: what their results say of their arguments. Rules: specs/pruning.rst, [PRU-UF]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xskip.expressions import Comparison, Op, Predicate, Value
from xskip.operands import Call

__all__ = ["FunctionCall", "Implies", "forget_function", "implied", "register_implied"]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """``function(arguments) op value`` in a filter.

    Attributes
    ----------
    name : str
        Of the function.
    arguments : tuple
        :class:`~xskip.operands.Column`, and literals as :data:`~xskip.expressions.Value`.
    op : Op
    value : Value
        True for a function that is itself the condition.
    """

    name: str
    arguments: tuple[object, ...]
    op: Op
    value: Value


#: What must be TRUE of every row for which a call is; None where that is not known.
Implies = Callable[[FunctionCall], Predicate | None]
_implied: dict[str, Implies] = {}


def register_implied(identity: str, implies: Implies) -> None:
    """From now on calls of a function imply what ``implies`` says."""
    _implied[identity] = implies


def forget_function(identity: str) -> None:
    """Its calls imply nothing any more."""
    _implied.pop(identity, None)


def implied(comparison: Comparison) -> Predicate | None:
    """What a comparison of a call implies, None where that is not known."""
    call = comparison.operand
    implies = _implied.get(call.identity) if isinstance(call, Call) else None
    if implies is None or not isinstance(call, Call):
        return None
    return implies(FunctionCall(call.name, call.arguments, comparison.op, comparison.value))
