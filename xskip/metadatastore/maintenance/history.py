"""The history of an index, from its commit records and their archive."""

from __future__ import annotations

from xskip.metadatastore.commit_archive import archived_commits, read_commits
from xskip.metadatastore.commit_records import find_latest, list_records
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.missing_index import no_index
from xskip.results.history import History

__all__ = ["history"]


def history(storage: Storage, location: IndexLocation) -> History:
    """Return the commits of an index that are known; raise MetadataNotFoundError if there are none."""
    directory = location.directory
    latest = find_latest(storage, directory)
    if latest is None:
        raise no_index(storage, location)
    names = [name for name in list_records(storage, directory) if name == latest.first or name.identity == latest.index]
    # a record that a commit archives at this moment is in the archive, which is read later
    recorded = read_commits(storage, directory, names)
    known = {each.number: each for each in (*recorded, *archived_commits(storage, directory, latest.index))}
    return History(directory, tuple(known[number] for number in sorted(known)))
