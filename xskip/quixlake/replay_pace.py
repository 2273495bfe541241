"""The pace of a replay. Rule: QLK-RP-3."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["Clock", "Pacer", "SystemClock"]

#: The seconds of a wait after which the target gets a turn.
_SLICE = 0.2


class Clock(Protocol):
    """The time, and waits for it."""

    def monotonic(self) -> float:
        """Return the seconds since a fixed moment; the value never decreases."""

    def epoch_ms(self) -> int:
        """Return the milliseconds since the Unix epoch."""

    def wait(self, seconds: float, stop: threading.Event) -> None:
        """Wait until the seconds have passed or the event is set."""


class SystemClock:
    """The clock of the machine."""

    def monotonic(self) -> float:
        """Return the seconds of ``time.monotonic``."""
        return time.monotonic()

    def epoch_ms(self) -> int:
        """Return the milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000

    def wait(self, seconds: float, stop: threading.Event) -> None:
        """Wait until the seconds have passed or the event is set."""
        stop.wait(seconds)


class Pacer:
    """A schedule that begins with the first message; without a speed, each message is due at once."""

    def __init__(self, clock: Clock, speed: float | None, stop: threading.Event) -> None:
        self._clock, self._speed, self._stop = clock, speed, stop
        self._origin: tuple[float, int] | None = None

    def wait_for(self, pace: int | None, idle: Callable[[], None]) -> bool:
        """Wait until a message is due, and return False if the event has been set.

        ``pace`` is the time of the message in milliseconds of the original; None makes it due at once. ``idle`` runs
        between the parts of a long wait.
        """
        if self._speed is not None and pace is not None:
            if self._origin is None:
                self._origin = self._clock.monotonic(), pace
            start, first = self._origin
            # Computed from the first message, so that delays do not add up; a late message is due at once [QLK-RP-3].
            due = start + (pace - first) / 1000 / self._speed
            while (rest := due - self._clock.monotonic()) > 0 and not self._stop.is_set():
                self._clock.wait(min(rest, _SLICE), self._stop)
                idle()
        return not self._stop.is_set()
