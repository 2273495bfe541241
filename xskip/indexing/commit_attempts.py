"""Attempts at a commit, and the collected rows that survive a failed attempt so that the data is read only once.

.. code-block:: text

    attempt 1    collects new files, but another writer commits first
    attempt 2    reads the other writer's snapshot, reuses collected rows, collects missing rows, and commits
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.errors import CommitConflictError, IndexDroppedError
from xskip.metadata.data_files import compare_files
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.codec import decode, open_file
from xskip.metadatastore.commit_records import find_latest
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.temporary import temporary_folder
from xskip.spark.collect.build_costs import BuildCosts
from xskip.spark.collect.listing import ListedFiles
from xskip.spark.collect.planned_index import PlannedIndex

__all__ = ["Collected", "retry_conflicts"]

Positions = npt.NDArray[np.int64]
_T = TypeVar("_T")
_ATTEMPTS = 6
#: The longest wait after the first attempt. Each attempt doubles it, and a random part of it keeps writers apart.
_WAIT_SECONDS = 0.05


def retry_conflicts(attempt: Callable[[], _T], storage_of: Callable[[str], Storage]) -> _T:
    """Run an attempt at a commit, and repeat it a few times while other writers commit first [MDS-C-19].

    ``storage_of`` returns the storage of a directory. An IndexDroppedError says that the attempt's index no longer
    exists.
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
    """The rows that a build has collected, in files of a temporary folder that exists until the context ends."""

    def __init__(self) -> None:
        self._folders = ExitStack()
        self._folder: str | None = None
        self._files: list[Path] = []
        self._attempts = 0
        self._of: tuple[ReadProfile, tuple[object, ...]] | None = None
        #: The time of all attempts of the build.
        self.costs = BuildCosts()

    def __exit__(self, *_: object) -> None:
        self._folders.close()

    def begin(self, reading: ReadProfile, planned: Sequence[PlannedIndex]) -> Path:
        """Return an empty folder for an attempt, and discard rows that were collected in another way."""
        of = (reading, tuple(_without_key(each) for each in planned))
        if self._of != of:
            self._of, self._files = of, []
        self._attempts += 1
        if self._folder is None:
            self._folder = self._folders.enter_context(temporary_folder("build"))
        folder = Path(self._folder) / str(self._attempts)
        folder.mkdir()
        return folder

    def keep(self, files: Sequence[Path]) -> None:
        """Add finished metadata files with collected rows."""
        self._files += files

    def take(
        self, listed: ListedFiles, fresh: Positions, planned: Sequence[PlannedIndex]
    ) -> Iterator[tuple[MetadataTable, Positions]]:
        """Yield the rows that earlier attempts collected of new files, one table for each metadata file.

        With each table comes what is left of ``fresh``: the positions in ``listed`` of the new files without rows so
        far.
        """
        definitions = {each.definition.key: each.definition for each in planned}
        storages = {each.definition.key: each.storage for each in planned}
        for path in list(self._files):
            table = decode(open_file(path))
            if {key: column.storage for key, column in table.indexes.items()} != storages:
                continue  # this version of the metadata format stores values in another form
            left, there = compare_files(listed.files.take(pa.array(fresh)), table.files)
            fresh = fresh[left]
            rows = table.take(pa.array(np.flatnonzero(there)))
            yield (
                MetadataTable(
                    rows.files,
                    listed.partitions_of(rows.files),
                    {key: replace(c, definition=definitions[key]) for key, c in rows.indexes.items()},
                    rows.counts,
                    rows.parts,
                ),
                fresh,
            )


def _without_key(planned: PlannedIndex) -> tuple[object, ...]:
    # The key of an index decides how its statistics are written, and not what they are.
    return replace(planned.definition, key_label=None), planned.storage
