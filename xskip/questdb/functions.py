"""Values in the types of Spark, of types of QuestDB that Spark lacks. Rules: [QDB-FN]."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from xskip.errors import ArgumentError, PredicateError, shown
from xskip.questdb_files.selection import ticks_of

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["from_nanoseconds", "ipv4_to_number", "to_nanoseconds"]

_NANOSECONDS = 1_000_000_000
_BYTES = 4
#: The pattern of a number from 0 to 255, which may have three digits.
_BYTE = "(25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"


def to_nanoseconds(time: datetime | str) -> int:
    """Return a time as a value of a TIMESTAMP_NS column in Spark, for filters.

    Filters that compare the column with such numbers choose the partitions and the rows to read.

    Parameters
    ----------
    time : datetime or str
        A time, or a text in ISO 8601 with up to nine digits of a second. Without a zone it is in UTC.

    Returns
    -------
    int
        The nanoseconds since the Unix epoch.

    Raises
    ------
    PredicateError
        If the argument is not a time.

    Examples
    --------
    >>> from xskip.questdb import to_nanoseconds
    >>> to_nanoseconds("2026-01-31T09:00:00.000000001Z")
    1769850000000000001
    """
    if isinstance(time, datetime):
        return ticks_of(time, _NANOSECONDS) + int(getattr(time, "nanosecond", 0))  # times of pandas have nanoseconds
    if not isinstance(time, str):
        raise _no_time(time)
    whole, point, rest = time.replace(",", ".").partition(".")
    count = len(rest) - len(rest.lstrip("0123456789")) if point else 0
    try:
        moment = datetime.fromisoformat((whole + rest[count:]).strip().replace("Z", "+00:00"))
    except ValueError as error:
        raise _no_time(time) from error
    if point and not 0 < count <= 9:
        raise _no_time(time)
    return ticks_of(moment, _NANOSECONDS) + int(rest[:count].ljust(9, "0"))


def from_nanoseconds(column: Column | str) -> Column:
    """Return the values of a TIMESTAMP_NS column as TIMESTAMP, without the nanoseconds after the microsecond.

    Parameters
    ----------
    column : Column or str
        A column of nanoseconds since the Unix epoch, or its name.

    Returns
    -------
    Column
        The times, rounded down; null for null. To filter by time, compare the column itself with
        :func:`to_nanoseconds`, which chooses partitions.

    Raises
    ------
    ArgumentError
        If the argument is neither a column nor a name.

    Examples
    --------
    >>> from pyspark.sql import functions as F
    >>> from xskip.questdb import from_nanoseconds
    >>> df = spark.range(1769850000000000999, 1769850000000001000)
    >>> df.select(F.unix_micros(from_nanoseconds("id")).alias("micros")).show()
    +----------------+
    |          micros|
    +----------------+
    |1769850000000000|
    +----------------+
    """
    from pyspark.sql import functions as F

    nanoseconds = _column(column)
    micros = F.floor(nanoseconds.cast("decimal(19,0)") / 1000)  # decimals, because a double has 53 bits
    return F.timestamp_micros(micros.cast("bigint"))


def ipv4_to_number(column: Column | str) -> Column:
    """Return IPv4 addresses as numbers, whose order is that of the addresses.

    Parameters
    ----------
    column : Column or str
        A column of addresses such as ``10.0.0.1``, or its name.

    Returns
    -------
    Column
        BIGINT from 0 to 4294967295; null for null, and for text that is not of four numbers from 0 to 255.

    Raises
    ------
    ArgumentError
        If the argument is neither a column nor a name.

    Examples
    --------
    >>> from xskip.questdb import ipv4_to_number
    >>> df = spark.createDataFrame([("10.0.0.1",), ("9.255.0.0",)], "ip string")
    >>> df.sort(ipv4_to_number("ip")).show()
    +---------+
    |       ip|
    +---------+
    |9.255.0.0|
    | 10.0.0.1|
    +---------+
    """
    from pyspark.sql import functions as F

    text = _column(column)
    valid = text.rlike(rf"^{_BYTE}(\.{_BYTE}){{3}}\z")  # a dollar sign matches before a line end, too
    number = F.lit(0).cast("bigint")
    for place in range(_BYTES):
        number = number * 256 + F.substring_index(F.substring_index(text, ".", place + 1), ".", -1).cast("bigint")
    return F.when(valid, number)


def _column(column: Column | str) -> Column:
    from pyspark.sql import functions as F

    if isinstance(column, str):
        return F.col(column)
    if not hasattr(column, "cast"):  # Spark Connect has a class of its own
        raise ArgumentError("column is not a column", found=shown(column), expected="a column of Spark, or its name")
    return column


def _no_time(value: object) -> PredicateError:
    return PredicateError(
        "a value is not a time", where="time", found=repr(value),
        expected="a datetime, or a text such as '2026-01-31T09:00:00.123456789Z'",
    )  # fmt: skip
