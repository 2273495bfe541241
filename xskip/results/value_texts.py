"""Values of columns as short texts, and the places of labels on an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["is_linear", "linear_ticks", "number_of", "numbers_of", "value_text"]

_MAX_CHARACTERS = 24
_DAY = 86_400_000_000
#: Steps between labels of an axis of times, in microseconds: from a microsecond to a week, each once.
_TIME_STEPS = (
    *(step * unit for unit in (1, 10, 100, 1_000, 10_000, 100_000) for step in (1, 2, 5)),
    *(step * 1_000_000 for step in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800)),
    *(step * 3_600_000_000 for step in (1, 2, 3, 6, 12)),
    *(step * _DAY for step in (1, 2, 5, 10, 14)),
)  # fmt: skip
_MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60)


def is_linear(kind: pa.DataType) -> bool:
    """Return whether an axis can place values of a type by their distances: numbers and times."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        or pa.types.is_date32(kind) or pa.types.is_timestamp(kind)
    )  # fmt: skip


def numbers_of(values: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return values of a linear type as numbers, times in microseconds since the epoch; NaN for null.

    >>> numbers_of(pa.array([1, None, 3])).tolist()
    [1.0, nan, 3.0]
    """
    if pa.types.is_date32(values.type):
        values = values.view(pa.int32())
        return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False) * _DAY)
    if pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())
    numbers = values.cast(pa.float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)


def number_of(value: Any, kind: pa.DataType) -> float:
    """Return a value in Spark's internal representation as the number of :func:`numbers_of`.

    >>> number_of(1, pa.date32()), number_of(5, pa.int32())
    (86400000000.0, 5.0)
    """
    return float(value) * (_DAY if pa.types.is_date32(kind) else 1)


def value_text(value: pa.Scalar) -> str:
    """Return a value as a short text; an empty text for null.

    >>> value_text(pa.scalar(1234567)), value_text(pa.scalar(0, pa.timestamp("us", "UTC"))), value_text(pa.scalar("x"))
    ('1,234,567', '1970-01-01 00:00:00', 'x')
    """
    kind = value.type
    if not value.is_valid:
        return ""
    if pa.types.is_integer(kind):
        return f"{value.as_py():,}"
    if pa.types.is_floating(kind):
        return f"{value.as_py():.6g}"
    if pa.types.is_date32(kind):
        return str(np.datetime64(value.cast(pa.int32()).as_py(), "D"))
    if pa.types.is_timestamp(kind):
        return _time_text(value.cast(pa.int64()).as_py())
    found = value.as_py()
    text = found.hex() if isinstance(found, bytes) else str(found)
    return text if len(text) <= _MAX_CHARACTERS else text[: _MAX_CHARACTERS - 1] + "…"


def _time_text(microseconds: int, step: int = 1_000_000) -> str:
    """Return a time in UTC, as exact as a step between two labels requires."""
    exact = np.datetime64(microseconds, "us")
    if step >= _DAY:
        return str(exact.astype("datetime64[D]"))
    if step >= 60_000_000:
        return str(exact.astype("datetime64[m]")).replace("T", " ")
    text = str(exact).replace("T", " ")
    return text.removesuffix(".000000") if step >= 1_000_000 or microseconds % 1_000_000 == 0 else text.rstrip("0")


def linear_ticks(low: float, high: float, kind: pa.DataType, most: int = 5) -> list[tuple[float, str]]:
    """Return about ``most`` labels of an axis: round values between ends in the form of ``numbers_of``, with texts.

    >>> linear_ticks(0.0, 100.0, pa.int64())
    [(0.0, '0'), (20.0, '20'), (40.0, '40'), (60.0, '60'), (80.0, '80'), (100.0, '100')]
    >>> [text for _, text in linear_ticks(0.0, 89.0 * 86_400_000_000, pa.date32())]
    ['1970-01-01', '1970-02-01', '1970-03-01']
    """
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        return _time_ticks(low, high, most, _DAY if pa.types.is_date32(kind) else 1)
    step = _round_step((high - low) / most, 1.0 if pa.types.is_integer(kind) else 0.0)
    digits = max(0, -math.floor(math.log10(step))) if step < 1 else 0
    first, last = math.ceil(low / step), math.floor(high / step)
    is_plain = max(abs(low), abs(high)) < 1e15 and digits < 7
    return [
        (i * step, f"{i * step:,.{digits}f}" if is_plain else f"{i * step:.6g}")
        for i in range(first, min(last, first + 2 * most) + 1)
    ]


def _round_step(width: float, least: float) -> float:
    """Return the least step of 1, 2 or 5 times a power of ten that is not below a width."""
    power = 10.0 ** math.floor(math.log10(width)) if width > 0 else 1.0
    step = next(each * power for each in (1, 2, 5, 10, 20) if each * power >= width * (1 - 1e-9))
    return max(step, least)


def _time_ticks(low: float, high: float, most: int, least: int) -> list[tuple[float, str]]:
    width = (high - low) / most
    step = next((each for each in _TIME_STEPS if each >= max(width, least)), None)
    if step is not None:
        first = math.ceil(low / step)
        return [(float(i * step), _time_text(i * step, step)) for i in range(first, math.floor(high / step) + 1)]
    years = int(_round_step(width / (366 * _DAY), 1.0))
    months = next((each for each in _MONTH_STEPS if each * 30 * _DAY >= width), 12 * years)
    first, last = (int(np.datetime64(_clipped(end), "us").astype("datetime64[M]").astype(int)) for end in (low, high))
    found = [np.datetime64(month, "M") for month in range(-(-first // months) * months, last + 1, months)]
    ticks = [
        (float(each.astype("datetime64[us]").astype(np.int64)), str(each.astype("datetime64[D]"))) for each in found
    ]
    return [(place, text) for place, text in ticks if low <= place <= high][: 2 * most]


def _clipped(moment: float) -> int:
    """Return a time in microseconds that is at least a year from the ends of 64-bit integers."""
    most = (1 << 63) - 400 * _DAY
    return max(-most, min(most, int(moment)))
