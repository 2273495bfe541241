"""Sets of offsets as sorted ranges that include both ends."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import TypeAlias

__all__ = ["EVERY", "NONE", "Ranges", "difference", "union"]

#: The first and the last offset of each range, in order; no two ranges share an offset or touch each other.
Ranges: TypeAlias = "tuple[tuple[int, int], ...]"
NONE: Ranges = ()
EVERY: Ranges = ((-(1 << 63), (1 << 63) - 1),)


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the offsets of some ranges in any order.

    >>> union([(5, 9), (0, 3), (4, 6), (20, 20)])
    ((0, 9), (20, 20))
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return tuple(found)


def difference(ranges: Ranges, others: Ranges) -> Ranges:
    """Return the offsets of ranges that are not in others.

    >>> difference(((0, 9), (20, 29)), ((3, 4), (9, 22)))
    ((0, 2), (5, 8), (23, 29))
    >>> difference(((0, 9),), ((9, 20),)), difference(EVERY, EVERY)
    (((0, 8),), ())
    """
    found: list[tuple[int, int]] = []
    at = 0
    for first, last in ranges:
        while at < len(others) and others[at][1] < first:
            at += 1
        start = first
        for low, high in others[at : bisect_right(others, (last, EVERY[0][1]), at)]:
            if low > start:
                found.append((start, low - 1))
            start = high + 1
        if start <= last:
            found.append((start, last))
    return tuple(found)
