"""The reasons why a dataset has no index, for errors and reports."""

from __future__ import annotations

from xskip.errors import IndexDeletedError, MetadataNotFoundError
from xskip.metadatastore.commit_records import COMMITS, list_records
from xskip.metadatastore.definition_copy import find_copy
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import INDEX_DIRECTORY, IndexLocation

__all__ = ["lacks_first_record", "lost_index", "no_index"]


def no_index(storage: Storage, location: IndexLocation, *, is_known: bool = False) -> MetadataNotFoundError:
    """Return the error for a dataset without an index, which names what the folders of indexes contain instead.

    ``is_known`` means that this process has built or used an index there, and has not dropped it.
    """
    return _damage(storage, location.directory) or _absence(storage, location, is_known=is_known)


def lost_index(storage: Storage, location: IndexLocation) -> MetadataNotFoundError | None:
    """Return the error for a dataset whose index was damaged, or deleted with its files; None if it was dropped."""
    damage = _damage(storage, location.directory)
    if damage is not None:
        return damage
    error = _absence(storage, location, is_known=False)
    return error if isinstance(error, IndexDeletedError) else None


def _damage(storage: Storage, directory: str) -> MetadataNotFoundError | None:
    if not lacks_first_record(storage, directory):
        return None
    return MetadataNotFoundError.without_first_record(f"{directory}/{COMMITS}")


def _absence(storage: Storage, location: IndexLocation, *, is_known: bool) -> MetadataNotFoundError:
    directory = location.directory
    folder = f"{location.root.rstrip('/')}/{INDEX_DIRECTORY}"
    inside = storage.directories(folder) if directory.startswith(f"{folder}/") else ()
    if any(each.rstrip("/") != directory.rstrip("/") for each in inside):
        return MetadataNotFoundError.only_elsewhere(folder)
    copy = find_copy(storage, location)
    if copy is not None:
        return IndexDeletedError.after(directory, copy.time)
    is_inside = directory.startswith(f"{location.root.rstrip('/')}/")
    return MetadataNotFoundError.gone(directory) if is_known and is_inside else MetadataNotFoundError.at(directory)


def lacks_first_record(storage: Storage, directory: str) -> bool:
    """Return whether a directory contains later commit records and no first one, so that it is no index."""
    names = list_records(storage, directory)
    return bool(names) and all(name.identity for name in names)
