"""The removal of files that crashed writers left, and of indexes of former places of a dataset. Rule: [MDS-C-27]."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from xskip.metadatastore.commit import COMMITS, find_live, is_own_name, is_unfinished
from xskip.metadatastore.filesystem import FileEntry, Storage
from xskip.metadatastore.location import INDEX_DIRECTORY, IndexLocation
from xskip.metadatastore.maintenance.former_indexes import is_former_index
from xskip.results.history import VacuumResult

__all__ = ["Vacuum"]


@dataclass(frozen=True, slots=True)
class Vacuum:
    """A removal of left-over files that are at least ``seconds`` old."""

    storage: Storage
    location: IndexLocation
    seconds: float

    def run(self, *, dry_run: bool) -> VacuumResult:
        """Remove left-over files, or only list them; remove nothing if the index cannot be read."""
        horizon = time.time() * 1000 - self.seconds * 1000
        left = dict(self._left_in(self.location.directory, horizon))
        former, kept = self._others(horizon)
        if not dry_run:
            self.storage.remove(left)
            for directory in former:
                self.storage.remove_tree(directory)
        size = sum(entry.size for entry in left.values())
        return VacuumResult(self.location.directory, tuple(left), former, size, kept, dry_run)

    def _left_in(self, directory: str, horizon: float) -> Iterator[tuple[str, FileEntry]]:
        """Yield the old files in a metadata directory that no record lists, and old temporary files."""
        before = self.storage.list(directory)  # a file that a later commit lists is not older than the horizon
        live = find_live(self.storage, directory)
        listed = set(live.names) if live else set()
        for entry in before:
            is_left = (is_own_name(entry.name) and entry.name not in listed) or is_unfinished(entry.name)
            if is_left and entry.modified < horizon:
                yield f"{directory}/{entry.name}", entry
        for entry in self.storage.list(f"{directory}/{COMMITS}"):
            if is_unfinished(entry.name) and entry.modified < horizon:
                yield f"{directory}/{COMMITS}/{entry.name}", entry

    def _others(self, horizon: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the directories of former places of the dataset, and other directories in its folder."""
        home = f"{self.location.root.rstrip('/')}/{INDEX_DIRECTORY}"
        former: list[str] = []
        kept: list[str] = []
        for directory in self.storage.directories(home):
            name = directory.rstrip("/").rpartition("/")[2]
            if name != self.location.directory.rstrip("/").rpartition("/")[2]:
                is_former = is_former_index(self.storage, self.location, directory, horizon)
                (former if is_former else kept).append(directory)
        return tuple(former), tuple(kept)
