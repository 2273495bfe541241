"""Which functions follow the order of their column, and as far as what. Rules: specs/pruning.rst, [PRU-FN].

Each line's derivation is beside it; what is not here follows nothing, and is asked of single values alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xskip.expressions.operands import Monotonicity
from xskip.types.datatypes import BITS, INTEGRAL, decimal_digits

__all__ = ["monotonicity_of"]

_RISING, _UNKNOWN = Monotonicity(1), Monotonicity()
_FLOATING = ("float", "double")
#: One argument, and never falling: floor(x / unit) of instants and days, days and instants from numbers, rounding.
_STEPS = {
    "UnixSeconds", "UnixMillis", "UnixMicros", "UnixDate", "DateFromUnixDate", "SecondsToTimestamp",
    "MillisToTimestamp", "MicrosToTimestamp", "Year", "YearOfWeek", "Ceil", "Floor", "KnownNotNull", "KnownNullable",
    "NormalizeNaNAndZero", "KnownFloatingPointNormalized", "KnownNotContainsNull",
    # Java promises of these that they never fall, though they are rounded; where they are not defined they are NULL
    "Exp", "Expm1", "Log", "Log1p", "Log2", "Log10", "Atan", "Signum",
}  # fmt: skip
#: One argument, a date, and never falling within one such period of the column.
_WITHIN = {"Month": "year", "Quarter": "year", "DayOfYear": "year", "DayOfMonth": "month"}


def monotonicity_of(node: Any) -> Monotonicity:
    """How an encoded expression over one column follows that column's order.

    >>> shape_of(["Year", ["$", ["d"], "date"]]).direction, shape_of(["Upper", ["$", ["s"], "string"]]).direction
    (1, 0)
    """
    match node:
        case ["$", _, _]:
            return _RISING
        case ["UnaryMinus", child, *_]:  # -x falls; the one integer without an opposite overflows to itself, below all
            return _turned(monotonicity_of(child)) if _kind(child) not in INTEGRAL else _product(child, -1)
        case ["Add" | "Subtract" | "DateAdd" | "DateSub" | "AddMonths" | "DateDiff", left, right, *_]:
            return _wrapping(node, _sum(node[0], left, right))
        case ["Abs", ["$", _, kind] as child, *_]:  # the least integer has no absolute value
            return replace(_product(child, 1) if kind in INTEGRAL else _RISING, folds=True)
        case ["Multiply", left, right, *_]:
            return _times(left, right)
        case ["Round" | "BRound", child, ["#", "int", int()], *_]:  # to the nearest of a grid: the order stays
            return _wrapping(node, monotonicity_of(child))  # the greatest integers may be rounded beyond the type
        case ["Cast", child, {"t": str() as target}, zone, *_]:
            return _cast(child, target, zone)
        case ["Sqrt", child]:  # NaN below zero, which what is above it can hide
            return _wrapping(node, monotonicity_of(child))
        case [str() as name, child, *rest] if name in _STEPS and not _parts(rest):
            return monotonicity_of(child)
        case ["Divide" | "IntegralDivide", child, divisor, *_] if _literal(divisor):  # rounding keeps the order
            shape = monotonicity_of(child)  # and the least integer has no opposite
            return shape if _literal(divisor) > 0 else _wrapping(node, _turned(shape))
        case _:
            return _of_times(node)


def _of_times(node: Any) -> Monotonicity:
    """Functions of dates and instants, and of strings."""
    match node:
        case [str() as name, ["$", _, "date"] | ["Cast", ["$", *_], {"t": "date"}, *_] as child] if name in _WITHIN:
            return replace(monotonicity_of(child), within=_WITHIN[name])
        case ["UnixTimestamp" | "ToUnixTimestamp", child, ["#", "string", _], *_] if _kind(child) in (
            "timestamp",
            "date",
        ):
            return monotonicity_of(child)  # whole seconds of an instant, or of the first one of a day
        case ["TruncDate", child, ["#", "string", str()]]:  # the first day of a period
            return monotonicity_of(child)
        case ["TruncTimestamp", ["#", "string", str()], child, str() as zone]:  # the first instant of a local period
            return _local(monotonicity_of(child), child, zone)
        case ["Substring", child, ["#", "int", 0 | 1], ["#", "int", int()]]:  # of a < b, the beginnings are a' <= b'
            return monotonicity_of(child)
        case ["Concat", [["#", "string", str()], ["$", _, "string"]]]:  # the same beginning, then the column
            return _RISING
        case ["Coalesce", [["$", _, _], ["#", _, _], *_]]:  # the column itself, but for NULL, which is asked for itself
            return _RISING
        case _:
            return _UNKNOWN


def _parts(arguments: list[Any]) -> bool:
    """Is any of these an expression; settings of a function are not."""
    return any(isinstance(argument, list) for argument in arguments)


def _turned(shape: Monotonicity) -> Monotonicity:
    return replace(shape, direction=-shape.direction)


def _wrapping(node: Any, shape: Monotonicity) -> Monotonicity:
    """A function that can wrap around, or be NaN, between two values: its own ends tell, which the whole can hide."""
    term = getattr(node, "term", None)
    return shape if term is None else replace(shape, wraps=(*shape.wraps, (term, node.type, shape.direction)))


def _literal(node: Any) -> Any:
    """The value of a number in a filter, None for anything else; decimals and floats come as texts."""
    match node:
        case ["#", str(), bool() | None]:
            return None
        case ["#", str() as kind, int() as value] if kind in INTEGRAL or kind in ("date", "timestamp", "timestamp_ntz"):
            return value
        case ["#", str() as kind, str() as text] if kind in _FLOATING or decimal_digits(kind):
            number = float(text)
            return number if abs(number) < float("inf") else None  # and not NaN
        case _:
            return None


def _kind(node: Any) -> str:
    match node:
        case ["$" | "#", _, str() as kind] | ["#", str() as kind, _]:
            return kind
        case _:
            return str(getattr(node, "type", ""))


def _sum(name: str, left: Any, right: Any) -> Monotonicity:
    """X + c, c + x and x - c rise with x, c - x falls; an overflow on the way shows as a fall between its own bounds.

    It does: what wraps around wraps once between the bounds, and the greater end comes out below the lesser one.
    """
    if _literal(right) is not None:  # months are added up to the last day of the month at most: days meet, and no more
        return monotonicity_of(left)
    if _literal(left) is None or name not in ("Add", "Subtract", "DateDiff"):
        return _UNKNOWN
    inner = monotonicity_of(right)
    return inner if name == "Add" else _turned(inner)


def _times(left: Any, right: Any) -> Monotonicity:
    """X * c rises or falls with the sign of c; an integer must not wrap around, which it can do many times."""
    child, factor = (left, _literal(right)) if _literal(right) is not None else (right, _literal(left))
    if not factor:
        return _UNKNOWN
    if _kind(child) in INTEGRAL:
        return _product(child, factor)
    shape = monotonicity_of(child)
    return shape if factor > 0 else _turned(shape)


def _product(child: Any, factor: int) -> Monotonicity:
    """Of the column itself alone: only its bounds are known."""
    if not (isinstance(child, list) and child[:1] == ["$"]):
        return _UNKNOWN
    greatest = (1 << (BITS[_kind(child)] - 1)) - 1
    return Monotonicity(
        1 if factor > 0 else -1, limit=greatest // abs(factor)
    )  # |x| <= greatest / |c|  =>  |x * c| <= greatest


def _local(shape: Monotonicity, child: Any, zone: str) -> Monotonicity:
    """A function of local time: of the column's own instants, for which the zone's offsets can be looked up."""
    own = isinstance(child, list) and child[:1] == ["$"]
    return replace(shape, zone=zone) if own else _UNKNOWN


def _cast(child: Any, target: str, zone: Any) -> Monotonicity:
    kind, shape = _kind(child), monotonicity_of(child)
    match kind, target:
        case ("timestamp", "date") if isinstance(zone, str):  # the day of local time
            return _local(shape, child, zone)
        case ("timestamp_ntz", "date") | ("timestamp", "bigint" | "double"):  # whole days, seconds, fractions of them
            return shape
        case ("date", "timestamp") if isinstance(
            zone, str
        ):  # the first instant of a day comes after that of the one before
            return shape
        case ("date", "timestamp_ntz") | ("bigint" | "int" | "smallint" | "tinyint", "timestamp"):
            return shape
        case _ if kind in INTEGRAL and (target in _FLOATING or decimal_digits(target)):  # rounding keeps the order
            return shape
        case _ if kind in INTEGRAL and target in INTEGRAL and INTEGRAL.index(kind) <= INTEGRAL.index(target):
            return shape
        case _ if kind in _FLOATING and target in (*_FLOATING, "int", "bigint"):  # towards zero, and ends stay at ends
            return shape
        case _ if decimal_digits(kind) and (target in _FLOATING or decimal_digits(target)):
            return shape
        case _:
            return _UNKNOWN
