"""Names of time zones: those of Coordinated Universal Time are one zone. Rules: [PRU-RD-2], [PRU-RD-8]."""

from __future__ import annotations

import re

__all__ = ["is_same_zone"]

#: The names that Java's ZoneId gives the offset zero at all times: itself, or by the time zone database. Links of other
#: zones do not count, because they depend on the version of the database.
_ZERO = frozenset({"Z", "UTC", "GMT", "UT", "UCT", "GMT0", "Greenwich", "Universal", "Zulu"})
_REGIONS = frozenset(
    f"Etc/{name}" for name in ("UTC", "GMT", "UCT", "GMT0", "GMT+0", "GMT-0", "Greenwich", "Universal", "Zulu")
)
#: Offsets of zero in the forms that Spark and Java take.
_OFFSET = re.compile(r"(UTC|GMT|UT)?[+-](0|00|0000|000000|00?:00?|00:00:00)")


def is_same_zone(one: str, other: str) -> bool:
    """Return whether two names are of one time zone on every JVM.

    >>> is_same_zone("Etc/UTC", "+00:00"), is_same_zone("UTC", "Europe/London")
    (True, False)
    """
    return one == other or (_is_zero(one) and _is_zero(other))


def _is_zero(name: str) -> bool:
    return name in _ZERO or name in _REGIONS or _OFFSET.fullmatch(name) is not None
