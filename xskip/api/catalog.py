"""All indexes of a place: listed, migrated."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from xskip.build.retry import again
from xskip.build.source import base_location
from xskip.errors import MetadataNotFoundError, XskipError
from xskip.metadatastore.maintenance.migrate import Migration
from xskip.metadatastore.versions import CURRENT_VERSION, rules_of
from xskip.results.operations import IndexList, ListedIndex, MigrationResult
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.engine import engine_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["list_indexes", "migrate_all"]


def list_indexes(spark: SparkSession) -> IndexList:
    """The indexes under ``spark.xskip.metadata.location``, or, without it, those used by this process so far."""
    engine = engine_of(spark)
    base = base_location(spark, engine)
    found = []
    for snapshot, directory in engine.known(base):
        record = snapshot.record
        dataset = record.root if record else snapshot.table_identifier
        found.append(ListedIndex(dataset, directory, snapshot.rows, tuple(str(d) for d, _ in snapshot.indexes)))
    return IndexList(tuple(sorted(found, key=lambda i: i.dataset)))


def migrate_all(
    spark: SparkSession, location: str, version: int = CURRENT_VERSION, *, dry_run: bool = False
) -> tuple[MigrationResult, ...]:
    """Migrates every index under a base location, each in a commit of its own.

    Partition values that an old version lacks come from the objects' names. An index that cannot be migrated stays as
    it was, and its result says why.

    Parameters
    ----------
    spark : SparkSession
    location : str
        As ``spark.xskip.metadata.location``.
    version : int
    dry_run : bool
        Only say what would change.

    Raises
    ------
    MetadataVersionError
        There is no such version.
    """
    rules_of(version)
    engine = engine_of(spark)
    base = engine.hook.location(location)
    storage = storage_for(engine.hook, base)
    results = []
    for directory in storage.directories(base):
        try:
            migration = Migration(storage, directory, version)
            results.append(again(partial(migration.run, dry_run=dry_run), lambda _: storage))
        except MetadataNotFoundError:
            continue
        except XskipError as error:
            results.append(MigrationResult(directory, (), version, 0, 0.0, dry_run, problem=str(error)))
    return tuple(results)
