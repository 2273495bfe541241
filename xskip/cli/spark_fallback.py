"""Commands that show an index without Spark, which starts only where it decides what they show."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from xskip.errors import DatasetError, IndexDeletedError, MetadataNotFoundError, XskipError, message_of

if TYPE_CHECKING:
    from xskip.results.file_list import FileList
    from xskip.results.index_status import IndexStatus
    from xskip.results.operations import DropResult
    from xskip.results.overview import Overview
    from xskip.results.savings import Savings
    from xskip.standalone.opened import OpenedIndex

__all__ = [
    "NeedsSpark",
    "declare_command_process",
    "demand_directory",
    "drop_gone",
    "files",
    "indexes_below",
    "open_without_spark",
    "savings_of",
    "say_start",
    "status",
    "try_without_spark",
]

_T = TypeVar("_T")
#: Tells whether a command depends on a setting.
_DependsOn: TypeAlias = Callable[[str], bool]
#: The settings that decide where an index is, and those that decide what queries mean and read.
_PLACES, _QUERIES = ("spark.xskip.", "spark.hadoop."), ("spark.xskip.", "spark.hadoop.", "spark.sql.")
#: Settings that decide which files and partitions Spark lists, and the schema that it infers.
_LISTING = (
    "spark.sql.sources.", "spark.sql.files.ignore", "spark.sql.timestampType", "spark.sql.parquet.mergeSchema",
    "spark.sql.parquet.respectSummaryFiles",
)  # fmt: skip
#: Settings of the record of queries, which decide neither where an index is nor what it says of files.
_HISTORY = ("spark.xskip.history.location", "spark.xskip.history.days")
_SUBMITTED = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
#: A file of settings, or the key of a setting that can concern a command.
_SETTING = re.compile(r"(?:^|-D|[\s=\"'])(--properties-file|spark\.(?:xskip|hadoop|sql)\.[^\s=\"']*)")
#: What names several paths. Hadoop takes such a path as it is if it exists.
_GLOB = re.compile(r"[*?\[{\\]")
#: Whether the process runs one command, so that nothing else in it needs pandas.
_runs_one_command = False


class NeedsSpark(Exception):  # noqa: N818 - it is no error, and no user meets it
    """Signal that the result of a command depends on a session of Spark; the text is the reason."""


def declare_command_process() -> None:
    """Say that this process runs one command and ends."""
    global _runs_one_command  # noqa: PLW0603 - a fact about the process
    _runs_one_command = True


def try_without_spark(show: Callable[[argparse.Namespace], _T], arguments: argparse.Namespace) -> _T | None:
    """Return what a command shows without Spark, or say why Spark starts, and return None."""
    try:
        with _pandas_left_out():
            return show(arguments)
    except NeedsSpark as reason:
        say_start(str(reason))
        return None


def say_start(reason: str) -> None:
    """Say on stderr why Spark starts, which takes a while."""
    print(f"xskip: starts Spark, because {reason}", file=sys.stderr, flush=True)


def open_without_spark(
    arguments: argparse.Namespace, depends_on: _DependsOn = lambda key: key.startswith(_PLACES)
) -> OpenedIndex:
    """Open the index of the dataset that the arguments name, or raise NeedsSpark."""
    _check_session(arguments, ("option", "at", "format"), depends_on)
    _check_place(arguments.path, arguments.location or "")
    if getattr(arguments, "history", None):
        _check_place(arguments.history, "")
    from xskip.standalone.opened import open_index

    try:
        opened = open_index(arguments.path, location=arguments.location or None)
        snapshot = opened.snapshot
    except MetadataNotFoundError:
        raise
    except XskipError as error:
        raise _needed(error) from error
    if not snapshot.is_ours:
        raise NeedsSpark("another program has written the metadata")
    if any(file.schema.encryption is not None for file in snapshot.metadata_files):
        raise NeedsSpark("the metadata is encrypted")
    return opened


def status(arguments: argparse.Namespace) -> IndexStatus:
    """Return the state of the index that the arguments name, or raise NeedsSpark."""
    from xskip.standalone.spark_reading import KNOWN_FORMATS

    try:
        opened = open_without_spark(arguments, _decides_reading)
    except IndexDeletedError as error:  # Spark counts the files that the dataset has now
        raise NeedsSpark(error.what) from error
    recorded = opened.snapshot.read_profile
    if recorded is None or recorded.format not in KNOWN_FORMATS:
        raise NeedsSpark("only Spark knows how it reads the files")
    if not recorded.is_plain:
        raise NeedsSpark("the index depends on how queries read its columns")
    try:
        return opened.status()
    except XskipError as error:
        raise _needed(error) from error


def files(arguments: argparse.Namespace) -> FileList:
    """Return the files that a query with the predicate of the arguments reads, or raise NeedsSpark."""
    try:
        opened = open_without_spark(arguments, lambda key: key.startswith(_QUERIES) and key not in _HISTORY)
        choice = opened.choose_files(arguments.predicate)
    except MetadataNotFoundError as error:
        if not arguments.without_index:
            raise
        raise _needed(error) from error
    except XskipError as error:
        raise _needed(error) from error
    if choice.is_looser:
        raise NeedsSpark("Spark can rule out more files by this predicate")
    if choice.has_new_files:
        raise NeedsSpark("Spark can rule out files that are not indexed, by their partitions")
    return choice.files


def drop_gone(arguments: argparse.Namespace) -> DropResult:
    """Drop the index of a path that does not exist, or raise NeedsSpark."""
    _check_session(arguments, (), lambda key: key.startswith(_PLACES))
    if _authority(arguments.path) or _GLOB.search(arguments.path):
        raise NeedsSpark("only Spark knows whether the dataset exists")
    _check_place(arguments.path, arguments.location or arguments.at or "")
    from xskip.standalone.gone_dataset import drop_gone_dataset, is_gone

    path = os.path.abspath(arguments.path.removeprefix("file:").replace("///", "/", 1))
    if not is_gone(path):
        raise NeedsSpark("the dataset exists")
    dropped = drop_gone_dataset(path, arguments.location or None, arguments.at or None)
    if dropped is None:
        raise DatasetError("the path does not exist, and has no index", where=path, hint="check the path")
    return dropped


def indexes_below(arguments: argparse.Namespace) -> Overview:
    """Return the state of the indexes below the directory that the arguments name, or raise NeedsSpark."""
    demand_directory(arguments.location)
    _check_session(arguments, (), _decides_reading)
    for place in filter(None, (arguments.location, arguments.history)):
        _check_place(place, "")
    from xskip.api.overview import overview

    try:
        return overview(arguments.location, history=arguments.history, days=arguments.days)
    except XskipError as error:
        raise _needed(error) from error


def savings_of(arguments: argparse.Namespace) -> Savings:
    """Return what the queries of the history that the arguments name have skipped, or raise NeedsSpark."""
    demand_directory(arguments.history)
    _check_session(arguments, (), lambda key: key.startswith(_PLACES))
    _check_place(arguments.history, "")
    from xskip.standalone.query_history import history_without_spark, savings_in_history

    try:
        return savings_in_history(history_without_spark(arguments.history), arguments.days)
    except XskipError as error:
        raise _needed(error) from error


def _needed(error: XskipError) -> NeedsSpark:
    return NeedsSpark(message_of(error).shell)


def demand_directory(location: str) -> None:
    """Raise DatasetError if a location is a local path, and no directory."""
    if not re.match(r"(?!file:)[A-Za-z][\w+.-]*:", location) and not Path(location.removeprefix("file:")).is_dir():
        raise DatasetError("there is no such directory", where=location, hint="check the path")


def _decides_reading(key: str) -> bool:
    """Return whether a setting can change where an index is, or how Spark reads the files that it reads as is known.

    Spark's readers look at no other settings of Spark SQL than those with the prefixes and in the tables of read
    profiles.
    """
    from xskip.metadata.read_profile import ReadProfile
    from xskip.metadata.reader_settings import RECORDS, SETTING_PREFIXES, SETTINGS
    from xskip.standalone.spark_reading import KNOWN_FORMATS

    if key in _HISTORY:
        return False
    if key.startswith((*_PLACES, *_LISTING)):
        return True
    if not (key in SETTINGS or key in RECORDS or key.startswith(SETTING_PREFIXES)):
        return False
    return any(ReadProfile.of(fmt, {}, {key: "another"}) != ReadProfile.of(fmt, {}, {}) for fmt in KNOWN_FORMATS)


def _check_session(arguments: argparse.Namespace, names: tuple[str, ...], depends_on: _DependsOn) -> None:
    """Raise NeedsSpark if arguments or the configuration of Spark concern a session of Spark."""
    for name in ("conf", "package", "kms_keys", *names):
        if getattr(arguments, name):
            raise NeedsSpark(f"--{name.replace('_', '-')} is given")
    for variable in _SUBMITTED:
        for found in _SETTING.findall(os.environ.get(variable, "")):
            if found == "--properties-file" or depends_on(found):
                raise NeedsSpark(f"{variable} sets {found}")
    for path in _files_of_conf("spark-defaults.conf"):
        for key in _keys_in(path):
            if depends_on(key):
                raise NeedsSpark(f"{path} sets {key}")


def _check_place(path: str, base: str) -> None:
    """Raise NeedsSpark if only Spark or Hadoop knows the file system or the names of a path."""
    if base and _authority(path) != _authority(base):
        raise NeedsSpark("the base location is on another file system")
    if _authority(path):
        return
    if not path.startswith("file:"):
        _check_default_file_system()
    local = os.path.abspath(path.removeprefix("file:").replace("///", "/", 1))
    if os.path.realpath(local) != local:
        raise NeedsSpark("the path has a symbolic link")


def _check_default_file_system() -> None:
    """Raise NeedsSpark if the configuration of Hadoop can name another file system than the local one."""
    for variable in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        if os.environ.get(variable):
            raise NeedsSpark(f"{variable} can name another default file system")
    for name in ("core-site.xml", "spark-env.sh"):
        for file in _files_of_conf(name):
            raise NeedsSpark(f"{file} can name another default file system")


def _authority(path: str) -> str:
    """Return the scheme and the authority of a path; that of a local one is empty."""
    scheme, sign, rest = path.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if sign and scheme != "file" else ""


def _files_of_conf(name: str) -> Iterator[Path]:
    """Yield the file of a name in Spark's folder of configurations, if it is there."""
    home = os.environ.get("SPARK_HOME") or _home_of_pyspark()
    folder = os.environ.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    path = Path(folder or "", name)
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


class _WithoutPandas:
    """A finder that finds no pandas, which pyarrow imports at its first array if it is installed.

    The import takes as long as all else of a command, and no command without Spark takes or returns data frames.
    """

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname, name=fullname)


@contextmanager
def _pandas_left_out() -> Iterator[None]:
    """Keep pyarrow from importing pandas in a process that runs one command.

    pyarrow then takes pandas for not installed until the process ends.
    """
    if not _runs_one_command:
        yield
        return
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
