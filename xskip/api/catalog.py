"""Operations on all indexes under a location: list and migrate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from xskip.api.arguments import check_flag, check_version
from xskip.errors import DatasetError, MetadataNotFoundError, XskipError, message_of
from xskip.indexing.commit_attempts import retry_conflicts
from xskip.indexing.source import base_location
from xskip.inspection.catalog import index_list
from xskip.metadatastore.maintenance.migrate import Migration
from xskip.metadatastore.versions import CURRENT_VERSION
from xskip.paths import check_path
from xskip.results.operations import IndexList, MigrationResult
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.spark_engine import engine_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["list_indexes", "migrate_all"]


def list_indexes(spark: SparkSession, location: str | None = None) -> IndexList:
    """Return the indexes below a directory, or under ``spark.xskip.metadata.location``.

    Without both, return the indexes that this process has built or used. An index that cannot be read is left out with
    a warning in the log.

    Parameters
    ----------
    spark : SparkSession
        The session whose setting applies.
    location : str, optional
        A base location, a dataset, or a directory that holds datasets with indexes inside, up to three levels below.
        None takes the setting.

    Returns
    -------
    IndexList
        The indexes in the order of their datasets' names.

    Raises
    ------
    ArgumentError
        If the location is not a path.

    Examples
    --------
    >>> [entry.indexes for entry in xskip.list_indexes(spark)]
    [('minmax(temp)', 'valuelist(city)')]
    """
    engine = engine_of(spark)
    engine.settings.check(spark)
    if location is None:
        base = base_location(spark, engine)
    else:
        base = engine.hook.locations.qualified(check_path(location, "location"))
    return index_list(engine.indexes.list_snapshots(base))


def migrate_all(
    spark: SparkSession, location: str, version: int = CURRENT_VERSION, *, dry_run: bool = False
) -> tuple[MigrationResult, ...]:
    """Migrate every index under a base location, with one commit for each index.

    Partition values that an old version does not store come from the names of the data files. If an index cannot be
    migrated, the index stays unchanged and its result states the reason.

    Parameters
    ----------
    spark : SparkSession
        The session whose file systems hold the indexes.
    location : str
        The base location of the indexes, as in ``spark.xskip.metadata.location``.
    version : int
        The target version of the metadata format.
    dry_run : bool
        Whether to report the changes without making them.

    Returns
    -------
    tuple of MigrationResult
        One result for each index.

    Raises
    ------
    ArgumentError
        If an argument has another type than documented.
    DatasetError
        If the base location has no directories, such as one that does not exist.
    MetadataVersionError
        If the target version does not exist.

    Examples
    --------
    >>> location = spark.conf.get("spark.xskip.metadata.location")
    >>> [(result.before, result.after) for result in xskip.migrate_all(spark, location, 3)]
    [((4,), 3)]
    """
    location = check_path(location, "location")
    check_version(version)
    check_flag("dry_run", dry_run)
    engine = engine_of(spark)
    engine.settings.check(spark)
    base = engine.hook.locations.qualified(location)
    storage = storage_for(engine.hook, base)
    directories = storage.directories(base)
    if not directories:
        raise DatasetError(
            "the base location has no indexes", where=location, found="no directory",
            expected="a directory for each index, as in spark.xskip.metadata.location", hint="check the path",
        )  # fmt: skip
    results = []
    for directory in directories:
        try:
            migration = Migration(storage, directory, version)
            results.append(retry_conflicts(partial(migration.run, dry_run=dry_run), lambda _: storage))
        except MetadataNotFoundError:
            continue
        except XskipError as error:
            results.append(MigrationResult(directory, (), version, 0, 0.0, dry_run, problem=message_of(error)))
    return tuple(results)
