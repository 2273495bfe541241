"""GeoBox skips files by boxes around points. Rules: specs/pruning.rst, [PRU-GB]."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.helpers import kept, write_once
from tests.indexes.written import written
from tests.soundness.checking import ALL, NONE, family
from xskip import GeoBox, Index, MinMax, SkippingIndex
from xskip.errors import IndexDefinitionError, UnsupportedTypeError

FILES: dict[str, list[Any]] = {
    "diagonal": [(0.0, 0.0, 1), (1.0, 1.0, 2), (100.0, 100.0, 3), (101.0, 101.0, 4)],
    "corner": [(0.0, 100.0, 5), (1.0, 101.0, 6)],
    "half": [(50.0, None, 7), (None, 60.0, 8)],
    "nulls": [(None, None, 9)],
    "odd": [(math.nan, -0.0, 10), (math.inf, 5.0, 11)],
}
CASES = {
    "x between 0 and 1 and y between 0 and 1": "diagonal",
    "x between 0 and 1 and y between 100 and 101": "corner",
    "x < 2 and y > 99": "corner",
    "x = 100": "diagonal half",  # where y alone is known, x may be anything
    "x = 50 and y = 7": "half",
    "x > 1000": "half odd",
    "y is not null and x < 2": "diagonal corner half",
    "x in (1, 7) and y in (1, 7)": "diagonal",
    "y = 0.0 and x > 200": "odd",
    "x is null": ALL,
    "x > 1000 or y > 1000": "half odd",
    "not (x <= 1000) and n = 3": "half odd",
    "x + 1 = 2": "diagonal corner half odd",  # which says that x is not NULL
    "x < y": "diagonal corner half odd",
}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_every_leaf(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str) -> None:
    """[PRU-GB-1] [PRU-GB-2] [PRU-GB-3] A filter reads a file only if a point in one box can meet all conditions."""
    made = family(spark, tmp_path_factory.mktemp("boxes"), "x double, y double, n int", FILES, {}, fmt=fmt)
    index = made.add("boxes", [GeoBox("x", "y", boxes=2)])
    made.check("boxes", CASES)
    assert written(index, "geobox", "x", "y")["corner"] == [0.0, 0.0, 100.0, 100.0, 1.0, 1.0, 101.0, 101.0]
    made.add("bounds", [MinMax("x"), MinMax("y")])
    assert kept(spark, made.path("bounds"), "x < 2 and y > 99", fmt) == {"diagonal", "corner"}


def test_types(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[PRU-GB-2] Integer and float columns are stored as doubles; wider casts of them are answered, too."""
    files = {"low": [(1, 1.5), (2, 2.5)], "high": [(2_000_000_000, 9.5)]}
    made = family(spark, tmp_path_factory.mktemp("types"), "i int, f float", files, {})
    made.add("boxes", [GeoBox("i", "f")])
    made.check("boxes", {"i = 2": "low", "f = 9.5": "high", "i > 1999999999 and f < 9": NONE, "i <> 3 and f < 2": "low",
                         "i not in (1, 2) and f < 9": NONE, "cast(f as double) > 2.6": "high",
                         "cast(i as bigint) = 2": "low"})  # fmt: skip


@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.tuples(st.none() | st.floats(), st.none() | st.floats()), min_size=1, max_size=80), st.integers(1, 3)
)
def test_boxes_hold_every_point(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, points: Any, boxes: Any
) -> None:
    """[PRU-GB-1] The number of boxes is limited, and each point is in a box."""
    path = write_once(session, tmp_path_factory.mktemp("any") / "data", "x double, y double", {"f": points})
    index = SkippingIndex.for_path(session, path)
    index.create([GeoBox("x", "y", boxes=boxes)])
    (found,) = written(index, "geobox", "x", "y").values()
    assert len(found) % 4 == 0
    assert len(found) <= 4 * boxes
    made = [[_key(v) for v in found[k : k + 4]] for k in range(0, len(found), 4)]
    for x, y in points:
        if x is not None or y is not None:
            assert any((x is None or a <= _key(x) <= b) and (y is None or c <= _key(y) <= d) for a, b, c, d in made)


def _key(value: float) -> tuple[int, float]:
    return (1, 0.0) if math.isnan(value) else (0, value)


def test_definitions() -> None:
    """Invalid definitions are refused."""
    builds: tuple[Callable[[], Index], ...] = (
        lambda: GeoBox("x", "x"),
        lambda: GeoBox("x", "y", boxes=0),
        lambda: GeoBox("", "y"),
    )
    for build in builds:
        with pytest.raises(IndexDefinitionError):
            build()
    with pytest.raises(UnsupportedTypeError, match=r"column y.*bigint"):
        GeoBox("x", "y").storage(["double", "bigint"])
