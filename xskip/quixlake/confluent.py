"""Payloads in Confluent's frame: the byte 0, the id of a schema in four bytes, and Avro. Rules: [QLK-PL]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from xskip.errors import PredicateError, error_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Schemas", "check_schemas", "framed_avro", "schemas_of"]

#: The schemas of Confluent's frames, as JSON texts, by their ids; a function returns None for an id without a schema.
Schemas: TypeAlias = "Mapping[int, str] | Callable[[int], str | None]"
_HEAD = 5
_MAX_ID = (1 << 32) - 1
_EXPECTED = "a mapping of ids to schemas as JSON texts, or a function of an id"


def check_schemas(schemas: object) -> None:
    """Raise an error unless an argument is a mapping or a function, or None."""
    if schemas is None or callable(schemas):
        return
    if not isinstance(schemas, Mapping):
        raise PredicateError("schemas has an invalid value", found=repr(schemas), expected=_EXPECTED)
    if not schemas:
        raise PredicateError("schemas has no schema", expected=_EXPECTED)
    for number, schema in schemas.items():
        _check(number, schema)


def schemas_of(frame: DataFrame, schemas: Schemas) -> Mapping[int, str]:
    """Return the schemas of messages by their ids.

    A function is called for each id in the messages, which a job of Spark reads.
    """
    return schemas if isinstance(schemas, Mapping) else _of_messages(frame, schemas)


def framed_avro(known: Mapping[int, str], reader: str | None) -> Column:
    """Return the decoded column ``value`` of messages, whose schemas are resolved to that of a reader.

    If the reader is None, its schema is that of the greatest id.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    if reader is None:
        if not known:
            raise PredicateError(
                "no message has a frame with a known schema",
                expected="schema=, that of the reader, for selections that can be empty",
            )
        reader = known[max(known)]
    head, body = F.substring("value", 1, _HEAD), F.substring(F.col("value"), _HEAD + 1, 2**31 - 1)
    found = F.when(F.col("value").isNull(), F.lit(None))
    for number, schema in sorted(known.items()):
        # spark-avro reads by the given schema, and resolves it to that of the option.
        found = found.when(head == F.lit(_head(number)), from_avro(body, schema, {"avroSchema": reader}))
    text = "a payload has no Confluent frame with a known schema: it begins with the bytes "
    error = F.raise_error(F.concat(F.lit(text), F.hex(head)))
    if not known:
        error = F.when(F.lit(False), from_avro(body, reader)).otherwise(error)
    return found.otherwise(error)


def _of_messages(frame: DataFrame, schema_of: Callable[[int], str | None]) -> dict[int, str]:
    """Return the schemas of the ids in messages."""
    from pyspark.sql import functions as F

    heads = frame.select(F.substring("value", 1, _HEAD).alias("head")).distinct().collect()
    found = {}
    for head in (bytes(row["head"]) for row in heads if row["head"] is not None):
        if len(head) == _HEAD and head[0] == 0:
            number = int.from_bytes(head[1:], "big")
            schema = _call(schema_of, number)
            if schema is not None:
                _check(number, schema)
                found[number] = schema
    return found


def _call(schema_of: Callable[[int], str | None], number: int) -> str | None:
    try:
        return schema_of(number)
    except Exception as error:
        raise PredicateError(
            "the function of the schemas failed",
            where=f"id {number}",
            found=f"{type(error).__name__}: {error_text(error)}",
            expected=_EXPECTED,
            hint="return None for an id that has no schema, such as one of a damaged payload",
        ) from error


def _head(number: int) -> bytearray:
    return bytearray(b"\0" + number.to_bytes(_HEAD - 1, "big"))


def _check(number: object, schema: object) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _MAX_ID:
        raise PredicateError("the id of a schema is invalid", found=repr(number), expected="a number of 32 bits")
    if not isinstance(schema, str):
        raise PredicateError("a schema is not a text", where=f"id {number}", found=repr(schema), expected=_EXPECTED)
