"""Checks of the arguments of a lake, which come before anything else that an operation does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from datetime import timedelta
from typing import TypeVar

from xskip.errors import ArgumentError, or_none, shown
from xskip.hints import Argument, Words

__all__ = [
    "check_age",
    "check_integer",
    "check_key",
    "check_names",
    "check_options",
    "check_topic",
    "check_topics",
    "check_values",
]

Options = TypeVar("Options")


def check_topic(topic: object) -> None:
    """Raise an error unless an argument is the name of a topic."""
    if not isinstance(topic, str):
        raise ArgumentError("topic is not a text", found=shown(topic), expected="the name of a topic")


def check_topics(topics: object) -> list[str]:
    """Return the names of one or several topics of an argument, each once."""
    found = [topics] if isinstance(topics, str) else topics
    if not isinstance(found, Iterable) or isinstance(found, (bytes, Mapping, Set)):  # a set has no order
        check_topic(topics)
    assert isinstance(found, Iterable)
    texts = list(found)
    for each in texts:
        check_topic(each)
    names = [*dict.fromkeys(texts)]
    if not names:
        raise ArgumentError("no topic is given", expected="the name of a topic, or a list of names")
    return names


def check_key(key: object) -> None:
    """Raise an error unless an argument is a stream key, or None."""
    if key is not None and not isinstance(key, str):
        what = Words("{} is not a text", Argument("key"))
        raise ArgumentError(what, found=shown(key), expected=or_none("a stream key"))


def check_names(names: object) -> list[str]:
    """Return the names of custom metadata of an argument."""
    found = list(names) if isinstance(names, Iterable) and not isinstance(names, (str, bytes)) else None
    if found is None or not all(isinstance(each, str) for each in found):
        raise ArgumentError("names is not a list of texts", found=shown(names), expected="such as ['site']")
    return found


def check_values(name: str, values: object) -> None:
    """Raise an error unless an argument maps names of custom metadata to values."""
    if not isinstance(values, Mapping):
        raise ArgumentError(f"{name} is not a mapping", found=shown(values), expected="such as {'site': 'Oslo'}")


def check_age(older_than: object) -> None:
    """Raise an error unless an argument is an age."""
    if not isinstance(older_than, timedelta):
        expected = "a timedelta, such as timedelta(hours=1)"
        what = Words("{} is not an age", Argument("older_than"))
        raise ArgumentError(what, found=shown(older_than), expected=expected)


def check_options(options: Options | None, kind: type[Options]) -> None:
    """Raise an error unless an argument has the class of the options, or is None."""
    if options is not None and not isinstance(options, kind):
        expected = or_none(f"an instance of {kind.__name__}")
        raise ArgumentError("options has an invalid value", found=shown(options), expected=expected)


def check_integer(name: str, value: object) -> None:
    """Raise an error unless an option is a whole number, or None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        what = Words("{} is not a whole number", Argument(name))
        raise ArgumentError(what, found=shown(value), expected="a whole number")
