"""Tests of descriptors: index files of all forms, several descriptors of a segment, deletion."""

from __future__ import annotations

import datetime
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from xskip.errors import StorageError
from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake.descriptors import DOCUMENT, IndexFiles, decisive, describe, paths_below
from xskip.quixlake.small_files import UnreadableFile, read_small_files

BELOW = "Raw/Topic=t/Key=k/Start=2025-08-21/ts_1_2_part_0_off_3_4.avro"


def at(second: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(second, datetime.timezone.utc)


ROW: dict[str, Any] = {
    "Path": f"s3://bucket/w/{BELOW}", "Topic": "t", "Key": "k", "Partition": 0, "TimestampStart": 1, "TimestampEnd": 2,
    "StartOffset": 3, "EndOffset": 4, "RecordCount": 2, "FileSizeBytes": 100, "CreatedAt": at(5), "DeletedAt": None,
}  # fmt: skip
CLAIMS = {
    "below": BELOW, "topic": "t", "stream_key": "k", "partition": 0, "start": 1, "end": 2, "first": 3, "last": 4,
    "rows": 2, "size": 100, "exact": False, "is_deleted": False, "count": 1,
}  # fmt: skip


def claims(*tables: pa.Table) -> list[dict[str, Any]]:
    files = IndexFiles.of({f"/i{i}.parquet": table for i, table in enumerate(tables)})
    assert files.unreadable == ()
    rows: list[dict[str, Any]] = decisive(files.descriptors).sort_by("below").to_pylist()
    return rows


def document(*rows: dict[str, Any], exact: bool = False) -> pa.Table:
    return pq.read_table(io.BytesIO(describe([ROW | row for row in rows], exact=exact)))


def test_the_columns_of_the_document_are_written_and_read() -> None:
    """[QLK-DE-1] [QLK-DE-2]"""
    table = document({})
    assert table.schema.equals(DOCUMENT)
    assert claims(table) == [CLAIMS]
    assert not IndexFiles.of({"/a": table}).descriptors["former"].to_pylist()[0]


def test_the_mark_of_exact_bounds() -> None:
    assert [row["exact"] for row in claims(document({}, exact=True))] == [True]
    assert [row["exact"] for row in claims(document({}, exact=True), document({}, exact=False))] == [False]


def test_former_names_of_columns() -> None:
    """[QLK-DE-1]"""
    former = document({}).rename_columns(
        ["OffsetStart" if n == "StartOffset" else "OffsetEnd" if n == "EndOffset" else n for n in DOCUMENT.names]
    )
    snake = pa.table(
        {
            "path": [BELOW], "topic": ["t"], "key": ["k"], "partition": pa.array([0], pa.int32()),
            "timestamp_start": [1], "timestamp_end": [2], "start_offset": [3], "end_offset": [4], "record_count": [2],
            "file_size_bytes": [100], "created_at": [5000], "another": ["x"],
        }
    )  # fmt: skip
    for table in (former, snake):
        assert claims(table) == [CLAIMS]
        files = IndexFiles.of({"/a": table})
        assert files.descriptors["former"].to_pylist() == [True]
        assert files.descriptors["created"].to_pylist() == [at(5)]


def test_columns_that_are_missing_or_odd_are_null() -> None:
    """[QLK-DE-1]"""
    table = pa.table({"Path": [BELOW], "Partition": ["zero"], "CreatedAt": ["now"], "EndOffset": ["7"]})
    expected = dict.fromkeys(CLAIMS) | {"below": BELOW, "last": 7, "exact": False, "is_deleted": False, "count": 1}
    assert claims(table) == [expected]


def test_files_that_describe_nothing_are_named(tmp_path: Path) -> None:
    """[QLK-DE-1]"""
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    pq.write_table(document({}), tmp_path / "c.parquet")
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    files = DataFiles(pa.array(paths), pa.array([1, 2, 3]), pa.array([1, 1, 1]))
    read = read_small_files(LocalStorage(), "file:", files, {})
    found = IndexFiles.of({str(state[0]): table for state, table in read.items()})
    assert [Path(file.path).name for file in found.unreadable] == ["a.parquet", "b.parquet"]
    assert found.unreadable[1].reason == "no column Path among x"
    assert found.paths == (paths[2],)
    assert len(found.descriptors) == 1


def test_a_failure_of_the_storage_is_no_odd_file(tmp_path: Path) -> None:
    """[QLK-DE-5] Without the descriptors, deleted messages would come back."""
    gone = DataFiles(pa.array([str(tmp_path / "gone.parquet")]), pa.array([1]), pa.array([1]))
    with pytest.raises(FileNotFoundError):
        read_small_files(LocalStorage(), "file:", gone, {})
    a_folder = DataFiles(pa.array([str(tmp_path)]), pa.array([1]), pa.array([1]))
    with pytest.raises(StorageError):
        read_small_files(LocalStorage(), "file:", a_folder, {})


@pytest.mark.parametrize(
    ("mark", "is_deleted"),
    [("2026-05-01T10:00:00Z", True), ("yes", True), ("", False), ("False", False), (None, False), (True, True),
     (False, False), (1_700_000_000_000, True), (datetime.date(2026, 5, 1), True)],
)  # fmt: skip
def test_marks_of_deletion_of_other_types(mark: Any, is_deleted: bool) -> None:
    """[QLK-DE-5]"""
    (row,) = claims(pa.table({"Path": [BELOW], "DeletedAt": [mark]}))
    assert row["is_deleted"] == is_deleted


@pytest.mark.parametrize(
    ("marks", "deleted"),
    [
        (pa.array([float("nan"), 1.7e12]), [False, True]),
        (pa.array(["NaT", "nan"]), [False, False]),
        (pa.array(["", "2026-01-01"]).dictionary_encode(), [False, True]),
        (pa.array(["", "2026-01-01"], pa.large_string()), [False, True]),
        (pa.array([b"false", b"2026-01-01"]), [False, True]),
        (pa.array([b"", b"\xff"]), [True, True]),
        (pa.array([None, [1]]), [False, True]),
        (pa.nulls(2), [False, False]),
    ],
)
def test_marks_of_deletion_in_columns_of_other_types(marks: pa.Array, deleted: list[bool]) -> None:
    """[QLK-DE-5] What a library writes for a missing value marks nothing."""
    data = io.BytesIO()
    pq.write_table(pa.table({"Path": [BELOW, f"{BELOW}.x"], "DeletedAt": marks}), data)
    assert [row["is_deleted"] for row in claims(pq.read_table(data))] == deleted


def test_columns_that_a_file_has_twice() -> None:
    """[QLK-DE-1] The first one counts."""
    names = ["Path", "Path", "EndOffset", "OffsetEnd"]
    (row,) = claims(pa.table([pa.array([BELOW]), pa.array(["x"]), pa.array([4]), pa.array([9])], names))
    assert (row["below"], row["last"]) == (BELOW, 4)


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.timestamp("us", "Asia/Tokyo")])
def test_times_in_place_of_milliseconds(kind: pa.DataType) -> None:
    """[QLK-DE-2]"""
    micros = pa.array([1_755_734_400_001_900, -1_900, None]).cast(pa.timestamp("us")).cast(kind)
    table = pa.table({"Path": [BELOW, f"{BELOW}.x", f"{BELOW}.y"], "TimestampStart": micros, "timestamp_end": micros})
    found = [(row["start"], row["end"]) for row in claims(table)]
    assert found == [(1_755_734_400_001, 1_755_734_400_002), (-2, -1), (None, None)]


