"""Spark's types, by name, and the Arrow types that hold their values in metadata.

A Spark type is written as Spark's catalog does: ``tinyint``, ``bigint``, ``decimal(10,2)``, ``timestamp_ntz``.
Schema JSON spells five of them otherwise (``byte`` … ``long``); :func:`from_json` and :func:`to_json` translate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = [
    "BITS",
    "BOUNDED",
    "INTEGRAL",
    "Array",
    "Atomic",
    "Bloom",
    "Opaque",
    "Storage",
    "Struct",
    "array_of",
    "arrow_type",
    "atomic_name",
    "decimal_digits",
    "element_of",
    "from_json",
    "is_widening",
    "json_field",
    "to_json",
    "value_type",
]

BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
INTEGRAL = tuple(BITS)
_JSON = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_CATALOG = {catalog: json for json, catalog in _JSON.items()}
_ARRAY = re.compile(r"array<(.+)>")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")

_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_INTERVAL = {"interval year to month": pa.int32(), "interval day to second": pa.int64()}
_INTERVAL_UNITS = {
    "interval year to month": ("interval year", "interval month"),
    "interval day to second": ("interval day", "interval hour", "interval minute", "interval second"),
}

#: The types whose values Spark orders and that xskip can hold, for messages.
BOUNDED = (*_ARROW, "decimal", "interval year to month", "interval day to second")


@dataclass(frozen=True, slots=True)
class Atomic:
    """A value of one Spark type."""

    name: str


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct of fields, each ``(name, Spark type)``; an array of atomic values is written ``array<int>``."""

    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Array:
    """An array of values of one Spark type."""

    element: str


@dataclass(frozen=True, slots=True)
class Bloom:
    """Spark's Bloom filter; in memory the bytes of ``BloomFilter.writeTo``, in files the spec's UDT."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something that xskip carries and does not read: its type in schema JSON, and in Arrow."""

    json: str
    arrow: pa.DataType


#: What a metadata column holds.
Storage = Atomic | Struct | Array | Bloom | Opaque


def value_type(storage: Storage) -> str | None:
    """The type of the values that a column of metadata is about, None where the column does not tell.

    >>> value_type(Struct((("min", "int"), ("max", "int")))), value_type(Bloom())
    ('int', None)
    """
    match storage:
        case Struct(fields):
            types = {kind for _, kind in fields}
            return types.pop() if len(types) == 1 else None
        case Array(kind) | Atomic(kind):
            return kind
        case _:
            return None


def from_json(name: str) -> str:
    """Catalog name of a type named as in schema JSON.

    >>> from_json("long"), from_json("decimal(10,2)")
    ('bigint', 'decimal(10,2)')
    """
    return _JSON.get(name, name)


def to_json(name: str) -> str:
    """Schema JSON's name of a type named as in the catalog.

    >>> to_json("bigint"), to_json("date")
    ('long', 'date')
    """
    return _CATALOG.get(name, name)


def json_field(name: str, kind: object, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A field of a schema in JSON, whose type is named as there, or written out.

    >>> json_field("x", "long")
    {'name': 'x', 'type': 'long', 'nullable': True, 'metadata': {}}
    """
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata or {}}


def atomic_name(spark_type: str) -> str | None:
    """The type as metadata keeps it, or None for a type that xskip does not hold.

    Intervals of any unit range become the family's widest, whose values are the same numbers.

    >>> atomic_name("interval hour to second"), atomic_name("string collate UTF8_LCASE")
    ('interval day to second', None)
    """
    if spark_type in _ARROW or _DECIMAL.fullmatch(spark_type):
        return spark_type
    for family, units in _INTERVAL_UNITS.items():
        if spark_type == family or spark_type.startswith(units):
            return family
    return None


def element_of(spark_type: str) -> str | None:
    """The type of an array's elements, None where it is no array of atomic values.

    >>> element_of("array<int>"), element_of("int"), element_of("array<array<int>>")
    ('int', None, None)
    """
    match = _ARRAY.fullmatch(spark_type)
    return match[1] if match and atomic_name(match[1]) else None


def decimal_digits(spark_type: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type, None for others.

    >>> decimal_digits("decimal(10,2)")
    (10, 2)
    """
    match = _DECIMAL.fullmatch(spark_type)
    return (int(match[1]), int(match[2])) if match else None


def arrow_type(storage: Storage | str) -> pa.DataType:
    """Arrow type of a metadata column, or of a Spark type's value.

    Timestamps are microseconds, dates days, year-month intervals months, day-time intervals microseconds.

    Raises
    ------
    KeyError
        The Spark type is none that metadata can hold.

    Examples
    --------
    >>> arrow_type(Struct((("min", "int"), ("max", "int"))))
    StructType(struct<min: int32, max: int32>)
    """
    match storage:
        case str() as name:
            if digits := decimal_digits(name):
                return pa.decimal128(*digits)
            if element := element_of(name):
                return arrow_type(Array(element))
            return _ARROW[name] if name in _ARROW else _INTERVAL[atomic_name(name) or name]
        case Atomic(name):
            return arrow_type(name)
        case Struct(fields):
            return pa.struct([pa.field(name, arrow_type(kind)) for name, kind in fields])
        case Array(element):
            return pa.list_(pa.field("element", arrow_type(element)))
        case Bloom():
            return pa.binary()
        case Opaque(_, arrow):
            return arrow


def array_of(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """An array of values as literals hold them: strings as UTF-8 bytes, dates and times as numbers; None is null.

    >>> array_of([b"a", None], pa.string()).to_pylist(), array_of([0], pa.date32()).to_pylist()
    (['a', None], [datetime.date(1970, 1, 1)])
    """
    for same_bytes, held in ((pa.types.is_string, pa.binary()), (pa.types.is_date32, pa.int32()),
                             (pa.types.is_timestamp, pa.int64())):  # fmt: skip
        if same_bytes(kind):
            return pa.array(values, held).view(kind)
    return pa.array(values, kind)


def is_widening(source: str, target: str) -> bool:
    """True where a cast keeps every value exactly, and so its order and equality.

    >>> is_widening("int", "bigint"), is_widening("bigint", "double"), is_widening("int", "decimal(10,0)")
    (True, False, True)
    """
    if source == target:
        return True
    if source in INTEGRAL and target in INTEGRAL:
        return INTEGRAL.index(source) < INTEGRAL.index(target)
    if (source, target) == ("float", "double"):
        return True
    wide = decimal_digits(target)
    if wide is None:
        return False
    narrow = decimal_digits(source)
    if source in INTEGRAL:  # digits of the largest value: 127, 32767, 2147483647, 9223372036854775807
        narrow = ((3, 5, 10, 19)[INTEGRAL.index(source)], 0)
    return narrow is not None and wide[1] >= narrow[1] and wide[0] - wide[1] >= narrow[0] - narrow[1]
