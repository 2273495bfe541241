"""The scenarios of a Quix Lake on S3, with the requests that each operation may send."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest

import xskip.quixlake
from tests.quixlake.lakes import hourly, identity, offsets
from tests.s3.bucket import CONDITIONAL_PUTS, HADOOP, Bucket, scenario
from tests.s3.reading_scenarios import files_of
from xskip import BloomFilter
from xskip.quixlake import QuixLake, store
from xskip.quixlake.results import LakeTable

#: The place of a lake in its bucket, and the stream keys of its partitions 0, 1 and 2.
PLACE = "a b/lake"
KEYS = ("a", "b c", "d/%é")
HOURS = 3
#: The least age of files that an operation may take, however S3 rounds times.
AT_ONCE = timedelta(seconds=-9)
#: The milliseconds after which the state of a file tells its content, see [QLK-DE-9]; S3 rounds down times.
UNSETTLED = 500
#: The hidden folders of indexes and manifests.
_INTERNAL = "/_xskip"


def soon_settled(function: Callable[[Bucket], None]) -> Callable[[Bucket], None]:
    """Return a scenario in which states of files tell their contents soon after a change."""

    @wraps(function)
    def settled(bucket: Bucket) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(store, "_UNSETTLED", UNSETTLED)
            function(bucket)

    return settled


def settle() -> None:
    """Wait until the states of all files tell their contents, and until a new file has another time."""
    time.sleep(1 + UNSETTLED / 1000)


class LakeBucket:
    """A bucket with a lake of a segment of four messages for each stream key and hour, and exact descriptors."""

    def __init__(self, bucket: Bucket) -> None:
        self.folder = folder = Path(tempfile.mkdtemp())
        self.server, self.name = bucket.server, bucket.name
        self.messages = hourly(folder, KEYS, HOURS, exact=True).messages
        self.server.put_files(self.name, folder, PLACE)
        self.lake = QuixLake(bucket.spark, f"s3a://{self.name}/{PLACE}")

    def requests(self, work: Callable[[], object]) -> list[str]:
        """Return the requests that a function sends, in the form of :func:`in_lake`."""
        with self.server.order():
            work()
            return [in_lake(each) for each in self.server.seen()]

    def read_segments(self, work: Callable[[], object]) -> list[str]:
        """Return the segments that a function reads, as ``partition:first offset``, each as often as it is read."""
        return sorted(place for place in map(segment, self.requests(work)) if place)

    def assert_same_messages(self) -> None:
        expected = sorted(map(identity, self.messages), key=str)
        assert sorted(map(identity, self.lake.read("t").collect()), key=str) == expected


def in_lake(request: str) -> str:
    """Return the method of a request and its place below the lake.

    ``LIST`` stands for a listing of one folder, and ``WALK`` for a listing of all that is below it. ``START``,
    ``PART``, ``COMPLETE`` and ``ABORT`` are requests of an upload, and ``UPLOADS`` is a listing of uploads.
    """
    method, _, rest = request.partition(" ")
    path, _, query = rest.partition("?")
    prefix = re.search(r"prefix=([^&]*)", query)
    if prefix is None:
        kinds = {
            ("POST", "uploads"): "START", ("PUT", "partNumber"): "PART", ("PUT", "uploadId"): "PART",
            ("POST", "uploadId"): "COMPLETE", ("DELETE", "uploadId"): "ABORT",
        }  # fmt: skip
        verb = kinds.get((method, query.partition("=")[0]), method)
        return f"{verb} {path.encode('latin-1').decode().partition(PLACE)[2]}"
    if query.startswith("uploads"):
        return f"UPLOADS {unquote_plus(prefix[1]).partition(PLACE)[2]}"
    return f"{'LIST' if 'delimiter=' in query else 'WALK'} {unquote_plus(prefix[1]).partition(PLACE)[2]}"


def segment(request: str) -> str | None:
    """Return the segment whose content a request gets, or None for other requests."""
    found = re.fullmatch(r"GET /Raw/.*/ts_[0-9]+_[0-9]+_part_(\d+)_off_(\d+)_\d+\.avro.*", request)
    return f"{found[1]}:{found[2]}" if found else None


def below_raw(requests: list[str]) -> list[str]:
    return [each for each in requests if " /Raw" in each and _INTERNAL not in each]


def rows(table: LakeTable, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in table]


@scenario
@soon_settled
def discovery_of_a_lake(bucket: Bucket) -> None:
    """Check that discovery lists the folders of keys, and nothing else below Raw."""
    own = LakeBucket(bucket)
    settle()
    lake, start, end = own.lake, "2025-08-21 01:00", "2025-08-21 02:00"
    found: dict[str, LakeTable] = {}
    first = own.requests(lambda: found.update(topics=lake.topics()))
    later = [
        own.requests(lambda: found.update(keys=lake.keys("t"))),
        own.requests(lambda: found.update(segments=lake.segments("t", start=start, end=end))),
        own.requests(lambda: lake.time_range("t")),
        own.requests(lambda: found.update(find=lake.find("D/", start=start, end=end))),
    ]
    assert rows(found["topics"], "topic", "keys", "segments", "messages") == [("t", 3, 9, 36)]
    assert rows(found["keys"], "stream_key", "segments", "first", "last") == [(key, 3, 0, 23) for key in KEYS]
    assert rows(found["segments"], "stream_key", "first") == [(key, 10) for key in KEYS]
    assert rows(found["find"], "stream_key", "segments", "messages") == [(KEYS[2], 1, 4)]
    for requests in (first, *later):
        assert below_raw(requests) == ["LIST /Raw/", "LIST /Raw/Topic=t/"], requests
    # each look for manifests that do not exist costs three requests
    assert len(first) <= 20, first
    assert max(map(len, later)) <= 12, later


@scenario
@soon_settled
def index_files_of_a_lake(bucket: Bucket) -> None:
    """Check that discovery gets each index file by a single request, and gets only changed ones again [QLK-DE-9]."""
    own = LakeBucket(bucket)
    (path,) = own.folder.glob("Metadata/Topic=t/Key=a/index_raw_*")
    folder, content = f"{PLACE}/Metadata/Topic=t/Key=a", path.read_bytes()
    for number in range(100, 120):  # the same descriptors once more
        own.server.put(own.name, f"{folder}/index_raw_0_{number}.parquet", content)
    settle()
    first, second = own.requests(lambda: own.lake.keys("t")), own.requests(lambda: own.lake.keys("t"))
    files = [key.partition(PLACE)[2] for key in own.server.keys(own.name, "/index_raw_")]
    assert len(files) == len(KEYS) + 20
    methods = ("GET",) if HADOOP >= CONDITIONAL_PUTS else ("GET", "HEAD")  # an older S3A looks at a file first
    assert sorted(index_requests(first)) == sorted(f"{each} {path}" for path in files for each in methods), first
    assert index_requests(second) == []
    assert sorted(each for each in first if each not in index_requests(first)) == sorted(second)
    assert len(second) <= 12, second

    place = f"s3a://{own.name}/{folder}/{path.name}"  # a writer that marks a segment as deleted writes its file anew
    bucket.storage.remove([place])
    assert bucket.storage.put_if_absent(place, content)
    third = own.requests(lambda: own.lake.keys("t"))
    changed = [f"{each} /Metadata/Topic=t/Key=a/{path.name}" for each in methods]
    assert sorted(index_requests(third)) == changed, third
    assert rows(own.lake.keys("t"), "stream_key", "segments") == [(key, 3) for key in KEYS]


def index_requests(requests: list[str]) -> list[str]:
    """Return the requests for index files, of whatever method."""
    return [each for each in requests if "/index_raw_" in each]


@scenario
def reads_of_a_lake(bucket: Bucket) -> None:
    """Check that reads get just the segments that can hold a message, by arguments and by filters."""
    own = LakeBucket(bucket)
    lake = own.lake
    own.assert_same_messages()
    frame = lake.read("t")
    for condition, expected in {
        "offset = 12": ["0:10", "1:10", "2:10"],
        "offset = 12 AND partition = 1": ["1:10"],
        "time >= '2025-08-21 02:10' AND stream_key = 'd/%é'": ["2:20"],
        "offset > 100": [],
    }.items():
        assert own.read_segments(frame.filter(condition).collect) == expected, condition
    selected = own.requests(lambda: lake.read("t", keys="b c", offsets=(20, None)).collect())
    assert [place for place in map(segment, selected) if place] == ["1:20"]
    assert [each for each in below_raw(selected) if each.startswith("WALK")] == ["WALK /Raw/Topic=t/Key=b c/"], selected
    assert len(selected) <= 40, selected


@scenario
def an_index_of_a_lake(bucket: Bucket) -> None:
    """Check that a build and a check open no segment, and that a refresh opens only what another index needs."""
    own = LakeBucket(bucket)
    index = own.lake.index("t")
    assert own.read_segments(lambda: index.create(progress=False)) == []
    checked = own.requests(lambda: own.lake.check("t"))
    assert [place for place in map(segment, checked) if place] == []
    assert len(checked) <= 30, checked
    assert len(own.lake.check("t")) == 0
    frame = own.lake.read("t").filter("offset BETWEEN 3 AND 10")
    assert own.read_segments(lambda: offsets(frame)) == sorted(f"{p}:{o}" for p in range(3) for o in (0, 10))
    assert own.read_segments(lambda: index.refresh(progress=False)) == []
    index.drop()
    everything = sorted(f"{p}:{o}" for p in range(3) for o in (0, 10, 20))
    assert own.read_segments(lambda: index.create([BloomFilter("value")], progress=False)) == everything
    value = own.lake.read("t").filter("value = X'76616c7565203131'")
    assert own.read_segments(lambda: offsets(value)) == ["0:10", "1:10", "2:10"]


@scenario
def custom_metadata_of_a_lake(bucket: Bucket) -> None:
    """Check that values are found after they are set, and not after they are deleted, without a look below Raw."""
    own = LakeBucket(bucket)
    lake = own.lake
    written = own.requests(lambda: lake.set_metadata("t", KEYS[2], {"site": "Ås", "line": "7"}))
    assert sum(each.startswith("PUT") for each in written) == 1, written
    assert len(written) <= 8, written
    lake.set_metadata("t", KEYS[0], {"site": "Ås"})
    found = own.requests(lambda: lake.find(metadata={"site": "Ås", "line": "7"}))
    assert below_raw(found) == ["LIST /Raw/", "LIST /Raw/Topic=t/"], found
    assert rows(lake.find(metadata={"site": "Ås"}), "stream_key") == [(KEYS[0],), (KEYS[2],)]
    assert rows(lake.find("ÅS", metadata={"line": ["7", "8"]}), "stream_key") == [(KEYS[2],)]
    read = own.requests(lambda: lake.read("t", metadata={"line": "7"}, offsets=(0, 3)).collect())
    assert [place for place in map(segment, read) if place] == ["2:0"]
    assert read.count("LIST /Raw/") == read.count("LIST /Metadata/") == 1, read
    assert read.count("WALK /Metadata/Topic=t/") == 1, read
    lake.delete_metadata("t", KEYS[2], ["site"])
    assert rows(lake.find(metadata={"site": "Ås"}), "stream_key") == [(KEYS[0],)]
    assert rows(lake.metadata("t", KEYS[2]), "name", "value") == [("line", "7")]


@scenario
def a_compaction_of_a_lake(bucket: Bucket) -> None:
    """Check that a compaction reads each segment once, that reads stay the same, and that clean removes the rest."""
    own = LakeBucket(bucket)
    lake = own.lake
    lake.index("t").create(progress=False)
    results: list[Any] = []
    compacted = own.requests(lambda: results.append(lake.compact("t", older_than=AT_ONCE)))
    (result,) = results
    assert (result.replaced, result.added, result.messages) == (9, 3, 36)
    read = [place for place in map(segment, compacted) if place]
    assert sorted(read) == sorted(f"{p}:{o}" for p in range(3) for o in (0, 10, 20))
    assert rows(lake.keys("t"), "stream_key", "segments", "messages") == [(key, 1, 12) for key in KEYS]
    own.assert_same_messages()
    assert len(own.server.keys(own.name, "/Raw/Topic=t/Key=")) == 12
    assert lake.compact("t", older_than=AT_ONCE).replaced == 0
    assert lake.clean("t", older_than=AT_ONCE) == 9
    assert len(own.server.keys(own.name, "/Raw/Topic=t/Key=")) == 3
    own.assert_same_messages()
    assert own.read_segments(lambda: lake.read("t").filter("partition = 2 AND offset = 5").collect()) == ["2:0"]
    assert rows(lake.check("t"), "case", "path") == []


@scenario
def a_replay_of_a_lake(bucket: Bucket) -> None:
    """Check that a replay sends the messages of a selection in order, and gets no other segments."""
    own = LakeBucket(bucket)
    sent: list[Any] = []
    replay = own.lake.replay("t", keys=(KEYS[0], KEYS[2]), offsets=(10, None), end="2025-08-21 02:10")
    read = own.read_segments(lambda: replay.to(sent.append))
    expected = [(offset, partition) for offset in (10, 11, 12, 13, 20) for partition in (0, 2)]
    assert [(message.offset, message.partition) for message in sent] == expected
    assert {message.value for message in sent} == {f"value {offset}".encode() for offset, _ in expected}
    assert set(read) == {"0:10", "0:20", "2:10", "2:20"}
    # once for the bounds of streams, and once for the messages
    assert len(read) <= 8, read


@scenario
def a_lake_opened_without_spark(bucket: Bucket) -> None:
    """Check that an opened lake has the messages of Spark, and gets only the segments that a selection leaves."""
    own = LakeBucket(bucket)
    filesystem = files_of(bucket)
    opened = xskip.quixlake.open(f"s3://{bucket.name}/{PLACE}", filesystem=filesystem)
    assert sorted(map(identity, opened.to_arrow("t").to_pylist()), key=str) == sorted(
        map(identity, own.messages), key=str
    )
    assert list(opened.topics()) == list(own.lake.topics())
    assert list(opened.segments("t", listed=True)) == list(own.lake.segments("t", listed=True))
    read = own.read_segments(lambda: opened.to_arrow("t", keys=KEYS[2], offsets=(10, 14)))
    assert read == ["2:10"]
    read = own.read_segments(lambda: opened.to_arrow("t", start="2025-08-21 02:00"))
    assert read == ["0:20", "1:20", "2:20"]
