"""The search for indexes below a directory: of a base location, of a dataset, or of datasets with indexes inside."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from xskip.errors import StorageError, XskipError
from xskip.metadatastore.commit_records import COMMITS
from xskip.metadatastore.definition_copy import DEFINITIONS
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import INDEX_DIRECTORY, is_directory_name
from xskip.metadatastore.snapshot import Snapshot, open_snapshot

__all__ = ["Search", "index_directories", "open_indexes", "search_indexes"]

_log = logging.getLogger("xskip")

#: How far below the directory a dataset can be.
_MAX_LEVELS = 4
#: The number of directories that a search lists at most.
_MAX_DIRECTORIES = 10_000


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search, in the order of the names."""

    #: The directories that hold the metadata of an index.
    indexes: tuple[str, ...]
    #: The directories that hold copies of the definition of an index.
    definitions: tuple[str, ...]


def index_directories(storage: Storage, directory: str) -> list[str]:
    """Return the directories that hold the metadata of an index, as :func:`search_indexes`."""
    return list(search_indexes(storage, directory).indexes)


def search_indexes(storage: Storage, directory: str) -> Search:
    """Search for indexes below a base location, a dataset, or a directory with datasets.

    Below a dataset with an index inside, the search goes no further, nor into partitions and hidden directories.
    """
    found: list[str] = []
    definitions: list[str] = []
    level, listings = [directory], 0
    for _ in range(_MAX_LEVELS):
        below: list[str] = []
        for each in level:
            listings += 1
            if listings > _MAX_DIRECTORIES:
                _log.warning("xskip has searched %s directories below %s, and ends there", f"{listings:,}", directory)
                return Search(tuple(sorted(found)), tuple(sorted(definitions)))
            children = _children(storage, each, is_top=each == directory)
            if DEFINITIONS in children:
                definitions += _indexes_in(storage, children[DEFINITIONS])
            if COMMITS in children and each != directory:
                found.append(each)
            elif INDEX_DIRECTORY in children:
                found += _indexes_in(storage, children[INDEX_DIRECTORY])
            else:
                found += (path for name, path in children.items() if is_directory_name(name))
                below += (path for name, path in children.items() if _may_hold_datasets(name))
        level = below
    return Search(tuple(sorted(found)), tuple(sorted(definitions)))


def _children(storage: Storage, directory: str, *, is_top: bool) -> dict[str, str]:
    """Return the directories in a directory by their names; none, with a warning, of one below that is not listed."""
    try:
        return {path.rstrip("/").rpartition("/")[2]: path for path in storage.directories(directory)}
    except StorageError as error:
        if is_top:
            raise
        _log.warning("xskip does not search %s: %s", directory, error)
        return {}


def _indexes_in(storage: Storage, directory: str) -> Iterator[str]:
    return (path for path in storage.directories(directory) if is_directory_name(path.rstrip("/").rpartition("/")[2]))


def _may_hold_datasets(name: str) -> bool:
    return not (name.startswith(("_", ".")) or "=" in name or is_directory_name(name))


def open_indexes(directories: Iterable[str], storage_of: Callable[[str], Storage]) -> Iterator[tuple[Snapshot, str]]:
    """Yield the present snapshots of directories, and warn of each index that cannot be read."""
    for directory in directories:
        try:
            snapshot = open_snapshot(storage_of(directory), directory)
        except XskipError as error:
            _log.warning("xskip ignores the index in %s: %s", directory, error)
            continue
        if snapshot is not None:
            yield snapshot, directory