def test_booleans_are_no_numbers() -> None:
    """[QLK-DE-1]"""
    (row,) = claims(pa.table({"Path": [BELOW], "StartOffset": [False], "EndOffset": [True], "Topic": [True]}))
    assert (row["first"], row["last"], row["topic"]) == (None, None, None)


def test_a_lake_below_the_folder_of_a_topic() -> None:
    """[QLK-DE-3] The path of a segment ends with its path relative to the base, whatever the base contains."""
    base = "/data/Raw/Topic=a/lake"
    paths = [f"file:{base}/{BELOW}", f"{base}/{BELOW}", BELOW, f"s3://b/w/{BELOW}"]
    for some in (paths, paths[:1], paths[1:], paths[2:]):
        table = pa.table({"Path": some})
        assert IndexFiles.of({"/a": table}, base).descriptors["below"].to_pylist() == [BELOW] * len(some)
    assert IndexFiles.of({"/a": pa.table({"Path": paths[:1]})}).descriptors["below"].to_pylist() != [BELOW]


def test_a_file_is_read_again_only_if_its_state_differs(tmp_path: Path) -> None:
    """[QLK-DE-9]"""
    path = tmp_path / "c.parquet"
    pq.write_table(document({}), path)

    def read(modified: int, known: Any) -> Any:
        files = DataFiles(pa.array([str(path)]), pa.array([path.stat().st_size]), pa.array([modified]))
        return read_small_files(LocalStorage(), "file:", files, known)

    first = read(1, {})
    size = path.stat().st_size
    path.write_bytes(bytes(size))
    assert read(1, first) == first
    (again,) = read(2, first).values()
    assert isinstance(again, UnreadableFile)


