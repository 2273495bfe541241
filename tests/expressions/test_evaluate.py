"""Keys of Arrow arrays have Spark's order of values."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from tests.reference import CASTS, POOLS, compare, leaf_truth, to_arrow
from xskip.expressions import evaluate
from xskip.expressions.evaluate import matches, prefix_end
from xskip.expressions.operands import Cast, Column
from xskip.expressions.predicate import Comparison, In, IsNotNull, IsNull, Leaf, NotIn, NotStartsWith, Op, StartsWith
from xskip.types.datatypes import arrow_type
from xskip.types.sort_keys import literal_key, literal_keys, sort_key

NAN = float("nan")
INF = float("inf")


def ranks(values: list[Any], kind: pa.DataType) -> list[list[Any]]:
    """Return the values in groups of equal values, in ascending order."""
    keys = sort_key(to_arrow(values, kind))
    groups: dict[Any, list[Any]] = {}
    for value, key in zip(values, keys.to_pylist(), strict=True):
        groups.setdefault(key, []).append(value)
    order = pa.compute.sort_indices(pa.array(list(groups), keys.type)).to_pylist()
    return [list(groups.values())[i] for i in order]


def test_nan_is_above_everything_and_equal_to_itself() -> None:
    """[SND-10] [PRU-V-5]"""
    keys = sort_key(pa.array([NAN, -NAN, INF, 1e308, -INF], pa.float64())).to_pylist()
    assert keys[0] == keys[1] > keys[2] > keys[3] > keys[4]
    keys = sort_key(pa.array([NAN, -NAN, INF, 3e38, -INF], pa.float32())).to_pylist()
    assert keys[0] == keys[1] > keys[2] > keys[3] > keys[4]


def test_minus_zero_is_zero() -> None:
    """[SND-11] [PRU-V-5]"""
    for kind in (pa.float32(), pa.float64()):
        keys = sort_key(pa.array([-1e-40, -0.0, 0.0, 1e-40], kind)).to_pylist()
        assert keys[0] < keys[1] == keys[2] < keys[3]


def test_infinities_are_ends_of_the_numbers() -> None:
    """[SND-21] [PRU-V-5]"""
    assert ranks([INF, 1.0, -INF, -1.0], pa.float64()) == [[-INF], [-1.0], [1.0], [INF]]


def test_strings_compare_as_utf8_bytes_and_not_as_utf16() -> None:
    """[SND-18] [PRU-V-5] In UTF-16, U+1F600 begins with D83D and would sort before U+FFFD."""
    values = [s.encode() for s in ("\U0001f600", "\ufffd", "z", "é", "az", "")]
    assert ranks(values, pa.string()) == [[s.encode()] for s in ("", "az", "z", "é", "\ufffd", "\U0001f600")]


def test_binary_compares_unsigned() -> None:
    """[SND-18] [PRU-V-5]"""
    assert ranks([b"\x80", b"\x7f", b"", b"\xff", b"\xff\x00"], pa.binary()) == [
        [b""], [b"\x7f"], [b"\x80"], [b"\xff"], [b"\xff\x00"],
    ]  # fmt: skip


def test_negative_decimals() -> None:
    """[SND-19] [PRU-V-5] Decimals are ordered by value, with their sign."""
    values = [Decimal("0.01"), Decimal("-0.01"), Decimal("-12345678901234567890.12"), Decimal("10.00"), Decimal("9.99")]
    assert ranks(values, pa.decimal128(38, 2)) == [[v] for v in sorted(values)]


def test_extreme_dates_and_times_are_in_order() -> None:
    days = [-(2**31), -719162, -1, 0, 2932896, 2**31 - 1]
    assert ranks(days[::-1], pa.date32()) == [[d] for d in days]
    micros = [-(2**63), -62135596800000000, -1, 0, 253402300799999999, 2**63 - 1]
    assert ranks(micros[::-1], pa.timestamp("us", tz="UTC")) == [[m] for m in micros]
    assert ranks(micros[::-1], pa.timestamp("us")) == [[m] for m in micros]


def test_false_is_below_true() -> None:
    assert ranks([True, False], pa.bool_()) == [[False], [True]]


@pytest.mark.parametrize("spark_type", POOLS)
def test_null_stays_null_in_keys(spark_type: Any) -> None:
    kind = arrow_type(spark_type)
    keys = sort_key(to_arrow([POOLS[spark_type][0], None], kind))
    assert keys.is_null().to_pylist() == [False, True]
    assert sort_key(pa.nulls(3, kind)).null_count == 3
    assert len(sort_key(pa.array([], kind))) == 0


@pytest.mark.parametrize("spark_type", POOLS)
def test_keys_of_literals_compare_with_keys_of_columns_as_the_values_do(spark_type: Any) -> None:
    """[PRU-V-5]"""
    values = POOLS[spark_type]
    keys = sort_key(to_arrow(values, arrow_type(spark_type)))
    assert literal_keys(values, spark_type).equals(keys)
    for op, literal in product(Op, values):
        found = evaluate.compare(op, keys, literal_key(literal, spark_type)).to_pylist()
        assert found == [compare(op, value, literal) for value in values], (op, literal)


def test_sliced_arrays_have_the_keys_of_their_own_rows() -> None:
    for spark_type in ("double", "string", "boolean", "date", "timestamp", "tinyint"):
        values = to_arrow(POOLS[spark_type], arrow_type(spark_type))
        assert sort_key(values.slice(1, 1)).equals(sort_key(values).slice(1, 1))


def test_decimal_literals_of_any_precision_and_scale() -> None:
    """[PRU-V-5] Literals may have more digits than Python's default decimal context."""
    wide = Decimal("123456789012345678901234567890123456.78")
    assert literal_key(wide, "decimal(38,2)").as_py() == wide
    assert literal_key(Decimal("1.5"), "decimal(19,2)").as_py() == Decimal("1.50")
    assert literal_key(Decimal("1.5"), "decimal(18,2)").as_py() == 150
    assert literal_key(Decimal("-1"), "decimal(38,37)").as_py() == Decimal(-1)


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        (b"", None),
        (b"a", b"b"),
        (b"ab", b"ac"),
        (b"a\xff", b"b"),
        (b"a\xff\xff", b"b"),
        (b"a\xffb", b"a\xffc"),
        (b"\xff", None),
        (b"\xff\xff", None),
        (b"\x7f", b"\x80"),
        (b"\xfe\xff", b"\xff"),
        ("\U0010ffff".encode(), b"\xf4\x8f\xbf\xc0"),
    ],
)
def test_the_end_of_a_prefix(prefix: Any, end: Any) -> None:
    """[SND-15] The end of a prefix is the least value above all values that start with the prefix."""
    assert prefix_end(prefix) == end


