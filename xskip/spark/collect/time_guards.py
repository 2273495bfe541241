"""Guards against times without a date, which Spark reads as times of the present day. Rules: [PRU-DY].

A guard is an SQL expression that is not NULL for a row with such a text as ``10:15``. The timestamp from such a text
has another value on another day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from xskip.column_paths import in_backticks

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

__all__ = ["recent_guard", "text_guard", "timestamp_guard"]

#: The start of a time without a date, after signs that Spark passes over; without a backslash, which settings escape.
_TIME = "^[^0-9A-Za-z+-]*(T|[0-9]{1,2}:)"


def text_guard(columns: Iterable[tuple[str, ...]]) -> str:
    """Return the guard of columns of texts.

    >>> text_guard([("a", "b")])
    "CASE WHEN `a`.`b` RLIKE '^[^0-9A-Za-z+-]*(T|[0-9]{1,2}:)' THEN true END"
    """
    return _guard(_is_time(".".join(map(in_backticks, path))) for path in columns)


def timestamp_guard(columns: Iterable[tuple[str, DataType]]) -> str:
    """Return the guard of top-level columns read as texts, by their types before timestamps became texts."""
    return _guard(test for name, kind in columns for test in _tests(in_backticks(name), kind, _is_time, 0))


def recent_guard(columns: Iterable[tuple[str, DataType]]) -> str:
    """Return the guard of timestamps that can be times of the present day; empty if no column has timestamps."""
    tests = [test for name, kind in columns for test in _tests(in_backticks(name), kind, _is_present, 0)]
    return _guard(tests) if tests else ""


def _guard(tests: Iterable[str]) -> str:
    return f"CASE WHEN {' OR '.join(tests)} THEN true END"


def _is_time(text: str) -> str:
    return f"{text} RLIKE '{_TIME}'"


def _is_present(timestamp: str) -> str:
    # A job can begin before midnight: times of the day before its first day are old enough.
    return f"{timestamp} >= date_sub(current_date(), 1)"


def _tests(sql: str, kind: DataType, test: Callable[[str], str], depth: int) -> list[str]:
    """Return the tests of all timestamps in a value of a type."""
    from pyspark.sql.types import ArrayType, MapType, StructType, TimestampType

    if isinstance(kind, TimestampType):
        return [test(sql)]
    if isinstance(kind, StructType):
        parts = [(f"{sql}.{in_backticks(field.name)}", field.dataType) for field in kind.fields]
        return [found for part, of_part in parts for found in _tests(part, of_part, test, depth)]
    lists = []
    if isinstance(kind, ArrayType):
        lists = [(sql, kind.elementType)]
    elif isinstance(kind, MapType):
        lists = [(f"map_keys({sql})", kind.keyType), (f"map_values({sql})", kind.valueType)]
    each = f"x{depth}"
    return [
        f"exists({values}, {each} -> {' OR '.join(tests)})"
        for values, of_values in lists
        if (tests := _tests(each, of_values, test, depth + 1))
    ]
