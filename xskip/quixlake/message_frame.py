"""The messages that the sink gets from users: the check of their columns, and the form in which tasks write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xskip.api.arguments import check_frame
from xskip.errors import DatasetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["MessageFrame", "message_frame"]

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_BYTES = ("binary", "string")
_HEADERS = "array<struct<key:string,value:binary>>"
_BRANCHES = "array<struct<key:string,value:struct<string:string,bytes:binary>>>"
#: The types of each column, in the notation of Spark; a column without which the sink can write is optional.
_TYPES = {
    "timestamp": ("bigint", "timestamp"),
    "key": _BYTES,
    "value": _BYTES,
    "partition": _INTEGERS,
    "offset": _INTEGERS,
    "headers": (_HEADERS, _BRANCHES),
    "stream_key": ("string",),
}
_OPTIONAL = ("headers", "stream_key")
_MILLIS_A_DAY = 86_400_000


@dataclass(frozen=True, slots=True)
class MessageFrame:
    """Messages in the form of ``io.xskip.quixlake.MessageWriter``."""

    #: The messages are sorted by stream key, partition, day and offset within partitions of Spark, and those with the
    #: same stream key, partition and day are in the same partition of Spark.
    messages: DataFrame
    #: Whether the values of headers are structs of ``string`` and ``bytes``.
    has_branches: bool


def message_frame(df: DataFrame) -> MessageFrame:
    """Check the columns of messages, and arrange the messages for tasks."""
    check_frame(df)
    types = {name: _type_of(df, name) for name in _TYPES}
    millis = "timestamp" if types["timestamp"] == "bigint" else "unix_millis(timestamp)"
    columns = df.selectExpr(
        # the cast also removes the collation of a column, which would merge different stream keys
        f"CAST({'stream_key' if types['stream_key'] else 'key'} AS STRING) AS stream_key",
        "CAST(`partition` AS BIGINT) AS `partition`",
        "CAST(`offset` AS BIGINT) AS `offset`",
        f"{millis} AS timestamp",
        "CAST(key AS BINARY) AS key",
        "CAST(value AS BINARY) AS value",
        f"{'headers' if types['headers'] else f'CAST(NULL AS {_HEADERS})'} AS headers",
    )
    # DIV rounds towards zero, but a day begins at or before its times, also before 1970.
    day = f"timestamp DIV {_MILLIS_A_DAY} - IF(timestamp % {_MILLIS_A_DAY} < 0, 1, 0) AS day"
    # MessageWriter finds the columns by their positions.
    dated = columns.selectExpr("stream_key", "`partition`", day, "`offset`", "timestamp", "key", "value", "headers")
    run = ("stream_key", "partition", "day")
    return MessageFrame(dated.repartition(*run).sortWithinPartitions(*run, "offset"), types["headers"] == _BRANCHES)


def _type_of(df: DataFrame, name: str) -> str | None:
    """Return the type of a column, None for an optional column that is missing."""
    types = [_plain(field.dataType.simpleString()) for field in df.schema.fields if field.name == name]
    if not types and name in _OPTIONAL:
        return None
    if len(types) != 1 or types[0] not in _TYPES[name]:
        raise DatasetError(
            f"the sink cannot write the column '{name}' of these messages",
            found=", ".join(types) or f"no such column among {', '.join(df.columns) or 'no columns'}",
            expected=f"one column of type {' or '.join(_TYPES[name])}",
            hint="select or cast the columns before the write",
        )
    return types[0]


def _plain(kind: str) -> str:
    """Return a type without the collation of strings and the length of texts."""
    plain = kind.partition(" collate ")[0]
    return "string" if plain.startswith(("varchar(", "char(")) else plain
