"""Segments that the tests write with fastavro, and DataFrames over them."""

from __future__ import annotations

import datetime as dt
import gzip
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.quixlake.segment_frame import Reading, segment_frame
from xskip.spark.bridge.gateway import hook_of

Record = dict[str, Any]
Place = tuple[str | None, str | None, dt.date | None]

HEADER: Record = {
    "type": "record",
    "name": "Header",
    "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": ["string", "bytes"]}],
}
_FIELDS: list[Record] = [
    {"name": "timestamp", "type": "long"},
    {"name": "key", "type": ["null", "bytes"]},
    {"name": "headers", "type": {"type": "array", "items": HEADER}},
    {"name": "value", "type": "bytes"},
    {"name": "partition", "type": "long"},
    {"name": "offset", "type": "long"},
]
MESSAGE: Record = {"type": "record", "name": "KafkaMessage", "fields": _FIELDS}
FIVE_FIELDS: Record = {**MESSAGE, "fields": [field for field in _FIELDS if field["name"] != "partition"]}
FORMER: Record = {
    "type": "record",
    "name": "Message",
    "fields": [
        {"name": "Payload", "type": ["null", "bytes", "string"]},
        {"name": "TimestampMs", "type": "long"},
        {"name": "Partition", "type": "int"},
        {"name": "Offset", "type": "long"},
        {"name": "Headers", "type": {"type": "map", "values": "bytes"}},
        {"name": "Gap", "type": "boolean"},
        {"name": "GapReason", "type": ["null", "string"]},
    ],
}
#: The columns of a message in the order of :func:`message`.
COLUMNS = ("timestamp", "key", "headers", "value", "partition", "offset")


def message(offset: int, **fields: Any) -> Record:
    """Return a message with the given fields, and values that depend on its offset in the others."""
    return {
        "timestamp": 1_755_776_884_000 + offset,
        "key": b"key",
        "headers": [],
        "value": f"value {offset}".encode(),
        "partition": 0,
        "offset": offset,
    } | fields


def container(schema: Record, records: Iterable[Record], codec: str = "snappy", **options: Any) -> bytes:
    """Return an Avro container with records."""
    out = io.BytesIO()
    fastavro.writer(out, schema, records, codec, **options)
    return out.getvalue()


def write_segment(
    path: Path, records: Iterable[Record], schema: Record = MESSAGE, codec: str = "snappy", **options: Any
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(container(schema, records, codec, **options))
    return path


def write_zipped(path: Path, records: Iterable[Record], codec: str = "null") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(container(MESSAGE, records, codec)))
    return path


def table_of(places: Mapping[Path, Place]) -> MetadataTable:
    """Return the table of segments with a topic, a stream key and a date."""
    stats = [(str(path), path.stat()) for path in places]
    files = DataFiles.of([FileStatus(name, stat.st_size, stat.st_mtime_ns // 1_000_000) for name, stat in stats])
    types = {"topic": ("string", pa.string()), "stream_key": ("string", pa.string()), "date": ("date", pa.date32())}
    columns = {
        name: PartitionColumn(name, kind, pa.array([place[i] for place in places.values()], arrow))
        for i, (name, (kind, arrow)) in enumerate(types.items())
    }
    return MetadataTable(files, columns)


def frame_of(
    spark: SparkSession, paths: Sequence[Path] | Mapping[Path, Place], partition_of: Mapping[str, int] | None = None
) -> DataFrame:
    """Return the DataFrame of segments, by default all of the stream key ``k`` of the topic ``t``."""
    places = paths if isinstance(paths, Mapping) else {path: ("t", "k", dt.date(2025, 8, 21)) for path in paths}
    root = str(next(iter(places)).parents[-2])
    return segment_frame(spark, hook_of(spark), table_of(places), root, Reading(partition_of or {}))


def messages_of(df: DataFrame) -> list[Record]:
    """Return the messages of a DataFrame in the form of :func:`message`, ordered by offset.

    A header has the value of its branch: a text or bytes.
    """
    rows = df.select(*COLUMNS).orderBy("offset", "timestamp").collect()
    return [_message(row.asDict(recursive=True)) for row in rows]


def _message(row: Record) -> Record:
    for name in ("key", "value"):
        row[name] = None if row[name] is None else bytes(row[name])
    if row["headers"] is not None:
        row["headers"] = [{"key": each["key"], "value": _branch(each["value"])} for each in row["headers"]]
    return row


def _branch(value: Record | None) -> str | bytes | None:
    if value is None:
        return None
    assert (value["string"] is None) != (value["bytes"] is None)
    text: str | None = value["string"]
    return bytes(value["bytes"]) if text is None else text
