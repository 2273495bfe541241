"""The columns of an Avro file, from the schema in its header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from xskip.errors import DatasetError
from xskip.standalone.store import Store

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

__all__ = ["header_schema"]

_MAGIC = b"Obj\x01"
#: No header is longer; most have some hundred bytes.
_MAX_BYTES = 1 << 20


def header_schema(store: Store, name: str) -> pa.Schema:
    """Return the columns of an Avro file, without their types: a record is a struct, all else is of type null.

    A damaged header raises a ValueError, LookupError or TypeError.
    """
    data = BytesIO(_beginning(store.filesystem, store.prefix + name))
    if data.read(len(_MAGIC)) != _MAGIC:
        raise DatasetError("the file is no Avro file", where=name)
    schema = json.loads(_entries(data)["avro.schema"])
    kind = _kind(schema)
    if not pa.types.is_struct(kind):
        raise DatasetError("the rows of the Avro file are no records", where=name)
    return pa.schema(list(kind))


def _beginning(filesystem: FileSystem | None, path: str) -> bytes:
    if filesystem is None:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES)
    with filesystem.open_input_stream(path) as stream:
        return bytes(stream.read(_MAX_BYTES))


def _entries(data: BinaryIO) -> Mapping[str, bytes]:
    """Return the metadata of a header: blocks of pairs, of which the last has no pairs."""
    found = {}
    while count := _long(data):
        if count < 0:  # then the size of the block follows
            _long(data)
        for _ in range(abs(count)):
            key = data.read(_long(data)).decode()
            found[key] = data.read(_long(data))
    return found


def _long(data: BinaryIO) -> int:
    """Return a number of Avro: seven bits a byte, the lowest first, with the sign in the lowest bit."""
    number = shift = 0
    while True:
        byte = data.read(1)[0]
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1)


def _kind(schema: Any) -> pa.DataType:
    if isinstance(schema, list):  # a union with null
        others = [each for each in schema if each != "null"]
        return _kind(others[0]) if len(others) == 1 else pa.null()
    if isinstance(schema, dict) and schema.get("type") == "record":
        return pa.struct([pa.field(str(each["name"]), _kind(each["type"])) for each in schema["fields"]])
    return pa.null()
