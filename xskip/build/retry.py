"""Keep what a refresh has collected until a commit holds it: after a lost race the data is not read again.

.. code-block:: text

    attempt 1    collects new objects, and loses the race
    attempt 2    reads what won, takes the rows collected before, collects what is still missing, and commits
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.errors import CommitConflictError, IndexDroppedError
from xskip.metadata.objects import compare_objects
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.codec import decode, open_file
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.records import find_latest
from xskip.metadatastore.temporary import temporary_folder
from xskip.spark.collect.collector import PlannedIndex
from xskip.spark.collect.listing import ListedObjects

__all__ = ["Collected", "again"]

Positions = npt.NDArray[np.int64]
_T = TypeVar("_T")
_ATTEMPTS = 6
_WAIT_SECONDS = 0.05


def again(attempt: Callable[[], _T], storage_of: Callable[[str], Storage]) -> _T:
    """Run an attempt at a commit, and run it anew as long as another writer is faster, a few times at most [MDS-C-19].

    Parameters
    ----------
    attempt : callable
        Reads the present snapshot and commits.
    storage_of : callable
        The storage of a directory.

    Raises
    ------
    IndexDroppedError
        The index on which the first attempt began is not there any more.
    CommitConflictError
        Another writer was faster each time.
    """
    for number in range(_ATTEMPTS - 1):
        try:
            return attempt()
        except IndexDroppedError:
            raise
        except CommitConflictError as error:
            time.sleep(random.uniform(0, _WAIT_SECONDS * 2**number))
            _demand_the_same(error, storage_of)
    return attempt()


def _demand_the_same(error: CommitConflictError, storage_of: Callable[[str], Storage]) -> None:
    directory = error.where or ""
    latest = find_latest(storage_of(directory), directory)
    if error.index and (latest is None or latest.index != error.index):
        raise IndexDroppedError.at(directory) from error


class Collected(AbstractContextManager["Collected"]):
    """The rows that a build has collected, as files in a folder that goes with it."""

    def __init__(self) -> None:
        self._folder = temporary_folder("build")
        self._files: list[Path] = []
        self._attempts = 0
        self._of: tuple[ReadProfile, tuple[object, ...]] | None = None

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def begin(self, reading: ReadProfile, planned: Sequence[PlannedIndex]) -> Path:
        """Return an empty folder for an attempt; what was collected otherwise than now is forgotten."""
        of = (reading, tuple(_without_key(each) for each in planned))
        if self._of != of:
            self._of, self._files = of, []
        self._attempts += 1
        folder = Path(self._folder.name) / str(self._attempts)
        folder.mkdir()
        return folder

    def keep(self, files: Sequence[Path]) -> None:
        """Keep finished files of rows that were collected."""
        self._files += files

    def take(
        self, listed: ListedObjects, fresh: Positions, planned: Sequence[PlannedIndex]
    ) -> Iterator[tuple[MetadataTable, Positions]]:
        """Take what was collected before of new objects, file by file, each with the new objects that are left then."""
        definitions = {each.definition.key: each.definition for each in planned}
        storages = {each.definition.key: each.storage for each in planned}
        for path in list(self._files):
            table = decode(open_file(path))
            if {key: column.storage for key, column in table.indexes.items()} != storages:
                continue  # a version of the metadata that keeps values in another form
            left, there = compare_objects(listed.objects.take(pa.array(fresh)), table.objects)
            fresh = fresh[left]
            rows = table.take(pa.array(np.flatnonzero(there)))
            yield (
                MetadataTable(
                    rows.objects,
                    listed.partitions_of(rows.objects),
                    {key: replace(c, definition=definitions[key]) for key, c in rows.indexes.items()},
                ),
                fresh,
            )


def _without_key(planned: PlannedIndex) -> tuple[object, ...]:
    return replace(planned.definition, key_label=None), planned.storage
