"""Index builds: collect the statistics of new files in chunks, write metadata files, and commit them at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.indexing.ambiguous_columns import ambiguous_indexes
from xskip.indexing.collection import chunks_of, collect, collector_of
from xskip.indexing.commit_attempts import Collected
from xskip.indexing.definition_copies import keep_definition
from xskip.indexing.kept_files import remaining_files
from xskip.indexing.progress import ProgressOption, shown
from xskip.indexing.source import Source, check_root
from xskip.metadata.data_files import compare_files, table_identifier
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexDefinition, MetadataTable
from xskip.metadatastore.build_notes import BuildNotes, UnreadableFile
from xskip.metadatastore.codec import MetadataFile
from xskip.metadatastore.commit import CommitRecord, Operation, RecordedFile, publish
from xskip.metadatastore.portable_forms import is_portable
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import WriteOptions
from xskip.results.operations import Progress, RefreshResult
from xskip.spark.collect.collector import Collector
from xskip.spark.collect.listing import ListedFiles, list_files
from xskip.spark.collect.part_layout import PartLayout
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["Build", "OnError", "reading_of", "types_of"]

OnError = Literal["raise", "skip"]
_log = logging.getLogger("xskip.builds")
_WRITE_OPTIONS = WriteOptions()
Positions = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Build:
    """A build of one index, which commits all its changes at once or changes nothing."""

    engine: SparkEngine
    source: Source
    planned: tuple[PlannedIndex, ...]
    progress: ProgressOption
    #: Whether a file that cannot be read stops the build, or stays without metadata.
    on_error: OnError
    write_options: WriteOptions = _WRITE_OPTIONS
    #: Collected rows that are not in any commit yet.
    collected: Collected = field(default_factory=Collected)
    #: The paths of the files that could not be read, each with the reason.
    failed: dict[str, str] = field(default_factory=dict)
    #: The name of the operation in the record, unless the build creates the index.
    operation: str = "refresh"
    #: Why the build collects the statistics of unchanged files anew.
    reread: tuple[str, ...] = ()
    #: Whether the build only counts the files that it would add and remove.
    dry_run: bool = False
    _listed: ListedFiles | None = None
    _files: list[tuple[Path, RecordedFile]] = field(default_factory=list)
    _identifier: str = ""

    def run(
        self,
        snapshot: Snapshot | None,
        in_question: Flags | None = None,
        outdated: Flags | None = None,
    ) -> RefreshResult:
        """Update the index from a snapshot, or from nothing if it is None, to the present state of the dataset.

        ``in_question`` says for each file of the snapshot whether the source lists the file if the file still exists.
        All other files count as unchanged. None means that the source lists all files. ``outdated`` says for each file
        of the snapshot whether the build collects the file even if it is unchanged; None means none. After a
        CommitConflictError, nothing has changed.
        """
        started = time.monotonic()
        listed = self._listed = list_files(self.source.dataset)
        if snapshot is None:
            check_root(self.source, listed)
        ours = snapshot if snapshot is not None and snapshot.is_ours else None
        self._add_ambiguous_names()
        fresh, alive = compare_files(listed.files, ours.load(()).files if ours else None, in_question)
        if ours and outdated is not None:
            fresh, alive = _with_outdated(ours, listed, fresh, alive, outdated)
        unchanged = int(alive.sum())
        gone = (snapshot.rows if snapshot else 0) - unchanged
        if self.dry_run:
            return RefreshResult(len(fresh), gone, unchanged, time.monotonic() - started, reread=self.reread)
        if ours and not (self.rewrites or len(fresh) or gone) and all(map(self._is_portable, ours.metadata_files)):
            return self._finished(RefreshResult(0, 0, unchanged, time.monotonic() - started))
        if ours:
            ours.demand_keys()
        scratch = self.collected.begin(self.source.read_profile, self.planned)
        self._identifier = ours.table_identifier if ours else self.source.location.identifier
        kept = self.keep(ours, alive, scratch) if ours else []
        lost = len(self.failed)
        collector = self.in_parts(collector_of(self.engine, self.source, listed, self.planned, self.collected.costs))
        self._collect_all(collector, fresh, scratch, started)
        if ours and not (self.rewrites or gone or lost or self._files) and self._is_noted(ours):
            return self._finished(RefreshResult(0, 0, unchanged, time.monotonic() - started, tuple(self.failed)))
        if not kept and not self._files:  # metadata files store the index definitions: write at least one file
            self.add(collector.collect(fresh[:0]), scratch)
        added = len(fresh) - (len(self.failed) - lost)
        done = Operation("create" if snapshot is None else self.operation, added, gone + lost)
        self._commit(snapshot, kept, done)
        seconds = time.monotonic() - started
        result = RefreshResult(added, gone + lost, unchanged - lost, seconds, tuple(self.failed), self.reread)
        return self._finished(result, done.name)

    def _finished(self, result: RefreshResult, operation: str = "") -> RefreshResult:
        counts = f"{result.added:,} files added, {result.removed:,} removed, {result.unchanged:,} unchanged"
        failed = f", {len(result.failed):,} not readable" if result.failed else ""
        name = operation or self.operation
        if name == "create" and self.source.unfound:
            _log.warning("the index is in %s, but %s", self.source.directory, self.source.unfound)
        _log.info("%s of the index of %s: %s%s, in %.2f s", name, self.source.root, counts, failed, result.seconds)
        return result

    @property
    def rewrites(self) -> bool:
        """Return whether the build writes all metadata files anew even if no file has changed."""
        return bool(self.reread)

    def in_parts(self, collector: Collector) -> Collector:
        """Return a collector that divides files into parts as the index does."""
        return replace(collector, layout=PartLayout.of(self.write_options.part_bytes))

    def definitions(self, snapshot: Snapshot | None) -> list[IndexDefinition]:
        """Return the definitions of the index after the build on a snapshot, also those of unknown index types."""
        planned = {each.definition.key: each.definition for each in self.planned}
        others = [d for d, _ in snapshot.indexes if d.key not in planned] if snapshot and snapshot.is_ours else []
        return [*planned.values(), *others]

    def listed(self) -> ListedFiles:
        """Return the files of the dataset, which :meth:`run` has listed."""
        assert self._listed is not None
        return self._listed

    def _add_ambiguous_names(self) -> None:
        own = self.write_options.own | ambiguous_indexes(self.source.df.schema, self.planned)
        self.write_options = replace(self.write_options, own=own)

    def _collect_all(self, collector: Collector, fresh: Positions, scratch: Path, started: float) -> None:
        """Collect new files chunk by chunk, and write separate metadata files for each chunk."""
        # Rows that an earlier attempt collected are reused.
        for table, left in self.collected.take(collector.listed, fresh, self.planned):
            fresh = left
            if len(table):
                self.add(table, scratch)
        chunks = list(chunks_of(self.engine, self.source, collector.listed, fresh))
        unreadable = self.failed if self.on_error == "skip" else None
        done = 0
        with shown(self.progress, len(fresh)) as show:
            for i, chunk in enumerate(chunks, 1):
                table = collect(collector, chunk, unreadable)
                if len(table):
                    self.collected.keep(self.add(table, scratch))
                done += len(chunk)
                show(Progress(i, len(chunks), done, len(fresh), time.monotonic() - started))

    def keep(self, snapshot: Snapshot, alive: Flags, scratch: Path) -> list[RecordedFile]:
        """Return the metadata files that stay unchanged, and write the remaining rows of the others to new files."""
        kept, rest = remaining_files(snapshot, alive, self.write_options)
        if rest is not None:
            self.add(rest, scratch)
        return kept

    def _is_portable(self, file: MetadataFile) -> bool:
        return is_portable(file.schema, file.footer.metadata, self.write_options)

    def add(self, table: MetadataTable, scratch: Path) -> list[Path]:
        """Write rows to new metadata files for the commit, and return their paths."""
        written = write_files(table, self._identifier, scratch, len(self._files), self.write_options)
        self._files += written
        return [path for path, _ in written]

    def _commit(self, snapshot: Snapshot | None, kept: Sequence[RecordedFile], done: Operation) -> None:
        record = self._record(snapshot, (*kept, *(entry for _, entry in self._files)), done)
        live = snapshot.live if snapshot else None
        record = publish(self.source.storage, self.source.directory, live, self._files, record)
        self.engine.forget(self.source.directory)
        secret = self.write_options.is_secret
        keep_definition(self.engine, self.source, self.definitions(snapshot), record, secret=secret)

    def _record(self, snapshot: Snapshot | None, files: tuple[RecordedFile, ...], done: Operation) -> CommitRecord:
        types = dict(snapshot.record.types) if snapshot and snapshot.record else {}
        types |= types_of(self.planned)
        columns = snapshot.columns if snapshot else ()
        reading = reading_of(self.source, self.planned, self.write_options, columns)
        notes = self.notes_before(snapshot).after(self.collected.costs.seconds, self._unreadable())
        return CommitRecord(
            0, self.source.root, self.write_options.version, files, reading, types, 0, "", done, notes,
            part_bytes=self.write_options.part_bytes,
        )  # fmt: skip

    def notes_before(self, snapshot: Snapshot | None) -> BuildNotes:
        """Return the notes of the earlier builds of the index."""
        return snapshot.record.notes if snapshot and snapshot.record else BuildNotes()

    def _is_noted(self, snapshot: Snapshot) -> bool:
        """Return whether the record of a snapshot names the unreadable files that a new record would name."""
        before = self.notes_before(snapshot)
        after = before.after({}, self._unreadable())
        # The reasons of stores contain request numbers.
        named, found = ({each._replace(reason="") for each in notes.unreadable} for notes in (before, after))
        return named == found

    def _unreadable(self) -> list[UnreadableFile]:
        """Return the files that could not be read, unless the metadata are encrypted: then their names are secret."""
        if self.write_options.footer_key is not None or not self.failed:
            return []
        files = self.listed().files
        names = list(map(table_identifier, self.failed))
        modified = files.modified.take(pc.index_in(pa.array(names), files.names))
        return list(map(UnreadableFile, names, modified.to_pylist(), self.failed.values()))


def types_of(planned: Sequence[PlannedIndex]) -> dict[str, str]:
    """Return the Spark types of indexed columns, by name, as a record states them."""
    types: dict[str, str] = {}
    for each in planned:
        types.update(zip(each.definition.columns, each.definition.types, strict=True))
    return types


def reading_of(
    source: Source, planned: Sequence[PlannedIndex], write_options: WriteOptions,
    columns: Iterable[tuple[str, ...]] = (),
) -> ReadProfile:  # fmt: skip
    """Return how indexed columns are read, as a record states it; ``columns`` are those of other indexes."""
    paths = {path for each in planned for path in each.definition.paths}
    reading = source.read_profile.of_columns(paths.union(columns))
    return reading if write_options.footer_key is None else reading.hidden()


def _with_outdated(
    snapshot: Snapshot, listed: ListedFiles, fresh: Positions, alive: Flags, outdated: Flags
) -> tuple[Positions, Flags]:
    """Return the files to collect and the files of a snapshot that stay, if unchanged files are outdated."""
    if not (outdated & alive).any():
        return fresh, alive
    names = snapshot.load(()).files.names.filter(pa.array(outdated & alive))
    again = pc.index_in(names, listed.files.names).to_numpy().astype(np.int64)
    return np.union1d(fresh, again), alive & ~outdated
