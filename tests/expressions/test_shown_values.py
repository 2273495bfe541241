"""The texts of predicates with their values, in which hidden columns have none."""

from __future__ import annotations

import pytest

from xskip.expressions.operands import Call, Cast, Column, Elements
from xskip.expressions.predicate import (
    Comparison,
    Equivalent,
    In,
    IsNull,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    Value,
)
from xskip.expressions.shown_values import leaf_texts, text_with_values

A = Column(("a",), "int")
S = Column(("st", "S"), "string")
BYTES = Column(("b",), "binary")
CALL = Call("key", "f", "int", (A, 5))
FAR = 1 << 62


def equal(kind: str, value: Value) -> Comparison:
    return Comparison(Op.EQ, Column(("x",), kind), value)


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (NotIn(A, (1, 2)), "a NOT IN (1, 2)"),
        (In(A, (1, 2, 3)), "a IN (1, 2, 3)"),
        (In(A, (1, 2, 3, 4, 5)), "a IN (1, 2, 3, and 2 more)"),
        (StartsWith(S, b"it's"), "st.S LIKE 'it''s%'"),
        (NotStartsWith(S, b"\xff"), "st.S NOT LIKE '\ufffd%'"),
        (IsNull(A), "a IS NULL"),
        (equal("binary", b"\x00\xff"), "x = X'00ff'"),
        (equal("date", -1), "x = '1969-12-31'"),
        (equal("timestamp", 1), "x = '1970-01-01 00:00:00.000001Z'"),
        (equal("timestamp_ntz", 0), "x = '1970-01-01 00:00:00'"),
        (equal("timestamp", FAR), f"x = {FAR}"),
        (equal("date", FAR), f"x = {FAR}"),
        (equal("string", b"x" * 41), f"x = '{'x' * 40}…'"),
        (Equivalent((Or((equal("int", 1), equal("int", 2))), equal("int", 3))), "(x = 1 OR x = 2)"),
        (Comparison(Op.LT, CALL, 7), f"{CALL} < 7"),
    ],
)
def test_texts_have_the_values(predicate: Predicate, text: str) -> None:
    """[REP-V-1]"""
    assert text_with_values(predicate) == text


@pytest.mark.parametrize(
    "predicate",
    [
        equal("int", 1), Comparison(Op.LT, Cast(Column(("X",), "int"), "bigint"), 7),
        In(Elements(Column(("x", "y"), "array<int>"), "int"), (7,)), NotIn(Column(("X", "y"), "int"), (7,)),
        StartsWith(Column(("x",), "string"), b"7"), Comparison(Op.GT, CALL, 7),
    ],
    ids=str,
)  # fmt: skip
def test_hidden_columns_have_no_values(predicate: Predicate) -> None:
    """[REP-V-2]"""
    assert text_with_values(predicate, {"x"}) == str(predicate)
    both = Or((predicate, Comparison(Op.EQ, A, 5)))
    assert text_with_values(both, {"x"}) == f"({predicate} OR a = 5)"
    assert leaf_texts(both, {"x"}) == {str(predicate): str(predicate), "a = ?": "a = 5"}
