"""The index of a dataset, which is the main class of the public API."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from xskip.api.arguments import (
    check_build,
    check_choice,
    check_flag,
    check_indexes,
    check_options,
    check_schema,
    check_text,
    check_texts,
    check_version,
    part_bytes_of,
)
from xskip.api.file_selection import select_files
from xskip.api.index_choices import Revision, choose_indexes, log_choice
from xskip.api.inspect import IndexInspection
from xskip.errors import ArgumentError, IndexExistsError, RecordDamagedError, shown
from xskip.hints import Call, Method, Words
from xskip.indexes import Index
from xskip.indexing.build_plan import plan
from xskip.indexing.builder import OnError
from xskip.indexing.commit_attempts import Collected
from xskip.indexing.indexed_listing import IndexedListing
from xskip.indexing.progress import ProgressOption
from xskip.indexing.reader import PathReader, TableReader
from xskip.indexing.reconciliation import Reconciliation
from xskip.indexing.refresh import Refresh, trusted
from xskip.indexing.source import Source
from xskip.indexing.update import Update
from xskip.metadatastore.commit import find_live
from xskip.metadatastore.commit_records import is_of_writes
from xskip.metadatastore.versions import CURRENT_VERSION
from xskip.paths import check_path
from xskip.results.file_list import FileList
from xskip.results.operations import EnsureResult, RefreshResult
from xskip.settings import is_absolute
from xskip.spark.bridge.sessions import check_session
from xskip.spark.query.spark_engine import engine_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["SkippingIndex"]


@dataclass(frozen=True, slots=True)
class SkippingIndex(IndexInspection):
    """The index of one dataset, which need not exist yet.

    Create an instance with :meth:`for_path` or :meth:`for_table`. An operation raises
    :class:`~xskip.errors.DatasetError` if Spark cannot read the dataset.

    Attributes
    ----------
    name : str
        The path or table, as the user gave it.

    Examples
    --------
    Build an index of three Parquet files, one for each city, and list the files that a query must read.

    >>> index = xskip.SkippingIndex.for_path(spark, path)
    >>> index.create([xskip.MinMax("temp"), xskip.ValueList("city")]).added
    3
    >>> index.files("temp > 30").names
    ['/.../cairo.parquet']
    >>> index.status().up_to_date
    True
    """

    @staticmethod
    def for_path(
        spark: SparkSession,
        path: str | os.PathLike[str],
        *,
        format: str = "parquet",  # noqa: A002 - Spark's own word
        options: Mapping[str, str] | None = None,
        schema: StructType | str | None = None,
    ) -> SkippingIndex:
        """Return the index of the files under a path, which Spark reads as ``spark.read`` does with the same arguments.

        Parameters
        ----------
        spark : SparkSession
            The session that reads the files.
        path : str or os.PathLike
            The dataset's root directory.
        format : str
            ``parquet``, ``avro``, ``orc``, ``csv`` or ``json``.
        options : mapping of str to str, optional
            Reader options; None means no options. A query does not use the index if its options differ in a way that
            may change values.
        schema : StructType or str, optional
            The schema of the files; None lets Spark infer the schema.

        Returns
        -------
        SkippingIndex
            The index, which need not exist yet.

        Raises
        ------
        ArgumentError
            If an argument has another type than documented, or if the session was stopped.
        """
        check_session(spark)
        name = check_path(path)
        check_text("format", format)
        check_options({} if options is None else options)
        check_schema(schema)
        return SkippingIndex(name, spark, PathReader(name, format, options or {}, schema))

    @staticmethod
    def for_table(spark: SparkSession, table: str) -> SkippingIndex:
        """Return the index of a table's files.

        Queries on the table and on its path use the index. If a property of the table or of its database sets the
        location of the metadata, only queries on the table use the index.

        Parameters
        ----------
        spark : SparkSession
            The session that reads the table.
        table : str
            The name of the table in Spark's catalog.

        Returns
        -------
        SkippingIndex
            The index, which need not exist yet.

        Raises
        ------
        ArgumentError
            If the name is not a text, or if the session is not a session or was stopped.
        """
        check_session(spark)
        check_text("table", table)
        return SkippingIndex(table, spark, TableReader(table))

    def at(self, location: str | os.PathLike[str] | None) -> SkippingIndex:
        """Return the index of the same dataset in a directory of its own.

        Only operations on the returned instance use the directory. This instance stays as it is, and so do the queries
        of all sessions. Queries find the directory by the setting ``spark.xskip.metadata.places`` of their session, or
        by the property ``io.xskipper.parquet.mdlocation`` of a table; :meth:`status` says if those of this session do
        not.

        Parameters
        ----------
        location : str, os.PathLike or None
            The directory, an absolute path. None returns the index in the directory that the settings and the
            properties of tables determine.

        Returns
        -------
        SkippingIndex
            Another instance.

        Raises
        ------
        ArgumentError
            If the location is not an absolute path.

        Examples
        --------
        >>> index = xskip.SkippingIndex.for_path(spark, path)
        >>> elsewhere = index.at(f"{path}-index")
        >>> elsewhere.create([xskip.MinMax("temp")]).added, elsewhere.exists(), index.exists()
        (3, True, False)
        >>> spark.conf.set("spark.xskip.metadata.places", f"{path}={path}-index")
        >>> index.exists(), elsewhere.at(None).exists(), elsewhere.drop().metadata_files
        (True, True, 1)
        """
        place = "" if location is None else check_path(location, "location", expected="a path such as '/md/events'")
        if place and not is_absolute(place):
            raise ArgumentError(
                "the location is not an absolute path", found=shown(location), expected="a path such as '/md/events'",
                hint="a relative path is another directory in each process",
            )  # fmt: skip
        return replace(self, _reader=replace(self._reader, place=place))

    def create(
        self,
        indexes: Sequence[Index] | None = None,
        *,
        progress: ProgressOption = None,
        on_error: OnError = "raise",
        version: int = CURRENT_VERSION,
        parts: str | int | None = "auto",
    ) -> RefreshResult:
        """Build the index and commit it.

        Parameters
        ----------
        indexes : sequence of Index, optional
            Such as ``[MinMax("ts"), ValueList("city")]``. None chooses them, as :meth:`choose` does.
        progress : bool or callable, optional
            True shows a progress bar on stderr, or a widget in notebooks with the package ipywidgets. A function
            receives a :class:`~xskip.results.operations.Progress` after each job. None shows the bar in terminals and
            notebooks; elsewhere, such as in Airflow, it writes a line to the log ``xskip.builds`` every 30 seconds, at
            the level INFO. False shows nothing.
        on_error : {"raise", "skip"}
            Whether a file that cannot be read stops the build, or stays without metadata.
        version : int
            The version of the metadata format, for other programs that read only older versions. Partition columns need
            version 4.
        parts : str, int, optional
            The size of the parts of large Avro and Parquet files that get statistics of their own, as text such as
            ``"8MB"`` or in bytes, so that queries read only the parts that can match. ``"auto"`` divides files from
            32 MB on into parts of some 4 MB. The parts of Parquet are row groups: small ones are joined, and none is
            divided. None divides no file.

        Returns
        -------
        RefreshResult
            The number of indexed files, the duration, and the files that could not be read.

        Raises
        ------
        ArgumentError
            If an argument has another type than documented, or is none of the choices.
        SettingError
            If a setting of xskip is unknown or has an invalid value.
        IndexExistsError
            If the dataset already has an index, unless only writes have made it, such as an overwrite of a dataset with
            an index. Then the call is :meth:`ensure`.
        MetadataVersionError
            If the version does not exist.
        IndexDefinitionError, UnsupportedTypeError
            If an index definition is invalid for the dataset or for the type of its column.
        KeyNotAvailableError
            If an index has a key and the footer of the metadata has none, or the reverse.
        CollectError
            If a file cannot be read. The dataset then has no index, as before the call.
        """
        started = time.monotonic()
        wanted = None if indexes is None else check_indexes(indexes)
        check_build(progress, on_error)
        check_version(version)
        part_bytes = part_bytes_of(parts)
        engine, source = self._open()
        planned = None if wanted is None else plan(source, wanted)
        # create() replaces an index with a damaged record, but only a list tells what such an index had
        with suppress(*(RecordDamagedError,) if planned is not None else ()):
            if self._is_made_by_writes(source, version):
                return self.ensure(wanted, progress=progress, on_error=on_error, parts=parts).refreshed
        choice = choose_indexes(engine, source) if planned is None else None
        with Collected() as collected:
            update = Update(engine, self._spark, self._reader, progress, on_error, collected)
            chosen = planned if choice is None else plan(source, choice.indexes)
            result = update.new_build(source, chosen or (), version, part_bytes).run(None)
        if choice is not None:
            log_choice(choice)
        return replace(result, seconds=time.monotonic() - started, choice=choice)

    def _is_made_by_writes(self, source: Source, version: int) -> bool:
        """Return whether only writes have made the index of a dataset; raise an error for another index."""
        live = find_live(source.storage, source.directory)
        if live is None:
            return False
        latest = live.latest
        has_version = latest is not None and latest.record.version == version
        if latest is not None and has_version and is_of_writes(source.storage, source.directory, latest):
            return True
        raise IndexExistsError(
            "the dataset already has an index", where=source.directory,
            hint=Words(
                "{} to bring it up to date, {} to add to it, or {} before {}",
                Call("refresh"), Method("add", "[...]"), Method("drop"), Method("create"),
            ),
        )  # fmt: skip

    def ensure(
        self,
        indexes: Sequence[Index] | None = None,
        *,
        progress: ProgressOption = None,
        on_error: OnError = "raise",
        dry_run: bool = False,
        parts: str | int | None = "auto",
    ) -> EnsureResult:
        """Create, change or refresh the index until the dataset has exactly these indexes, with all its files.

        Call it after each load: the result is the same however often it runs, and from however many schedulers. If the
        dataset has the indexes already and no file has changed, the call commits nothing. Otherwise all changes are one
        commit, so queries always find an index: missing indexes, and indexes with other parameters, are collected for
        all files; indexes that are not in the list are removed; all others are collected for new and changed files
        only. An existing index keeps its version of the metadata format, see :meth:`migrate`. A dataset that was moved
        with its index keeps the statistics, see :meth:`adopt`.

        Parameters
        ----------
        indexes : sequence of Index, optional
            Such as ``[MinMax("ts"), ValueList("city")]``. None keeps the indexes that the dataset has; for a dataset
            without an index, it chooses them, as :meth:`choose` does.
        progress : bool or callable, optional
            See :meth:`create`.
        on_error : {"raise", "skip"}
            See :meth:`create`.
        dry_run : bool
            Whether to return what the call would do without doing it.
        parts : str, int, optional
            See :meth:`create`. ``"auto"`` leaves the parts of an existing index as they are; another size than that of
            the index reads all files again.

        Returns
        -------
        EnsureResult
            The indexes that were added, replaced and removed, and the numbers of added, removed and unchanged files.

        Raises
        ------
        ArgumentError
            If an argument has another type than documented, or is none of the choices.
        SettingError
            If a setting of xskip is unknown or has an invalid value.
        IndexDefinitionError, UnsupportedTypeError
            If an index definition is invalid for the dataset, or if the dataset is read in another way than when the
            index was built.
        KeyNotAvailableError
            If the key of an index is not available; nothing has changed.
        CollectError
            If a file cannot be read; nothing has changed.
        CommitConflictError
            If other writers committed first in every attempt; nothing has changed.

        Examples
        --------
        >>> index = xskip.SkippingIndex.for_path(spark, path)
        >>> index.ensure([xskip.MinMax("temp")]).created
        True
        >>> result = index.ensure([xskip.MinMax("temp"), xskip.ValueList("city")])
        >>> result.indexes_added, result.unchanged
        (('valuelist(city)',), 3)
        >>> index.ensure([xskip.MinMax("temp"), xskip.ValueList("city")]).changed
        False
        """
        started = time.monotonic()
        wanted = None if indexes is None else check_indexes(indexes)
        check_build(progress, on_error)
        check_flag("dry_run", dry_run)
        part_bytes, engine = part_bytes_of(parts), self._check_settings()
        update = Reconciliation(
            engine, self._spark, self._reader, progress, on_error, indexes=wanted, part_bytes=part_bytes,
            dry_run=dry_run, choose=partial(choose_indexes, engine),
        )  # fmt: skip
        result = update.run()
        if result.choice is not None and not dry_run:
            log_choice(result.choice)
        return replace(result, seconds=time.monotonic() - started)

    def refresh(
        self,
        *,
        progress: ProgressOption = None,
        on_error: OnError = "raise",
        trust_listing: bool = False,
        recheck: Sequence[str] = (),
        auto: Literal["revise"] | None = None,
    ) -> RefreshResult:
        """Add new and changed files to the index, and remove deleted files from it.

        If nothing has changed, no Spark job runs. The index keeps its version of the metadata format, see
        :meth:`migrate`. If another program wrote the metadata, the build reads all data files. On a local disk, Spark
        lists only the directories of Parquet and Avro datasets in which a file has changed.

        Parameters
        ----------
        progress : bool or callable, optional
            See :meth:`create`.
        on_error : {"raise", "skip"}
            See :meth:`create`.
        trust_listing : bool
            Whether to list only the directories that :meth:`read` lists with this option. The metadata of all other
            directories stays unchanged until a refresh without this option. A dataset without partitions is listed
            completely.
        recheck : sequence of str
            Further directories to list with ``trust_listing``, see :meth:`read`.
        auto : {"revise"}, optional
            ``"revise"`` chooses the indexes anew after the refresh, as :meth:`choose` does, and adds and removes
            indexes in a second commit. The result says what has changed, and why. Indexes that have ruled out files for
            recorded queries stay, and so do those with a key, with parameters that no choice sets, and on expressions.
            None leaves the indexes as they are.

        Returns
        -------
        RefreshResult
            The numbers of added, removed and unchanged files, the duration, and the files that could not be read.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        IndexDefinitionError
            If the dataset is read in another way than when the index was built.
        IndexDroppedError
            If another program dropped the index meanwhile; nothing has changed.
        CommitConflictError
            If other writers committed first in every attempt; nothing has changed.
        """
        started = time.monotonic()
        check_build(progress, on_error)
        _check_listing(recheck, trust_listing=trust_listing)
        if auto is not None:
            check_choice("auto", auto, ("revise",))
        found = recheck if trust_listing else None
        engine = self._check_settings()
        result = Refresh(engine, self._spark, self._reader, progress, on_error, recheck=found).run()
        result = replace(result, seconds=time.monotonic() - started)
        return Revision(self, progress, on_error).run(result) if auto == "revise" else result

    def read(self, *, trust_listing: bool = False, recheck: Sequence[str] = ()) -> DataFrame:
        """Return the dataset as a DataFrame, like ``spark.read`` or ``spark.table``.

        Parameters
        ----------
        trust_listing : bool
            Whether to take the files from the index, and to list only new partition directories, the last ones and
            those in ``recheck``. This suits datasets that grow by partitions. In all other directories, files that were
            added since the last refresh are missed, and overwritten files can lose rows or fail the query. The last
            directories are, within each parent directory, those with the greatest value of the first partition column
            that is a date or a time; without such a column, of the first partition column.
        recheck : sequence of str
            Further directories to list below the root, such as ``["date=2026-11-20"]``.

        Returns
        -------
        DataFrame
            All rows of the dataset. Filters on the DataFrame skip files.

        Raises
        ------
        MetadataNotFoundError, IndexDefinitionError, DatasetError
            If there is no index that can replace the listing.
        """
        _check_listing(recheck, trust_listing=trust_listing)
        return self._trust(recheck).read(self._spark) if trust_listing else self._reader(self._spark)

    def files(self, predicate: str | Column, *, require_index: bool = True) -> FileList:
        """Return the files that a query with this predicate must read, in any query engine.

        Parameters
        ----------
        predicate : str or Column
            The predicate, as for ``DataFrame.filter``.
        require_index : bool
            Whether a dataset without an index is an error. False returns all its files.

        Returns
        -------
        FileList
            The paths, sizes and modification times of the files, the totals of the dataset, and the parts of the
            predicate that the index could not use. Its methods ``to_pyarrow()``, ``to_polars()``, ``to_duckdb()``,
            ``to_pandas()`` and ``to_spark(spark)`` read the files.

        Raises
        ------
        MetadataNotFoundError
            If there is no index, and one is required.
        PredicateError
            If Spark cannot parse or resolve the predicate.
        """
        check_flag("require_index", require_index)
        options = self._reader.options if isinstance(self._reader, PathReader) else {}
        return select_files(*self._open(), predicate, options, require_index=require_index)

    def _trust(self, recheck: Sequence[str]) -> IndexedListing:
        return trusted(self._spark, engine_of(self._spark), self._reader, recheck)


def _check_listing(recheck: Sequence[str], *, trust_listing: bool) -> None:
    check_flag("trust_listing", trust_listing)
    check_texts("recheck", recheck, "date=2026-11-20")
