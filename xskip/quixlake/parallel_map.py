"""Calls of a function in several threads, for many items of which each takes little time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["parallel_map"]

_GROUP = 16
S = TypeVar("S")
T = TypeVar("T")


def parallel_map(threads: int, function: Callable[[S], T], items: Sequence[S]) -> Iterator[T]:
    """Yield the results of a function for items, in order."""
    if len(items) < 2:
        yield from map(function, items)
        return
    # Each thread takes several items at a time, because threads that share single items mostly wait for Python's lock.
    size = max(1, min(_GROUP, -(-len(items) // threads)))
    groups = [items[start : start + size] for start in range(0, len(items), size)]
    with ThreadPoolExecutor(threads) as pool:
        for results in pool.map(lambda group: [*map(function, group)], groups):
            yield from results
