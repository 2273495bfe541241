"""Tests of the claims that count for segments."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

from xskip.metadata.data_files import DataFiles
from xskip.quixlake.descriptors import DOCUMENT, IndexFiles, decisive
from xskip.quixlake.names import split_names
from xskip.quixlake.segments import SEGMENT, described_segments, listed_segments

FOLDER = "Raw/Topic=t/Key=k/Start=2025-08-21"
BELOW = f"{FOLDER}/ts_10_20_part_0_off_3_9.avro"
NAMED = {
    "path": BELOW, "size": 100, "modified": 7, "topic": "t", "stream_key": "k", "date": datetime.date(2025, 8, 21),
    "partition": 0, "first": 3, "last": 9, "start": 10, "end": 20, "is_exact": False, "rows": None,
    "is_deleted": False, "descriptors": 0,
}  # fmt: skip
DESCRIPTOR: dict[str, Any] = {
    "Path": BELOW, "Topic": "t", "Key": "k", "Partition": 0, "TimestampStart": 11, "TimestampEnd": 19,
    "StartOffset": 4, "EndOffset": 8, "RecordCount": 5, "FileSizeBytes": 100,
}  # fmt: skip
DESCRIBED = NAMED | {"first": 4, "last": 8, "start": 11, "end": 19, "rows": 5, "descriptors": 1}


def descriptors(*rows: dict[str, Any], exact: bool = False) -> pa.Table:
    table = pa.Table.from_pylist([DESCRIPTOR | row for row in rows], DOCUMENT)
    table = table.replace_schema_metadata({"xskip.bounds": "exact"} if exact else None)
    return decisive(IndexFiles.of({"/i.parquet": table}).descriptors)


def listed(*paths: str, of: pa.Table | None = None, size: int | None = 100) -> list[dict[str, Any]]:
    files = DataFiles(pa.array(paths), pa.array([size] * len(paths), pa.int64()), pa.array([7] * len(paths)))
    table = listed_segments(files, descriptors() if of is None else of)
    assert table.schema.equals(SEGMENT)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def test_a_segment_without_a_descriptor_has_the_claims_of_its_name() -> None:
    """[QLK-DE-6] [QLK-TR-1] [QLK-IX-3] A partition that only the descriptor gives is a part of the segment's state."""
    assert listed(BELOW) == [NAMED]
    odd = f"{FOLDER}/x.avro"
    places = ("partition", "first", "last", "start", "end")
    assert listed(odd) == [NAMED | {"path": odd} | dict.fromkeys(places)]
    assert listed(odd, of=descriptors({"Path": odd})) == [DESCRIBED | {"path": odd, "modified": 8}]
    assert listed(odd, of=descriptors({"Path": odd, "Partition": None}))[0]["modified"] == 7
    assert listed(odd, of=descriptors({"Path": odd, "FileSizeBytes": 99}))[0]["modified"] == 7


def test_the_descriptor_counts_before_the_name() -> None:
    """[QLK-TR-1]"""
    assert listed(BELOW, of=descriptors({})) == [DESCRIBED]
    assert listed(BELOW, of=descriptors({}, exact=True)) == [DESCRIBED | {"is_exact": True}]


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"StartOffset": 2, "EndOffset": 8}, {"first": 2, "last": 9}),
        ({"StartOffset": 20, "EndOffset": 30}, {"first": 3, "last": 30}),
        ({"StartOffset": 8, "EndOffset": 4}, {"first": 3, "last": 9}),
        ({"StartOffset": None}, {"first": 3, "last": 9}),
        ({"TimestampEnd": 21}, {"start": 10, "end": 21}),
        ({"Partition": 1}, {"partition": None}),
        ({"Partition": None}, {"partition": 0}),
    ],
)
def test_claims_that_contradict_each_other(claims: dict[str, Any], expected: dict[str, Any]) -> None:
    """[QLK-TR-1]"""
    assert listed(BELOW, of=descriptors(claims)) == [DESCRIBED | expected]


