"""Comparisons, IN and NOT on integers skip exactly the expected files.

Classes: SND-1 (``!=`` on bounds), SND-2 (negated membership), SND-7 (AND and OR with a leg that no index answers),
SND-8 (NOT IN with NULL), SND-9 (empty lists), SND-22 (value lists at their cap).
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.helpers import opened_files
from tests.soundness.checking import ALL, NONE, Family, family
from xskip import BloomFilter, Index, MinMax, ValueList

FILES: dict[str, list[Any]] = {
    "fives": [(5, 1), (5, 2)],
    "mixed": [(1, 1), (5, 2), (9, 3)],
    "low": [(1, 4), (2, None)],
    "nulls": [(None, 1), (None, 2)],
    "fivenull": [(5, 1), (None, 2)],
    "empty": [],
}


@pytest.fixture(scope="module")
def ints(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    kinds: dict[str, list[Index]] = {
        "minmax": [MinMax("x")],
        "valuelist": [ValueList("x")],
        "bloom": [BloomFilter("x", fpp=1e-6)],
    }
    return family(session, tmp_path_factory.mktemp("ints"), "x int, y int", FILES, kinds)


def test_not_equal_on_minmax(spark: SparkSession, ints: Family) -> None:
    """[SND-1] Bounds skip a file for ``<>`` only if all rows have this value."""
    ints.check(
        "minmax",
        {
            "x <> 5": "mixed low",
            "not (x = 5)": "mixed low",
            "x <> 1": "fives mixed low fivenull",
            "x <> 7": "fives mixed low fivenull",
            "x <> 1 and x <> 5 and x <> 9": "mixed low",
            "x <> 1 or x <> 5": "fives mixed low fivenull",
            "not (x <> 5)": "fives mixed fivenull",
            "not (x < 5)": "fives mixed fivenull",
            "not (x <= 5)": "mixed",
            "not (x > 5)": "fives mixed low fivenull",
            "not (x >= 5)": "mixed low",
            "not (x between 3 and 5)": "mixed low",
            "not (x between 1 and 2)": "fives mixed fivenull",
            "not (x < 5 or x > 5)": "fives mixed fivenull",
            "5 <> x": "mixed low",
        },
    )


def test_not_equal_on_valuelist(spark: SparkSession, ints: Family) -> None:
    """[SND-1] Lists skip a file for ``<>`` only if all rows have this value."""
    ints.check(
        "valuelist",
        {
            "x <> 5": "mixed low",
            "not (x = 5)": "mixed low",
            "x <> 1": "fives mixed low fivenull",
            "x <> 1 and x <> 5 and x <> 9": "low",  # all are asked of each value
            "not (x between 1 and 2)": "fives mixed fivenull",
            "not (x between 3 and 5)": "mixed low",
        },
    )


def test_ranges_are_exact(spark: SparkSession, ints: Family) -> None:
    """[SND-1] Ranges read exactly the files with a match."""
    cases = {
        "x < 5": "mixed low",
        "x <= 5": "fives mixed low fivenull",
        "x > 5": "mixed",
        "x >= 5": "fives mixed fivenull",
        "x < 1": NONE,
        "x <= 1": "mixed low",
        "x > 9": NONE,
        "x >= 9": "mixed",
        "5 < x": "mixed",
        "x = 9": "mixed",
        "x = 100": NONE,
    }
    ints.check("minmax", cases | {"x = 3": "mixed", "x in (3, 4)": "mixed", "x between 6 and 8": "mixed"})
    ints.check("valuelist", cases | {"x = 3": NONE, "x in (3, 4)": NONE, "x between 6 and 8": NONE})
    ints.check("bloom", {"x = 9": "mixed", "x = 3": NONE, "x in (3, 2)": "low", "x = 5": "fives mixed fivenull"})


def test_negated_membership_on_bloom(spark: SparkSession, ints: Family) -> None:
    """[SND-2] A Bloom filter skips no file for a negated membership."""
    ints.check(
        "bloom",
        {
            "x <> 5": ALL,
            "not (x = 5)": ALL,
            "x not in (1, 5)": ALL,
            "(x = 5) = false": ALL,
            "(x in (1, 2)) = false": ALL,
            "(x = 5) is null": ALL,
            "not (x <=> 5)": ALL,
            "x = 9 and not (x = 5)": "mixed",
        },
    )


def test_negated_membership_on_valuelist_and_minmax(spark: SparkSession, ints: Family) -> None:
    """[SND-2] Lists and bounds skip files for NOT IN only if every row is in the list."""
    both = {"x not in (1, 5)": "mixed low", "(x = 5) = false": "mixed low", "not (x in (5))": "mixed low"}
    ints.check("valuelist", both | {"x not in (1, 2)": "fives mixed fivenull", "x not in (1, 5, 9)": "low"})
    ints.check("minmax", both | {"x not in (1, 2)": "fives mixed low fivenull", "x not in (1, 5, 9)": "mixed low"})


def test_and_or_with_an_unindexed_leg(spark: SparkSession, ints: Family) -> None:
    """[SND-7] A condition on a column without an index skips no file, and keeps no file under AND."""
    bounds = {
        "x = 9 and y = 3": "mixed",
        "x = 100 and y = 1": NONE,
        "x = 100 or y = 1": ALL,
        "y = 77 or x = 9": ALL,
        "x = 100 or x = 200": NONE,
        "(x = 100 or y = 1) and x = 9": "mixed",
        "x = 9 or (x = 100 and y = 1)": "mixed",
        "(x = 9 and y = 3) or (x = 2 and y = 4)": "mixed low",
        "not (x = 5 or y = 1)": "mixed low",
        "not (x = 5 and y = 1)": ALL,
        "y = 1": ALL,
        "x = y": "fives mixed low fivenull",  # x IS NOT NULL, which Spark infers
        "x + 1 = 6 or x = 100": "fives mixed fivenull",
        "x = 9 and abs(y) = 3": "mixed",
    }
    # x = 2 lies within mixed's bounds, and is none of its values
    ints.check("minmax", bounds)
    ints.check("valuelist", bounds)
    blooms = ("x = 9 and y = 3", "x = 100 or y = 1", "x = 100 or x = 200", "x = 9 or (x = 100 and y = 1)", "y = 1")
    ints.check("bloom", {predicate: bounds[predicate] for predicate in blooms})


def test_each_leg_has_an_index(spark: SparkSession, ints: Family) -> None:
    """[SND-7] AND and OR combine the verdicts of indexes on two columns."""
    ints.add("both", [MinMax("x"), ValueList("y")])
    ints.check(
        "both",
        {
            "x = 9 or y = 4": "mixed low",
            "x < 2 and y = 4": "low",
            "x = 100 or y = 100": NONE,
            "not (x <> 5 or y <> 1)": "fives mixed fivenull",
            "(x = 100 or y = 1) and not (x < 5 and y < 4)": "fives mixed fivenull",
        },
    )


def test_not_in_with_null(spark: SparkSession, ints: Family) -> None:
    """[SND-8] NOT IN with NULL is never TRUE, and IN ignores the NULL."""
    never = {"x not in (1, null)": NONE, "x not in (null)": NONE, "x in (null)": NONE}
    shared = never | {
        "x in (9, null)": "mixed",
        "x in (5, null)": "fives mixed fivenull",
        "not (x in (1, null)) or x = 9": "mixed",
        "x not in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, null)": NONE,
        "x in (9, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, null)": "mixed",
    }
    ints.check("minmax", shared)
    ints.check("valuelist", shared)
    ints.check("bloom", {"x in (9, null)": "mixed", "x in (5, null)": "fives mixed fivenull"})


@pytest.mark.parametrize("kind", ["minmax", "valuelist", "bloom"])
def test_empty_in_lists(spark: SparkSession, ints: Family, kind: str) -> None:
    """[SND-9] ``x IN ()`` is never TRUE, and its negation is TRUE for every row, from Spark 4 on also for NULL."""
    spark.conf.set("spark.sql.legacy.nullInEmptyListBehavior", "false")
    x = F.col("x")
    ints.check(
        kind,
        [(x.isin([]), NONE), (~x.isin([]), ALL), (x.isin([]) | (x == 2), "mixed low" if kind == "minmax" else "low")],
    )
    assert ints.read(kind).filter(~x.isin([])).count() == sum(map(len, FILES.values()))


def test_empty_lists_under_the_former_rule(spark: SparkSession, ints: Family) -> None:
    """[SND-9] With the former rule, NULL IN () is NULL, and the negation excludes NULL."""
    spark.conf.set("spark.sql.legacy.nullInEmptyListBehavior", "true")
    for kind in ("minmax", "valuelist", "bloom"):
        df = ints.read(kind).filter(~F.col("x").isin([]))
        assert df.count() == 8
        assert opened_files(df) >= {"fives", "mixed", "low", "fivenull"}
        assert ints.read(kind).filter(F.col("x").isin([])).count() == 0


def test_value_lists_at_their_cap(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-22] A list with the maximum number of values is complete; a file with more values has no list."""
    files: dict[str, list[Any]] = {
        "under": [(1,), (2,), (None,)],
        "at": [(1,), (2,), (3,), (3,), (None,)],
        "above": [(1,), (2,), (3,), (4,)],
        "nulls": [(None,)],
    }
    capped = family(spark, tmp_path_factory.mktemp("cap"), "x int", files, {"cap": [ValueList("x", max_values=3)]})
    capped.check(
        "cap",
        {
            "x = 1": "under at above",
            "x = 3": "at above",
            "x = 4": "above",
            "x = 9": "above",
            "x <> 1": "under at above",
            "x not in (1, 2, 3)": "above",
            "x > 3": "above",
            "x is not null": "under at above",
        },
    )


def test_lists_of_long_strings_at_their_cap(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-22] The maximum of a list counts values, not bytes."""
    files = {
        "at": [(str(i) * 500,) for i in range(10, 20)],
        "above": [(str(i) * 500,) for i in range(20, 31)],
    }
    capped = family(spark, tmp_path_factory.mktemp("long"), "s string", files, {"cap": [ValueList("s", max_values=10)]})
    capped.check("cap", {"s = repeat('15', 500)": "at above", "s = repeat('25', 500)": "above", "s = '25'": "above"})
