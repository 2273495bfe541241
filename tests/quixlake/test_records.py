"""The records of segments: their forms, codecs and errors. Rules: [QLK-RE]."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

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
    ddl = (
        "timestamp BIGINT, key BINARY, "
        "headers ARRAY<STRUCT<key: STRING, value: STRUCT<string: STRING, bytes: BINARY>>>, "
        "value BINARY, partition BIGINT, offset BIGINT"
    )
    assert df.drop("time", "topic", "stream_key", "date").schema == spark.createDataFrame([], ddl).schema
    assert df.filter("offset = 3").selectExpr("headers.value").first() == ([("text", None), (None, b"\xff\x00")],)


@pytest.mark.parametrize("suffix", ["", ".snappy", ".gzip"])
@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "bzip2", "zstandard", "xz"])
def test_the_codec_is_that_of_the_header(spark: SparkSession, tmp_path: Path, codec: str, suffix: str) -> None:
    """[QLK-RE-2]"""
    path = write_segment(tmp_path / f"{NAME}{suffix}", ODD_VALUES, codec=codec)
    assert messages_of(frame_of(spark, [path])) == ODD_VALUES


@pytest.mark.parametrize("codec", ["null", "snappy"])
def test_a_container_in_gzip_is_known_by_its_bytes(spark: SparkSession, tmp_path: Path, codec: str) -> None:
    """[QLK-RE-2]"""
    parts = [write_zipped(tmp_path / name, ODD_VALUES, codec) for name in (NAME, f"{NAME}.gzip", f"{NAME}.snappy")]
    for part in parts:
        assert messages_of(frame_of(spark, [part])) == ODD_VALUES


def test_gzip_in_several_members(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-2]"""
    whole = container(MESSAGE, ODD_VALUES, "null")
    path = tmp_path / NAME
    path.write_bytes(b"".join(gzip.compress(whole[at : at + 1000]) for at in range(0, len(whole), 1000)))
    assert messages_of(frame_of(spark, [path])) == ODD_VALUES


@pytest.mark.parametrize("size", ["100", "1000", "5000"])
def test_a_split_has_the_blocks_that_begin_in_it(spark: SparkSession, tmp_path: Path, size: str) -> None:
    """[QLK-RE-1] [QLK-RE-2]"""
    sent = [message(i, value=bytes([i % 251]) * (i % 97)) for i in range(300)]
    plain = write_segment(tmp_path / NAME, sent, codec="null", sync_interval=700)
    zipped = write_zipped(tmp_path / f"{NAME}.gzip", sent)
    spark.conf.set("spark.sql.files.maxPartitionBytes", size)
    for path in (plain, zipped):
        df = frame_of(spark, [path])
        assert df.rdd.getNumPartitions() >= path.stat().st_size // int(size)
        assert messages_of(df) == sent


def test_a_segment_without_messages(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-1]"""
    paths = [write_segment(tmp_path / "a.avro", []), write_zipped(tmp_path / "b.avro", [])]
    (tmp_path / "empty.avro").touch()
    df = frame_of(spark, [*paths, tmp_path / "empty.avro"])
    assert messages_of(df) == []
    assert df.count() == 0


def test_the_partition_of_five_fields(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-3]"""
    sent = [{k: v for k, v in each.items() if k != "partition"} for each in ODD_VALUES]
    names = {
        NAME: 7,
        "ts_-1_-2_part_-3_off_5_4.avro.snappy": -3,
        "ts_1_2_part_8_off_0_9.avro.x.y": 8,
        "odd.avro": None,
        "xts_1_2_part_7_off_0_9.avro": None,
        "ts_1_2_part_7_off_0_9.avrox": None,
        "ts_1_2_part_1234567890123456789_off_0_9.avro": None,
        "ts_1_2_part_\u0667_off_0_9.avro": None,
    }
    for name, partition in names.items():
        path = write_segment(tmp_path / name, sent, FIVE_FIELDS)
        for known, expected in (({}, partition), ({str(path): 4}, 4), ({str(path.parent): 4}, partition)):
            df = frame_of(spark, [path], known)
            assert messages_of(df) == [{**each, "partition": expected} for each in ODD_VALUES], name
            assert df.select("partition").distinct().collect() == [(expected,)]


