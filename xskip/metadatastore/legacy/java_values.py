"""The values of version 0: Java and Scala objects, parsed as data and written byte by byte. Rules: [MDS-Z]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from xskip.errors import MetadataCorruptError, UnsupportedTypeError
from xskip.metadatastore.legacy.java_bloom import NEW_PACKAGE, OLD_PACKAGE
from xskip.metadatastore.legacy.java_stream import ClassSpec, JavaObject, JavaValue, StreamWriter, parse_stream
from xskip.types.datatypes import INTEGRAL, Array, Storage, Struct, array_of, arrow_type, decimal_digits

__all__ = ["AGREED_MS", "Decoded", "as_numbers", "decode_streams", "encode_streams"]

_BOXES = {
    "java.lang.Boolean": "boolean",
    "java.lang.Byte": "tinyint",
    "java.lang.Short": "smallint",
    "java.lang.Integer": "int",
    "java.lang.Long": "bigint",
    "java.lang.Float": "float",
    "java.lang.Double": "double",
}
_PROXY = "scala.collection.generic.DefaultSerializationProxy"
_KNOWN = (
    *(f"{p}.{c}" for p in (NEW_PACKAGE, OLD_PACKAGE) for c in ("MinMaxMetaData", "ValueListMetaData", "MetadataType")),
    *_BOXES,
    "java.lang.Number",
    "java.math.BigDecimal",
    "java.math.BigInteger",
    "java.util.Date",
    "java.sql.Date",
    "java.sql.Timestamp",
    "[B",
    _PROXY,
    "scala.collection.mutable.HashSet$DeserializationFactory",
)
_RANGES = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
_WIDE = Context(prec=80)
_MAX_DIGITS = 38
# A stream does not record the time zone of its dates or the calendar of its oldest times. So a date is any date with
# this midnight in a zone from -12 to +14 hours, and values before 1900 are unknown.
_DAY_MS = 86_400_000
_EAST_MOST_MS = 14 * 3_600_000
_WEST_MOST_MS = 12 * 3_600_000
# 1900-01-02: from this instant on, the calendars and Spark's time zone rules agree in every zone
AGREED_MS = -2_208_988_800_000 + _DAY_MS
_LAST_MS = 253_402_300_799_999
#: A Spark type, with the least and the greatest value that a value in a stream can represent.
_Scalar = tuple[str, Any, Any]


@dataclass(frozen=True, slots=True)
class Decoded:
    """The values of a column of serialised objects."""

    storage: Storage
    #: Values of the Arrow type of ``storage``; null if nothing is known.
    values: pa.Array
    #: The number of streams that cannot be parsed.
    unreadable: int


def decode_streams(index: str, streams: Iterable[bytes | None]) -> Decoded | None:
    """Decode the values of a column of serialised objects, with a stream or None for each data file.

    None means that the streams do not determine a type, for example because they contain no values.
    """
    read = {"minmax": _bounds, "valuelist": _members}[index]
    given = list(streams)
    found = {stream: _parsed(stream, read) for stream in dict.fromkeys(given)}  # a small file can repeat a long stream
    rows = [found[stream] for stream in given]
    unreadable = sum(1 for stream, row in zip(given, rows, strict=True) if row is _UNREADABLE)
    rows = [None if row is _UNREADABLE else row for row in rows]
    kind = _common_type({scalar[0] for row in rows if row for scalar in row})
    if kind is None:
        return None
    try:
        storage, values = (_as_bounds if index == "minmax" else _as_lists)(rows, kind)
    except (pa.ArrowException, ArithmeticError, ValueError):
        return None
    return Decoded(storage, values, unreadable)


#: The placeholder for the content of a stream that cannot be parsed.
_UNREADABLE: list[_Scalar] = []


def _parsed(stream: bytes | None, read: Callable[[JavaValue], Sequence[_Scalar] | None]) -> Sequence[_Scalar] | None:
    try:
        return None if stream is None else read(parse_stream(stream, _KNOWN))
    except MetadataCorruptError:
        return _UNREADABLE


def _as_bounds(rows: Sequence[Sequence[_Scalar] | None], kind: str) -> tuple[Storage, pa.Array]:
    storage = Struct((("min", kind), ("max", kind)))
    arrow = arrow_type(storage)
    sides = [
        array_of([None if row is None else _fitted(row[side][side + 1], kind) for row in rows], arrow[side].type)
        for side in (0, 1)
    ]
    mask = pa.array([row is None for row in rows], pa.bool_())
    return storage, pa.StructArray.from_arrays(sides, fields=list(arrow), mask=mask)


def _as_lists(rows: Sequence[Sequence[_Scalar] | None], kind: str) -> tuple[Storage, pa.Array]:
    storage = Array(kind)
    flat: list[Any] = []
    offsets: list[int | None] = []
    for row in rows:
        offsets.append(None if row is None else len(flat))
        for _, low, high in row or ():
            flat += range(low, high + 1) if kind == "date" else [_fitted(low, kind)]
    values = array_of(flat, arrow_type(kind))
    return storage, pa.ListArray.from_arrays(pa.array([*offsets, len(flat)], pa.int32()), values)


def _fitted(value: Any, kind: str) -> Any:
    """Return a decimal with the scale of the column; return any other value unchanged."""
    digits = decimal_digits(kind)
    return value if digits is None else value.quantize(Decimal((0, (1,), -digits[1])), context=_WIDE)


def _common_type(kinds: set[str]) -> str | None:
    """Return the type that holds all values: the widest integer, the finest decimal, or else the only type."""
    if kinds and kinds <= set(INTEGRAL):
        return max(kinds, key=INTEGRAL.index)
    scales = [digits[1] for kind in kinds if (digits := decimal_digits(kind)) is not None]
    if kinds and len(scales) == len(kinds):
        return f"decimal(38,{max(scales)})"
    return next(iter(kinds)) if len(kinds) == 1 else None


def _other(value: JavaValue) -> MetadataCorruptError:
    found = value.name if isinstance(value, JavaObject) else type(value).__name__
    return MetadataCorruptError("the serialised value has an unexpected structure", found=found)


def _bounds(value: JavaValue) -> Sequence[_Scalar] | None:
    match value:
        case JavaObject(name, {"min": low, "max": high}) if name.endswith(".MinMaxMetaData"):
            return None if low is None or high is None else (_scalar(low), _scalar(high))
        case _:
            raise _other(value)


def _members(value: JavaValue) -> Sequence[_Scalar]:
    match value:
        case JavaObject(name, {"values": JavaObject(kind, _, [bytes() as count, *members])}) if (
            name.endswith(".ValueListMetaData") and kind == _PROXY and int.from_bytes(count, "big") == len(members)
        ):
            if len({id(member) for member in members}) < len(members):  # repeated references could multiply a long text
                raise _other(value)
            return [_scalar(member) for member in members]
        case _:
            raise _other(value)


def _scalar(value: JavaValue) -> _Scalar:
    match value:
        case str():
            text = value.encode()
            return "string", text, text
        case bytes():
            return "binary", value, value
        case JavaObject(name, {"value": boxed}) if _is_boxed(boxed, _BOXES.get(name)):
            return _BOXES[name], boxed, boxed
        case JavaObject("java.math.BigDecimal", {"scale": int() as scale, "intVal": JavaObject() as whole}) if (
            0 <= scale <= _MAX_DIGITS
        ):
            sign, digits, _ = Decimal(_big_integer(whole)).as_tuple()
            if len(digits) > _MAX_DIGITS:
                raise _other(value)
            number = Decimal((sign, digits, -scale))
            return f"decimal(38,{scale})", number, number
        case JavaObject("java.sql.Date", _, [bytes() as raw]) if len(raw) == 8:
            return "date", *_days(int.from_bytes(raw, "big", signed=True))
        case JavaObject("java.sql.Timestamp", {"nanos": int() as nanos}, [bytes() as raw]) if len(raw) == 8:
            instant = _micros(int.from_bytes(raw, "big", signed=True), nanos)
            return "timestamp", instant, instant
        case _:
            raise _other(value)


def _is_boxed(value: JavaValue, kind: str | None) -> bool:
    # The type of the field is in the stream, so it can differ from the type of the class.
    if kind in _RANGES:
        bound = 1 << _RANGES[kind]
        return type(value) is int and -bound <= value < bound
    return type(value) is {"boolean": bool, "float": float, "double": float}.get(kind or "")


def _big_integer(value: JavaObject) -> int:
    match value.fields:
        case {"signum": int() as sign, "magnitude": bytes() as magnitude} if -1 <= sign <= 1 and len(magnitude) <= 17:
            return sign * int.from_bytes(magnitude, "big")
        case _:
            raise _other(value)


def _days(millis: int) -> tuple[int, int]:
    """Return the first and the last day since the epoch whose midnight, in any zone, is this instant."""
    if not AGREED_MS <= millis <= _LAST_MS:
        raise MetadataCorruptError("the calendar of a date is unknown, or the date is outside the range of Spark")
    # the midnight of day d in a zone e hours east is d * day - e, so d = (millis + e) / day with -12 h <= e <= 14 h
    return -(-(millis - _WEST_MOST_MS) // _DAY_MS), (millis + _EAST_MOST_MS) // _DAY_MS


def _micros(millis: int, nanos: int) -> int:
    if not AGREED_MS <= millis <= _LAST_MS or not 0 <= nanos < 1_000_000_000 or nanos % 1000:
        raise MetadataCorruptError(
            "the calendar of a timestamp is unknown, or the timestamp is outside the range of Spark"
        )
    return millis // 1000 * 1_000_000 + nanos // 1000


_NUMBER = "java.lang.Number"
_HASH_SET = "scala.collection.mutable.HashSet$DeserializationFactory"
# loadFactor and tableLength of an empty set, which grows on demand
_LOAD_FACTOR, _TABLE_LENGTH = 0.75, 16
_OBJECT = "Ljava/lang/Object;"
_INTEGER_PARTS = ("bitCount", "bitLength", "firstNonzeroByteNum", "lowestSetBit", "signum")
_CLASSES = {
    f"{OLD_PACKAGE}.MetadataType": ClassSpec(-0x084FED408BD4795C),
    f"{OLD_PACKAGE}.MinMaxMetaData": ClassSpec(1, (("max", _OBJECT), ("min", _OBJECT)), f"{OLD_PACKAGE}.MetadataType"),
    f"{OLD_PACKAGE}.ValueListMetaData": ClassSpec(
        1, (("values", "Lscala/collection/mutable/HashSet;"),), f"{OLD_PACKAGE}.MetadataType"
    ),
    _NUMBER: ClassSpec(-8742448824652078965),
    "java.lang.Boolean": ClassSpec(-3665804199014368530, (("value", "Z"),)),
    "java.lang.Byte": ClassSpec(-7183698231559129828, (("value", "B"),), _NUMBER),
    "java.lang.Short": ClassSpec(7515723908773894738, (("value", "S"),), _NUMBER),
    "java.lang.Integer": ClassSpec(1360826667806852920, (("value", "I"),), _NUMBER),
    "java.lang.Long": ClassSpec(4290774380558885855, (("value", "J"),), _NUMBER),
    "java.lang.Float": ClassSpec(-2671257302660747028, (("value", "F"),), _NUMBER),
    "java.lang.Double": ClassSpec(-9172774392245257468, (("value", "D"),), _NUMBER),
    "java.math.BigDecimal": ClassSpec(
        6108874887143696463, (("scale", "I"), ("intVal", "Ljava/math/BigInteger;")), _NUMBER, writes=True
    ),
    "java.math.BigInteger": ClassSpec(
        -8287574255936472291, (*((name, "I") for name in _INTEGER_PARTS), ("magnitude", "[B")), _NUMBER, writes=True
    ),
    "java.util.Date": ClassSpec(7523967970034938905, writes=True),
    "java.sql.Date": ClassSpec(1511598038487230103, parent="java.util.Date"),
    "java.sql.Timestamp": ClassSpec(2745179027874758501, (("nanos", "I"),), "java.util.Date"),
    "[B": ClassSpec(-5984413125824719648),
    _PROXY: ClassSpec(3, (("factory", "Lscala/collection/Factory;"),), writes=True),
    _HASH_SET: ClassSpec(3, (("loadFactor", "D"), ("tableLength", "I"))),
}
_BOX_OF = {kind: name for name, kind in _BOXES.items()}


def encode_streams(storage: Struct | Array, values: pa.Array) -> pa.Array:
    """Serialise bounds or value lists as version 0 stores them; dates become midnights in UTC.

    A stream is null for a row with a missing bound or a time before 1900, of which nothing is known then. A type
    without a form in version 0 raises UnsupportedTypeError.
    """
    kind = storage.element if isinstance(storage, Array) else storage.fields[0][1]
    if kind not in (*_BOX_OF, "string", "binary", "date", "timestamp") and decimal_digits(kind) is None:
        raise UnsupportedTypeError(
            "version 0 of the metadata format does not support this type", found=kind, hint="use version 1 or newer"
        )
    write = _write_list if isinstance(storage, Array) else _write_bounds
    streams = []
    for value in as_numbers(values, kind).to_pylist():
        # A stream holds the fields of a class in the order of their names: max before min.
        members = None if value is None else value if isinstance(value, list) else [value["max"], value["min"]]
        held = members is not None and all(_is_held(member, kind) for member in members)
        streams.append(write(members or [], kind) if held else None)
    return pa.array(streams, pa.binary())


def as_numbers(values: pa.Array, kind: str) -> pa.Array:
    """Convert dates to days and timestamps to microseconds, in bounds or value lists."""
    number = {"date": pa.int32(), "timestamp": pa.int64()}.get(kind)
    if number is None:
        return values
    if pa.types.is_list(values.type):
        return values.cast(pa.list_(number))
    return values.cast(pa.struct([("min", number), ("max", number)]))


def _is_held(member: Any, kind: str) -> bool:
    scale = {"date": _DAY_MS, "timestamp": 0.001}.get(kind)
    return member is not None and (scale is None or member * scale >= AGREED_MS)


def _write_bounds(members: Sequence[Any], kind: str) -> bytes:
    writer = StreamWriter(_CLASSES)
    writer.begin(f"{OLD_PACKAGE}.MinMaxMetaData")
    for member in members:
        _write_scalar(writer, member, kind)
    return bytes(writer.data)


def _write_list(members: Sequence[Any], kind: str) -> bytes:
    writer = StreamWriter(_CLASSES)
    writer.begin(f"{OLD_PACKAGE}.ValueListMetaData")
    writer.begin(_PROXY)
    writer.begin(_HASH_SET)
    writer.primitive("D", _LOAD_FACTOR)
    writer.primitive("I", _TABLE_LENGTH)
    writer.block(len(members).to_bytes(4, "big"))
    for member in members:
        _write_scalar(writer, member, kind)
    writer.end()
    return bytes(writer.data)


def _write_scalar(writer: StreamWriter, value: Any, kind: str) -> None:
    if kind == "string":
        writer.string(value)
    elif kind == "binary":
        writer.array("[B", value)
    elif kind == "date":
        writer.begin("java.sql.Date")
        writer.block((value * _DAY_MS).to_bytes(8, "big", signed=True))
        writer.end()
    elif kind == "timestamp":
        writer.begin("java.sql.Timestamp")
        writer.block((value // 1_000_000 * 1000).to_bytes(8, "big", signed=True))
        writer.end()
        writer.primitive("I", value % 1_000_000 * 1000)
    elif kind in _BOX_OF:
        writer.begin(_BOX_OF[kind])
        writer.primitive(_CLASSES[_BOX_OF[kind]].fields[0][1], value)
    else:
        _write_decimal(writer, value)


def _write_decimal(writer: StreamWriter, value: Decimal) -> None:
    sign, digits, exponent = value.as_tuple()
    whole = int("".join(map(str, digits)))
    writer.begin("java.math.BigDecimal")
    writer.primitive("I", -int(exponent))
    writer.begin("java.math.BigInteger")
    for part in (-1, -1, -2, -2, 0 if not whole else -1 if sign else 1):  # Java's marks for fields not yet computed
        writer.primitive("I", part)
    writer.array("[B", whole.to_bytes((whole.bit_length() + 7) // 8, "big"))
    writer.end()
    writer.end()
