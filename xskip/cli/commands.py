"""The table of the commands: what each does, its flags, an example, and the function that runs it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xskip.cli.completion import SHELLS, script
from xskip.cli.flags import COMMON, DATASET, INDEX_FLAGS, Flag, add_flag, directory, key_value, whole_number
from xskip.cli.quix_arguments import add_quix

if TYPE_CHECKING:
    from xskip.api.index import SkippingIndex
    from xskip.indexes import Index

__all__ = ["COMMANDS", "Command", "Flag"]

Run = Callable[[argparse.Namespace], int]


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes
    ----------
    name : str
        The name of the command.
    text : str
        What the command does.
    example : str
        A call of the command.
    run : callable
        A function that runs the command and returns the exit code.
    flags : tuple of Flag
        The arguments and flags.
    add : callable, optional
        A function that adds further arguments to the parser.
    """

    name: str
    text: str
    example: str
    run: Run
    flags: tuple[Flag, ...] = ()
    add: Callable[[argparse.ArgumentParser], None] | None = None


def _of_index(call: Callable[[SkippingIndex, argparse.Namespace], object], wrong: str = "") -> Run:
    """Return the function that runs an operation on an index, shows the result and returns the exit code.

    With ``--check``, the exit code is 1 if the property ``wrong`` of the result is true.
    """

    def run(arguments: argparse.Namespace) -> int:
        from xskip.cli.output import show
        from xskip.cli.sessions import opened_index

        with opened_index(arguments) as index:
            result = call(index, arguments)
            show(arguments, result)
        return int(bool(wrong and arguments.check and _is_wrong(result, wrong)))

    return run


def _is_wrong(result: object, name: str) -> bool:
    negated = name.startswith("not ")
    return bool(getattr(result, name.removeprefix("not "))) != negated


def _with_indexes(call: Callable[[SkippingIndex, argparse.Namespace, list[Index]], object]) -> Run:
    """Return the function that runs an operation with the indexes that the arguments define, checked before Spark."""

    def run(arguments: argparse.Namespace) -> int:
        from xskip.cli.definitions import wanted_indexes

        wanted = wanted_indexes(arguments)
        return _of_index(lambda index, given: call(index, given, wanted))(arguments)

    return run


def _create(index: SkippingIndex, arguments: argparse.Namespace, wanted: list[Index]) -> object:
    given: Mapping[str, Any] = {} if arguments.version is None else {"version": arguments.version}
    return index.create(wanted, on_error=arguments.on_error, **given)


def _add(index: SkippingIndex, arguments: argparse.Namespace, wanted: list[Index]) -> object:
    return index.add(wanted, on_error=arguments.on_error)


def _explain(index: SkippingIndex, arguments: argparse.Namespace) -> object:
    from xskip.cli.sessions import explained

    return explained(index, arguments.predicate, arguments.files)


def _rotate_keys(index: SkippingIndex, arguments: argparse.Namespace) -> object:
    return index.rotate_keys(dict(text.partition("=")[::2] for text in arguments.label) or None)


def _migrate(arguments: argparse.Namespace) -> int:
    from xskip.api.catalog import migrate_all
    from xskip.cli.output import show
    from xskip.cli.sessions import demand_directory, opened_index, session
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


def _list(arguments: argparse.Namespace) -> int:
    from xskip.api.catalog import list_indexes
    from xskip.cli.output import show
    from xskip.cli.sessions import demand_directory, session

    demand_directory(arguments.location)
    with session(arguments) as spark:
        spark.conf.set("spark.xskip.metadata.location", arguments.location)
        show(arguments, list_indexes(spark))
    return 0


def _exists(arguments: argparse.Namespace) -> int:
    from xskip.cli.output import show
    from xskip.cli.sessions import opened_index

    with opened_index(arguments) as index:
        exists = index.exists()
    show(arguments, {"exists": exists})
    return int(arguments.check and not exists)


def _doctor(arguments: argparse.Namespace) -> int:
    from xskip.api.doctor import doctor
    from xskip.api.session import enable
    from xskip.cli.output import show
    from xskip.cli.sessions import recorded_format, session

    with session(arguments, "avro" if arguments.avro else recorded_format(arguments)) as spark:
        enable(spark)
        diagnosis = doctor(spark, arguments.path)
        show(arguments, diagnosis)
    return int(arguments.check and not diagnosis.is_ok)


def _settings(arguments: argparse.Namespace) -> int:
    from xskip.api.configuration import settings
    from xskip.cli.output import show
    from xskip.cli.sessions import session

    with session(arguments) as spark:
        found = settings(spark)
        show(arguments, found)
    return int(arguments.check and any(each.problem for each in found))


