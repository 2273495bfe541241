"""Tests of lakes that are read without Spark: the rows, types and errors are those of reads in Spark."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fastavro.utils import generate_many
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip.quixlake
from tests.effort import cases, seeds
from tests.fuzz.lakes.conditions import arguments
from tests.fuzz.lakes.run import LakeRound
from tests.quixlake.lakes import START, WrittenLake, hourly, records, shuffled
from tests.quixlake.written import FIVE_FIELDS, FORMER, HEADER, MESSAGE, message, write_segment
from xskip.errors import ArgumentError, DatasetError, PredicateError, StorageError
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake import QuixLake

ROOT = Path(__file__).parents[2]
_FOLDER = "Raw/Topic=t/Key=k/Start=2025-08-21"


def rows_of_arrow(table: pa.Table) -> Counter[str]:
    return Counter(map(_text, table.to_pylist()))


def _text(row: dict[str, Any]) -> str:
    time = row["time"]
    if time is not None and time.tzinfo is not None:  # Spark's has none, in the time zone of the session, UTC
        time = time.astimezone(dt.timezone.utc).replace(tzinfo=None)
    values = row | {"time": time}
    plain = {name: bytes(each) if isinstance(each, bytearray) else each for name, each in values.items()}
    headers: list[Any] = row["headers"] or []
    for header in headers:
        value = header["value"]
        if value is not None and value["bytes"] is not None:
            value["bytes"] = bytes(value["bytes"])
    return repr(plain)


def assert_same(spark: SparkSession, base: Path, *reads: dict[str, Any], **filters: Any) -> int:
    """Assert that both ways read the same messages by each of some reads, or by one, and return how many."""
    chosen = reads or (filters,)
    lake, opened = QuixLake(spark, base), xskip.quixlake.open(base)
    frames = [lake.read("t", **each).withColumn("read", F.lit(number)) for number, each in enumerate(chosen)]
    of_spark: list[Counter[str]] = [Counter() for _ in chosen]
    for row in reduce(DataFrame.unionAll, frames).collect():
        values = row.asDict(recursive=True)
        of_spark[values.pop("read")][_text(values)] += 1
    of_arrow = [rows_of_arrow(opened.to_arrow("t", **each)) for each in chosen]
    for each, arrow, of_read in zip(chosen, of_arrow, of_spark, strict=True):
        assert arrow == of_read, each
    return sum(map(Counter.total, of_arrow))


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("seed", seeds(range(3)))
def test_random_lakes_have_the_rows_of_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """[QLK-AR-1] [QLK-AR-2] With compacted and deleted segments, stale descriptors and all forms of records."""
    lake = LakeRound(spark, tmp_path, seed)
    random, compared = Random(seed), 0
    for _ in range(3):
        assert not lake.run(cases(2)).faults
        messages = lake.model.messages()
        choices: list[dict[str, Any]] = [{}, {"distinct_offsets": True}]
        if messages:
            choices += [arguments(random, messages)[0] | {"trust": random.choice(lake.trusts)} for _ in range(3)]
            choices += [arguments(random, messages)[0] | {"distinct_offsets": True}]
        choices += [{"metadata": {"site": "Oslo"}}]
        compared += assert_same(spark, tmp_path, *choices)
    assert compared


def test_the_types_are_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-AR-3] The time zone of ``time`` is that of the session in Spark."""
    hourly(tmp_path)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    frame = QuixLake(spark, tmp_path).read("t")
    lake = xskip.quixlake.open(tmp_path)
    batches: Any = frame._collect_as_arrow()  # type: ignore[operator] # toArrow of Spark 3.5
    assert lake.to_arrow("t").schema.equals(batches[0].schema)
    assert lake.to_arrow("t", offsets=(-5, 0)).schema.equals(batches[0].schema)
    assert lake.to_arrow("t", columns=["offset", "key"]).schema == pa.schema([("offset", "int64"), ("key", "binary")])


