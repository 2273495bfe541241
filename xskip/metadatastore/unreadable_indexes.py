"""Indexes that could not be read, and that are not read until their directories change. Rule: [MDS-D-6]."""

from __future__ import annotations

from dataclasses import dataclass

from xskip.errors import MetadataCorruptError, MetadataVersionError
from xskip.metadatastore.commit import COMMITS
from xskip.metadatastore.filesystem import FileEntry, Storage

__all__ = ["UnreadableIndexes"]

_MAX = 1024
_Stamp = tuple[frozenset[FileEntry], frozenset[FileEntry], int]


@dataclass(frozen=True, slots=True)
class _Look:
    """The state of a directory before its index was opened, and the error if the index could not be read."""

    stamp: _Stamp
    error: MetadataCorruptError | MetadataVersionError | None = None


class UnreadableIndexes:
    """The states of index directories when the indexes were last opened."""

    def __init__(self) -> None:
        self._looks: dict[str, _Look] = {}

    def look(self, storage: Storage, directory: str, room: int = 0) -> None:
        """Record the state of a directory before its index is opened.

        The error of the last attempt is raised again if the directory has not changed since. ``room`` is the maximum
        number of bytes for the index's values; another limit permits a new attempt.
        """
        stamp = frozenset(storage.list(directory)), frozenset(storage.list(f"{directory}/{COMMITS}")), room
        known = self._looks.get(directory)
        if known is not None and known.stamp == stamp and known.error is not None:
            error = known.error
            # A new object: an error that is raised twice would collect the tracebacks of both.
            raise type(error)(
                error.what, where=error.where, found=error.found, expected=error.expected, hint=error.hint
            )
        if len(self._looks) >= _MAX:
            self._looks.clear()
        self._looks[directory] = _Look(stamp)

    def remember(self, directory: str, error: BaseException) -> bool:
        """Record the error of an index that could not be read, and return whether it lasts until the files change.

        Other errors are not recorded.
        """
        known = self._looks.get(directory)
        if known is None or not isinstance(error, MetadataCorruptError | MetadataVersionError):
            return False
        self._looks[directory] = _Look(known.stamp, error)
        return True

    def forget(self, directory: str) -> None:
        """Remove the recorded state of a directory."""
        self._looks.pop(directory, None)
