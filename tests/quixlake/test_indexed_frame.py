"""An index over chosen segments, and the segments that queries skip with it. Rules: [QLK-RD]."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import opened_files
from tests.quixlake.written import message, table_of, write_segment
from xskip import MinMax, ValueList
from xskip.indexing.build_plan import plan
from xskip.indexing.builder import Build
from xskip.indexing.source import open_source
from xskip.quixlake.segment_frame import Reading, segment_frame
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.query.spark_engine import engine_of

INDEXES = [
    MinMax("timestamp"),
    MinMax("time"),
    MinMax("offset"),
    ValueList("key"),
    MinMax("length(value)", expression=True),
]


@pytest.fixture
def df(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """Return the DataFrame of six indexed segments with the offsets 0 to 9, 100 to 109, ..., 500 to 509."""
    root = tmp_path / "lake%1 #"
    places = {}
    for i in range(6):
        path = root / f"Raw/Topic=t/Key=k:{i % 2}/s{i}.avro"
        write_segment(path, [message(100 * i + j, key=b"k%d" % i, value=bytes(i)) for j in range(10)])
        places[path] = ("t", f"k:{i % 2}", dt.date(2025, 8, 21))
    table = table_of(places)

    def read(session: SparkSession) -> DataFrame:
        return segment_frame(session, hook_of(session), table, str(root), Reading())

    source = open_source(spark, engine_of(spark), read)
    Build(engine_of(spark), source, plan(source, INDEXES), False, "raise").run(None)
    assert (root / "_xskip").is_dir()
    return read(spark)


def test_an_index_of_the_frame_skips_segments(df: DataFrame) -> None:
    """[QLK-RD-1]"""
    conditions = {
        "offset BETWEEN 105 AND 205": {"s1", "s2"},
        "timestamp = 1755776884305": {"s3"},
        "time >= TIMESTAMP '2025-08-21 11:48:04.505'": {"s5"},
        "time < TIMESTAMP '2025-08-21 11:48:04.001' OR offset > 508": {"s0", "s5"},
        "key = CAST('k3' AS BINARY)": {"s3"},
        "stream_key = 'k:1' AND offset < 200": {"s1"},
        "length(value) = 4": {"s4"},
    }
    for condition, segments in conditions.items():
        filtered = df.filter(condition)
        assert opened_files(filtered) == segments, condition
        assert {f"s{row.offset // 100}" for row in filtered.collect()} == segments, condition
