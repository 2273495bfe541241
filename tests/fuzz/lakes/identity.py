"""The identity of a message, in the model and in the rows of a read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fuzz.lakes.model import Message
from tests.fuzz.lakes.segments import headers_text

__all__ = ["COLUMNS", "identity", "identity_of_row"]

COLUMNS = ("stream_key", "date", "partition", "offset", "timestamp", "key", "headers", "value")


def identity(message: Message) -> tuple[Any, ...]:
    """Return the values of a message of the model."""
    values = (message[name] for name in COLUMNS)
    return tuple(bytes(value) if isinstance(value, bytearray) else value for value in values)


def identity_of_row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values of a row of Spark or of Arrow."""
    headers = [{"key": each["key"], "value": _branch(each["value"])} for each in row["headers"]]
    return identity({**row, "headers": headers_text(headers)})


def _branch(value: Mapping[str, Any]) -> str | bytes:
    return value["string"] if value["bytes"] is None else bytes(value["bytes"])
