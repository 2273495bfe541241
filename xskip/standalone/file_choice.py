"""The files of a dataset that a predicate needs, chosen without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import PredicateError
from xskip.hints import Call, Words
from xskip.metadata.data_files import compare_files, join_ids
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.reader_settings import ZONE
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.time_zones import FORMATS
from xskip.results.file_list import FileList
from xskip.results.scan_source import ScanSource
from xskip.standalone.columns import Columns
from xskip.standalone.layout import dataset_schema, partitions_of, spark_schema
from xskip.standalone.selection import Predicate, Pruned, SqlPredicate, StandaloneSelection
from xskip.standalone.spark_reading import KNOWN_FORMATS, problem_in_spark
from xskip.standalone.store import Store, list_data

__all__ = ["FileChoice"]


@dataclass(frozen=True, slots=True)
class FileChoice:
    """The files that a predicate needs."""

    files: FileList
    #: Whether a query in Spark can rule out more files of the index by the predicate [STA-SK-3].
    is_looser: bool
    #: Whether there are files without metadata, which Spark can rule out by partition values [STA-SK-3].
    has_new_files: bool

    @staticmethod
    def of(
        store: Store,
        location: IndexLocation,
        snapshot: Snapshot,
        predicate: str | pc.Expression,
        time_zone: str | None,
    ) -> FileChoice:
        """Choose the files; ``time_zone`` as in :func:`~xskip.standalone.opened.open_index`."""
        wanted = _predicate(predicate)
        listed = list_data(store)
        fmt = snapshot.record.read_profile.format if snapshot.record and snapshot.record.read_profile else ""
        columns = Columns(store, fmt, listed, snapshot)
        wanted.check(columns)
        profile = _profile(snapshot, fmt)
        problem = _problem(snapshot, location, profile)
        selection = StandaloneSelection(columns, profile, time_zone)
        pruned, is_exact = Pruned(np.zeros(snapshot.rows, np.bool_), ()), False
        if not problem:
            pruned = wanted.skipped(selection)
            is_exact = not pruned.unused and wanted.is_exact(selection) and problem_in_spark(snapshot, location) == ""
        fresh, _ = compare_files(listed, snapshot.load(()).files)
        # Spark rules out files that the index does not know by partition values, and by filters that are never TRUE
        return FileChoice(_kept(selection, pruned, problem), not is_exact, len(fresh) > 0)


def _kept(selection: StandaloneSelection, pruned: Pruned, problem: str) -> FileList:
    columns = selection.columns
    store, fmt, listed, snapshot = columns.store, columns.format, columns.listed, columns.snapshot
    known = snapshot.load(snapshot.partition_keys)
    fresh, _ = compare_files(listed, known.files)
    keep = np.zeros(len(listed), np.bool_)
    keep[fresh] = True
    needed = known.files.take(pa.array(np.flatnonzero(~pruned.skip)))
    ids = join_ids(needed.names, needed.modified)
    keep |= pc.is_in(join_ids(listed.names, listed.modified), ids).to_numpy(zero_copy_only=False)
    kept = listed.take(pa.array(np.flatnonzero(keep)))
    source = ScanSource(
        store.root,
        fmt,
        partial(dataset_schema, store, fmt, listed, snapshot),
        partitions_of(kept, known, store.path),
        store.filesystem,
        store.prefix,
        spark_schema=partial(spark_schema, store, fmt, listed, snapshot),
    )
    reasons = tuple((text, str(reason)) for text, reason in pruned.unused)
    ranges = selection.ranges(pruned, kept)
    return FileList(kept, len(listed), listed.total_bytes, source, reasons, problem, ranges)


def _predicate(predicate: object) -> Predicate:
    if isinstance(predicate, str):
        return SqlPredicate.of(predicate)
    if isinstance(predicate, pc.Expression):
        from xskip.standalone.arrow_predicate import ArrowPredicate  # no command takes expressions

        return ArrowPredicate.of(predicate)
    raise PredicateError(
        "the predicate is neither SQL nor an expression", found=f"an object of type {type(predicate).__name__}",
        expected="such as 'temp > 30' or pyarrow.dataset.field('temp') > 30",
    )  # fmt: skip


def _profile(snapshot: Snapshot, fmt: str) -> ReadProfile:
    """Return how other engines read the files: as Spark does without options and with its default settings."""
    recorded = snapshot.read_profile
    profile = ReadProfile.of(fmt, {}, {})
    conf: Mapping[str, str] = profile.conf
    if recorded is not None:
        case = "spark.sql.caseSensitive"
        conf = {**conf, **({case: recorded.conf[case]} if case in recorded.conf else {})}
        if fmt in FORMATS or ZONE in recorded.conf:
            conf = {**conf, ZONE: "unknown"}  # the time zone in which an engine reads old times is not known
    return replace(profile, conf=conf)


def _problem(snapshot: Snapshot, location: IndexLocation, profile: ReadProfile) -> str:
    """Return why the index proves nothing about the values that other engines read, or an empty string."""
    if not snapshot.is_ours:
        return Words("another program wrote metadata of the index; {} in Spark", Call("refresh"))
    if profile.format not in KNOWN_FORMATS:
        return f"other engines read files of the format {profile.format} in other ways than Spark"
    return snapshot.reason_unusable(location, profile)
