"""The shares of files that bounds rule out, by types and distributions."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from xskip.inspection.bound_spread import ruled_out_by_bounds

EPOCH = datetime(2024, 1, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("to_value", "kind"),
    [
        (lambda n: n, pa.int64()), (float, pa.float64()), (Decimal, pa.decimal128(30, 2)),
        (lambda n: date(2024, 1, 1) + timedelta(days=n), pa.date32()),
        (lambda n: EPOCH + timedelta(hours=n), pa.timestamp("us", "UTC")),
        (lambda n: f"2024-{n:08d}", pa.string()), (lambda n: n.to_bytes(4, "big"), pa.binary()),
    ],
)  # fmt: skip
def test_each_type_has_places(to_value: Any, kind: pa.DataType) -> None:
    def shares(pairs: list[tuple[int, int]]) -> tuple[float, float]:
        low, high = (pa.array(map(to_value, side), kind) for side in zip(*pairs, strict=True))
        found = ruled_out_by_bounds(low, high)
        assert found is not None
        return round(found.above, 1), round(found.below, 1)

    assert shares([(10 * i, 10 * i + 9) for i in range(100)]) == (0.5, 0.5)
    assert shares([(0, 99)] * 9) == (0.0, 0.0)
    assert shares([(0, 9)] * 9 + [(0, 99999)]) == (0.9, 0.0)
    assert shares([(99999, 99999)] * 9 + [(0, 99999)]) == (0.0, 0.9)
    assert shares([(5, 5)] * 9) == (0.0, 0.0)


def test_random_rows_rule_out_next_to_nothing() -> None:
    chance = random.Random(3)
    texts = [[f"{chance.getrandbits(128):032x}" for _ in range(200)] for _ in range(50)]
    numbers = [[chance.random() for _ in range(200)] for _ in range(50)]
    for files in (texts, numbers):
        found = ruled_out_by_bounds(pa.array(list(map(min, files))), pa.array(list(map(max, files))))
        assert found is not None
        assert 0 < found.equal < 0.05


@pytest.mark.parametrize("bound", [float("nan"), float("inf"), 1.7e308])
def test_bounds_without_a_distance_say_nothing(bound: float) -> None:
    assert ruled_out_by_bounds(pa.array([-bound, 0.0]), pa.array([0.0, bound])) is None


def test_other_types_say_nothing() -> None:
    assert ruled_out_by_bounds(pa.array([[1]]), pa.array([[2]])) is None
    assert ruled_out_by_bounds(pa.array([], pa.int32()), pa.array([], pa.int32())) is None
    found = ruled_out_by_bounds(pa.array([False, False]), pa.array([True, False]))
    assert found is not None
    assert (found.above, found.below) == (0.5, 0.0)
