"""The messages of a segment without Spark, as columns of Arrow. Rules: [QLK-RE].

``io.xskip.quixlake.MessageReader`` decodes the same messages for Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from xskip.quixlake.avro_container import UNIT, Container, Schema, SegmentDamageError

__all__ = ["MESSAGE", "read_messages"]

_BRANCHES = pa.struct([("string", pa.string()), ("bytes", pa.binary())])
_HEADER = pa.struct([("key", pa.string()), ("value", _BRANCHES)])
_HEADERS = pa.list_(pa.field("element", _HEADER))
#: The columns of messages [QLK-RE-1].
MESSAGE = pa.schema(
    [
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("headers", _HEADERS),
        ("value", pa.binary()),
        ("partition", pa.int64()),
        ("offset", pa.int64()),
    ]
)
_FORMER = {"timestamp": "TimestampMs", "value": "Payload"}
_NUMBERS, _BYTES = ("int", "long"), ("bytes", "string")


def read_messages(data: bytes, columns: Iterable[str]) -> tuple[dict[str, pa.Array], int]:
    """Return columns of the messages in the content of a file, in their order, without marks of gaps; and their number.

    The columns are some of those of :data:`MESSAGE`. What is no segment raises :class:`SegmentDamageError`.
    """
    container = Container.of(data)
    fields = _Fields(container)
    readers = {name: fields.reader(name) for name in columns}
    fields.check()
    gap = fields.gap()
    records = [record for record in container.records() if gap is None or record[gap] is not True]
    return {name: reader.column(records) for name, reader in readers.items()}, len(records)


@dataclass(frozen=True, slots=True)
class _Reader:
    """The reader of a column: the name of its field, or None without a field."""

    kind: pa.DataType
    field: str | None
    #: The names of the key and of the value in a header, for each form of headers.
    forms: Sequence[tuple[str, str]] = ()

    def column(self, records: Sequence[Mapping[str, Any]]) -> pa.Array:
        if self.field is None:
            return pa.nulls(len(records), self.kind)
        values = [record[self.field] for record in records]
        if pa.types.is_list(self.kind):
            return _headers(values, self.forms)
        return _binary(values) if pa.types.is_binary(self.kind) else pa.array(values, self.kind)


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of the records in a container."""

    container: Container

    def reader(self, column: str) -> _Reader:
        """Return the reader of a column; raise an error if the type of the field does not fit."""
        kind = MESSAGE.field(column).type
        field = self._of(column)
        if field is None:
            return _Reader(kind, None)
        forms = []
        for branch in self._branches(field["type"]):
            if column == "headers":
                forms.append(self._header(branch))
            elif column in ("key", "value"):
                _check(column, branch, branch["type"] in _BYTES)
            else:
                is_fine = str(branch.get(UNIT)).endswith(("-micros", "-nanos"))
                _check(column, branch, branch["type"] in _NUMBERS and not is_fine)
        return _Reader(kind, field["name"], forms)

    def check(self) -> None:
        """Raise an error if the records have none of the fields of a message [QLK-RE-5]."""
        if all(self._of(column) is None for column in MESSAGE.names):
            names = [field["name"] for field in self.container.schema["fields"]]
            raise SegmentDamageError(f"its records are no messages, they have the fields {names}")

    def gap(self) -> str | None:
        """Return the name of the field that marks a period without messages [QLK-RE-4]."""
        field = _find(self.container.schema, "Gap")
        is_flag = field is not None and all(each["type"] == "boolean" for each in self._branches(field["type"]))
        return str(field["name"]) if is_flag else None

    def _of(self, column: str) -> Any:
        return _find(self.container.schema, column, *([_FORMER[column]] if column in _FORMER else []))

    def _header(self, branch: Schema) -> tuple[str, str]:
        """Return the names of the key and of the value in a form of headers."""
        _check("headers", branch, branch["type"] == "array")
        (record,) = self._branches(branch["items"]) if not isinstance(branch["items"], list) else (branch,)
        _check("headers", branch, record["type"] == "record")
        key, value = _find(record, "key"), _find(record, "value")
        _check("headers", record, key is not None and value is not None)
        _check("headers", key, not isinstance(key["type"], list) and self._resolved(key["type"])["type"] == "string")
        for each in self._branches(value["type"]):
            _check("headers", each, each["type"] in _BYTES)
        return key["name"], value["name"]

    def _branches(self, schema: Schema) -> Iterator[Schema]:
        """Yield the branches of a union but for null, or the schema itself, each as a mapping."""
        for each in schema if isinstance(schema, list) else [schema]:
            found = self._resolved(each)
            if found["type"] != "null":
                yield found

    def _resolved(self, schema: Schema) -> Schema:
        return self.container.named.get(schema, {"type": schema}) if isinstance(schema, str) else schema


def _find(record: Schema, *names: str) -> Any:
    """Return the field with one of several names, at best in the same case, or None [QLK-RE-5]."""
    for name in names:
        for field in record["fields"]:
            if field["name"] == name:
                return field
    for name in names:
        for field in record["fields"]:
            if field["name"].lower() == name.lower():
                return field
    return None


def _check(column: str, schema: Schema, fits: object) -> None:
    if not fits:
        raise SegmentDamageError(f"the field of the column {column} has the type {schema}")


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


def _binary(values: Iterable[str | bytes | None]) -> pa.Array:
    return pa.array(map(_bytes, values), pa.binary())


def _text(values: Iterable[str | None]) -> pa.Array:
    """Return texts, whose bytes need not be UTF-8, as Spark returns them."""
    return pc.cast(_binary(values), options=pc.CastOptions(pa.string(), allow_invalid_utf8=True))


def _headers(values: Sequence[Any], forms: Sequence[tuple[str, str]]) -> pa.Array:
    pairs: list[tuple[str, str | bytes | None]] = []
    ends = [0]
    for headers in values:
        for header in headers or ():
            key, value = next(form for form in forms if form[0] in header and form[1] in header)
            pairs.append((header[key], header[value]))
        ends.append(len(pairs))
    contents = [value for _, value in pairs]
    branches = pa.StructArray.from_arrays(
        [
            _text(each if isinstance(each, str) else None for each in contents),
            _binary(None if isinstance(each, str) else each for each in contents),
        ],
        fields=list(_BRANCHES),
        mask=pa.array([each is None for each in contents], pa.bool_()),
    )
    header = pa.StructArray.from_arrays([_text(key for key, _ in pairs), branches], fields=list(_HEADER))
    mask = pa.array([headers is None for headers in values], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), header, type=_HEADERS, mask=mask)
