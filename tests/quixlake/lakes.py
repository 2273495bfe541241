"""Lakes that the tests write: segments by fastavro, index files and custom metadata by pyarrow."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.quixlake.written import message, write_segment
from xskip.quixlake.custom_metadata import DOCUMENT as CUSTOM
from xskip.quixlake.descriptors import describe
from xskip.quixlake.names import SegmentName, folder

DAY = 86_400_000
#: The first millisecond of 2025-08-21 in UTC.
START = 1_755_734_400_000


@dataclass(slots=True)
class WrittenLake:
    """A lake in a directory, with all messages that it holds.

    Attributes
    ----------
    base : Path
    messages : list of dict
        The messages with their ``stream_key``.
    """

    base: Path
    messages: list[dict[str, Any]] = field(default_factory=list)
    _files: int = 0

    def segment(
        self, key: str | None, records: Sequence[dict[str, Any]], topic: str = "t", name: str | None = None
    ) -> dict[str, Any]:
        """Write a segment and return its descriptor."""
        times, offsets = ([record[column] for record in records] for column in ("timestamp", "offset"))
        claims = SegmentName(min(times), max(times), records[0]["partition"], min(offsets), max(offsets))
        day = dt.datetime.fromtimestamp(min(times) / 1000, dt.timezone.utc).date()
        below = f"Raw/{folder('Topic', topic)}/{folder('Key', key)}/Start={day}/{name or claims.text('snappy')}"
        path = write_segment(self.base / below, records)
        self.messages += [record | {"stream_key": key} for record in records]
        return {
            "Path": f"s3://bucket/workspace/{below}", "Topic": topic, "Key": key, "Partition": claims.partition,
            "TimestampStart": claims.start, "TimestampEnd": claims.end, "StartOffset": claims.first,
            "EndOffset": claims.last, "RecordCount": len(records), "FileSizeBytes": path.stat().st_size,
            "CreatedAt": dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc), "DeletedAt": None,
        }  # fmt: skip

    def describe(self, rows: Iterable[dict[str, Any]], *, exact: bool = False) -> None:
        """Write an index file for each topic and stream key of descriptors."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            groups.setdefault(f"{folder('Topic', row['Topic'])}/{folder('Key', row['Key'])}", []).append(row)
        for place, own in groups.items():
            path = self.base / "Metadata" / place / f"index_raw_{own[0]['Partition']}_{self._files}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(describe(own, exact=exact))
            self._files += 1

    def set(self, key: str | None, name: str, value: str | None, second: int = 1, flag: str = "False") -> None:
        """Write a file with one value of custom metadata."""
        at = dt.datetime.fromtimestamp(second, dt.timezone.utc)
        row = dict(zip(CUSTOM.names, ("t", key, name, value, flag, at), strict=True))
        path = self.base / "Metadata/Topic=t" / folder("Key", key) / f"metadata_{self._files}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist([row], CUSTOM), path)
        self._files += 1


def records(count: int, first: int = 0, **fields: Any) -> list[dict[str, Any]]:
    """Return messages with consecutive offsets, a second apart from the first moment of 2025-08-21 on."""
    return [message(first + i, timestamp=START + 1000 * (first + i), **fields) for i in range(count)]


def hourly(base: Path, keys: Sequence[str | None] = ("a", "b"), hours: int = 6, *, exact: bool = False) -> WrittenLake:
    """Write a lake with a segment of four messages for each key and hour, partition 0 for the first key, and so on."""
    lake = WrittenLake(base)
    described = []
    for partition, key in enumerate(keys):
        for hour in range(hours):
            own = [
                message(hour * 10 + i, timestamp=START + 3_600_000 * hour + 600_000 * i, partition=partition)
                for i in range(4)
            ]
            described.append(lake.segment(key, own))
    lake.describe(described, exact=exact)
    return lake


def shuffled(items: Iterable[Any], seed: int) -> list[Any]:
    found = list(items)
    random.Random(seed).shuffle(found)
    return found


def identity(row: Any) -> tuple[Any, ...]:
    """Return the values of a message that tell it from others."""
    value = row["value"]  # PySpark before 4 returns a bytearray
    places = tuple(row[name] for name in ("stream_key", "partition", "offset", "timestamp"))
    return (*places, None if value is None else bytes(value))


def offsets(frame: DataFrame) -> list[int]:
    """Return the offsets of the messages of a DataFrame in order."""
    return sorted(row.offset for row in frame.select("offset").collect())


def skipped(spark: SparkSession, frame: DataFrame) -> tuple[int, int]:
    """Run a query, and return how many segments it read and how many there were."""
    frame.collect()
    (scan,) = xskip.last_report(spark).scans
    return scan.kept, scan.files


def write_payloads(base: Path, payloads: Iterable[bytes]) -> None:
    """Write a lake with two messages in each segment, with the payloads and consecutive offsets."""
    written, values = WrittenLake(base), list(payloads)
    for first in range(0, len(values), 2):
        rows = records(len(values[first : first + 2]), first=first)
        written.segment("k", [row | {"value": values[row["offset"]]} for row in rows])
