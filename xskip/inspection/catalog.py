"""The list of the indexes below a directory."""

from __future__ import annotations

from collections.abc import Iterable

from xskip.inspection.description import dataset_of
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.operations import IndexList, ListedIndex

__all__ = ["index_list"]


def index_list(found: Iterable[tuple[Snapshot, str]]) -> IndexList:
    """Return the list of indexes, given as snapshots with their directories, in the order of their datasets' names."""
    listed = (
        ListedIndex(
            dataset_of(snapshot),
            directory,
            snapshot.rows,
            tuple(str(definition) for definition, _ in snapshot.indexes),
        )
        for snapshot, directory in found
    )
    return IndexList(tuple(sorted(listed, key=lambda index: index.dataset)))
