"""NaN is the greatest value and equals itself, -0.0 equals 0.0, and infinities are values.

Classes: SND-10 (NaN), SND-11 (signed zeros), SND-21 (infinities).
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.soundness.checking import ALL, NONE, Family, family
from xskip import BloomFilter, MinMax, ValueList
from xskip.errors import UnsupportedTypeError
from xskip.spark.collect.parquet_footers import served_by_footers

NAN, INF = float("nan"), float("inf")
VALUES: dict[str, list[float | None]] = {
    "fives": [5.0, 5.0],
    "fivesnan": [5.0, 5.0, NAN],
    "nan": [NAN, None],
    "minus": [-0.0, -0.0],
    "plus": [0.0],
    "zeros": [-0.0, 0.0, None],
    "inf": [INF, 1.0],
    "ninf": [-INF, -1.0],
    "nulls": [None],
}


def _family(spark: SparkSession, root: Path, kind: str) -> Family:
    files = {name: [(v,) for v in values] for name, values in VALUES.items()}
    return family(spark, root, f"x {kind}", files, {"minmax": [MinMax("x")], "valuelist": [ValueList("x")]})


@pytest.fixture(scope="module")
def doubles(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    return _family(session, tmp_path_factory.mktemp("doubles"), "double")


@pytest.fixture(scope="module")
def floats(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    return _family(session, tmp_path_factory.mktemp("floats"), "float")


VALUED = "fives fivesnan nan minus plus zeros inf ninf"
NAN_CASES = {
    "x <> 5": "fivesnan nan minus plus zeros inf ninf",
    "not (x = 5)": "fivesnan nan minus plus zeros inf ninf",
    "x > 9": "fivesnan nan inf",
    "x = double('NaN')": "fivesnan nan",
    "x <> double('NaN')": "fives fivesnan minus plus zeros inf ninf",
    "x < double('NaN')": "fives fivesnan minus plus zeros inf ninf",
    "x >= double('NaN')": "fivesnan nan",
    "x > double('NaN')": NONE,
    "x <= double('NaN')": VALUED,
    "x in (double('NaN'), 0.5)": "fivesnan nan",
    "x not in (double('NaN'), 5)": "minus plus zeros inf ninf",
    "isnan(x)": "fivesnan nan",
    "not (x between 0 and 9)": "fivesnan nan inf ninf",
    "x <=> double('NaN')": "fivesnan nan",
}


def test_nan_on_minmax(spark: SparkSession, doubles: Family) -> None:
    # fivesnan spans 5 to NaN, and inf 1 to infinity, whatever lies between
    """[SND-10] Bounds skip no file with a matching NaN."""
    wider = {
        "x not in (double('NaN'), 5)": "fivesnan minus plus zeros inf ninf",
        "x <> double('NaN')": "fives fivesnan minus plus zeros inf ninf",
        "not isnan(x)": ALL,
        "x = 9": "fivesnan inf",
    }
    doubles.check("minmax", NAN_CASES | wider)


def test_nan_on_valuelist(spark: SparkSession, doubles: Family) -> None:
    """[SND-10] Lists skip no file with a matching NaN."""
    doubles.check("valuelist", NAN_CASES | {"not isnan(x)": ALL, "x = 9": NONE})


def test_nan_in_float(spark: SparkSession, floats: Family) -> None:
    """[SND-10] NaN is the greatest value of a float column, too."""
    cases = {
        "x <> float(5)": "fivesnan nan minus plus zeros inf ninf",
        "x > float(9)": "fivesnan nan inf",
        "x > 9.0D": "fivesnan nan inf",
        "x = float('NaN')": "fivesnan nan",
        "x in (float('NaN'))": "fivesnan nan",
        "isnan(x)": "fivesnan nan",
    }
    floats.check("minmax", cases)
    floats.check("valuelist", cases)


ZERO_CASES = {
    "x = 0.0D": "minus plus zeros",
    "x = -0.0D": "minus plus zeros",
    "x in (0.0D, 0.5D)": "minus plus zeros",
    "x in (-0.0D)": "minus plus zeros",
    "x <> 0.0D": "fives fivesnan nan inf ninf",
    "x < 0.0D": "ninf",
    "x > -0.0D": "fives fivesnan nan inf",
    "x >= 0.0D": "fives fivesnan nan minus plus zeros inf",
    "x <= -0.0D": "minus plus zeros ninf",
    "not (x <=> 0.0D)": ALL,
    "x not in (-0.0D)": "fives fivesnan nan inf ninf",
}


@pytest.mark.parametrize("kind", ["minmax", "valuelist"])
def test_signed_zeros(spark: SparkSession, doubles: Family, floats: Family, kind: str) -> None:
    """[SND-11] Both zeros match each other."""
    doubles.check(kind, ZERO_CASES)
    some = ("x = -0.0D", "x in (0.0D, 0.5D)", "x < 0.0D", "x >= 0.0D")
    floats.check(kind, {predicate.replace("D", "F"): ZERO_CASES[predicate] for predicate in some})


INFINITE_CASES = {
    "x = double('Infinity')": "inf",
    "x = double('-Infinity')": "ninf",
    "x > double('Infinity')": "fivesnan nan",
    "x >= double('Infinity')": "fivesnan nan inf",
    "x < double('-Infinity')": NONE,
    "x <= double('-Infinity')": "ninf",
    "x > double('-Infinity')": VALUED,
    "x > 1e308": "fivesnan nan inf",
    "x < -1e308": "ninf",
    "x in (double('Infinity'), double('-Infinity'))": "inf ninf",
    "not (x > double('-Infinity'))": "ninf",
}


@pytest.mark.parametrize("kind", ["minmax", "valuelist"])
def test_infinities(spark: SparkSession, doubles: Family, kind: str) -> None:
    """[SND-21] Infinities are values like others."""
    spanned = {
        "x = double('Infinity')": "fivesnan inf",
        "x in (double('Infinity'), double('-Infinity'))": "fivesnan inf ninf",
    }
    doubles.check(kind, INFINITE_CASES | (spanned if kind == "minmax" else {}))


def test_footers_are_not_believed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-10] [SND-11] [SND-21] A build reads the data, because writers may omit NaN from bounds."""
    root = tmp_path_factory.mktemp("footers")
    (root / "plain").mkdir()
    for name, values in VALUES.items():
        pq.write_table(pa.table({"x": pa.array(values, pa.float64())}), root / "plain" / f"{name}.parquet")
    statistics = {
        name: pq.read_metadata(root / "plain" / f"{name}.parquet").row_group(0).column(0).statistics for name in VALUES
    }
    assert statistics["fivesnan"].max == 5.0, "this writer leaves NaN out"
    assert not statistics["nan"].has_min_max
    assert not served_by_footers("double")
    assert not served_by_footers("float")
    made = Family(spark, root)
    made.add("minmax", [MinMax("x")])
    made.check("minmax", {"x > 9": "fivesnan nan inf", "x <> 5": "fivesnan nan minus plus zeros inf ninf"})
    made.check(
        "minmax", {"x = double('NaN')": "fivesnan nan", "x = 0.0D": "minus plus zeros", "isnan(x)": "fivesnan nan"}
    )


def test_casts_to_double(spark: SparkSession, floats: Family) -> None:
    """[SND-10] [SND-11] Every float is a double, but 0.1 as a float differs from 0.1 as a double."""
    cases = {
        "double(x) = double('NaN')": "fivesnan nan",
        "double(x) > 5.0D": "fivesnan nan inf",
        "double(x) <= -0.0D": "minus plus zeros ninf",
    }
    floats.check("minmax", cases)
    floats.check("valuelist", cases)


def test_bloom_refuses_floating_point(spark: SparkSession, doubles: Family, floats: Family) -> None:
    """[SND-10] [SND-11] Equal values with different bits would have different hashes."""
    for each in (doubles, floats):
        with pytest.raises(UnsupportedTypeError, match="BloomFilter cannot index this type"):
            each.skipping("plain").create([BloomFilter("x")])
