"""Negation agrees with brute force, and paths and operands of leaves have stable text forms."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.reference import truth
from xskip.column_paths import join_path, split_path
from xskip.expressions.condition_reasons import OtherReason
from xskip.expressions.operands import Cast, Column
from xskip.expressions.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    StartsWith,
    Unknown,
    negate,
    operands,
)

A = Column(("a",), "int")
D = Column(("d",), "double")
S = Column(("s",), "string")
NAN = float("nan")

ROWS = {
    "a": (None, -1, 0, 1, 2),
    "d": (None, -0.0, 0.0, 5.0, NAN),
    "s": (None, b"", b"a", b"ab", b"b", b"\xff"),
}
LEAVES = {
    "a": [
        *(Comparison(op, A, 1) for op in Op),
        In(A, (1, 2)),
        In(A, (1, 2), has_null=True),
        In(A, ()),
        In(A, (), has_null=True),
        NotIn(A, (1, 2)),
        NotIn(A, (1, 2), has_null=True),
        IsNull(A),
        IsNotNull(A),
        Comparison(Op.LT, Cast(A, "bigint"), 1),
    ],
    "d": [
        *(Comparison(op, D, value) for op in Op for value in (NAN, 0.0, -0.0, 5.0)),
        In(D, (NAN, 0.0)),
        NotIn(D, (NAN, 0.0)),
    ],
    "s": [
        *(StartsWith(S, prefix) for prefix in (b"", b"a", b"\xff")),
        *(NotStartsWith(S, prefix) for prefix in (b"", b"a", b"\xff")),
    ],
}
CASES = [(name, leaf) for name, leaves in LEAVES.items() for leaf in leaves]


@pytest.mark.parametrize(("name", "leaf"), CASES, ids=str)
def test_negation_of_a_leaf_is_true_exactly_where_the_leaf_is_false(name: Any, leaf: Any) -> None:
    """[PRU-N-1] [PRU-N-2] [PRU-N-3]"""
    for value in ROWS[name]:
        assert (truth(negate(leaf), {name: value}) is True) == (truth(leaf, {name: value}) is False), value


@pytest.mark.parametrize(("name", "leaf"), CASES, ids=str)
def test_double_negation_is_true_exactly_where_the_leaf_is_true(name: Any, leaf: Any) -> None:
    """[PRU-N-1]"""
    for value in ROWS[name]:
        assert (truth(negate(negate(leaf)), {name: value}) is True) == (truth(leaf, {name: value}) is True), value


@pytest.mark.parametrize("value", [True, False, None])
def test_negation_of_a_constant(value: Any) -> None:
    """[PRU-N-3] The negation exchanges TRUE and FALSE, and leaves NULL unchanged."""
    assert negate(Constant(value)) == Constant({True: False, False: True, None: None}[value])


def test_negation_swaps_and_with_or_for_all_children() -> None:
    """[PRU-N-4]"""
    values = (True, False, None)
    kinds: tuple[type[And] | type[Or], ...] = (And, Or)
    for kind, size in product(kinds, (1, 2, 3)):
        for combination in product(values, repeat=size):
            predicate = kind(tuple(Constant(v) for v in combination))
            assert (truth(negate(predicate), {}) is True) == (truth(predicate, {}) is False), combination
    assert negate(And((IsNull(A), Comparison(Op.LT, A, 5)))) == Or((IsNotNull(A), Comparison(Op.GE, A, 5)))
    assert negate(Or((In(A, (1,)), StartsWith(S, b"x")))) == And((NotIn(A, (1,)), NotStartsWith(S, b"x")))


def test_negation_of_the_unknown_stays_unknown_wherever_it_is() -> None:
    """[PRU-N-5]"""
    unknown = Unknown(OtherReason("a function"))
    assert negate(unknown) == unknown
    assert negate(And((Comparison(Op.EQ, A, 1), unknown))) == Or((Comparison(Op.NE, A, 1), unknown))


def test_negation_of_empty_lists() -> None:
    """[SND-9] [PRU-N-3] The negation of an empty IN list is TRUE, and NULL if the list contains NULL."""
    assert negate(In(A, ())) == Constant(True)
    assert negate(In(A, (), has_null=True)) == Constant(None)
    assert negate(NotIn(A, ())) == Constant(False)
    assert negate(NotIn(A, (), has_null=True)) == Constant(None)


def test_negation_keeps_the_null_of_a_list() -> None:
    """[SND-8] [PRU-N-2]"""
    assert negate(In(A, (1,), has_null=True)) == NotIn(A, (1,), has_null=True)
    assert negate(NotIn(A, (1,), has_null=True)) == In(A, (1,), has_null=True)


@pytest.mark.parametrize(
    ("op", "negated", "flipped"),
    [
        (Op.EQ, Op.NE, Op.EQ),
        (Op.NE, Op.EQ, Op.NE),
        (Op.LT, Op.GE, Op.GT),
        (Op.LE, Op.GT, Op.GE),
        (Op.GT, Op.LE, Op.LT),
        (Op.GE, Op.LT, Op.LE),
    ],
)
def test_each_comparison_has_a_negation_and_a_mirror_image(op: Any, negated: Any, flipped: Any) -> None:
    assert (op.negated, op.flipped) == (negated, flipped)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("a",), "a"),
        (("a", "b"), "a.b"),
        (("a.b",), "`a.b`"),
        (("a", "b.c", "d e"), "a.`b.c`.d e"),
        (("a`b",), "`a``b`"),
        (("`",), "````"),
        (("a#b",), "a#b"),
        (("größe",), "größe"),
    ],
)
def test_paths_are_written_and_read_back(path: Any, text: str) -> None:
    assert join_path(path) == text
    assert split_path(text) == path


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "`a", "`a`b", "`a`.", "``", "a.``", "`a``"])
def test_invalid_paths_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the column path has"):
        split_path(text)


def test_operands_are_named_in_order_with_repeats() -> None:
    predicate = And(
        (Comparison(Op.GT, Cast(A, "bigint"), 1), Or((StartsWith(S, b"x"), IsNull(A))), Unknown(OtherReason("f")))
    )
    assert list(operands(predicate)) == [Cast(A, "bigint"), S, A]
    assert list(operands(Constant(True))) == []


def test_predicates_print_without_their_values() -> None:
    predicate = And(
        (
            Comparison(Op.LE, Column(("a", "b.c"), "int"), 12345),
            Or((In(A, (12345, 6)), NotIn(Cast(A, "bigint"), (12345,)))),
            StartsWith(S, b"12345"),
            NotStartsWith(S, b"12345"),
            IsNull(A),
            IsNotNull(A),
            Constant(None),
            Unknown(OtherReason("why")),
        )
    )
    assert str(predicate) == (
        "(a.`b.c` <= ? AND (a IN (2 values) OR cast(a as bigint) NOT IN (1 values)) AND s LIKE '?%'"
        " AND s NOT LIKE '?%' AND a IS NULL AND a IS NOT NULL AND NULL AND ?)"
    )
