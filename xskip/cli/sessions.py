"""The Spark sessions of the commands, without Spark's own output."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xskip.api.index import SkippingIndex
from xskip.api.predicates import resolving
from xskip.api.queries import explain
from xskip.api.session import check_java, configure, enable, use_kms
from xskip.cli import interrupts
from xskip.cli.configuration_file import read_config
from xskip.errors import PredicateError, XskipError
from xskip.metadatastore.commit import find_live
from xskip.metadatastore.definition_copy import find_copy
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.kms import LocalKms
from xskip.metadatastore.location import INDEX_DIRECTORY, IndexLocation, metadata_directory
from xskip.settings import PLACES
from xskip.spark.bridge.java_errors import first_line, translate_spark_errors
from xskip.spark.query.spark_engine import engine_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xskip.results.skipping_report import SkippingReport

__all__ = [
    "Place",
    "explained",
    "index_at",
    "opened_index",
    "recorded_format",
    "session",
    "started",
]


@contextmanager
def session(arguments: argparse.Namespace, fmt: str = "") -> Iterator[SparkSession]:
    """Yield a session that can read files of a format, and stop it at the end."""
    check_java()
    if arguments.kms_keys:
        use_kms(LocalKms.from_file(arguments.kms_keys))
    with started(_builder(arguments, fmt), verbose=arguments.verbose) as spark:
        yield spark


@contextmanager
def started(builder: Any, *, verbose: bool = False) -> Iterator[SparkSession]:
    """Start a session, which stops at the end; with ``verbose``, the terminal shows what Spark logs."""
    spark = builder.getOrCreate() if verbose else _quiet(builder)
    interrupts.catch_again()
    try:
        yield spark
    finally:
        if not interrupts.is_requested():
            spark.stop()


@dataclass(frozen=True, slots=True)
class Place:
    """A dataset and the place of its index, as a command or a configuration file names them; empty if it does not."""

    path: str = ""
    table: str = ""
    format: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    #: The base location of indexes.
    location: str = ""
    #: The directory of this index.
    at: str = ""


def _recorded_format(arguments: argparse.Namespace) -> str:
    return recorded_format(arguments.path, arguments.at or "", arguments.location or "")


@contextmanager
def opened_index(arguments: argparse.Namespace) -> Iterator[SkippingIndex]:
    """Yield the index of the dataset that the arguments name."""
    config = read_config(getattr(arguments, "config", None))
    fmt = arguments.format or config.get("format") or _recorded_format(arguments) or "parquet"
    options = {**config.get("options", {}), **dict(text.partition("=")[::2] for text in arguments.option)}
    place = Place(arguments.path, "", fmt, options, arguments.location or "", arguments.at or "")
    with session(arguments, fmt) as spark:
        yield index_at(spark, place)


def index_at(spark: SparkSession, place: Place) -> SkippingIndex:
    """Return the index of a dataset, at its place, by which queries of the session find it."""
    if place.location:
        spark.conf.set("spark.xskip.metadata.location", place.location)
    if place.table:
        return SkippingIndex.for_table(spark, place.table).at(place.at or None)
    index = SkippingIndex.for_path(spark, place.path, format=place.format or "parquet", options=place.options)
    if place.at:
        root = engine_of(spark).hook.locations.qualified(place.path)
        if PLACES.error(entry := f"{root}={place.at}") is None:  # a comma in a path
            spark.conf.set(PLACES.key, entry)
    return index.at(place.at or None)


def explained(index: SkippingIndex, predicate: str, files: int | None = None) -> SkippingReport:
    """Return what skipping would do for a query with a predicate; ``files`` as for :func:`xskip.explain`."""
    df = index.read()
    enable(df.sparkSession)
    with resolving(predicate):
        filtered = df.filter(predicate)
    with translate_spark_errors(PredicateError, "Spark cannot plan a query with the predicate", predicate):
        return explain(filtered, files=files)


def recorded_format(path: str, at: str = "", base: str = "") -> str:
    """Return the file format that a local index records, before Spark starts; empty if it is not known.

    ``at`` is the directory of the index, and ``base`` the base location of indexes; empty if they are not chosen.
    """
    if any("://" in text for text in (path, at or base)):
        return ""
    root = os.path.abspath(path.removeprefix("file:"))
    directory = at or metadata_directory(root, base or None)
    with suppress(XskipError):
        found = _format_in(os.path.abspath(directory))
        if found is not None:
            return found
        copy = find_copy(LocalStorage(), IndexLocation(root, directory, root))
        if copy is not None:
            return copy.read_profile.format
        # a dataset that was moved or copied has the indexes of its former path
        others = [] if at or base else LocalStorage().directories(f"{root}/{INDEX_DIRECTORY}")
        formats = {_format_in(each) or "" for each in others}
        return formats.pop() if len(formats) == 1 else ""
    return ""


def _format_in(directory: str) -> str | None:
    """Return the format that the index in a directory records, empty if it is not known; None without an index."""
    live = find_live(LocalStorage(), directory)
    if live is None:
        return None
    profile = live.record.read_profile if live.record is not None else None
    return profile.format if profile is not None else ""


def _builder(arguments: argparse.Namespace, fmt: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("xskip").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", str(arguments.verbose).lower())
    for text in arguments.conf:
        key, _, value = text.partition("=")
        builder = builder.config(key, value)
    # an empty format is one that is not known before Spark starts
    if fmt == "avro":
        return configure(builder, extra_packages=arguments.package)
    if arguments.package:
        builder = builder.config("spark.jars.packages", ",".join(arguments.package))
    return builder


def _quiet(builder: Any) -> SparkSession:
    """Start a session whose JVM writes to a file in place of the terminal; show the file's end if the start fails."""
    with tempfile.TemporaryFile() as log:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        # A process inherits its output from its parent, so the terminal's descriptors point to the file during the
        # start.
        kept = [(number, os.dup(number)) for number in (1, 2)]
        try:
            for number, _ in kept:
                os.dup2(log.fileno(), number)
            spark: SparkSession = builder.getOrCreate()
        except Exception as error:
            log.seek(0)
            lines = log.read().decode(errors="replace").strip().splitlines()
            raise XskipError(
                "Spark does not start", found=" / ".join(lines[-3:]) or first_line(error),
                hint="use --verbose to see what Spark logs",
            ) from error  # fmt: skip
        finally:
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)
    return spark
