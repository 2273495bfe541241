"""Periods of time by their names, such as ``2024``, ``2024-03``, ``2024-W09``, ``2024-03-01`` and ``2024-03-01T14``."""

from __future__ import annotations

import datetime as dt
import re

__all__ = ["PERIOD", "instants", "local_period"]

#: A regular expression for the names of years, months, ISO weeks, days and hours.
PERIOD = r"[0-9]{4}(?:-W[0-9]{2}|-[0-9]{2}(?:-[0-9]{2}(?:T[0-9]{2})?)?)?"
_PARTS = re.compile(r"(\d{4})(?:-W(\d{2})|-(\d{2})(?:-(\d{2})(?:T(\d{2}))?)?)?", re.ASCII)
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
#: The first moment, and the first moment after the period.
Period = tuple[dt.datetime, dt.datetime]


def local_period(name: str) -> Period | None:
    """Return the first moment of a period and the first moment after it, as local times.

    None if the name is no :data:`PERIOD`, or if no calendar has the period.
    """
    parts = _PARTS.fullmatch(name)
    if parts is None:
        return None
    try:
        return _interval(*(None if part is None else int(part) for part in parts.groups()))
    except (ValueError, OverflowError):  # such as month 13, or the end of the year 9999
        return None


def _interval(year: int | None, week: int | None, month: int | None, day: int | None, hour: int | None) -> Period:
    assert year is not None, "every period has a year"
    if week is not None:
        start = dt.datetime.fromisocalendar(year, week, 1)
        return start, start + dt.timedelta(weeks=1)
    if month is None:
        return dt.datetime(year, 1, 1), dt.datetime(year + 1, 1, 1)
    if day is None:
        # month // 12 is 1 only for December
        return dt.datetime(year, month, 1), dt.datetime(year + month // 12, month % 12 + 1, 1)
    start = dt.datetime(year, month, day, hour or 0)
    return start, start + (dt.timedelta(days=1) if hour is None else dt.timedelta(hours=1))


def instants(period: Period, zone: dt.tzinfo | None) -> tuple[int, int]:
    """Return the microseconds since 1970-01-01 of a local period: its first one, and the first one after it.

    Without a zone, the numbers count microseconds of local times, as ``timestamp_ntz`` does.
    """
    start, end = period
    if zone is None:
        return _microseconds(start), _microseconds(end)
    # a local time occurs twice when clocks are set back: the result spans both occurrences
    return min(_occurrences(start, zone)), max(_occurrences(end, zone))


def _occurrences(local: dt.datetime, zone: dt.tzinfo) -> list[int]:
    """Return the instants of both occurrences of a local time, which are equal for most times."""
    moments = [local.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
    return [_microseconds(local) - (moment.utcoffset() or dt.timedelta()) // _MICROSECOND for moment in moments]


def _microseconds(local: dt.datetime) -> int:
    return (local - _EPOCH) // _MICROSECOND
