"""The export of partitions to files in one commit. Rules: [QDB-CT]."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from xskip.api.index import SkippingIndex
from xskip.errors import DatasetError, StorageError, TableDamagedError, UnsupportedTypeError
from xskip.indexes import Index
from xskip.metadatastore.filesystem import local_path
from xskip.paths import check_path
from xskip.questdb.active_session import session_or_active
from xskip.questdb.export_leftovers import Announcements
from xskip.questdb.export_plan import Changed, ExportPlan, export_plan, folder_of, runs
from xskip.questdb.export_rows import rows_in
from xskip.questdb.export_write import (
    FORMATS,
    FileForm,
    FileRows,
    designated,
    prefix_of,
    read_back,
    settings_of,
    stored_columns,
    write,
)
from xskip.questdb_files.database import Database
from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.selection import Selection
from xskip.questdb_files.snapshot import Snapshot, TablePlace, read_snapshot
from xskip.results.render import human_bytes
from xskip.results.result_view import KeyValueView
from xskip.spark.bridge.sessions import active_session, clone_session
from xskip.spark.query.spark_engine import engine_of
from xskip.spark.questdb.cold_columns import layout_of
from xskip.spark.questdb.cold_tier import ColdColumn, ColdFile, ColdPartition, ColdTier, Replaced
from xskip.spark.questdb.row_samples import samples_of, some
from xskip.spark.questdb.schema import known_columns
from xskip.spark.questdb.tables import cold_records
from xskip.spark.questdb.tier_parts import HotPartition, hot_partitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Export", "ExportOptions", "ExportResult"]

#: The age in milliseconds from which on no query reads a replaced file.
_UNREAD_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of an export.

    Attributes
    ----------
    bloom_filters : sequence of str
        The columns whose Bloom filters Parquet files have.
    writer : mapping of str to str
        The options of Spark's writer, such as ``{"compression": "zstd"}``.
    changed : {"merged", "dropped"}, optional
        What became of exported rows whose partition has changed, where its rows do not tell: later rows were merged
        into the partition, or it was dropped and has new rows.
    spark : SparkSession, optional
        The session that reads and writes; by default the active session.

    Examples
    --------
    >>> from xskip.questdb import ExportOptions
    >>> ExportOptions(bloom_filters=["symbol"], writer={"compression": "zstd"}).bloom_filters
    ['symbol']
    """

    bloom_filters: Sequence[str] = ()
    writer: Mapping[str, str] = field(default_factory=dict)
    changed: Changed | None = None
    spark: SparkSession | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ExportResult(KeyValueView):
    """The result of an export.

    Attributes
    ----------
    partitions : tuple of str
        The partitions that were copied, by the names of their folders in the table.
    rows, files, bytes : int
        The numbers of rows and files, and the size of the files.
    seconds : float
        The duration.
    changed : tuple of str
        Partitions that a server changed while they were copied. They are not exported.
    drop_statement : str
        The SQL that drops the partitions of which the table had the exported rows and no others when the export ended;
        empty if there are none. It drops rows, too, that come later.

    Examples
    --------
    >>> from xskip.questdb import ExportResult
    >>> print(ExportResult(("2026-02-10",), 1000, 1, 20480, 1.5, (), ""))
    partitions copied  1
    rows               1,000
    files              1
    size               20.0 KiB
    seconds            1.50
    to drop
    """

    partitions: tuple[str, ...]
    rows: int
    files: int
    bytes: int
    seconds: float
    changed: tuple[str, ...]
    drop_statement: str

    def _caption(self) -> str:
        return "Export of the table"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        pairs: list[tuple[str, Any]] = [
            ("partitions copied", len(self.partitions)),
            ("rows", self.rows),
            ("files", self.files),
            ("size", human_bytes(self.bytes)),
            ("seconds", self.seconds),
        ]
        return [*pairs, *(("changed meanwhile", name) for name in self.changed), ("to drop", self.drop_statement)]


