"""An index that is open for reading without Spark."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from xskip.data_systems import DATA_SYSTEMS, DataSystem, system_of
from xskip.errors import (
    ArgumentError,
    DatasetError,
    MetadataNotFoundError,
    SettingError,
    or_none,
    shown,
)
from xskip.metadata.read_profile import ReadProfile
from xskip.metadatastore.commit_records import COMMITS
from xskip.metadatastore.location import IndexLocation, metadata_directory
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.paths import check_path
from xskip.standalone.store import Store, list_data

if TYPE_CHECKING:
    import pyarrow.dataset
    from pyarrow.fs import FileSystem

    from xskip.results.advice import AdviceList
    from xskip.results.file_list import FileList
    from xskip.results.history import History
    from xskip.results.index_status import IndexDescription, IndexStatus
    from xskip.results.index_usage import DatasetUsage
    from xskip.standalone.file_choice import FileChoice

__all__ = ["OpenedIndex", "open_index"]


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
            from xskip.metadatastore.missing_index import no_index  # each operation imports what only it needs

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
        return self.choose_files(predicate).files

    def choose_files(self, predicate: str | pyarrow.dataset.Expression) -> FileChoice:
        """Return the files of :meth:`files`, and whether a query in Spark can read fewer [STA-SK-3]."""
        from xskip.standalone.file_choice import FileChoice

        return FileChoice.of(self.store, self.location, self.snapshot, predicate, self.time_zone)

    def history(self) -> History:
        """Return the commits of the index, as :meth:`xskip.SkippingIndex.history`.

        Returns
        -------
        History
            The commits, which print as a table and show as HTML in notebooks.

        Raises
        ------
        MetadataNotFoundError
            If there is no index, or if only other programs have written it.
        """
        from xskip.metadatastore.maintenance.history import history

        return history(self.store.storage, self.location)

    def describe(self, *, history: str | os.PathLike[str] | None = None, days: int | None = None) -> IndexDescription:
        """Return the description of the index, as :meth:`xskip.SkippingIndex.describe`.

        Parameters
        ----------
        history : str or os.PathLike, optional
            The directory of the query history. None is none, and the description is without the use by queries.
        days : int, optional
            Count the scans of all drivers in this number of last days, 30 by default, from the query history. Without
            ``history`` and ``days``, no scans count.

        Returns
        -------
        IndexDescription
            The description, which prints as text, shows as HTML in notebooks and converts to an Arrow table.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        """
        from xskip.inspection.description import describe

        snapshot = self.snapshot
        return describe(snapshot, self.store.storage, self.location, self._usage(snapshot, history, days))

    def status(self) -> IndexStatus:
        """Return the state of the index in comparison with the present files of the dataset.

        Returns
        -------
        IndexStatus
            The numbers of indexed, missing and stale files, and the reason why queries in Spark with its default
            settings do not use the index, if any.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        StorageError, DatasetError
            As :meth:`files`.
        """
        from xskip.inspection.file_comparison import compare_with_files

        snapshot = self.snapshot
        recorded = snapshot.read_profile
        profile = ReadProfile.of(recorded.format if recorded else "parquet", {}, {})
        return compare_with_files(snapshot, list_data(self.store), snapshot.reason_unusable(self.location, profile))

    def advise(self, *, history: str | os.PathLike[str] | None = None, days: int | None = None) -> AdviceList:
        """Return advice on the indexes, as :meth:`xskip.SkippingIndex.advise` without a trial. Only Spark applies it.

        Literals in expressions of recorded queries are not shown, because only a session says whether they may be.

        Parameters
        ----------
        history : str or os.PathLike, optional
            The directory of the query history. None is none, and the advice is by statistics alone.
        days : int, optional
            Count the scans of all drivers in this number of last days, 30 by default, from the query history. Without
            ``history`` and ``days``, no scans count.

        Returns
        -------
        AdviceList
            One sentence with its evidence for each piece of advice.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        """
        from xskip.inspection.advise import advise

        snapshot = self.snapshot
        return advise(snapshot, self.location.root, self._usage(snapshot, history, days).without_values())

    def _usage(self, snapshot: Snapshot, location: str | os.PathLike[str] | None, days: int | None) -> DatasetUsage:
        """Return how the queries of a history have used the index; nothing without a history."""
        from xskip.results.index_usage import DatasetUsage

        if location is None and days is None:
            return DatasetUsage()
        from xskip.standalone.query_history import history_without_spark, usage_in_history

        history = history_without_spark(location, self.store.filesystem if "://" in str(location) else None)
        return usage_in_history(history, self.location.root, snapshot, days)


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
        from zoneinfo import ZoneInfo

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
