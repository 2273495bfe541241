"""Names of partition folders and the times that they mean. Rules: [QDB-PN].

Times are numbers of ticks since the Unix epoch in UTC; a table has a million or a thousand million ticks per second.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum

import numpy as np
import numpy.typing as npt

from xskip.errors import TableDamagedError

__all__ = ["Clock", "FolderName", "PartitionUnit", "Times"]

Times = npt.NDArray[np.int64]

_EPOCH = date(1970, 1, 1)
_DAY_SECONDS = 86_400
_TIME = r"(?:T(?P<hour>\d\d)(?:(?P<minute>\d\d)(?P<second>\d\d)(?:-(?P<fraction>\d{6}|\d{9}))?)?)?"
_NAME = re.compile(
    r"(?:(?P<default>default)"
    rf"|(?P<isoyear>\d{{4}})-W(?P<week>\d\d)(?:-(?P<weekday>[1-7]){_TIME.replace('P<', 'P<w')})?"
    rf"|(?P<year>\d{{4}})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d){_TIME})?)?)"
    r"(?:\.(?P<txn>\d+))?"
)


class PartitionUnit(Enum):
    """The time that a logical partition spans, with the number that ``_meta`` has for it."""

    DAY = 0
    MONTH = 1
    YEAR = 2
    NONE = 3
    HOUR = 4
    WEEK = 5


@dataclass(frozen=True, slots=True)
class FolderName:
    """The parts of the name of a partition folder.

    Attributes
    ----------
    timestamp : int or None
        The least time of the partition or of the split piece; None for ``default``.
    name_txn : int
        The transaction that the name ends with, or -1.
    """

    timestamp: int | None
    name_txn: int


@dataclass(frozen=True, slots=True)
class Clock:
    """The unit of the partitions of a table and the unit of its times.

    Attributes
    ----------
    unit : PartitionUnit
    ticks : int
        The number of ticks per second.
    """

    unit: PartitionUnit
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

    def parse(self, name: str) -> FolderName:
        """Return the parts of the name of a partition folder.

        Raises
        ------
        TableDamagedError
            If the name is none of a partition of this table.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise _not_a_name(name)
        part = match.groupdict()
        name_txn = int(part["txn"] or -1)
        if part["default"]:
            return FolderName(None, name_txn)
        try:
            time = self._parsed(part)
        except ValueError as error:
            raise _not_a_name(name) from error
        return FolderName(time, name_txn)

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
        seconds, fraction = divmod(time % self._day, self.ticks)
        if seconds or fraction:
            name += f"T{seconds // 3600:02}"
        if seconds % 3600 or fraction:
            name += f"{seconds // 60 % 60:02}{seconds % 60:02}"
        if fraction:
            name += f"-{fraction:0{len(str(self.ticks)) - 1}}"
        return name

    def _parsed(self, part: dict[str, str | None]) -> int:
        prefix = ""
        if part["isoyear"]:
            day = date.fromisocalendar(int(part["isoyear"]), int(part["week"] or 1), int(part["weekday"] or 1))
            prefix = "w"
        else:
            day = date(int(part["year"] or 1), int(part["month"] or 1), int(part["day"] or 1))
        hour, minute, second = (int(part[prefix + name] or 0) for name in ("hour", "minute", "second"))
        fraction = part[prefix + "fraction"] or ""
        if hour > 23 or minute > 59 or second > 59 or (fraction and 10 ** len(fraction) != self.ticks):
            raise ValueError(part)
        return self._midnight(day) + (hour * 3600 + minute * 60 + second) * self.ticks + int(fraction or 0)

    def _midnight(self, day: date) -> int:
        return (day - _EPOCH).days * self._day

    def _first_days(self, periods: npt.NDArray[np.datetime64]) -> Times:
        return periods.astype("datetime64[D]").astype(np.int64) * self._day


def _not_a_name(name: str) -> TableDamagedError:
    return TableDamagedError("a folder has a name that no partition has", where=name)
