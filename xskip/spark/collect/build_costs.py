"""The time that builds spend on each index."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from xskip.metadata.table import IndexKey
from xskip.spark.collect.planned_index import PlannedIndex

__all__ = ["BuildCosts"]


class BuildCosts:
    """The time that a build has spent on each index so far, in seconds.

    Tasks of the kernel measure each index for itself, without the time to read the data. Indexes that come from footers
    or from Spark's aggregates share the time of their pass over the data equally.

    >>> costs = BuildCosts()
    >>> with costs.of():
    ...     pass
    >>> costs.seconds
    {}
    """

    def __init__(self) -> None:
        self.seconds: dict[IndexKey, float] = {}

    def add(self, planned: PlannedIndex, seconds: float) -> None:
        """Add seconds to an index."""
        key = planned.definition.key
        self.seconds[key] = self.seconds.get(key, 0.0) + seconds

    @contextmanager
    def of(self, *indexes: PlannedIndex) -> Iterator[None]:
        """Add the duration of the body, in equal parts, to some indexes, also if the body raises."""
        started = time.monotonic()
        try:
            yield
        finally:
            spent = time.monotonic() - started
            for planned in indexes:
                self.add(planned, spent / len(indexes))
