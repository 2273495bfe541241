"""The list of the indexes below a directory."""

from __future__ import annotations

from collections.abc import Iterable

from xskip.metadatastore.snapshot import Snapshot
from xskip.results.operations import IndexList, ListedIndex

__all__ = ["index_list"]


def index_list(found: Iterable[tuple[Snapshot, str]]) -> IndexList:
    """Return the list of indexes, given as snapshots with their directories, in the order of their datasets' names."""
    listed = (
        ListedIndex(
            snapshot.record.root if snapshot.record else snapshot.table_identifier,
            directory,
            snapshot.rows,
            tuple(str(definition) for definition, _ in snapshot.indexes),
        )
        for snapshot, directory in found
    )
    return IndexList(tuple(sorted(listed, key=lambda index: index.dataset)))
