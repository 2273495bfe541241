"""The files of the query history: one folder for each day, in which each driver adds files of its own.

.. code-block:: text

    20261127/1764201600000-5f0c….parquet    rows of one driver
    20261127/merged-5f0c…-1.parquet         the rows of several files, whose names are in its metadata

A merged file counts in place of the files that it names, so that readers see each row once at any moment of a merge.
Rules: specs/reports.rst, [REP-H].
"""

from __future__ import annotations

import io
import json
import logging
import re
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq

from xskip.errors import StorageError
from xskip.metadatastore.filesystem import PutInDoubtError, Storage, put_once
from xskip.query_history.rows import HistoryRows, ScanKind, ScanSums

__all__ = ["HistoryFiles", "HistoryWriter", "day_of"]

_log = logging.getLogger("xskip")
_DAY = re.compile(r"\d{8}")
_SUFFIX = ".parquet"
_MERGED = "merged-"
_OF_DAY = f"{_MERGED}day{_SUFFIX}"
#: The names of files of a history. A history leaves all other files alone.
_NAME = re.compile(r"(\d+-[0-9a-f]+-\d+|merged-(day|[0-9a-f]+-\d+))\.parquet")
_REPLACES = b"xskip.replaces"
#: The number of files of one driver and day from which on the driver merges them.
_MAX_FILES = 20
_MAX_ROWS = 10_000
#: A reader lists a folder anew if a merge removes files while it reads.
_ATTEMPTS = 8
#: In seconds, for each attempt before.
_PAUSE = 0.02
#: Drivers whose clocks differ by less put no file into the folder of a day that others merge.
_CLOSED_AFTER = timedelta(hours=2)


def day_of(moment: datetime) -> str:
    """Return the name of the folder of a day in UTC.

    >>> day_of(datetime(2026, 11, 27, 9, tzinfo=timezone.utc))
    '20261127'
    """
    return f"{moment.astimezone(timezone.utc):%Y%m%d}"


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    rows: tuple[tuple[ScanKind, ScanSums], ...]
    replaces: frozenset[str]

    @classmethod
    def parse(cls, name: str, data: bytes) -> _File:
        table = pq.read_table(io.BytesIO(data))
        replaces = json.loads((table.schema.metadata or {}).get(_REPLACES, b"[]"))
        return cls(name, tuple(HistoryRows.parse(table)), frozenset(replaces))


@dataclass(frozen=True, slots=True)
class HistoryFiles:
    """The files of a query history."""

    storage: Storage
    location: str

    def rows(self, since: datetime | None = None) -> Iterator[tuple[ScanKind, ScanSums]]:
        """Yield the rows with a query that ended at a moment or later; None yields all rows."""
        first = 0 if since is None else since.timestamp() * 1000
        for day in self._days():
            if since is None or day >= day_of(since):
                for kind, sums in self.rows_of(day):
                    if sums.last >= first:
                        yield kind, sums

    def rows_of(self, day: str) -> Iterator[tuple[ScanKind, ScanSums]]:
        """Yield the rows of a day's folder, each once."""
        files = self.read(day)
        replaced = frozenset[str]().union(*(file.replaces for file in files))
        for file in files:
            if file.name not in replaced:
                yield from file.rows

    def read(self, day: str, driver: str = "") -> list[_File]:
        """Return the readable files of a day or of a driver, also those that a merged file replaces."""
        known: dict[str, _File | None] = {}
        for attempt in range(_ATTEMPTS):
            time.sleep(attempt * _PAUSE)
            names = self._names(day, driver)
            with suppress(FileNotFoundError):
                for name in names:
                    if name not in known:
                        known[name] = self._file(day, name)
                # A listing that a merge overtakes can have neither the merged file nor those that it replaces.
                now = set(self._names(day, driver))
                if now.issuperset(names) and not any(name.startswith(_MERGED) for name in now.difference(names)):
                    return [file for name in names if (file := known[name]) is not None]
        raise StorageError(
            "files of the query history disappear while they are read", where=self.folder(day), hint="try again"
        )

    def _names(self, day: str, driver: str = "") -> list[str]:
        names = sorted(entry.name for entry in self.storage.list(self.folder(day)))
        return [name for name in names if _NAME.fullmatch(name) and driver in name]

    def _file(self, day: str, name: str) -> _File | None:
        """Return a file, or None for one that is no file of a history; raise FileNotFoundError if it was removed."""
        path = f"{self.folder(day)}/{name}"
        data = self.storage.read(path)
        try:
            return _File.parse(name, data)
        except (pa.ArrowException, OSError, LookupError, TypeError, ValueError) as error:
            _log.warning("xskip leaves out a file of the query history that cannot be read: %s: %s", path, error)
            return None

    def put(self, day: str, name: str, rows: HistoryRows, replaces: frozenset[str] = frozenset()) -> bool:
        """Write a file unless its name is taken, and return whether the file was written."""
        return self.storage.put_if_absent(f"{self.folder(day)}/{name}", encoded(rows, replaces))

    def merge(self, day: str, name: str, driver: str = "") -> None:
        """Merge the files of a day into one of a name; with a ``driver``, only its files."""
        files = self.read(day, driver)
        replaced = frozenset[str]().union(*(file.replaces for file in files))
        rows = HistoryRows(_MAX_ROWS)
        for file in files:
            if file.name not in replaced:
                rows.update(file.rows)
        names = frozenset(file.name for file in files)
        if name in names or not self.put(day, name, rows, names):
            return
        if names.issubset(self._names(day)):
            self._remove(day, names)
        else:  # another merge has replaced them: this driver was suspended
            self._remove(day, [name])

    def maintain(self, now: datetime, days: int | None) -> None:
        """Merge the files of each past day, and remove those of days that began more than a number of days ago.

        None removes no day.
        """
        today, closed = now.astimezone(timezone.utc).date(), day_of(now - _CLOSED_AFTER)
        for day in self._days():
            try:
                if days is not None and (today - _date(day)).days > days:
                    self._remove_day(day)
                elif day < closed:
                    self._merge_day(day)
            except (StorageError, FileNotFoundError) as error:  # a later call tries again
                _log.debug("xskip cannot tidy up the query history of %s: %s", day, error)

    def _merge_day(self, day: str) -> None:
        names = self._names(day)
        if len(names) > 1 and _OF_DAY not in names:
            self.merge(day, _OF_DAY)
        elif len(names) > 1 and (merged := self._file(day, _OF_DAY)) is not None:  # what a killed merge has left
            self._remove(day, merged.replaces.intersection(names))

    def _remove_day(self, day: str) -> None:
        self._remove(day, self._names(day))
        folder = self.folder(day)
        if not self.storage.list(folder) and not self.storage.directories(folder):
            self.storage.remove_tree(folder)

    def _remove(self, day: str, names: Iterable[str]) -> None:
        self.storage.remove([f"{self.folder(day)}/{each}" for each in sorted(names)])

    def _days(self) -> list[str]:
        names = (path.rstrip("/").rpartition("/")[2] for path in self.storage.directories(self.location))
        return sorted(name for name in names if _is_day(name))

    def folder(self, day: str) -> str:
        """Return the folder of a day."""
        return f"{self.location.rstrip('/')}/{day}"


