"""The arguments of the commands of a Quix Lake, without the modules that run the commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from xskip.cli.flags import COLUMN_FLAGS, add_flag, count, directory, duration, key_value, number, whole_number

__all__ = ["add_quix"]

#: what each command does, and the arguments of an example after the workspace
_COMMANDS = {
    "topics": ("list the topics of a lake", ""),
    "keys": ("list the stream keys of a topic", "sensors"),
    "partitions": ("list the Kafka partitions of a topic", "sensors --key car-7"),
    "range": ("show the range of time of a selection", "sensors --key car-7"),
    "segments": ("list the segments of a selection", "sensors --start 2026-01-31 --end 2026-02-01"),
    "metadata": ("list, set and delete the custom metadata of a topic", "sensors --key car-7 --set team=red"),
    "find": ("find stream keys by text, custom metadata and time", "car --metadata team=red"),
    "read": ("print messages of a selection", "sensors --start '2026-01-31 09:00' --limit 5 --value json"),
    "index": (
        "build the index of a topic from descriptors, or refresh it; with indexes, change it until it has just these",
        "sensors --value json --schema 'temp DOUBLE' --minmax value.temp --bloomfilter key",
    ),
    "check": ("compare descriptors with segments, without a look into segments", "sensors"),
    "validate": ("compare descriptors and names with the messages in segments", "sensors --sample 100"),
    "compact": ("merge many small segments into few, and many index files into few", "sensors --older-than 6h"),
    "clean": ("remove segments that compactions have replaced, and what interrupted writers have left", "sensors"),
    "replay": (
        "send the messages of a selection to a Kafka topic",
        "sensors --key car-7 --servers localhost:9092 --into sensors-again --speed 10",
    ),
}
_BASE = "the folder of the workspace, with the folders Raw and Metadata"
_WORKSPACE = "s3a://bucket/workspace"
_TRUST = (
    "which timestamps skip segments (default: %(default)s): checked: those that xskip has computed; names: also those "
    "that descriptors and names claim, which loses messages unless timestamps never decrease within a partition"
)
_SELECTING = ("range", "segments", "read", "replay")


def add_quix(quix: argparse.ArgumentParser, add_common: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the commands to the parser of ``xskip quix``; ``add_common`` adds the arguments of all commands."""
    commands = quix.add_subparsers(dest="quix", required=True, metavar="COMMAND")
    for name, (text, given) in _COMMANDS.items():
        command = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False,
            epilog=f"example: xskip quix {name} {_WORKSPACE} {given}".rstrip(),
        )  # fmt: skip
        command.add_argument("base", type=directory, help=_BASE)
        if name in ("read", "replay"):
            command.add_argument("topic", nargs="+", help="the names of one or several topics")
        elif name not in ("topics", "find"):
            command.add_argument("topic", help="the name of the topic")
        if name in ("topics", "keys", "partitions", "range", "segments"):
            command.add_argument("--listed", action="store_true", help="list the folders instead of the descriptors")
        if name in ("partitions", "metadata"):
            command.add_argument("--key", help="only this stream key")
        if name in _SELECTING:
            _add_filters(command)
        add_common(command)
        _add_own(command, name)


def _add_filters(command: argparse.ArgumentParser) -> None:
    command.add_argument("--key", action="append", help="a stream key; can be repeated")
    command.add_argument("--partition", action="append", type=whole_number, help="a Kafka partition; can be repeated")
    command.add_argument("--offsets", metavar="FIRST:END", help="offsets from FIRST to END, which is exclusive")
    _add_window(command)
    command.add_argument("--trust", choices=("checked", "names"), default="checked", help=_TRUST)
    text = "take each offset of a partition once, where sinks have written messages repeatedly"
    command.add_argument("--distinct-offsets", action="store_true", help=text)


def _add_window(command: argparse.ArgumentParser) -> None:
    command.add_argument("--start", help="the start of the window, inclusive, such as '2026-01-31 09:00' (UTC)")
    command.add_argument("--end", help="the end of the window, exclusive")
    text = "a name of custom metadata and its value; can be repeated"
    command.add_argument("--metadata", action="append", default=[], metavar="NAME=VALUE", type=key_value, help=text)


def _add_own(command: argparse.ArgumentParser, name: str) -> None:
    match name:
        case "find":
            command.add_argument("text", nargs="?", help="a text in topics, stream keys and custom metadata")
            _add_window(command)
        case "read":
            _add_read(command)
        case "metadata":
            _add_metadata(command)
        case "index":
            _add_index(command)
        case "validate":
            text = "compare at most so many, at random"
            command.add_argument("--sample", type=count, metavar="SEGMENTS", help=text)
        case "compact" | "clean":
            age = "1h" if name == "compact" else "1d"
            text = "the least age of the files, such as 30min, 6h or 1d (default: %(default)s)"
            command.add_argument("--older-than", type=duration, default=age, metavar="TIME", help=text)
            if name == "clean":
                text = "complete committed batches without the segments that check lists as lost"
                command.add_argument("--abandon-lost", action="store_true", help=text)
        case "replay":
            _add_replay(command)


def _add_read(command: argparse.ArgumentParser) -> None:
    text = "the number of messages (default: %(default)s)"
    command.add_argument("--limit", type=count, default=20, help=text)
    command.add_argument("--value", help="json, avro, protobuf, or an SQL expression for the payload")
    command.add_argument("--schema", help="the schema of the payload, or the name of the Protobuf message")
    command.add_argument("--descriptor", help="the file of the Protobuf descriptor set")
    text = "for Avro in Confluent's frame, a JSON file with the schema of each id"
    command.add_argument("--schemas", metavar="FILE", type=directory, help=text)


def _add_metadata(command: argparse.ArgumentParser) -> None:
    text = "set a value of the stream key; can be repeated"
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", type=key_value, help=text)
    text = "delete a name of the stream key; can be repeated"
    command.add_argument("--delete", action="append", default=[], metavar="NAME", help=text)
    text = "set and delete for the null key"
    command.add_argument("--null-key", action="store_true", help=text)


def _add_index(command: argparse.ArgumentParser) -> None:
    text = f"{_TRUST}; data: those of the messages, which the build reads"
    command.add_argument("--trust", choices=("checked", "names", "data"), default="checked", help=text)
    command.add_argument("--value", help="json, avro, or an SQL expression, for indexes on fields such as value.temp")
    command.add_argument("--schema", help="the schema of the payload")
    for flag in COLUMN_FLAGS:
        add_flag(command, flag)


def _add_replay(command: argparse.ArgumentParser) -> None:
    command.add_argument("--servers", required=True, help="the addresses of the brokers")
    command.add_argument("--into", required=True, metavar="TOPIC", help="the topic that gets the messages")
    command.add_argument("--speed", type=number, help="the factor of the original pace (default: at once)")
    text = "the timestamps of the sent messages (default: %(default)s)"
    command.add_argument("--timestamps", choices=("original", "moved", "current"), default="original", help=text)
    command.add_argument("--max-gap-ms", type=whole_number, help="shorten longer gaps to so many milliseconds")
    command.add_argument("--state", metavar="FILE", help="keep the progress, and continue from it")