def test_paths_of_all_forms_name_the_same_segment() -> None:
    """[QLK-DE-3]"""
    forms = [BELOW, f"w/{BELOW}", f"/bucket/w/{BELOW}", f"abfss://c@a.b/w/{BELOW}", f"file:/x/{BELOW}"]
    (row,) = claims(document(*({"Path": form} for form in forms)))
    assert row == CLAIMS | {"count": 5}
    assert claims(document({"Path": "Raw2/Topic=t/x.avro"}, {"Path": None}, {"Path": "x.avro"})) == []
    (row,) = claims(document({"Path": "Raw/Topic=a%2Fb/Key=Raw/Topic=c/x.avro"}))
    assert row["below"] == "Raw/Topic=a%2Fb/Key=Raw/Topic=c/x.avro"


@pytest.mark.parametrize(
    "prefix",
    ["", "s3://b/w/", "/Raw/", "Raw/", "x/Raw/Topic/", "xRaw/Topic=t/Key=k/", "a\u00e9\U0001f600/", "Raw/Topic=u/"],
)
def test_paths_with_the_same_prefix_are_those_of_each_path_alone(prefix: str) -> None:
    """[QLK-DE-3]"""
    rests = [
        BELOW,
        f"{BELOW}.snappy",
        "Raw/Topic=t/a.avro",
        "Raw/Topic=t/Key=Raw/Topic=x/b.avro",
        "Raw/Topic=\u00e9/\n/c",
    ]
    for some in (rests, [*rests, "Raw/Topic=t"], [*rests, "Raw/x"], rests[:1], ["Raw/Topic=t", *rests], []):
        paths = [prefix + rest for rest in some]
        alone = [paths_below(pa.chunked_array([pa.array([path, None])]))[0].as_py() for path in paths]
        assert paths_below(pa.chunked_array([pa.array(paths, pa.string())])).to_pylist() == alone


def test_the_latest_descriptor_counts_and_contradictions_are_unknown() -> None:
    """[QLK-DE-4]"""
    other = BELOW.replace("Key=k", "Key=z")
    (row, single) = claims(
        document({"CreatedAt": at(9), "EndOffset": 8}, {"CreatedAt": None, "EndOffset": 9}, {"EndOffset": 7}),
        document({"CreatedAt": at(9), "EndOffset": 8, "RecordCount": 3}, {"Path": other}),
    )
    assert row == CLAIMS | {"last": 8, "rows": None, "count": 4}
    assert single == CLAIMS | {"below": other}
    (row,) = claims(document({"EndOffset": None}, {}))
    assert row == CLAIMS | {"last": None, "count": 2}


def test_a_segment_is_deleted_if_all_its_latest_descriptors_are() -> None:
    """[QLK-DE-5]"""

    def is_deleted(*rows: dict[str, Any]) -> bool:
        (row,) = claims(document(*rows))
        return bool(row["is_deleted"])

    deleted = {"DeletedAt": at(20)}
    assert is_deleted(deleted)
    assert not is_deleted({})
    assert not is_deleted(deleted, {})
    assert is_deleted(deleted, deleted)
    assert is_deleted(deleted | {"CreatedAt": at(9)}, {})
    assert not is_deleted(deleted, {"CreatedAt": at(9)})
