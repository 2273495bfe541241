"""A random lake that changes in steps, and reads after each step."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.fuzz.counts import Counts
from tests.fuzz.lakes.conditions import arguments, condition
from tests.fuzz.lakes.identity import COLUMNS, identity, identity_of_row
from tests.fuzz.lakes.index_files import Describer
from tests.fuzz.lakes.model import Message, Model, day_of
from tests.fuzz.lakes.reader import Reader
from tests.fuzz.lakes.segments import Writer, headers_text
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake import QuixLake, SinkOptions
from xskip.quixlake.manifests import ManifestLog
from xskip.quixlake.selection import Trust

__all__ = ["LakeRound", "Outcome"]

#: A limit in the future, so that a compaction takes segments of any age.
_NOW = timedelta(minutes=-1)
_SCHEMA = (
    "stream_key STRING, partition BIGINT, offset BIGINT, timestamp BIGINT, key BINARY, value BINARY, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
_INDEXES = (xskip.ValueList("key"), xskip.BloomFilter("value"), xskip.MinMax("value"))
_Test = Callable[[Message], bool]


@dataclass(slots=True)
class Outcome(Counts):
    """The counts of lakes, reads, messages and reads between two tokens, and the faults."""

    lakes: int = 0
    reads: int = 0
    messages: int = 0
    new_reads: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Read:
    """A read, and the messages that it has to return."""

    label: str
    frame: DataFrame
    expected: list[Message]


class LakeRound:
    """A random lake in an empty directory.

    Parameters
    ----------
    spark : SparkSession
        A session with the time zone UTC.
    base : Path
    seed : int
    """

    def __init__(self, spark: SparkSession, base: Path, seed: int) -> None:
        self.spark, self.base, self.seed = spark, base, seed
        self.random = Random(seed)
        is_ordered = self.random.random() < 0.5
        self.trusts: tuple[Trust, ...] = ("checked", "names") if is_ordered else ("checked",)
        self.model = Model()
        self.writer = Writer(self.random, base, is_ordered)
        self.describer = Describer(self.random, base, is_ordered, self.model)
        self.lake = QuixLake(spark, str(base))
        self.outcome = Outcome(lakes=1)
        self.reader = Reader(Random(f"{seed} reader"), base, self.model)
        self._done: list[str] = []
        self._before: _Read | None = None

    def run(self, steps: int) -> Outcome:
        """Change the lake in a number of random steps, and compare reads after each."""
        try:
            self._step(self._grow)
            for _ in range(steps):
                self._step(self.random.choice(self._steps))
        except Exception:  # noqa: BLE001 - an error is a fault
            self._fault(traceback.format_exc(limit=-6))
        return self.outcome

    @property
    def _steps(self) -> tuple[Callable[[], bool], ...]:
        return (
            self._grow, self._grow, self._mark, self._remove_index_file, self._rewrite, self._lose, self._write,
            self._compact, self._compact, self._clean, self._change_index, self._change_index, self._set_metadata,
        )  # fmt: skip

    def _step(self, change: Callable[[], bool]) -> None:
        """Change the lake, and compare reads, also of a DataFrame that was made before if its files still exist."""
        before = self._before
        self._done.append(change.__name__.strip("_"))
        stays = change()
        messages = self.model.messages()
        self._before = _Read("all", self.lake.read("t"), messages)
        reads = [self._before, *([before] if before is not None and stays else [])]
        if messages:
            reads += [self._filtered(messages) for _ in range(3)] + [self._selected(messages) for _ in range(2)]
        if (new := self.reader.read(self._lake())) is not None:
            self.outcome.new_reads += 1
            reads.append(_Read(new.label, new.frame, new.expected))
        self._compare(reads)
        while self.reader.faults:
            self._fault(self.reader.faults.pop())

    def _filtered(self, messages: list[Message]) -> _Read:
        found, trust = condition(self.random, messages), self.random.choice(self.trusts)
        frame = self._lake().read("t", trust=trust).filter(found.sql)
        return _Read(f"trust={trust} WHERE {found.sql}", frame, [m for m in messages if found.selects(m)])

    def _selected(self, messages: list[Message]) -> _Read:
        random, trust = self.random, self.random.choice(self.trusts)
        filters, test = arguments(random, messages)
        if random.random() < 0.2:
            filters["metadata"], sites = {"site": "Oslo"}, self.model.sites
            messages = [m for m in messages if sites.get(m["stream_key"]) == "Oslo"]
        frame, expected = self._lake().read("t", trust=trust, **filters), [m for m in messages if test(m)]
        label = f"trust={trust} {filters}"
        if random.random() < 0.4 and messages:
            found = condition(random, messages)
            frame, expected = frame.filter(found.sql), [m for m in expected if found.selects(m)]
            label += f" WHERE {found.sql}"
        return _Read(label, frame, expected)

    def _lake(self) -> QuixLake:
        """Return the lake, at times with nothing in memory."""
        return self.lake if self.random.random() < 0.7 else QuixLake(self.spark, str(self.base))

    def _compare(self, reads: list[_Read]) -> None:
        """Run all reads in one job."""
        frames = [_numbered(read.frame, n) for n, read in enumerate(reads)]
        found: dict[int, Counter[Any]] = {n: Counter() for n in range(len(reads))}
        for row in reduce(DataFrame.unionAll, frames).collect():
            found[row["n"]][_shown(row)] += 1
        for n, read in enumerate(reads):
            expected = Counter(map(identity, read.expected))
            self.outcome.messages += len(read.expected)
            if found[n] != expected:
                missing, more = list((expected - found[n]).elements()), list((found[n] - expected).elements())
                self._fault(f"{read.label}\n  missing {missing[:3]}\n  additional {more[:3]}")
        self.outcome.reads += len(reads)

    def _fault(self, text: str) -> None:
        self.outcome.faults.append(f"seed {self.seed}, after {' '.join(self._done)}: {text}")

    def _grow(self) -> bool:
        for _ in range(self.random.randint(1, 6)):
            segment = self.writer.segment()
            self.model.segments[segment.path] = segment
            self.describer.describe(segment)
        if self.random.random() < 0.3:
            self._litter()
        return True

    def _litter(self) -> None:
        """Write files that are no segments and no index files, and a segment of another topic."""
        (other,) = self.random.sample(sorted(self.model.segments), 1)
        path, own = self.base / other, (self.base / other).read_bytes()
        for name, data in ((".x.avro", own), ("_x.avro", own), ("empty.avro", b""), ("x.txt", own)):
            path.with_name(name).write_bytes(data)
        elsewhere = self.base / other.replace("Topic=t", "Topic=t2")
        elsewhere.parent.mkdir(parents=True, exist_ok=True)
        elsewhere.write_bytes(own)

    def _mark(self) -> bool:
        for path in self._some(path for path, segment in self.model.segments.items() if segment.has_partitions):
            self.describer.mark(self.model.segments[path], is_deleted=self.random.random() < 0.6)
        return True

    def _remove_index_file(self) -> bool:
        self.describer.remove_file()
        return True

    def _rewrite(self) -> bool:
        """Replace the content of segments whose descriptors tell the size, and so that their content is another."""
        segments = self.model.segments
        sizes = {path: {row["FileSizeBytes"] for row in self.model.descriptors.get(path, [])} for path in segments}
        unnamed = (p for p, s in segments.items() if s.partition is None and s.has_partitions and None not in sizes[p])
        for path in self._some(unnamed):
            segments[path] = self.writer.rewritten(segments[path], sizes[path])
        return False

    def _lose(self) -> bool:
        """Remove a segment, whose descriptors stay."""
        for path in self._some(self.model.segments):
            (self.base / path).unlink()
            del self.model.segments[path]
        return False

    def _write(self) -> bool:
        """Write a batch by the sink."""
        rows: list[Message] = []
        for _ in range(self.random.randint(1, 3)):
            stream, found = self.writer.records()
            stream.offset += 50  # a segment with the same messages as another one would not be needed
            values = (None, b"y", b"x" * 40)
            rows += [
                m
                | {
                    "stream_key": stream.key,
                    "headers": [],
                    "offset": m["offset"] + 50,
                    "value": self.random.choice(values),
                }
                for m in found
            ]
        columns = [part.split()[0] for part in _SCHEMA.partition(", headers")[0].split(", ")] + ["headers"]
        df = self.spark.createDataFrame([tuple(row[c] for c in columns) for row in rows], _SCHEMA)
        self.lake.write(df, "t", options=SinkOptions(max_rows=self.random.choice((2, 100))))
        batch = {"headers": headers_text([])}
        self.model.settled += [
            m | batch | {"date": day_of(m["timestamp"]), "origin": (f"batch {len(self._done)}", 0, place)}
            for place, m in enumerate(rows)
        ]
        return True

    def _compact(self) -> bool:
        options = SinkOptions(max_rows=self.random.choice((3, 1000)), max_millis=self.random.choice((1000, 86_400_000)))
        self.lake.compact("t", older_than=_NOW, options=options)
        log = ManifestLog(LocalStorage(), f"{self.base}/Metadata/Topic=t")
        for name in log.recorded().compactions:
            manifest = log.read(name)
            assert manifest is not None
            self.model.settle(manifest.replaced.to_pylist())
        self.describer.settle()
        return True

    def _clean(self) -> bool:
        self.lake.clean("t", older_than=_NOW)
        self.reader.clean()
        self.describer.settle()
        return False

    def _change_index(self) -> bool:
        """Create, refresh, validate or drop the index of the topic."""
        index = self.lake.index("t", trust=self.random.choice((*self.trusts, "data")))
        if not index.exists():
            index.create(self.random.sample(_INDEXES, self.random.randint(0, 2)), progress=False)
        elif self.random.random() < 0.6:
            index.refresh(progress=False)
        elif self.random.random() < 0.5:
            self.lake.validate("t")
        else:
            index.drop()
        return True

    def _set_metadata(self) -> bool:
        stream, value = self.random.choice(self.writer.streams), self.random.choice(("Oslo", "Rome"))
        self.lake.set_metadata("t", stream.key, {"site": value})
        self.model.sites[stream.key] = value
        return True

    def _some(self, paths: Iterable[str]) -> list[str]:
        found = sorted(paths)
        return self.random.sample(found, min(len(found), self.random.randint(1, 3)))


def _numbered(frame: DataFrame, number: int) -> DataFrame:
    """Return the columns that are compared; the time has to be the timestamp."""
    millis = F.expr("unix_micros(time) <=> timestamp * 1000").alias("is_timed")
    return frame.select(F.lit(number).alias("n"), *COLUMNS, (F.col("topic") == "t").alias("is_own"), millis)


def _shown(row: Row) -> tuple[Any, ...]:
    assert row["is_own"]
    assert row["is_timed"]
    return identity_of_row(row.asDict())
