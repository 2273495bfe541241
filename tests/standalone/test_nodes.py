"""Expressions of pyarrow become conditions, or name the reason why they do not; no literal fails."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from xskip.expressions.condition_reasons import OtherReason
from xskip.expressions.predicate import Op
from xskip.standalone.arrow_nodes import NodeMaker
from xskip.standalone.arrow_tree import FormError, Scalar, tree_of
from xskip.standalone.sql import Compared, Either, Literal, Name, Node, NullTest, Other

F = ds.field
SCHEMA = pa.schema(
    [
        ("i", pa.int32()), ("l", pa.int64()), ("s", pa.string()), ("k", pa.dictionary(pa.int32(), pa.string())),
        ("d", pa.float64()), ("f", pa.float32()), ("c", pa.decimal128(8, 2)), ("b", pa.binary()), ("day", pa.date32()),
        ("n", pa.timestamp("us")), ("wide", pa.int64()), ("span", pa.duration("us")), ("xs", pa.list_(pa.int32())),
    ]
)  # fmt: skip
TYPES = {
    "i": "int", "l": "bigint", "s": "string", "k": "string", "d": "double", "f": "float", "c": "decimal(8,2)",
    "b": "binary", "day": "date", "n": "timestamp_ntz", "wide": "int", "span": "interval day to second",
}  # fmt: skip
NO_COLUMN = "the comparison has no column"
DATES = "xskip compares only dates of the years 1 to 9999"
TIMES = "xskip compares timestamps only in microseconds of the years 1 to 9999"
DECIMALS = "this version of pyarrow does not compare these decimals exactly"
PATTERNS = "xskip uses patterns only on columns of type string"


def node(expression: Any) -> Node:
    return NodeMaker(SCHEMA, lambda path: TYPES.get(path[0])).node(tree_of(expression))


def equal(name: str, kind: str, text: str) -> Compared:
    return Compared(Op.EQ, Name((name,)), Literal(kind, text))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (F("s") == pa.array(["x"]).dictionary_encode()[0], equal("s", "string", "x")),
        (F("k") == "x", equal("k", "string", "x")),
        (F("i") == Decimal("7.50"), equal("i", "number", "7.5")),
        (F("i").cast("int32") == 7, equal("i", "number", "7")),
        (F("s").cast("large_string") == "x", equal("s", "string", "x")),
        (F("f").cast("double") == 1.5, equal("f", "number", "1.5")),
        (F("i").cast("int64") == F("l"), Compared(Op.EQ, Name(("i",)), Name(("l",)))),
        (F("n") == datetime.max, equal("n", "TIMESTAMP_NTZ", "9999-12-31 23:59:59.999999")),
        (pc.is_in(F("i"), value_set=pa.array([None, 1])), Either((NullTest(Name(("i",))), Either((equal("i", "number",
         "1"),))))),
    ],
)  # fmt: skip
def test_nodes(expression: Any, expected: Node) -> None:
    """[STA-AR-1]"""
    assert node(expression) == expected


@pytest.mark.parametrize(
    ("expression", "text", "reason"),
    [
        (pc.scalar(1) == pc.scalar(2), "1 = 2", NO_COLUMN),
        (pc.scalar(1).is_valid(), "is_valid(1)", "the condition has no column"),
        (F("i") == F("s"), "i = s", "xskip does not compare int32 with string"),
        (F("i") == F("l"), "i = l", "xskip does not compare int32 with int64"),
        (pc.is_nan(F("i")), "is_nan(i)", "the column has no floating-point numbers"),
        (pc.starts_with(F("b"), pattern="x"), "starts_with(b, 'x')", PATTERNS),
        (F("wide") == 1, "wide = 1", "the files hold wide as int64, and the index as int"),
        (F("span") == pa.scalar(1, pa.duration("us")), "span = 0:00:00.000001",
         "the files hold span as duration[us], and the index as interval day to second"),
        (F("d").cast("float") == 1.0, "cast(d) = 1.0", "a cast to float can change values or their order"),
        (F("xs") == pa.scalar([1], pa.list_(pa.int32())), "xs = [1]",
         "xskip does not compare a column of type list<item: int32> with a literal of type list<item: int32>"),
        (F("c") == 1.5, "c = 1.5",
         "xskip does not compare a column of type decimal128(8, 2) with a literal of type double"),
        (F("c") == Decimal("1e30"), "c = 1000000000000000000000000000000", DECIMALS),
        (F("l") == Decimal("9" * 38), f"l = {'9' * 38}", DECIMALS),
        (F("s") == b"\xff", r"s = b'\xff'", "the bytes are no valid text"),
        (F("day") == datetime(2024, 1, 1, 5), "day = 2024-01-01 05:00:00",
         "xskip does not compare dates with times of the day"),
        (F("day") == "2024-01-01", "day = '2024-01-01'",
         "xskip does not compare a column of type date32[day] with a literal of type string"),
        (F("n") == pa.scalar(1, pa.timestamp("ns")), "n = 1970-01-01 00:00:00.000000001", TIMES),
    ],
)  # fmt: skip
def test_parts_without_a_node_state_the_reason(expression: Any, text: str, reason: str) -> None:
    """[STA-AR-2]"""
    assert node(expression) == Other(text, OtherReason(reason))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("day", pa.scalar(10**8, pa.date32()), DATES),
        ("n", pa.scalar(10**8, pa.date32()), DATES),
        ("n", pa.scalar(10**17, pa.timestamp("s")), TIMES),
        ("n", pa.scalar(-(2**63) + 1, pa.timestamp("us")), TIMES),
        ("n", pa.scalar(10**17, pa.timestamp("ms", "UTC")),
         "pyarrow does not compare timestamps with a zone and without one"),
        ("i", pa.scalar(2**62, pa.duration("s")),
         "xskip does not compare a column of type int32 with a literal of type duration[s]"),
        ("d", pa.scalar(10**17, pa.timestamp("s")),
         "xskip does not compare a column of type double with a literal of type timestamp[s]"),
    ],
)  # fmt: skip
def test_literals_that_python_does_not_have_keep_files(name: str, value: Any, reason: str) -> None:
    """[STA-AR-2]"""
    assert node(F(name) == value) == Other(f"{name} = {pc.scalar(value)}", OtherReason(reason))
    some = Other(f"some values of a list for {name}", OtherReason(reason))
    assert node(F(name).isin(pa.repeat(value, 1))) == Either((some,))


class Pickled:
    """An expression with another pickle than pyarrow's."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __reduce__(self) -> Any:
        return None, (self.data,)


def pickle_of(entries: dict[str, str]) -> bytes:
    schema = pa.schema([("0", pa.int32())], metadata=entries or None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch([pa.array([7], pa.int32())], schema))
    return bytes(sink.getvalue())


def test_pickles_in_an_unknown_form_are_an_error() -> None:
    """[STA-AR-3]"""
    assert tree_of(Pickled(pickle_of({"literal": "0"}))) == Scalar(pa.scalar(7, pa.int32()))
    unknown = "this version of pyarrow writes expressions in another form"
    cases = [
        (pickle_of({"literal": "7"}), unknown),
        (pickle_of({}), unknown),
        (b"pickle", unknown),
        (pickle_of({"nested_field_ref": "1", "literal": "0"}), "the path of a field has a part that is no name"),
        (pickle_of({"nested_field_ref": "2", "field_ref": "a"}), unknown),
        (pickle_of({"new": "1"}), "the expression has an unknown part new"),
        (pickle_of({"call": "equal", "field_ref": "i"}), "the expression is not complete"),
        (pickle_of({"literal": "0", "field_ref": "i"}), "the expression is not complete"),
    ]
    for data, reason in cases:
        with pytest.raises(FormError, match=f"^{reason}$"):
            tree_of(Pickled(data))
