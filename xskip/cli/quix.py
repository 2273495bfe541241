"""The commands of a Quix Lake: what it holds, its messages, its index, and replays."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from xskip.errors import PredicateError
from xskip.quixlake import QuixLake, ReplayOptions
from xskip.quixlake.results import LakeTable, TimeRange
from xskip.results.render import text_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["add_quix", "run_quix"]

_SHOWN = 40
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
    commands = quix.add_subparsers(dest="quix", required=True)
    for name, text in _COMMANDS.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("base", help="the folder of the workspace, with the folders Raw and Metadata")
        if name not in ("topics", "find"):
            command.add_argument("topic")
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
            command.add_argument("--trust", choices=("checked", "names", "data"), default="checked")
        case "validate":
            command.add_argument("--sample", type=int, metavar="SEGMENTS", help="compare at most so many, at random")
        case "compact" | "clean":
            hours = 1.0 if name == "compact" else 24.0
            text = "the least age of the files in hours (default: %(default)s)"
            command.add_argument("--older-than", type=float, default=hours, metavar="HOURS", help=text)
        case "replay":
            command.add_argument("--servers", required=True, help="the addresses of the brokers")
            command.add_argument("--into", required=True, metavar="TOPIC", help="the topic that gets the messages")
            command.add_argument("--speed", type=float, help="the factor of the original pace (default: at once)")
            command.add_argument("--timestamps", choices=("original", "moved", "current"), default="original")
            command.add_argument("--max-gap-ms", type=int, help="shorten longer gaps to so many milliseconds")
            command.add_argument("--state", metavar="FILE", help="keep the progress, and continue from it")


def run_quix(spark: SparkSession, arguments: argparse.Namespace) -> int:
    """Run a command and print its result.

    Parameters
    ----------
    spark : SparkSession
    arguments : argparse.Namespace

    Returns
    -------
    int
        0, or 1 if a check or a validation has found something.
    """
    lake = QuixLake(spark, arguments.base)
    result = _result(lake, arguments)
    if arguments.output == "json":
        print(json.dumps(_plain(result), indent=1, default=str))
    else:
        print(result)
    return int(arguments.quix in ("check", "validate") and isinstance(result, LakeTable) and len(result) > 0)


def _result(lake: QuixLake, arguments: argparse.Namespace) -> object:
    match arguments.quix:
        case "topics":
            return lake.topics(listed=arguments.listed)
        case "keys":
            return lake.keys(arguments.topic, listed=arguments.listed)
        case "partitions":
            return lake.partitions(arguments.topic, arguments.key, listed=arguments.listed)
        case "range":
            return lake.time_range(arguments.topic, listed=arguments.listed, **_filters(arguments))
        case "segments":
            return lake.segments(arguments.topic, listed=arguments.listed, **_filters(arguments))
        case "metadata":
            return lake.metadata(arguments.topic, arguments.key)
        case "find":
            window = {"start": arguments.start, "end": arguments.end}
            return lake.find(arguments.text, metadata=_metadata(arguments), **window)
        case "check":
            return lake.check(arguments.topic)
        case "validate":
            return lake.validate(arguments.topic, sample=arguments.sample)
        case "index":
            index = lake.index(arguments.topic, trust=arguments.trust)
            return index.refresh() if index.exists() else index.create()
        case "compact":
            return lake.compact(arguments.topic, older_than=timedelta(hours=arguments.older_than))
        case "clean":
            return lake.clean(arguments.topic, older_than=timedelta(hours=arguments.older_than))
        case "replay":
            options = ReplayOptions(arguments.speed, arguments.timestamps, arguments.max_gap_ms, state=arguments.state)
            replay = lake.replay(arguments.topic, options, **_filters(arguments))
            return replay.to_kafka(arguments.servers, arguments.into)
        case _:
            return _messages(lake, arguments)


def _messages(lake: QuixLake, arguments: argparse.Namespace) -> Messages:
    frame = lake.read(
        arguments.topic, value=arguments.value, schema=arguments.schema, descriptor=arguments.descriptor,
        **_filters(arguments),
    )  # fmt: skip
    return Messages(frame.orderBy("timestamp", "partition", "offset").limit(arguments.limit))


class Messages:
    """The messages of a DataFrame, as text and as JSON.

    Parameters
    ----------
    frame : DataFrame
        The messages.
    """

    def __init__(self, frame: DataFrame) -> None:
        self.rows = [row.asDict(recursive=True) for row in frame.collect()]

    def __str__(self) -> str:
        names = ("time", "stream_key", "partition", "offset", "key", "value")
        return text_table(names, [[_short(row[name]) for name in names] for row in self.rows])

    def plain(self) -> list[dict[str, Any]]:
        """Return the rows with bytes as text; bytes that are not UTF-8 are escaped."""
        return [{name: _text(value) for name, value in row.items()} for row in self.rows]


def _text(value: object) -> Any:
    match value:
        case bytes() | bytearray():
            return bytes(value).decode("utf-8", "backslashreplace")
        case dict():
            return {name: _text(each) for name, each in value.items()}
        case list():
            return [_text(each) for each in value]
        case _:
            return value


def _short(value: object) -> str:
    text = _text(value)
    shown = text if isinstance(text, str) else json.dumps(text, default=str, ensure_ascii=False)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"


def _filters(arguments: argparse.Namespace) -> Any:
    first, _, end = (arguments.offsets or ":").partition(":")
    try:
        offsets = tuple(int(each) if each else None for each in (first, end))
    except ValueError as error:
        raise PredicateError("offsets cannot be understood", found=arguments.offsets, expected="FIRST:END") from error
    return {
        "keys": arguments.key, "partitions": arguments.partition, "offsets": offsets, "start": arguments.start,
        "end": arguments.end, "metadata": _metadata(arguments), "trust": arguments.trust,
    }  # fmt: skip


def _metadata(arguments: argparse.Namespace) -> Mapping[str, str]:
    return dict(text.partition("=")[::2] for text in arguments.metadata)


def _plain(result: object) -> object:
    from dataclasses import asdict

    match result:
        case Messages():
            return result.plain()
        case LakeTable():
            return list(result)
        case int():
            return {"removed": result}
        case TimeRange():
            return {"start": result.start, "end": result.end, "unknown": result.unknown}
        case _:
            found = asdict(result)  # type: ignore[call-overload]
            confirmed = found.get("confirmed")
            return found if confirmed is None else found | {"confirmed": [[*k, v] for k, v in confirmed.items()]}
