"""NULL values, files, columns and nested columns are handled correctly.

Classes: SND-5 (NOT LIKE beside NULL), SND-6 (IS NULL, ``<=>``), SND-8 (NOT IN where a file lacks the column), SND-12
(no statistics are not "all NULL").
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.helpers import write_files
from tests.soundness.checking import ALL, NONE, Family, family
from xskip import BloomFilter, Index, MinMax, NullCount, ValueList

FILES: dict[str, list[Any]] = {
    "fives": [(5, "apple"), (5, "apricot")],
    "some": [(5, "apple"), (None, None)],
    "nulls": [(None, None), (None, None)],
    "nines": [(9, "banana")],
}
# the same three words for each kind of index: x IS NULL is a question that none of them answers
NULL_TESTS = {
    "x is null": ALL,
    "x <=> null": ALL,
    "not (x is not null)": ALL,
    "x is not null": "fives some nines",
    "not (x is null)": "fives some nines",
    "not (x <=> null)": "fives some nines",
    "x <=> 5": "fives some",
    "not (x <=> 5)": ALL,
    "not (x <=> 9)": ALL,
    "x is null or x = 9": ALL,
    "x is null and x = 9": "nines",
    "x is null and y = 'banana'": ALL,
    "coalesce(x, 5) = 5": ALL,
    "x = null": NONE,
    "x <> null": NONE,
    "nullif(x, 5) = 9": "nines",
}


@pytest.fixture(scope="module")
def nulls(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    kinds: dict[str, list[Index]] = {
        "minmax": [MinMax("x")],
        "valuelist": [ValueList("x")],
        "bloom": [BloomFilter("x", fpp=1e-6)],
        "minmax_y": [MinMax("y")],
        "valuelist_y": [ValueList("y")],
    }
    return family(session, tmp_path_factory.mktemp("nulls"), "x int, y string", FILES, kinds)


@pytest.mark.parametrize("kind", ["minmax", "valuelist"])
def test_is_null_and_null_safe_equality(spark: SparkSession, nulls: Family, kind: str) -> None:
    """[SND-6] IS NULL and ``<=>`` skip no file with a matching NULL."""
    nulls.check(kind, NULL_TESTS)


def test_is_null_and_null_safe_equality_on_bloom(spark: SparkSession, nulls: Family) -> None:
    """[SND-6] A Bloom filter proves nothing about NULL."""
    nulls.check("bloom", {"x is null": ALL, "x <=> 5": "fives some", "not (x <=> 5)": ALL, "x is not null": ALL})


@pytest.mark.parametrize("kind", ["minmax_y", "valuelist_y"])
def test_not_like_beside_null(spark: SparkSession, nulls: Family, kind: str) -> None:
    """[SND-5] NOT LIKE skips no file with a match beside NULL."""
    nulls.check(
        kind,
        {
            "y not like 'ap%'": "nines",
            "not startswith(y, 'app')": "fives nines",
            "y not like 'b%'": "fives some",
            "not (y like 'ap%') or y is null": ALL,
            "y not like '%'": NONE,
            "y like '%'": "fives some nines",
        },
    )


#: What bounds and counts of NULL keep for conditions on values in place of NULL.
FALLBACKS = {
    "ifnull(x, 5) = 5": "fives some nulls",
    "coalesce(x, 0) = 5": "fives some",
    "nvl(x, 0) = 0": "some nulls",
    "ifnull(x, 0) <> 0": "fives some nines",
    "not (ifnull(x, 0) = 5)": "some nulls nines",
    "coalesce(x, 9) in (9, 1)": "some nulls nines",
    "coalesce(x, 9) not in (9, 1)": "fives some",
    "coalesce(x, 5) <=> 9": "nines",
    "not (coalesce(x, 5) <=> 9)": "fives some nulls",
    "coalesce(x, 7) > 7": "nines",
    "coalesce(x, 7) between 6 and 8": "some nulls",
    "coalesce(x, cast(null as int)) = 9": "nines",
    "coalesce(x, length(y), 9) = 9": "some nulls nines",
    "coalesce(x = 5, false)": "fives some",
    "coalesce(x = 5, true)": "fives some nulls",
    "not coalesce(x = 5, true)": "nines",
    "not coalesce(x = 5, false)": "some nulls nines",
    "(x = 5) is null": "some nulls",
    "if(x is null, 0, x) = 0": "some nulls",
    "nvl2(x, 1, 0) = 0": "some nulls",
    "coalesce(x, 5) is null": NONE,
}


@pytest.mark.parametrize("kind", ["bounds", "list"])
def test_values_in_place_of_null(spark: SparkSession, nulls: Family, kind: str) -> None:
    """[SND-6] [PRU-N-8] A condition on COALESCE is one on its arguments; unknown numbers of NULL keep files."""
    if not (nulls.root / kind).exists():
        nulls.add(kind, [MinMax("x") if kind == "bounds" else ValueList("x"), NullCount("x")])
    nulls.check(kind, FALLBACKS)
    counts = {"ifnull(x, 5) = 5": ALL, "coalesce(x, 0) = 5": "fives some", "coalesce(x, 9) not in (9, 1)": "fives some"}
    nulls.check("minmax", {**counts, "nvl(x, 0) = 0": ALL, "not coalesce(x = 5, true)": "nines"})
    nulls.check(
        "bloom", {"coalesce(x, 0) = 9": "nines", "coalesce(x, 9) = 9": ALL, "coalesce(x, 0) in (9, 7)": "nines"}
    )


EXPRESSIONS: dict[str, list[Index]] = {
    "of values": [ValueList("x is not null", expression=True)],
    "of nulls": [ValueList("x is null", expression=True)],
    "of both": [MinMax("isnull(x)", expression=True), MinMax("x")],
}


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_null_tests_as_expressions(spark: SparkSession, nulls: Family, kind: str) -> None:
    """[SND-6] [PRU-EX-5] An index on a null test answers it and its opposite, in each form that Spark gives it."""
    copy = kind.replace(" ", "_")
    nulls.add(copy, EXPRESSIONS[kind])
    nulls.check(
        copy,
        {
            "x is not null": "fives some nines",
            "x is null": "some nulls",
            "not (x is null)": "fives some nines",
            "isnull(x)": "some nulls",
            "(x is not null) = true": "fives some nines",
            "(x is not null) = false": "some nulls",
            "x <=> null": "some nulls",
            "x is null and y is null": "some nulls",
            "x is null or x is not null": ALL,
            "ifnull(x, 0) = 0": "some nulls" if kind == "of both" else ALL,
            "ifnull(x, 0) = 5": "fives some" if kind == "of both" else "fives some nines",
            "y is null": ALL,
        },
    )


def test_conditions_as_expressions(spark: SparkSession, nulls: Family) -> None:
    """[PRU-EX-5] An index on a condition answers it and its negation, and one on COALESCE its conditions."""
    nulls.add("condition", [ValueList("x = 5", expression=True), NullCount("x = 5", expression=True)])
    nulls.check("condition", {"x = 5": "fives some", "not (x = 5)": "nines", "x > 5": ALL, "x = 9": ALL})
    nulls.add("coalesced", [ValueList("ifnull(x, 9)", expression=True)])
    nulls.check(
        "coalesced",
        {"ifnull(x, 9) = 9": "some nulls nines", "coalesce(x, 9) < 7": "fives some", "ifnull(x, 8) = 8": ALL},
    )


COMPLEX = "s struct<a: int, t: struct<b: string>>, l array<int>, m map<string, int>"
COMPLEX_FILES: dict[str, list[Any]] = {
    "full": [((1, ("x",)), [1], {"k": 1}), ((2, ("y",)), [], {})],
    "inner": [((None, (None,)), [None], {"k": None}), ((1, None), None, None)],
    "outer": [(None, None, None)],
    "mixed": [(None, None, None), ((7, ("z",)), [7], {"k": 7})],
}


@pytest.fixture(scope="module")
def nested(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    kinds: dict[str, list[Index]] = {
        "minmax": [MinMax("s.a"), MinMax("s.t.b")],
        "valuelist": [ValueList("s.a"), ValueList("s.t.b")],
        "bloom": [BloomFilter("s.a", fpp=1e-6), BloomFilter("s.t.b", fpp=1e-6)],
    }
    return family(session, tmp_path_factory.mktemp("nested"), COMPLEX, COMPLEX_FILES, kinds)


@pytest.mark.parametrize("kind", ["minmax", "valuelist"])
def test_null_in_complex_types(spark: SparkSession, nested: Family, kind: str) -> None:
    """[SND-6] Fields of NULL structs are NULL."""
    nested.check(
        kind,
        {
            "s is null": ALL,
            "s is not null": ALL,
            "s.a is null": ALL,
            "s.a is not null": "full inner mixed",
            "s.t is null": ALL,
            "s.t.b is not null": "full mixed",
            "s.t.b <=> null": ALL,
            "s.a <=> 7": "mixed",
            "s.a <> 1": "full mixed",
            "s is not null and s.a = 7": "mixed",
            "s is null or s.a = 7": ALL,
            "s.t.b = 'y'": "full",
            "get(l, 0) = 7": ALL,
            "m['k'] = 7": ALL,
            "size(l) = 0": ALL,
            "s = named_struct('a', 7, 't', named_struct('b', 'z'))": "mixed",
            "array_contains(l, 7) and s.a = 7": "mixed",
        },
    )


def test_null_in_complex_types_on_bloom(spark: SparkSession, nested: Family) -> None:
    """[SND-6] Bloom filters answer equality on fields of structs."""
    nested.check("bloom", {"s.a = 7": "mixed", "s.t.b = 'y'": "full", "s is null": ALL, "s.a is not null": ALL})


@pytest.mark.parametrize("index", [MinMax("c"), ValueList("c"), BloomFilter("c", fpp=1e-6)], ids=lambda i: i.name)
def test_column_added_later(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, index: MinMax | ValueList | BloomFilter
) -> None:
    """[SND-8] [SND-12] Files older than a column hold only NULL, and are never skipped for IS NULL."""
    root = tmp_path_factory.mktemp("added")
    write_files(spark, root / "plain", "x int", {"old": [(1,), (2,)]})
    write_files(spark, root / "plain", "x int, c int", {"new": [(3, 42), (4, None)], "newer": [(5, 7)]})
    made = Family(spark, root, schema="x int, c int")
    made.add("copy", [index])
    bloom = isinstance(index, BloomFilter)
    made.check(
        "copy",
        {
            "c = 42": "new",
            "c is null": ALL,
            "c <=> null": ALL,
            "not (c <=> 42)": ALL,
            "c is null or c = 7": ALL,
            "c <> 42": ALL if bloom else "newer",
            "c not in (42)": ALL if bloom else "newer",
            "c not in (7, null)": NONE,
            "c not in (7)": ALL if bloom else "new",
            "c is not null": ALL if bloom else "new newer",
        },
    )


@pytest.mark.parametrize("index", [MinMax("s"), ValueList("s"), BloomFilter("s", fpp=1e-6)], ids=lambda i: i.name)
def test_values_too_long_for_statistics(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, index: MinMax | ValueList | BloomFilter
) -> None:
    """[SND-12] A column whose values are too long for bounds is not all NULL."""
    files: dict[str, list[Any]] = {
        "a": [("a" * 10_000,), (None,)],
        "b": [("b" * 10_000,)],
        "nulls": [(None,)],
        "short": [("c",)],
    }
    long = family(spark, tmp_path_factory.mktemp("long"), "s string", files, {"copy": [index]})
    long.check("copy", [(F.expr("s = repeat('a', 10000)"), "a"), ("s = repeat('b', 10000)", "b"), ("s = 'c'", "short")])
    if not isinstance(index, BloomFilter):
        long.check("copy", {"s is not null": "a b short", "s <> 'c'": "a b", "s like 'a%'": "a", "s is null": ALL})
