"""The arguments of the commands of a Quix Lake, without the modules that run the commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable

__all__ = ["add_quix"]

_COMMANDS = {
    "topics": "list the topics of a lake",
    "keys": "list the stream keys of a topic",
    "partitions": "list the Kafka partitions of a topic",
    "range": "show the range of time of a selection",
    "segments": "list the segments of a selection",
    "metadata": "list the custom metadata of a topic",
    "find": "find stream keys by text, custom metadata and time",
    "read": "print messages of a selection",
    "index": "build the index of a topic from descriptors, or refresh it",
    "check": "compare descriptors with segments, without a look into segments",
    "validate": "compare descriptors and names with the messages in segments",
    "compact": "merge many small segments into few, and many index files into few",
    "clean": "remove segments that compactions have replaced, and what interrupted writers have left",
    "replay": "send the messages of a selection to a Kafka topic",
}
_SELECTING = ("range", "segments", "read", "replay")


def add_quix(quix: argparse.ArgumentParser, add_common: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the commands to the parser of ``xskip quix``.

    Parameters
    ----------
    quix : argparse.ArgumentParser
    add_common : callable
        A function that adds the arguments of all commands.
    """
    commands = quix.add_subparsers(dest="quix", required=True, metavar="COMMAND")
    for name, text in _COMMANDS.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("base", help="the folder of the workspace, with the folders Raw and Metadata")
        if name not in ("topics", "find"):
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
    command.add_argument("--partition", action="append", type=int, help="a Kafka partition; can be repeated")
    command.add_argument("--offsets", metavar="FIRST:END", help="offsets from FIRST to before END")
    _add_window(command)
    command.add_argument("--trust", choices=("checked", "names"), default="checked", help="which timestamps count")


def _add_window(command: argparse.ArgumentParser) -> None:
    command.add_argument("--start", help="the start of the window, such as '2026-01-31 09:00' (UTC)")
    command.add_argument("--end", help="the end of the window, which is not part of it")
    command.add_argument("--metadata", action="append", default=[], metavar="NAME=VALUE", help="custom metadata")


def _add_own(command: argparse.ArgumentParser, name: str) -> None:
    match name:
        case "find":
            command.add_argument("text", nargs="?", help="a text in topics, stream keys and custom metadata")
            _add_window(command)
        case "read":
            command.add_argument("--limit", type=int, default=20, help="the number of messages (default: %(default)s)")
            command.add_argument("--value", help="json, avro, protobuf, or an SQL expression for the payload")
            command.add_argument("--schema", help="the schema of the payload, or the name of the Protobuf message")
            command.add_argument("--descriptor", help="the file of the Protobuf descriptor set")
        case "index":
            text = "which timestamps count (default: %(default)s)"
            command.add_argument("--trust", choices=("checked", "names", "data"), default="checked", help=text)
        case "validate":
            command.add_argument("--sample", type=int, metavar="SEGMENTS", help="compare at most so many, at random")
        case "compact" | "clean":
            hours = 1.0 if name == "compact" else 24.0
            text = "the least age of the files in hours (default: %(default)s)"
            command.add_argument("--older-than", type=float, default=hours, metavar="HOURS", help=text)
            if name == "clean":
                text = "complete committed batches without the segments that check lists as lost"
                command.add_argument("--abandon-lost", action="store_true", help=text)
        case "replay":
            command.add_argument("--servers", required=True, help="the addresses of the brokers")
            command.add_argument("--into", required=True, metavar="TOPIC", help="the topic that gets the messages")
            command.add_argument("--speed", type=float, help="the factor of the original pace (default: at once)")
            text = "the timestamps of the sent messages (default: %(default)s)"
            command.add_argument(
                "--timestamps", choices=("original", "moved", "current"), default="original", help=text
            )
            command.add_argument("--max-gap-ms", type=int, help="shorten longer gaps to so many milliseconds")
            command.add_argument("--state", metavar="FILE", help="keep the progress, and continue from it")