def opened_segments(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list that gets the name of each segment that is opened."""
    found: list[str] = []
    original = LocalStorage.read

    def noted(storage: LocalStorage, path: str) -> bytes:
        found.extend([path.rpartition("/")[2]] if ".avro" in path else [])
        return original(storage, path)

    monkeypatch.setattr(LocalStorage, "read", noted)
    return found


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({}, 12),
        ({"keys": "a"}, 6),
        ({"partitions": 1, "offsets": (20, 31)}, 2),
        ({"start": START + 5 * 3_600_000}, 2),
        ({"start": START + 5 * 3_600_000, "distinct_offsets": True}, 2),
        ({"filter": (pc.field("offset") > 43) & (pc.field("partition") == 0)}, 1),
        ({"filter": pc.field("stream_key") == "b", "offsets": (0, 10)}, 1),
        ({"filter": pc.field("timestamp") < START + 3_600_000}, 2),
        ({"filter": pc.field("time") < pa.scalar(dt.datetime(2025, 8, 21, 1, tzinfo=dt.timezone.utc))}, 2),
        ({"filter": pc.field("date") == dt.date(2025, 8, 22)}, 0),
        ({"filter": pc.field("value") == b"value 31"}, 12),
    ],
)
def test_only_segments_that_can_match_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filters: dict[str, Any], count: int
) -> None:
    """[QLK-AR-2]"""
    hourly(tmp_path, exact=True)
    lake = xskip.quixlake.open(tmp_path)
    whole = lake.to_arrow("t")
    opened = opened_segments(monkeypatch)
    found = lake.to_arrow("t", **filters)
    assert len(opened) == count
    if "filter" in filters and "offsets" not in filters:
        assert found.equals(whole.filter(filters["filter"]))
    assert len(found) > 0 or count == 0


def test_timestamps_count_only_with_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QLK-AR-2] [QLK-TR-2]"""
    hourly(tmp_path)
    lake = xskip.quixlake.open(tmp_path)
    opened = opened_segments(monkeypatch)
    last: Any = {"start": START + 5 * 3_600_000}
    assert len(lake.to_arrow("t", **last)) == 8
    assert len(opened) == 12
    opened.clear()
    assert len(lake.to_arrow("t", filter=pc.field("timestamp") >= last["start"], trust="names")) == 8
    assert len(opened) == 2


def test_copies_without_a_selected_offset_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QLK-RD-5] [QLK-RD-6]"""
    lake = WrittenLake(tmp_path)
    rows = [[row | {"value": b"%d" % n} for row in records(5, n * 4)] for n in shuffled(range(6), 1)]
    lake.describe([lake.segment("k", own) for own in rows], exact=True)
    opened = opened_segments(monkeypatch)
    opened_lake = xskip.quixlake.open(tmp_path)
    found = opened_lake.to_arrow("t", offsets=(8, 9), distinct_offsets=True)
    assert found["value"].to_pylist() == [b"1"]
    assert len(opened) == 2
    assert len(opened_lake.to_arrow("t", distinct_offsets=True)) == 25


def test_the_order_of_copies_is_that_of_uris(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-5] Escapes of a URI come before letters, and characters beyond ASCII are not escaped."""
    for n, name in enumerate(shuffled(["a b", "a!", "a#", "aé", "aZ", "a%25", "a\u00a0", "a[", "a~", "a€", "a^"], 3)):
        path = tmp_path / _FOLDER / f"{name}.avro"
        write_segment(path, [row | {"value": name.encode()} for row in records(n + 1)])
    assert assert_same(spark, tmp_path, distinct_offsets=True) == 11
    assert assert_same(spark, tmp_path) == 66


