"""Names of periods stand for half-open intervals."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xskip.types.periods import instants, local_period

HOUR = 3_600_000_000
ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu")
NAMES = {
    "year": lambda t: f"{t:%Y}",
    "month": lambda t: f"{t:%Y-%m}",
    "week": lambda t: "{:04}-W{:02}".format(*t.isocalendar()[:2]),
    "day": lambda t: f"{t:%Y-%m-%d}",
    "hour": lambda t: f"{t:%Y-%m-%dT%H}",
}
MOMENTS = st.datetimes(dt.datetime(1900, 1, 8), dt.datetime(2100, 1, 1), timezones=st.just(dt.timezone.utc))


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("2024", "2024-01-01", "2025-01-01"),
        ("2024-12", "2024-12-01", "2025-01-01"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        ("2020-W53", "2020-12-28", "2021-01-04"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("2024-12-31T23", "2024-12-31T23:00", "2025-01-01"),
        ("0001", "0001-01-01", "0002-01-01"),
    ],
)
def test_a_period_ends_where_the_next_one_starts(name: str, start: str, end: str) -> None:
    assert local_period(name) == (dt.datetime.fromisoformat(start), dt.datetime.fromisoformat(end))


@pytest.mark.parametrize(
    "name",
    [
        "", "24", "2024-13", "2024-00", "2023-02-29", "2024-W00", "2021-W53", "2024-01-01T24", "2024-1-1", "9999",
        "0000", "2024-01-01T1", "2024-01-01T01:00", " 2024", "2024\n", "\uff12024", "99999",
    ],
)  # fmt: skip
def test_other_names_are_no_periods(name: str) -> None:
    """A period after the year 9999, which Python cannot compute, is none either."""
    assert local_period(name) is None


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", NAMES)
@given(moment=MOMENTS)
def test_the_period_of_a_moment_contains_it(kind: str, zone: str, moment: dt.datetime) -> None:
    """The name that a writer gives to a moment's period stands for an interval with this moment in it."""
    period = local_period(NAMES[kind](moment.astimezone(ZoneInfo(zone))))
    assert period is not None
    start, end = instants(period, ZoneInfo(zone))
    instant = (moment - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)) // dt.timedelta(microseconds=1)
    assert start <= instant < end


@pytest.mark.parametrize(
    ("name", "zone", "hours"),
    [
        ("2024-03-31", "Europe/Berlin", 23),
        ("2024-10-27", "Europe/Berlin", 25),
        ("2024-10-27T02", "Europe/Berlin", 2),
        ("2024-10-27T03", "Europe/Berlin", 1),
        ("2024-06-01", "Europe/Berlin", 24),
        ("2024-W44", "UTC", 168),
    ],
)
def test_lengths_where_clocks_change(name: str, zone: str, hours: int) -> None:
    period = local_period(name)
    assert period is not None
    start, end = instants(period, ZoneInfo(zone))
    assert end - start == hours * HOUR
