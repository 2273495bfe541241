"""Files have identities in the metadata, and tables have identifiers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from xskip.errors import MetadataCorruptError
from xskip.metadata.data_files import DataFiles, FileStatus, join_ids, split_ids, table_identifier

SOME = [FileStatus("/a/x", 10, 100), FileStatus("/a/y", -1, 200), FileStatus("/a/z", 0, 300)]


def test_files_are_columns_and_rows() -> None:
    files = DataFiles.of(SOME)
    assert len(files) == 3
    assert [files[i] for i in range(3)] == SOME
    assert files.sizes.to_pylist() == [10, None, 0]  # an unknown size is null, an empty file is 0
    assert files.total_bytes == 10


def test_files_taken_keep_the_order_asked_for() -> None:
    taken = DataFiles.of(SOME).take(pa.array([2, 0]))
    assert [taken[i] for i in range(len(taken))] == [SOME[2], SOME[0]]


def test_files_may_be_empty() -> None:
    nothing = DataFiles.of([])
    assert (len(nothing), nothing.total_bytes) == (0, 0)
    assert join_ids(nothing.names, nothing.modified).to_pylist() == []
    names, times = split_ids(pa.array([], pa.string()))
    assert (len(names), times.type) == (0, pa.int64())


@pytest.mark.parametrize(
    ("uri", "identifier"),
    [
        ("/lake/events", "/lake/events"),
        ("/lake/events/", "/lake/events"),
        ("file:/lake/events", "/lake/events"),
        ("file:///lake/events/", "/lake/events"),
        ("s3a://bucket/lake/events", "/lake/events"),
        ("hdfs://host:8020/lake/events", "/lake/events"),
        ("hdfs://host:8020/lake/events//", "/lake/events"),
        ("s3a://bucket", "/"),
        ("s3a://bucket/", "/"),
        ("file:///", "/"),
        ("/", "/"),
        ("s3a://bucket/a b/c%20d", "/a b/c%20d"),
        ("/lake/a b%20ü", "/lake/a b%20ü"),
        ("s3a://bucket/lake/a b%20ü", "/lake/a b%20ü"),
        ("/lake/x=1/a://b", "/lake/x=1/a://b"),
        ("/lake/c#1?x;y", "/lake/c#1?x;y"),
        ("s3a://bucket/lake/c#1?x;y", "/lake/c#1?x;y"),
        ("viewfs://name/tab\there", "/tab\there"),
    ],
)
def test_identifier_of_a_table_is_its_path(uri: str, identifier: str) -> None:
    """[MDS-O-3] The path is decoded, and has no scheme, authority and trailing slash."""
    assert table_identifier(uri) == identifier


@pytest.mark.parametrize(
    ("uri", "identifier"),
    [
        ("file:/lake/a#1", "/lake/a#1"),
        ("s3a://bucket/lake/a#1", "/lake/a#1"),
        ("s3a://bucket/lake/a?b", "/lake/a?b"),
        ("file:///lake/a#1", "/lake/a#1"),
    ],
)
def test_two_tables_that_differ_behind_a_hash_or_question_mark_differ_in_identifier(uri: str, identifier: str) -> None:
    """[SND-34]"""
    assert table_identifier(uri) == identifier


def test_identifiers_need_no_authority() -> None:
    assert table_identifier("hdfs:/lake/events") == "/lake/events"
    assert table_identifier("dbfs:/lake/events/") == "/lake/events"


@pytest.mark.parametrize("name", ["/a/x", "/a/x#1", "/a/#", "/a/x y+%20", "/größe/ü", "#", ""])
@pytest.mark.parametrize("time", [0, 999999999999, 1600000000009, 10000000000000])
def test_identities_are_joined_and_parted_at_the_last_hash(name: str, time: int) -> None:
    ids = join_ids(pa.array(["/first", name, "/b"]), pa.array([1, 1700000000123, time]))[1:]
    assert ids.to_pylist() == [f"{name}#1700000000123", f"/b#{time}"]
    names, times = split_ids(ids)
    assert names.to_pylist() == [name, "/b"]
    assert times.to_pylist() == [1700000000123, time]


@pytest.mark.parametrize(
    "bad",
    ["/a/x", "/a/x#", "/a/x#y", "/a#1/x", "/a/x#1.5", "", None, "/a/x#99999999999999999999", "/a#170000000012x"],
)
@pytest.mark.parametrize("good", ["/good#1", "/good#1700000000123"])
def test_an_invalid_identity_is_refused(bad: Any, good: str) -> None:
    with pytest.raises(MetadataCorruptError, match="file identifiers"):
        split_ids(pa.array([good, bad], pa.string()))
