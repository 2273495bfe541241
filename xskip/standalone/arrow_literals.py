"""Literals of pyarrow's expressions as literals of predicates in SQL."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal, InvalidOperation, localcontext
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from xskip.standalone.sql import Literal

__all__ = ["InexactError", "literal_of"]

#: Up to this number, a double holds each integer exactly.
_DOUBLE = 1 << 53
_EPOCH = datetime(1970, 1, 1)
_TEXTS = (pa.string(), pa.large_string(), pa.string_view())
_BYTES = (pa.binary(), pa.large_binary(), pa.binary_view())


class InexactError(Exception):
    """Error for a literal that pyarrow may not compare exactly with a column; the message is the reason."""


def literal_of(value: Any, kind: pa.DataType, spark_type: str, *, in_list: bool = False) -> Literal:
    """Return the literal with which pyarrow's comparison of a column and a scalar, which is not null, agrees.

    ``kind`` is the type of the column in the files, or a wider one. ``spark_type`` is its recorded type; empty if the
    index does not know the column. A value ``in_list`` belongs to ``is_in``, which finds NaN.

    >>> literal_of(pa.scalar(2.0), pa.int32(), "int")
    Literal(kind='number', text='2')
    """
    if pa.types.is_dictionary(value.type):
        value = value.value
    own = value.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _number(value, kind, in_list=in_list)
    if pa.types.is_decimal(kind):
        return _decimal(value, kind)
    if kind in (*_TEXTS, *_BYTES) and own in (*_TEXTS, *_BYTES):
        return _text(value.as_py(), is_text=kind in _TEXTS)
    if pa.types.is_boolean(kind) and pa.types.is_boolean(own):
        return Literal("boolean", str(value.as_py()).upper())
    if pa.types.is_date32(kind):
        return Literal("DATE", _day(value))
    if pa.types.is_timestamp(kind):
        return _moment(value, kind, spark_type)
    raise _no_comparison(value, kind)


def _no_comparison(value: Any, kind: pa.DataType) -> InexactError:
    return InexactError(f"xskip does not compare a column of type {kind} with a literal of type {value.type}")


def _number(value: Any, kind: pa.DataType, *, in_list: bool) -> Literal:
    """Return a number in digits that denote it exactly."""
    own = value.type
    if pa.types.is_integer(own):
        number = value.as_py()
        if pa.types.is_floating(kind) and abs(number) > _DOUBLE:
            raise InexactError("pyarrow rounds this number to a floating-point number")
        return Literal("number", str(number))
    if pa.types.is_floating(own) and own != pa.float16():
        number = value.as_py()
        if math.isnan(number) and in_list and pa.types.is_floating(kind):
            return Literal("nan", "NaN")
        if math.isnan(number) or math.isinf(number):
            raise InexactError("xskip does not use comparisons with infinity and NaN")
        # A double rounds integers from 2^53 on, but keeps their order: comparisons with lesser literals stay exact.
        if pa.types.is_integer(kind) and abs(number) >= _DOUBLE:
            raise InexactError("pyarrow rounds the column to floating-point numbers")
        return Literal("number", _digits(Decimal(number)))
    if pa.types.is_decimal(own) and pa.types.is_integer(kind):
        return _decimal(value, kind)
    raise _no_comparison(value, kind)


def _digits(number: Decimal) -> str:
    """Return a number without an exponent and without zeros at its end.

    >>> _digits(Decimal("2.50")), _digits(Decimal("-0")), _digits(Decimal("1E+2"))
    ('2.5', '0', '100')
    """
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _decimal(value: Any, kind: pa.DataType) -> Literal:
    own = value.type
    if not (pa.types.is_integer(own) or pa.types.is_decimal(own)):
        raise _no_comparison(value, kind)
    number = Decimal(value.as_py())
    if not _is_exact(number, value, kind):
        raise InexactError("this version of pyarrow does not compare these decimals exactly")
    return Literal("number", _digits(number))


def _is_exact(number: Decimal, value: Any, kind: pa.DataType) -> bool:
    """Return whether pyarrow compares decimals near a number rightly; some versions fail with other scales."""
    with localcontext() as context:
        context.prec = 80
        step = Decimal(1).scaleb(-kind.scale if pa.types.is_decimal(kind) else 0)
        try:
            least = number.quantize(step, ROUND_FLOOR)
            near = pa.array([least + i * step for i in (-1, 0, 1, 2)], pa.decimal128(38, -int(step.logb()))).cast(kind)
        except (InvalidOperation, pa.ArrowInvalid):
            return False
        decimals = near.to_pylist()
        try:
            less, equal = pc.less(near, value).to_pylist(), pc.equal(near, value).to_pylist()
            listed = pc.is_in(near, value_set=pa.array([value.as_py()], value.type)).to_pylist()
        except (pa.ArrowException, TypeError):  # then no row matches either
            return True
        equals = [each == number for each in decimals]
        return bool(less == [each < number for each in decimals] and equals == equal == listed)


def _text(content: str | bytes, *, is_text: bool) -> Literal:
    # pyarrow compares texts and bytes by their bytes.
    if not is_text:
        return Literal("X", (content.encode() if isinstance(content, str) else content).hex())
    try:
        return Literal("string", content if isinstance(content, str) else content.decode())
    except UnicodeDecodeError as error:
        raise InexactError("the bytes are no valid text") from error


def _day(value: Any) -> str:
    """Return a date, or the date of a midnight without a zone, with which pyarrow compares the midnights of dates."""
    if pa.types.is_date(value.type):
        found = _date(value)
    elif pa.types.is_timestamp(value.type) and value.type.tz is None:
        found = _microseconds(value)
        if found.time() != datetime.min.time():
            raise InexactError("xskip does not compare dates with times of the day")
        found = found.date()
    else:
        raise _no_comparison(value, pa.date32())
    return found.isoformat()


def _date(value: Any) -> date:
    try:
        found = value.as_py()
    except OverflowError as error:
        raise InexactError("xskip compares only dates of the years 1 to 9999") from error
    assert isinstance(found, date)
    return found


def _moment(value: Any, kind: pa.DataType, spark_type: str) -> Literal:
    """Return a timestamp; the midnight of a date is in UTC, and so are Spark's timestamps without a zone in files."""
    own = value.type
    if pa.types.is_date(own):
        found = datetime.combine(_date(value), datetime.min.time())
    elif pa.types.is_timestamp(own) and (own.tz is None) == (kind.tz is None):
        found = _microseconds(value)
    else:
        raise InexactError("pyarrow does not compare timestamps with a zone and without one")
    text = found.isoformat(" ", "microseconds")
    return Literal("TIMESTAMP_NTZ", text) if spark_type == "timestamp_ntz" else Literal("TIMESTAMP", f"{text}+00:00")


def _microseconds(value: Any) -> datetime:
    """Return a timestamp as the time in UTC, without a zone."""
    try:
        exact = value.cast(pa.timestamp("us", value.type.tz)).cast(pa.int64()).as_py()
        return _EPOCH + timedelta(microseconds=exact)
    except (pa.ArrowException, OverflowError) as error:
        raise InexactError("xskip compares timestamps only in microseconds of the years 1 to 9999") from error
