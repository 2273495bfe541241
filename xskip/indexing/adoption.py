"""Adoption: the index of a dataset that was moved or copied becomes the index of its new place. Rule: [MDS-C-28]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import DatasetError, IndexDefinitionError, IndexExistsError, MetadataNotFoundError
from xskip.hints import Call, Method, Phrase, Words
from xskip.indexing.build_plan import plan_existing
from xskip.indexing.definition_copies import discard_former_definition, keep_present_definition
from xskip.indexing.source import Source, check_reading
from xskip.metadata.data_files import compare_files, table_identifier
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.commit import Operation, find_live, publish
from xskip.metadatastore.location import INDEX_DIRECTORY, metadata_directory
from xskip.metadatastore.missing_index import lacks_first_record, no_index
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.metadatastore.temporary import temporary_folder
from xskip.metadatastore.versions import WriteOptions
from xskip.results.history import AdoptionResult
from xskip.spark.collect.listing import ListedFiles, list_files
from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["Adoption", "FormerIndex"]

_CREATE = Call("create", "[...]")
_FORMER = Phrase("pass the former path of the dataset", "name the former directory with --former")


@dataclass(frozen=True, slots=True)
class FormerIndex:
    """The index of a former place of a dataset, as the new place can have it."""

    snapshot: Snapshot
    #: The former root of the dataset.
    root: str
    #: The rows of the files that are as the index describes them, with their new names.
    table: MetadataTable
    #: The number of present files that the index does not know.
    new_files: int

    @property
    def changed(self) -> int:
        """Return the number of rows that no present file has."""
        return self.snapshot.rows - len(self.table)


@dataclass(frozen=True, slots=True)
class Adoption:
    """An adoption of the index of a former place of a dataset."""

    engine: SparkEngine
    #: The opened dataset at its new place.
    source: Source
    #: The base location of all indexes; None if each index lies inside its dataset.
    base: str | None
    #: Of these options, only the limits of the sizes of metadata files are used.
    limits: WriteOptions

    def run(self, former: str | None) -> AdoptionResult:
        """Write the former index for the new place, and commit it.

        ``former`` is the former root of the dataset. None finds the index in the folder of the dataset.
        """
        source = self.source
        if find_live(source.storage, source.directory) is not None:
            raise IndexExistsError(
                "the dataset already has an index", where=source.directory,
                hint=Words("{} before {}", Phrase("drop() it", "run xskip drop"), Method("adopt")),
            )  # fmt: skip
        return self.commit(self.find(former))

    def find(self, former: str | None) -> FormerIndex:
        """Find the former index, and compare it with the present files; ``former`` as in :meth:`run`."""
        source = self.source
        snapshot = self._former(former)
        assert snapshot.record is not None
        check_reading(source, snapshot)
        snapshot.demand_keys()
        listed = list_files(source.dataset)
        root = snapshot.record.root
        moved = self._moved(snapshot.load(), root)
        fresh, alive = compare_files(listed.files, moved.files)
        # Names, sizes and times identify files: one of them that is the same shows that this is the same dataset.
        if snapshot.rows and not np.any(alive):
            raise DatasetError(
                "no file is as the former index describes it", where=source.root,
                found=f"{len(moved):,} indexed files, each with another name, size or time",
                hint=Words("copy the files with their times, as cp -p and rsync -t do, or {}", _CREATE),
            )  # fmt: skip
        adopted = self._completed(moved.take(pa.array(np.flatnonzero(alive))), listed, snapshot)
        return FormerIndex(snapshot, root, adopted, len(fresh))

    def commit(self, former: FormerIndex) -> AdoptionResult:
        """Commit a former index at the new place, and take care of the copies of its definition."""
        source = self.source
        self._write(former.table, former.snapshot)
        self.engine.forget(source.directory)
        keep_present_definition(self.engine, source)
        discard_former_definition(self.engine, former.root)
        return AdoptionResult(source.directory, former.root, len(former.table), former.changed, former.new_files)

    def _former(self, former: str | None) -> Snapshot:
        """Return the snapshot of the only index that can be adopted."""
        found = [s for s in map(self._opened, self._candidates(former)) if s is not None]
        if not found and lacks_first_record(self.source.storage, self.source.directory):
            raise no_index(self.source.storage, self.source.location)
        if not found:
            raise MetadataNotFoundError(
                "there is no index to adopt", where=f"{self.source.root}/{INDEX_DIRECTORY}",
                hint=Words("{}, or {}", _FORMER, _CREATE),
            )  # fmt: skip
        if len(found) > 1:
            roots = ", ".join(sorted(s.record.root for s in found if s.record))
            raise IndexDefinitionError("there are several indexes to adopt", found=roots, hint=Words("{}", _FORMER))
        (snapshot,) = found
        if not snapshot.is_ours:
            raise IndexDefinitionError("another program has built the index", hint=Words("{}", _CREATE))
        return snapshot

    def _candidates(self, former: str | None) -> Iterator[str]:
        if former is not None:
            root = self.engine.hook.locations.qualified(former)
            name = metadata_directory(root, None).rpartition("/")[2]
            yield f"{self.source.root.rstrip('/')}/{INDEX_DIRECTORY}/{name}"
            if self.base is not None:
                yield metadata_directory(root, self.base)
            return
        for directory in self.source.storage.directories(f"{self.source.root.rstrip('/')}/{INDEX_DIRECTORY}"):
            if directory.rstrip("/") != self.source.directory.rstrip("/"):
                yield directory

    def _opened(self, directory: str) -> Snapshot | None:
        """Return the snapshot of a directory, unless the directory holds no index of another root."""
        snapshot = open_snapshot(self.source.storage, directory)
        if snapshot is None or snapshot.record is None or snapshot.record.root == self.source.root:
            return None
        return snapshot

    def _moved(self, table: MetadataTable, former: str) -> MetadataTable:
        """Return the rows of files below the former root, with their names below the new root."""
        before, now = (table_identifier(root).rstrip("/") + "/" for root in (former, self.source.root))
        below = table.take(pa.array(np.flatnonzero(pc.starts_with(table.files.names, before).to_numpy(False))))
        relative = pc.utf8_slice_codeunits(below.files.names, len(before))
        names = pc.binary_join_element_wise(pa.scalar(now), relative, "")
        return replace(below, files=replace(below.files, names=names))

    def _completed(self, table: MetadataTable, listed: ListedFiles, snapshot: Snapshot) -> MetadataTable:
        """Return rows with the partition values of the listing, and with the statistics that the new paths have."""
        indexes = dict(table.indexes)
        for each in plan_existing(self.source, snapshot):
            if each.index.of_paths:
                values = each.index.assemble([table.files.names], each.types)
                indexes[each.definition.key] = replace(indexes[each.definition.key], values=values)
        partitions = listed.partitions_of(table.files) if table.partitions else {}
        return replace(table, partitions=partitions, indexes=indexes)

    def _write(self, table: MetadataTable, snapshot: Snapshot) -> None:
        assert snapshot.record is not None
        write_options = replace(
            snapshot.write_options, rows_per_file=self.limits.rows_per_file, bytes_per_file=self.limits.bytes_per_file
        )
        reading = snapshot.record.read_profile
        if write_options.footer_key is not None and reading is not None:
            reading = reading.hidden()
        with temporary_folder("adopt") as scratch:
            files = write_files(table, self.source.location.identifier, Path(scratch), 0, write_options)
            entries = tuple(entry for _, entry in files)
            record = replace(
                snapshot.record, root=self.source.root, version=write_options.version, metadata_files=entries,
                read_profile=reading,
                operation=Operation("adopt", len(table), 0), notes=replace(snapshot.record.notes, unreadable=()),
            )  # fmt: skip
            publish(self.source.storage, self.source.directory, None, files, record)
