"""GapList skips files by ranges of values. Rules: specs/pruning.rst, [PRU-GL]."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.helpers import write_once
from tests.indexes.written import written
from tests.soundness.checking import ALL, NONE, family
from xskip import GapList, SkippingIndex
from xskip.errors import IndexDefinitionError, UnsupportedTypeError

START = dt.datetime(2020, 1, 1)


def _row(n: int) -> tuple[object, ...]:
    at = START + dt.timedelta(days=n)
    return n, n / 2, Decimal(n) / 4, at.date(), at, n * 2**40


SCHEMA = "i int, d double, n decimal(10,2), dt date, ts timestamp_ntz, l bigint"
FILES: dict[str, list[Any]] = {
    "ends": [_row(n) for n in (0, 1, 2, 1000, 1001)],
    "middle": [_row(n) for n in (500, 501)],
    "three": [_row(n) for n in (10, 300, 900)],
    "nulls": [(None,) * 6],
    "odd": [
        (7, math.nan, None, None, None, None),
        (8, -math.inf, None, None, None, None),
        (9, -0.0, None, None, None, None),
    ],
}
CASES = {
    "i = 500": "middle",
    "i = 1": "ends",
    "i between 3 and 9": "odd",
    "i between 20 and 299": NONE,
    "i > 1000": "ends",
    "i >= 950": "ends",
    "i < 7": "ends",
    "i in (400, 800, 11)": NONE,
    "i in (300, 999)": "three",
    "i <> 500": "ends middle three odd",
    "not (i <= 900)": "ends",
    "i is not null": "ends middle three odd",
    "i is null": ALL,
    "i + 5 = 505": "middle",
    "cast(i as bigint) = 300": "three",
    "i div 100 = 4": NONE,
    "d = 250": "middle",
    "d > 600": "odd",  # NaN is above all
    "d = cast('NaN' as double)": "odd",
    "d < 0": "odd",
    "d = 0.0": "ends odd",
    "d between 100 and 149": NONE,
    "n = 125.25": "middle",
    "n between 0.6 and 2.4": NONE,
    "dt = date'2020-10-27'": "three",
    "dt = date'2020-10-28'": NONE,
    "year(dt) = 2021": "middle",
    "ts = timestamp_ntz'2020-10-27 00:00:00'": "three",
    "ts > timestamp_ntz'2020-10-27 00:00:01' and ts < timestamp_ntz'2021-05-01 00:00:00'": NONE,
    f"l = {300 * 2**40}": "three",
    f"l > {2 * 2**40} and l < {10 * 2**40}": NONE,
}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_every_leaf(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str) -> None:
    """[PRU-GL-1] [PRU-GL-2] [PRU-V-9] Filters on each supported type read exactly the expected files."""
    made = family(spark, tmp_path_factory.mktemp("gaps"), SCHEMA, FILES, {}, fmt=fmt)
    index = made.add("gaps", [GapList(c, gaps=2) for c in ("i", "d", "n", "dt", "ts", "l")])
    made.check("gaps", CASES)
    assert written(index, "gaplist", "i") == {
        "ends": [0, 2, 1000, 1001], "middle": [500, 501], "three": [10, 10, 300, 300, 900, 900], "nulls": [],
        "odd": [7, 9],
    }  # fmt: skip


@settings(max_examples=8, deadline=None)
@given(st.lists(st.lists(st.floats(width=32), min_size=1, max_size=30), min_size=1, max_size=4), st.integers(1, 4))
def test_ranges_hold_every_value(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, values: Any, gaps: Any
) -> None:
    """[PRU-GL-1] The number of ranges is limited, the ranges are ordered, and each value is in a range."""
    files = {f"f{k}": [(v, v) for v in own] for k, own in enumerate(values)}
    path = write_once(session, tmp_path_factory.mktemp("any") / "data", "d double, f float", files)
    index = SkippingIndex.for_path(session, path)
    index.create([GapList("d", gaps=gaps), GapList("f", gaps=gaps)])
    for column in "df":
        for name, ends in written(index, "gaplist", column).items():
            low, high = ends[::2], ends[1::2]
            assert len(low) == len(high) <= gaps + 1
            keys = [_key(end) for end in ends]
            assert keys == sorted(keys)
            for value, _ in files[name]:
                assert any(_key(a) <= _key(value) <= _key(b) for a, b in zip(low, high, strict=True)), (name, value)


def _key(value: float) -> tuple[int, float]:
    return (1, 0.0) if math.isnan(value) else (0, value)


def test_a_large_file_in_several_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-GL-3] A file that several tasks read has the ranges of its parts."""
    spark.conf.set("spark.sql.files.maxPartitionBytes", "200000")
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    path = str(tmp_path / "data")
    spread = "if(id % 2 = 0, id * 7 % 100000, 1000000000 + id * 13 % 100000)"
    spark.range(100_000).selectExpr(f"cast({spread} as bigint) x", "uuid() pad").coalesce(1).write.option(
        "parquet.block.size", "200000"
    ).parquet(path)
    assert spark.read.parquet(path).rdd.getNumPartitions() > 3
    index = SkippingIndex.for_path(spark, path)
    index.create([GapList("x", gaps=1)])
    df = spark.read.parquet(path)
    assert index.files("x = 500000000").names == []
    assert len(index.files("x > 1000000000").names) == 1
    assert df.filter("x between 200000 and 999999999").count() == 0
    assert df.filter("x = 14").count() == df.filter("x + 0 = 14 or rand() > 2").count() == 1


def test_definitions() -> None:
    """Invalid definitions are refused."""
    with pytest.raises(IndexDefinitionError):
        GapList("x", gaps=0)
    for kind in ("string", "boolean", "decimal(19,2)"):
        with pytest.raises(UnsupportedTypeError):
            GapList("x").storage([kind])
