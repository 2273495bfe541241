"""Random filters of messages: as SQL text, as arguments of a read, and as functions of Python."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.fuzz.lakes.model import Message

__all__ = ["Condition", "arguments", "condition"]

_OPS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, other: one == other, "<>": lambda one, other: one != other,
    "<": lambda one, other: one < other, "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other, ">=": lambda one, other: one >= other,
}  # fmt: skip
_EPOCH = dt.datetime(1970, 1, 1)
_NUMBERS = ("timestamp", "timestamp", "offset", "offset", "partition")


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter: its text in SQL, and its result for a message, which is None for NULL."""

    sql: str
    test: Callable[[Message], bool | None]

    def selects(self, message: Message) -> bool:
        """Return whether the filter is TRUE for a message."""
        return self.test(message) is True


def condition(random: Random, messages: list[Message], depth: int = 2) -> Condition:
    """Return a random filter, mostly about values of some messages."""
    choice = random.random()
    if depth == 0 or choice < 0.45:
        return _leaf(random, random.choice(messages))
    first = condition(random, messages, depth - 1)
    if choice < 0.6:
        return Condition(f"NOT ({first.sql})", lambda m: None if (found := first.test(m)) is None else not found)
    second = condition(random, messages, depth - 1)
    if choice < 0.85:
        return Condition(f"({first.sql} AND {second.sql})", lambda m: _all(first.test(m), second.test(m)))
    return Condition(f"({first.sql} OR {second.sql})", lambda m: _any(first.test(m), second.test(m)))


