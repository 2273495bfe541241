"""The warnings about indexes that queries cannot use, and about settings."""

from __future__ import annotations

import logging
import re
import threading

from xskip.metadatastore.location import IndexLocation

__all__ = ["WarningLog", "without_numbers"]

_log = logging.getLogger("xskip")
_MAX_WARNINGS = 1024
_SETTINGS = "spark.xskip"  # no directory has this name
_NUMBERED = re.compile(r"\w*\d\w*")


def without_numbers(problem: str) -> str:
    """Return a problem without words that have digits, which do not distinguish problems.

    The messages of stores contain request numbers and times.

    >>> without_numbers("cannot read part-0 (request 7F3A)")
    'cannot read part-# (request #)'
    """
    return _NUMBERED.sub("#", problem)


class WarningLog:
    """A log that writes each warning about an index once; several threads can use it."""

    def __init__(self) -> None:
        # Guards the record of written warnings. No method runs other code under the lock.
        self._lock = threading.Lock()
        self._written: set[tuple[str, str, str]] = set()

    def warn_unused(self, location: IndexLocation, problem: str) -> None:
        """Warn that queries on a dataset read all files, unless the log has a warning about the same problem."""
        text = f"the index of {location.root} is not used, queries read all files: {problem}"
        self._warn((location.directory, location.root, without_numbers(problem)), text)

    def warn_unwritten(self, location: IndexLocation, problem: str) -> None:
        """Warn that written files have no statistics, unless the log has a warning about the same problem."""
        text = f"the index of {location.root} has no statistics of the files of a write: {problem}"
        self._warn((location.directory, "write", without_numbers(problem)), text)

    def warn_driver_only(self, directory: str, rows: int, reason: str) -> None:
        """Warn that the driver prunes large metadata because no job can, unless the log has this warning."""
        text = f"the driver prunes {rows:,} files by the metadata in {directory}: {reason}"
        self._warn((directory, "", reason), text)

    def warn_setting(self, problem: str) -> None:
        """Warn about a setting that is unknown or has an invalid value, unless the log has this warning."""
        self._warn((_SETTINGS, "", problem), problem)

    def warn_history(self, location: str, problem: str) -> None:
        """Warn that the query history in a directory is not written, unless the log has a warning about the problem."""
        text = f"the query history in {location} is not written: {problem}"
        self._warn((location, "history", without_numbers(problem)), text)

    def forget(self, directory: str) -> None:
        """Forget the warnings about the index in a directory, so that the log writes them again."""
        with self._lock:
            self._written = {key for key in self._written if key[0] != directory}

    def _warn(self, key: tuple[str, str, str], text: str) -> None:
        with self._lock:
            if key in self._written:
                return
            if len(self._written) >= _MAX_WARNINGS:
                self._written.clear()
            self._written.add(key)
        _log.warning("%s", text)
