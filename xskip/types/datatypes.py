"""Spark's types by name, and the Arrow types that hold their values in metadata.

The name of a Spark type is its name in Spark's catalog: ``tinyint``, ``bigint``, ``decimal(10,2)``, ``timestamp_ntz``.
Schema JSON has other names for four types (``byte``, ``short``, ``integer``, ``long``); :func:`from_json` and
:func:`to_json` translate between the two.
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

#: The types that Spark orders and that metadata can store, for error messages.
BOUNDED = (*_ARROW, "decimal", "interval year to month", "interval day to second")


@dataclass(frozen=True, slots=True)
class Atomic:
    """The storage type for one value of a Spark type, which ``name`` gives by its catalog name."""

    name: str


@dataclass(frozen=True, slots=True)
class Struct:
    """The storage type for a struct.

    Attributes
    ----------
    fields : tuple of (str, str)
        The names and Spark types of the fields; an array of atomic values is written ``array<int>``.
    """

    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Array:
    """The storage type for an array.

    Attributes
    ----------
    element : str
        The Spark type of the elements.

    Examples
    --------
    >>> arrow_type(Array("int"))
    ListType(list<element: int32>)
    """

    element: str


@dataclass(frozen=True, slots=True)
class Bloom:
    """The storage type for Spark's Bloom filter.

    In memory a filter is the bytes of ``BloomFilter.writeTo``, in metadata files the UDT of the specification.
    """


@dataclass(frozen=True, slots=True)
class Opaque:
    """The storage type for values that xskip copies and does not interpret."""

    json: str
    arrow: pa.DataType


#: The storage type of a metadata column.
Storage = Atomic | Struct | Array | Bloom | Opaque


def value_type(storage: Storage) -> str | None:
    """Return the Spark type of the indexed values in a metadata column, or None if the storage does not show it."""
    match storage:
        case Struct(fields):
            types = {kind for _, kind in fields}
            return types.pop() if len(types) == 1 else None
        case Array(kind) | Atomic(kind):
            return kind
        case _:
            return None


def from_json(name: str) -> str:
    """Return the catalog name of a type from its name in schema JSON."""
    return _JSON.get(name, name)


def to_json(name: str) -> str:
    """Return the name of a type in schema JSON from its catalog name."""
    return _CATALOG.get(name, name)


def json_field(name: str, kind: object, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a nullable field of a schema in JSON; ``kind`` is a name, or an object for a nested type.

    >>> json_field("x", "long")
    {'name': 'x', 'type': 'long', 'nullable': True, 'metadata': {}}
    """
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata or {}}


def atomic_name(spark_type: str) -> str | None:
    """Return the type under which metadata stores values of a Spark type, or None if metadata cannot store them."""
    if spark_type in _ARROW or _DECIMAL.fullmatch(spark_type):
        return spark_type
    for family, units in _INTERVAL_UNITS.items():
        # the widest type of the family represents the values of all of its units by the same numbers
        if spark_type == family or spark_type.startswith(units):
            return family
    return None


def element_of(spark_type: str) -> str | None:
    """Return the type of an array's elements, or None if the type is not an array of atomic values.

    >>> element_of("array<int>"), element_of("int"), element_of("array<array<int>>")
    ('int', None, None)
    """
    match = _ARRAY.fullmatch(spark_type)
    return match[1] if match and atomic_name(match[1]) else None


def decimal_digits(spark_type: str) -> tuple[int, int] | None:
    """Return the precision and scale of a decimal type, or None for any other type."""
    match = _DECIMAL.fullmatch(spark_type)
    return (int(match[1]), int(match[2])) if match else None


def arrow_type(storage: Storage | str) -> pa.DataType:
    """Return the Arrow type of a metadata column, or of the values of a Spark type.

    Timestamps are microseconds since the epoch, dates are days since the epoch, year-month intervals are months, and
    day-time intervals are microseconds. KeyError if metadata cannot store the type.
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
    """Return an Arrow array of values in Spark's internal representation; None is null.

    Strings are UTF-8 bytes, dates are days and timestamps are microseconds since the epoch.
    """
    for same_bytes, held in ((pa.types.is_string, pa.binary()), (pa.types.is_date32, pa.int32()),
                             (pa.types.is_timestamp, pa.int64())):  # fmt: skip
        if same_bytes(kind):
            return pa.array(values, held).view(kind)
    return pa.array(values, kind)


def is_widening(source: str, target: str) -> bool:
    """Return whether a cast keeps every value exactly, and so the order and equality of the values."""
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
    if source in INTEGRAL:  # the digits of 127, 32767, 2147483647 and 9223372036854775807
        narrow = ((3, 5, 10, 19)[INTEGRAL.index(source)], 0)
    # a value keeps all digits after the point and all digits before the point
    return narrow is not None and wide[1] >= narrow[1] and wide[0] - wide[1] >= narrow[0] - narrow[1]