class Export:
    """An export of a table into the folder of a cold tier, as ``parquet`` or ``avro``."""

    def __init__(self, place: TablePlace, to: str, file_format: str, options: ExportOptions) -> None:
        if file_format not in FORMATS:
            raise DatasetError(
                "the format of an export does not exist", where="format", found=repr(file_format),
                expected=" or ".join(FORMATS),
            )  # fmt: skip
        to = check_path(to, "folder of the cold tier")
        spark = session_or_active(options.spark)
        hook = engine_of(spark).hook
        self._place, self._to, self._format, self._options = place, to, file_format, options
        self._session = clone_session(hook, spark, settings_of(spark))
        hook.install(self._session)
        self._records = cold_records(hook, to)
        _demand_outside(place, self._records.root)
        self._announcements = Announcements(self._records)

    def run(self, until: datetime, indexes: Sequence[Index]) -> ExportResult:
        """Copy the partitions that end before a time, and commit them; the first export creates the indexes."""
        started = time.monotonic()
        snapshot, tier = self._state()
        columns = _all_columns(snapshot)
        self._announcements.remove_ended()
        plan = export_plan(snapshot, tier, until, self._options.changed)
        exported: tuple[ColdPartition, ...] = ()
        if plan.copied:
            form = self._form(snapshot, columns, tier)
            folders = [folder_of(snapshot.metadata.clock, p.start, form.prefix) for p in plan.copied]
            # The files have names of their own, and are read back before the commit of a record that names them. Files
            # without a record do not count.
            with self._announcements.announced(folders) as token:
                form = replace(form, options={**form.options, "mapreduce.output.basename": token})
                exported = self._unchanged(snapshot, self._copied(snapshot, columns, plan, form))
                self._index(indexes, exported)
                self._announcements.check(token)
                self._commit(tier, plan, exported, form.columns)
        elif plan.kept != tier.partitions:
            self._commit(tier, plan, (), ())
        return self._result(plan, exported, time.monotonic() - started)

    def _state(self) -> tuple[Snapshot, ColdTier]:
        """Return the last transaction, and what was exported at that time."""
        known = -1
        while True:
            snapshot = read_snapshot(self._place)
            tier = self._tier(snapshot)
            if tier.number == known:  # no other export has committed while the transaction was read
                return snapshot, tier
            known = tier.number

    def _tier(self, snapshot: Snapshot) -> ColdTier:
        tier = self._records.of_table(snapshot, self._format)
        if tier.format != self._format:
            raise DatasetError(
                "the folder has exports in another format", where=self._records.root, found=tier.format,
                expected=self._format, hint="name another folder, or use the same format",
            )  # fmt: skip
        return tier

    def _form(self, snapshot: Snapshot, columns: Sequence[Column], tier: ColdTier) -> FileForm:
        metadata = snapshot.metadata
        prefix = prefix_of(columns, metadata.clock, tier)
        stored = stored_columns(columns, metadata.clock, prefix)
        by_index = {column.writer_index: column for column in stored}
        filters = Selection(tuple(self._options.bloom_filters)).of(snapshot).columns
        if filters and self._format != "parquet":
            raise DatasetError(
                "only Parquet files have Bloom filters", where="bloom_filters", found=self._format,
                hint="add the index type BloomFilter to the indexes of the export",
            )  # fmt: skip
        names = [by_index[column.writer_index].name for column in filters]
        blooms = {f"parquet.bloom.filter.enabled#{name}": "true" for name in names}
        options = {**self._options.writer, **blooms, "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
        timestamp = by_index[designated(metadata).writer_index]
        return FileForm(self._format, prefix, options, stored, timestamp)

    def _copied(
        self, snapshot: Snapshot, columns: Sequence[Column], plan: ExportPlan, form: FileForm
    ) -> tuple[ColdPartition, ...]:
        """Write the partitions of a plan, and return them as they are in the files."""
        clock, token = snapshot.metadata.clock, form.options["mapreduce.output.basename"]
        table = self._session.read.format("questdb").load(str(self._place.control))
        with active_session(self._session):
            rows = rows_in(table, designated(snapshot.metadata), [*runs(plan.copied)])
            write(rows, columns, clock, self._to, form)
        files = {p.start: self._files(folder_of(clock, p.start, form.prefix), token) for p in plan.copied}
        paths = [f"{self._records.root}/{file.path}" for of in files.values() for file in of]
        with active_session(self._session):
            found = read_back(self._session, paths, clock, form) if paths else {}
        return tuple(self._exported(snapshot, p, files[p.start], found) for p in plan.copied)

    def _exported(
        self, snapshot: Snapshot, hot: HotPartition, files: tuple[ColdFile, ...], found: Mapping[str, FileRows]
    ) -> ColdPartition:
        rows = [found[file.path] for file in files if file.path in found]
        times = some(time for of in rows for time in of.times)
        samples = samples_of(self._place, snapshot.metadata.columns, times)
        return ColdPartition(hot.start, hot.end, sum(of.rows for of in rows), hot.key, samples, 0, files)

    def _files(self, folder: str, token: str) -> tuple[ColdFile, ...]:
        entries = sorted(self._records.files(folder), key=lambda entry: entry.name)
        return tuple(ColdFile(f"{folder}/{e.name}", e.size, e.modified) for e in entries if e.name.startswith(token))

    def _unchanged(self, snapshot: Snapshot, exported: Sequence[ColdPartition]) -> tuple[ColdPartition, ...]:
        """Return the partitions that no server has changed meanwhile, and remove the files of the others."""
        later = read_snapshot(self._place)
        now = hot_partitions(later, {partition.start for partition in exported})
        has_columns = {*layout_of(snapshot.metadata.columns)} <= {*layout_of(later.metadata.columns)}
        same = tuple(p for p in exported if has_columns and p.start in now and now[p.start].key == p.key)
        for partition in same:
            if partition.rows != now[partition.start].rows:
                raise TableDamagedError(
                    "exported files do not have the rows of their partition", where=self._records.root,
                    found=f"{partition.rows:,} rows", expected=f"{now[partition.start].rows:,}",
                )  # fmt: skip
        self._records.remove(sorted(_paths(exported) - _paths(same)))
        return same

    def _index(self, indexes: Sequence[Index], exported: Sequence[ColdPartition]) -> None:
        """Add the new files to the index of the cold tier, which the first export with indexes creates."""
        if not exported:
            return
        index = SkippingIndex.for_path(self._session, self._to, format=self._format)
        if index.exists():
            index.refresh(progress=False)
        elif indexes:
            index.create(indexes, progress=False)

    def _commit(
        self, tier: ColdTier, plan: ExportPlan, exported: Sequence[ColdPartition], layout: tuple[ColdColumn, ...]
    ) -> None:
        copied = {partition.start for partition in exported}
        kept = [*plan.kept, *(partition for partition in plan.replaced if partition.start not in copied)]
        layouts = tier.layouts if layout in tier.layouts or not exported else (*tier.layouts, layout)
        placed = [replace(partition, layout=layouts.index(layout)) for partition in exported]
        now = int(time.time() * 1000)
        unread = [file for file in tier.replaced if file.at < now - _UNREAD_MS]
        # queries that began before can still read these files
        stale = [Replaced(path, now) for path in sorted(_paths(p for p in plan.replaced if p.start in copied))]
        partitions = tuple(sorted([*kept, *placed], key=lambda partition: partition.start))
        replaced = (*(file for file in tier.replaced if file not in unread), *stale)
        self._records.commit(
            replace(tier, number=tier.number + 1, layouts=layouts, partitions=partitions, replaced=replaced)
        )
        with suppress(StorageError):  # the export is committed
            self._records.remove([file.path for file in unread])

    def _result(self, plan: ExportPlan, exported: Sequence[ColdPartition], seconds: float) -> ExportResult:
        snapshot = read_snapshot(self._place)  # rows can have come since the partitions were copied
        clock = snapshot.metadata.clock
        copied = {partition.start for partition in exported}
        files = [file for partition in exported for file in partition.files]
        hot = hot_partitions(snapshot, {partition.start for partition in (*plan.kept, *exported)})
        present = [p.start for p in (*plan.kept, *exported) if p.start in hot and hot[p.start].key == p.key]
        return ExportResult(
            tuple(clock.folder(start, -1) for start in sorted(copied)),
            sum(partition.rows for partition in exported), len(files), sum(file.size for file in files), seconds,
            tuple(clock.folder(p.start, -1) for p in plan.copied if p.start not in copied),
            _drop_statement(self._place, [clock.folder(start, -1) for start in sorted({*present})]),
        )  # fmt: skip


def _demand_outside(place: TablePlace, root: str) -> None:
    """Check that the folder of a cold tier is not one into which only a server may write [QDB-SP-7]."""
    data = place.data.resolve()
    server = data.parent if data.parent.name == "db" else data
    if root.startswith("file:") and local_path(root).resolve().is_relative_to(server):
        raise DatasetError(
            "a cold tier cannot be in the folder of a table or of a database", where=root,
            expected=f"a folder that is not in {server}",
        )  # fmt: skip


def _all_columns(snapshot: Snapshot) -> list[Column]:
    """Return the columns of a table, all of which must have known types."""
    known = known_columns(snapshot)
    if len(known) < len(snapshot.metadata.columns):
        names = sorted({column.name for column in snapshot.metadata.columns} - {column.name for column in known})
        raise UnsupportedTypeError(
            "a table has columns of types that this release does not know, and an export would lose them",
            where=str(snapshot.place.data), found=", ".join(names), hint="use a newer release of xskip",
        )  # fmt: skip
    return known


def _paths(partitions: Iterable[ColdPartition]) -> frozenset[str]:
    return frozenset(file.path for partition in partitions for file in partition.files)


def _drop_statement(place: TablePlace, partitions: Sequence[str]) -> str:
    if not partitions:
        return ""
    names = {entry.folder: entry.name for entry in Database(place.data.parent).tables(system=True)}
    name = names.get(place.data, place.data.name.split("~")[0])
    listed = ", ".join(f"'{partition}'" for partition in partitions)
    return f'ALTER TABLE "{name}" DROP PARTITION LIST {listed};'
