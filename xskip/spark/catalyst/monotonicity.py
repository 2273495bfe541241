"""The functions that follow the order of their column, and the limits within which they do. Rules: [PRU-FN].

Each case has its derivation beside it. Any other function has no known order, and Spark evaluates such a function only
on single values. specs/pruning.rst states the rules.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xskip.expressions.operands import Monotonicity
from xskip.types.datatypes import BITS, INTEGRAL, decimal_digits

__all__ = ["monotonicity_of"]

_RISING, _UNKNOWN = Monotonicity(1), Monotonicity()
_FLOATING = ("float", "double")
#: Functions of one argument that never fall: floor(x / unit) of instants and days, days and instants from numbers, and
#: rounding.
_STEPS = {
    "UnixSeconds", "UnixMillis", "UnixMicros", "UnixDate", "DateFromUnixDate", "SecondsToTimestamp",
    "MillisToTimestamp", "MicrosToTimestamp", "Year", "YearOfWeek", "Ceil", "Floor", "KnownNotNull", "KnownNullable",
    "NormalizeNaNAndZero", "KnownFloatingPointNormalized", "KnownNotContainsNull",
    # Java guarantees that the rounded results of these functions never fall; outside of their domain they are NULL
    "Exp", "Expm1", "Log", "Log1p", "Log2", "Log10", "Atan", "Signum",
}  # fmt: skip
#: Functions of a date that never fall within one such period of the column.
_WITHIN = {"Month": "year", "Quarter": "year", "DayOfYear": "year", "DayOfMonth": "month"}


def monotonicity_of(node: Any) -> Monotonicity:
    """Return how an encoded expression over one column follows the order of that column."""
    match node:
        case ["$", _, _]:
            return _RISING
        case ["UnaryMinus", child, *_]:  # -x falls as x rises; the least integer has no opposite and stays the least
            return _turned(monotonicity_of(child)) if _kind(child) not in INTEGRAL else _product(child, -1)
        case ["Add" | "Subtract" | "DateAdd" | "DateSub" | "AddMonths" | "DateDiff", left, right, *_]:
            return _wrapping(node, _sum(node[0], left, right))
        case ["Abs", ["$", _, kind] as child, *_]:  # the least integer has no absolute value
            return replace(_product(child, 1) if kind in INTEGRAL else _RISING, folds=True)
        case ["Multiply", left, right, *_]:
            return _times(left, right)
        case ["Round" | "BRound", child, ["#", "int", int()], *_]:  # rounding to a grid keeps the order
            return _wrapping(node, monotonicity_of(child))  # rounding can take the greatest integers beyond the type
        case ["Cast", child, {"t": str() as target}, zone, *_]:
            return _cast(child, target, zone)
        case ["Sqrt", child]:  # NaN below zero, which an outer function can hide
            return _wrapping(node, monotonicity_of(child))
        case [str() as name, child, *rest] if name in _STEPS and not _parts(rest):
            return monotonicity_of(child)
        case ["Divide" | "IntegralDivide", child, divisor, *_] if _literal(divisor):  # rounding keeps the order
            shape = monotonicity_of(child)  # the least integer divided by -1 overflows
            return shape if _literal(divisor) > 0 else _wrapping(node, _turned(shape))
        case _:
            return _of_times(node)


def _of_times(node: Any) -> Monotonicity:
    """Return the order of a function of dates, instants or strings."""
    match node:
        case [str() as name, ["$", _, "date"] | ["Cast", ["$", *_], {"t": "date"}, *_] as child] if name in _WITHIN:
            return replace(monotonicity_of(child), within=_WITHIN[name])
        case ["UnixTimestamp" | "ToUnixTimestamp", child, ["#", "string", _], *_] if _kind(child) in (
            "timestamp",
            "date",
        ):
            return monotonicity_of(child)  # whole seconds of an instant, or of the first instant of a day
        case ["TruncDate", child, ["#", "string", str()]]:  # the first day of a period
            return monotonicity_of(child)
        case ["TruncTimestamp", ["#", "string", str()], child, str() as zone]:  # the first instant of a local period
            return _local(monotonicity_of(child), child, zone)
        case ["Substring", child, ["#", "int", 0 | 1], ["#", "int", int()]]:  # if a < b, their prefixes are a' <= b'
            return monotonicity_of(child)
        case ["Concat", [["#", "string", str()], ["$", _, "string"]]]:  # a fixed prefix, then the column
            return _RISING
        case ["Coalesce", [["$", _, _], ["#", _, _], *_]]:  # the column except for NULL, which clauses check separately
            return _RISING
        case _:
            return _UNKNOWN


def _parts(arguments: list[Any]) -> bool:
    """Return whether any argument is an expression; the settings of a function are not expressions."""
    return any(isinstance(argument, list) for argument in arguments)


def _turned(shape: Monotonicity) -> Monotonicity:
    return replace(shape, direction=-shape.direction)


def _wrapping(node: Any, shape: Monotonicity) -> Monotonicity:
    """Add a part that can wrap around or be NaN between two values to the order of a function."""
    term = getattr(node, "term", None)
    # the values of the part at both ends show whether it wrapped around; those of the whole expression can hide it
    return shape if term is None else replace(shape, wraps=(*shape.wraps, (term, node.type, shape.direction)))


def _literal(node: Any) -> Any:
    """Return the value of a finite number, date or time literal, or None; decimals and floats are encoded as text."""
    match node:
        case ["#", str(), bool() | None]:
            return None
        case ["#", str() as kind, int() as value] if kind in INTEGRAL or kind in ("date", "timestamp", "timestamp_ntz"):
            return value
        case ["#", str() as kind, str() as text] if kind in _FLOATING or decimal_digits(kind):
            number = float(text)
            return number if abs(number) < float("inf") else None  # False for NaN, too
        case _:
            return None


def _kind(node: Any) -> str:
    match node:
        case ["$" | "#", _, str() as kind] | ["#", str() as kind, _]:
            return kind
        case _:
            return str(getattr(node, "type", ""))


def _sum(name: str, left: Any, right: Any) -> Monotonicity:
    """Return the order of a sum or difference: x + c, c + x and x - c rise with x, and c - x falls."""
    # an overflow between the bounds shows as ends out of order: the values wrap around at most once, and the greater
    # end then comes out below the lesser end
    if _literal(right) is not None:  # AddMonths stops at a month's last day: two days can coincide but not swap
        return monotonicity_of(left)
    if _literal(left) is None or name not in ("Add", "Subtract", "DateDiff"):
        return _UNKNOWN
    inner = monotonicity_of(right)
    return inner if name == "Add" else _turned(inner)


def _times(left: Any, right: Any) -> Monotonicity:
    """Return the order of x * c, which rises or falls with the sign of c."""
    child, factor = (left, _literal(right)) if _literal(right) is not None else (right, _literal(left))
    if not factor:
        return _UNKNOWN
    if _kind(child) in INTEGRAL:
        # an integer product must not overflow: it can wrap around many times, so that its ends show nothing
        return _product(child, factor)
    shape = monotonicity_of(child)
    return shape if factor > 0 else _turned(shape)


def _product(child: Any, factor: int) -> Monotonicity:
    """Return the order of an integer column times a factor, up to the limit of overflow; only a column has bounds."""
    if not (isinstance(child, list) and child[:1] == ["$"]):
        return _UNKNOWN
    greatest = (1 << (BITS[_kind(child)] - 1)) - 1
    return Monotonicity(
        1 if factor > 0 else -1, limit=greatest // abs(factor)
    )  # |x| <= greatest / |c|  =>  |x * c| <= greatest


def _local(shape: Monotonicity, child: Any, zone: str) -> Monotonicity:
    """Return the order of a function of local time, if the function is of a bare column."""
    # clauses look up the zone's offsets between the bounds of the column, which are instants only for a bare column
    is_column = isinstance(child, list) and child[:1] == ["$"]
    return replace(shape, zone=zone) if is_column else _UNKNOWN


def _cast(child: Any, target: str, zone: Any) -> Monotonicity:
    kind, shape = _kind(child), monotonicity_of(child)
    match kind, target:
        case ("timestamp", "date") if isinstance(zone, str):  # the local day
            return _local(shape, child, zone)
        case ("timestamp_ntz", "date") | ("timestamp", "bigint" | "double"):  # days, seconds, fractional seconds
            return shape
        case ("date", "timestamp") if isinstance(
            zone, str
        ):  # a day's first instant comes after the first instant of the day before
            return shape
        case ("date", "timestamp_ntz") | ("bigint" | "int" | "smallint" | "tinyint", "timestamp"):
            return shape
        case _ if kind in INTEGRAL and (target in _FLOATING or decimal_digits(target)):  # rounding keeps the order
            return shape
        case _ if kind in INTEGRAL and target in INTEGRAL and INTEGRAL.index(kind) <= INTEGRAL.index(target):
            return shape
        case _ if kind in _FLOATING and target in (*_FLOATING, "int", "bigint"):  # truncates towards zero and saturates
            return shape
        case _ if decimal_digits(kind) and (target in _FLOATING or decimal_digits(target)):
            return shape
        case _:
            return _UNKNOWN
