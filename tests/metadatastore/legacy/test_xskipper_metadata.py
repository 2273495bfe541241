"""Metadata of another program is used only as far as it proves something. Rules: specs/metadatastore.rst, [MDS-F]."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metadatastore.samples import bloomfilter, files_of, minmax, opened, put_foreign, table_of, valuelist
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.metadatastore.legacy.xskipper_metadata import drop_unproven, may_be_of_footers, reason_unusable
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.snapshot import Snapshot
from xskip.types.datatypes import Array, Storage, Struct

NAMES = ["/lake/a", "/lake/b", "/lake/c"]


def by_utf16(text: str) -> bytes:
    return text.encode("utf-16-be")


def proved_column(column: IndexColumn, *, footers: bool = False) -> list[object]:
    table = table_of(files_of(NAMES[: len(column.values)]), [column])
    found: list[object] = drop_unproven(table, footers=footers).indexes[column.definition.key].values.to_pylist()
    return found


TEXTS = st.text(st.sampled_from("aZ\x00\ud7ff\ue000\ufffd\uffff\U00010000\U0001f600\U0010ffff"), max_size=4)


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=5), min_size=1, max_size=3))
def test_string_bounds_hold_in_the_order_of_utf8(files: list[list[str]]) -> None:
    """[MDS-F-2] The bounds that remain of bounds by UTF-16 units are also bounds by UTF-8 bytes."""
    lows, highs = ([side(texts, key=by_utf16) for texts in files] for side in (min, max))
    found = proved_column(minmax("s", "string", lows, highs))
    for texts, bounds in zip(files, found, strict=True):
        assert isinstance(bounds, dict)
        assert all(bounds["min"].encode() <= text.encode() for text in texts)
        assert bounds["max"] is None or all(text.encode() <= bounds["max"].encode() for text in texts)


def test_string_bounds_stay_where_they_are_right() -> None:
    """[MDS-F-2] Only bounds with characters whose order differs are widened."""
    column = minmax("s", "string", ["a", "b\U0001f600c\nd", None], ["z\U0001f600", "q\ufffd", None])
    assert proved_column(column) == [
        {"min": "a", "max": "z\U0001f600"}, {"min": "b", "max": None}, {"min": None, "max": None},
    ]  # fmt: skip
    assert proved_column(minmax("s", "string", [None], ["z\ue000"])) == [None]  # two nulls would say: no value


def test_bounds_of_footers() -> None:
    """[MDS-F-3] Bounds from footers prove nothing, because they ignore row groups without statistics."""
    numbers = minmax("n", "int", [1, None, 3], [2, None, 4], [False, False, True])
    assert proved_column(numbers) == [{"min": 1, "max": 2}, {"min": None, "max": None}, None]
    assert proved_column(numbers, footers=True) == [None, None, None]
    floats = minmax("d", "double", [1.0], [2.0])
    assert proved_column(floats) == [{"min": 1.0, "max": 2.0}]
    assert proved_column(floats, footers=True) == [None]
    assert proved_column(minmax("y", "binary", [b"a"], [b"b"])) == [None]


def test_which_bounds_can_be_of_footers() -> None:
    """[MDS-F-3] Bounds can be of footers if an index of Parquet files has only bounds of numbers."""
    kinds = ("int", "double", "string", "decimal(9,2)", "date")
    bounds: list[tuple[IndexDefinition, Storage]] = [
        (IndexDefinition("minmax", ("a",)), Struct((("min", kind), ("max", kind)))) for kind in kinds
    ]
    number, double, *others = bounds
    others.append((IndexDefinition("valuelist", ("a",)), Array("int")))
    assert may_be_of_footers("parquet", (number, double))
    assert not may_be_of_footers("avro", (number, double))
    assert not any(may_be_of_footers("parquet", (number, other)) for other in others)


def test_other_indexes_are_left_alone() -> None:
    """[MDS-F-2] [MDS-F-3] Lists and filters stay, because they have no order."""
    columns = [valuelist("s", "string", [["\U0001f600", "\ufffd"], [], None]), bloomfilter("s", [[b"x"], [], None])]
    table = table_of(files_of(NAMES), columns)
    assert drop_unproven(table, footers=True) == table


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_readings_that_files_decide(fmt: str) -> None:
    """[MDS-F-1] Formats whose files contain their types are used with Spark's default options."""
    assert reason_unusable(ReadProfile.of(fmt, {"mergeSchema": "true"}, {})) == ""
    assert "option avroschema" in reason_unusable(ReadProfile.of(fmt, {"avroSchema": "{}"}, {}))
    assert "spark.sql.caseSensitive" in reason_unusable(ReadProfile.of(fmt, {}, {"spark.sql.caseSensitive": "true"}))


@pytest.mark.parametrize("fmt", ["csv", "json", "text", "xml", "orc", "org.example.Format"])
def test_readings_that_somebody_decided(fmt: str) -> None:
    """[MDS-F-1] Text formats are not used, because the build did not record how it read them."""
    assert "did not record how it read" in reason_unusable(ReadProfile.of(fmt, {}, {}))


def foreign(directory: Path, table: MetadataTable) -> Snapshot:
    put_foreign(directory, [table], identifier="/lake")
    return opened(directory)


def test_a_snapshot_of_another_program(tmp_path: Path) -> None:
    """[MDS-F-1] [MDS-F-4] A snapshot serves a dataset with its path and default options."""
    snapshot = foreign(tmp_path, table_of(files_of(NAMES[:1]), [minmax("d", "double", [1.0], [2.0])]))
    default = ReadProfile.of("parquet", {}, {})
    assert snapshot.reason_unusable(IndexLocation("/lake", "", "/lake"), default) == ""
    assert snapshot.reason_unusable(IndexLocation("s3a://bucket/lake", "", "/lake"), default) == ""
    assert (
        snapshot.reason_unusable(IndexLocation("/lake/other", "", "/lake/other"), default)
        == "the index belongs to another dataset, /lake"
    )
    assert "did not record" in snapshot.reason_unusable(
        IndexLocation("/lake", "", "/lake"), ReadProfile.of("json", {}, {})
    )
    key = ("minmax", ("d",))
    assert snapshot.load_proven([key], default).indexes[key].values.to_pylist() == [None]
    assert snapshot.load_proven([key], ReadProfile("avro")).indexes[key].values.to_pylist() == [
        {"min": 1.0, "max": 2.0}
    ]


def test_old_times_of_another_program_are_not_known_by_their_zone(tmp_path: Path) -> None:
    """[PRU-RD-8] The other program did not record the time zone of its JVM."""
    days = [-2_208_988_800_000_000, 1_577_836_800_000_000]  # 1900-01-01, 2020-01-01
    columns = [minmax("t", "timestamp", days, days), minmax("i", "int", [1, 2], [1, 2])]
    snapshot = foreign(tmp_path, table_of(files_of(NAMES[:2]), columns))
    asked = ReadProfile.of("avro", {}, {"user.timezone": "UTC"})
    assert snapshot.reason_unusable(IndexLocation("/lake", "", "/lake"), asked) == ""
    found = snapshot.load_proven([("minmax", ("t",)), ("minmax", ("i",))], asked).indexes
    assert [value is None for value in found["minmax", ("t",)].values.to_pylist()] == [True, False]
    assert [value is None for value in found["minmax", ("i",)].values.to_pylist()] == [False, False]
