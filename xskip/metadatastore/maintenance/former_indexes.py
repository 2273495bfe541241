"""The indexes of former places of a dataset, which adoptions leave in its folder. Rule: [MDS-C-27]."""

from __future__ import annotations

from contextlib import suppress

from xskip.errors import MetadataCorruptError, XskipError
from xskip.metadatastore.commit import COMMITS, find_live
from xskip.metadatastore.commit_records import find_latest
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import INDEX_DIRECTORY, IndexLocation, is_directory_name

__all__ = ["adopted_indexes", "is_former_index"]


def is_former_index(storage: Storage, location: IndexLocation, directory: str, horizon: float) -> bool:
    """Return whether a directory in a dataset's folder holds an index of a root that has no such index any more.

    An index whose latest commit is not before the horizon, in milliseconds since the epoch, does not count.
    """
    name = directory.rstrip("/").rpartition("/")[2]
    if not is_directory_name(name):
        return False
    try:
        latest = find_latest(storage, directory)
        live = find_live(storage, directory)
    except MetadataCorruptError:
        return False
    if latest is None or live is None or live.foreign or latest.record.created >= horizon:
        return False
    root = latest.record.root.rstrip("/")
    if root == location.root.rstrip("/"):  # the index of a table, which its name identifies
        return False
    return not storage.list(f"{root}/{INDEX_DIRECTORY}/{name}/{COMMITS}")


def adopted_indexes(storage: Storage, location: IndexLocation) -> tuple[str, ...]:
    """Return the directories of former places of a dataset whose indexes ended before its own index was last changed.

    Without an own index there are none: nothing shows then that the dataset is the one of the former place.
    """
    home = f"{location.root.rstrip('/')}/{INDEX_DIRECTORY}"
    if not location.directory.startswith(f"{home}/"):
        return ()
    with suppress(XskipError):
        latest = find_latest(storage, location.directory)
        if latest is not None and latest.record.root.rstrip("/") == location.root.rstrip("/"):
            others = (each for each in storage.directories(home) if not _is_same(each, location.directory))
            horizon = latest.record.created
            return tuple(each for each in others if is_former_index(storage, location, each, horizon))
    return ()


def _is_same(directory: str, other: str) -> bool:
    return directory.rstrip("/").rpartition("/")[2] == other.rstrip("/").rpartition("/")[2]
