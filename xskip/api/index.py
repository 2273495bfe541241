"""The index of a dataset, as users meet it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from xskip.api.inspect import describe, status
from xskip.build.builder import Build, OnError, ProgressOption
from xskip.build.indexed_listing import IndexedListing
from xskip.build.reader import PathReader, Reader, TableReader
from xskip.build.refresh import Refresh, trusted
from xskip.build.retry import Collected, again
from xskip.build.source import (
    Source,
    existing_write_options,
    form_of,
    open_source,
    plan,
    require_own_snapshot,
)
from xskip.errors import (
    IndexExistsError,
    KeyNotAvailableError,
    MetadataCorruptError,
    MetadataNotFoundError,
    MetadataVersionError,
    PredicateError,
    RecordDamagedError,
)
from xskip.indexes import Index
from xskip.metadatastore.commit import find_live
from xskip.metadatastore.maintenance.compact import optimize
from xskip.metadatastore.maintenance.drop import remove_index
from xskip.metadatastore.maintenance.migrate import Migration
from xskip.metadatastore.maintenance.rotate_keys import rotate_keys
from xskip.metadatastore.versions import CURRENT_VERSION, rules_of
from xskip.results.operations import (
    DropResult,
    FileList,
    IndexDescription,
    IndexStatus,
    MigrationResult,
    OptimizeResult,
    RefreshResult,
    RotationResult,
)
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import first_line
from xskip.spark.collect.listing import list_objects
from xskip.spark.collect.relation import selected
from xskip.spark.query.engine import Engine, engine_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["SkippingIndex"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SkippingIndex:
    """The index of one dataset, whether it exists already or not.

    Made by :meth:`for_path` or :meth:`for_table`.

    Attributes
    ----------
    name : str
        The path or table, as given.
    """

    name: str
    _spark: SparkSession = field(repr=False)
    _reader: Reader = field(repr=False)

    @staticmethod
    def for_path(
        spark: SparkSession,
        path: str,
        *,
        format: str = "parquet",  # noqa: A002 - Spark's own word
        options: Mapping[str, str] | None = None,
        schema: StructType | str | None = None,
    ) -> SkippingIndex:
        """The index of the files under a path, read as ``spark.read`` would with these arguments.

        Parameters
        ----------
        spark : SparkSession
        path : str
            The dataset's root directory.
        format : str
            ``parquet``, ``avro``, ``orc``, ``csv`` or ``json``.
        options : mapping, optional
            Reader options. Queries that read with other values of those that matter do not use the index.
        schema : StructType or str, optional
            The schema, where it is not to be inferred.
        """
        return SkippingIndex(path, spark, PathReader(path, format, options or {}, schema))

    @staticmethod
    def for_table(spark: SparkSession, table: str) -> SkippingIndex:
        """The index of a table's files.

        Queries on the table and on its path both use it, unless a property of the table or of its database says where
        the table's metadata is: then only those on the table do.
        """
        return SkippingIndex(table, spark, TableReader(table))

    def at(self, location: str) -> SkippingIndex:
        """The same index, kept in a directory of its own, where queries of this process look from now on.

        Parameters
        ----------
        location : str
            The directory; other processes know of it from a table's property ``io.xskipper.parquet.mdlocation``, or by
            this method.
        """
        engine, source = self._open()
        table = engine.hook.table(self._spark, self.name) if isinstance(self._reader, TableReader) else None
        engine.hook.set_location(table.name if table else source.root, engine.hook.location(location))
        return self

    def create(
        self,
        indexes: Sequence[Index],
        *,
        progress: ProgressOption = None,
        on_error: OnError = "raise",
        version: int = CURRENT_VERSION,
    ) -> RefreshResult:
        """Builds the index.

        Parameters
        ----------
        indexes : sequence of Index
            Such as ``[MinMax("ts"), ValueList("city")]``.
        progress : bool or callable, optional
            A bar on stderr, or a function that is given a :class:`~xskip.results.operations.Progress` after each job;
            by default a bar where stderr is a terminal.
        on_error : {"raise", "skip"}
            What a file that cannot be read does: stop the build, or stay without metadata.
        version : int
            Of the metadata format, for other programs that read no newer one; partition columns came with 4.

        Raises
        ------
        IndexExistsError
            There is one.
        MetadataVersionError
            There is no such version.
        IndexDefinitionError, UnsupportedTypeError
            An index cannot be as asked for.
        CollectError
            A file cannot be read. The dataset is as before.
        """
        rules_of(version)
        engine, source = self._open()
        with suppress(RecordDamagedError):  # of an index that a new one replaces
            if find_live(source.storage, source.directory) is not None:
                raise IndexExistsError(
                    "the dataset has an index", where=source.directory,
                    hint="call refresh() to bring it up to date, or drop() before create()",
                )  # fmt: skip
        form = form_of(self._spark, engine, version)
        with Collected() as collected:
            return Build(engine, source, plan(source, indexes), progress, on_error, form, collected).run(None)

    def refresh(
        self,
        *,
        progress: ProgressOption = None,
        on_error: OnError = "raise",
        trust_listing: bool = False,
        recheck: Sequence[str] = (),
    ) -> RefreshResult:
        """Adds new and changed objects, drops those that are gone; no Spark job where nothing changed.

        The index stays of its version, see :meth:`migrate`. What another program has made is read again, whole. Of
        files on a local disk Spark lists only directories in which something has changed.

        Parameters
        ----------
        progress : bool or callable, optional
        on_error : {"raise", "skip"}
            See :meth:`create`.
        trust_listing : bool
            List nothing but the directories that :meth:`read` lists, and leave what is known of all others as it is,
            until a refresh that lists them. A dataset without partitions is listed.
        recheck : sequence of str
            Further directories to list, as there.

        Raises
        ------
        MetadataNotFoundError
            There is no index.
        IndexDefinitionError
            The dataset is read otherwise than when it was indexed.
        IndexDroppedError
            Another program dropped the index meanwhile; nothing has changed.
        CommitConflictError
            Other writers were faster, several times; nothing has changed.
        """
        return Refresh(self._spark, self._reader, progress, on_error, recheck if trust_listing else None).run()

    def _again(self, attempt: Callable[[], _T]) -> _T:
        hook = engine_of(self._spark).hook
        return again(attempt, partial(storage_for, hook))

    def migrate(self, version: int = CURRENT_VERSION, *, dry_run: bool = False) -> MigrationResult:
        """Brings the index to a version of the metadata format, up or down, in one commit; no data is read.

        Parameters
        ----------
        version : int
        dry_run : bool
            Only say what would change.

        Raises
        ------
        MetadataNotFoundError
            There is no index.
        MetadataVersionError
            The index is of a version that this release does not know, or there is no such version.
        UnsupportedTypeError
            The version cannot hold a type.
        """
        engine, source = self._open()
        require_own_snapshot(source)
        listed = cache(lambda: list_objects(source.dataset))
        migration = Migration(
            source.storage, source.directory, version, lambda objects: listed().partitions_of(objects)
        )
        result = self._again(lambda: migration.run(dry_run=dry_run))
        engine.forget(source.directory)
        return result

    def optimize(self) -> OptimizeResult:
        """Joins many files of metadata into few, in the order that suits queries, in one commit; no data is read.

        Raises
        ------
        MetadataNotFoundError
            There is no index.
        KeyNotAvailableError
            The index is encrypted and a key is not to be had; nothing has changed.
        CommitConflictError
            Other writers were faster, several times; nothing has changed.
        """
        engine, source = self._open()
        form = existing_write_options(self._spark, engine, require_own_snapshot(source))
        result = self._again(lambda: optimize(source.storage, source.directory, form))
        engine.forget(source.directory)
        return result

    def rotate_keys(self, labels: Mapping[str, str] | None = None) -> RotationResult:
        """Encrypts the metadata anew, with new data keys that today's master keys wrap; no data is read.

        Parameters
        ----------
        labels : mapping of str to str, optional
            New labels by the present ones, where master keys have new labels.

        Raises
        ------
        MetadataNotFoundError
            There is no index.
        KeyNotAvailableError
            The index is not encrypted, has no such label, or a key is not to be had; nothing has changed.
        """
        engine, source = self._open()
        require_own_snapshot(source)
        result = self._again(lambda: rotate_keys(source.storage, source.directory, labels or {}))
        engine.forget(source.directory)
        return result

    def exists(self) -> bool:
        """Is there an index."""
        _, source = self._open()
        return find_live(source.storage, source.directory) is not None

    def describe(self) -> IndexDescription:
        """What the index is.

        Raises
        ------
        MetadataNotFoundError
            There is none.
        """
        _, source = self._open()
        return describe(source)

    def status(self) -> IndexStatus:
        """How the index stands to the dataset now.

        Raises
        ------
        MetadataNotFoundError
            There is none.
        """
        _, source = self._open()
        return status(source)

    def drop(self) -> DropResult:
        """Removes the index with all its files; the data stays as it is.

        Raises
        ------
        MetadataNotFoundError
            There is none.
        MetadataCorruptError
            Its directory was chosen by somebody and holds other Parquet files; nothing was removed.
        """
        engine, source = self._open()
        with suppress(MetadataNotFoundError, MetadataCorruptError, MetadataVersionError, KeyNotAvailableError):
            require_own_snapshot(source)  # what cannot be read is whoever's: it can go
        files = remove_index(source.storage, source.directory)
        engine.forget(source.directory)
        return DropResult(source.directory, files)

    def read(self, *, trust_listing: bool = False, recheck: Sequence[str] = ()) -> DataFrame:
        """The dataset, as ``spark.read`` or ``spark.table`` gives it.

        Parameters
        ----------
        trust_listing : bool
            Take the objects from the index and list nothing but directories of partitions that are new, the last ones
            and those of ``recheck``: for datasets that grow by partitions. What was added elsewhere, or changed under
            its own name, since the last refresh is missed. The last ones are those of the greatest value of the first
            partition column that is a date or a time, in each directory above them; without one, of the first column.
        recheck : sequence of str
            Further directories to list, below the root, such as ``["date=2026-11-20"]``.

        Raises
        ------
        MetadataNotFoundError, IndexDefinitionError, DatasetError
            There is nothing to trust in.
        """
        return self._trust(recheck).read(self._spark) if trust_listing else self._reader(self._spark)

    def files(self, predicate: str | Column) -> FileList:
        """The objects that a query with this predicate must read, for any engine.

        Raises
        ------
        PredicateError
            Spark cannot make sense of the predicate.

        Parameters
        ----------
        predicate : str or Column
            As for ``DataFrame.filter``.
        """
        from pyspark.errors import PySparkException

        engine, source = self._open()
        session = source.df.sparkSession
        session.conf.set("spark.xskip.enabled", "true")
        engine.hook.install(session)
        listed = list_objects(source.dataset)
        try:
            kept = selected(engine.hook, source.df.filter(predicate))
        except PySparkException as error:
            raise PredicateError(
                "the predicate cannot be used", where=str(predicate), found=first_line(error)
            ) from error
        return FileList(kept.objects(), len(listed), listed.objects.total_bytes)

    def _open(self) -> tuple[Engine, Source]:
        engine = engine_of(self._spark)
        return engine, open_source(self._spark, engine, self._reader)

    def _trust(self, recheck: Sequence[str]) -> IndexedListing:
        return trusted(engine_of(self._spark), self._reader, recheck)
