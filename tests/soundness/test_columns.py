"""Conditions on two columns, hidden columns and array elements skip files. Rules: [PRU-CC], [PRU-FC], [PRU-EL].

Classes: SND-27 (functions over bounds), SND-33 (hidden columns).
"""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.helpers import kept, write_files
from tests.soundness.checking import ALL, NONE, family, run_all, shown_each
from xskip import BloomFilter, MinMax, NullCount, SkippingIndex, ValueList

DAY = dt.date(2020, 1, 1)
PAIRS = "a int, b int, l bigint, d double, x date, ts timestamp_ntz, s string, u string"


def _row(a: int | None, b: int | None, text: str | None = "m", other: str | None = "m") -> tuple[object, ...]:
    day = None if a is None else DAY + dt.timedelta(days=a)
    at = None if b is None else dt.datetime(2020, 1, 1) + dt.timedelta(days=b)
    return a, b, b, None if b is None else float(b), day, at, text, other


FILES = {
    "below": [_row(1, 10), _row(3, 12, "a", "z")],
    "above": [_row(20, 4, "z", "a"), _row(30, 9, "y", "b")],
    "meet": [_row(5, 8), _row(9, 7)],
    "same": [_row(6, 6), _row(6, 6)],
    "nulls": [_row(None, 6, None), _row(None, 7)],
    "some": [_row(None, 60), _row(50, None, None, "m")],
}
COMPARED = {
    "a < b": "below meet some",
    "a <= b": "below meet same some",
    "a > b": "above meet",
    "a >= b": "above meet same",
    "a = b": "meet same",
    "a <> b": "below above meet some",
    "NOT (a < b)": "above meet same",
    "NOT (a = b)": "below above meet some",
    "a < l": "below meet some",
    "l >= cast(a as bigint) + 10": "below some",
    "a + 10 < b": "below",
    "a * 2 < b": "below",
    "d > a": "below meet some",
    "x < cast(ts as date)": "below meet some",
    "s < u": "below",
    "s = u": "below meet same nulls some",
    "a < b AND a > 100": NONE,
    "a < b OR a = 30": "below above meet some",
    "a <=> b": ALL,
    "NOT (a <=> b)": ALL,
    "a IS DISTINCT FROM b": ALL,
    "a <=> b AND b > 50": "some",
    "a + b > 40": "below above meet same some",  # a sum of both is not bounded, but neither is NULL
    "a <> a": NONE,
    "a < a + 1": "below above meet same some",
    "CASE WHEN a > 15 THEN s = 'z' WHEN a < 4 THEN u = 'q' ELSE b = 60 END": "below above some",
    "if(a > 15, s = 'm', b = 8)": "meet above some",
    "NOT if(a > 15, s = 'z', b = 8)": ALL,
    "coalesce(a, 0) < b": ALL,  # of NULL it has a value
}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_two_columns(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str) -> None:
    """[SND-27] [PRU-CC-1] [PRU-CC-2] [PRU-N-7] Comparisons of bounds with bounds read the expected files."""
    made = family(spark, tmp_path_factory.mktemp("pairs"), PAIRS, FILES, {}, fmt=fmt)
    made.add("bounds", [MinMax(c) for c in ("a", "b", "l", "d", "x", "ts", "s", "u")])
    made.check("bounds", COMPARED)
    made.add("one", [MinMax("a"), ValueList("b")])
    assert kept(spark, made.path("one"), "a < b", fmt) == made.names - {"nulls"}  # a is not NULL there


