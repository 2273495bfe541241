"""The table of the commands: what each does, its flags, an example, and the function that runs it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from xskip.cli.command_functions import (
    Run,
    add,
    advise,
    create,
    demo,
    diagnose,
    drop_without_spark,
    ensure,
    exists,
    explain,
    files_without_spark,
    list_all,
    migrate,
    of_index,
    opened,
    quix,
    rotate_keys,
    savings,
    show_settings,
    status_without_spark,
    with_indexes,
    write_jar,
)
from xskip.cli.completion import SHELLS, script
from xskip.cli.flags import (
    COMMON,
    DATASET,
    INDEX_FLAGS,
    Flag,
    add_flag,
    count,
    directory,
    duration,
    key_value,
    place,
    whole_number,
)
from xskip.cli.quix_arguments import add_quix

__all__ = ["COMMANDS", "Command", "Flag"]


@dataclass(frozen=True, slots=True)
class Command:
    """A command."""

    name: str
    #: What the command does, for the help.
    text: str
    #: A call of the command.
    example: str
    run: Run
    flags: tuple[Flag, ...] = ()
    #: Adds further arguments to the parser of the command.
    add: Callable[[argparse.ArgumentParser], None] | None = None


def _completion(arguments: argparse.Namespace) -> int:
    print(script(arguments.shell, arguments.make_parser()))
    return 0


def _add_quix(parser: argparse.ArgumentParser) -> None:
    def add_common(command: argparse.ArgumentParser) -> None:
        for flag in COMMON:
            add_flag(command, flag)

    add_quix(parser, add_common)


_CHECK = Flag(("--check",), "exit with code 1 if something is out of date or wrong", {"action": "store_true"})
_DRY_RUN = Flag(("--dry-run",), "show the changes without making them", {"action": "store_true"})
_HISTORY = Flag(
    ("--history",), "the directory of the query history, for the use of the indexes by the queries of all drivers",
    {"type": place, "metavar": "DIRECTORY"},
)  # fmt: skip
_DAYS = Flag(
    ("--days",), "with a history, the number of last days that count",
    {"type": count, "metavar": "N"},
)  # fmt: skip
_PREDICATE = Flag(("predicate",), "a condition, such as: temp > 30 and city = 'Oslo'")
_ON_ERROR = Flag(
    ("--on-error",), "whether a file that cannot be read stops the build, or stays without metadata (default: raise)",
    {"choices": ("raise", "skip"), "default": "raise"},
)  # fmt: skip
_PARTS = Flag(
    ("--parts",), "the size of the parts of files that get statistics of their own, such as 8MB; none for no parts",
    {"default": "auto", "metavar": "SIZE"},
)  # fmt: skip
_AUTO = Flag(
    ("--auto",), "choose the indexes from a sample of the files, and from recorded queries", {"action": "store_true"}
)  # fmt: skip
_DIRECTORY: Mapping[str, Any] = {"default": ".", "metavar": "DIRECTORY"}

COMMANDS = (
    Command(
        "ensure", "create, change or refresh the index until the dataset has exactly these indexes, with all its files",
        "xskip ensure /lake/events --minmax ts --valuelist city", ensure,
        (
            replace(DATASET[0], text="the root directory of the dataset; without it, the datasets of --config",
                options={**DATASET[0].options, "nargs": "?"}),
            *DATASET[1:], *INDEX_FLAGS, _AUTO, _PARTS, _ON_ERROR, _DRY_RUN, _CHECK,
        ),
    ),
    Command(
        "create", "build an index", "xskip create /lake/events --format avro --minmax ts --valuelist city",
        create,
        (
            *DATASET, *INDEX_FLAGS, _AUTO, _PARTS, _ON_ERROR,
            Flag(("--version",), "the version of the metadata format (default: the newest)", {"type": whole_number}),
        ),
    ),
    Command(
        "choose", "show the indexes that xskip would choose, with the reason for each", "xskip choose /lake/events",
        of_index(lambda index, _: index.choose()), DATASET,
    ),
    Command(
        "refresh", "add new and changed files to the index, and remove deleted files", "xskip refresh /lake/events",
        of_index(lambda index, a: index.refresh(
            on_error=a.on_error, trust_listing=a.trust_listing, recheck=a.recheck, auto="revise" if a.revise else None
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
            Flag(
                ("--revise",), "then choose the indexes anew, and add and remove indexes", {"action": "store_true"}
            ),
        ),
    ),
    Command(
        "optimize", "merge small metadata files", "xskip optimize /lake/events", of_index(lambda i, _: i.optimize()),
        DATASET,
    ),
    Command(
        "describe", "show the columns, index types and files of the index", "xskip describe /lake/events",
        of_index(
            lambda index, a: index.describe(history=a.history, days=a.days),
            without_spark=opened(lambda index, a: index.describe(history=a.history, days=a.days)),
        ),
        (*DATASET, _HISTORY, _DAYS),
    ),
    Command(
        "advise", "propose indexes, removals and an order of the data, and apply what needs no decision",
        "xskip advise /lake/events --history /md/history --trial 32 --apply", advise,
        (
            *DATASET, _HISTORY, _DAYS, _CHECK,
            Flag(
                ("--trial",), "read at most so many files to measure indexes on what queries filter without one",
                {"type": count, "metavar": "FILES"},
            ),
            Flag(("--apply",), "add and remove the indexes that the advice names", {"action": "store_true"}),
            replace(_DRY_RUN, text="show what --apply would change without changing it"),
        ),
    ),
    Command(
        "savings", "show how many files and bytes the queries of all drivers have skipped",
        "xskip savings /md/history --days 7", savings,
        (
            Flag(("history",), "the directory of the query history, as spark.xskip.history.location", {"type": place}),
            _DAYS, *COMMON,
        ),
    ),
    Command(
        "status", "compare the index with the present files of the dataset", "xskip status /lake/events --check",
        of_index(lambda index, _: index.status(), "not up_to_date", without_spark=status_without_spark),
        (*DATASET, _CHECK),
    ),
    Command(
        "validate", "read the files again, and name those whose statistics their rows contradict",
        "xskip validate /lake/events --sample 100",
        of_index(lambda index, a: index.validate(sample=a.sample, seed=a.seed), "wrong", always=True),
        (
            *DATASET, _CHECK,
            Flag(("--sample",), "read at most so many files, at random", {"type": count, "metavar": "FILES"}),
            Flag(
                ("--seed",), "the seed of the random choice (default: %(default)s)",
                {"type": whole_number, "default": 0},
            ),
        ),
    ),
    Command(
        "repair", "collect the statistics again that the rows of files contradict", "xskip repair /lake/events --check",
        of_index(lambda index, a: index.repair(on_error=a.on_error), "left"), (*DATASET, _ON_ERROR, _CHECK),
    ),
    Command(
        "add", "add indexes without building the others again", "xskip add /lake/events --bloomfilter user_id",
        with_indexes(add), (*DATASET, *INDEX_FLAGS, _ON_ERROR),
    ),
    Command(
        "remove", "remove indexes, and keep the others", "xskip remove /lake/events \"valuelist(city)\"",
        of_index(lambda index, a: index.remove(a.indexes)),
        (*DATASET, Flag(("indexes",), "an index as describe shows it, such as minmax(ts)", {"nargs": "+"})),
    ),
    Command(
        "history", "list the commits of the index", "xskip history /lake/events",
        of_index(lambda index, _: index.history(), without_spark=opened(lambda index, _: index.history())), DATASET,
    ),
    Command(
        "vacuum", "remove what writers that ended early and moved datasets left", "xskip vacuum /lake/events --dry-run",
        of_index(lambda index, a: index.vacuum(older_than=a.older_than, dry_run=a.dry_run)),
        (
            *DATASET, _DRY_RUN,
            Flag(
                ("--older-than",), "the least age of what is removed (default: %(default)s)",
                {"default": "1d", "metavar": "TIME", "type": duration},
            ),
        ),
    ),
    Command(
        "adopt", "take over the index of a dataset that was moved or copied", "xskip adopt /lake/events",
        of_index(lambda index, a: index.adopt(a.former)),
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
        of_index(
            lambda index, a: index.files(a.predicate, require_index=not a.without_index),
            without_spark=files_without_spark,
        ),
        (
            *DATASET, _PREDICATE,
            Flag(("--without-index",), "list all files if there is no index", {"action": "store_true"}),
        ),
    ),
    Command(
        "explain", "show which files a query with a predicate skips, and why not more",
        "xskip explain /lake/events \"temp > 30 AND city = 'Oslo'\"", of_index(explain),
        (
            *DATASET, _PREDICATE,
            Flag(
                ("--files",), "also say of at most so many files why the query reads or skips each",
                {"type": whole_number, "metavar": "FILES"},
            ),
        ),
    ),
    Command(
        "exists", "show whether the dataset has an index", "xskip exists /lake/events --check", exists,
        (*DATASET, _CHECK),
    ),
    Command(
        "drop", "delete the index", "xskip drop /lake/events",
        of_index(lambda index, _: index.drop(), without_spark=drop_without_spark), DATASET,
    ),
    Command(
        "migrate", "rewrite an index in another version of the metadata format", "xskip migrate /lake/events --to 3",
        migrate,
        (
            *DATASET,
            Flag(("--to",), "the version (default: the newest)", {"type": whole_number, "metavar": "VERSION"}),
            _DRY_RUN,
            Flag(("--all",), "migrate each index in the base location PATH", {"action": "store_true"}),
        ),
    ),
    Command(
        "rotate-keys", "encrypt the metadata with new keys",
        "xskip rotate-keys /lake/events --kms-keys keys.json --label k1=k2", of_index(rotate_keys),
        (
            *DATASET,
            Flag(
                ("--label",), "replace the label of a key by another label; can be repeated",
                {"action": "append", "default": [], "metavar": "OLD=NEW", "type": key_value},
            ),
        ),
    ),
    Command(
        "list", "show the state of the indexes below a directory", "xskip list /lake --check", list_all,
        (
            Flag(("location",), "a directory with datasets, or a base location of indexes", {"type": place}),
            replace(_HISTORY, text="the directory of the query history, for what queries have skipped"), _DAYS, _CHECK,
            Flag(
                ("--format", "--output"), "print text, JSON, a page of HTML, or metrics for Prometheus",
                {"choices": ("text", "json", "html", "prometheus"), "default": "text", "dest": "output"},
            ),
            *(flag for flag in COMMON if "--output" not in flag.names),
        ),
    ),
    Command(
        "doctor", "check the installation, the settings and the indexes", "xskip doctor /lake/events --check", diagnose,
        (
            Flag(("path",), "a dataset whose index is checked, too", {"nargs": "?"}),
            Flag(("--avro",), "load spark-avro, as commands on Avro files do", {"action": "store_true"}),
            _CHECK, *COMMON,
        ),
    ),
    Command(
        "settings", "list all settings with their values and meanings",
        "xskip settings --conf spark.xskip.strict=true", show_settings, (_CHECK, *COMMON),
    ),
    Command(
        "quix", "discover, read, index and replay a Quix Lake", "xskip quix topics s3a://bucket/workspace", quix,
        add=_add_quix,
    ),
    Command(
        "jar", "write a jar of the Java classes that each driver compiles without the jar",
        "xskip jar --directory /opt",
        write_jar, (Flag(("--directory",), "the directory of the jar (default: %(default)s)", _DIRECTORY), *COMMON),
    ),
    Command(
        "demo", "index a year of real flights, and run queries with and without skipping", "xskip demo", demo,
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