def encoded(rows: HistoryRows, replaces: frozenset[str] = frozenset()) -> bytes:
    """Return the bytes of a file that counts in place of others."""
    table = rows.to_arrow().replace_schema_metadata({_REPLACES: json.dumps(sorted(replaces))})
    target = io.BytesIO()
    pq.write_table(table, target, compression="zstd")
    return target.getvalue()


def _date(day: str) -> date:
    return date(int(day[:4]), int(day[4:6]), int(day[6:]))


def _is_day(name: str) -> bool:
    if not _DAY.fullmatch(name):
        return False
    try:
        _date(name)
    except ValueError:
        return False
    return True


@dataclass(slots=True)
class HistoryWriter:
    """The writer of one driver. A driver is a process; its writer belongs to one thread at a time."""

    files: HistoryFiles
    _driver: str = field(default_factory=lambda: uuid.uuid4().hex)
    _day: str = ""
    _number: int = 0
    _count: int = 0
    #: A file that the storage may have written. Its rows are in no other file.
    _in_doubt: tuple[str, bytes] | None = None

    def write(self, rows: HistoryRows, now: datetime) -> None:
        """Write rows as a new file, or raise an error if they are certainly not written.

        A file whose writing is in doubt is written again by the next call.
        """
        self.settle()
        day = day_of(now)
        self._number += 1
        name = f"{int(now.timestamp() * 1000)}-{self._driver}-{self._number}{_SUFFIX}"
        self._in_doubt = f"{self.files.folder(day)}/{name}", encoded(rows)
        try:
            self.settle()
        except PutInDoubtError as error:
            _log.debug("xskip writes a file of the query history again: %s", error)
        except StorageError:
            self._in_doubt = None
            raise
        self._count += 1

    def settle(self) -> None:
        """Write the file again whose writing is in doubt, if there is one."""
        if self._in_doubt is not None:
            path, data = self._in_doubt
            if not put_once(self.files.storage, path, data):
                raise StorageError("the name of a new file is taken", where=path)
            self._in_doubt = None

    def tidy(self, now: datetime, days: int | None) -> None:
        """Merge the driver's own files of the day if they are many, and once a day maintain all other days."""
        day = day_of(now)
        is_new_day, self._day = day != self._day, day
        if is_new_day:
            self._count = 1
            self.files.maintain(now, days)
        elif self._count >= _MAX_FILES:
            self._count = 1
            self._number += 1
            try:
                self.files.merge(day, f"{_MERGED}{self._driver}-{self._number}{_SUFFIX}", self._driver)
            except (StorageError, FileNotFoundError) as error:  # a later call merges them
                _log.debug("xskip cannot merge files of the query history: %s", error)
