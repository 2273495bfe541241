"""The command line, a thin layer over the Python API."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from xskip import __version__
from xskip.api.catalog import list_indexes, migrate_all
from xskip.api.index import SkippingIndex
from xskip.api.session import check_java, configure
from xskip.cli.quix_arguments import add_quix
from xskip.errors import StorageError, XskipError
from xskip.indexes import (
    BloomFilter,
    GapList,
    Hybrid,
    MinMax,
    NullCount,
    OneColumn,
    PathBounds,
    Prefix,
    TokenBloom,
    ValueList,
)
from xskip.metadatastore.versions import CURRENT_VERSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["main"]

#: The index types over one column that need no parameters.
_INDEXES: tuple[type[OneColumn], ...] = (
    MinMax, ValueList, BloomFilter, NullCount, Prefix, Hybrid, GapList, TokenBloom,
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, and print an error as one line on stderr.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments without the name of the program; None takes ``sys.argv``.

    Returns
    -------
    int
        0 if the command succeeded, 2 if it failed. 1 if the demonstration found different results with skipping, or
        if a check or validation of a lake found something.
    """
    arguments = _parser().parse_args(argv)
    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark logs errors a second time, as JSON
    try:
        check_java()
        if arguments.command == "demo":
            return _demonstrate(arguments)
        if arguments.command == "jar":
            return _write_jar(arguments)
        if arguments.command == "quix":
            return _on_lake(arguments)
        return _on_index(arguments)
    except XskipError as error:
        print(f"xskip: {error}", file=sys.stderr)
        return 2


def _demonstrate(arguments: argparse.Namespace) -> int:
    if arguments.lake:
        from xskip.cli.lake_demo import run_lake_demo

        return run_lake_demo(arguments.directory)
    from xskip.cli.demo import run_demo

    return run_demo(arguments.directory)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="xskip", description="Data skipping for PySpark.")
    parser.add_argument("--version", action="version", version=f"xskip {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="index a year of real flights, and run queries with and without skipping")
    demo.add_argument("--lake", action="store_true", help="write, query, compact and replay a Quix Lake instead")
    demo.add_argument("--directory", default="xskip-demo", help="the directory of the data (default: %(default)s)")
    jar = commands.add_parser("jar", help="write a jar of the Java classes that each driver compiles without the jar")
    jar.add_argument("--directory", default=".", help="the directory of the jar (default: %(default)s)")
    _add_common(jar)
    for name, text in (
        ("create", "build an index"),
        ("refresh", "add new and changed files to the index, and remove deleted files"),
        ("optimize", "merge small metadata files"),
        ("describe", "show the columns, index types and files of the index"),
        ("status", "compare the index with the present files of the dataset"),
        ("validate", "compare the bounds in file names with the rows of the files"),
        ("files", "list the files that a query with a predicate reads"),
        ("drop", "delete the index"),
    ):
        _add_dataset(commands.add_parser(name, help=text), name)
    migrate = commands.add_parser("migrate", help="rewrite an index in another version of the metadata format")
    _add_dataset(migrate, "migrate")
    migrate.add_argument(
        "--to", type=int, default=CURRENT_VERSION, metavar="VERSION", help="the version (default: %(default)s)"
    )
    migrate.add_argument("--dry-run", action="store_true", help="show the changes without making them")
    migrate.add_argument("--all", action="store_true", help="migrate each index in the base location PATH")
    listed = commands.add_parser("list", help="list the indexes in a base location")
    listed.add_argument("location", help="the base location, as in spark.xskip.metadata.location")
    _add_common(listed)
    add_quix(commands.add_parser("quix", help="discover, read, index and replay a Quix Lake"), _add_common)
    return parser


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--output", choices=("text", "json"), default="text")
    command.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a Spark setting")
    command.add_argument(
        "--package", action="append", default=[], metavar="GROUP:ARTIFACT:VERSION", help="a Maven package"
    )


def _add_dataset(command: argparse.ArgumentParser, name: str) -> None:
    command.add_argument("path", help="the root directory of the dataset")
    command.add_argument("--format", default="parquet")
    command.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="a reader option")
    command.add_argument("--location", help="the base location of the indexes (default: in the dataset)")
    _add_common(command)
    if name == "files":
        command.add_argument("predicate", help="a condition, such as: temp > 30 and city = 'Oslo'")
    if name == "create":
        for kind in _INDEXES:
            command.add_argument(f"--{kind.name}", action="append", default=[], metavar="COLUMN")
        command.add_argument("--pathbounds", metavar="PATTERN", help="such as: ts_{ts:min}_{ts:max}")
        command.add_argument("--path-unit", choices=("", "s", "ms", "us", "ns"), default="", help="see PathBounds")
        command.add_argument("--path-zone", default="UTC", help="the time zone of periods (default: %(default)s)")
    if name == "validate":
        command.add_argument("--sample", type=int, metavar="FILES", help="read at most so many files, at random")
    if name in ("create", "refresh"):
        command.add_argument("--on-error", choices=("raise", "skip"), default="raise")
    if name == "refresh":
        command.add_argument(
            "--trust-listing", action="store_true", help="list only new partitions and the latest ones"
        )
        command.add_argument(
            "--recheck", action="append", default=[], metavar="DIRECTORY", help="also list this directory"
        )


