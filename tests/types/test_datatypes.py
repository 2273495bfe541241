"""Spark's type names have Arrow types, and casts are known that keep every value."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.reference import CASTS, POOLS, order, to_arrow
from xskip.types.datatypes import (
    Array,
    Atomic,
    Bloom,
    Opaque,
    Struct,
    arrow_type,
    atomic_name,
    decimal_digits,
    from_json,
    is_widening,
    to_json,
)


@pytest.mark.parametrize(
    ("json", "catalog"),
    [
        ("byte", "tinyint"),
        ("short", "smallint"),
        ("integer", "int"),
        ("long", "bigint"),
        ("string", "string"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("timestamp_ntz", "timestamp_ntz"),
    ],
)
def test_names_convert_between_schema_json_and_catalog(json: str, catalog: str) -> None:
    assert from_json(json) == catalog
    assert to_json(catalog) == json


@pytest.mark.parametrize(
    ("spark_type", "kept_as"),
    [
        ("int", "int"),
        ("decimal(38,18)", "decimal(38,18)"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("interval year", "interval year to month"),
        ("interval month", "interval year to month"),
        ("interval year to month", "interval year to month"),
        ("interval day", "interval day to second"),
        ("interval hour to second", "interval day to second"),
        ("interval second", "interval day to second"),
        ("interval", None),
        ("void", None),
        ("time(6)", None),
        ("variant", None),
        ("array<int>", None),
        ("map<string,int>", None),
        ("struct<a:int>", None),
        ("string collate UTF8_LCASE", None),
        ("char(5)", None),
        ("varchar(5)", None),
    ],
)
def test_atomic_types_have_a_canonical_name(spark_type: str, kept_as: Any) -> None:
    assert atomic_name(spark_type) == kept_as


@pytest.mark.parametrize(
    ("storage", "arrow"),
    [
        ("tinyint", pa.int8()),
        ("double", pa.float64()),
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestamp_ntz", pa.timestamp("us")),
        ("decimal(38,18)", pa.decimal128(38, 18)),
        ("interval month", pa.int32()),
        ("interval day", pa.int64()),
        (Atomic("boolean"), pa.bool_()),
        (Struct((("min", "int"), ("max", "int"))), pa.struct([("min", pa.int32()), ("max", pa.int32())])),
        (Array("string"), pa.list_(pa.field("element", pa.string()))),
        (Bloom(), pa.binary()),
        (Opaque('"binary"', pa.binary()), pa.binary()),
    ],
    ids=str,
)
def test_each_storage_has_an_arrow_type(storage: Any, arrow: Any) -> None:
    assert arrow_type(storage) == arrow


def test_a_type_that_metadata_cannot_hold_has_no_arrow_type() -> None:
    with pytest.raises(KeyError):
        arrow_type("map<string,int>")


def test_decimal_digits_are_parsed() -> None:
    assert decimal_digits("decimal(5,0)") == (5, 0)
    assert decimal_digits("decimal(5, -2)") == (5, -2)
    assert decimal_digits("double") is None
    assert decimal_digits("decimal") is None


@pytest.mark.parametrize(
    ("source", "target", "keeps"),
    [
        ("int", "int", True),
        ("tinyint", "bigint", True),
        ("bigint", "int", False),
        ("int", "float", False),
        ("int", "double", False),
        ("float", "double", True),
        ("double", "float", False),
        ("tinyint", "decimal(3,0)", True),
        ("tinyint", "decimal(2,0)", False),
        ("smallint", "decimal(5,0)", True),
        ("smallint", "decimal(4,0)", False),
        ("int", "decimal(12,2)", True),
        ("int", "decimal(11,2)", False),
        ("bigint", "decimal(19,0)", True),
        ("bigint", "decimal(18,0)", False),
        ("decimal(10,2)", "decimal(10,2)", True),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(11,4)", False),
        ("decimal(10,2)", "decimal(12,1)", False),
        ("decimal(10,2)", "double", False),
        ("double", "decimal(38,18)", False),
        ("decimal(5,0)", "int", False),
        ("string", "int", False),
        ("int", "string", False),
        ("date", "timestamp", False),
        ("timestamp", "date", False),
        ("timestamp_ntz", "timestamp", False),
        ("boolean", "int", False),
    ],
)
def test_casts_that_keep_every_value(source: str, target: str, keeps: bool) -> None:
    """[SND-24] [PRU-V-6] A cast counts as widening only if it keeps every value and the order."""
    assert is_widening(source, target) is keeps


@pytest.mark.parametrize(("source", "target"), [(s, t) for s, targets in CASTS.items() for t in targets])
def test_a_kept_cast_really_keeps_order_and_equality(source: Any, target: Any) -> None:
    """[SND-25] [PRU-V-6]"""
    assert is_widening(source, target)
    values = sorted(POOLS[source], key=order)
    cast = to_arrow(values, arrow_type(source)).cast(arrow_type(target)).to_pylist()
    assert [order(v) for v in cast] == [order(v) for v in values]
