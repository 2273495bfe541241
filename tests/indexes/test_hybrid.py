"""Hybrid skips files by value lists or Bloom filters. Rules: specs/pruning.rst, [PRU-HY]."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.indexes.written import written
from tests.soundness.checking import ALL, NONE, family
from xskip import Hybrid, Index
from xskip.errors import IndexDefinitionError, UnsupportedTypeError

DAY = dt.date(2020, 1, 1)


def _row(n: int) -> tuple[object, ...]:
    return f"v{n}", n * 2**33, DAY + dt.timedelta(days=n), bytes([n])


SCHEMA = "s string, l bigint, d date, b binary"
FILES: dict[str, list[Any]] = {
    "few": [_row(n) for n in (1, 2, 3, 1)],
    "many": [_row(n) for n in range(50, 90)],
    "nulls": [(None,) * 4],
    "some": [_row(7), (None,) * 4],
}
CASES = {
    "s = 'v1'": "few",
    "s = 'v55'": "many",
    "s = 'x'": NONE,
    "s in ('v7', 'v60', 'zz')": "many some",
    "s <> 'v7'": "few many",
    "s > 'v3'": "many some",
    "s like 'v1%'": "few many",
    "s is not null": "few many some",
    "s is null": ALL,
    "upper(s) = 'V2'": "few many",
    "not (s = 'v7')": "few many",
    f"l = {7 * 2**33}": "some",
    f"l = {51 * 2**33}": "many",
    f"l = {51 * 2**33 + 1}": NONE,
    f"cast(l as decimal(30,0)) = {2 * 2**33}": "few",
    "d = date'2020-01-04'": "few",
    "d = date'2020-02-29'": "many",
    "d < date'2020-01-03'": "few many",
    "b = X'02'": "few",
    "b = X'33' or s = 'v7'": "many some",
}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_every_leaf(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str) -> None:
    """[PRU-HY-1] [PRU-HY-2] Files with few values are skipped by lists, files with many values by filters."""
    made = family(spark, tmp_path_factory.mktemp("hybrid"), SCHEMA, FILES, {}, fmt=fmt)
    index = made.add("hybrid", [Hybrid(c, max_values=10, fpp=1e-6) for c in ("s", "l", "d", "b")])
    made.check("hybrid", CASES)
    found = written(index, "hybrid", "s")
    assert {name: [value[part] is not None for part in ("values", "filter")] for name, value in found.items()} == {
        "few": [True, False], "many": [False, True], "nulls": [True, False], "some": [True, False],
    }  # fmt: skip
    assert sorted(found["few"]["values"]) == ["v1", "v2", "v3"]


def test_definitions() -> None:
    """Invalid definitions are refused."""
    builds: tuple[Callable[[], Index], ...] = (lambda: Hybrid("s", max_values=0), lambda: Hybrid("s", fpp=1.0))
    for build in builds:
        with pytest.raises(IndexDefinitionError):
            build()
    with pytest.raises(UnsupportedTypeError):
        Hybrid("s").storage(["double"])
