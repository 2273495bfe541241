"""Builds that change the set of indexes of a dataset, in one commit with the changes of its files.

.. code-block:: text

    unchanged files    keep the statistics of the indexes that stay, and the statistics of new indexes are collected
    new files          all indexes are collected, as in a refresh
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.indexing.builder import Build
from xskip.indexing.collection import chunks_of, collect, collector_of
from xskip.indexing.progress import shown
from xskip.indexing.source import new_write_options
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.file_parts import FileParts
from xskip.metadata.table import IndexDefinition, IndexKey, MetadataTable
from xskip.metadatastore.build_notes import BuildNotes
from xskip.metadatastore.commit import RecordedFile
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import WriteOptions
from xskip.results.operations import Progress
from xskip.spark.collect.planned_index import PlannedIndex

__all__ = ["DefinitionBuild", "with_footer_key"]

Positions = npt.NDArray[np.int64]


@dataclass(slots=True)
class DefinitionBuild(Build):
    """A build that collects some indexes for all files, and all planned indexes for new files."""

    #: The indexes that the snapshot lacks, or has with other parameters.
    added: tuple[PlannedIndex, ...] = ()
    #: The indexes of the snapshot that are left out. All others stay, also those of unknown index types.
    removed: frozenset[IndexKey] = frozenset()

    @property
    def rewrites(self) -> bool:
        """Return True: every metadata file gets other columns."""
        return True

    def definitions(self, snapshot: Snapshot | None) -> list[IndexDefinition]:
        """Return the definitions after the build, without those of the indexes that are left out."""
        return [each for each in Build.definitions(self, snapshot) if each.key not in self.removed]

    def notes_before(self, snapshot: Snapshot | None) -> BuildNotes:
        """Return the notes of the earlier builds on the indexes that stay as they are."""
        return Build.notes_before(self, snapshot).without(
            self.removed.union(each.definition.key for each in self.added)
        )

    def keep(self, snapshot: Snapshot, alive: npt.NDArray[np.bool_], scratch: Path) -> list[RecordedFile]:
        """Write the metadata of all unchanged files to new files, with other indexes; keep no file."""
        listed, known = self.listed(), snapshot.load().take(pa.array(np.flatnonzero(alive)))
        known = replace(known, indexes={key: c for key, c in known.indexes.items() if key not in self.removed})
        found = pc.index_in(known.files.names, listed.files.names).to_numpy(zero_copy_only=False)
        chosen = np.unique(found.astype(np.int64))  # the metadata can hold a file more than once
        for table, left in self.collected.take(listed, chosen, self.planned):
            chosen = left
            if len(table):
                self.add(table, scratch)
        if self.added:
            self._extend(known, chosen, scratch)
        else:
            self._add_named(known, listed.files.names.take(pa.array(chosen)), scratch)
        return []

    def _extend(self, known: MetadataTable, chosen: Positions, scratch: Path) -> None:
        """Collect the added indexes of files, and write them with the statistics that are known."""
        started, listed, done = time.monotonic(), self.listed(), 0
        for table, left in self.collected.take(listed, chosen, self.added):
            chosen = left
            self._merge(known, table, scratch)
        collector = self.in_parts(collector_of(self.engine, self.source, listed, self.added, self.collected.costs))
        chunks = list(chunks_of(self.engine, self.source, listed, chosen))
        unreadable = self.failed if self.on_error == "skip" else None
        with shown(self.progress, len(chosen)) as show:
            for i, chunk in enumerate(chunks, 1):
                found = collect(collector, chunk, unreadable)
                # the next attempt merges the collected columns with the statistics of another snapshot
                kept = write_files(found, self.source.location.identifier, scratch, i, self._partial_write_options())
                self.collected.keep([path for path, _ in kept])
                self._merge(known, found, scratch)
                done += len(chunk)
                show(Progress(i, len(chunks), done, len(chosen), time.monotonic() - started))

    def _partial_write_options(self) -> WriteOptions:
        """Return the write options of a file with only the added indexes."""
        if any(each.definition.key_label for each in self.added):
            return self.write_options
        return replace(self.write_options, footer_key=None)  # no index has a key

    def _merge(self, known: MetadataTable, found: MetadataTable, scratch: Path) -> None:
        """Write the known statistics of files together with the collected ones."""
        rows = known.take(pc.index_in(found.files.names, known.files.names).cast(pa.int64()))
        if len(rows):
            indexes = {**rows.indexes, **found.indexes}
            merged = replace(rows, indexes=indexes, counts=_agreed(rows, found), parts=_merged(rows, found))
            self.add(merged, scratch)

    def _add_named(self, known: MetadataTable, names: pa.Array, scratch: Path) -> None:
        """Write the known statistics of the files with some names."""
        if len(names):
            self.add(known.take(pc.index_in(names, known.files.names).cast(pa.int64())), scratch)


def _agreed(known: MetadataTable, found: MetadataTable) -> FileCounts | None:
    """Return the counts that are known of files, together with those of the collection of the added indexes."""
    if known.counts is None or found.counts is None:
        return known.counts or found.counts
    return known.counts.agreed(found.counts)


def _merged(known: MetadataTable, found: MetadataTable) -> FileParts | None:
    """Return the parts that are known of files, with the values of the added indexes where they fit."""
    if known.parts is None or found.parts is None:
        return known.parts or found.parts
    return known.parts.merged(found.parts)


def with_footer_key(build: Build, added: Sequence[PlannedIndex]) -> WriteOptions:
    """Return the write options of a build, with the session's footer key if the first encrypted index is added."""
    write_options, source = build.write_options, build.source
    if write_options.footer_key is not None or not any(each.definition.key_label for each in added):
        return write_options
    new = new_write_options(source.df.sparkSession, build.engine, write_options.version)
    return replace(write_options, footer_key=new.footer_key, plaintext_footer=new.plaintext_footer)
