"""The records in an Avro container, decoded by fastavro. Rules: [QLK-RE-2] [QLK-RE-6]."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import count
from typing import Any, TypeAlias

from xskip.errors import DatasetError

__all__ = ["UNIT", "Container", "Schema", "SegmentDamageError"]

#: A schema as fastavro parses it: a name, a list of branches, or a mapping.
Schema: TypeAlias = Any
#: The attribute of a schema with what the file has as its logical type.
UNIT = "unit"
_MAGIC, _GZIP = b"Obj\x01", b"\x1f\x8b"
_INSTALL = "install it with: pip install xskip[quix]"


class SegmentDamageError(Exception):
    """Error for bytes that are no segment; the message is the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A container whose header is known.

    The values of its records are plain: no logical type changes them, and a map is a list of pairs of ``key`` and
    ``value``. Strings have surrogates for bytes that are not UTF-8.
    """

    #: The schema of records, whose references are full names.
    schema: Schema
    #: The named schemas in it.
    named: Mapping[str, Schema]
    _blocks: Any
    _size: int

    @classmethod
    def of(cls, data: bytes) -> Container:
        """Return the container in the content of a file, which can be in gzip."""
        try:
            import fastavro
        except ImportError as error:
            raise DatasetError("a lake is read without Spark by fastavro", hint=_INSTALL) from error
        data = _unzipped(data)
        named: dict[str, Schema] = {}
        try:
            blocks: Any = fastavro.block_reader(BytesIO(data))
            plain = _plain(json.loads(blocks.metadata["avro.schema"]), count())
            schema = fastavro.parse_schema(plain, named, _write_hint=False)
        except Exception as error:
            raise SegmentDamageError(f"its header is damaged: {error!r}") from error
        if not isinstance(schema, dict) or schema["type"] != "record":
            raise SegmentDamageError(f"its records have the type {schema}, which is no message")
        return cls(schema, named, blocks, len(data))

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yield the records in their order."""
        import fastavro

        end = None
        several = {"type": "array", "items": self.schema}
        try:
            for block in self._blocks:
                end = block.offset + block.size
                # The records of a block are an array, if their number comes before them, and zero after them.
                items = BytesIO(_long(block.num_records) + block.bytes_.read() + b"\0")
                yield from fastavro.schemaless_reader(  # type: ignore[misc]
                    items, several, None, handle_unicode_errors="surrogateescape"
                )
        except Exception as error:
            if "need to install" in str(error):
                raise DatasetError("fastavro lacks a codec", found=str(error), hint=_INSTALL) from error
            raise SegmentDamageError(f"its content is damaged: {error!r}") from error
        # fastavro takes a number that is cut off for the end of the container.
        if end is not None and end != self._size:
            raise SegmentDamageError("it ends before its content does")


def _unzipped(data: bytes) -> bytes:
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, ValueError) as error:
            raise SegmentDamageError(f"its content in gzip is damaged: {error}") from error
    if not data.startswith(_MAGIC):
        found = f"begins with the bytes {data[:4].hex(' ')}" if data else "is empty"
        raise SegmentDamageError(f"it is not an Avro file: it {found}")
    return data


def _long(number: int) -> bytes:
    """Return a number, which is not negative, as Avro encodes it."""
    out, rest = bytearray(), number << 1
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def _plain(schema: Schema, numbers: Iterator[int]) -> Schema:
    """Return a schema without logical types, and with maps as arrays of pairs, which have the same encoding."""
    match schema:
        case list():
            return [_plain(each, numbers) for each in schema]
        case {"type": "record" | "error", "fields": fields}:
            # without defaults and aliases, which matter only to a reader with another schema
            own = [{"name": each["name"], "type": _plain(each["type"], numbers)} for each in fields]
            return {**{name: schema[name] for name in ("name", "namespace") if name in schema}, **_record(own)}
        case {"type": "array", "items": items}:
            return {"type": "array", "items": _plain(items, numbers)}
        case {"type": "map", "values": values}:
            pair = [{"name": "key", "type": "string"}, {"name": "value", "type": _plain(values, numbers)}]
            return {"type": "array", "items": {"name": f"XskipPair{next(numbers)}", **_record(pair)}}
        case {"type": "enum" | "fixed"}:
            return {name: value for name, value in schema.items() if name != "logicalType"}
        case {"type": str(primitive), "logicalType": unit}:
            return {"type": primitive, UNIT: unit}
        case {"type": inner}:
            return _plain(inner, numbers)
        case _:
            return schema


def _record(fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "fields": fields}
