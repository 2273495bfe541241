"""Indexes that could not be read: not tried again until their directories change. Rule: [MDS-D-6]."""

from __future__ import annotations

from dataclasses import dataclass

from xskip.errors import MetadataCorruptError, MetadataVersionError
from xskip.metadatastore.commit import COMMITS
from xskip.metadatastore.filesystem import FileEntry, Storage

__all__ = ["Failures"]

_MOST = 1024
_Stamp = tuple[frozenset[FileEntry], frozenset[FileEntry], int]


@dataclass(frozen=True, slots=True)
class _Look:
    """The state of a directory when it was looked at, and why it could not be read, if it could not."""

    stamp: _Stamp
    error: MetadataCorruptError | MetadataVersionError | None = None


class Failures:
    """The states of the directories of indexes when they were last opened."""

    def __init__(self) -> None:
        self._looks: dict[str, _Look] = {}

    def look(self, storage: Storage, directory: str, room: int = 0) -> None:
        """Note what a directory is, before its index is opened.

        Parameters
        ----------
        storage : Storage
        directory : str
        room : int
            The most bytes that its values may take: with another limit it can be read after all.

        Raises
        ------
        MetadataCorruptError, MetadataVersionError
            It is what it was when its index could not be read.
        """
        stamp = frozenset(storage.list(directory)), frozenset(storage.list(f"{directory}/{COMMITS}")), room
        known = self._looks.get(directory)
        if known is not None and known.stamp == stamp and known.error is not None:
            error = known.error
            raise type(error)(
                error.what, where=error.where, found=error.found, expected=error.expected, hint=error.hint
            )
        if len(self._looks) >= _MOST:
            self._looks.clear()
        self._looks[directory] = _Look(stamp)

    def remember(self, directory: str, error: BaseException) -> bool:
        """Remember why an index could not be read; say whether that is for as long as its files stay."""
        known = self._looks.get(directory)
        if known is None or not isinstance(error, MetadataCorruptError | MetadataVersionError):
            return False
        self._looks[directory] = _Look(known.stamp, error)
        return True

    def forget(self, directory: str) -> None:
        """Forget a directory."""
        self._looks.pop(directory, None)
