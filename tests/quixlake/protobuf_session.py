"""Reads of Protobuf payloads in a Spark session with spark-protobuf: ``python -m tests.quixlake.protobuf_session``.

The session has a process of its own, because packages must be on the class path when the JVM starts. The argument is an
empty folder. The process writes what it reads as one line of JSON.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

import xskip
from tests.quixlake.lakes import offsets, skipped, write_payloads
from xskip.errors import XskipError
from xskip.quixlake import QuixLake

MESSAGE = "plant.Reading"
DOUBLE, INT64, STRING, MESSAGE_TYPE = 1, 3, 9, 11
OPTIONAL, REPEATED = 1, 3
#: The payloads: a field that has its default, such as 0, is not written in proto3, and Spark reads it as null.
PAYLOADS: list[dict[str, Any]] = [
    {
        "temp": None if i % 5 == 4 else i / 2 - 0.75,
        "site": f"s{i} é",
        "tags": [i] * (i % 3),
        "place": {"floor": 2 - 3 * i},
    }
    for i in range(8)
]


def encoded(*fields: tuple[int, float | str | bytes | None]) -> bytes:
    """Return a Protobuf message with fields of numbers and values, without the fields whose value is None."""
    return b"".join(_field(number, value) for number, value in fields if value is not None)


def _field(number: int, value: float | str | bytes) -> bytes:
    match value:
        case int():
            return _varint(number << 3) + _varint(value)
        case float():
            return _varint(number << 3 | 1) + struct.pack("<d", value)
        case str():
            return _field(number, value.encode())
        case _:
            return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Return an integer in groups of seven bits, the least first; a negative one as 64 bits of two's complement."""
    value %= 1 << 64
    groups = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def descriptor_set() -> bytes:
    """Return a FileDescriptorSet with the message ``Reading`` and the message ``Place`` in it."""

    def field(name: str, number: int, kind: int, label: int = OPTIONAL, of: str | None = None) -> bytes:
        return encoded((1, name), (3, number), (4, label), (5, kind), (6, of))

    place = encoded((1, "Place"), (2, field("floor", 1, INT64)))
    reading = encoded(
        (1, "Reading"),
        (2, field("temp", 1, DOUBLE)),
        (2, field("site", 2, STRING)),
        (2, field("tags", 3, INT64, REPEATED)),
        (2, field("place", 4, MESSAGE_TYPE, of=f".{MESSAGE}.Place")),
        (3, place),
    )
    file = encoded((1, "reading.proto"), (2, "plant"), (4, reading), (12, "proto3"))
    return encoded((1, file))


def as_protobuf(payload: dict[str, Any]) -> bytes:
    """Return a payload with its list in the packed form of proto3."""
    tags = b"".join(map(_varint, payload["tags"]))
    return encoded(
        (1, payload["temp"]), (2, payload["site"]), (3, tags or None), (4, encoded((1, payload["place"]["floor"])))
    )


def observed(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Return what reads of a lake with the payloads return and skip."""
    descriptor = folder / "reading.desc"
    descriptor.write_bytes(descriptor_set())
    write_payloads(folder / "lake", map(as_protobuf, PAYLOADS))
    lake = QuixLake(spark, str(folder / "lake"))
    frame = lake.read("t", value="protobuf", schema=MESSAGE, descriptor=str(descriptor))
    values = [row.value.asDict(recursive=True) for row in frame.orderBy("offset").select("value").collect()]
    conditions = ("value.temp > 1", "value.temp IS NULL", "value.place.floor < -10", "array_contains(value.tags, 5)")
    some = frame.filter("value.temp < 1 AND offset >= 3")
    return {
        "values": values,
        "filtered": {condition: offsets(frame.filter(condition)) for condition in conditions},
        "skipped": [offsets(some), *skipped(spark, some)],
        "index": _error(lake, f"from_protobuf(value, '{MESSAGE}', '{descriptor}').temp"),
        "message": _error_of_read(lake, schema="plant.Nothing", descriptor=str(descriptor)),
        "descriptor": _error_of_read(lake, schema=MESSAGE, descriptor=str(folder / "none.desc")),
    }


def _error(lake: QuixLake, expression: str) -> str:
    try:
        lake.index("t").create([xskip.MinMax(expression, expression=True)], progress=False)
    except XskipError as error:
        return str(error)
    return ""


def _error_of_read(lake: QuixLake, schema: str, descriptor: str) -> str:
    try:
        lake.read("t", value="protobuf", schema=schema, descriptor=descriptor)
    except XskipError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def session() -> SparkSession:
    version = os.environ.get("XSKIP_TEST_AVRO") or pyspark.__version__
    scala = "2.12" if version.startswith("3.") else "2.13"
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
    )
    protobuf = f"org.apache.spark:spark-protobuf_{scala}:{version}"
    return xskip.configure(builder, extra_packages=[protobuf], avro_version=version).getOrCreate()


def main(arguments: Sequence[str]) -> None:
    """Write what the reads return."""
    spark = session()
    spark.conf.set("spark.xskip.strict", "true")
    xskip.enable(spark)
    sys.stdout.write(json.dumps(observed(spark, Path(arguments[0]))) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
