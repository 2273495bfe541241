"""The values that literals of a predicate have for a column of a given type."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal, InvalidOperation
from zoneinfo import ZoneInfo

import numpy as np

from xskip.expressions.operands import Cast, Column, Operand
from xskip.expressions.predicate import Value
from xskip.standalone.sql import Literal
from xskip.types.datatypes import BITS, INTEGRAL, decimal_digits, is_widening

__all__ = ["Range", "UnusableError", "range_of"]

_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d:\d\d)?", re.ASCII
)  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_HOUR = 3_600_000_000
#: No zone of Java differs from UTC by more than 18 hours.
_WIDEST = 18 * _HOUR
#: No zone has ever skipped more than a day.
_LONGEST_GAP = 24 * _HOUR
#: No decimal of Spark has more digits.
_MAX_DIGITS = 38
_EXACT = Context(prec=_MAX_DIGITS)


class UnusableError(Exception):
    """Error for a literal whose value for a column depends on the engine; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Range:
    """The values that a literal can have."""

    #: The column, or a cast of the column, with which the values compare.
    operand: Operand
    #: The least and the greatest value; both are equal if the literal has only one value.
    low: Value
    high: Value

    @property
    def is_exact(self) -> bool:
        """Return whether the literal has only one value."""
        return self.low == self.high or self.low is self.high  # NaN differs from itself


def range_of(literal: Literal, column: Column, zone: str | None) -> Range:
    """Return the values that a literal, which is not NULL, can have in a comparison with a column.

    ``zone`` is that of timestamps without an offset; None if it is not known.

    >>> range_of(Literal("number", "5"), Column(("a",), "int"), None).low
    5
    """
    kind = column.type
    match literal.kind:
        case "number" if kind in INTEGRAL or decimal_digits(kind):
            return _exact_number(literal.text, column)
        case "number" if kind in ("float", "double"):
            return _one(column, _floating(literal.text, kind))
        case "nan" if kind in ("float", "double"):
            return _one(column, math.nan)
        case "X" if kind == "binary":
            return _one(column, bytes.fromhex(literal.text))
        case "string" if kind == "string":
            return _one(column, _utf8(literal.text))
        case "boolean" if kind == "boolean":
            return _one(column, literal.text == "TRUE")
        case "string" | "DATE" if kind == "date":
            return _one(column, _day(literal.text))
        case "DATE" if kind in ("timestamp", "timestamp_ntz"):
            _day(literal.text)
            return _moment(literal, column, zone)
        case "TIMESTAMP" | "TIMESTAMP_NTZ" | "string" if kind in ("timestamp", "timestamp_ntz"):
            return _moment(literal, column, zone)
    raise UnusableError(f"engines convert a {literal.kind.lower()} literal and a column of type {kind} differently")


def _one(operand: Operand, value: Value) -> Range:
    return Range(operand, value, value)


def _exact_number(text: str, column: Column) -> Range:
    """Return a number without an exponent, compared as a type that holds the number and each value of the column."""
    number = _decimal(text)
    if "e" in text.lower():
        raise UnusableError("engines compare exact numbers with a floating-point literal differently")
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    whole = max(len(digits) - scale, 1)
    own = decimal_digits(column.type)
    if own is None and scale == 0:
        for kind in INTEGRAL[INTEGRAL.index(column.type) :]:
            if -(1 << BITS[kind] - 1) <= int(number) < 1 << BITS[kind] - 1:
                return _one(column if kind == column.type else Cast(column, kind), int(number))
    whole = max(whole, own[0] - own[1] if own else 19)
    scale = max(scale, own[1] if own else 0)
    kind = f"decimal({whole + scale},{scale})"
    if whole + scale > _MAX_DIGITS or not is_widening(column.type, kind):
        raise UnusableError(f"the number has too many digits for a column of type {column.type}")
    operand = column if kind == column.type else Cast(column, kind)
    return _one(operand, number.quantize(Decimal(1).scaleb(-scale), context=_EXACT))


def _floating(text: str, kind: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise UnusableError("the number is too great for a floating-point number")
    if kind == "float" and (Decimal(float(np.float32(value))) != _decimal(text) if abs(value) < 3e38 else True):
        raise UnusableError("engines round this number differently for a column of type float")
    return value


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise UnusableError("the exponent of the number is too great") from error


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UnusableError("the string is not valid Unicode") from error


def _day(text: str) -> int:
    try:
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
            raise ValueError
        return (date.fromisoformat(text) - _EPOCH.date()).days
    except ValueError as error:
        raise UnusableError("the date does not have the form 2024-01-31") from error


def _moment(literal: Literal, column: Column, zone: str | None) -> Range:
    """Return the moments in microseconds that a literal can mean."""
    match = _MOMENT.fullmatch(literal.text)
    try:
        if match is None:
            raise ValueError
        local = datetime.fromisoformat(f"{match[1]}T{match[2] or '00:00:00'}").replace(tzinfo=timezone.utc)
        offset = datetime.fromisoformat(f"2000-01-01T00:00:00{match[4].replace('Z', '+00:00')}") if match[4] else None
    except ValueError as error:
        raise UnusableError("the timestamp does not have the form 2024-01-31 10:30:00") from error
    value = (local - _EPOCH) // timedelta(microseconds=1) + int((match[3] or "").ljust(6, "0"))
    naive = literal.kind in ("TIMESTAMP_NTZ", "DATE", "string")
    if column.type == "timestamp_ntz":
        if offset is not None:
            raise UnusableError("engines compare a timestamp with an offset and a column without a zone differently")
        margin = 0 if naive or zone == "UTC" else _LONGEST_GAP
        return Range(column, value - margin, value + margin)
    if offset is not None:
        if literal.kind == "TIMESTAMP_NTZ":
            raise UnusableError("a timestamp without a zone has an offset")
        shift = offset.utcoffset()
        assert shift is not None
        return _one(column, value - shift // timedelta(microseconds=1))
    # Without an offset, the moment depends on the time zone.
    if zone is None:
        return Range(column, value - _WIDEST, value + _WIDEST)
    # A local time that a zone has twice, or skips, can mean either of two moments.
    moments = [local.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1)]
    shifts = [(moment.utcoffset() or timedelta()) // timedelta(microseconds=1) for moment in moments]
    return Range(column, value - max(shifts), value - min(shifts))
