"""The operations on an index that rewrite or remove its metadata without reading the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from xskip.api.arguments import check_flag, check_labels, check_text, check_time, check_version, names_of
from xskip.errors import (
    ArgumentError,
    DatasetError,
    KeyNotAvailableError,
    MetadataCorruptError,
    MetadataNotFoundError,
    MetadataVersionError,
)
from xskip.indexes import Index
from xskip.indexing.adoption import Adoption
from xskip.indexing.commit_attempts import retry_conflicts
from xskip.indexing.definition_copies import discard_definition, keep_present_definition
from xskip.indexing.gone_dataset import drop_gone_dataset
from xskip.indexing.reader import PathReader, Reader
from xskip.indexing.source import (
    Source,
    base_location,
    existing_write_options,
    new_write_options,
    open_source,
    require_own_snapshot,
)
from xskip.metadatastore.maintenance.compact import optimize
from xskip.metadatastore.maintenance.drop import remove_index
from xskip.metadatastore.maintenance.former_indexes import adopted_indexes
from xskip.metadatastore.maintenance.history import history
from xskip.metadatastore.maintenance.migrate import Migration
from xskip.metadatastore.maintenance.remove import remove_indexes
from xskip.metadatastore.maintenance.rotate_keys import rotate_keys
from xskip.metadatastore.maintenance.vacuum import Vacuum
from xskip.metadatastore.versions import CURRENT_VERSION
from xskip.results.history import AdoptionResult, History, VacuumResult
from xskip.results.operations import DropResult, MigrationResult, OptimizeResult, RemovalResult, RotationResult
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.collect.listing import list_files
from xskip.spark.query.spark_engine import SparkEngine, engine_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["IndexMaintenance"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class IndexMaintenance:
    """The base of :class:`xskip.SkippingIndex` with the operations that maintain the metadata.

    Attributes
    ----------
    name : str
        The path or table, as the user gave it.
    """

    name: str = ""
    _spark: SparkSession = field(default=None, repr=False)  # type: ignore[assignment]
    _reader: Reader = field(default=None, repr=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self._reader is None:
            raise ArgumentError(
                "an index is not created from its class", found=f"{type(self).__name__}(…)",
                hint="call SkippingIndex.for_path(spark, path) or SkippingIndex.for_table(spark, table)",
            )  # fmt: skip

    def migrate(self, version: int = CURRENT_VERSION, *, dry_run: bool = False) -> MigrationResult:
        """Convert the metadata to another version of the format in one commit, without reading the data.

        Parameters
        ----------
        version : int
            The target version, older or newer than the present version.
        dry_run : bool
            Whether to report the changes without making them.

        Returns
        -------
        MigrationResult
            The versions before and after the migration, and the changes to the columns of the metadata.

        Raises
        ------
        ArgumentError
            If an argument has another type than documented.
        MetadataNotFoundError
            If there is no index.
        MetadataVersionError
            If this release does not know the version of the index or the target version.
        UnsupportedTypeError
            If the target version cannot store a type.
        """
        check_version(version)
        check_flag("dry_run", dry_run)
        engine, source = self._open()
        require_own_snapshot(source)
        listed = cache(lambda: list_files(source.dataset))
        migration = Migration(source.storage, source.directory, version, lambda files: listed().partitions_of(files))
        result = self._retry_conflicts(lambda: migration.run(dry_run=dry_run))
        engine.forget(source.directory)
        if not dry_run:
            keep_present_definition(engine, source)
        return result

    def remove(self, indexes: Sequence[Index | str]) -> RemovalResult:
        """Remove some indexes from the metadata in one commit, without reading the data; other indexes stay unchanged.

        Parameters
        ----------
        indexes : sequence of Index or str
            The indexes, such as ``[MinMax("ts")]`` or ``["minmax(ts)"]``. Parameters of the index types do not count.

        Returns
        -------
        RemovalResult
            The removed indexes.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        IndexDefinitionError
            If the dataset has no such index, or if no index would remain; nothing has changed.
        KeyNotAvailableError
            If the index is encrypted and a key is not available; nothing has changed.
        CommitConflictError
            If other writers committed first in every attempt; nothing has changed.

        Examples
        --------
        >>> index = xskip.SkippingIndex.for_path(spark, indexed_path)
        >>> index.remove(["valuelist(city)"]).removed
        ('valuelist(city)',)
        """
        names = names_of(indexes)
        engine, source = self._open()
        require_own_snapshot(source)
        result = self._retry_conflicts(lambda: remove_indexes(source.storage, source.directory, names))
        engine.forget(source.directory)
        keep_present_definition(engine, source)
        return result

    def history(self) -> History:
        """Return the commits of the index: what each did, and when.

        xskip keeps the first commit, the latest ten commits, and the commits of the last 30 days.

        Returns
        -------
        History
            The commits, which print as a table and show as HTML in notebooks.

        Raises
        ------
        MetadataNotFoundError
            If there is no index, or if only other programs have written it.

        Examples
        --------
        >>> index = xskip.SkippingIndex.for_path(spark, indexed_path)
        >>> [(commit.number, commit.operation, commit.added) for commit in index.history()]
        [(1, 'create', 3)]
        """
        _, source = self._open()
        return history(source.storage, source.location)

    def vacuum(self, *, older_than: str = "1d", dry_run: bool = False) -> VacuumResult:
        """Remove files that crashed writers left, and indexes of former places of the dataset.

        The index stays as it is. Commits remove such files, too, if they are older than a day. In the dataset's folder
        ``_xskip``, indexes of another root are removed if that root has no such index any more.

        Parameters
        ----------
        older_than : str
            The least age of the files, such as ``"12h"`` or ``"1d"``. It must be longer than any commit takes.
        dry_run : bool
            Whether to report the files without removing them.

        Returns
        -------
        VacuumResult
            The removed files and directories, and the directories of other indexes, which stay.

        Raises
        ------
        ArgumentError
            If ``older_than`` is not a time, or ``dry_run`` is neither True nor False.
        MetadataCorruptError
            If the index cannot be read; nothing has been removed.

        Examples
        --------
        >>> index = xskip.SkippingIndex.for_path(spark, indexed_path)
        >>> index.vacuum(older_than="1h", dry_run=True).files
        ()
        """
        seconds = check_time("older_than", older_than)
        check_flag("dry_run", dry_run)
        engine, source = self._open()
        result = Vacuum(source.storage, source.location, seconds).run(dry_run=dry_run)
        engine.forget(source.directory)
        return result

    def adopt(self, former: str | None = None) -> AdoptionResult:
        """Take over the index of the dataset from before the dataset was moved or copied, without reading the data.

        The names of data files in an index are absolute, so a moved dataset has no index until it is adopted. A file
        keeps its statistics if its size and its modification time are as before: move the dataset, or copy it with
        times (``cp -p``, ``rsync -t``). :meth:`refresh` collects all other files.

        Parameters
        ----------
        former : str, optional
            The former path of the dataset. None finds the index in the dataset's folder ``_xskip``; an index under
            ``spark.xskip.metadata.location`` needs the former path.

        Returns
        -------
        AdoptionResult
            The number of files with statistics, and without.

        Raises
        ------
        IndexExistsError
            If the dataset already has an index.
        MetadataNotFoundError
            If there is no index to adopt.
        DatasetError
            If no file is as the index describes it, for example after a copy without times; nothing has changed.
        IndexDefinitionError
            If there are several, if another program built the index, or if the dataset is read in another way than when
            the index was built.
        KeyNotAvailableError
            If the key of an index is not available; nothing has changed.

        Examples
        --------
        The index is not inside the dataset, so its former path is needed. A copy with times keeps the statistics.

        >>> import shutil
        >>> moved = shutil.copytree(indexed_path, f"{indexed_path}-moved")
        >>> index = xskip.SkippingIndex.for_path(spark, moved)
        >>> index.exists(), index.adopt(indexed_path).adopted, index.status().up_to_date
        (False, 3, True)
        """
        if former is not None:
            check_text("former", former)
        engine, source = self._open()
        limits = new_write_options(self._spark, engine, CURRENT_VERSION)
        return Adoption(engine, source, base_location(self._spark, engine), limits).run(former)

    def optimize(self) -> OptimizeResult:
        """Merge many metadata files into few in one commit, in an order that suits queries, without reading the data.

        Returns
        -------
        OptimizeResult
            The number and the size of the metadata files before and after the merge.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        KeyNotAvailableError
            If the index is encrypted and a key is not available; nothing has changed.
        CommitConflictError
            If other writers committed first in every attempt; nothing has changed.
        """
        engine, source = self._open()
        write_options = existing_write_options(self._spark, engine, require_own_snapshot(source))
        result = self._retry_conflicts(lambda: optimize(source.storage, source.directory, write_options))
        engine.forget(source.directory)
        return result

    def rotate_keys(self, labels: Mapping[str, str] | None = None) -> RotationResult:
        """Encrypt the metadata with new data keys, which the current master keys wrap, without reading the data.

        Parameters
        ----------
        labels : mapping of str to str, optional
            New labels of the master keys by their present labels. A key that the mapping does not name keeps its label;
            None keeps all labels.

        Returns
        -------
        RotationResult
            The number of encrypted metadata files, and the present labels.

        Raises
        ------
        ArgumentError
            If the labels are not a mapping of texts.
        MetadataNotFoundError
            If there is no index.
        KeyNotAvailableError
            If the index is not encrypted or has no such label, or a key is not available; nothing has changed.
        """
        found = check_labels(labels)
        engine, source = self._open()
        require_own_snapshot(source)
        result = self._retry_conflicts(lambda: rotate_keys(source.storage, source.directory, found))
        engine.forget(source.directory)
        keep_present_definition(engine, source)
        return result

    def drop(self) -> DropResult:
        """Remove the index with all its metadata files, and the copy of its definition; the data stays unchanged.

        The indexes that an adoption has left in the dataset's folder ``_xskip`` are removed, too, if their former
        places have no index any more. After an overwrite of the dataset, which has deleted the index, only the copy is
        removed. For a path that does not exist any more, the copy is removed, or the index outside of the path.

        Returns
        -------
        DropResult
            The directory of the metadata, the number of removed metadata files, whether only the copy of the
            definition was left, and the directories of former places that were removed.

        Raises
        ------
        DatasetError
            If the dataset cannot be read, for example if the path does not exist and has neither an index elsewhere
            nor a copy.
        MetadataNotFoundError
            If there is no index.
        IndexDefinitionError
            If the directory holds the index of another dataset.
        MetadataCorruptError
            If a user chose the directory and it holds Parquet files that are not metadata; nothing was removed.
        """
        try:
            engine, source = self._open()
        except DatasetError:
            result = self._drop_gone()
            if result is None:
                raise
            return result
        with suppress(MetadataNotFoundError, MetadataCorruptError, MetadataVersionError, KeyNotAvailableError):
            require_own_snapshot(source)  # unreadable metadata names no dataset, so it may be removed
        former = adopted_indexes(source.storage, source.location)
        # first, or a refresh at this moment would build the index again
        was_known = discard_definition(source)
        try:
            result = DropResult(source.directory, remove_index(source.storage, source.directory), former=former)
        except MetadataNotFoundError:
            if not was_known:
                raise
            result = DropResult(source.directory, 0, only_definition=True)  # an overwrite has deleted the index
        for each in former:
            source.storage.remove_tree(each)
        engine.forget(source.directory)
        engine.indexes.forget_dropped(source.directory)
        return result

    def _drop_gone(self) -> DropResult | None:
        """Drop the index of a path that does not exist; return None if the path exists, or has no index."""
        if not isinstance(self._reader, PathReader):
            return None
        engine = engine_of(self._spark)
        result = drop_gone_dataset(self._spark, engine, self._reader)
        if result is not None:
            engine.forget(result.location)
            engine.indexes.forget_dropped(result.location)
        return result

    def _retry_conflicts(self, attempt: Callable[[], _T]) -> _T:
        hook = engine_of(self._spark).hook
        return retry_conflicts(attempt, partial(storage_for, hook))

    def _check_settings(self) -> SparkEngine:
        engine = engine_of(self._spark)
        engine.settings.check(self._spark)
        return engine

    def _open(self) -> tuple[SparkEngine, Source]:
        engine = self._check_settings()
        return engine, open_source(self._spark, engine, self._reader)
