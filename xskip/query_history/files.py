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
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq

from xskip.errors import StorageError
from xskip.metadatastore.filesystem import Storage
from xskip.query_history.rows import HistoryRows, ScanKind, ScanSums

__all__ = ["HistoryFiles", "HistoryWriter", "day_of"]

_log = logging.getLogger("xskip")
_DAY = re.compile(r"\d{8}")
_SUFFIX = ".parquet"
_MERGED = "merged-"
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
    table: pa.Table

    @property
    def replaces(self) -> frozenset[str]:
        return frozenset(json.loads((self.table.schema.metadata or {}).get(_REPLACES, b"[]")))


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
                yield from HistoryRows.parse(file.table)

    def read(self, day: str) -> list[_File]:
        """Return the readable files of a day, also those that a merged file replaces."""
        for attempt in range(_ATTEMPTS):
            time.sleep(attempt * _PAUSE)
            names = self._names(day)
            with suppress(FileNotFoundError):
                files = [file for name in names if (file := self._file(day, name)) is not None]
                # A listing that a merge overtakes can have neither the merged file nor those that it replaces.
                if attempt == _ATTEMPTS - 1 or self._names(day) == names:
                    return files
        raise StorageError(
            "files of the query history disappear while they are read", where=self._folder(day), hint="try again"
        )

    def _names(self, day: str) -> list[str]:
        names = sorted(entry.name for entry in self.storage.list(self._folder(day)))
        return [name for name in names if name.endswith(_SUFFIX) and not name.startswith(".")]

    def _file(self, day: str, name: str) -> _File | None:
        """Return a file, or None for one that is no file of a history; raise FileNotFoundError if it was removed."""
        path = f"{self._folder(day)}/{name}"
        data = self.storage.read(path)
        try:
            return _File(name, pq.read_table(io.BytesIO(data)))
        except (pa.ArrowException, OSError) as error:
            _log.warning("xskip leaves out a file of the query history that cannot be read: %s: %s", path, error)
            return None

    def put(self, day: str, name: str, rows: HistoryRows, replaces: frozenset[str] = frozenset()) -> bool:
        """Write a file unless its name is taken, and return whether the file was written."""
        table = rows.to_arrow().replace_schema_metadata({_REPLACES: json.dumps(sorted(replaces))})
        target = io.BytesIO()
        pq.write_table(table, target, compression="zstd")
        return self.storage.put_if_absent(f"{self._folder(day)}/{name}", target.getvalue())

    def merge(self, day: str, name: str, driver: str = "") -> None:
        """Merge the files of a day into one of a name; with a ``driver``, only its files."""
        files = [file for file in self.read(day) if driver in file.name]
        replaced = frozenset[str]().union(*(file.replaces for file in files))
        rows = HistoryRows(_MAX_ROWS)
        for file in files:
            if file.name not in replaced:
                rows.update(HistoryRows.parse(file.table))
        names = frozenset(file.name for file in files)
        if name not in names and self.put(day, name, rows, names):
            self.storage.remove(f"{self._folder(day)}/{each}" for each in sorted(names))

    def maintain(self, now: datetime, days: int) -> None:
        """Merge the files of each past day, and remove days that began more than a number of days ago."""
        oldest, closed = day_of(now - timedelta(days=days)), day_of(now - _CLOSED_AFTER)
        for day in self._days():
            if day < oldest:
                self.storage.remove_tree(self._folder(day))
            elif day < closed:
                present = [entry.name for entry in self.storage.list(self._folder(day))]
                if len(present) > 1 and f"{_MERGED}day{_SUFFIX}" not in present:
                    self.merge(day, f"{_MERGED}day{_SUFFIX}")

    def _days(self) -> list[str]:
        names = (path.rstrip("/").rpartition("/")[2] for path in self.storage.directories(self.location))
        return sorted(name for name in names if _DAY.fullmatch(name))

    def _folder(self, day: str) -> str:
        return f"{self.location.rstrip('/')}/{day}"


@dataclass(slots=True)
class HistoryWriter:
    """The writer of one driver. A driver is a process; its writer belongs to one thread at a time."""

    files: HistoryFiles
    _driver: str = field(default_factory=lambda: uuid.uuid4().hex)
    _day: str = ""
    _number: int = 0
    _count: int = 0

    def write(self, rows: HistoryRows, now: datetime, days: int) -> None:
        """Write rows as a new file, and tidy up: the driver's own files of the day, and once a day all others."""
        day = day_of(now)
        self._number += 1
        name = f"{int(now.timestamp() * 1000)}-{self._driver}-{self._number}{_SUFFIX}"
        if not self.files.put(day, name, rows):
            raise StorageError("the name of a new file is taken", where=f"{self.files.location}/{day}/{name}")
        is_new_day, self._day = day != self._day, day
        self._count = 1 if is_new_day else self._count + 1
        try:
            if is_new_day:
                self.files.maintain(now, days)
            elif self._count >= _MAX_FILES:
                self.files.merge(day, f"{_MERGED}{self._driver}-{self._number}{_SUFFIX}", self._driver)
                self._count = 1
        except (StorageError, FileNotFoundError) as error:  # the rows are written; a later call tidies up
            _log.debug("xskip cannot tidy up the query history: %s", error)
