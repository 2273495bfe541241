"""The columns of an Avro file, from the schema in its header."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xskip.avro_container import header_entries
from xskip.errors import DatasetError
from xskip.standalone.store import Store

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

__all__ = ["header_schema"]

#: No header is longer; most have some hundred bytes.
_MAX_BYTES = 1 << 20


def header_schema(store: Store, name: str) -> pa.Schema:
    """Return the columns of an Avro file, without their types: a record is a struct, all else is of type null.

    A damaged header raises a ValueError, LookupError or TypeError.
    """
    data = BytesIO(_beginning(store.filesystem, store.prefix + name))
    try:
        schema = json.loads(header_entries(data)["avro.schema"])
    except DatasetError as error:
        raise DatasetError(error.what, where=name) from error
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


def _kind(schema: Any) -> pa.DataType:
    if isinstance(schema, list):  # a union with null
        others = [each for each in schema if each != "null"]
        return _kind(others[0]) if len(others) == 1 else pa.null()
    if isinstance(schema, dict) and schema.get("type") == "record":
        return pa.struct([pa.field(str(each["name"]), _kind(each["type"])) for each in schema["fields"]])
    return pa.null()
