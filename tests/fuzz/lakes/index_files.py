"""Random descriptors of segments: right, absent, doubled, stale, contradictory, deleted and restored ones."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.lakes.model import Descriptor, Model, Segment
from tests.fuzz.lakes.segments import FORMER_FOLDERS, KEYS
from xskip.quixlake.names import folder

__all__ = ["Describer"]

_CREATED = 1_767_225_600  # 2026-01-01
_UTC = dt.timezone.utc
_BELOW = ("s3://bucket/workspace/{}", "{}", "/workspace/{}", "{base}/{}")
_SNAKE = {
    "Path": "path", "Topic": "topic", "Key": "key", "Partition": "partition", "TimestampStart": "timestamp_start",
    "TimestampEnd": "timestamp_end", "StartOffset": "start_offset", "EndOffset": "end_offset",
    "RecordCount": "record_count", "FileSizeBytes": "file_size_bytes", "CreatedAt": "created_at",
    "DeletedAt": "deleted_at",
}  # fmt: skip
_FORMS: tuple[dict[str, str], ...] = ({}, {}, {}, {"StartOffset": "OffsetStart", "EndOffset": "OffsetEnd"}, _SNAKE)
_INTEGERS = ("Partition", "TimestampStart", "TimestampEnd", "StartOffset", "EndOffset", "RecordCount", "FileSizeBytes")
#: Claims that are right about no segment.
_WRONG = {"StartOffset": 10**6, "EndOffset": 10**6, "TimestampStart": 7, "TimestampEnd": 7}


@dataclass(slots=True)
class Describer:
    """A program that writes index files.

    Attributes
    ----------
    random : Random
    base : Path
    is_ordered : bool
        Whether all claims about timestamps are true.
    model : Model
        The lake, whose descriptors the program sets.
    files : dict of Path to list of Descriptor
        The index files that the program can remove or replace, with their descriptors.
    """

    random: Random
    base: Path
    is_ordered: bool
    model: Model
    files: dict[Path, list[Descriptor]] = field(default_factory=dict)
    _settled: list[Descriptor] = field(default_factory=list)
    _count: int = 0

    def describe(self, segment: Segment) -> None:
        """Write the first descriptors of a segment."""
        is_exact = self.random.random() < 0.4 and segment.has_partitions and segment.key not in FORMER_FOLDERS
        row = self._right(segment) if is_exact else self._claimed(segment)
        rows = self._of_exact(row) if is_exact else self._of_others(segment, row)
        self._write(segment, rows, is_exact=is_exact)

    def mark(self, segment: Segment, *, is_deleted: bool) -> None:
        """Delete or restore a segment by a further descriptor."""
        row = self._claimed(segment) if segment.has_partitions else self._right(segment)
        self._write(segment, [row | {"DeletedAt": _CREATED if is_deleted else None}], is_exact=False)

    def remove_file(self) -> None:
        """Remove an index file whose segments do not need it, or damage it."""
        lacking = {path for path, each in self.model.segments.items() if not each.has_partitions}
        free = [path for path, rows in self.files.items() if lacking.isdisjoint(row["Path"] for row in rows)]
        if free:
            path = self.random.choice(free)
            del self.files[path]
            path.unlink() if self.random.random() < 0.7 else path.write_bytes(b"PAR1 damaged")
            self._enter()

    def settle(self) -> None:
        """Keep all descriptors as they are, because a compaction may have merged their files."""
        self._settled += [row for rows in self.files.values() for row in rows]
        self.files.clear()

    def _right(self, segment: Segment) -> Descriptor:
        """Return a descriptor with the bounds of a segment."""
        times, offsets = ([message[name] for message in segment.messages] for name in ("timestamp", "offset"))
        self._count += 1
        return {
            "Path": segment.path, "Topic": "t", "Key": segment.key,
            "Partition": segment.messages[0].get("partition", segment.partition),
            "TimestampStart": min(times), "TimestampEnd": max(times), "StartOffset": min(offsets),
            "EndOffset": max(offsets), "RecordCount": len(offsets), "FileSizeBytes": segment.size,
            "CreatedAt": _CREATED + self._count, "DeletedAt": None,
        }  # fmt: skip

    def _claimed(self, segment: Segment) -> Descriptor:
        """Return a descriptor as other programs write it, which at times gives the segment another stream key."""
        row, random = self._right(segment), self.random
        if not self.is_ordered:
            row |= {
                "TimestampStart": segment.messages[0]["timestamp"],
                "TimestampEnd": segment.messages[-1]["timestamp"],
            }
        if segment.key in FORMER_FOLDERS and random.random() < 0.7:
            row["Key"] = random.choice([key for key in KEYS[:4] if key is not None])
        return row

    def _of_exact(self, row: Descriptor) -> list[Descriptor]:
        """Return descriptors of a program that computes bounds from all messages."""
        match self.random.randrange(8):
            case 0:
                return [row, row]
            case 1:
                return [row | _WRONG | {"CreatedAt": None, "DeletedAt": _CREATED}, row]
            case 2:
                return [row | {"DeletedAt": _CREATED}]
            case _:
                return [row]

    def _of_others(self, segment: Segment, row: Descriptor) -> list[Descriptor]:
        """Return descriptors, of which all that count are right about offsets, or contradict the name."""
        stale = row | _WRONG | {"FileSizeBytes": segment.size + 1}
        cases: list[list[Descriptor]] = [
            [], [row], [row], [row, row], [row | {"DeletedAt": _CREATED}], [stale],
            [row | {"DeletedAt": _CREATED}, row | {"CreatedAt": row["CreatedAt"] + 1}],
            [row | {"DeletedAt": _CREATED}, row], [row | _WRONG | {"CreatedAt": _CREATED - 1}, row],
            [row | {"StartOffset": None, "TimestampEnd": None}], [row | {"StartOffset": 9, "EndOffset": 3}],
            [row, row | {"StartOffset": 10**6, "EndOffset": 10**6}],
            [row | {"FileSizeBytes": None, "RecordCount": None}],
        ]  # fmt: skip
        if segment.partition is not None:
            outside = {"StartOffset": 10**6, "EndOffset": 10**6 + 5}
            cases += [[row | outside], [row | {"Partition": 99}]]
        return self.random.choice(cases)

    def _write(self, segment: Segment, rows: list[Descriptor], *, is_exact: bool) -> None:
        """Write an index file, at times together with a descriptor of a segment that does not exist."""
        if not rows:
            return
        random = self.random
        if random.random() < 0.1:
            rows = [*rows, rows[-1] | {"Path": rows[-1]["Path"].replace("Raw/", "Raw/Topic=t/Key=none/Raw/")}]
        random.shuffle(rows)
        place = self.base / "Metadata/Topic=t" / folder("Key", segment.key)
        self._count += 1
        path = place / f"index_raw_{segment.partition or 0}_{self._count}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        written = [row | {"Path": random.choice(_BELOW).format(row["Path"], base=self.base)} for row in rows]
        table = _table(written, in_millis=random.random() < 0.2).rename_columns(_renamed(random))
        pq.write_table(table.replace_schema_metadata({"xskip.bounds": "exact"} if is_exact else None), path)
        self.files[path] = rows
        self._enter()

    def _enter(self) -> None:
        self.model.descriptors.clear()
        for row in [*self._settled, *(row for rows in self.files.values() for row in rows)]:
            self.model.descriptors.setdefault(row["Path"], []).append(row)


def _table(rows: list[Descriptor], *, in_millis: bool) -> pa.Table:
    """Return descriptors in the columns of the document; times of creation can be numbers."""
    columns: dict[str, pa.Array] = {}
    for name in _SNAKE:
        values: list[Any] = [row[name] for row in rows]
        if name in ("CreatedAt", "DeletedAt"):
            millis = pa.array([None if value is None else value * 1000 for value in values], pa.int64())
            columns[name] = millis if in_millis else millis.cast(pa.timestamp("ms", "UTC"))
        else:
            columns[name] = pa.array(values, pa.int64() if name in _INTEGERS else pa.string())
    return pa.table(columns)


def _renamed(random: Random) -> list[str]:
    form = random.choice(_FORMS)
    return [form.get(name, name) for name in _SNAKE]
