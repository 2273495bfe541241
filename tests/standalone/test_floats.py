"""Comparisons of pyarrow with NaN, infinities and zeros keep each file with a matching row. Rules: [STA-AR]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import index
from xskip import GapList, Index, MinMax, NullCount, ValueList

FILES = [
    [math.nan],
    [math.nan, 1.0],
    [7.0],
    [1.0],
    [0.0],
    [-0.0],
    [None],
    [None, math.nan],
    [math.inf],
    [-math.inf, 3.0],
]
LITERALS = [5.0, 1.0, 0.0, -0.0, math.nan, math.inf, -math.inf]
TYPES = {"d": pa.float64(), "f": pa.float32()}
INDEXES: dict[str, list[Index]] = {
    "bounds": [MinMax("d"), MinMax("f")],
    "lists": [ValueList("d"), ValueList("f")],
    "both": [MinMax("d"), ValueList("d"), NullCount("d"), NullCount("f"), ValueList("f"), GapList("d")],
}


def conditions(name: str) -> Iterator[Any]:
    column = ds.field(name)
    for value in LITERALS:
        literal = pa.scalar(value, TYPES[name])
        for compared in (
            column > literal, column >= literal, column < literal, column <= literal, column == literal,
            column != literal,
        ):  # fmt: skip
            yield compared
            yield ~compared
            yield ~~compared
            yield ~(compared & (ds.field("d") < 3))
            yield ~(compared | (ds.field("f") == 1))
        for values in ([value], [value, 1.0], [value, None]):
            listed = column.isin(values)
            yield from (listed, ~listed, ~(listed | (ds.field("d") == 7)))
    yield from (column.is_null(), column.is_null(nan_is_null=True), ~column.is_null(nan_is_null=True))
    yield from (column.is_valid(), ~column.is_valid(), pc.is_nan(column), ~pc.is_nan(column), pc.is_finite(column))
    same = ds.field(name)
    yield from (column == same, ~(column == same), column != same, ~(column > same))


@pytest.mark.parametrize("indexes", INDEXES)
def test_floats(spark: SparkSession, tmp_path: Path, indexes: str) -> None:
    """[STA-AR-1] [STA-AR-2]"""
    paths = [tmp_path / "data" / f"{number}.parquet" for number in range(len(FILES))]
    paths[0].parent.mkdir()
    for path, values in zip(paths, FILES, strict=True):
        pq.write_table(pa.table({name: pa.array(values, kind) for name, kind in TYPES.items()}), path)
    index(spark, str(paths[0].parent), INDEXES[indexes])
    opened = xskip.open_index(str(paths[0].parent))
    rows = pa.concat_tables(
        table.append_column("file", pa.array([path.name] * len(table)))
        for path in paths
        for table in [ds.dataset(path).to_table()]
    )
    skipped = 0
    for condition in (condition for name in TYPES for condition in conditions(name)):
        kept = {Path(path).name for path in opened.files(condition)}
        matching = set(rows.filter(condition)["file"].to_pylist())
        assert kept >= matching, condition
        skipped += len(FILES) - len(kept)
    assert skipped > 1000
