"""Metadata that claims more than it proves skips no file; each case is a past or possible wrong skip. Rules: [MDS]."""

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
    metadata_files_of,
    minmax,
    numbered_table,
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
from xskip.metadata.data_files import DataFiles, compare_files, split_ids
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
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import prune
from xskip.types import bloom_bits
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
    """[MDS-T-9] The oldest dates and timestamps of such writers are unknown; all others are used."""
    path = tmp_path / "f.parquet"
    days, times = [-719164, -141427, 18262], [-62135769600000000, -2_208_900_000_000_000 + 10**11, 0]
    columns = [minmax("d", "date", days, [0, 0, 20000]), valuelist("t", "timestamp", [[each] for each in times])]
    encode(table_of(files_of(NAMES), columns), ROOT, path)
    rewrite(path, footer)
    table = decode(open_file(path))
    assert table.indexes["minmax", ("d",)].values.is_null().to_pylist() == [old_dates, False, False]
    assert table.indexes["valuelist", ("t",)].values.is_null().to_pylist() == [old_times, False, False]
    assert table.indexes["minmax", ("d",)].unreadable == 0


def mixed(tmp_path: Path, reading: ReadProfile) -> str:
    """Write an index of xskip with a read profile, and a file of another program beside it."""
    md = str(tmp_path / "md")
    files = metadata_files_of([numbered_table(0, 2)], tmp_path / "s")
    record = replace(record_of(entry for _, entry in files), read_profile=reading)
    publish(LocalStorage(), md, None, files, record)
    put_foreign(md, [numbered_table(2, 3)])
    return md


def test_a_record_beside_another_program_s_files(tmp_path: Path) -> None:
    """[MDS-F-1] [MDS-M-5] The read profile of xskip counts, and migrate() demands a refresh()."""
    key = "spark.sql.parquet.datetimeRebaseModeInRead"
    md = mixed(tmp_path, ReadProfile.of("parquet", {}, {key: "LEGACY"}))
    snapshot = opened(md)
    assert not snapshot.is_ours
    assert key in snapshot.reason_unusable(IndexLocation(ROOT, "", ROOT), ReadProfile.of("parquet", {}, {}))
    assert key in snapshot.reason_unusable(
        IndexLocation(ROOT, "", ROOT), ReadProfile.of("parquet", {}, {key: "LEGACY"})
    )
    with pytest.raises(MetadataCorruptError, match=r"call refresh\(\) first"):
        Migration(LocalStorage(), md, 3).run()


def test_a_record_that_agrees(tmp_path: Path) -> None:
    """[MDS-F-1] The index is used if both programs read with default options."""
    snapshot = opened(mixed(tmp_path, ReadProfile.of("parquet", {}, {})))
    assert snapshot.reason_unusable(IndexLocation(ROOT, "", ROOT), ReadProfile.of("parquet", {}, {})) == ""


def box(fields: tuple[tuple[str, str], ...], payload: bytes) -> bytes:
    """Return a value list of one java.lang.Integer whose class declares other fields."""
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
    """[MDS-Z-2] [MDS-Z-6] A list with an invalid or too large number, or a Boolean, is unknown."""
    good = box((("value", "I"),), struct.pack(">i", 7))
    found = decode_streams("valuelist", [good, stream])
    assert found is not None
    assert (found.values.to_pylist(), found.unreadable) == ([[7], None], 1)


def test_a_short_stream_that_repeats_a_long_text() -> None:
    """[MDS-Z-6] A set with a repeated member is refused, so that a short stream cannot expand."""
    good: bytes = encode_streams(Array("string"), pa.ListArray.from_arrays([0, 1], pa.array(["x" * 1000])))[0].as_py()
    handle = next(h for h in range(40) if _repeated(good, h) is not None)
    assert decode_streams("valuelist", [good, _repeated(good, handle)]).unreadable == 1  # type: ignore[union-attr]