class TestRecords:
    """[QLK-RE-1] [QLK-RE-3] [QLK-RE-4] [QLK-RE-5] [QLK-AR-1]"""

    def test_forms(self, spark: SparkSession, tmp_path: Path) -> None:
        folder = tmp_path / _FOLDER
        headers = [{"key": "a", "value": "x"}, {"key": "b", "value": b"\xff"}, {"key": "é", "value": ""}]
        extremes = [message(n, timestamp=time) for n, time in enumerate((2**62, -(2**62), 0, -1))]
        write_segment(folder / "ts_1_2_part_7_off_0_9.avro", [message(1, headers=headers)])
        write_segment(folder / "five.avro", [{**message(5)}], FIVE_FIELDS)
        write_segment(folder / "ts_1_2_part_3_off_5_5.avro", [{**message(5)}], FIVE_FIELDS, "deflate")
        write_segment(folder / "extremes.avro", extremes, MESSAGE, "zstandard", sync_interval=1)
        write_segment(folder / "none.avro", [])
        former: dict[str, Any] = {
            "Payload": None,
            "TimestampMs": 5,
            "Partition": 1,
            "Offset": 7,
            "Headers": {},
            "GapReason": None,
        }
        written = [
            former | {"Payload": value, "Gap": gap, "Headers": {"h": b"1", "é": b""}}
            for value in (None, b"\xfe", "é")
            for gap in (False, True)
        ]
        write_segment(folder / "former.avro", written, FORMER)
        assert assert_same(spark, tmp_path) == 10
        assert assert_same(spark, tmp_path, partitions=[3, 7]) == 1

    @pytest.mark.parametrize(
        "fields",
        [
            [("OFFSET", "int"), ("offset", ["null", "long"])],
            [("offset", {"type": "long", "logicalType": "timestamp-millis"}), ("Value", "string")],
            [("timestamp", {"type": "int", "logicalType": "date"}), ("timestampms", "long")],
            [("offset", "long"), ("value", {"type": "bytes", "logicalType": "decimal", "precision": 9})],
            [("offset", "null"), ("key", {"type": "string", "logicalType": "uuid"}), ("Gap", "int")],
            [("offset", "long"), ("headers", ["null", {"type": "array", "items": HEADER}]), ("more", "Header")],
            [("offset", "long"), ("headers", ["null", {"type": "map", "values": ["null", "string"]}])],
            [("offset", "long"), ("other", {"type": "enum", "name": "E", "symbols": ["A"], "default": "A"})],
            [
                ("offset", "long"),
                ("m", {"type": "map", "values": {"type": "map", "values": "int"}}),
                ("gap", "boolean"),
            ],
        ],
        ids=lambda fields: "-".join(name for name, _ in fields),
    )
    def test_fields(self, spark: SparkSession, tmp_path: Path, fields: Sequence[tuple[str, Any]]) -> None:
        schema = {
            "type": "record", "name": "M", "namespace": "n",
            "fields": [{"name": name, "type": kind} for name, kind in fields],
        }  # fmt: skip
        # fastavro would convert values of logical types
        plain = json.loads(json.dumps(schema).replace("logicalType", "_ogicalType"))
        rows = [*generate_many(fastavro.parse_schema(plain), 20)]
        path = write_segment(tmp_path / _FOLDER / "x.avro", rows, plain, "null")
        path.write_bytes(path.read_bytes().replace(b"_ogicalType", b"logicalType"))
        assert assert_same(spark, tmp_path) == sum(row.get("gap") is not True for row in rows)


def damaged(data: bytes, way: str) -> bytes:
    match way:
        case "cut":
            return data[:-20]
        case "cut number":
            return data + b"\x80"
        case "sync":
            return data[:-1] + bytes([data[-1] ^ 1])
        case "no Avro":
            return b"PAR1" + data
        case _:
            return b"\x1f\x8b" + data


@pytest.mark.parametrize("way", ["cut", "cut number", "sync", "no Avro", "gzip"])
def test_a_damaged_segment_is_an_error(tmp_path: Path, way: str) -> None:
    """[QLK-RE-6] [QLK-AR-4]"""
    path = write_segment(tmp_path / _FOLDER / "x.avro", records(50), codec="null")
    whole = path.read_bytes()
    lake = xskip.quixlake.open(tmp_path)
    assert len(lake.to_arrow("t")) == 50
    path.write_bytes(damaged(whole, way))
    with pytest.raises(DatasetError, match=r"a segment cannot be read .*x\.avro"):
        lake.to_arrow("t")


@pytest.mark.parametrize("fields", [[("x", "long")], [("offset", "string")], [("timestamp", "boolean")]])
def test_what_is_no_segment_is_an_error(spark: SparkSession, tmp_path: Path, fields: list[tuple[str, str]]) -> None:
    """[QLK-RE-5]"""
    schema = {"type": "record", "name": "M", "fields": [{"name": name, "type": kind} for name, kind in fields]}
    ((name, kind),) = fields
    values: dict[str, Any] = {"long": 1, "string": "a", "boolean": True}
    write_segment(tmp_path / _FOLDER / "x.avro", [{name: values[kind]}], schema)
    with pytest.raises(DatasetError, match="a segment cannot be read"):
        xskip.quixlake.open(tmp_path).to_arrow("t")
    with pytest.raises(Exception, match="cannot read the file"):
        QuixLake(spark, tmp_path).read("t").collect()


