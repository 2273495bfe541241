"""The overview of the indexes below a directory."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from xskip.errors import ArgumentError
from xskip.standalone.overview import overview_without_spark
from xskip.standalone.query_history import history_without_spark, with_savings

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem
    from pyspark.sql import SparkSession

    from xskip.metadatastore.snapshot import Snapshot
    from xskip.results.index_status import IndexStatus
    from xskip.results.overview import Overview

__all__ = ["overview"]


def overview(
    location: str | os.PathLike[str],
    *,
    spark: SparkSession | None = None,
    filesystem: FileSystem | None = None,
    history: str | os.PathLike[str] | None = None,
    days: int | None = None,
) -> Overview:
    """Return the state of all indexes below a directory.

    Each index is compared with the present files of its dataset. Without a session, the state of Parquet and Avro files
    without reader options is that of queries with Spark's default settings. For other files, only the comparison is
    known, and datasets of pieces that are no files are not compared.

    Parameters
    ----------
    location : str or os.PathLike
        A base location of indexes, a dataset, or a directory that holds datasets with indexes inside, up to three
        levels below.
    spark : SparkSession, optional
        The session whose file systems and settings apply. None needs neither Spark nor Java.
    filesystem : pyarrow.fs.FileSystem, optional
        Without a session, the file system of the directory. None finds the file system by the path.
    history : str or os.PathLike, optional
        The directory of the query history, for the bytes that queries have skipped. None is that of the session's
        ``spark.xskip.history.location``.
    days : int, optional
        The number of last days of the history, 30 by default. Without ``history`` and ``days``, savings are left out.

    Returns
    -------
    Overview
        The indexes in the order of their datasets' names, also those that cannot be read or were deleted with the files
        of their datasets. The overview prints as a table, and has the methods ``to_html``, ``to_dict`` and
        ``to_prometheus``.

    Raises
    ------
    ArgumentError
        If the location is not a path, if both a session and a file system are given, if ``days`` is given and there is
        no history, or if ``days`` is not a number of at least 1.
    StorageError
        If the storage refuses to list the directory.

    Examples
    --------
    >>> found = xskip.overview(spark.conf.get("spark.xskip.metadata.location"))
    >>> [(index.files, index.state, index.is_fresh) for index in found]
    [(3, 'all files indexed', True)]
    """
    if spark is None:
        found = overview_without_spark(location, filesystem)
        if history is None and days is None:
            return found
        return with_savings(found, history_without_spark(history, filesystem if "://" in str(history) else None), days)
    if filesystem is not None:
        raise ArgumentError(
            "a session has its own file systems", found="spark= and filesystem=", expected="one of them"
        )
    found = _overview_in_spark(spark, location)
    if history is None and days is None:
        return found
    from xskip.api.query_history import history_of_session
    from xskip.spark.query.spark_engine import engine_of

    return with_savings(found, history_of_session(engine_of(spark), history), days)


def _overview_in_spark(spark: SparkSession, location: str | os.PathLike[str]) -> Overview:
    from xskip.api.index import SkippingIndex
    from xskip.inspection.overview import Survey
    from xskip.metadatastore.definition_copy import has_dataset
    from xskip.paths import check_path
    from xskip.spark.bridge.hadoop_filesystem import storage_for
    from xskip.spark.query.spark_engine import engine_of

    def status(snapshot: Snapshot, root: str, directory: str) -> IndexStatus:
        fmt = snapshot.read_profile.format if snapshot.read_profile else "parquet"
        return SkippingIndex.for_path(spark, root, format=fmt).at(directory).status()

    engine = engine_of(spark)
    engine.settings.check(spark)
    base = engine.hook.locations.qualified(check_path(location, "location"))
    storage_of = partial(storage_for, engine.hook)
    return Survey(storage_of(base), status, lambda root: has_dataset(storage_of(root), root)).of(base)
