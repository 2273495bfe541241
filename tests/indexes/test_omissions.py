"""Comparisons of stored statistics with those of the present files, for a repair."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from tests.filters import made
from xskip.indexes.omissions import groups_omit, values_pass


@pytest.mark.parametrize(
    ("kind", "values", "keys"),
    [
        (pa.date32(), [date(1970, 1, 2), date(1969, 12, 31)], [1, -1]),
        (pa.timestamp("us", "UTC"), [datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)] * 2, [1_000_000] * 2),
        (pa.string(), ["é", "b"], ["é".encode(), b"b"]),
        (pa.binary(), [b"\xff", b""], [b"\xff", b""]),
        (pa.int64(), [1, -1], [1, -1]),
    ],
    ids=str,
)
def test_filters_lack_values_of_each_type(kind: pa.DataType, values: list[Any], keys: list[int | bytes]) -> None:
    filters = pa.array([made([keys[0]]), made(keys), made([99]), made([99]), made([99]), None], pa.binary())
    lists = pa.array([[values[0]], values, values, [], None, values], pa.list_(kind))
    assert values_pass(filters, lists).to_pylist() == [False, False, True, False, None, False]


def test_lists_that_are_no_ranges_say_nothing() -> None:
    kind = pa.list_(pa.int32())
    whole, odd = pa.array([[1, 2], [5, 5], None], kind), pa.array([[1, 2], [5], [7, 7]], kind)
    assert groups_omit(whole, odd, 2).to_pylist() == [None, None, False]
    assert groups_omit(odd, whole, 2).to_pylist() == [None, None, None]
    assert groups_omit(whole, whole, 2).to_pylist() == [False, False, False]
