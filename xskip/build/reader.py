"""A dataset as a user names it: files under a path, or a table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from xskip.errors import DatasetError
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.bridge.java_errors import first_line, spark_errors, what_failed
from xskip.spark.collect.relation import Dataset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["PathReader", "Reader", "TableReader"]

_log = logging.getLogger("xskip")
_OF_LISTING = ("recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter", "basepath")
#: A path as it is, though it may look like a pattern; how Spark chose among files does not count for one.
_ONE_FILE = {"__globPaths__": "false", "recursiveFileLookup": "false", "pathGlobFilter": "*"}
#: So many files are asked for a schema at most.
_MOST_TRIED = 64


@dataclass(frozen=True, slots=True)
class PathReader:
    """Reads the files under a path, as ``spark.read`` does with the same format, options and schema."""

    path: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    schema: StructType | str | None = None

    @property
    def lower_options(self) -> dict[str, str]:
        """The options by names in lower case, for Spark does not tell their cases apart."""
        return {name.lower(): value for name, value in self.options.items()}

    def __call__(self, session: SparkSession) -> DataFrame:
        """Return the dataset in a session.

        Spark takes the schema from some of the files. Where it cannot read these, the schema is that of another file.

        Raises
        ------
        DatasetError
            Spark cannot read it.
        """
        try:
            return self.load(session, self.path)
        except DatasetError as error:
            schema = None if self.schema is not None else self._schema_of_another(session)
            if schema is None:
                raise
            _log.info("%s; the schema is taken from other files", error)
            return replace(self, schema=schema).load(session, self.path)

    def _schema_of_another(self, session: SparkSession) -> StructType | None:
        """Return the schema of the first file that has one, None where none of the first has."""
        with suppress(DatasetError):
            return self.load(session, self.path, ignoreCorruptFiles="true").schema
        with suppress(DatasetError):
            files = replace(self, format="binaryFile", options=self._listing_options).load(session, self.path)
            listing = Dataset(hook_of(session), files).listing()
            first = np.arange(min(listing.count, _MOST_TRIED), dtype=np.int64)
            for path in listing.paths(first) if len(first) else ():
                with suppress(DatasetError):
                    return self.load(session, path, **_ONE_FILE).schema
        return None

    @property
    def _listing_options(self) -> dict[str, str]:
        return {name: value for name, value in self.options.items() if name.lower() in _OF_LISTING}

    def load(self, session: SparkSession, *paths: str, **options: str) -> DataFrame:
        """Paths read in the same way, with further options."""
        reader = session.read.format(self.format).options(**{**self.options, **options})
        chosen = reader if self.schema is None else reader.schema(self.schema)
        return _opened(lambda: chosen.load(paths[0] if len(paths) == 1 else list(paths)), self.path)


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reads a table of the catalog, as it is now."""

    table: str

    def __call__(self, session: SparkSession) -> DataFrame:
        """The table in a session.

        Raises
        ------
        DatasetError
            Spark cannot read it.
        """

        def opened() -> DataFrame:
            session.catalog.refreshTable(self.table)
            return session.table(self.table)

        return _opened(opened, self.table)


Reader = PathReader | TableReader


def _opened(read: Callable[[], DataFrame], name: str) -> DataFrame:
    """Spark's reading of a dataset, or one clear error."""
    from pyspark.errors import PySparkException

    try:
        return read()
    except PySparkException as error:
        raise DatasetError("the dataset cannot be read", where=name, found=first_line(error)) from error
    except spark_errors() as error:
        raise DatasetError("the dataset cannot be read", **{"where": name, **what_failed(error)}) from error
