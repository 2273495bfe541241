"""The drop of the index of a local path that does not exist any more, without Spark. Rule: [MDS-DC-7]."""

from __future__ import annotations

import os
from collections.abc import Iterator

from xskip.metadatastore.definition_copy import has_dataset
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.location import IndexLocation, metadata_directory
from xskip.metadatastore.maintenance.gone_dataset import drop_without_dataset
from xskip.results.operations import DropResult

__all__ = ["drop_gone_dataset", "is_gone"]


def is_gone(path: str) -> bool:
    """Return whether a local path does not exist."""
    return not os.path.lexists(path) and not has_dataset(LocalStorage(), path)


def drop_gone_dataset(path: str, base: str | None, place: str | None) -> DropResult | None:
    """Remove what is left of the index of a local path that does not exist; None means that nothing is left.

    ``base`` is the base location of all indexes, and ``place`` the directory of this index; None if not chosen.
    """
    for location in _locations(path, base, place):
        result = drop_without_dataset(LocalStorage(), location)
        if result is not None:
            return result
    return None


def _locations(root: str, base: str | None, place: str | None) -> Iterator[IndexLocation]:
    if place is not None:
        yield IndexLocation(root, place, root)
        return
    if base is not None:
        yield IndexLocation(root, metadata_directory(root, base), root)
    yield IndexLocation.inside(root)
