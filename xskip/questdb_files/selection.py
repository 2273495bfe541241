"""The columns and the range of time that a read selects, by name and time, and those of a snapshot. Rules: [QDB-RD]."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from operator import index
from typing import SupportsIndex

from xskip.errors import PredicateError
from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.snapshot import Snapshot

__all__ = ["Chosen", "Selection", "Time", "ticks_of"]

#: A time of the designated timestamp, or ticks since the Unix epoch in the unit of the table.
Time = datetime | int | str
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns and the range of time to read of a snapshot."""

    snapshot: Snapshot
    columns: tuple[Column, ...]
    #: The half-open range of the designated timestamp in ticks.
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Selection:
    """The columns and the range of time to read of a table, whatever its transaction."""

    #: None selects all columns.
    columns: tuple[str, ...] | None = None
    #: The half-open range of the designated timestamp.
    start: Time | None = None
    end: Time | None = None

    @property
    def has_range(self) -> bool:
        """Return whether the selection has a bound of time."""
        return self.start is not None or self.end is not None

    def of(self, snapshot: Snapshot) -> Chosen:
        """Return what the selection is in a snapshot, or raise an error if the table lacks what it names."""
        if self.has_range and snapshot.metadata.timestamp is None:
            raise PredicateError(
                "a range of time needs a designated timestamp, and the table has none", where=str(snapshot.place.data)
            )  # fmt: skip
        ticks = snapshot.metadata.clock.ticks
        columns = snapshot.metadata.columns
        if self.columns is not None:
            columns = tuple(_column(snapshot, name) for name in self.columns)
        return Chosen(snapshot, columns, _bound(self.start, ticks), _bound(self.end, ticks))


_EXPECTED = "a datetime, a text such as 2024-03-01T12:00, or an integer in the unit of the table"


def ticks_of(time: datetime, ticks: int) -> int:
    """Return the ticks since the Unix epoch, of so many per second. A time without a zone is in UTC."""
    aware = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    return (aware - _EPOCH) // _MICROSECOND * (ticks // 1_000_000)


def _column(snapshot: Snapshot, name: str) -> Column:
    column = snapshot.metadata.column(name)
    if column is None:
        raise PredicateError(
            "the table has no column with this name", where=str(snapshot.place.data), found=name,
            expected=", ".join(c.name for c in snapshot.metadata.columns),
        )  # fmt: skip
    return column


def _bound(time: Time | None, ticks: int) -> int | None:
    if time is None:
        return None
    if isinstance(time, str):
        time = _parsed(time)
    if isinstance(time, datetime):
        return ticks_of(time, ticks)
    if not isinstance(time, SupportsIndex):
        raise PredicateError(
            "a bound of time is not a time", where="start or end", found=repr(time), expected=_EXPECTED,
        )  # fmt: skip
    return index(time)


def _parsed(text: str) -> datetime:
    """Return the time of a text in ISO 8601."""
    try:
        # Python 3.10 does not know the Z of UTC
        return datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text)
    except ValueError as error:
        raise PredicateError(
            "a bound of time is not a time", where="start or end", found=repr(text), expected=_EXPECTED,
        ) from error  # fmt: skip