def test_a_partition_against_a_column(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-CC-1] The value of a partition is both of its bounds."""
    files = {"p=1/one": [(5,), (7,)], "p=6/six": [(5,), (7,)], "p=9/nine": [(5,), (7,)],
             "p=__HIVE_DEFAULT_PARTITION__/none": [(5,)]}  # fmt: skip
    path = write_files(spark, tmp_path / "data", "a int", files)
    SkippingIndex.for_path(spark, path).create([MinMax("a")])
    assert kept(spark, path, "a < p") == {"six", "nine"}
    assert kept(spark, path, "a > p") == {"one", "six"}
    assert kept(spark, path, "a = p") == {"six"}
    assert kept(spark, path, "a <> p") == {"one", "six", "nine"}
    assert kept(spark, path, "a + 10 < p") == set()


def test_hidden_columns(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-33] [PRU-FC-1] [PRU-FC-2] Conditions on a file's name, size and time skip files."""
    files = {"p=0/small": [(1,)], "p=0/a b%20c": [(2,)], "p=0/large": [(n,) for n in range(1000)], "p=1/deep": [(3,)]}
    path = write_files(spark, tmp_path / "data", "a int", files)
    for name, when in (("small", 1_600_000_000), ("large", 1_700_000_000.5)):
        os.utime(f"{path}/p=0/{name}.parquet", (when, when))
    SkippingIndex.for_path(spark, path).create([MinMax("a")])
    size = (tmp_path / "data/p=0/large.parquet").stat().st_size
    everything = {"small", "a b%20c", "large", "deep"}
    cases = {
        "_metadata.file_name = 'small.parquet' OR a = 3": everything,
        "_metadata.file_name = 'a%20b%2520c.parquet' OR a = 700": {"a b%20c", "large"},
        "_metadata.file_name = 'none.parquet' OR a = 700": {"a b%20c", "large"},  # of odd names the form is not known
        "NOT (_metadata.file_name = 'small.parquet' AND a = 1)": everything - {"small"},
        f"_metadata.file_size < {size} AND a = 1 OR a = 999": {"small", "large"},
        f"_metadata.file_size >= {size} OR a = 2": {"large", "a b%20c"},
        "_metadata.file_modification_time < timestamp'2021-01-01' OR a = 3": {"small", "large", "deep"},
        "date(_metadata.file_modification_time) = date'2020-09-13' OR a = 2": {"small", "a b%20c", "large"},
        "upper(_metadata.file_name) LIKE 'SM%' OR a > 2000": {"small", "a b%20c"},
        "_metadata.file_name LIKE '%e%' OR a > 2000": everything,
        "_metadata.file_path LIKE '%small%' OR a = 3": everything,  # what a path looks like is not known
        "_metadata.file_block_start > 0 OR a = 3": everything,
        "_metadata.file_name = 'small.parquet'": {"small"},
        "_metadata.file_size + a > 0 OR a = 3": everything,
    }
    df = spark.read.parquet(path)
    found = run_all([df.filter(case) for case in cases])
    assert dict(zip(cases, (opened for _, opened in found), strict=True)) == cases
    spark.conf.set("spark.xskip.enabled", "false")
    plain = spark.read.parquet(path)
    assert [rows for rows, _ in found] == shown_each([plain.filter(case) for case in cases])
    spark.conf.unset("spark.xskip.enabled")


ARRAYS = "l array<int>, t array<string>, m map<string, int>, e array<struct<x: int>>"
LISTS: dict[str, list[Any]] = {
    "low": [([1, 2], ["a", None], {"k": 1}, [(1,)]), ([3], [], {}, [])],
    "high": [([10, 30], ["x", "y"], {"k": 9}, [(5,)])],
    "empty": [([], [], {}, []), (None, None, None, None), ([None], [None], {"k": None}, None)],
}
CONTAINED = {
    "array_contains(l, 2)": "low",
    "array_contains(l, 7)": NONE,
    "array_contains(l, 20)": NONE,
    "array_contains(l, 1) AND array_contains(l, 3)": "low",  # elements of one array can be several
    "array_contains(l, 2) OR array_contains(t, 'x')": "low high",
    "NOT array_contains(l, 2)": ALL,
    "array_contains(t, 'a')": "low",
    "array_contains(t, 'q')": NONE,
    "get(l, 0) = 10": "high",
    "get(l, 0) > 5": "high",
    "get(l, 0) IN (3, 4)": "low",
    "try_element_at(t, 1) = 'y'": "high",
    "try_element_at(t, -1) LIKE 'x%'": "high",
    "get(l, 1) IS NULL": ALL,
    "get(l, 0) <> 10": "low high",
    "NOT (get(l, 0) = 10)": "low high",
    "size(l) = 0": ALL,
    "l = array(3)": "low high empty",
    "m['k'] = 1": ALL,
    "l IS NULL": "empty",
}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_elements_of_arrays(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str) -> None:
    """[PRU-EL-1] [PRU-EL-2] Conditions on elements read the expected files by indexes on arrays."""
    made = family(spark, tmp_path_factory.mktemp("arrays"), ARRAYS, LISTS, {}, fmt=fmt)
    made.add("lists", [ValueList("l"), ValueList("t"), NullCount("l")])
    made.check("lists", CONTAINED)
    made.add("blooms", [BloomFilter("t", fpp=1e-6), MinMax("l")])
    made.check("blooms", {"array_contains(t, 'q')": NONE, "array_contains(t, 'y')": "high", "get(l, 0) > 5": "high",
                          "array_contains(l, 20)": "high", "array_contains(l, 4)": NONE})  # fmt: skip
