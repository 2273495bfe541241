"""Random segments: streams with gaps, overlaps, late messages and equal timestamps, in all forms of records."""

from __future__ import annotations

import datetime as dt
import gzip
import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

from tests.fuzz.lakes.model import DAY, Message, Segment, day_of
from tests.quixlake.lakes import START
from tests.quixlake.written import FIVE_FIELDS, FORMER, MESSAGE, container
from xskip.quixlake.names import SegmentName, folder

__all__ = ["FORMER_FOLDERS", "KEYS", "Writer", "claims_of", "headers_text"]

KEYS = (
    "a",
    "b",
    "a/b",
    "10",
    "",
    None,
    "é%2F x",
    "2024-01-01",
    "a/_c",
    "K=1",
    "a'b",
    "πλ/+",
    "__HIVE_DEFAULT_PARTITION__",
)
_PERCENT_ENCODED = ("é%2F x", "πλ/+", "a/b")
_RAW = ("a", "b", "a/b", "10", "2024-01-01", "a/_c")
#: Folders of segments whose stream keys descriptors give.
FORMER_FOLDERS = ("former 1", "former 2")
#: Moments from which streams start: a day's first one, one shortly before midnight, one before 1970.
_STARTS = (START, START + DAY - 3000, START - 2 * DAY + 500, -2500)
_CODECS = ("null", "snappy", "deflate", "zstandard")
_VALUES = (b"", b"x", b"value", "text é".encode())
_HEADERS: tuple[list[dict[str, Any]], ...] = ([], [{"key": "h", "value": "t"}], [{"key": "h", "value": b"\x00\xff"}])


@dataclass(slots=True)
class _Stream:
    """The position of a stream of messages: one stream key and partition."""

    key: str | None
    partition: int
    offset: int
    time: int


@dataclass(slots=True)
class Writer:
    """A program that writes segments of random streams.

    Attributes
    ----------
    random : Random
    base : Path
    is_ordered : bool
        Whether all claims about timestamps are true.
    streams : list of _Stream
    """

    random: Random
    base: Path
    is_ordered: bool
    streams: list[_Stream] = field(default_factory=list)

    def __post_init__(self) -> None:
        random, shared = self.random, self.random.random() < 0.3
        for n, key in enumerate(random.sample(KEYS, random.randint(1, 4))):
            partition = 0 if shared else random.choice((n, n, 40 + n))
            self.streams.append(_Stream(key, partition, random.randrange(100), random.choice(_STARTS)))

    def records(self) -> tuple[_Stream, list[Message]]:
        """Return a stream and its next messages."""
        random, stream = self.random, self.random.choice(self.streams)
        if random.random() < 0.15:  # messages that a producer sends again
            stream.offset = max(0, stream.offset - random.randint(1, 4))
        rows = []
        for _ in range(random.randint(1, 6)):
            stream.offset += random.choice((1, 1, 1, 7))
            stream.time += random.choice((0, 0, 1, 500, 3000))
            late = random.choice((0, 0, 0, 5000, DAY))
            rows.append({
                "timestamp": stream.time - late, "offset": stream.offset, "partition": stream.partition,
                "key": random.choice((None, b"k", b"", b"\xff")), "headers": random.choice(_HEADERS),
                "value": random.choice(_VALUES),
            })  # fmt: skip
        return stream, rows

    def segment(self) -> Segment:
        """Write a segment."""
        random = self.random
        stream, rows = self.records()
        form = random.choices(("document", "five", "former"), (8, 1, 1))[0]
        codec = random.choice(_CODECS)
        data, messages = _encoded(random, form, rows, codec)
        claims = claims_of(random, rows, is_ordered=self.is_ordered)
        name = claims.text(codec) if random.random() < 0.8 else f"{claims.first}_{random.randrange(10**6)}.avro"
        date: dt.date | None = day_of(rows[0]["timestamp"])
        start = f"Start={date}/"
        if random.random() < 0.07:
            date, start = None, random.choice(("", "Start=yesterday/"))
        key = random.choice(FORMER_FOLDERS) if random.random() < 0.1 else stream.key
        place = f"Key={key}" if key in _RAW and random.random() < 0.2 else folder("Key", key)
        if key in _PERCENT_ENCODED and random.random() < 0.2:
            place = f"Key={quote(key, safe='')}"
        path = self.base / f"Raw/Topic=t/{place}/{start}{name}"
        while path.exists():
            path = path.with_name(f"{path.name}.{random.randrange(10**6)}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        partition = claims.partition if name.startswith("ts_") else None
        return Segment(str(path.relative_to(self.base)), len(data), key, date, partition, tuple(messages))

    def rewritten(self, segment: Segment, sizes: Collection[int]) -> Segment:
        """Replace the messages of a segment, whose name claims nothing, by others; the file gets none of some sizes."""
        path, codec = self.base / segment.path, self.random.choice(_CODECS)
        stat = path.stat()
        while True:
            data, messages = _encoded(self.random, "document", self.records()[1], codec)
            if len(data) not in (segment.size, *sizes):
                break
        path.write_bytes(data)
        os.utime(path, (stat.st_mtime + 7, stat.st_mtime + 7))
        return replace(segment, size=len(data), messages=tuple(messages))


def claims_of(random: Random, rows: list[Message], *, is_ordered: bool) -> SegmentName:
    """Return claims about messages: bounds, wider bounds, or timestamps that bound nothing."""
    times, offsets = [row["timestamp"] for row in rows], [row["offset"] for row in rows]
    start, end = (min(times), max(times)) if is_ordered else (times[0], times[-1])
    if not is_ordered and random.random() < 0.2:
        start, end = random.choice(((0, 0), (start + 10_000, end), (end, start)))
    first, last = min(offsets), max(offsets)
    if random.random() < 0.1:
        first, last, start = first - 3, last + 5, start - 1 if is_ordered else start
    return SegmentName(start, end, rows[0].get("partition", 0), first, last)


def _encoded(random: Random, form: str, rows: list[Message], codec: str) -> tuple[bytes, list[Message]]:
    """Return a container with messages in a form of records, and the messages as a read returns them."""
    expected = [row | {"headers": headers_text(row["headers"])} for row in rows]
    match form:
        case "document":
            data = container(MESSAGE, rows, codec)
        case "five":
            data = container(FIVE_FIELDS, [{k: v for k, v in row.items() if k != "partition"} for row in rows], codec)
            expected = [{k: v for k, v in row.items() if k != "partition"} for row in expected]
        case _:
            records = [_former(random, row) for row in rows]
            gap = records[0] | {"Gap": True, "Offset": 10**9, "TimestampMs": 0}
            data = container(FORMER, [*records, gap] if random.random() < 0.5 else records, codec)
            pairs = zip(expected, records, strict=True)
            expected = [
                row | {"key": None, "headers": headers_text([{"key": k, "value": v} for k, v in r["Headers"].items()])}
                for row, r in pairs
            ]
    return (gzip.compress(data) if random.random() < 0.1 else data), expected


def _former(random: Random, row: Message) -> dict[str, Any]:
    payload = row["value"].decode() if random.random() < 0.3 else row["value"]
    return {
        "Payload": payload, "TimestampMs": row["timestamp"], "Partition": row["partition"],
        "Offset": row["offset"], "Headers": random.choice(({}, {"h": b"\x01"})), "Gap": False, "GapReason": None,
    }  # fmt: skip


def headers_text(headers: list[dict[str, Any]]) -> str:
    """Return headers as a text that tells the branches of their values."""
    return repr([(header["key"], header["value"]) for header in headers])
