"""The records of segments: their forms, codecs and errors. Rules: [QLK-RE]."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tests.quixlake.written import (
    FIVE_FIELDS,
    FORMER,
    MESSAGE,
    container,
    frame_of,
    message,
    messages_of,
    write_segment,
    write_zipped,
)

NAME = "ts_1_2_part_7_off_0_9.avro"
ODD_VALUES = [
    message(0),
    message(1, key=None, value=b"", partition=2**40),
    message(2, key=b"", value=bytes(range(256)), timestamp=-1),
    message(3, timestamp=-(2**63), headers=[{"key": "a", "value": "text"}, {"key": "a", "value": b"\xff\x00"}]),
    message(4, timestamp=2**63 - 1, headers=[{"key": "", "value": ""}, {"key": "caf\u00e9", "value": b""}]),
    message(2**62, value=b"\x00" * 100_000, headers=[{"key": "n", "value": "\U0001f600"}] * 1000),
]


def test_every_value_of_a_message_is_returned(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-1]"""
    df = frame_of(spark, [write_segment(tmp_path / NAME, ODD_VALUES)])
    assert messages_of(df) == ODD_VALUES
    assert df.drop("time", "topic", "stream_key", "date").schema == StructType.fromDDL(
        "timestamp BIGINT, key BINARY, headers ARRAY<STRUCT<key: STRING, value: STRUCT<string: STRING, bytes: BINARY>>>,"
        "value BINARY, partition BIGINT, offset BIGINT"
    )
    assert df.filter("offset = 3").selectExpr("headers.value").first() == ([("text", None), (None, b"\xff\x00")],)


@pytest.mark.parametrize("suffix", ["", ".snappy", ".gzip"])
@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "bzip2", "zstandard", "xz"])
def test_the_codec_is_that_of_the_header(spark: SparkSession, tmp_path: Path, codec: str, suffix: str) -> None:
    """[QLK-RE-2]"""
    path = write_segment(tmp_path / f"{NAME}{suffix}", ODD_VALUES, codec=codec)
    assert messages_of(frame_of(spark, [path])) == ODD_VALUES
