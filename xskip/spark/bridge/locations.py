"""The hook's operations on paths, on the metadata locations of datasets, and on tables of the catalog."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xskip.errors import StorageError
from xskip.metadatastore.location import IndexLocation
from xskip.spark.bridge.java_errors import translate_spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LocationCalls", "Table", "parse_locations"]

_CHECK = "check the scheme of the path, and whether the session has the package of its file system"


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view of a catalog."""

    #: The name with its database, db.table.
    name: str
    database: str
    #: The location of the data, in the hook's spelling; empty for a view.
    root: str
    #: The metadata location in the table's properties, in the hook's spelling; empty if the properties name none.
    location: str
    is_view: bool


class LocationCalls:
    """The hook's operations on paths and metadata locations, ``io.xskip.bridge.LocationCalls``."""

    def __init__(self, calls: Any) -> None:
        self._calls = calls

    def normalized(self, path: str) -> str:
        """Return a path in the hook's spelling: without ``file:``, a password or a trailing slash."""
        return str(self._calls.normalized(path))

    def qualified(self, path: str) -> str:
        """Return a user's path in the hook's spelling; a path without a scheme is on the default file system."""
        with translate_spark_errors(StorageError, "the path is on a file system that Spark cannot use", path, _CHECK):
            return str(self._calls.qualified(path))

    def resolved(self, path: str) -> str:
        """Return a path in the hook's spelling without the symbolic links of a local disk."""
        return str(self._calls.resolved(path))

    def of_path(self, spark: SparkSession, root: str) -> list[IndexLocation]:
        """Return the possible locations of a path's metadata, in the order in which queries of a session try them."""
        return parse_locations(self._calls.ofPath(spark._jsparkSession, root))

    def of_database(self, spark: SparkSession, database: str) -> str | None:
        """Return the base location of indexes in a database's properties, or None if the properties name none."""
        location = self._calls.databaseLocation(spark._jsparkSession, database)
        return None if location is None else self.qualified(location)

    def choose(self, dataset: str, directory: str | None) -> None:
        """Choose the metadata directory of a dataset for the rest of the process; None restores the default locations.

        The dataset is its root in the hook's spelling, or ``db.table``. The directory is in the hook's spelling.
        """
        self._calls.choose(dataset, directory)

    def table(self, spark: SparkSession, name: str) -> Table | None:
        """Return a table or view of the session's catalog, or None if the catalog does not have the name."""
        text = self._calls.table(spark._jsparkSession, name)
        return None if text is None else Table(**json.loads(text))

    def forget_directories(self) -> None:
        """Clear the JVM's record of which directories have an index."""
        self._calls.forgetDirectories()


def parse_locations(text: str) -> list[IndexLocation]:
    """Parse the metadata locations that the JVM sends as JSON."""
    return [IndexLocation(**location) for location in json.loads(text)]