def test_bounds_are_not_exact_where_the_name_contradicts_them() -> None:
    """[QLK-TR-1]"""
    (row,) = listed(BELOW, of=descriptors({"TimestampEnd": 21}, exact=True))
    assert not row["is_exact"]


def test_a_descriptor_of_another_size_claims_no_bounds() -> None:
    """[QLK-DE-7]"""
    other = descriptors({"Key": "other", "DeletedAt": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)})
    (row,) = listed(BELOW, of=other, size=101)
    assert row == NAMED | {"size": 101, "stream_key": "other", "descriptors": 1, "is_deleted": True}
    assert listed(BELOW, of=descriptors({"FileSizeBytes": None})) == [DESCRIBED]
    assert listed(BELOW, of=descriptors({}), size=None) == [DESCRIBED | {"size": None}]


def test_the_key_of_the_descriptor_counts_also_for_other_segments_of_its_folder() -> None:
    """[QLK-DE-8] [QLK-SE-3]"""
    folder = "Raw/Topic=t/Key=a%2Fb/Start=2025-08-21"
    one, two, three = (f"{folder}/ts_1_2_part_0_off_{i}_{i}.avro" for i in range(3))
    literal = {"Path": one, "Key": "a%2Fb"}
    assert [row["stream_key"] for row in listed(one, two)] == ["a/b", "a/b"]
    assert [row["stream_key"] for row in listed(one, two, of=descriptors(literal))] == ["a%2Fb", "a%2Fb"]
    disagreeing = descriptors(literal, {"Path": two, "Key": "z"})
    assert [row["stream_key"] for row in listed(one, two, three, of=disagreeing)] == ["a%2Fb", "z", "a/b"]


def test_the_topic_of_the_descriptor_counts_where_the_folder_is_encoded() -> None:
    """[QLK-DE-8]"""
    encoded = BELOW.replace("Topic=t", "Topic=a%25")
    of = descriptors({"Topic": "u"}, {"Path": encoded, "Topic": "a%25"})
    assert [row["topic"] for row in listed(BELOW, encoded, of=of)] == ["t", "a%25"]
    assert [row["topic"] for row in listed(encoded)] == ["a%"]


@pytest.mark.parametrize("name", ["tele+%C3%BC", "tele+ü", "tele%20u%CC%88", "tele%2520%25C3%25BC", "tele%20%81"])
def test_the_topic_of_the_descriptor_counts_where_the_folder_has_no_name_of_kafka(name: str) -> None:
    """[QLK-DE-8] [QLK-SE-3]"""
    path = BELOW.replace("Topic=t", f"Topic={name}")
    beside = path.replace("off_3_9", "off_10_11")
    of = descriptors({"Path": path, "Topic": "tele ü"})
    assert [row["topic"] for row in listed(path, beside, of=of)] == ["tele ü", "tele ü"]
    assert "tele ü" not in {row["topic"] for row in listed(path, beside)}


def test_files_that_are_not_segments() -> None:
    """[QLK-PA-6]"""
    names = ("._x.avro", "_x.avro", "x.parquet", ".ts_1_2_part_0_off_1_2.avro.snappy.crc")
    assert listed(*(f"{FOLDER}/{name}" for name in names), "Raw/Topic=t/x.avro", "Raw/x.avro") == []
    assert listed(BELOW, size=0) == []
    assert len(listed(f"{FOLDER}/x.avro.gzip", f"{FOLDER}/x.avro.anything")) == 2
    assert len(listed("Raw/Topic=t/Key=_k/Start=2025-08-21/x.avro", "Raw/Topic=t/Key=k/.a/x.avro")) == 2


def test_descriptors_without_a_listing() -> None:
    """[QLK-DE-6]"""
    rows = descriptors({}, {"Path": BELOW.replace("off_3_9", "off_3_8"), "FileSizeBytes": None})
    table = described_segments(rows, split_names(rows["below"].combine_chunks()))
    assert table.schema.equals(SEGMENT)
    one, other = sorted(table.to_pylist(), key=lambda row: str(row["path"]), reverse=True)
    assert one == DESCRIBED | {"modified": None}
    assert other == one | {"path": BELOW.replace("off_3_9", "off_3_8"), "size": None}
