"""Predicates over padded strings are those over the strings of the files, compared for all short strings."""

from __future__ import annotations

from itertools import product

import pytest

from tests.reference import leaf_truth, truth
from xskip.expressions.char_padding import Padded
from xskip.expressions.operands import Column
from xskip.expressions.predicate import And, Comparison, In, Op, Predicate, StartsWith, negate

C = Column(("c",), "string")
SIZE = 2
#: A character below the space, the space, characters above it, one of two bytes.
TEXTS = ["".join(letters) for k in range(SIZE + 2) for letters in product("\t !é", repeat=k)]
LITERALS = [text.encode() for text in TEXTS]
#: Bytes that are not valid UTF-8 as well: parts of characters, and bytes that begin no character.
VALUES = [
    *LITERALS,
    b"\xc3",
    b"!\xc3",
    b"\xe2\x82",
    b"\xa9",
    b"\xa9 ",
    b"\xff",
    b"\xff\xff\xff",
    b"\xe2  ",
    b"\xe2   !",
]
OPS = [Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE]


def ends(value: bytes) -> list[int]:
    """Return where each character of a value ends, as Spark's UTF8String finds it from the first byte."""
    found, at = [], 0
    while at < len(value):
        first = value[at]
        at += 4 if first >= 0xF0 else 3 if first >= 0xE0 else 2 if first >= 0xC0 else 1
        found.append(min(at, len(value)))
    return found


def pad(value: bytes, *, is_cut: bool) -> bytes:
    """Return a value as ``readSidePadding`` or ``rpad`` returns it."""
    lengths = ends(value)
    if is_cut and len(lengths) > SIZE:
        return value[: lengths[SIZE - 1]]
    return value + b" " * (SIZE - len(lengths))


def check(found: Predicate, leaf: Comparison | In | StartsWith, *, is_cut: bool) -> None:
    """Assert that a predicate and its negation have the result of a leaf on the padded value, for all values."""
    for value in (*VALUES, None):
        wanted = leaf_truth(leaf, None if value is None else pad(value, is_cut=is_cut))
        assert truth(found, {"c": value}) is wanted, (leaf, value)
        assert truth(negate(found), {"c": value}) is (None if wanted is None else not wanted), (leaf, value)


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("op", OPS)
def test_comparisons_with_all_literals(op: Op, is_cut: bool) -> None:
    """[PRU-CH-2] [PRU-CH-3] [PRU-CH-6] Comparisons are exact, also with control characters and invalid UTF-8."""
    padded = Padded(C, SIZE, is_cut)
    unsupported = set()
    for literal in LITERALS:
        found = padded.compare(op, literal)
        if found is None:
            unsupported.add(len(literal.decode()))
        else:
            check(found, Comparison(op, C, literal), is_cut=is_cut)
    assert unsupported == ({0, 1, 3} if is_cut and op not in (Op.EQ, Op.NE) else set())


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("has_null", [False, True])
def test_lists(has_null: bool, is_cut: bool) -> None:
    """[PRU-CH-2] [PRU-CH-6] Lists are exact, with and without NULL, also if no padded value can be in them."""
    padded = Padded(C, SIZE, is_cut)
    for values in [(), (b"!",), (b"!", b""), (b"! ", b"  "), (b"!!!", b"! ", b"!"), (b"!! ", b"\t ")]:
        found = padded.among(values, has_null=has_null)
        assert found is not None
        check(found, In(C, values, has_null), is_cut=is_cut)


def test_prefixes() -> None:
    """[PRU-CH-4] A prefix that ends with spaces finds values that padding gives these spaces."""
    for prefix in LITERALS:
        found = Padded(C, SIZE).starts_with(prefix)
        assert found is not None
        check(found, StartsWith(C, prefix), is_cut=False)
    assert Padded(C, SIZE, is_cut=True).starts_with(b"a") is None


@pytest.mark.parametrize("literal", [b"\xff", b"!\xc3", b"!" * 5000])
def test_literals_without_support(literal: bytes) -> None:
    """[PRU-CH-5] Literals that are long or not valid UTF-8 are not translated."""
    padded = Padded(C, SIZE)
    assert [padded.compare(op, literal) for op in OPS] == [None] * 6
    assert padded.starts_with(literal) is padded.among((b"a", literal)) is None


def test_long_lists_become_bounds() -> None:
    """[PRU-CH-5] A list that stands for too many values keeps their bounds, and its negation is unknown."""
    found = Padded(C, 1000).among([f"{k:>4}".encode().ljust(1000) for k in range(50)])
    assert isinstance(found, And)
    (reach, _) = found.children
    assert str(reach) == "(c >= ? AND c <= ?)"
    assert [truth(found, {"c": value}) for value in (b"   0", b"  49".ljust(1000), b"  5", b"   ")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert truth(negate(found), {"c": b"   1"}) is True