def test_the_end_of_a_prefix_parts_what_starts_with_it_from_what_does_not() -> None:
    """[SND-15]"""
    pieces = [b"", b"\x00", b"a", b"b", b"\xfe", b"\xff"]
    words = {x + y + z for x, y, z in product(pieces, repeat=3)}
    for prefix, word in product(words, words):
        end = prefix_end(prefix)
        assert word.startswith(prefix) == (prefix <= word and (end is None or word < end)), (prefix, word)


def leaves_of(spark_type: str) -> list[Leaf]:
    column, pool = Column(("c",), spark_type), POOLS[spark_type]
    leaves: list[Leaf] = [Comparison(op, column, value) for op in Op for value in pool]
    for wanted in ((), pool[:1], pool[1:3], pool):
        leaves += [In(column, wanted), In(column, wanted, has_null=True)]
        leaves += [NotIn(column, wanted), NotIn(column, wanted, has_null=True)] if wanted else []
    leaves += [IsNull(column), IsNotNull(column)]
    if spark_type == "string":
        prefixes = (b"", b"a", b"ab", b"\xf0", "\ufffd".encode(), b"\xff")
        leaves += [kind(column, prefix) for kind in (StartsWith, NotStartsWith) for prefix in prefixes]
    for target in CASTS.get(spark_type, ()):
        leaves += [Comparison(op, Cast(column, target), value) for op in Op for value in pool]
        leaves += [In(Cast(column, target), pool[:2]), NotIn(Cast(column, target), pool[:2])]
    return leaves


@pytest.mark.parametrize("spark_type", POOLS)
def test_a_leaf_matches_a_value_where_sql_says_true_and_is_never_null(spark_type: Any) -> None:
    """[PRU-V-5]"""
    values = [*POOLS[spark_type], None]
    arrow = to_arrow(values, arrow_type(spark_type))
    for leaf in leaves_of(spark_type):
        assert matches(leaf, arrow).to_pylist() == [leaf_truth(leaf, value) is True for value in values], leaf
