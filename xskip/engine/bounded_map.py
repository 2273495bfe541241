"""A mapping of limited size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["BoundedMap"]

K = TypeVar("K")
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """A mapping that holds only the entries that were put last.

    Several threads can use the mapping. One lock guards its entries; no method runs other code under the lock.

    Parameters
    ----------
    size : int
        The maximum number of entries.

    Examples
    --------
    >>> sizes = BoundedMap[str, int](2)
    >>> sizes.put("a", 1), sizes.put("b", 2), sizes.put("a", 3), sizes.put("c", 4)
    ([], [], [], ['b'])
    >>> sizes.keys(), sizes.get("b")
    (['a', 'c'], None)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None; the order of the entries does not change."""
        with self._lock:
            return self._entries.get(key)

    def keys(self) -> list[K]:
        """Return the keys in the order in which they were last put."""
        with self._lock:
            return list(self._entries)

    def put(self, key: K, value: V) -> list[K]:
        """Add or replace an entry, make it the last one, and remove the first entries beyond the maximum number.

        Returns
        -------
        list
            The keys of the removed entries.
        """
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            return [self._entries.popitem(last=False)[0] for _ in range(len(self._entries) - self._size)]

    def discard(self, key: K) -> None:
        """Remove the entry of a key, if there is one."""
        with self._lock:
            self._entries.pop(key, None)
