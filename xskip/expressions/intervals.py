"""The interval of a column's values that a predicate admits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from xskip.column_paths import join_path
from xskip.expressions.operands import Column
from xskip.expressions.predicate import And, Comparison, Equivalent, In, Op, Or, Predicate

__all__ = ["Interval", "interval_of"]


class Interval(NamedTuple):
    """An interval of values in Spark's internal representation; None is an open end."""

    low: Any = None
    high: Any = None


def interval_of(predicate: Predicate, column: str) -> Interval:
    """Return an interval that contains a column's values in all rows for which a predicate is TRUE.

    Whether an end belongs to the interval is left open. ``column`` is the text of the column's path, in any case.

    >>> a = Column(("a",), "int")
    >>> interval_of(And((Comparison(Op.GE, a, 3), Comparison(Op.LT, a, 9), Comparison(Op.NE, a, 5))), "A")
    Interval(low=3, high=9)
    >>> interval_of(Or((In(a, (7, 2)), Comparison(Op.GT, a, 40))), "a")
    Interval(low=2, high=None)
    """
    match predicate:
        case Comparison(op, operand, value) if _is(operand, column):
            low = value if op in (Op.EQ, Op.GT, Op.GE) else None
            return Interval(low, value if op in (Op.EQ, Op.LT, Op.LE) else None)
        case In(operand, values) if values and _is(operand, column):
            return Interval(min(values), max(values))  # type: ignore[type-var]
        case And(children) | Equivalent(children):
            found = [interval_of(child, column) for child in children]
            return Interval(max(_known(each.low for each in found), default=None),
                            min(_known(each.high for each in found), default=None))  # fmt: skip
        case Or(children):
            found = [interval_of(child, column) for child in children]
            lows, highs = _known(each.low for each in found), _known(each.high for each in found)
            return Interval(min(lows) if len(lows) == len(found) else None,
                            max(highs) if len(highs) == len(found) else None)  # fmt: skip
        case _:
            return Interval()


def _is(operand: object, column: str) -> bool:
    return isinstance(operand, Column) and join_path(operand.path).lower() == column.lower()


def _known(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]
