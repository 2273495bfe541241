"""Metadata that says more than it knows: each was once, or could be, a file skipped wrongly. Rules: [MDS]."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.metadatastore.samples import (
    ROOT,
    array_of,
    bloomfilter,
    files_of,
    minmax,
    numbered_table,
    objects_of,
    opened,
    put_foreign,
    record_of,
    rewrite,
    table_of,
    valuelist,
)
from xskip.errors import MetadataCorruptError
from xskip.expressions.operands import Column
from xskip.expressions.predicate import And, Comparison, Op
from xskip.metadata.objects import Objects, compare_objects, split_ids
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexColumn, IndexDefinition
from xskip.metadatastore.codec import decode, encode, open_file
from xskip.metadatastore.commit import publish
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.legacy import java_bloom
from xskip.metadatastore.legacy.java_stream import ClassSpec, StreamWriter
from xskip.metadatastore.legacy.java_values import decode_streams, encode_streams
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.maintenance.migrate import Migration
from xskip.metadatastore.versions import WriteOptions
from xskip.pruning.prune import prune
from xskip.pruning.translate import Available, translate
from xskip.types import bloom_filter
from xskip.types.datatypes import Array, Atomic, Struct, arrow_type

NAMES = [f"{ROOT}/f{n}" for n in range(3)]
ROW = b"org.apache.spark.sql.parquet.row.metadata"
SPARK = b"org.apache.spark.version"
MARK = b"org.apache.spark.legacyDateTime"
MARK_96 = b"org.apache.spark.legacyINT96"


@pytest.mark.parametrize(
    ("footer", "old_dates", "old_times"),
    [
        ({SPARK: b"4.0.0"}, False, False),
        ({SPARK: b"3.0.1"}, False, True),
        ({SPARK: b"3.1.0"}, False, False),
        ({SPARK: b"2.4.8"}, True, True),
        ({SPARK: None}, True, True),
        ({SPARK: b"3.5.0", MARK: b""}, True, True),
        ({SPARK: b"3.5.0", MARK_96: b""}, False, True),
    ],
)
def test_writers_with_another_calendar(tmp_path: Path, footer: Any, old_dates: bool, old_times: bool) -> None:
    """[MDS-T-9] Their oldest days and instants are not known; all others are."""
    path = tmp_path / "f.parquet"
    days, times = [-719164, -141427, 18262], [-62135769600000000, -2_208_900_000_000_000 + 10**11, 0]
    columns = [minmax("d", "date", days, [0, 0, 20000]), valuelist("t", "timestamp", [[each] for each in times])]
    encode(table_of(objects_of(NAMES), columns), ROOT, path)
    rewrite(path, footer)
    table = decode(open_file(path))
    assert table.indexes["minmax", ("d",)].values.is_null().to_pylist() == [old_dates, False, False]
    assert table.indexes["valuelist", ("t",)].values.is_null().to_pylist() == [old_times, False, False]
    assert table.indexes["minmax", ("d",)].unreadable == 0


def mixed(tmp_path: Path, reading: ReadProfile) -> str:
    """An index of ours with its reading, beside it a file of another program."""
    md = str(tmp_path / "md")
    files = files_of([numbered_table(0, 2)], tmp_path / "s")
    record = replace(record_of(entry for _, entry in files), reading=reading)
    publish(LocalStorage(), md, None, files, record)
    put_foreign(md, [numbered_table(2, 3)])
    return md


def test_a_record_beside_another_program_s_files(tmp_path: Path) -> None:
    """[MDS-F-1] [MDS-M-5] What xskip has read in a way of its own counts; migrate() waits for refresh()."""
    key = "spark.sql.parquet.datetimeRebaseModeInRead"
    md = mixed(tmp_path, ReadProfile.of("parquet", {}, {key: "LEGACY"}, ""))
    snapshot = opened(md)
    assert not snapshot.is_ours
    assert key in snapshot.not_usable(IndexLocation(ROOT, "", ROOT), ReadProfile.of("parquet", {}, {}, ""))
    assert key in snapshot.not_usable(IndexLocation(ROOT, "", ROOT), ReadProfile.of("parquet", {}, {key: "LEGACY"}, ""))
    with pytest.raises(MetadataCorruptError, match=r"call refresh\(\) first"):
        Migration(LocalStorage(), md, 3).run()


def test_a_record_that_agrees(tmp_path: Path) -> None:
    """[MDS-F-1] Read by default on both sides."""
    snapshot = opened(mixed(tmp_path, ReadProfile.of("parquet", {}, {}, "")))
    assert snapshot.not_usable(IndexLocation(ROOT, "", ROOT), ReadProfile.of("parquet", {}, {}, "")) == ""


def box(fields: tuple[tuple[str, str], ...], payload: bytes) -> bytes:
    """A value list of one java.lang.Integer whose class says something else of its field."""
    good: bytes = encode_streams(Array("int"), pa.ListArray.from_arrays([0, 1], array_of("int", [7])))[0].as_py()
    writer = StreamWriter({"java.lang.Integer": ClassSpec(1360826667806852920, fields, None)})
    writer.begin("java.lang.Integer")
    start = good.index(b"sr\x00\x11java.lang.Integer")
    return good[:start] + bytes(writer.data)[4:] + payload + b"x"


@pytest.mark.parametrize(
    "stream",
    [
        box((("value", "Ljava/lang/Object;"),), b"p"),
        box((("value", "D"),), struct.pack(">d", 1.5)),
        box((("value", "J"),), struct.pack(">q", 2**40)),
        box((("value", "Z"),), b"\x01"),
    ],
)
def test_boxes_that_hold_something_else(stream: bytes) -> None:
    """[MDS-Z-2] [MDS-Z-6] No number, a broken one, one that does not fit, a truth value: not known."""
    good = box((("value", "I"),), struct.pack(">i", 7))
    found = decode_streams("valuelist", [good, stream])
    assert found is not None
    assert (found.values.to_pylist(), found.unreadable) == ([[7], None], 1)


def test_a_short_stream_that_repeats_a_long_text() -> None:
    """[MDS-Z-6] A set has no member twice: nothing is multiplied."""
    good: bytes = encode_streams(Array("string"), pa.ListArray.from_arrays([0, 1], pa.array(["x" * 1000])))[0].as_py()
    handle = next(h for h in range(40) if _repeated(good, h) is not None)
    assert decode_streams("valuelist", [good, _repeated(good, handle)]).unreadable == 1  # type: ignore[union-attr]


def _repeated(good: bytes, handle: int) -> bytes | None:
    """The stream with its text a thousand times, by reference; None where the handle is of something else."""
    count = good.index(b"w\x04\x00\x00\x00\x01")
    body = good[:count] + b"w\x04" + struct.pack(">i", 1001) + good[count + 6 : -1]
    stream = body + (b"q" + struct.pack(">i", 0x7E0000 + handle)) * 1000 + b"x"
    from xskip.metadatastore.legacy import java_values
    from xskip.metadatastore.legacy.java_stream import parse_stream

    try:
        value: Any = parse_stream(stream, java_values._KNOWN)
    except MetadataCorruptError:
        return None
    members = value.fields["values"].extra
    return stream if members[-1] is members[1] else None


@pytest.mark.parametrize("millis", [2**62, -(2**62), 253_402_300_800_000])
@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_one_time_beyond_all_years(kind: str, millis: int) -> None:
    """[MDS-Z-6] It concerns its own object alone."""
    good: bytes = encode_streams(Array(kind), pa.ListArray.from_arrays([0, 1], array_of(kind, [0])))[0].as_py()
    bad = good.replace(b"w\x08" + bytes(8), b"w\x08" + struct.pack(">q", millis))
    found = decode_streams("valuelist", [good, bad])
    assert found is not None
    assert (found.values.is_null().to_pylist(), found.unreadable) == ([False, True], 1)


def answer(path: Path, leaf: Comparison) -> list[bool]:
    table = decode(open_file(path))
    indexes = tuple((replace(c.definition, types=(leaf.operand.type,)), c.storage) for c in table.indexes.values())
    found: list[bool] = prune(translate(leaf, Available(indexes)), table).skip.tolist()
    return found


def test_bounds_in_another_order(tmp_path: Path) -> None:
    """[MDS-S-5] A struct of max and min is none of min and max."""
    path = tmp_path / "f.parquet"
    encode(table_of(objects_of(NAMES[:1]), [minmax("k", "int", [1], [9])]), ROOT, path)
    swapped = pa.array([{"max": 9, "min": 1}], pa.struct([("max", pa.int32()), ("min", pa.int32())]))
    text = pq.read_metadata(path).metadata[ROW].replace(b'"min"', b'"?"').replace(b'"max"', b'"min"')
    rewrite(path, {ROW: text.replace(b'"?"', b'"max"')}, {"k_minmax_1": swapped})
    assert answer(path, Comparison(Op.EQ, Column(("k",), "int"), 5)) == [False]


@pytest.mark.parametrize(("said", "kept"), [("string", pa.int32()), ("float", pa.float64()), ("long", pa.int32())])
def test_values_of_another_type_than_said(said: str, kept: pa.DataType, tmp_path: Path) -> None:
    """[MDS-S-5] An error, never a guess: order and rounding would be others."""
    path = tmp_path / "f.parquet"
    encode(table_of(objects_of(NAMES[:1]), [minmax("k", "int", [1], [9])]), ROOT, path)
    text = pq.read_metadata(path).metadata[ROW].replace(b'"integer"', f'"{said}"'.encode())
    bounds = pa.array([{"min": 1, "max": 9}], pa.struct([("min", kept), ("max", kept)]))
    rewrite(path, {ROW: text}, {"k_minmax_1": bounds})
    with pytest.raises(MetadataCorruptError):
        decode(open_file(path))


def test_names_that_hold_nul() -> None:
    """[MDS-O-2] Names cross to the JVM parted by it."""
    with pytest.raises(MetadataCorruptError, match="NUL"):
        split_ids(pa.array(["/a\0/b#1"]))


def test_filters_of_endless_hashes() -> None:
    """[MDS-T-3] Two thousand million rounds for one literal are no filter."""
    raw = struct.pack(">iii", 1, 2**31 - 1, 1) + b"\xff" * 8
    with pytest.raises(MetadataCorruptError):
        java_bloom.unwrap(java_bloom.wrap(raw))
    found = bloom_filter.might_contain(pa.array([raw]), [bloom_filter.hash_bytes(b"x")], np.array([True]))
    assert found.to_pylist() == [None]


def test_sizes_that_inflate(tmp_path: Path) -> None:
    """[MDS-O-4] As many bytes as rows need are inflated, and no more."""
    path = tmp_path / "f.parquet"
    encode(numbered_table(0, 2), ROOT, path)
    rewrite(path, {b"io.xskip.object.sizes": base64.b64encode(zlib.compress(bytes(10**7)))})
    with pytest.raises(MetadataCorruptError, match="sizes"):
        decode(open_file(path))


def test_a_column_without_values_disables_no_other(tmp_path: Path) -> None:
    """[MDS-Z-4] In version 0 nothing tells its type: its predicate is left out, and the others skip."""
    path = tmp_path / "f.parquet"
    empty = minmax("k", "int", [None, None], [None, None])
    encode(table_of(objects_of(NAMES[:2]), [empty, minmax("n", "int", [1, 5], [2, 6])]), ROOT, path, WriteOptions(0))
    table = decode(open_file(path))
    indexes = tuple((replace(c.definition, types=("int",)), c.storage) for c in table.indexes.values())
    both = And((Comparison(Op.EQ, Column(("k",), "int"), 1), Comparison(Op.EQ, Column(("n",), "int"), 6)))
    assert prune(translate(both, Available(indexes)), table).skip.tolist() == [True, False]


@pytest.mark.parametrize(
    ("storage", "values"),
    [
        (Struct((("lo", "bigint"), ("hi", "bigint"))), pa.array([{"lo": 1, "hi": 2}])),
        (Array("bigint"), pa.array([[1, 2]])),
        (Atomic("bigint"), pa.array([7])),
    ],
)
def test_unknown_indexes_go_to_version_0_as_they_are(storage: Any, values: pa.Array, tmp_path: Path) -> None:
    """[MDS-S-4] [MDS-Z-5] Whatever they keep."""
    column = IndexColumn(IndexDefinition("someindex", ("a",)), storage, values)
    encode(table_of(objects_of(NAMES[:1]), [column]), ROOT, tmp_path / "0.parquet", WriteOptions(0))
    there = decode(open_file(tmp_path / "0.parquet"))
    encode(there, ROOT, tmp_path / "4.parquet")
    back = decode(open_file(tmp_path / "4.parquet")).indexes["someindex", ("a",)]
    assert back.storage == storage
    assert back.values.to_pylist() == values.to_pylist()


@pytest.mark.parametrize(
    ("old", "new"), [(b'"integer"', b'"decimal(99,2)"'), (b'"version":4', b'"version":0'), (b'"struct"', b'"udt"')]
)
def test_odd_schemas_are_one_kind_of_error(old: bytes, new: bytes, tmp_path: Path) -> None:
    """[MDS-S-5] Nothing else escapes."""
    path = tmp_path / "f.parquet"
    encode(numbered_table(0, 2), ROOT, path)
    rewrite(path, {ROW: pq.read_metadata(path).metadata[ROW].replace(old, new)})
    try:
        decode(open_file(path))
    except MetadataCorruptError:
        return


def test_odd_bytes_are_one_kind_of_error(tmp_path: Path) -> None:
    """[MDS-S-5] Every byte of a file flipped, one at a time: it is read, or it is a MetadataCorruptError."""
    path = tmp_path / "f.parquet"
    encode(table_of(objects_of(NAMES), [bloomfilter("s", [[b"x"], [], None])]), ROOT, path)
    data = path.read_bytes()
    outcomes = set()
    for at in range(0, len(data), 3):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        try:
            decode(open_file(path))
            outcomes.add("read")
        except MetadataCorruptError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_objects_whose_size_nobody_kept() -> None:
    """[MDS-O-4] They are known by name and time."""
    listed = objects_of(NAMES)
    known = Objects(listed.names.slice(0, 2), pa.nulls(2, pa.int64()), listed.modified.slice(0, 2))
    fresh, alive = compare_objects(listed, known)
    assert (fresh.tolist(), alive.tolist()) == ([2], [True, True])
    other = replace(listed, sizes=pa.array([100, 7, 100], pa.int64()))
    fresh, alive = compare_objects(listed, other)
    assert (fresh.tolist(), alive.tolist()) == ([1], [True, False, True])
    assert arrow_type("bigint") == listed.sizes.type


def test_objects_that_are_known_more_than_once() -> None:
    """Each time counts, whichever comes first, and an object that is known twice over is one."""
    listed = objects_of(NAMES)
    last = len(listed) - 1
    known = listed.take(pa.array([0, 0, last, last, last]))
    older = replace(known, modified=pa.array([5, known.modified[1].as_py(), *known.modified[2:].to_pylist()]))
    fresh, alive = compare_objects(listed, older)
    assert (fresh.tolist(), alive.tolist()) == (list(range(1, last)), [False, True, True, False, False])