def _on_index(arguments: argparse.Namespace) -> int:
    spark = _session(arguments)
    try:
        if arguments.command == "list":
            spark.conf.set("spark.xskip.metadata.location", arguments.location)
            _show(arguments, list_indexes(spark))
            return 0
        if arguments.command == "migrate" and arguments.all:
            results = migrate_all(spark, arguments.path, arguments.to, dry_run=arguments.dry_run)
            _show(arguments, results)
            return 2 if any(result.problem for result in results) else 0
        if arguments.location:
            spark.conf.set("spark.xskip.metadata.location", arguments.location)
        index = SkippingIndex.for_path(spark, arguments.path, format=arguments.format, options=_pairs(arguments.option))
        _show(arguments, _run(index, arguments))
    finally:
        spark.stop()
    return 0


def _on_lake(arguments: argparse.Namespace) -> int:
    from xskip.cli.quix import run_quix

    spark = _session(arguments)
    try:
        return run_quix(spark, arguments)
    finally:
        spark.stop()


def _write_jar(arguments: argparse.Namespace) -> int:
    from xskip.spark.bridge.compiler import write_jar

    folder = Path(arguments.directory)
    with _writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    spark = _session(arguments)
    try:
        path = folder / f"xskip-{__version__}-spark-{spark.version}.jar"
        with _writing_to(folder):
            write_jar(spark, str(path))
    finally:
        spark.stop()
    print(path if arguments.output == "text" else json.dumps({"path": str(path)}))
    return 0


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """Run the body, and raise its failure to write as an error that names the folder."""
    try:
        yield
    except OSError as error:
        raise StorageError("cannot write the jar", where=str(folder), found=str(error)) from error


def _run(index: SkippingIndex, arguments: argparse.Namespace) -> object:
    match arguments.command:
        case "create":
            return index.create(_wanted(arguments), on_error=arguments.on_error)
        case "refresh":
            return index.refresh(
                on_error=arguments.on_error, trust_listing=arguments.trust_listing, recheck=arguments.recheck
            )
        case "migrate":
            return index.migrate(arguments.to, dry_run=arguments.dry_run)
        case "files":
            return index.files(arguments.predicate)
        case "validate":
            return index.validate(sample=arguments.sample)
        case command:
            return getattr(index, command)()


def _wanted(arguments: argparse.Namespace) -> list[OneColumn]:
    """Return the index types that the arguments of ``create`` name."""
    wanted = [kind(column) for kind in _INDEXES for column in getattr(arguments, kind.name)]
    if arguments.pathbounds:
        wanted += PathBounds.of_pattern(arguments.pathbounds, unit=arguments.path_unit, zone=arguments.path_zone)
    return wanted


def _session(arguments: argparse.Namespace) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("xskip").config("spark.ui.enabled", "false")
    for key, value in _pairs(arguments.conf).items():
        builder = builder.config(key, value)
    if getattr(arguments, "format", "") == "avro":
        builder = configure(builder, extra_packages=arguments.package)
    elif arguments.package:
        builder = builder.config("spark.jars.packages", ",".join(arguments.package))
    return builder.getOrCreate()


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    return dict(text.partition("=")[::2] for text in texts)


def _show(arguments: argparse.Namespace, result: object) -> None:
    if arguments.output == "json":
        print(json.dumps(_plain(result), indent=1))
    elif isinstance(result, tuple):
        print("\n\n".join(map(str, result)) or "no index")
    else:
        print(result)


def _plain(result: object) -> object:
    from dataclasses import asdict

    from xskip.results.file_list import FileList

    if isinstance(result, FileList):
        return result.to_json()
    if isinstance(result, tuple):
        return [_plain(each) for each in result]
    return asdict(result)  # type: ignore[call-overload]
