"""Extensions: further indexes on a dataset that has an index, in one commit.

.. code-block:: text

    unchanged files    keep their statistics, and the statistics of the new indexes are collected
    new files          all indexes are collected, as in a refresh
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import IndexExistsError
from xskip.hints import Phrase, Words
from xskip.indexes import Index
from xskip.indexing.builder import Build
from xskip.indexing.collection import chunks_of, collect, collector_of
from xskip.indexing.planning import plan
from xskip.indexing.progress import shown
from xskip.indexing.source import (
    check_keys,
    new_write_options,
    open_source,
    require_collected,
)
from xskip.indexing.update import Update
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.build_notes import BuildNotes
from xskip.metadatastore.commit import RecordedFile
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import WriteOptions
from xskip.results.operations import Progress, RefreshResult
from xskip.spark.collect.planned_index import PlannedIndex

__all__ = ["Extension"]

Positions = npt.NDArray[np.int64]
Show = Callable[[Progress], object]


@dataclass(slots=True)
class _ExtendedBuild(Build):
    """A build that collects some indexes for all files, and all indexes for new files."""

    #: The indexes that the snapshot lacks.
    added: tuple[PlannedIndex, ...] = ()

    @property
    def rewrites(self) -> bool:
        """Return True: every metadata file gets further columns."""
        return True

    def notes_before(self, snapshot: Snapshot | None) -> BuildNotes:
        """Return the notes of the earlier builds, without those on former indexes that the added ones replace."""
        return Build.notes_before(self, snapshot).without(each.definition.key for each in self.added)

    def keep(self, snapshot: Snapshot, alive: npt.NDArray[np.bool_], scratch: Path) -> list[RecordedFile]:
        """Write the metadata of all unchanged files to new files, with the added indexes; keep no file."""
        listed, known = self.listed(), snapshot.load().take(pa.array(np.flatnonzero(alive)))
        found = pc.index_in(known.files.names, listed.files.names).to_numpy(zero_copy_only=False)
        chosen = np.unique(found.astype(np.int64))  # the metadata can hold a file more than once
        for table, left in self.collected.take(listed, chosen, self.planned):
            chosen = left
            if len(table):
                self.add(table, scratch)
        with shown(self.progress, len(chosen)) as show:
            self._extend(known, chosen, scratch, show)
        return []

    def _extend(self, known: MetadataTable, chosen: Positions, scratch: Path, show: Show) -> None:
        """Collect the added indexes of files, and write them with the statistics that are known."""
        started, listed, done = time.monotonic(), self.listed(), 0
        collector = collector_of(self.engine, self.source, listed, self.added, self.collected.costs)
        chunks = list(chunks_of(self.engine, self.source, listed, chosen))
        unreadable = self.failed if self.on_error == "skip" else None
        for i, chunk in enumerate(chunks, 1):
            found = collect(collector, chunk, unreadable)
            rows = known.take(pc.index_in(found.files.names, known.files.names).cast(pa.int64()))
            if len(rows):
                merged = replace(rows, indexes={**rows.indexes, **found.indexes}, counts=_agreed(rows, found))
                self.collected.keep(self.add(merged, scratch))
            done += len(chunk)
            show(Progress(i, len(chunks), done, len(chosen), time.monotonic() - started))


def _agreed(known: MetadataTable, found: MetadataTable) -> FileCounts | None:
    """Return the counts that are known of files, together with those of the collection of the added indexes."""
    if known.counts is None or found.counts is None:
        return known.counts or found.counts
    return known.counts.agreed(found.counts)


@dataclass(frozen=True, slots=True)
class Extension(Update):
    """An extension of one index by further indexes."""

    def run(self, indexes: Sequence[Index]) -> RefreshResult:
        """Add indexes, and repeat the attempt if another writer committed first."""
        return self.repeat(partial(self._attempt, indexes))

    def _attempt(self, indexes: Sequence[Index]) -> RefreshResult:
        source = open_source(self.spark, self.engine, self.reader)
        snapshot = require_collected(source)
        build = self.build_on(source, snapshot, _ExtendedBuild)
        added = plan(source, indexes)
        present = {definition.key for definition, _ in snapshot.indexes}
        for each in added:
            if each.definition.key in present:
                raise IndexExistsError(
                    "the dataset already has this index", where=source.directory, found=str(each.definition),
                    hint=Words(
                        "to change its parameters, {} first", Phrase("remove() the index", "run xskip remove")
                    ),
                )  # fmt: skip
        planned, write_options = (*build.planned, *added), self._with_footer_key(build.write_options, added)
        if any(each.definition.key_label for each in added):
            check_keys(write_options, added)
        return replace(build, planned=planned, write_options=write_options, operation="add", added=added).run(snapshot)

    def _with_footer_key(self, write_options: WriteOptions, added: Sequence[PlannedIndex]) -> WriteOptions:
        """Return the options of the index, with the session's footer key if the first encrypted index is added."""
        if write_options.footer_key is not None or not any(each.definition.key_label for each in added):
            return write_options
        new = new_write_options(self.spark, self.engine, write_options.version)
        return replace(write_options, footer_key=new.footer_key, plaintext_footer=new.plaintext_footer)
