"""The command ``ensure``: one dataset of the command, or all datasets of a configuration file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xskip.cli import interrupts
from xskip.cli.configuration_file import AUTO, read_datasets
from xskip.cli.flags import ONE_COLUMN, parts_of, place
from xskip.cli.index_definitions import configured_indexes, wanted_or_chosen
from xskip.cli.output import show
from xskip.cli.sessions import Place, index_at, opened_index, recorded_format, session
from xskip.errors import ArgumentError, IndexDefinitionError, XskipError, message_of
from xskip.indexes import Index
from xskip.results.operations import EnsureResult
from xskip.spark.bridge.java_errors import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Dataset", "datasets_of", "run_ensure"]


_OF_PATHS = ("pathbounds", "path_unit")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset of a configuration file, with the indexes that it shall have."""

    name: str
    place: Place
    #: None leaves them to xskip.
    indexes: list[Index] | None
    #: The size of the parts of files, see :meth:`xskip.SkippingIndex.create`; ``none`` for no parts.
    parts: str = "auto"


def run_ensure(arguments: argparse.Namespace) -> int:
    """Ensure the indexes of the datasets, show the results, and return the exit code."""
    results = _ensure_path(arguments) if arguments.path is not None else _ensure_file(arguments)
    if any(each.problem for each in results):
        return 2
    return int(arguments.check and any(each.changed or each.failed for each in results))


def _ensure_path(arguments: argparse.Namespace) -> tuple[EnsureResult, ...]:
    indexes = wanted_or_chosen(arguments)
    with opened_index(arguments) as index:
        result = index.ensure(
            indexes, on_error=arguments.on_error, dry_run=arguments.dry_run, parts=parts_of(arguments.parts)
        )
        show(arguments, result)
    return (result,)


def _ensure_file(arguments: argparse.Namespace) -> tuple[EnsureResult, ...]:
    """Ensure the indexes of all datasets; an error of one does not keep the others from theirs."""
    if arguments.config is None:
        raise ArgumentError("xskip ensure needs a path, or a file with datasets", expected="PATH or --config FILE")
    _refuse_other_flags(arguments)
    datasets = list(datasets_of(arguments.config))
    fmt = "avro" if any(each.place.format.lower() == "avro" for each in datasets) else ""
    with session(arguments, fmt) as spark:
        results = tuple(_ensure_dataset(spark, each, arguments) for each in datasets)
        show(arguments, results)
    return results


def _refuse_other_flags(arguments: argparse.Namespace) -> None:
    """Raise an error for flags that would concern one dataset."""
    given = [f"--{name}" for name in ("format", "option", "location", "at", "auto") if getattr(arguments, name)]
    if given or any(getattr(arguments, name) for name in (*ONE_COLUMN, "index", "geobox", "formatted", *_OF_PATHS)):
        raise ArgumentError(
            "the file says what each dataset has", found=", ".join(given) or "an index in the command",
            hint="name the path in the command, or write the rest to the file",
        )  # fmt: skip


def datasets_of(path: str) -> Iterator[Dataset]:
    """Yield the datasets of a configuration file, with their indexes."""
    for table in read_datasets(path):
        name = str(table.get("path", table.get("table")))
        is_auto = table.get("indexes") == AUTO
        indexes = configured_indexes({key: value for key, value in table.items() if not is_auto or key != "indexes"})
        if bool(indexes) == is_auto:
            raise IndexDefinitionError(
                "a dataset has indexes together with auto" if is_auto else "a dataset has no index",
                where=f"{path}, {name}", expected='a list such as indexes = ["minmax(ts)"], or indexes = "auto"',
            )  # fmt: skip
        yield Dataset(name, _place(table), None if is_auto else indexes, table.get("parts", "auto"))


def _place(table: Mapping[str, Any]) -> Place:
    location, at = (place(table[key]) if key in table else "" for key in ("location", "at"))
    path = table.get("path", "")
    fmt = table.get("format") or (recorded_format(path, at, location) if path else "")
    return Place(path, table.get("table", ""), fmt, table.get("options", {}), location, at)


def _ensure_dataset(spark: SparkSession, dataset: Dataset, arguments: argparse.Namespace) -> EnsureResult:
    try:
        index = index_at(spark.newSession(), dataset.place)  # a session has one base location
        return index.ensure(
            dataset.indexes, on_error=arguments.on_error, dry_run=arguments.dry_run, parts=parts_of(dataset.parts)
        )
    except Exception as error:
        if interrupts.is_requested():  # the error can be what an interruption has become in the JVM
            raise
        text = message_of(error).shell if isinstance(error, XskipError) else reason(error)
        return EnsureResult(dataset.name, (), (), (), 0, 0, 0, 0.0, problem=text)
