"""The overview of the indexes below a directory, without Spark."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xskip.data_systems import system_of
from xskip.inspection.file_comparison import compare_with_files
from xskip.inspection.overview import Survey
from xskip.metadatastore.definition_copy import has_dataset
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.index_status import IndexStatus
from xskip.results.overview import Overview
from xskip.standalone.spark_reading import problem_in_spark
from xskip.standalone.store import Store, list_data

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

__all__ = ["overview_without_spark"]


def overview_without_spark(location: str | os.PathLike[str], filesystem: FileSystem | None = None) -> Overview:
    """Return the state of all indexes below a directory, as :func:`xskip.overview`."""
    store = Store.of(location, filesystem)
    comparison = _Comparison(filesystem)
    return Survey(store.storage, comparison.status, comparison.exists).of(store.root)


@dataclass(frozen=True, slots=True)
class _Comparison:
    filesystem: FileSystem | None

    def status(self, snapshot: Snapshot, root: str, directory: str) -> IndexStatus | None:
        """Return the state of an index in comparison with the files of its dataset; None for pieces of other kinds."""
        recorded = snapshot.read_profile
        system = system_of(recorded.format) if recorded else None
        if system and not system.has_files:
            return None
        store = self._store(root)
        problem = problem_in_spark(snapshot, IndexLocation(root, directory, store.path))
        return compare_with_files(snapshot, list_data(store), problem or "")

    def exists(self, root: str) -> bool:
        """Return whether the root of a dataset exists, or may exist."""
        return has_dataset(self._store(root).storage, root)

    def _store(self, root: str) -> Store:
        return Store.of(root, self.filesystem if "://" in root else None)
