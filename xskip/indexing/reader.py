"""Readers of a dataset as users name it: files under a path, or a table.

The field ``place`` of a reader is the directory of the index's metadata. An empty text leaves the directory to the
settings and to properties of tables. Each reader is called with a session, and raises a DatasetError if Spark cannot
read the dataset.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xskip.data_systems import DATA_SYSTEMS
from xskip.errors import DatasetError
from xskip.hints import Phrase, Words
from xskip.metadatastore.snapshot import Snapshot
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.bridge.java_errors import first_line, in_short, spark_errors, what_failed
from xskip.spark.bridge.packages import FILE_SYSTEM_PACKAGE, spark_package, with_package
from xskip.spark.bridge.sessions import active_session
from xskip.spark.collect.claims import Claims
from xskip.spark.collect.relation import Dataset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["FrameReader", "PathReader", "Reader", "TableReader"]

_log = logging.getLogger("xskip")
# Reader options that select files, by which a listing finds the same files as the read.
_OF_LISTING = ("recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter", "basepath")
#: Options that read one file by its literal path, and override options by which Spark selects files.
_ONE_FILE = {"__globPaths__": "false", "recursiveFileLookup": "false", "pathGlobFilter": "*"}
#: The formats that users name; Spark knows further ones.
_FORMATS = ("parquet", "avro", "orc", "csv", "json", "text", "xml", *(s.format for s in DATA_SYSTEMS if s.is_source))
_MISSING_SOURCE = re.compile(r"Failed to find the data source: ([\w.]+?)\.?\s")
#: The maximum number of files from which the reader tries to take a schema.
_MAX_TRIED = 64


@dataclass(frozen=True, slots=True)
class PathReader:
    """A reader of the files under a path, like ``spark.read`` with the same format, options and schema."""

    path: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    #: The schema, possibly in DDL; None lets Spark infer the schema.
    schema: StructType | str | None = None
    place: str = ""

    @property
    def lower_options(self) -> dict[str, str]:
        """Return the options by names in lower case, because Spark ignores the case of option names."""
        return {name.lower(): value for name, value in self.options.items()}

    def __call__(self, session: SparkSession) -> DataFrame:
        """Return the dataset as a DataFrame of a session.

        Spark infers the schema from a few files. If Spark cannot read these files, the schema of another file is used.
        """
        try:
            return self.load(session, self.path)
        except DatasetError as error:
            schema = None if self.schema is not None else self._schema_of_another(session)
            if schema is None:
                raise
            _log.info("%s; xskip reads the schema from other files", error)
            return replace(self, schema=schema).load(session, self.path)

    def _schema_of_another(self, session: SparkSession) -> StructType | None:
        """Return the schema of the first readable file, or None if none of the first files is readable."""
        with suppress(DatasetError):
            return self.load(session, self.path, ignoreCorruptFiles="true").schema
        with suppress(DatasetError):
            files = replace(self, format="binaryFile", options=self._listing_options).load(session, self.path)
            listing = Dataset(hook_of(session), files).listing()
            first = np.arange(min(listing.count, _MAX_TRIED), dtype=np.int64)
            for path in listing.paths(first) if len(first) else ():
                if _other_format(path, self.format):
                    continue
                with suppress(DatasetError):
                    return self.load(session, path, **_ONE_FILE).schema
        return None

    @property
    def _listing_options(self) -> dict[str, str]:
        return {name: value for name, value in self.options.items() if name.lower() in _OF_LISTING}

    def load(self, session: SparkSession, *paths: str, **options: str) -> DataFrame:
        """Read paths with the format, schema and options of this reader; ``options`` override those of this reader."""
        reader = session.read.format(self.format).options(**{**self.options, **options})

        def opened() -> DataFrame:
            chosen = reader if self.schema is None else reader.schema(self.schema)
            return chosen.load(paths[0] if len(paths) == 1 else list(paths))

        return _opened(session, opened, self.path, self.format)


@dataclass(frozen=True, slots=True)
class TableReader:
    """A reader of a table in Spark's catalog."""

    table: str
    place: str = ""

    def __call__(self, session: SparkSession) -> DataFrame:
        """Return the table as a DataFrame of a session, without regard to cached listings."""

        def opened() -> DataFrame:
            session.catalog.refreshTable(self.table)
            return session.table(self.table)

        return _opened(session, opened, self.table)


