"""Layouts, as rows at random show them, are those of files that hold the rows [REP-A-7]."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from xskip.inspection.layouts import RowSample, bits_of, layouts_of, on_curve

FILES, ROWS = 20, 100
_RANDOM = random.Random(3)


def sample(**columns: Sequence[object]) -> RowSample:
    return RowSample.of(pa.table({"file": np.repeat(np.arange(FILES), ROWS), **columns}), "file")


def shares_of(values: list[int | None], files: list[int]) -> dict[str, float]:
    """Return the shares of files that bounds rule out, condition by condition."""
    groups = {file: [v for v, f in zip(values, files, strict=True) if f == file and v is not None] for file in files}
    known = [v for v in values if v is not None]
    pairs = list(product(known, groups.values()))
    above = [not group or max(group) < v for v, group in pairs]
    below = [not group or min(group) > v for v, group in pairs]
    equal = [a or b for a, b in zip(above, below, strict=True)]
    return {kind: sum(some) / len(pairs) for kind, some in (("equal", equal), ("above", above), ("below", below))}


def test_the_present_layout_is_that_of_the_files() -> None:
    """The shares are those of bounds, for each row's value; NULL alone is ruled out from both sides."""
    numbers = [i // ROWS for i in range(FILES * ROWS)]
    values: list[int | None] = [_RANDOM.randrange(10 * file + 1) if file % 5 else None for file in numbers]
    found = sample(x=list(values)).present(FILES)["x"]
    assert found == pytest.approx(shares_of(values, numbers))


@pytest.mark.parametrize("files", [20, 40])
def test_a_layout_is_that_of_ordered_files(files: int) -> None:
    values: list[int | None] = [_RANDOM.randrange(1000) for _ in range(FILES * ROWS)]
    (layout,) = layouts_of(sample(x=list(values)), files)
    ordered = sorted(values, key=lambda value: value or 0)
    numbers = [i * files // len(values) for i in range(len(values))]
    assert layout.columns == ("x",)
    assert layout.shares["x"] == pytest.approx(shares_of(list(ordered), numbers))
    assert layout.shares["x"]["equal"] > 0.9


def test_several_columns_share_the_order() -> None:
    """By one column, the other one rules out nothing; by both, each rules out most."""
    columns = {name: [_RANDOM.randrange(10_000) for _ in range(FILES * ROWS)] for name in "xy"}
    found = {
        each.columns: {name: each.shares[name]["equal"] for name in "xy"} for each in layouts_of(sample(**columns), 40)
    }
    assert set(found) == {("x",), ("y",), ("x", "y")}
    assert found["x",]["x"] > 0.95
    assert found["x",]["y"] < 0.1
    assert min(found["x", "y"].values()) > 0.75


def test_types_and_odd_values() -> None:
    """Texts, floats with NaN, NULL alone."""
    count = FILES * ROWS
    floats = [float("nan") if i % 7 == 0 else float(i) for i in range(count)]
    found = sample(s=[f"é{i:05}" for i in range(count)], d=floats, n=[None] * count).present(FILES)
    assert found["s"]["equal"] == pytest.approx(0.95)
    assert found["d"]["above"] == 0  # each file has NaN, the greatest value
    assert found["d"]["equal"] == pytest.approx(found["d"]["below"])
    assert found["n"] == {"equal": 1.0, "above": 1.0, "below": 1.0}
    layouts = list(layouts_of(sample(n=[None] * count, s=["x"] * count), 10))
    assert [each.shares["s"]["equal"] for each in layouts] == [0.0, 0.0, 0.0]


def test_few_rows() -> None:
    rows = RowSample.of(pa.table({"file": [0, 1], "x": [1, 2]}), "file")
    (layout,) = layouts_of(rows, 100)
    assert layout.shares["x"]["equal"] == 0.0  # too few rows for two files
    empty = RowSample.of(pa.table({"file": pa.array([], pa.int32()), "x": pa.array([], pa.int64())}), "file")
    assert [each.columns for each in layouts_of(empty, 100)] == [("x",)]


@pytest.mark.parametrize(("columns", "bits"), [(1, 4), (2, 1), (2, 5), (3, 3), (4, 2), (8, 1), (5, 2)])
def test_the_curve(columns: int, bits: int) -> None:
    """Each point has its own place, and the points of neighbouring places are neighbours."""
    points = np.stack([each.ravel() for each in np.meshgrid(*[np.arange(1 << bits)] * columns, indexing="ij")])
    places = on_curve(list(points), bits)
    assert sorted(places) == list(range(points.shape[1]))
    steps = np.abs(np.diff(points[:, np.argsort(places)], axis=1))
    assert set(steps.sum(axis=0)) == {1}


@pytest.mark.parametrize(
    ("columns", "files", "bits"), [(2, None, 6), (3, None, 4), (8, None, 2), (2, 1, 6), (2, 4096, 8), (8, 10**6, 2)]
)
def test_bits_suffice_for_the_files(columns: int, files: int | None, bits: int) -> None:
    assert bits_of(columns, files) == bits
