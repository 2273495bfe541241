"""Segments that cannot be read. Rules: [QLK-RE-5] [QLK-RE-6]."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.quixlake.written import MESSAGE, container, frame_of, message, messages_of, write_segment
from tests.spark.java_classes import JavaClasses
from xskip.spark.bridge.java_errors import spark_errors

SENT = [message(i, value=bytes([i]) * 200) for i in range(100)]
WHOLE = container(MESSAGE, SENT, "null", sync_interval=2000)
OTHER = {
    "type": "record",
    "name": "Sensor",
    "fields": [{"name": "id", "type": "long"}, {"name": "at", "type": "double"}],
}
LENGTH_200, LENGTH_8191 = b"\x90\x03", b"\xfe\x7f"
WITH_TEXT = {**MESSAGE, "fields": [{"name": "timestamp", "type": "string"}, *MESSAGE["fields"][1:]]}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
WITH_MICROS = {**MESSAGE, "fields": [{"name": "timestamp", "type": ["null", MICROS]}, *MESSAGE["fields"][1:]]}

UNREADABLE = {
    "it is not an Avro file: it begins with the bytes 50 41 52 31": b"PAR1" + bytes(100),
    "it is not an Avro file: it begins with the bytes 4f": b"O",
    "it is not an Avro file: its content in gzip begins with the bytes 7b 22 61 22": gzip.compress(b'{"a": 1}'),
    "it is not an Avro file: its content in gzip is empty": gzip.compress(b""),
    "its records are no messages, they have the fields [id, at]": container(OTHER, [{"id": 1, "at": 2.0}]),
    'its records have the type "string", which is no message': container({"type": "string"}, []),
    'the field of the column timestamp has the type "string"': container(WITH_TEXT, []),
    'the field of the column timestamp has the type {"type":"long","logicalType":"timestamp-micros"}': container(
        WITH_MICROS, []
    ),
    "Invalid sync!": WHOLE[:-16] + bytes(16),
    "Unrecognized codec: lzma9": container(MESSAGE, SENT, "null").replace(b"\x08null", b"\x0alzma9", 1),
    "a value has the length 8191, and its block has": WHOLE.replace(LENGTH_200 + b"2", LENGTH_8191 + b"2"),
}
CUTS = [len(WHOLE) - 1, len(WHOLE) - 17, len(WHOLE) - 500, WHOLE.index(b"\x01\x01\x01"), 100, 5]


def error_of(df: DataFrame) -> str:
    with pytest.raises(spark_errors()) as found:
        df.selectExpr("count(*)", "sum(length(value))", "max(timestamp)").collect()
    return str(found.value)


@pytest.mark.parametrize("expected", UNREADABLE)
def test_the_error_names_the_segment_and_what_was_found(spark: SparkSession, tmp_path: Path, expected: str) -> None:
    """[QLK-RE-5] [QLK-RE-6]"""
    path = tmp_path / "a b.avro"
    path.write_bytes(UNREADABLE[expected])
    error = error_of(frame_of(spark, [path]))
    assert re.search(f"xskip cannot read the file {path}: .*{re.escape(expected)}", error)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("zipped", ["no", "container", "file"])
def test_a_truncated_segment_fails_the_query(spark: SparkSession, tmp_path: Path, cut: int, zipped: str) -> None:
    """[QLK-RE-6]"""
    path = tmp_path / "x.avro"
    packed = gzip.compress(WHOLE)
    path.write_bytes(
        {"no": WHOLE[:cut], "container": gzip.compress(WHOLE[:cut]), "file": packed[: -1 - cut % 200]}[zipped]
    )
    assert f"xskip cannot read the file {path}: " in error_of(frame_of(spark, [path]))


@pytest.mark.skipif(pyspark.__version__ < "4", reason="Spark 3.5 puts a sentence of its own before")
def test_the_reason_comes_first(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-6]"""
    path = tmp_path / "x.avro"
    path.write_bytes(WHOLE[:-20])
    error = error_of(frame_of(spark, [path]))
    assert "FAILED_READ_FILE" not in error
    assert f"xskip cannot read the file {path}: it is truncated: its last block begins at byte" in error[:600]
    assert error.index("xskip cannot read") < error.index("\n\tat ")


def test_the_split_with_the_damage_fails(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-6]"""
    path = tmp_path / "x.avro"
    path.write_bytes(WHOLE[:-20])
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1500")
    assert "it is truncated: its last block begins at byte" in error_of(frame_of(spark, [path]))


def test_corrupt_files_can_be_ignored(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-6]"""
    good = write_segment(tmp_path / "good.avro", SENT)
    bad = [tmp_path / f"{i}.avro" for i in range(len(UNREADABLE))]
    for path, data in zip(bad, UNREADABLE.values(), strict=True):
        path.write_bytes(data)
    truncated = tmp_path / "truncated.avro"
    truncated.write_bytes(WHOLE[: -len(WHOLE) // 2])
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    assert messages_of(frame_of(spark, [*bad[:7], good])) == SENT
    offsets = [m["offset"] for m in messages_of(frame_of(spark, [truncated]))]
    assert offsets == list(range(len(offsets)))
    assert 0 < len(offsets) < len(SENT)


def test_a_codec_without_its_library_is_not_corruption(spark: SparkSession) -> None:
    """[QLK-RE-6]"""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path("file:/lake/x.avro")
    missing = jvm.java.lang.NoClassDefFoundError("org/tukaani/xz/XZInputStream")
    with pytest.raises(spark_errors()) as found:
        JavaClasses(spark).call("quixlake.SegmentFailure", "raise", path, "xz", missing, False)
    expected = "NoClassDefFoundError: xskip cannot read the file /lake/x.avro: the library of its codec xz is missing"
    assert expected in str(found.value)


def test_a_missing_segment(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-4]"""
    paths = [write_segment(tmp_path / f"{i}.avro", [message(i)]) for i in range(3)]
    df = frame_of(spark, paths)
    write_segment(tmp_path / "new.avro", [message(9)])
    assert [m["offset"] for m in messages_of(df)] == [0, 1, 2]
    paths[1].unlink()
    error = error_of(df)
    assert "1.avro" in error
    assert "recreating the Dataset/DataFrame" in error
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    assert [m["offset"] for m in messages_of(df)] == [0, 2]
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "false")
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    assert "1.avro" in error_of(df)