def _repeated(good: bytes, handle: int) -> bytes | None:
    """Return the stream with a thousand references to its text, or None if the handle belongs to another value."""
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
    """[MDS-Z-6] An invalid time affects only its own file."""
    good: bytes = encode_streams(Array(kind), pa.ListArray.from_arrays([0, 1], array_of(kind, [0])))[0].as_py()
    bad = good.replace(b"w\x08" + bytes(8), b"w\x08" + struct.pack(">q", millis))
    found = decode_streams("valuelist", [good, bad])
    assert found is not None
    assert (found.values.is_null().to_pylist(), found.unreadable) == ([False, True], 1)


def answer(path: Path, leaf: Comparison) -> list[bool]:
    table = decode(open_file(path))
    indexes = tuple((replace(c.definition, types=(leaf.operand.type,)), c.storage) for c in table.indexes.values())
    found: list[bool] = prune(translate(leaf, IndexCatalog(indexes)), table).skip.tolist()
    return found


def test_bounds_in_another_order(tmp_path: Path) -> None:
    """[MDS-S-5] A struct of max and min is not read as a struct of min and max."""
    path = tmp_path / "f.parquet"
    encode(table_of(files_of(NAMES[:1]), [minmax("k", "int", [1], [9])]), ROOT, path)
    swapped = pa.array([{"max": 9, "min": 1}], pa.struct([("max", pa.int32()), ("min", pa.int32())]))
    text = pq.read_metadata(path).metadata[ROW].replace(b'"min"', b'"?"').replace(b'"max"', b'"min"')
    rewrite(path, {ROW: text.replace(b'"?"', b'"max"')}, {"k_minmax_1": swapped})
    assert answer(path, Comparison(Op.EQ, Column(("k",), "int"), 5)) == [False]


@pytest.mark.parametrize(("said", "kept"), [("string", pa.int32()), ("float", pa.float64()), ("long", pa.int32())])
def test_values_of_another_type_than_said(said: str, kept: pa.DataType, tmp_path: Path) -> None:
    """[MDS-S-5] Values of another type than declared raise an error, because order and rounding differ."""
    path = tmp_path / "f.parquet"
    encode(table_of(files_of(NAMES[:1]), [minmax("k", "int", [1], [9])]), ROOT, path)
    text = pq.read_metadata(path).metadata[ROW].replace(b'"integer"', f'"{said}"'.encode())
    bounds = pa.array([{"min": 1, "max": 9}], pa.struct([("min", kept), ("max", kept)]))
    rewrite(path, {ROW: text}, {"k_minmax_1": bounds})
    with pytest.raises(MetadataCorruptError):
        decode(open_file(path))


def test_names_that_hold_nul() -> None:
    """[MDS-O-2] Names with NUL raise an error, because NUL separates the names that are sent to the JVM."""
    with pytest.raises(MetadataCorruptError, match="NUL"):
        split_ids(pa.array(["/a\0/b#1"]))


def test_filters_of_endless_hashes() -> None:
    """[MDS-T-3] A filter with two billion hash functions is invalid."""
    raw = struct.pack(">iii", 1, 2**31 - 1, 1) + b"\xff" * 8
    with pytest.raises(MetadataCorruptError):
        java_bloom.unwrap(java_bloom.wrap(raw))
    found = bloom_bits.might_contain(pa.array([raw]), [bloom_bits.hash_bytes(b"x")], np.array([True]))
    assert found.to_pylist() == [None]


def test_sizes_that_inflate(tmp_path: Path) -> None:
    """[MDS-O-4] No more bytes are inflated than the rows need."""
    path = tmp_path / "f.parquet"
    encode(numbered_table(0, 2), ROOT, path)
    rewrite(path, {b"io.xskip.object.sizes": base64.b64encode(zlib.compress(bytes(10**7)))})
    with pytest.raises(MetadataCorruptError, match="sizes"):
        decode(open_file(path))


