"""Metadata locations by the four location types of Xskipper's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xskip.metadata.data_files import table_identifier
from xskip.metadatastore.location import as_uri, metadata_directory
from xskip.settings import EVALUATE
from xskip.settings import LOCATION as BASE
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.locations import Table
from xskip.spark.query.spark_engine import SparkEngine, engine_of
from xskip.xskipper.conf import LOCATION, LOCATION_TYPE, settings_of
from xskip.xskipper.errors import XskipperException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Target", "base_of", "configure", "forget_places", "target_of"]

_BASE, _EXPLICIT = "EXPLICIT_BASE_PATH_LOCATION", "EXPLICIT_LOCATION"
_TABLE, _DATABASE = "HIVE_TABLE_NAME", "HIVE_DB_NAME"
_LEGACY_LOCATION = LOCATION.replace("io.xskipper.", "spark.ibm.metaindex.")
_chosen: set[str] = set()


@dataclass(frozen=True, slots=True)
class Target:
    """The dataset of an Xskipper instance, and the directory of the dataset's metadata."""

    root: str
    directory: str
    #: The dataset's path, or the table's name with its database.
    identifier: str
    is_table: bool
    #: The table whose property must name the directory of an existing index, or an empty string.
    noted_in: str = ""

    def note(self, spark: SparkSession, *, gone: bool = False) -> None:
        """Write the directory into the properties of the table ``noted_in``; remove it if the index is ``gone``."""
        if not self.noted_in:
            return
        name = ".".join(f"`{part}`" for part in self.noted_in.split("."))
        directory = as_uri(self.directory).replace("\\", "\\\\").replace("'", "\\'")
        spark.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES IF EXISTS ('{LOCATION}', '{_LEGACY_LOCATION}')")
        if not gone:
            spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{LOCATION}'='{directory}')")
        spark.catalog.refreshTable(name)


def target_of(spark: SparkSession, uri: str, conf: Mapping[str, str]) -> Target:
    """Resolve the metadata directory of a dataset, and make the queries of this process use the directory.

    ``uri`` is a path or the name of a table; ``conf`` has the present names. A view has no directory.
    """
    hook = engine_of(spark).hook
    table = None if "/" in uri else hook.locations.table(spark, uri)
    if table is not None and table.is_view:
        raise XskipperException("Index build Failed - can't index views")
    root = table.root if table else hook.locations.resolved(hook.locations.qualified(uri))
    identifier = table.name if table else table_identifier(root)
    directory, noted_in = _directory(spark, hook, identifier, conf)
    if not directory:
        directory = (table and _by_properties(spark, hook, table)) or hook.locations.of_path(spark, root)[0].directory
    _choose(hook, table.name if table else root, directory)
    return Target(root, directory, identifier, table is not None, noted_in)


def _directory(spark: SparkSession, hook: Hook, identifier: str, conf: Mapping[str, str]) -> tuple[str, str]:
    """Return the configured directory and the table that must name the directory; empty strings stand for neither."""
    location = conf.get(LOCATION, "")
    if not location:
        return "", ""
    match conf.get(LOCATION_TYPE, _BASE):
        case "EXPLICIT_LOCATION":
            return hook.locations.qualified(location), ""
        case "HIVE_TABLE_NAME":
            table = hook.locations.table(spark, location)
            if table is None:
                raise XskipperException(f"Table {location} Not Found")
            if table.location:
                return table.location, table.name
            return metadata_directory(identifier, _base_of_database(spark, hook, table.database)), table.name
        case _:
            return metadata_directory(identifier, base_of(spark, hook, conf)), ""


def _by_properties(spark: SparkSession, hook: Hook, table: Table) -> str:
    """Return the metadata directory by the properties of a table or of its database, or an empty string."""
    base = hook.locations.of_database(spark, table.database)
    return table.location or (metadata_directory(table.name, base) if base else "")


def base_of(spark: SparkSession, hook: Hook, conf: Mapping[str, str]) -> str:
    """Return the configured base location of all datasets; ``conf`` has the present names."""
    location, kind = conf.get(LOCATION, ""), conf.get(LOCATION_TYPE, _BASE)
    if not location:
        raise XskipperException(f"xskipper configuration {LOCATION} missing")
    if kind == _DATABASE:
        return _base_of_database(spark, hook, location)
    if kind != _BASE:
        raise XskipperException(
            f"{LOCATION_TYPE} is {kind}: valid values are {_BASE} and {_DATABASE} for all datasets, "
            f"{_EXPLICIT} and {_TABLE} for one"
        )
    return hook.locations.qualified(location)


def _base_of_database(spark: SparkSession, hook: Hook, database: str) -> str:
    found = hook.locations.of_database(spark, database)
    if found is None:
        raise XskipperException(
            f"Unable to resolve metadata location - DB properties of {database} do not contain {LOCATION}"
        )
    return found


def configure(spark: SparkSession, engine: SparkEngine, conf: Mapping[str, str]) -> None:
    """Apply the evaluation mode and the base location of a configuration to the queries of all sessions.

    ``conf`` has the present names. A missing key removes the setting from the queries.
    """
    engine.settings.set_process_wide(EVALUATE.key, settings_of(conf).get(EVALUATE.key))
    location, kind = conf.get(LOCATION, ""), conf.get(LOCATION_TYPE, _BASE)
    base = None
    if location and kind == _DATABASE:
        base = engine.hook.locations.of_database(spark, location)
    elif location and kind == _BASE:
        base = engine.hook.locations.qualified(location)
    engine.settings.set_process_wide(BASE.key, None if base is None else as_uri(base))


def _choose(hook: Hook, dataset: str, directory: str | None) -> None:
    hook.locations.choose(dataset, directory)
    if directory is None:
        _chosen.discard(dataset)
    else:
        _chosen.add(dataset)


def forget_places(engine: SparkEngine) -> None:
    """Reset all metadata locations that :func:`target_of` has set for queries."""
    for dataset in tuple(_chosen):
        _choose(engine.hook, dataset, None)
