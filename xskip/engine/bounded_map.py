"""A mapping of limited size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["BoundedMap"]

K = TypeVar("K")
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """A mapping that holds only the ``size`` entries that were put last; several threads can use it."""

    def __init__(self, size: int) -> None:
        self._size = size
        # Guards the entries. No method runs other code under the lock.
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
        """Make an entry the last one, and return the keys of the entries that the size limit removed."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            return [self._entries.popitem(last=False)[0] for _ in range(len(self._entries) - self._size)]

    def pop(self, key: K) -> V | None:
        """Remove an entry and return its value, or None."""
        with self._lock:
            return self._entries.pop(key, None)

    def discard(self, key: K) -> None:
        """Remove the entry of a key, if there is one."""
        with self._lock:
            self._entries.pop(key, None)