def test_a_column_without_values_disables_no_other(tmp_path: Path) -> None:
    """[MDS-Z-4] In version 0, a predicate on a column without values is unused, and other predicates skip files."""
    path = tmp_path / "f.parquet"
    empty = minmax("k", "int", [None, None], [None, None])
    encode(table_of(files_of(NAMES[:2]), [empty, minmax("n", "int", [1, 5], [2, 6])]), ROOT, path, WriteOptions(0))
    table = decode(open_file(path))
    indexes = tuple((replace(c.definition, types=("int",)), c.storage) for c in table.indexes.values())
    both = And((Comparison(Op.EQ, Column(("k",), "int"), 1), Comparison(Op.EQ, Column(("n",), "int"), 6)))
    assert prune(translate(both, IndexCatalog(indexes)), table).skip.tolist() == [True, False]


@pytest.mark.parametrize(
    ("storage", "values"),
    [
        (Struct((("lo", "bigint"), ("hi", "bigint"))), pa.array([{"lo": 1, "hi": 2}])),
        (Array("bigint"), pa.array([[1, 2]])),
        (Atomic("bigint"), pa.array([7])),
    ],
)
def test_unknown_indexes_go_to_version_0_as_they_are(storage: Any, values: pa.Array, tmp_path: Path) -> None:
    """[MDS-S-4] [MDS-Z-5] Unknown indexes are unchanged in version 0, whatever their values."""
    column = IndexColumn(IndexDefinition("someindex", ("a",)), storage, values)
    encode(table_of(files_of(NAMES[:1]), [column]), ROOT, tmp_path / "0.parquet", WriteOptions(0))
    there = decode(open_file(tmp_path / "0.parquet"))
    encode(there, ROOT, tmp_path / "4.parquet")
    back = decode(open_file(tmp_path / "4.parquet")).indexes["someindex", ("a",)]
    assert back.storage == storage
    assert back.values.to_pylist() == values.to_pylist()


@pytest.mark.parametrize(
    ("old", "new"), [(b'"integer"', b'"decimal(99,2)"'), (b'"version":4', b'"version":0'), (b'"struct"', b'"udt"')]
)
def test_odd_schemas_are_one_kind_of_error(old: bytes, new: bytes, tmp_path: Path) -> None:
    """[MDS-S-5] An invalid schema raises no other error than MetadataCorruptError."""
    path = tmp_path / "f.parquet"
    encode(numbered_table(0, 2), ROOT, path)
    rewrite(path, {ROW: pq.read_metadata(path).metadata[ROW].replace(old, new)})
    try:
        decode(open_file(path))
    except MetadataCorruptError:
        return


def test_odd_bytes_are_one_kind_of_error(tmp_path: Path) -> None:
    """[MDS-S-5] With any byte flipped, a file is read or raises a MetadataCorruptError."""
    path = tmp_path / "f.parquet"
    encode(table_of(files_of(NAMES), [bloomfilter("s", [[b"x"], [], None])]), ROOT, path)
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


def test_files_whose_size_nobody_kept() -> None:
    """[MDS-O-4] Files without a recorded size are identified by name and time."""
    listed = files_of(NAMES)
    known = DataFiles(listed.names.slice(0, 2), pa.nulls(2, pa.int64()), listed.modified.slice(0, 2))
    fresh, alive = compare_files(listed, known)
    assert (fresh.tolist(), alive.tolist()) == ([2], [True, True])
    other = replace(listed, sizes=pa.array([100, 7, 100], pa.int64()))
    fresh, alive = compare_files(listed, other)
    assert (fresh.tolist(), alive.tolist()) == ([1], [True, False, True])
    assert arrow_type("bigint") == listed.sizes.type


def test_files_that_are_known_more_than_once() -> None:
    """The row of a file with the present time counts, whatever the order of rows, and equal rows count once."""
    listed = files_of(NAMES)
    last = len(listed) - 1
    known = listed.take(pa.array([0, 0, last, last, last]))
    older = replace(known, modified=pa.array([5, known.modified[1].as_py(), *known.modified[2:].to_pylist()]))
    fresh, alive = compare_files(listed, older)
    assert (fresh.tolist(), alive.tolist()) == (list(range(1, last)), [False, True, True, False, False])
