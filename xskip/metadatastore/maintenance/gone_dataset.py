"""The removal of what is left of the index of a dataset that does not exist any more. Rule: [MDS-DC-7]."""

from __future__ import annotations

from xskip.metadatastore.commit_records import find_latest
from xskip.metadatastore.definition_copy import find_copy, remove_copies
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.maintenance.drop import remove_index
from xskip.results.operations import DropResult

__all__ = ["drop_without_dataset"]


def drop_without_dataset(storage: Storage, location: IndexLocation) -> DropResult | None:
    """Remove the index of a root that does not exist, or else the copies of its definition; None if there is neither.

    An index of another root stays.
    """
    latest = find_latest(storage, location.directory)
    if latest is not None and latest.record.root.rstrip("/") == location.root.rstrip("/"):
        return DropResult(location.directory, remove_index(storage, location.directory))
    if find_copy(storage, location) is None:
        return None
    remove_copies(storage, location)
    return DropResult(location.directory, 0, only_definition=True)
