"""A trial measures candidates by its statistics if only filters and bounds are known."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from tests.filters import made
from xskip.inspection.candidates import Collected, measured, spread_of

FILES = 8


def bounds_of(values: list[Any], kind: pa.DataType) -> pa.StructArray:
    side = pa.array(values, kind)
    return pa.StructArray.from_arrays([side, side], ["min", "max"])


@pytest.mark.parametrize(
    ("values", "kind", "keys"),
    [
        ([date(1970, 1, 2 + i) for i in range(FILES)], pa.date32(), [1 + i for i in range(FILES)]),
        ([datetime(1970, 1, 1, 0, 0, i, tzinfo=timezone.utc) for i in range(FILES)], pa.timestamp("us", "UTC"),
         [i * 1_000_000 for i in range(FILES)]),
        (list(range(FILES)), pa.int32(), list(range(FILES))),
        ([f"é{i}" for i in range(FILES)], pa.string(), [f"é{i}".encode() for i in range(FILES)]),
        ([bytes([i]) for i in range(FILES)], pa.binary(), [bytes([i]) for i in range(FILES)]),
    ],
)  # fmt: skip
def test_filters_are_measured_by_the_bounds_if_lists_are_too_long(
    values: list[Any], kind: pa.DataType, keys: list[bytes | int]
) -> None:
    filters = pa.array([made([key], 0.0001) for key in keys], pa.binary())
    collected = {
        "minmax": Collected(bounds_of(values, kind), 80), "valuelist": Collected(pa.nulls(FILES, pa.list_(kind)), 0),
        "bloomfilter": Collected(filters, 160, 4.0),
    }  # fmt: skip
    found = {each.index_type: each for each in measured(collected, FILES, 0.01).candidates}
    # each value is in one file of eight
    assert found["bloomfilter"].shares == {"equal": 7 / 8}
    assert (found["bloomfilter"].bytes_per_file, found["bloomfilter"].seconds_per_file) == (20, 0.5)
    assert "valuelist" not in found


def test_filters_without_bounds_are_not_measured() -> None:
    filters = pa.array([made([i], 0.0001) for i in range(FILES)], pa.binary())
    (found,) = measured({"bloomfilter": Collected(filters, 160)}, FILES, 0.01).candidates
    assert found.shares == {}


def test_lists_without_values_and_long_lists_are_no_candidates() -> None:
    empty: list[list[int]] = [[] for _ in range(FILES)]
    long = [list(range(10_001)) for _ in range(FILES)]
    for lists, distinct in ((empty, 0), (long, 10_001)):
        found = measured({"valuelist": Collected(pa.array(lists, pa.list_(pa.int64())), 8)}, FILES, 0.01)
        assert (found.candidates, found.distinct) == ((), distinct)


def test_bounds_of_too_few_files_say_nothing() -> None:
    some = bounds_of([1, 2, 3, 4, 5, 6, None, None], pa.int64())
    assert spread_of(some) is None
    assert spread_of(bounds_of([1, 2, 3, 4, 5, 6, 7, 8], pa.int64())) is not None
    assert spread_of(None) is None
