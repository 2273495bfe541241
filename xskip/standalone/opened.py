"""An index that is open for reading without Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Mask
from xskip.data_systems import DATA_SYSTEMS, DataSystem, system_of
from xskip.errors import (
    ArgumentError,
    DatasetError,
    MetadataNotFoundError,
    PredicateError,
    SettingError,
    or_none,
    shown,
)
from xskip.hints import Call, Words
from xskip.metadata.data_files import DataFiles, compare_files, join_ids
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.reader_settings import ZONE
from xskip.metadatastore.commit_records import COMMITS
from xskip.metadatastore.location import IndexLocation, metadata_directory
from xskip.metadatastore.missing_index import no_index
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.metadatastore.time_zones import FORMATS
from xskip.paths import check_path
from xskip.results.file_list import FileList
from xskip.results.scan_source import ScanSource
from xskip.standalone.columns import Columns
from xskip.standalone.layout import dataset_schema, partitions_of, spark_schema
from xskip.standalone.selection import Predicate, StandaloneSelection, Unused
from xskip.standalone.store import Store, list_data

if TYPE_CHECKING:
    import pyarrow.dataset
    from pyarrow.fs import FileSystem

__all__ = ["OpenedIndex", "open_index"]

#: The formats whose values other engines read as Spark does.
_SUPPORTED = ("parquet", "avro")


@dataclass(frozen=True, slots=True)
class OpenedIndex:
    """An index that is open for reading without Spark.

    Attributes
    ----------
    store : Store
        The store of the dataset.
    location : IndexLocation
        The location of the index.
    time_zone : str or None
        The time zone of timestamps without an offset in predicates; None if the zone is not known.
    """

    store: Store = field(repr=False)
    location: IndexLocation
    time_zone: str | None = None

    @property
    def snapshot(self) -> Snapshot:
        """Return the present state of the index.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        """
        snapshot = open_snapshot(self.store.storage, self.location.directory)
        if snapshot is None:
            if self.store.filesystem is None and not os.path.isdir(self.store.root):
                raise MetadataNotFoundError("there is no such directory", where=self.store.root, hint="check the path")
            raise no_index(self.store.storage, self.location)
        return snapshot

    def files(self, predicate: str | pyarrow.dataset.Expression) -> FileList:
        """Return the files of the dataset that can hold a row for which a predicate is TRUE.

        Parameters
        ----------
        predicate : str or pyarrow.dataset.Expression
            A predicate in SQL, or an expression of pyarrow. The method understands comparisons of columns with literals
            and with each other, ``IN``, ``BETWEEN``, ``IS NULL``, ``LIKE 'x%'``, ``AND``, ``OR`` and ``NOT``, and what
            pyarrow has for them.

        Returns
        -------
        FileList
            The files, and the parts of the predicate that the index could not use. Such parts keep files.

        Raises
        ------
        PredicateError
            If the predicate is neither a text nor an expression, is no SQL, or names a column that does not exist.
        MetadataNotFoundError
            If there is no index.
        MetadataCorruptError, MetadataVersionError, KeyNotAvailableError
            If the index cannot be read.
        StorageError
            If the storage refuses to list or to read.
        DatasetError
            If the dataset is no directory.
        """
        _check_predicate(predicate)
        wanted = Predicate.of(predicate)
        snapshot = self.snapshot
        listed = list_data(self.store)
        fmt = snapshot.record.read_profile.format if snapshot.record and snapshot.record.read_profile else ""
        columns = Columns(self.store, fmt, listed, snapshot)
        wanted.check(columns)
        profile = _profile(snapshot, fmt)
        problem = _problem(snapshot, self.location, profile)
        skip: Mask = np.zeros(snapshot.rows, np.bool_)
        unused: Unused = ()
        if not problem:
            skip, unused = StandaloneSelection(columns, profile, self.time_zone).skipped(wanted)
        return self._kept(snapshot, listed, skip, (fmt, unused, problem))

    def _kept(self, snapshot: Snapshot, listed: DataFiles, skip: Mask, found: tuple[str, Unused, str]) -> FileList:
        fmt, unused, problem = found
        known = snapshot.load(snapshot.partition_keys)
        fresh, _ = compare_files(listed, known.files)
        keep = np.zeros(len(listed), np.bool_)
        keep[fresh] = True
        needed = known.files.take(pa.array(np.flatnonzero(~skip)))
        ids = join_ids(needed.names, needed.modified)
        keep |= pc.is_in(join_ids(listed.names, listed.modified), ids).to_numpy(zero_copy_only=False)
        kept = listed.take(pa.array(np.flatnonzero(keep)))
        source = ScanSource(
            self.store.root,
            fmt,
            partial(dataset_schema, self.store, fmt, listed, snapshot),
            partitions_of(kept, known, self.store.path),
            self.store.filesystem,
            self.store.prefix,
            spark_schema=partial(spark_schema, self.store, fmt, listed, snapshot),
        )
        reasons = tuple((text, str(reason)) for text, reason in unused)
        return FileList(kept, len(listed), listed.total_bytes, source, reasons, problem)


def open_index(
    path: str | os.PathLike[str],
    *,
    location: str | None = None,
    time_zone: str | None = None,
    filesystem: FileSystem | None = None,
) -> OpenedIndex:
    """Open the index of a dataset for reading without Spark.

    Parameters
    ----------
    path : str or os.PathLike
        The dataset's root directory.
    location : str, optional
        The base location of the indexes, as in ``spark.xskip.metadata.location``; None means inside the dataset.
    time_zone : str, optional
        The time zone of timestamps without an offset in predicates, such as ``Europe/Oslo``. None selects files for
        every time zone.
    filesystem : pyarrow.fs.FileSystem, optional
        The file system of the dataset; None finds the file system by the path.

    Returns
    -------
    OpenedIndex
        The index, whose method ``files`` selects files.

    Raises
    ------
    ArgumentError
        If an argument has another type than documented.
    MetadataNotFoundError
        If there is no index, or no such directory.
    SettingError
        If the time zone is not known.
    DatasetError
        If the dataset consists of pieces that are no files.

    Examples
    --------
    >>> opened = xskip.open_index(indexed_path, location=spark.conf.get("spark.xskip.metadata.location"))
    >>> opened.files("temp > 30 AND city IN ('cairo', 'oslo')").names
    ['/.../cairo.parquet']
    """
    if time_zone is not None:
        try:
            ZoneInfo(time_zone)
        except (TypeError, KeyError, ValueError, OSError) as error:
            raise SettingError(
                "the time zone is not known", where="time_zone", found=str(time_zone), expected="such as Europe/Oslo"
            ) from error
    location = None if location is None else check_path(location, "location")
    if filesystem is not None and not hasattr(filesystem, "get_file_info"):
        raise ArgumentError(
            "filesystem has an invalid value", found=shown(filesystem), expected=or_none("a pyarrow.fs.FileSystem")
        )
    store = Store.of(path, filesystem)
    opened = OpenedIndex(*_found(store, location), time_zone)
    try:
        record = opened.snapshot.record
    except MetadataNotFoundError as error:
        names = {entry.name for entry in store.storage.list(store.root)}
        for each in DATA_SYSTEMS:
            if each.marker and each.marker in names:
                raise _dataset_of_pieces(store, each) from error
        raise
    system = system_of(record.read_profile.format) if record and record.read_profile else None
    if system and not system.has_files:
        raise _dataset_of_pieces(store, system)
    return opened


def _found(store: Store, base: str | None) -> tuple[Store, IndexLocation]:
    """Return the store and the location of an index: of the path without symbolic links, or of the path with them."""
    resolved = os.path.realpath(store.root) if store.filesystem is None else store.root
    stores = [replace(store, root=root) for root in dict.fromkeys((resolved, store.root))]
    places = [(each, IndexLocation(each.root, metadata_directory(each.root, base), each.path)) for each in stores]
    if len(places) == 1:
        return places[0]
    storage = store.storage
    held = (f for f in places if storage.list(f[1].directory) or storage.list(f"{f[1].directory}/{COMMITS}"))
    return next(held, places[0])


def _dataset_of_pieces(store: Store, system: DataSystem) -> DatasetError:
    return DatasetError(
        f"only Spark uses an index of {system.dataset}, whose pieces are no files",
        where=store.root,
        hint=system.alternative,
    )


def _check_predicate(predicate: object) -> None:
    from pyarrow.dataset import Expression

    if not isinstance(predicate, (str, Expression)):
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
    if profile.format not in _SUPPORTED:
        return f"other engines read files of the format {profile.format} in other ways than Spark"
    return snapshot.reason_unusable(location, profile)
