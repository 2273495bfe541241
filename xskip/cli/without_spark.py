"""Commands that show an index without Spark, which starts only where it decides what they show."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from xskip.errors import DatasetError, IndexDeletedError, MetadataNotFoundError, XskipError

if TYPE_CHECKING:
    from xskip.results.file_list import FileList
    from xskip.results.index_status import IndexStatus
    from xskip.results.overview import Overview
    from xskip.standalone.opened import OpenedIndex

__all__ = [
    "NeedsSpark",
    "demand_directory",
    "files",
    "indexes_below",
    "open_without_spark",
    "status",
    "try_without_spark",
]

_T = TypeVar("_T")
#: The formats of whose files xskip knows without Spark how Spark reads them.
_FORMATS = ("parquet", "avro")
#: The settings that decide where an index is, and those that decide how queries read.
_PLACES, _READING = ("spark.xskip.",), ("spark.xskip.", "spark.sql.")
_SUBMITTED = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS")


class NeedsSpark(Exception):  # noqa: N818 - it is no error, and no user meets it
    """What a command shows depends on a session of Spark, for the reason in the text."""


def try_without_spark(show: Callable[[argparse.Namespace], _T], arguments: argparse.Namespace) -> _T | None:
    """Return what a command shows without Spark, or say why Spark starts, and return None."""
    try:
        with _pandas_left_out():
            return show(arguments)
    except NeedsSpark as reason:
        print(f"xskip: starts Spark, because {reason}", file=sys.stderr, flush=True)
        return None


def open_without_spark(arguments: argparse.Namespace, *, reads: bool = False) -> OpenedIndex:
    """Open the index of the dataset that the arguments name, or raise NeedsSpark.

    ``reads`` says that the command depends on how queries read the files.
    """
    _check_arguments(arguments, ("option", "at", "format"), _READING if reads else _PLACES)
    from xskip.standalone.opened import open_index

    try:
        opened = open_index(arguments.path, location=arguments.location or None)
        snapshot = opened.snapshot
    except IndexDeletedError as error:
        raise NeedsSpark(error.what) from error
    except MetadataNotFoundError:
        raise
    except XskipError as error:
        raise NeedsSpark(str(error)) from error
    if not snapshot.is_ours:
        raise NeedsSpark("another program has written the metadata")
    if any(file.schema.encryption is not None for file in snapshot.metadata_files):
        raise NeedsSpark("the metadata is encrypted")
    return opened


def status(arguments: argparse.Namespace) -> IndexStatus:
    """Return the state of the index that the arguments name, or raise NeedsSpark."""
    opened = open_without_spark(arguments, reads=True)
    recorded = opened.snapshot.read_profile
    if recorded is None or recorded.format not in _FORMATS:
        raise NeedsSpark("only Spark knows how it reads the files")
    if recorded.options or set(recorded.columns) - {"time"}:
        raise NeedsSpark("the index depends on how queries read its columns")
    try:
        return opened.status()
    except XskipError as error:
        raise NeedsSpark(str(error)) from error


def files(arguments: argparse.Namespace) -> FileList:
    """Return the files that a query with the predicate of the arguments reads, or raise NeedsSpark."""
    try:
        found = open_without_spark(arguments, reads=True).files_as_in_spark(arguments.predicate)
    except XskipError as error:
        raise NeedsSpark(str(error)) from error
    if found is None:
        raise NeedsSpark("Spark can rule out more files by this predicate")
    return found


def indexes_below(arguments: argparse.Namespace) -> Overview:
    """Return the state of the indexes below the directory that the arguments name, or raise NeedsSpark."""
    demand_directory(arguments.location)
    _check_arguments(arguments, (), _PLACES)
    from xskip.standalone.overview import overview_without_spark

    try:
        return overview_without_spark(arguments.location)
    except XskipError as error:
        raise NeedsSpark(str(error)) from error


def demand_directory(location: str) -> None:
    """Raise DatasetError if a location is a local path, and no directory."""
    if "://" not in location and not Path(location.removeprefix("file:")).is_dir():
        raise DatasetError("the base location does not exist", where=location)


def _check_arguments(arguments: argparse.Namespace, names: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Raise NeedsSpark if arguments or the configuration of Spark concern a session of Spark."""
    for name in ("conf", "package", "kms_keys", *names):
        if getattr(arguments, name):
            raise NeedsSpark(f"--{name.replace('_', '-')} is given")
    for variable in _SUBMITTED:
        if re.search(r"(^|-D|[\s=\"\'])(spark\.(xskip|sql)\.|--properties-file)", os.environ.get(variable, "")):
            raise NeedsSpark(f"{variable} has settings of Spark")
    for path in _defaults():
        for key in _keys_in(path):
            if key.startswith(settings):
                raise NeedsSpark(f"{path} sets {key}")


def _defaults() -> Iterator[Path]:
    """Yield the file with the default settings of a session, if there is one."""
    home = os.environ.get("SPARK_HOME") or _home_of_pyspark()
    folder = os.environ.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    path = Path(folder or "", "spark-defaults.conf")
    if folder and path.is_file():
        yield path


def _home_of_pyspark() -> str:
    found = importlib.util.find_spec("pyspark")
    return next(iter(found.submodule_search_locations or ()), "") if found else ""


def _keys_in(path: Path) -> Iterator[str]:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        raise NeedsSpark(f"{path} cannot be read") from error
    return (re.split(r"[\s=:]", line.strip(), maxsplit=1)[0] for line in lines)


class _WithoutPandas(MetaPathFinder):
    """A finder that finds no pandas, which pyarrow imports at its first array if it is installed.

    The import takes as long as all else of a command, and no command without Spark takes or returns data frames.
    """

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname, name=fullname)


@contextmanager
def _pandas_left_out() -> Iterator[None]:
    """Keep pyarrow from importing pandas."""
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
