"""Scans of Avro files by Polars have the rows, columns and types of the dataset, whatever each file holds."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fastavro
import polars as pl
import pyarrow as pa
import pytest

from xskip.errors import DatasetError
from xskip.metadata.table import PartitionColumn
from xskip.results.polars_scan import scan_polars
from xskip.results.scan_source import ScanSource

MOMENT = datetime(2024, 1, 1, tzinfo=timezone.utc)
SCHEMA = pa.schema([("a", pa.int32()), ("t", pa.timestamp("us", "UTC")), ("p", pa.string())])
TIME = {"type": "long", "logicalType": "timestamp-micros"}
FILES: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({"a": "int", "t": TIME}, [{"a": 1, "t": MOMENT}, {"a": 2, "t": None}]),
    ({"z": "int"}, [{"z": 7}, {"z": 8}, {"z": 9}]),
    ({"a": "int", "t": TIME}, []),
    ({"t": TIME, "a": "long", "z": "int"}, [{"t": None, "a": 5, "z": 6}]),
]
ROWS = [(1, MOMENT, "x"), (2, None, "x"), *[(None, None, "y")] * 3, (5, None, None)]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = []
    for number, (columns, rows) in enumerate(FILES):
        fields = [{"name": name, "type": ["null", kind]} for name, kind in columns.items()]
        with (tmp_path / f"{number}.avro").open("wb") as file:
            fastavro.writer(file, fastavro.parse_schema({"type": "record", "name": "r", "fields": fields}), rows)
            paths.append(file.name)
    return paths


@pytest.fixture
def frame(files: list[str]) -> pl.LazyFrame:
    partitions = {"p": PartitionColumn("p", "string", pa.array(["x", "y", "empty", None]))}
    return scan_polars(ScanSource(str(Path(files[0]).parent), "avro", lambda: SCHEMA, partitions), pa.array(files))


def test_each_file_has_all_its_rows(frame: pl.LazyFrame) -> None:
    assert frame.collect().rows() == ROWS
    assert frame.collect().schema == {"a": pl.Int32, "t": pl.Datetime("us", "UTC"), "p": pl.String}
    assert frame.select(pl.len()).collect().item() == 6
    assert frame.select("p").collect().rows() == [(row[2],) for row in ROWS]
    assert frame.select("t", "a").collect().rows() == [(row[1], row[0]) for row in ROWS]


@pytest.mark.parametrize(
    ("condition", "chosen"),
    [
        (pl.col("a") > 1, [1, 5]), (pl.col("p") == "y", [2, 3, 4]), (pl.col("t") == MOMENT, [0]),
        (pl.col("a").is_null(), [2, 3, 4]), (pl.col("p").is_null(), [5]), (pl.col("p") == "empty", []),
    ],
    ids=str,
)  # fmt: skip
def test_filters_and_limits(frame: pl.LazyFrame, condition: pl.Expr, chosen: list[int]) -> None:
    assert frame.filter(condition).collect().rows() == [ROWS[i] for i in chosen]
    assert frame.filter(condition).select(pl.len()).collect().item() == len(chosen)
    for most in (0, 1, 2, 4):
        assert frame.filter(condition).head(most).collect().rows() == [ROWS[i] for i in chosen[:most]]
        assert frame.head(most).collect().rows() == ROWS[:most]
        assert frame.head(most).filter(condition).collect().rows() == [ROWS[i] for i in chosen if i < most]


def test_a_damaged_file_is_an_error_that_names_it(frame: pl.LazyFrame, files: list[str]) -> None:
    Path(files[1]).write_bytes(b"Obj")
    with pytest.raises(DatasetError) as error:
        frame.collect()
    assert (error.value.what, error.value.where) == ("Polars cannot read an Avro file", files[1])
    assert frame.head(2).collect().rows() == ROWS[:2]
