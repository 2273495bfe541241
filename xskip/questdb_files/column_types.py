"""The column types of QuestDB, and the Arrow type of each. Rules: [QDB-TY]."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import pyarrow as pa

from xskip.errors import UnsupportedTypeError

__all__ = ["NANOSECOND_TIMESTAMP", "SYMBOL", "TIMESTAMP", "ColumnType", "Kind", "column_type", "keeps_values"]

_DECIMAL_TAGS = range(28, 34)
#: The most digits that the decimals of each tag have.
_DECIMAL_DIGITS = (2, 4, 9, 18, 38, 76)
_GEOHASH_TAGS = range(14, 18)
_GEOHASH_BITS = (7, 15, 31, 60)
_GEOHASH_FLAG = 1 << 16
_DOUBLE = 10


class Kind(Enum):
    """A family of column types whose values are stored in the same way, with the tag of its type codes."""

    BOOLEAN = 1
    BYTE = 2
    SHORT = 3
    CHAR = 4
    INT = 5
    LONG = 6
    DATE = 7
    TIMESTAMP = 8
    FLOAT = 9
    DOUBLE = 10
    STRING = 11
    SYMBOL = 12
    LONG256 = 13
    GEOHASH = 14
    BINARY = 18
    UUID = 19
    LONG128 = 24
    IPV4 = 25
    VARCHAR = 26
    ARRAY = 27
    DECIMAL = 28


SYMBOL = Kind.SYMBOL.value
TIMESTAMP = Kind.TIMESTAMP.value
NANOSECOND_TIMESTAMP = Kind.TIMESTAMP.value | 1 << 18
_WIDTHS = {
    Kind.BOOLEAN: 1, Kind.BYTE: 1, Kind.SHORT: 2, Kind.CHAR: 2, Kind.INT: 4, Kind.LONG: 8, Kind.DATE: 8,
    Kind.TIMESTAMP: 8, Kind.FLOAT: 4, Kind.DOUBLE: 8, Kind.SYMBOL: 4, Kind.LONG256: 32, Kind.UUID: 16,
    Kind.LONG128: 16, Kind.IPV4: 4,
}  # fmt: skip
_ARROW = {
    Kind.BOOLEAN: pa.bool_(), Kind.BYTE: pa.int8(), Kind.SHORT: pa.int16(), Kind.CHAR: pa.utf8(),
    Kind.INT: pa.int32(), Kind.LONG: pa.int64(), Kind.DATE: pa.timestamp("ms", "UTC"),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"), Kind.FLOAT: pa.float32(), Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.utf8(), Kind.SYMBOL: pa.dictionary(pa.int32(), pa.utf8()), Kind.LONG256: pa.utf8(),
    Kind.GEOHASH: pa.utf8(), Kind.BINARY: pa.binary(), Kind.UUID: pa.utf8(), Kind.LONG128: pa.utf8(),
    Kind.IPV4: pa.utf8(), Kind.VARCHAR: pa.utf8(),
}  # fmt: skip
_NEVER_NULL = (Kind.BOOLEAN, Kind.BYTE, Kind.SHORT)
_TEXTS = (Kind.STRING, Kind.VARCHAR, Kind.SYMBOL)
_WIDER = {
    Kind.BYTE: (Kind.SHORT, Kind.INT, Kind.LONG, Kind.FLOAT, Kind.DOUBLE),
    Kind.SHORT: (Kind.INT, Kind.LONG, Kind.FLOAT, Kind.DOUBLE),
    Kind.INT: (Kind.LONG, Kind.DOUBLE),
    Kind.FLOAT: (Kind.DOUBLE,),
    Kind.DATE: (Kind.TIMESTAMP,),
    # to the other unit: a value that has no exact form there is an error when it is read
    Kind.TIMESTAMP: (Kind.TIMESTAMP,),
}


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The type of a column."""

    kind: Kind
    arrow: pa.DataType
    #: The bytes of each value in a column file; 0 if they vary.
    width: int
    #: The precision of a GEOHASH in bits; 0 for other types.
    bits: int = 0
    #: Of an ARRAY; 0 for other types.
    dimensions: int = 0

    @property
    def nullable(self) -> bool:
        """Return whether a value can be null."""
        return self.kind not in _NEVER_NULL


def column_type(code: int, where: str) -> ColumnType:
    """Return the type with a code of ``_meta``, or raise an error that names ``where`` if the code is unknown."""
    tag = code & 0xFF
    if tag in _DECIMAL_TAGS:
        return _decimal(code, where)
    if tag in _GEOHASH_TAGS:
        return _geohash(code, where)
    if tag == Kind.ARRAY.value:
        return _array(code, where)
    if code == NANOSECOND_TIMESTAMP:
        return ColumnType(Kind.TIMESTAMP, pa.timestamp("ns", "UTC"), 8)
    try:
        kind = Kind(code)
    except ValueError as error:
        raise _unknown(code, where) from error
    return ColumnType(kind, _ARROW[kind], _WIDTHS.get(kind, 0))


def keeps_values(former: ColumnType, now: ColumnType) -> bool:
    """Return whether the values of a type have an exact form in another type [QDB-PQ-6]."""
    both_text = former.kind in _TEXTS and now.kind in _TEXTS
    return former == now or both_text or now.kind in _WIDER.get(former.kind, ())


def _decimal(code: int, where: str) -> ColumnType:
    position = (code & 0xFF) - _DECIMAL_TAGS.start
    precision, scale = code >> 8 & 0xFF, code >> 18 & 0xFF
    least = _DECIMAL_DIGITS[position - 1] if position else 0
    # the tag must be that of the precision [QDB-TY-7], because other releases may number tags otherwise
    if not least < precision <= _DECIMAL_DIGITS[position] or scale > precision or code >> 26:
        raise _unknown(code, where)
    arrow = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    return ColumnType(Kind.DECIMAL, arrow, 1 << position)


def _geohash(code: int, where: str) -> ColumnType:
    position = (code & 0xFF) - _GEOHASH_TAGS.start
    bits = code >> 8 & 0xFF
    least = _GEOHASH_BITS[position - 1] if position else 0
    if not least < bits <= _GEOHASH_BITS[position] or code >> 16 != _GEOHASH_FLAG >> 16:
        raise _unknown(code, where)
    return ColumnType(Kind.GEOHASH, pa.utf8(), 1 << position, bits=bits)


def _array(code: int, where: str) -> ColumnType:
    # the code of an array of one dimension has the number 0 there
    element, dimensions = code >> 8 & 0x3F, (code >> 14 & 0x1F) + 1
    if element != _DOUBLE or code >> 20:
        raise _unknown(code, where)
    arrow = pa.float64()
    for _ in range(dimensions):
        arrow = pa.list_(arrow)
    return ColumnType(Kind.ARRAY, arrow, 0, dimensions=dimensions)


def _unknown(code: int, where: str) -> UnsupportedTypeError:
    return UnsupportedTypeError(
        "a column has a type that this release does not know", where=where, found=f"type code {code}",
        hint="select other columns",
    )  # fmt: skip
