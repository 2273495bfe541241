"""The commands of a Quix Lake: what it holds, its messages, its index, and replays."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xskip.api.session import enable
from xskip.cli.index_definitions import given_indexes
from xskip.errors import ArgumentError, PredicateError
from xskip.quixlake import QuixLake, ReplayOptions
from xskip.quixlake.results import LakeTable, TimeRange, shown_key
from xskip.results.render import text_table
from xskip.results.result_view import shell_text
from xskip.settings import seconds_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["run_quix"]

_SHOWN = 40


def run_quix(spark: SparkSession, arguments: argparse.Namespace) -> int:
    """Run a command, print its result, and return 1 if a check or a validation has found something, else 0."""
    enable(spark)
    lake = QuixLake(spark, arguments.base)
    result = _result(lake, arguments)
    if arguments.output == "json":
        print(json.dumps(_plain(result), indent=1, default=str))
    else:
        print(shell_text(result))
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
            return _custom_metadata(lake, arguments)
        case "find":
            window = {"start": arguments.start, "end": arguments.end}
            return lake.find(arguments.text, metadata=_values_by_name(arguments.metadata), **window)
        case "check":
            return lake.check(arguments.topic)
        case "validate":
            return lake.validate(arguments.topic, sample=arguments.sample)
        case "index":
            return _index(lake, arguments)
        case "compact":
            return lake.compact(arguments.topic, older_than=timedelta(seconds=seconds_of(arguments.older_than) or 0))
        case "clean":
            age = timedelta(seconds=seconds_of(arguments.older_than) or 0)
            return lake.clean(arguments.topic, older_than=age, abandon_lost=arguments.abandon_lost)
        case "replay":
            options = ReplayOptions(arguments.speed, arguments.timestamps, arguments.max_gap_ms, state=arguments.state)
            replay = lake.replay(arguments.topic, options, **_filters(arguments))
            return replay.to_kafka(arguments.servers, arguments.into)
        case _:
            return _messages(lake, arguments)


def _custom_metadata(lake: QuixLake, arguments: argparse.Namespace) -> LakeTable:
    """Set and delete custom metadata of a stream key, and return what there is then."""
    topic, key = arguments.topic, arguments.key
    if arguments.null_key and key is not None:
        raise ArgumentError("a stream key and the null key are given", expected="--key KEY or --null-key")
    if (arguments.set or arguments.delete) and key is None and not arguments.null_key:
        raise ArgumentError("custom metadata is that of one stream key", expected="--key KEY or --null-key")
    several = {name: values for name, values in _values_by_name(arguments.set).items() if len(values) > 1}
    if several:
        raise ArgumentError("a name is set twice", found=", ".join(sorted(several)), expected="one value for each name")
    values = {name: value for name, (value,) in _values_by_name(arguments.set).items()}
    both = values.keys() & set(arguments.delete)
    if both:
        raise ArgumentError("a name is set and deleted", found=", ".join(sorted(both)), expected="one of both")
    if values:
        lake.set_metadata(topic, key, values)
    if arguments.delete:
        lake.delete_metadata(topic, key, arguments.delete)
    found = lake.metadata(topic, key)
    if not arguments.null_key:
        return found
    import pyarrow.compute as pc

    return replace(found, table=found.table.filter(pc.is_null(found.table["stream_key"])))


def _index(lake: QuixLake, arguments: argparse.Namespace) -> object:
    indexes = given_indexes(arguments)
    index = lake.index(arguments.topic, trust=arguments.trust, value=arguments.value, schema=arguments.schema)
    if indexes:
        return index.ensure(indexes)
    if arguments.value is not None:
        raise ArgumentError(
            "a decoding of payloads serves indexes on fields",
            found="none",
            expected="such as --minmax value.temp",
        )
    return index.refresh() if index.exists() else index.create()


def _messages(lake: QuixLake, arguments: argparse.Namespace) -> Messages:
    frame = lake.read(
        arguments.topic, value=arguments.value, schema=arguments.schema, descriptor=arguments.descriptor,
        schemas=_schemas(arguments.schemas), **_filters(arguments),
    )  # fmt: skip
    ordered = frame.orderBy("timestamp", "topic", "partition", "offset")
    return Messages(ordered.limit(arguments.limit), arguments.topic)


def _schemas(path: str | None) -> dict[int, str] | None:
    """Return the schemas in a JSON file by their ids."""
    if path is None:
        return None
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        texts = {number: each if isinstance(each, str) else json.dumps(each) for number, each in found.items()}
        return {int(number): text for number, text in texts.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise PredicateError(
            "the file has no schemas by their ids", where=path, found=str(error), expected='such as {"1": {…}}'
        ) from error


class Messages:
    """The messages of a DataFrame, as text and as JSON."""

    def __init__(self, frame: DataFrame, topics: Sequence[str]) -> None:
        self._names = ("topic",) if len(topics) > 1 else ()
        self.rows = [row.asDict(recursive=True) for row in frame.collect()]

    def __str__(self) -> str:
        names = (*self._names, "time", "stream_key", "partition", "offset", "key", "value")
        return text_table(names, [[_cell(row, name) for name in names] for row in self.rows])

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


def _cell(row: Mapping[str, Any], name: str) -> str:
    return shown_key(row[name]) if name == "stream_key" else _short(row[name])


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
        "end": arguments.end, "metadata": _values_by_name(arguments.metadata), "trust": arguments.trust,
        "distinct_offsets": arguments.distinct_offsets,
    }  # fmt: skip


def _values_by_name(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return the values of each name in texts such as ``site=Oslo``."""
    found: dict[str, list[str]] = {}
    for name, _, value in (text.partition("=") for text in texts):
        found.setdefault(name, []).append(value)
    return found


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
