"""A lake that changes at random, as a reader with tokens sees it."""

from __future__ import annotations

import datetime as dt
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import frame_of
from tests.quixlake.lakes import DAY, START, WrittenLake
from tests.quixlake.written import message
from xskip.quixlake import QuixLake, SinkOptions
from xskip.quixlake.descriptors import describe

#: A limit in the future, so that compactions and cleanings take files of any age.
NOW = timedelta(minutes=-1)
_SCHEMA = "timestamp BIGINT, key BINARY, value BINARY, partition BIGINT, offset BIGINT"


def write(lake: QuixLake, rows: list[dict[str, Any]], **options: Any) -> None:
    columns = [part.split()[0] for part in _SCHEMA.split(", ")]
    frame = frame_of(lake.spark, [tuple(row[name] for name in columns) for row in rows], _SCHEMA)
    lake.write(frame, "t", options=SinkOptions(**options))


def arrow_of(frame: DataFrame) -> pa.Table:
    return pa.table({"offset": sorted(row.offset for row in frame.collect())})


class Changes:
    """A lake that changes at random. No two messages have the same value, so that copies of an offset differ."""

    def __init__(self, spark: SparkSession, base: Path, seed: int) -> None:
        self.lake, self.random = QuixLake(spark, base), Random(seed)
        self.base, self.written = base, WrittenLake(base)
        self._number = 0
        self._next = dict.fromkeys([("a", 0), ("b", 0), ("a", 1), (None, 1)], 0)
        self._gaps: list[tuple[str | None, int, list[int]]] = []
        self._sent: list[tuple[str | None, int, list[int]]] = []
        self._deleted: list[Path] = []
        self.write()

    def step(self) -> str:
        change = self.random.choice(
            [self.write, self.write, self.late, self.again, self.foreign, self.delete, self.restore, self.remove]
            + [self.compact] * 3
        )
        change()
        return change.__name__

    def rows(self, key: str | None, partition: int, offsets: list[int]) -> list[dict[str, Any]]:
        found = []
        for offset in offsets:
            self._number += 1
            day = DAY * (offset // 40)
            found.append(
                message(
                    offset, timestamp=START + day + offset, key=None if key is None else key.encode(),
                    partition=partition, value=f"{self._number} {partition} {offset}".encode(),
                )
            )  # fmt: skip
        return found

    def write(self) -> None:
        """Write a batch whose offsets follow those before, and leave some of them for later."""
        rows = []
        for key, partition in self.random.sample(sorted(self._next, key=str), self.random.randint(1, 3)):
            first = self._next[key, partition]
            offsets = list(range(first, first + self.random.randint(2, 12)))
            self._next[key, partition] = offsets[-1] + 1
            if self.random.random() < 0.4:
                cut = self.random.choice([offsets[1::2], offsets[: len(offsets) // 2]])
                self._gaps.append((key, partition, cut))
                offsets = [each for each in offsets if each not in cut]
            self._sent.append((key, partition, offsets))
            rows += self.rows(key, partition, offsets)
        write(self.lake, rows, max_rows=self.random.choice([2, 5, 100]))

    def late(self) -> None:
        """Write offsets that were left out before."""
        if self._gaps:
            key, partition, offsets = self._gaps.pop(self.random.randrange(len(self._gaps)))
            self._sent.append((key, partition, offsets))
            write(self.lake, self.rows(key, partition, offsets))

    def again(self) -> None:
        """Write offsets that are there."""
        if not self._sent:
            return
        key, partition, offsets = self.random.choice(self._sent)
        rows = self.rows(key, partition, offsets[: self.random.randint(1, len(offsets))])
        # another time gives the segment a name of its own, which a cleaning can have made free
        write(self.lake, [row | {"timestamp": row["timestamp"] + 1000 + self._number} for row in rows])

    def foreign(self) -> None:
        """Write a segment as another writer does, also without a descriptor, or with a name that claims nothing."""
        key, partition = self.random.choice(sorted(self._next, key=str))
        first = self._next[key, partition]
        self._next[key, partition] += 3
        name = None if self.random.random() < 0.7 else f"x{self._number}.avro"
        row = self.written.segment(key, self.rows(key, partition, list(range(first, first + 3))), name=name)
        if self.random.random() < 0.6:
            self.written.describe([row])

    def segments(self) -> list[Path]:
        found = self.lake.segments("t", listed=True).to_arrow()["path"].to_pylist()
        return [self.base / path for path in found]

    def delete(self) -> None:
        """Mark segments as deleted by further descriptors."""
        found = self.segments()
        for path in self.random.sample(found, min(len(found), self.random.randint(0, 2))):
            self._mark(path, dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc))
            self._deleted.append(path)

    def restore(self) -> None:
        for path in self._deleted:
            if path.exists():
                self._mark(path, None)
        self._deleted.clear()

    def _mark(self, path: Path, deleted: dt.datetime | None) -> None:
        below = path.relative_to(self.base)
        rows = self.lake._store.index_files(["Topic=t"]).descriptors.to_pylist()
        own = [row for row in rows if row["below"] == str(below)]
        latest = max(own, key=lambda row: row["created"], default=None)
        self._number += 1
        created = dt.datetime.now(dt.timezone.utc) + timedelta(days=1, seconds=self._number)
        names = {
            "Topic": "topic", "Key": "stream_key", "Partition": "partition", "TimestampStart": "start",
            "TimestampEnd": "end", "StartOffset": "first", "EndOffset": "last", "RecordCount": "rows",
        }  # fmt: skip
        row = {name: None if latest is None else latest[column] for name, column in names.items()}
        row |= {"Path": str(path), "FileSizeBytes": path.stat().st_size, "CreatedAt": created, "DeletedAt": deleted}
        row["Topic"] = "t"
        if latest is None:
            (key,) = [part[4:] for part in below.parts if part.startswith("Key=")]
            row |= {"Key": None if key.startswith("__HIVE") else key, "Partition": None}
        self.written._files += 1
        folder = self.base / "Metadata" / below.parts[1] / below.parts[2]
        folder.mkdir(parents=True, exist_ok=True)
        is_exact = latest is not None and latest["exact"]
        (folder / f"index_raw_9_{self.written._files}.parquet").write_bytes(describe([row], exact=bool(is_exact)))

    def remove(self) -> None:
        """Remove a segment; no other one gets its name."""
        rows = self.lake.segments("t", listed=True).to_arrow().to_pylist()
        if len(rows) > 3:
            row = self.random.choice(rows)
            (self.base / row["path"]).unlink()
            first, last = row["first"] or 0, row["last"] or 1 << 60
            self._sent = [each for each in self._sent if each[2][-1] < first or each[2][0] > last]

    def compact(self) -> None:
        options = SinkOptions(max_rows=self.random.choice([6, 1000]), max_millis=DAY)
        self.lake.compact("t", older_than=NOW, options=options)

    def clean(self) -> None:
        self.lake.clean("t", older_than=NOW)
