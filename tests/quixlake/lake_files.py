"""The files of a lake, read independently of xskip and Spark."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import fastavro
import pyarrow.parquet as pq

Message = tuple[Any, ...]
_NAME = re.compile(r"ts_(-?\d+)_(-?\d+)_part_(-?\d+)_off_(-?\d+)_(-?\d+)\.avro(.*)")
_DAY = 86_400_000


@dataclass(frozen=True)
class Segment:
    """A visible segment: its path below the base, its size, its schema and its messages."""

    path: str
    size: int
    schema: Any
    codec: str
    messages: list[Message]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def stream_key(self) -> bytes | None:
        (encoded,) = re.findall("Key=(.*)/Start=", self.path)
        return None if encoded == "__HIVE_DEFAULT_PARTITION__" else unquote_to_bytes(encoded)


def message_of(record: Any) -> Message:
    """Return the timestamp, key, headers, value, partition and offset of a record."""
    headers = tuple((header["key"], header["value"]) for header in record["headers"])
    return (record["timestamp"], record["key"], headers, record["value"], record["partition"], record["offset"])


def segments(base: Path) -> list[Segment]:
    """Return the visible segments, in the order of paths."""
    found = []
    for path in sorted((base / "Raw").rglob("*.avro*")):
        if not path.name.startswith((".", "_")):
            with path.open("rb") as file:
                reader = fastavro.reader(file)
                messages = [message_of(record) for record in reader]
            below = str(path.relative_to(base))
            found.append(Segment(below, path.stat().st_size, reader.writer_schema, reader.codec, messages))
    return found


def hidden_files(base: Path) -> list[Path]:
    """Return the segments under hidden names."""
    return sorted(path for path in (base / "Raw").rglob("._xskip-*"))


def index_files(base: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the descriptors of each index file, by its path below the base."""
    files = sorted((base / "Metadata").rglob("index_raw_*.parquet"))
    assert all((pq.read_metadata(file).metadata or {}).get(b"xskip.bounds") == b"exact" for file in files)
    return {str(file.relative_to(base)): pq.read_table(file).to_pylist() for file in files}


def assert_lake_holds(base: Path, expected: list[Message], *, hidden: int = 0) -> None:
    """Assert that the visible segments hold just these messages, and that names and descriptors describe them."""
    found = segments(base)
    assert Counter(message for segment in found for message in segment.messages) == Counter(expected)
    rows = [row for table in index_files(base).values() for row in table]
    assert len(rows) == len(found)
    described = {row["Path"]: row for row in rows}
    for segment in found:
        _assert_described(segment, described[f"{base}/{segment.path}"])
    assert len(hidden_files(base)) == hidden


def _assert_described(segment: Segment, row: dict[str, Any]) -> None:
    times = [message[0] for message in segment.messages]
    offsets = [message[5] for message in segment.messages]
    (partition,) = {message[4] for message in segment.messages}
    assert offsets == sorted(offsets)
    assert len({time // _DAY for time in times}) == 1
    bounds = (min(times), max(times), partition, offsets[0], offsets[-1])
    matched = _NAME.fullmatch(segment.name)
    assert matched is not None
    assert tuple(map(int, matched.groups()[:5])) == bounds
    columns = ("TimestampStart", "TimestampEnd", "Partition", "StartOffset", "EndOffset", "RecordCount")
    assert tuple(row[column] for column in columns) == (*bounds, len(times))
    assert row["FileSizeBytes"] == segment.size
    assert row["CreatedAt"] is not None
    assert row["DeletedAt"] is None
    assert row["Key"] == (None if segment.stream_key is None else segment.stream_key.decode())
