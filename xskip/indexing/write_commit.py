"""The commit of the statistics that a write has collected. Rules: [WRT]."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import IndexDroppedError
from xskip.indexing.commit_attempts import retry_conflicts
from xskip.indexing.kept_files import remaining_files
from xskip.indexing.write_creation import Creation, prepare_creation
from xskip.indexing.write_plan import WritePlan
from xskip.metadata.data_files import compare_files, table_identifier
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.commit import Operation, publish
from xskip.metadatastore.commit_records import WRITE
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.metadatastore.temporary import temporary_folder
from xskip.protocol.write_request import WriteRequest
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.writes import IndexedWrite
from xskip.spark.collect.assembly import assemble, columns_of, counts_of_rows, rows_of
from xskip.spark.collect.claims import PathClaims
from xskip.spark.collect.listing import ListedFiles, listed_files
from xskip.spark.collect.relation import Listing
from xskip.spark.query.spark_engine import SparkEngine
from xskip.types.datatypes import from_json, json_field, to_json

__all__ = ["WriteCommit"]

#: The types to which Spark widens the values of a partition column that single files do not need.
_WIDER = {("int", "bigint")}


@dataclass(frozen=True, slots=True)
class WriteCommit:
    """The commit of one write."""

    engine: SparkEngine
    plan: WritePlan
    request: WriteRequest
    write: IndexedWrite

    def run(self) -> str:
        """Commit the statistics, and return why a refresh has to read the files instead; an empty text if it need not.

        XskipError means that nothing was committed.
        """
        return retry_conflicts(self._attempt, partial(storage_for, self.engine.hook))

    def _attempt(self) -> str:
        location, plan = self.plan.location, self.plan
        storage = storage_for(self.engine.hook, location.directory)
        before = open_snapshot(storage, location.directory, plan.snapshot)
        creation: Creation | str | None = None
        if plan.snapshot is None:
            if before is not None and not self.request.overwrites:
                return "another program has created an index while Spark wrote"
            creation = prepare_creation(self.engine, plan, self.request, self.write)
        elif before is None and not self._deletes_index:
            raise IndexDroppedError.at(location.directory)
        elif before is not None and not _is_same(before, plan):
            return "the indexes of the dataset were changed while Spark wrote"
        alive = self._alive(before)
        if isinstance(creation, str):
            return creation
        listed = self._listed(before if before is not None and alive.any() else None)
        if isinstance(listed, str):
            return listed
        new = self._unknown(listed, before, alive)
        if not len(new) and alive.all() and before is not None:
            return ""
        with temporary_folder("write") as folder:
            self._publish(before, alive, self._table(listed).take(pa.array(new)), Path(folder), creation)
        return ""

    @property
    def _deletes_index(self) -> bool:
        """Return whether the write has deleted the index with the dataset."""
        directory = table_identifier(self.plan.location.directory)
        return self.request.overwrites and any(directory.startswith(f"{each}/") for each in self.request.removed)

    def _alive(self, before: Snapshot | None) -> npt.NDArray[np.bool_]:
        """Return for each file of the index whether the write has left it in place."""
        if before is None or not self.request.removed:
            return np.ones(0 if before is None else before.rows, np.bool_)
        names = before.load(()).files.names
        removed = np.zeros(len(names), np.bool_)
        if len(self.request.removed) == 1:
            (directory,) = self.request.removed
            removed |= pc.starts_with(names, f"{directory.rstrip('/')}/").to_numpy(zero_copy_only=False)
        else:
            directories = pc.replace_substring_regex(names, "/[^/]*$", "")
            removed |= pc.is_in(directories, pa.array(self.request.removed)).to_numpy(zero_copy_only=False)
        return ~removed

    def _listed(self, kept: Snapshot | None) -> ListedFiles | str:
        """Return the written files; ``kept`` is the snapshot if some of its files stay."""
        partitions = self.write.partitions()
        if kept is not None:
            types = _partition_types(kept)
            if list(types) != [name for name, _ in partitions]:
                return "the partition columns of the dataset differ from those of the index"
            for name, kind in partitions:
                found, known = _type_text(kind), types[name]
                if known not in (found, "string") and (found, known) not in _WIDER:
                    return f"the new values of the partition column {name} have the type {found}, and not {known}"
            partitions = [(name, to_json(types[name])) for name, _ in partitions]
        fields = [json_field(name, kind) for name, kind in partitions]
        location = self.plan.location
        roots = (location.listed, location.root) if location.listed else ()
        java = self.write.listing(json.dumps({"type": "struct", "fields": fields}))
        return listed_files(Listing(java, roots), partitions)

    def _unknown(
        self, listed: ListedFiles, before: Snapshot | None, alive: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """Return the positions of the files of which the index keeps no row: a refresh can have read some since."""
        if before is None or before is self.plan.snapshot:
            return np.arange(len(listed))
        fresh, _ = compare_files(listed.files, before.load(()).files.take(pa.array(np.flatnonzero(alive))))
        return fresh

    def _table(self, listed: ListedFiles) -> MetadataTable:
        """Return the metadata of the written files."""
        job, chosen = self.plan.job, np.arange(len(listed))
        counts, values = FileCounts.unknown(len(listed)), {}
        if job.accumulations:
            results = job.results(self.write.results(job.schema))
            take = rows_of(results, chosen)
            counts = counts_of_rows(results, take)
            for planned, found in zip(self.plan.of_rows, results.columns, strict=True):
                values[planned.definition.key] = assemble(planned, found, take)
        for planned in self.plan.planned:
            claim = PathClaims().of(planned, listed.files)
            if claim is not None:
                values[planned.definition.key] = claim.values
        columns = columns_of(self.plan.planned, [values[each.definition.key] for each in self.plan.planned])
        return MetadataTable(listed.files, listed.partitions, columns, counts)

    def _publish(
        self, before: Snapshot | None, alive: npt.NDArray[np.bool_], table: MetadataTable, folder: Path,
        creation: Creation | None,
    ) -> None:  # fmt: skip
        """Commit new rows on top of the rows that stay."""
        plan, location = self.plan, self.plan.location
        kept, rest = ([], None) if before is None else remaining_files(before, alive, plan.write_options)
        identifier = location.identifier if plan.snapshot is None else plan.snapshot.table_identifier
        files = write_files(table, identifier, folder, 0, plan.write_options)
        if rest is not None:
            files += write_files(rest, identifier, folder, len(files), plan.write_options)
        former = before or plan.snapshot
        record = creation.record if creation is not None else former.record if former else None
        assert record is not None
        removed = former.rows - int(alive.sum()) if former else 0
        entries = (*kept, *(entry for _, entry in files))
        done = Operation(WRITE, len(table), removed)
        changed = replace(record, version=plan.write_options.version, metadata_files=entries, operation=done)
        storage = storage_for(self.engine.hook, location.directory)
        changed = publish(storage, location.directory, before.live if before else None, files, changed)
        self.engine.forget(location.directory)
        if creation is not None:
            creation.keep_definition(self.engine, changed)


def _is_same(snapshot: Snapshot, plan: WritePlan) -> bool:
    """Return whether an index still is the one of a plan, with the same indexes."""
    known = {each.definition.key: each.definition for each in plan.planned}
    definitions = [definition for definition, _ in snapshot.indexes]
    same = {d.key for d in definitions} == known.keys() and all(d.is_same(known[d.key]) for d in definitions)
    before = plan.snapshot
    assert before is not None
    of_same_form = snapshot.version == before.version
    return same and snapshot.is_ours and of_same_form and snapshot.live.index == before.live.index


def _partition_types(snapshot: Snapshot) -> dict[str, str]:
    """Return the type of each partition column of an index; files can have the types of different builds."""
    found: dict[str, str] = {}
    for file in snapshot.metadata_files:
        for name, kind in file.schema.partitions:
            known = found.get(name, kind)
            # one text makes all values texts
            found[name] = "string" if "string" in (known, kind) else kind if (known, kind) in _WIDER else known
    return found


def _type_text(kind: object) -> str:
    return from_json(kind) if isinstance(kind, str) else ""