@dataclass(frozen=True, slots=True)
class FrameReader:
    """A reader of a dataset whose files something else than a path or a table determines."""

    #: The name of the dataset, for error messages.
    name: str
    read: Callable[[SparkSession], DataFrame]
    #: What is known of the files that the latest DataFrame reads.
    claims: Claims | None = None
    #: Returns for each file of a snapshot whether a refresh collects the file even if it is unchanged.
    outdated: Callable[[Snapshot], npt.NDArray[np.bool_]] | None = None
    place: str = ""

    def __call__(self, session: SparkSession) -> DataFrame:
        """Return the dataset as a DataFrame of a session."""
        return _opened(session, lambda: self.read(session), self.name)


Reader = PathReader | TableReader | FrameReader


def _opened(session: SparkSession, read: Callable[[], DataFrame], name: str, fmt: str = "") -> DataFrame:
    """Call a function that reads a dataset in a session, and raise a DatasetError for any error of Spark."""
    from pyspark.errors import PySparkException

    try:
        with active_session(session):
            return read()
    except PySparkException as error:
        raise DatasetError(
            "cannot read the dataset", where=name, found=first_line(error), hint=_hint(str(error), fmt)
        ) from in_short(error)
    except spark_errors() as error:
        failed = what_failed(error)
        failed["hint"] = _hint(str(error), fmt) or _hint_at_file(failed.get("where", ""), fmt)
        raise DatasetError("cannot read the dataset", **{"where": name, **failed}) from in_short(error)


def _hint(said: str, fmt: str) -> str | None:
    """Return what to do about a source, a file system or files that Spark lacks, or None if the error says it."""
    if "Failed to find data source: avro" in said:
        by_other = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has started the JVM before the program
        configured = ", or call xskip.configure(SparkSession.builder) before the first session of the process"
        return Words("{}{}", with_package(spark_package("avro")), Phrase("" if by_other else configured, ""))
    if missing := _MISSING_SOURCE.search(said):
        close = difflib.get_close_matches(missing[1], _FORMATS, 1)
        return f"did you mean {close[0]}?" if close else f"xskip indexes {', '.join(_FORMATS)}"
    if "PATH_NOT_FOUND" in said:
        return "check the path"
    if "PARSE_SYNTAX_ERROR" in said and not fmt:
        return "name a table of the catalog; for the files of a directory, use SkippingIndex.for_path()"
    if "UNABLE_TO_INFER_SCHEMA" in said:
        another = Phrase("pass their schema", "name another format with --format")
        return Words("write files of the format {} first, or {}", fmt, another) if fmt else None
    if "FileSystem not found" in said or "No FileSystem for scheme" in said:
        return Words("check the scheme of the path, and {}", FILE_SYSTEM_PACKAGE)
    if "UnknownHostException" in said:
        return "check the address of the file system"
    if "Permission denied" in said or "AccessControlException" in said:
        return "allow this user to read the path"
    return None


def _hint_at_file(file: str, fmt: str) -> str:
    """Return what to do about a file that Spark does not read as a format; the ending of its name can name another."""
    if other := _other_format(file, fmt):
        return Words("{}", Phrase(f"did you mean the format {other}?", f"use --format {other}"))
    damaged = "repair or remove the file"
    another = Phrase("", ", or name another with --format")
    return Words("check that the format is {}{}; if the file is damaged, {}", fmt, another, damaged) if fmt else damaged


def _other_format(file: str, fmt: str) -> str | None:
    """Return the format that the ending of a file's name names, or None if it is not another one."""
    ending = file.rpartition(".")[2].lower()
    return ending if fmt and ending in _FORMATS and ending != fmt.lower() else None