def _jar(arguments: argparse.Namespace) -> int:
    from xskip.cli.jar import write

    return write(arguments)


def _quix(arguments: argparse.Namespace) -> int:
    from xskip.cli.quix import run_quix
    from xskip.cli.sessions import session

    with session(arguments) as spark:
        return run_quix(spark, arguments)


def _demo(arguments: argparse.Namespace) -> int:
    from xskip.api.session import check_java

    check_java()
    if arguments.lake:
        from xskip.cli.lake_demo import run_lake_demo

        return run_lake_demo(arguments.directory)
    from xskip.cli.demo import run_demo

    return run_demo(arguments.directory)


def _completion(arguments: argparse.Namespace) -> int:
    print(script(arguments.shell, arguments.parser))
    return 0


def _add_quix(parser: argparse.ArgumentParser) -> None:
    def add_common(command: argparse.ArgumentParser) -> None:
        for flag in COMMON:
            add_flag(command, flag)

    add_quix(parser, add_common)


_CHECK = Flag(("--check",), "exit with code 1 if something is out of date or wrong", {"action": "store_true"})
_DRY_RUN = Flag(("--dry-run",), "show the changes without making them", {"action": "store_true"})
_PREDICATE = Flag(("predicate",), "a condition, such as: temp > 30 and city = 'Oslo'")
_ON_ERROR = Flag(
    ("--on-error",), "whether a file that cannot be read stops the build, or stays without metadata (default: raise)",
    {"choices": ("raise", "skip"), "default": "raise"},
)  # fmt: skip
_DIRECTORY: Mapping[str, Any] = {"default": ".", "metavar": "DIRECTORY"}