def test_batches_come_segment_by_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QLK-AR-2] A segment is not opened long before its batch."""
    hourly(tmp_path, hours=20)
    lake = xskip.quixlake.open(tmp_path)
    opened = opened_segments(monkeypatch)
    reader = lake.to_batches("t", columns=["offset"])
    assert opened == []
    assert reader.read_next_batch().to_pydict() == {"offset": [0, 1, 2, 3]}
    assert len(opened) < 20
    assert sum(len(batch) for batch in reader) == 40 * 4 - 4


def test_file_systems(tmp_path: Path) -> None:
    """[QLK-AR-5] [QLK-DI-5]"""
    base = tmp_path / "a lake%"
    written = hourly(base)
    written.set("a", "site", "Oslo")
    (tmp_path / "link").symlink_to(base)
    local = xskip.quixlake.open(base)
    lakes = [
        local, xskip.quixlake.open(str(tmp_path / "link")), xskip.quixlake.open(f"file://{base}"),
        xskip.quixlake.open(base, filesystem=LocalFileSystem()),
        xskip.quixlake.open("s3://a lake%", filesystem=SubTreeFileSystem(str(tmp_path), LocalFileSystem())),
    ]  # fmt: skip
    for lake in lakes:
        assert lake.to_arrow("t").equals(local.to_arrow("t"))
        keys = lake.to_arrow("t", metadata={"site": "Oslo"}, columns=["stream_key"])["stream_key"]
        assert keys.to_pylist() == ["a"] * 24
        assert str(lake.topics()) == str(local.topics())
        assert str(lake.topics(listed=True)) == str(local.topics(listed=True))
        assert [list(lake.keys("t")), list(lake.metadata("t"))] == [list(local.keys("t")), list(local.metadata("t"))]
        assert list(lake.segments("t", keys="b")) == list(local.segments("t", keys="b"))
        assert lake.time_range("t") == local.time_range("t")
        assert list(lake.find("OSLO")) == list(local.find("OSLO"))
    assert repr(local) == f"OpenedLake({str(base)!r})"


@pytest.mark.usefixtures("interpreted")
def test_what_spark_says_of_the_lake_is_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DI-1] [QLK-DI-2] [QLK-DI-3]"""
    lake = LakeRound(spark, tmp_path, 11)
    assert not lake.run(3).faults
    opened, quix = xskip.quixlake.open(tmp_path), QuixLake(spark, tmp_path)
    for listed in (False, True):
        for name in ("keys", "partitions", "segments"):
            assert list(getattr(opened, name)("t", listed=listed)) == list(getattr(quix, name)("t", listed=listed))
        assert list(opened.topics(listed=listed)) == list(quix.topics(listed=listed))


def test_errors(tmp_path: Path) -> None:
    hourly(tmp_path)
    lake = xskip.quixlake.open(tmp_path)
    with pytest.raises(DatasetError, match="no such topic"):
        lake.to_arrow("u")
    with pytest.raises(ArgumentError, match="topic is not a text"):
        lake.to_arrow(5)  # type: ignore[arg-type]
    with pytest.raises(PredicateError, match=r"no such column .*found: ofset.*did you mean offset"):
        lake.to_arrow("t", columns=["ofset"])
    with pytest.raises(PredicateError, match="columns is not a list"):
        lake.to_arrow("t", columns="offset")
    for odd in (pc.field("x") == 1, "offset > 5", pc.field("key") > 5):
        with pytest.raises(PredicateError, match="the filter does not fit"):
            lake.to_arrow("t", filter=odd)
    with pytest.raises(PredicateError, match="no such filter"):
        lake.to_arrow("t", value="json")  # type: ignore[call-arg]
    with pytest.raises(ArgumentError, match="filesystem has an invalid value"):
        xskip.quixlake.open(tmp_path, filesystem="s3")
    with pytest.raises(DatasetError, match="does not exist"):
        xskip.quixlake.open(tmp_path / "none").topics()
    with pytest.raises(StorageError, match="cannot open the file system"):
        xskip.quixlake.open("nowhere://bucket/x")
    reader = lake.to_batches("t")
    for path in (tmp_path / "Raw").rglob("*.avro*"):
        path.unlink()
    assert list(reader) == []


def test_spark_is_not_imported(tmp_path: Path) -> None:
    """[QLK-AR-5]"""
    hourly(tmp_path)
    code = (
        "import sys\n"
        "sys.modules['pyspark'] = sys.modules['py4j'] = None\n"
        "import xskip.quixlake\n"
        f"lake = xskip.quixlake.open({str(tmp_path)!r})\n"
        "print(len(lake.topics()), lake.to_arrow('t', keys='a', distinct_offsets=True).num_rows)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout == "1 24\n"


def test_a_filter_that_fails_for_a_message(tmp_path: Path) -> None:
    """[QLK-AR-2]: the error names the segment."""
    hourly(tmp_path)
    divided = pc.divide(pc.scalar(1), pc.field("offset") * 0) > 0
    with pytest.raises(PredicateError, match=r"the filter fails for a row .*_off_0_3\.avro.*; found: .*divide by zero"):
        xskip.quixlake.open(tmp_path).to_arrow("t", filter=divided)
