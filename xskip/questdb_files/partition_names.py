"""Names of partition folders, and bounds of partitions, by their times. Rules: [QDB-PN]."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum

import numpy as np
import numpy.typing as npt

__all__ = ["Clock", "PartitionUnit", "Times"]

#: Ticks since the Unix epoch in UTC.
Times = npt.NDArray[np.int64]

_EPOCH = date(1970, 1, 1)
_DAY_SECONDS = 86_400


class PartitionUnit(Enum):
    """The time that a logical partition spans, with the number that ``_meta`` has for it."""

    DAY = 0
    MONTH = 1
    YEAR = 2
    NONE = 3
    HOUR = 4
    WEEK = 5


@dataclass(frozen=True, slots=True)
class Clock:
    """The unit of the partitions of a table and the unit of its times."""

    unit: PartitionUnit
    #: Per second: a million, or a thousand million for TIMESTAMP_NS.
    ticks: int

    @property
    def _day(self) -> int:
        return _DAY_SECONDS * self.ticks

    def floor(self, time: int) -> int:
        """Return the start of the logical partition of a time; 0 if the table has no partitions."""
        day = _EPOCH + timedelta(days=time // self._day)
        match self.unit:
            case PartitionUnit.NONE:
                return 0
            case PartitionUnit.HOUR:
                return time - time % (3600 * self.ticks)
            case PartitionUnit.DAY:
                return self._midnight(day)
            case PartitionUnit.WEEK:
                return self._midnight(day - timedelta(days=day.weekday()))
            case PartitionUnit.MONTH:
                return self._midnight(day.replace(day=1))
            case PartitionUnit.YEAR:
                return self._midnight(day.replace(month=1, day=1))

    def ends(self, times: Times) -> Times:
        """Return for each time the end of its logical partition, which the partition does not contain."""
        days = times // self._day
        match self.unit:
            case PartitionUnit.NONE:
                raise AssertionError("a table without partitions has no ends of partitions")
            case PartitionUnit.HOUR:
                return (times // (3600 * self.ticks) + 1) * (3600 * self.ticks)
            case PartitionUnit.DAY:
                return (days + 1) * self._day
            case PartitionUnit.WEEK:
                # day 0 is a Thursday, so that (days + 3) % 7 is the number of days since Monday
                return (days - (days + _EPOCH.weekday()) % 7 + 7) * self._day
            case PartitionUnit.MONTH:
                return self._first_days(days.astype("datetime64[D]").astype("datetime64[M]") + 1)
            case PartitionUnit.YEAR:
                return self._first_days(days.astype("datetime64[D]").astype("datetime64[Y]") + 1)

    def folder(self, time: int, name_txn: int) -> str:
        """Return the name of the folder of a partition or of a split piece."""
        suffix = f".{name_txn}" if name_txn >= 0 else ""
        if self.unit is PartitionUnit.NONE:
            return f"default{suffix}"
        return (self._partition(time) if time == self.floor(time) else self._piece(time)) + suffix

    def _partition(self, time: int) -> str:
        day = _EPOCH + timedelta(days=time // self._day)
        match self.unit:
            case PartitionUnit.HOUR:
                return f"{day.isoformat()}T{time % self._day // (3600 * self.ticks):02}"
            case PartitionUnit.WEEK:
                year, week, _ = day.isocalendar()
                return f"{year:04}-W{week:02}"
            case PartitionUnit.MONTH:
                return day.isoformat()[:7]
            case PartitionUnit.YEAR:
                return day.isoformat()[:4]
            case _:
                return day.isoformat()

    def _piece(self, time: int) -> str:
        day = _EPOCH + timedelta(days=time // self._day)
        name = day.isoformat()
        if self.unit is PartitionUnit.WEEK:
            year, week, weekday = day.isocalendar()
            name = f"{year:04}-W{week:02}-{weekday}"
        # each part is named if it or a later one is not zero [QDB-PN-2]
        seconds, fraction = divmod(time % self._day, self.ticks)
        if seconds or fraction:
            name += f"T{seconds // 3600:02}"
        if seconds % 3600 or fraction:
            name += f"{seconds // 60 % 60:02}{seconds % 60:02}"
        if fraction:
            name += f"-{fraction:0{len(str(self.ticks)) - 1}}"
        return name

    def _midnight(self, day: date) -> int:
        return (day - _EPOCH).days * self._day

    def _first_days(self, periods: npt.NDArray[np.datetime64]) -> Times:
        return periods.astype("datetime64[D]").astype(np.int64) * self._day