COMMANDS = (
    Command(
        "create", "build an index", "xskip create /lake/events --format avro --minmax ts --valuelist city",
        _with_indexes(_create),
        (
            *DATASET, *INDEX_FLAGS, _ON_ERROR,
            Flag(("--version",), "the version of the metadata format (default: the newest)", {"type": whole_number}),
        ),
    ),
    Command(
        "refresh", "add new and changed files to the index, and remove deleted files", "xskip refresh /lake/events",
        _of_index(lambda index, a: index.refresh(
            on_error=a.on_error, trust_listing=a.trust_listing, recheck=a.recheck
        )),
        (
            *DATASET, _ON_ERROR,
            Flag(
                ("--trust-listing",), "list only new partitions and the latest ones", {"action": "store_true"}
            ),
            Flag(
                ("--recheck",), "with --trust-listing, also list this directory; can be repeated",
                {"action": "append", "default": [], "metavar": "DIRECTORY"},
            ),
        ),
    ),
    Command(
        "optimize", "merge small metadata files", "xskip optimize /lake/events", _of_index(lambda i, _: i.optimize()),
        DATASET,
    ),
    Command(
        "describe", "show the columns, index types and files of the index", "xskip describe /lake/events",
        _of_index(lambda index, _: index.describe()), DATASET,
    ),
    Command(
        "advise", "name indexes that rule out next to nothing", "xskip advise /lake/events --check",
        _of_index(lambda index, _: index.advise(), "advice"), (*DATASET, _CHECK),
    ),
    Command(
        "status", "compare the index with the present files of the dataset", "xskip status /lake/events --check",
        _of_index(lambda index, _: index.status(), "not up_to_date"), (*DATASET, _CHECK),
    ),
    Command(
        "validate", "read the files again, and name those whose statistics their rows contradict",
        "xskip validate /lake/events --sample 100 --check",
        _of_index(lambda index, a: index.validate(sample=a.sample, seed=a.seed), "wrong"),
        (
            *DATASET, _CHECK,
            Flag(("--sample",), "read at most so many files, at random", {"type": whole_number, "metavar": "FILES"}),
            Flag(
                ("--seed",), "the seed of the random choice (default: %(default)s)",
                {"type": whole_number, "default": 0},
            ),
        ),
    ),
    Command(
        "repair", "collect the statistics again that the rows of files contradict", "xskip repair /lake/events --check",
        _of_index(lambda index, a: index.repair(on_error=a.on_error), "left"), (*DATASET, _ON_ERROR, _CHECK),
    ),
    Command(
        "add", "add indexes without building the others again", "xskip add /lake/events --bloomfilter user_id",
        _with_indexes(_add), (*DATASET, *INDEX_FLAGS, _ON_ERROR),
    ),
    Command(
        "remove", "remove indexes, and keep the others", "xskip remove /lake/events \"valuelist(city)\"",
        _of_index(lambda index, a: index.remove(a.indexes)),
        (*DATASET, Flag(("indexes",), "an index as describe shows it, such as minmax(ts)", {"nargs": "+"})),
    ),
    Command(
        "history", "list the commits of the index", "xskip history /lake/events",
        _of_index(lambda index, _: index.history()), DATASET,
    ),
    Command(
        "vacuum", "remove what writers that ended early and moved datasets left", "xskip vacuum /lake/events --dry-run",
        _of_index(lambda index, a: index.vacuum(older_than=a.older_than, dry_run=a.dry_run)),
        (
            *DATASET, _DRY_RUN,
            Flag(
                ("--older-than",), "the least age of what is removed (default: %(default)s)",
                {"default": "1d", "metavar": "TIME"},
            ),
        ),
    ),
    Command(
        "adopt", "take over the index of a dataset that was moved or copied", "xskip adopt /lake/events",
        _of_index(lambda index, a: index.adopt(a.former)),
        (
            *DATASET,
            Flag(
                ("--former",), "the former root directory of the dataset",
                {"metavar": "DIRECTORY", "type": directory},
            ),
        ),
    ),
    Command(
        "files", "list the files that a query with a predicate reads", "xskip files /lake/events \"temp > 30\" --json",
        _of_index(lambda index, a: index.files(a.predicate, require_index=not a.without_index)),
        (
            *DATASET, _PREDICATE,
            Flag(("--without-index",), "list all files if there is no index", {"action": "store_true"}),
        ),
    ),
    Command(
        "explain", "show which files a query with a predicate skips, and why not more",
        "xskip explain /lake/events \"temp > 30 AND city = 'Oslo'\"", _of_index(_explain),
        (
            *DATASET, _PREDICATE,
            Flag(
                ("--files",), "also say of at most so many files why the query reads or skips each",
                {"type": whole_number, "metavar": "FILES"},
            ),
        ),
    ),
    Command(
        "exists", "show whether the dataset has an index", "xskip exists /lake/events --check", _exists,
        (*DATASET, _CHECK),
    ),
    Command("drop", "delete the index", "xskip drop /lake/events", _of_index(lambda index, _: index.drop()), DATASET),
    Command(
        "migrate", "rewrite an index in another version of the metadata format", "xskip migrate /lake/events --to 3",
        _migrate,
        (
            *DATASET,
            Flag(("--to",), "the version (default: the newest)", {"type": whole_number, "metavar": "VERSION"}),
            _DRY_RUN,
            Flag(("--all",), "migrate each index in the base location PATH", {"action": "store_true"}),
        ),
    ),
    Command(
        "rotate-keys", "encrypt the metadata with new keys",
        "xskip rotate-keys /lake/events --kms-keys keys.json --label k1=k2", _of_index(_rotate_keys),
        (
            *DATASET,
            Flag(
                ("--label",), "replace the label of a key by another label; can be repeated",
                {"action": "append", "default": [], "metavar": "OLD=NEW", "type": key_value},
            ),
        ),
    ),
    Command(
        "list", "list the indexes in a base location", "xskip list /lake/indexes", _list,
        (
            Flag(("location",), "the base location, as in spark.xskip.metadata.location", {"type": directory}),
            *COMMON,
        ),
    ),
    Command(
        "doctor", "check the installation, the settings and the indexes", "xskip doctor /lake/events --check", _doctor,
        (
            Flag(("path",), "a dataset whose index is checked, too", {"nargs": "?"}),
            Flag(("--avro",), "load spark-avro, as commands on Avro files do", {"action": "store_true"}),
            _CHECK, *COMMON,
        ),
    ),
    Command(
        "settings", "list all settings with their values and meanings",
        "xskip settings --conf spark.xskip.strict=true", _settings, (_CHECK, *COMMON),
    ),
    Command(
        "quix", "discover, read, index and replay a Quix Lake", "xskip quix topics s3a://bucket/workspace", _quix,
        add=_add_quix,
    ),
    Command(
        "jar", "write a jar of the Java classes that each driver compiles without the jar",
        "xskip jar --directory /opt",
        _jar, (Flag(("--directory",), "the directory of the jar (default: %(default)s)", _DIRECTORY), *COMMON),
    ),
    Command(
        "demo", "index a year of real flights, and run queries with and without skipping", "xskip demo", _demo,
        (
            Flag(("--lake",), "write, query, compact and replay a Quix Lake instead", {"action": "store_true"}),
            Flag(
                ("--directory",), "the directory of the data (default: %(default)s)",
                {**_DIRECTORY, "default": "xskip-demo"},
            ),
        ),
    ),
    Command(
        "completion", "print a script that completes commands and flags in a shell",
        "source <(xskip completion bash)", _completion,
        (Flag(("shell",), "the shell", {"choices": SHELLS}),),
    ),
)  # fmt: skip