def test_the_partition_of_a_record_counts_more_than_that_of_the_segment(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-3]"""
    fields = [{**f, "type": ["null", "long"]} if f["name"] == "partition" else f for f in MESSAGE["fields"]]
    sent = [message(0, partition=1), message(1, partition=None), message(2, partition=0)]
    path = write_segment(tmp_path / NAME, sent, {**MESSAGE, "fields": fields})
    assert [m["partition"] for m in messages_of(frame_of(spark, [path]))] == [1, 7, 0]
    assert [m["partition"] for m in messages_of(frame_of(spark, [path], {str(path): 5}))] == [1, 5, 0]


def former(offset: int, **fields: Any) -> dict[str, Any]:
    record = {"Payload": b"v", "TimestampMs": offset * 10, "Partition": 3, "Offset": offset, "Headers": {}}
    return record | {"Gap": False, "GapReason": None} | fields


def test_the_former_form(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-4]"""
    sent = [
        former(0, Payload="text"),
        former(1, Gap=True, GapReason="stopped", Payload=b""),
        former(2, Headers={"a": b"\xff", "b": b""}),
        former(3, Payload=None),
        former(4, Gap=True),
    ]
    path = write_segment(tmp_path / NAME, sent, FORMER)
    expected = [message(i, timestamp=i * 10, key=None, partition=3, value=b"v") for i in (0, 2, 3)]
    expected[0]["value"], expected[2]["value"] = b"text", None
    expected[1]["headers"] = [{"key": "a", "value": b"\xff"}, {"key": "b", "value": b""}]
    df = frame_of(spark, [path])
    assert messages_of(df) == expected
    assert (df.count(), df.select("offset").count()) == (3, 3)


def test_only_a_boolean_marks_a_gap(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-4] [QLK-RE-5]"""
    for kind, values, offsets in ((["null", "boolean"], (None, True, False), [0, 2]), ("string", "abc", [0, 1, 2])):
        schema = {**MESSAGE, "fields": [*MESSAGE["fields"], {"name": "gap", "type": kind}]}
        sent = [message(i, gap=value) for i, value in enumerate(values)]
        path = write_segment(tmp_path / NAME, sent, schema)
        assert [m["offset"] for m in messages_of(frame_of(spark, [path]))] == offsets


def test_names_of_fields(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-5]"""
    fields = [
        {"name": "OFFSET", "type": "int"},
        {"name": "Value", "type": "string"},
        {"name": "more", "type": {"type": "map", "values": {"type": "array", "items": "double"}}},
        {"name": "KEY", "type": "long"},
        {"name": "key", "type": "string"},
        {"name": "payload", "type": "int"},
    ]
    sent = {"OFFSET": 5, "Value": "caf\u00e9", "more": {"a": [1.0]}, "KEY": 1, "key": "k", "payload": 2}
    path = write_segment(tmp_path / "x.avro", [sent], {"type": "record", "name": "R", "fields": fields})
    expected = message(5, timestamp=None, key=b"k", headers=None, value="caf\u00e9".encode(), partition=None)
    assert messages_of(frame_of(spark, [path])) == [expected]


def test_headers_of_other_types(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-1] [QLK-RE-4]"""
    both = ["null", "string", "bytes"]
    record = {
        "type": "record",
        "name": "H",
        "fields": [{"name": "Value", "type": both}, {"name": "Key", "type": "string"}],
    }
    as_map = ["null", {"type": "map", "values": both}]
    cases: list[tuple[Any, Any, Any]] = [
        ({"type": "array", "items": record}, [{"Key": "a", "Value": None}], [{"key": "a", "value": None}]),
        (as_map, {"a": "x", "b": b"y"}, [{"key": "a", "value": "x"}, {"key": "b", "value": b"y"}]),
        (as_map, None, None),
    ]
    for i, (kind, value, expected) in enumerate(cases):
        fields = [{**f, "type": kind} if f["name"] == "headers" else f for f in MESSAGE["fields"]]
        path = write_segment(tmp_path / f"{i}.avro", [message(0, headers=value)], {**MESSAGE, "fields": fields})
        assert messages_of(frame_of(spark, [path])) == [message(0, headers=expected)]


@pytest.mark.parametrize(
    "columns", [["timestamp"], ["offset", "key"], ["headers"], ["value", "partition"], ["time", "date"], []]
)
def test_a_query_reads_the_columns_that_it_needs(spark: SparkSession, tmp_path: Path, columns: list[str]) -> None:
    """[QLK-RE-1]"""
    sent = [message(i, headers=[{"key": "h", "value": "v"}] * i) for i in range(5)]
    df = frame_of(spark, [write_segment(tmp_path / NAME, sent)])
    everything = [row.asDict() for row in df.collect()]
    assert [row.asDict() for row in df.select(*columns).collect()] == [
        {c: row[c] for c in columns} for row in everything
    ]
