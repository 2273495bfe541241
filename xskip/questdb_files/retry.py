"""Bounded waits until a table is readable. Rules: [QDB-SN]."""

from __future__ import annotations

import time
from dataclasses import dataclass

__all__ = ["Retry"]

#: Attempts in total, and attempts in sequence during which no other transaction came.
_MAX_ATTEMPTS = 40
_MAX_UNCHANGED = 12
#: In seconds.
_LONGEST_WAIT = 0.1


@dataclass(slots=True)
class Retry:
    """A bounded number of attempts, with waits that grow as long as a table does not change."""

    #: The number of attempts that failed.
    attempts: int = 0
    _unchanged: int = 0
    _version: int | None = None

    def wait(self, version: int | None) -> bool:
        """Wait after a failed attempt at a transaction, and return whether another attempt is worth while."""
        self.attempts += 1
        self._unchanged = self._unchanged + 1 if version == self._version and self.attempts > 1 else 0
        self._version = version
        if self.attempts >= _MAX_ATTEMPTS or self._unchanged >= _MAX_UNCHANGED:
            return False
        if self._unchanged:
            time.sleep(min(0.001 * 2**self._unchanged, _LONGEST_WAIT))
        return True
