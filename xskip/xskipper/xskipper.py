"""Xskipper's main class."""

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
from xskip.spark.bridge.gateway import build_session
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.engine import engine_of, forget_indexes
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
    """The index of a dataset.

    Parameters
    ----------
    sparkSession : SparkSession
    uri : str
        A path, or a table's name.
    metadataStoreManagerClassName : str, optional
        There is one, of Parquet files.
    """

    def __init__(self, sparkSession: SparkSession, uri: str, metadataStoreManagerClassName: str | None = None) -> None:
        if metadataStoreManagerClassName not in (None, _MANAGER):
            name = metadataStoreManagerClassName
            raise XskipperException(f"Could not create Xskipper, {name} is not a valid MetadataStoreManager class name")
        self.spark = sparkSession
        self.uri = uri
        self._params = _params.setdefault(uri.rstrip("/"), conf.Entries({}))  # instances of a dataset share theirs

    def conf(self) -> dict[str, str]:
        """The configuration that counts for this instance, by present names."""
        return conf.JVM_WIDE.canonical() | self._params.canonical()

    def setParams(self, params: Mapping[str, str]) -> None:
        """Sets configuration of this instance, which also queries on its dataset use from now on."""
        self._params.update(params)
        self._target()

    def isIndexed(self) -> bool:
        """Is there an index."""
        target = self._target()
        storage = storage_for(engine_of(self.spark).hook, target.directory)
        with translated("Failed To Look For The Index"):
            return find_live(storage, target.directory) is not None

    def indexBuilder(self) -> IndexBuilder:
        """Gathers what is to be built."""
        return IndexBuilder(self.spark, self.uri, self)

    def build(self, indexes: Sequence[Index], reader: DataFrameReader | None) -> DataFrame:
        """What :meth:`IndexBuilder.build` does."""
        index, target = self._index(reader)
        with translated("Failed To Create Index"):
            made = index.create(indexes)
        return self._finished(made, target)

    def refreshIndex(self, dataFrameReader: DataFrameReader | None = None) -> DataFrame:
        """Adds new and changed objects, drops those that are gone.

        Parameters
        ----------
        dataFrameReader : DataFrameReader, optional
            How a path is read; a table needs none.

        Returns
        -------
        DataFrame
            One row: ``status``, ``new_entries_added``, ``old_entries_removed``.

        Raises
        ------
        XskipperException
            There is no index, or it cannot be refreshed.
        """
        index, target = self._index(dataFrameReader)
        with translated("Failed To Refresh Index"):
            refreshed = index.refresh()
        return self._finished(refreshed, target)

    def describeIndex(self, dataFrameReader: DataFrameReader | None = None) -> DataFrame:
        """The index and how it stands to the dataset, as rows of texts.

        Raises
        ------
        XskipperException
            There is no index, or it cannot be read.
        """
        index, target = self._index(dataFrameReader)
        with translated("Failed To Describe Index"):
            return frames.described(self.spark, target.identifier, index.describe(), index.status())

    def dropIndex(self) -> None:
        """Removes the index where there is one."""
        target, engine = self._target(), engine_of(self.spark)
        storage = storage_for(engine.hook, target.directory)
        with translated("Failed To Remove Index"), suppress(MetadataNotFoundError):
            remove_index(storage, target.directory)
            engine.forget(target.directory)
            target.note(self.spark, gone=True)

    def getLatestQueryStats(self) -> DataFrame:
        """What queries on this dataset skipped since the statistics were cleared: one row."""
        found = stats.scans_of(engine_of(self.spark), self._target().root)
        return stats.frame(self.spark, found or None)

    def _target(self) -> Target:
        """Where the metadata is by the configuration; queries of this process look there from now on."""
        with translated("Invalid Configuration"):
            return target_of(self.spark, self.uri, self.conf())

    def _index(self, reader: DataFrameReader | None) -> tuple[SkippingIndex, Target]:
        """The index as xskip has it, in a session with the settings of this instance."""
        target = self._target()
        own = build_session(self.spark)
        for key, value in conf.settings_of(self.conf()).items():
            own.conf.set(key, value)
        if target.is_table:
            return SkippingIndex.for_table(own, self.uri), target
        if _GLOB & set(self.uri):
            raise XskipperException("Indexing of Glob paths is not supported")
        if reader is None:
            raise XskipperException(f"Table {self.uri} Not Found: a path needs a DataFrameReader")
        form, options, schema = engine_of(self.spark).hook.reader(reader)
        return SkippingIndex.for_path(own, self.uri, format=form, options=options, schema=frames.schema(schema)), target

    def _finished(self, result: RefreshResult, target: Target) -> DataFrame:
        target.note(self.spark)
        return frames.refreshed(self.spark, result)

    @staticmethod
    def setConf(sparkSession: SparkSession, params: Mapping[str, str]) -> None:
        """Sets configuration of the whole process; keys that are not given stay."""
        before = dict(conf.JVM_WIDE.values)
        try:
            conf.JVM_WIDE.update(params)
            _configured(sparkSession)
        except XskipperException:
            conf.JVM_WIDE.values = before
            raise

    @staticmethod
    def getConf(sparkSession: SparkSession) -> dict[str, str]:
        """What is configured for the whole process."""
        return dict(conf.JVM_WIDE.values)

    @staticmethod
    def set(sparkSession: SparkSession, key: str, value: str) -> None:
        """Sets one key for the whole process."""
        Xskipper.setConf(sparkSession, {key: value})

    @staticmethod
    def unset(sparkSession: SparkSession, key: str) -> None:
        """Takes a key away."""
        conf.JVM_WIDE.values.pop(key, None)
        _configured(sparkSession)

    @staticmethod
    def get(sparkSession: SparkSession, key: str) -> str | None:
        """The value of a key, None where it is not set."""
        return conf.JVM_WIDE.values.get(key)

    @staticmethod
    def getLatestQueryAggregatedStats(sparkSession: SparkSession) -> DataFrame:
        """What all queries skipped since the statistics were cleared: one row."""
        found = stats.scans_of(engine_of(sparkSession))
        return stats.frame(sparkSession, found if found or _params else None)

    @staticmethod
    def clearStats(sparkSession: SparkSession) -> None:
        """Lets statistics begin anew."""
        stats.clear(engine_of(sparkSession))

    @staticmethod
    def reset(sparkSession: SparkSession) -> None:
        """Disables skipping and forgets configuration, instances and statistics."""
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
        """The indexed datasets below the configured base location, as rows of texts.

        Raises
        ------
        XskipperException
            No base location is configured.
        """
        engine = engine_of(sparkSession)
        with translated("Failed To List Indexes"):
            base = base_of(sparkSession, engine.hook, conf.JVM_WIDE.canonical())
            return frames.listed(sparkSession, base, engine.known(base))

    @staticmethod
    def enable(sparkSession: SparkSession) -> None:
        """Lets the queries of this session skip."""
        session.enable(sparkSession)

    @staticmethod
    def disable(sparkSession: SparkSession) -> None:
        """Lets the queries of this session read everything."""
        session.disable(sparkSession)

    @staticmethod
    def isEnabled(sparkSession: SparkSession) -> bool:
        """Do the queries of this session skip."""
        return session.is_enabled(sparkSession)

    @staticmethod
    def installExceptionWrapper() -> None:
        """Nothing is left to do: errors are :class:`XskipperException` from the start."""


_params: dict[str, conf.Entries] = {}


def _configured(spark: SparkSession) -> None:
    """Tells queries what is configured now."""
    with translated("Invalid Configuration"):
        configure(spark, engine_of(spark), conf.JVM_WIDE.canonical())
