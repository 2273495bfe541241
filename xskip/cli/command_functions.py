"""The functions that run the commands. Each imports what it needs when it runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xskip.cli.flags import parts_of

if TYPE_CHECKING:
    from xskip.api.index import SkippingIndex
    from xskip.indexes import Index
    from xskip.results.diagnosis import Check
    from xskip.standalone.opened import OpenedIndex

__all__ = [
    "Run",
    "add",
    "advise",
    "create",
    "demo",
    "diagnose",
    "drop_without_spark",
    "ensure",
    "exists",
    "explain",
    "files_without_spark",
    "list_all",
    "migrate",
    "of_index",
    "opened",
    "quix",
    "rotate_keys",
    "savings",
    "show_settings",
    "status_without_spark",
    "with_indexes",
    "write_jar",
]

#: A function that runs a command and returns the exit code.
Run = Callable[[argparse.Namespace], int]


def of_index(
    call: Callable[[SkippingIndex, argparse.Namespace], object],
    wrong: str = "",
    *,
    always: bool = False,
    without_spark: Callable[[argparse.Namespace], object] | None = None,
) -> Run:
    """Return the function that runs an operation on an index, shows the result and returns the exit code.

    With ``--check``, or with ``always``, the exit code is 1 if the property ``wrong`` of the result is true.
    ``without_spark`` returns the same result without Spark, or raises NeedsSpark.
    """

    def run(arguments: argparse.Namespace) -> int:
        result = _shown(arguments, without_spark) if without_spark else None
        if result is None:
            from xskip.cli.output import show
            from xskip.cli.sessions import opened_index

            with opened_index(arguments) as index:
                result = call(index, arguments)
                show(arguments, result)
        return int(bool(wrong and (always or arguments.check) and _is_wrong(result, wrong)))

    return run


def _shown(arguments: argparse.Namespace, find: Callable[[argparse.Namespace], object]) -> object | None:
    """Show and return a result without Spark, or return None if it needs Spark."""
    from xskip.cli.spark_fallback import try_without_spark

    result = try_without_spark(find, arguments)
    if result is not None:
        from xskip.cli.output import show

        show(arguments, result)
    return result


def opened(call: Callable[[OpenedIndex, argparse.Namespace], object]) -> Callable[[argparse.Namespace], object]:
    """Return the function that calls an operation on an index that is opened without Spark."""

    def find(arguments: argparse.Namespace) -> object:
        from xskip.cli.spark_fallback import open_without_spark

        return call(open_without_spark(arguments), arguments)

    return find


def status_without_spark(arguments: argparse.Namespace) -> object:
    """Return the state of the index without Spark."""
    from xskip.cli.spark_fallback import status

    return status(arguments)


def files_without_spark(arguments: argparse.Namespace) -> object:
    """Return the files that a predicate needs without Spark."""
    from xskip.cli.spark_fallback import files

    return files(arguments)


def _is_wrong(result: object, name: str) -> bool:
    negated = name.startswith("not ")
    return bool(getattr(result, name.removeprefix("not "))) != negated


def with_indexes(call: Callable[[SkippingIndex, argparse.Namespace, list[Index]], object]) -> Run:
    """Return the function that runs an operation with the indexes that the arguments define, checked before Spark."""

    def run(arguments: argparse.Namespace) -> int:
        from xskip.cli.index_definitions import wanted_indexes

        wanted = wanted_indexes(arguments)
        return of_index(lambda index, given: call(index, given, wanted))(arguments)

    return run


def create(arguments: argparse.Namespace) -> int:
    """Create the index with the definitions of the command, or with those that xskip chooses."""
    from xskip.cli.index_definitions import wanted_or_chosen

    wanted = wanted_or_chosen(arguments)
    given: Mapping[str, Any] = {} if arguments.version is None else {"version": arguments.version}
    return of_index(
        lambda index, a: index.create(wanted, on_error=a.on_error, parts=parts_of(a.parts), **given)
    )(arguments)  # fmt: skip


def ensure(arguments: argparse.Namespace) -> int:
    """Create, change or refresh indexes until the datasets have exactly those of the command or the file."""
    from xskip.cli.ensure import run_ensure

    return run_ensure(arguments)


def add(index: SkippingIndex, arguments: argparse.Namespace, wanted: list[Index]) -> object:
    """Add the definitions of the command to the index."""
    return index.add(wanted, on_error=arguments.on_error)


def advise(arguments: argparse.Namespace) -> int:
    """Show the advice on an index, or apply it."""
    return of_index(_advice, "advice", without_spark=_advice_without_spark)(arguments)


def _advice(index: SkippingIndex, arguments: argparse.Namespace) -> object:
    advice = index.advise(history=arguments.history, days=arguments.days, trial=arguments.trial)
    return advice.apply(dry_run=arguments.dry_run) if arguments.apply or arguments.dry_run else advice


def _advice_without_spark(arguments: argparse.Namespace) -> object:
    from xskip.cli.spark_fallback import NeedsSpark

    for name in ("trial", "apply", "dry_run"):
        if getattr(arguments, name):
            raise NeedsSpark(f"--{name.replace('_', '-')} is given")
    return opened(lambda index, a: index.advise(history=a.history, days=a.days))(arguments)


def explain(index: SkippingIndex, arguments: argparse.Namespace) -> object:
    """Return what skipping would do for the predicate of the command."""
    from xskip.cli.sessions import explained

    return explained(index, arguments.predicate, arguments.files)


def rotate_keys(index: SkippingIndex, arguments: argparse.Namespace) -> object:
    """Encrypt the master keys of the index anew."""
    return index.rotate_keys(dict(text.partition("=")[::2] for text in arguments.label) or None)


def migrate(arguments: argparse.Namespace) -> int:
    """Migrate one index, or all indexes below a location."""
    from xskip.api.catalog import migrate_all
    from xskip.cli.output import show
    from xskip.cli.sessions import opened_index, session
    from xskip.cli.spark_fallback import demand_directory
    from xskip.metadatastore.versions import CURRENT_VERSION

    version = CURRENT_VERSION if arguments.to is None else arguments.to
    if not arguments.all:
        with opened_index(arguments) as index:
            show(arguments, index.migrate(version, dry_run=arguments.dry_run))
        return 0
    demand_directory(arguments.path)
    with session(arguments) as spark:
        results = migrate_all(spark, arguments.path, version, dry_run=arguments.dry_run)
        show(arguments, results)
    return 2 if any(result.problem for result in results) else 0


def list_all(arguments: argparse.Namespace) -> int:
    """Show the state of the indexes below a directory."""
    from xskip.cli.spark_fallback import indexes_below, try_without_spark

    found = try_without_spark(indexes_below, arguments)
    if found is None:
        from xskip.api.overview import overview
        from xskip.cli.sessions import session

        with session(arguments) as spark:
            found = overview(arguments.location, spark=spark, history=arguments.history, days=arguments.days)
    from xskip.cli.output import show

    show(arguments, found)
    return int(arguments.check and bool(found.outdated))


def drop_without_spark(arguments: argparse.Namespace) -> object:
    """Drop the index of a path that does not exist."""
    from xskip.cli.spark_fallback import drop_gone

    return drop_gone(arguments)


def savings(arguments: argparse.Namespace) -> int:
    """Show what the queries of a history have skipped."""
    from xskip.cli.output import show
    from xskip.cli.spark_fallback import savings_of, try_without_spark

    found = try_without_spark(savings_of, arguments)
    if found is None:
        from xskip.api.queries import savings
        from xskip.cli.sessions import session

        with session(arguments) as spark:
            found = savings(spark, history=arguments.history, days=arguments.days)
    show(arguments, found)
    return 0


def exists(arguments: argparse.Namespace) -> int:
    """Show whether the dataset has an index."""
    from xskip.cli.output import show
    from xskip.cli.sessions import opened_index

    with opened_index(arguments) as index:
        exists = index.exists()
    show(arguments, {"exists": exists})
    return int(arguments.check and not exists)


def diagnose(arguments: argparse.Namespace) -> int:
    """Run the diagnosis in the words of the shell."""
    from xskip.api.doctor import doctor
    from xskip.api.session import enable
    from xskip.cli.output import show
    from xskip.cli.sessions import recorded_format, session

    known = recorded_format(arguments.path) if arguments.path is not None else ""
    with session(arguments, "avro" if arguments.avro else known) as spark:
        enable(spark)
        diagnosis = doctor(spark, arguments.path)
        diagnosis = replace(diagnosis, checks=tuple(map(_in_shell, diagnosis.checks)))
        show(arguments, diagnosis)
    return int(arguments.check and any(check.state != "ok" for check in diagnosis))


def _in_shell(check: Check) -> Check:
    # The commands load spark-avro when they need it.
    if check.name == "spark-avro" and check.state == "warning":
        return replace(check, state="ok", found="not loaded; commands on Avro files load it", advice="")
    return check


def show_settings(arguments: argparse.Namespace) -> int:
    """Show the settings of the session."""
    from xskip.api.configuration import settings
    from xskip.cli.output import show
    from xskip.cli.sessions import session

    with session(arguments) as spark:
        found = settings(spark)
        show(arguments, found)
    return int(arguments.check and any(each.problem for each in found))


def write_jar(arguments: argparse.Namespace) -> int:
    """Write the jar of the hook."""
    from xskip.cli.jar import write

    return write(arguments)


def quix(arguments: argparse.Namespace) -> int:
    """Run a command on a Quix Lake."""
    from xskip.cli.quix import run_quix
    from xskip.cli.sessions import session
    from xskip.cli.spark_fallback import say_start

    say_start(f"xskip quix {arguments.quix} runs in it")
    with session(arguments) as spark:
        return run_quix(spark, arguments)


def demo(arguments: argparse.Namespace) -> int:
    """Run a demonstration, on flights or on a lake."""
    from xskip.api.session import check_java

    check_java()
    if arguments.lake:
        from xskip.cli.lake_demo import run_lake_demo

        return run_lake_demo(arguments.directory)
    from xskip.cli.demo import run_demo

    return run_demo(arguments.directory)
