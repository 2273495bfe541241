"""The main class of Xskipper's API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from xskip.api import session
from xskip.api.index import SkippingIndex
from xskip.errors import MetadataNotFoundError
from xskip.indexes import Index
from xskip.metadatastore.commit import find_live
from xskip.metadatastore.maintenance.drop import remove_index
from xskip.results.operations import RefreshResult
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.sessions import clone_session
from xskip.spark.query.spark_engine import engine_of, forget_indexes
from xskip.xskipper import conf, frames, stats
from xskip.xskipper.errors import XskipperException, translated
from xskip.xskipper.indexbuilder import IndexBuilder
from xskip.xskipper.location import Target, base_of, configure, forget_places, target_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

__all__ = ["Xskipper", "XskipperException"]

_MANAGER = "io.xskipper.metadatastore.parquet.ParquetMetadataStoreManager"
_GLOB = set("{}[]*?\\")


class Xskipper:
    """The index of one dataset, and static methods for the whole process.

    Parameters
    ----------
    sparkSession : SparkSession
        The session that runs the operations.
    uri : str
        The dataset's path or table name.
    metadataStoreManagerClassName : str, optional
        The Java class name of the metadatastore. The only valid name is that of the Parquet metadatastore, which is
        also the default.

    Raises
    ------
    XskipperException
        If the class name is a different one.
    """

    def __init__(self, sparkSession: SparkSession, uri: str, metadataStoreManagerClassName: str | None = None) -> None:
        if metadataStoreManagerClassName not in (None, _MANAGER):
            name = metadataStoreManagerClassName
            raise XskipperException(f"Could not create Xskipper, {name} is not a valid MetadataStoreManager class name")
        self.spark = sparkSession
        self.uri = uri
        self._params = _params.setdefault(uri.rstrip("/"), conf.Entries({}))  # shared by all instances of a dataset

    def conf(self) -> dict[str, str]:
        """Return the effective configuration of this instance.

        Returns
        -------
        dict of str to str
            The configuration of the process, overridden by the configuration of the dataset's instances. Keys that were
            set by their former names have their present names.
        """
        return conf.JVM_WIDE.canonical() | self._params.canonical()

    def setParams(self, params: Mapping[str, str]) -> None:
        """Set configuration keys of the dataset; queries use the resulting metadata location from now on.

        Parameters
        ----------
        params : mapping of str to str
            The keys to set, with their values. All other keys stay unchanged.

        Raises
        ------
        XskipperException
            If a key or a value is not a string, or if the configuration leads to no metadata location.
        """
        self._params.update(params)
        self._target()

    def isIndexed(self) -> bool:
        """Return whether the dataset has an index."""
        target = self._target()
        storage = storage_for(engine_of(self.spark).hook, target.directory)
        with translated("Failed To Look For The Index"):
            return find_live(storage, target.directory) is not None

    def indexBuilder(self) -> IndexBuilder:
        """Return a new index builder for the dataset."""
        return IndexBuilder(self.spark, self.uri, self)

    def build(self, indexes: Sequence[Index], reader: DataFrameReader | None) -> DataFrame:
        """Build indexes for :meth:`IndexBuilder.build`, which documents the result and the errors.

        Parameters
        ----------
        indexes : sequence of Index
            The indexes to build.
        reader : DataFrameReader or None
            The reader, with format, options and schema, for a path. None for a table.
        """
        index, target = self._index(reader)
        with translated("Failed To Create Index"):
            made = index.create(indexes)
        return self._finished(made, target)

    def refreshIndex(self, dataFrameReader: DataFrameReader | None = None) -> DataFrame:
        """Add the metadata of new and changed files to the index, and remove the metadata of deleted files.

        Parameters
        ----------
        dataFrameReader : DataFrameReader, optional
            The reader, with format, options and schema, for a path. None for a table.

        Returns
        -------
        DataFrame
            One row with the columns ``status``, ``new_entries_added`` and ``old_entries_removed``. The last two columns
            are numbers of files.

        Raises
        ------
        XskipperException
            If the dataset has no index, or if the refresh fails.
        """
        index, target = self._index(dataFrameReader)
        with translated("Failed To Refresh Index"):
            refreshed = index.refresh()
        return self._finished(refreshed, target)

    def describeIndex(self, dataFrameReader: DataFrameReader | None = None) -> DataFrame:
        """Describe the index, and compare the index with the dataset's present files.

        Parameters
        ----------
        dataFrameReader : DataFrameReader, optional
            The reader, with format, options and schema, for a path. None for a table.

        Returns
        -------
        DataFrame
            Rows of three strings, for display.

        Raises
        ------
        XskipperException
            If the dataset has no index, or if the index cannot be read.
        """
        index, target = self._index(dataFrameReader)
        with translated("Failed To Describe Index"):
            return frames.described(self.spark, target.identifier, index.describe(), index.status())

    def dropIndex(self) -> None:
        """Remove the dataset's index, or do nothing if the dataset has none.

        Raises
        ------
        XskipperException
            If the index cannot be removed.
        """
        target, engine = self._target(), engine_of(self.spark)
        storage = storage_for(engine.hook, target.directory)
        with translated("Failed To Remove Index"), suppress(MetadataNotFoundError):
            remove_index(storage, target.directory)
            engine.forget(target.directory)
            engine.indexes.forget_dropped(target.directory)
            target.note(self.spark, gone=True)

    def getLatestQueryStats(self) -> DataFrame:
        """Return what queries on this dataset skipped since the last call of :meth:`clearStats`.

        Returns
        -------
        DataFrame
            One row with the columns ``status``, ``isSkippable``, ``skipped_Bytes``, ``skipped_Objs``, ``total_Bytes``
            and ``total_Objs``. If no query consulted an index of the dataset, the columns ``status`` and ``reason``,
            with the status ``FAILED``.
        """
        found = stats.scans_of(engine_of(self.spark), self._target().root)
        return stats.frame(self.spark, found or None)

    def _target(self) -> Target:
        """Return the dataset and its configured metadata directory, which queries of this process use from now on."""
        with translated("Invalid Configuration"):
            return target_of(self.spark, self.uri, self.conf())

    def _index(self, reader: DataFrameReader | None) -> tuple[SkippingIndex, Target]:
        """Return the dataset's index, in a new session with the settings of this instance, and the dataset."""
        target = self._target()
        own = clone_session(engine_of(self.spark).hook, self.spark, conf.settings_of(self.conf()))
        if target.is_table:
            return SkippingIndex.for_table(own, self.uri), target
        if _GLOB & set(self.uri):
            raise XskipperException("Indexing of Glob paths is not supported")
        if reader is None:
            raise XskipperException(f"Table {self.uri} Not Found: a path needs a DataFrameReader")
        form, options, schema = engine_of(self.spark).hook.builds.reader(self.spark, reader)
        return SkippingIndex.for_path(own, self.uri, format=form, options=options, schema=frames.schema(schema)), target

    def _finished(self, result: RefreshResult, target: Target) -> DataFrame:
        target.note(self.spark)
        return frames.refreshed(self.spark, result)

    @staticmethod
    def setConf(sparkSession: SparkSession, params: Mapping[str, str]) -> None:
        """Set configuration keys for the whole process.

        Parameters
        ----------
        sparkSession : SparkSession
            A session of the process.
        params : mapping of str to str
            The keys to set, with their values. All other keys stay unchanged.

        Raises
        ------
        XskipperException
            If a key or a value is not a string, or if the configuration is invalid. All keys then keep their previous
            values.
        """
        before = dict(conf.JVM_WIDE.values)
        try:
            conf.JVM_WIDE.update(params)
            _configured(sparkSession)
        except XskipperException:
            conf.JVM_WIDE.values = before
            raise

    @staticmethod
    def getConf(sparkSession: SparkSession) -> dict[str, str]:
        """Return the configuration of the whole process, with keys as they were set."""
        return dict(conf.JVM_WIDE.values)

    @staticmethod
    def set(sparkSession: SparkSession, key: str, value: str) -> None:
        """Set one configuration key for the whole process; see :meth:`setConf`."""
        Xskipper.setConf(sparkSession, {key: value})

    @staticmethod
    def unset(sparkSession: SparkSession, key: str) -> None:
        """Remove one configuration key of the whole process, by the name that was used to set the key."""
        conf.JVM_WIDE.values.pop(key, None)
        _configured(sparkSession)

    @staticmethod
    def get(sparkSession: SparkSession, key: str) -> str | None:
        """Return the process-wide value that was set by exactly this name of a key, or None without such a value."""
        return conf.JVM_WIDE.values.get(key)

    @staticmethod
    def getLatestQueryAggregatedStats(sparkSession: SparkSession) -> DataFrame:
        """Return what all queries of the process skipped since the last call of :meth:`clearStats`.

        Returns
        -------
        DataFrame
            One row with the columns ``status``, ``isSkippable``, ``skipped_Bytes``, ``skipped_Objs``, ``total_Bytes``
            and ``total_Objs``. If no query consulted an index and no ``Xskipper`` was created, the columns ``status``
            and ``reason``, with the status ``FAILED``.
        """
        found = stats.scans_of(engine_of(sparkSession))
        return stats.frame(sparkSession, found if found or _params else None)

    @staticmethod
    def clearStats(sparkSession: SparkSession) -> None:
        """Clear the statistics of all queries."""
        stats.clear(engine_of(sparkSession))

    @staticmethod
    def reset(sparkSession: SparkSession) -> None:
        """Disable skipping in a session, and clear the configuration and the statistics of the process.

        The configuration of all datasets is cleared too, and with it the metadata locations that ``Xskipper`` instances
        have set for queries.
        """
        engine = engine_of(sparkSession)
        session.disable(sparkSession)
        conf.JVM_WIDE.values.clear()
        _params.clear()
        forget_places(engine)
        _configured(sparkSession)
        forget_indexes()
        stats.clear(engine)

    @staticmethod
    def listIndexes(sparkSession: SparkSession) -> DataFrame:
        """List the indexes below the configured base location.

        Returns
        -------
        DataFrame
            Rows of three strings, for display: the dataset, the index type and the columns.

        Raises
        ------
        XskipperException
            If no base location for all datasets is configured.
        """
        engine = engine_of(sparkSession)
        with translated("Failed To List Indexes"):
            base = base_of(sparkSession, engine.hook, conf.JVM_WIDE.canonical())
            return frames.listed(sparkSession, base, engine.indexes.list_snapshots(base))

    @staticmethod
    def enable(sparkSession: SparkSession) -> None:
        """Enable skipping for the queries of a session."""
        session.enable(sparkSession)

    @staticmethod
    def disable(sparkSession: SparkSession) -> None:
        """Disable skipping for the queries of a session, which then read all files."""
        session.disable(sparkSession)

    @staticmethod
    def isEnabled(sparkSession: SparkSession) -> bool:
        """Return whether skipping is enabled for the queries of a session."""
        return session.is_enabled(sparkSession)

    @staticmethod
    def installExceptionWrapper() -> None:
        """Do nothing, because all methods raise :class:`XskipperException` without a wrapper."""


_params: dict[str, conf.Entries] = {}


def _configured(spark: SparkSession) -> None:
    """Apply the configuration of the process to the queries of all sessions."""
    with translated("Invalid Configuration"):
        configure(spark, engine_of(spark), conf.JVM_WIDE.canonical())