def _all(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _any(one: bool | None, other: bool | None) -> bool | None:
    if one is True or other is True:
        return True
    return None if one is None or other is None else False


def _leaf(random: Random, near: Message) -> Condition:
    makers = (_number, _number, _number, _in, _between, _time, _time, _day, _date, _text, _text, _null, _key, _topic)
    return random.choice(makers)(random, near)


def _value(random: Random, near: Message, column: str) -> int:
    base = near[column] if near[column] is not None else 0
    return int(base + random.choice((0, 0, 0, 1, -1, 5, -3000, 5000, 86_400_000)))


def _number(random: Random, near: Message) -> Condition:
    column, op = random.choice(_NUMBERS), random.choice(tuple(_OPS))
    value = _value(random, near, column)
    return Condition(f"`{column}` {op} {value}L", _compared(column, op, value))


def _compared(column: str, op: str, value: Any) -> Callable[[Message], bool | None]:
    return lambda m: None if m[column] is None else _OPS[op](m[column], value)


def _in(random: Random, near: Message) -> Condition:
    column = random.choice(_NUMBERS)
    values = [_value(random, near, column) for _ in range(random.choice((1, 2, 5)))]
    text = ", ".join(f"{value}L" for value in values)
    return Condition(f"`{column}` IN ({text})", lambda m: None if m[column] is None else m[column] in values)


def _between(random: Random, near: Message) -> Condition:
    column = random.choice(_NUMBERS)
    low, high = (_value(random, near, column) for _ in range(2))
    return Condition(
        f"`{column}` BETWEEN {low}L AND {high}L", lambda m: None if m[column] is None else low <= m[column] <= high
    )


def _time(random: Random, near: Message) -> Condition:
    value, op = _value(random, near, "timestamp"), random.choice(tuple(_OPS))
    moment = _EPOCH + dt.timedelta(milliseconds=value)
    literal = random.choice((f"TIMESTAMP'{moment}Z'", f"timestamp_millis({value}L)"))
    return Condition(f"time {op} {literal}", _compared("timestamp", op, value))


def _day(random: Random, near: Message) -> Condition:
    """Return a filter on the day of the time, in sessions whose time zone is UTC."""
    day, op = (_EPOCH + dt.timedelta(milliseconds=_value(random, near, "timestamp"))).date(), random.choice(tuple(_OPS))
    text = random.choice((f"to_date(time) {op} DATE'{day}'", f"CAST(time AS DATE) {op} DATE'{day}'"))
    return Condition(text, lambda m: _OPS[op]((_EPOCH + dt.timedelta(milliseconds=m["timestamp"])).date(), day))


def _date(random: Random, near: Message) -> Condition:
    op, day = random.choice(tuple(_OPS)), near["date"] or dt.date(2025, 8, 21)
    return Condition(f"date {op} DATE'{day}'", _compared("date", op, day))


def _text(random: Random, near: Message) -> Condition:
    key = random.choice((near["stream_key"], "a", "none", "10")) or ""
    quoted = key.replace("\\", "\\\\").replace("'", "\\'")
    if random.random() < 0.2:
        return Condition(
            f"startswith(stream_key, '{quoted}')",
            lambda m: None if m["stream_key"] is None else m["stream_key"].startswith(key),
        )
    op = random.choice(tuple(_OPS))
    return Condition(
        f"stream_key {op} '{quoted}'",
        lambda m: None if m["stream_key"] is None else _OPS[op](m["stream_key"].encode(), key.encode()),
    )


def _null(random: Random, near: Message) -> Condition:
    column = random.choice(("stream_key", "partition", "key", "date", "timestamp", "offset", "value"))
    if random.random() < 0.5:
        return Condition(f"`{column}` IS NULL", lambda m: m[column] is None)
    return Condition(f"`{column}` IS NOT NULL", lambda m: m[column] is not None)


def _key(random: Random, near: Message) -> Condition:
    column, value = random.choice(("key", "value")), random.choice((b"k", b"", b"x", b"none"))
    return Condition(f"`{column}` = X'{value.hex()}'", _compared(column, "=", value))


def _topic(random: Random, near: Message) -> Condition:
    name, op = random.choice(("t", "u")), random.choice(("=", "<>"))
    holds = _OPS[op]("t", name)
    return Condition(f"topic {op} '{name}'", lambda _: holds)


def arguments(random: Random, messages: list[Message]) -> tuple[dict[str, Any], Callable[[Message], bool]]:
    """Return random arguments of a read, and the function that says which messages they select."""
    near = random.choice(messages)
    found: dict[str, Any] = {}
    tests: list[Callable[[Message], bool]] = []
    low, first = _value(random, near, "timestamp"), _value(random, near, "offset")
    end, after = low + random.choice((0, 1, 2000, 10_000, 86_400_000)), first + random.choice((0, 1, 20))
    if random.random() < 0.5:
        found["start"] = _moment(random, low)
        tests.append(lambda m: m["timestamp"] >= low)
    if random.random() < 0.4:
        found["end"] = _moment(random, end)
        tests.append(lambda m: m["timestamp"] < end)
    if random.random() < 0.3:
        sides = random.choice(((first, after), (first, None), (None, after)))
        found["offsets"] = sides
        tests.append(lambda m: sides[0] is None or m["offset"] >= sides[0])
        tests.append(lambda m: sides[1] is None or m["offset"] < sides[1])
    if random.random() < 0.3:
        key = near["stream_key"]
        keys = random.choice(([key], [key, None], [key, "a", "none"], key if key is not None else [None]))
        found["keys"] = keys
        tests.append(lambda m: m["stream_key"] in ([keys] if isinstance(keys, str) else keys))
    if random.random() < 0.2 and near["partition"] is not None:
        partitions = random.choice((near["partition"], [near["partition"], 1]))
        found["partitions"] = partitions
        tests.append(lambda m: m["partition"] in ([partitions] if isinstance(partitions, int) else partitions))
    return found, lambda m: all(test(m) for test in tests)


def _moment(random: Random, millis: int) -> Any:
    """Return a moment in one of the forms that a read takes."""
    moment = _EPOCH.replace(tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=millis)
    return random.choice((millis, moment, moment.isoformat(sep=" ", timespec="milliseconds")))
