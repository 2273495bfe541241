"""A metadata file and its table are equal after a round trip.

Rules: specs/metadatastore.rst, [MDS-T], [MDS-O], [MDS-P].
"""

from __future__ import annotations

import base64
import dataclasses
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.metadatastore.samples import (
    VALUES,
    array_of,
    assert_same,
    bloomfilter,
    files_of,
    filter_of,
    minmax,
    numbered_table,
    rewrite,
    table_of,
    valuelist,
)
from xskip.errors import XskipError
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable, PartitionColumn, PartitionKey
from xskip.metadatastore.codec import decode, encode, open_file
from xskip.metadatastore.legacy import java_bloom
from xskip.types.datatypes import Opaque, arrow_type

NAMES = ["/lake/a#b/c#1", "/lake/50%20 é/ x", "/lake/p=\U0001f600/part,0.parquet"]


def round_trip(table: MetadataTable, path: Path) -> MetadataTable:
    encode(table, "/lake", path)
    return decode(open_file(path))


@pytest.mark.parametrize("kind", VALUES)
def test_values_of_every_type(kind: str, tmp_path: Path) -> None:
    """[MDS-T-1] [MDS-T-2] [MDS-P-1] [MDS-O-1] Bounds, lists and partition values of each type are read back."""
    low, high, nothing = VALUES[kind]
    table = table_of(
        files_of(NAMES),
        [
            minmax("a.b", kind, [low, nothing, low], [high, nothing, low]),
            valuelist("a.b", kind, [[low, high], [], None]),
        ],
        [PartitionColumn("p", kind, array_of(kind, [high, nothing, low]))],
    )
    assert_same(round_trip(table, tmp_path / "f.parquet"), table)


def test_unknown_and_empty_bounds_stay_apart(tmp_path: Path) -> None:
    """[MDS-T-1] [MDS-T-6] A null struct means unknown, a struct of nulls means no values."""
    bounds = minmax("k", "int", [1, None, None], [2, None, None])
    values = pa.array([{"min": 1, "max": 2}, {"min": None, "max": None}, None], bounds.values.type)
    table = table_of(files_of(NAMES), [dataclasses.replace(bounds, values=values)])
    read = round_trip(table, tmp_path / "f.parquet").indexes["minmax", ("k",)].values
    assert read.to_pylist() == [{"min": 1, "max": 2}, {"min": None, "max": None}, None]


def test_all_null_structs(tmp_path: Path) -> None:
    """[MDS-T-6] All rows of a column can be unknown."""
    bounds = minmax("k", "decimal(9,2)", [None] * 3, [None] * 3)
    table = table_of(files_of(NAMES), [dataclasses.replace(bounds, values=pa.nulls(3, bounds.values.type))])
    assert round_trip(table, tmp_path / "f.parquet").indexes["minmax", ("k",)].values.null_count == 3


def test_empty_table(tmp_path: Path) -> None:
    """[MDS-O-1] A table without rows gives a valid file."""
    table = table_of(files_of([]), [minmax("k", "int", [], []), bloomfilter("s", [])])
    assert_same(round_trip(table, tmp_path / "f.parquet"), table)


@pytest.mark.parametrize(
    ("rows", "width", "groups"),
    [(5000, 1, [5000]), (5001, 1, [5000, 1]), (40, 1 << 20, [15, 15, 10]), (2, 17 << 20, [1, 1]), (0, 1, [0])],
)
def test_row_groups(rows: int, width: int, groups: list[int], tmp_path: Path) -> None:
    """[MDS-C-15] Row groups have a limited number of rows, and fewer rows if the rows are large."""
    names = IndexColumn(IndexDefinition("x", ("c",)), Opaque('"binary"', pa.binary()), pa.array([bytes(width)] * rows))
    table = table_of(files_of(map(str, range(rows))), [names] if width > 1 else [])
    encode(table, "/lake", tmp_path / "f.parquet")
    footer = pq.read_metadata(tmp_path / "f.parquet")
    assert [footer.row_group(i).num_rows for i in range(footer.num_row_groups)] == groups
    assert decode(open_file(tmp_path / "f.parquet")).files.names.to_pylist() == [str(i) for i in range(rows)]


def test_files_alone(tmp_path: Path) -> None:
    """[MDS-O-1] A table may have no index."""
    table = table_of(files_of(NAMES))
    assert_same(round_trip(table, tmp_path / "f.parquet"), table)
    assert pq.read_table(tmp_path / "f.parquet")["obj_name"].to_pylist() == [
        "/lake/a#b/c#1#1700000000000",
        "/lake/50%20 é/ x#1700000001000",
        "/lake/p=\U0001f600/part,0.parquet#1700000002000",
    ]


def test_sizes(tmp_path: Path) -> None:
    """[MDS-O-4] Sizes of files are stored, also unknown sizes."""
    sizes = pa.array([0, None, 2**40], pa.int64())
    files = DataFiles(pa.array(NAMES), sizes, pa.array([1, 2, 3], pa.int64()))
    assert round_trip(table_of(files), tmp_path / "f.parquet").files.sizes.equals(sizes)


def test_files_without_sizes(tmp_path: Path) -> None:
    """[MDS-O-4] Sizes are unknown if the writer did not record them."""
    path = tmp_path / "f.parquet"
    encode(numbered_table(0, 2), "/lake", path)
    rewrite(path, {b"io.xskip.object.sizes": None})
    assert decode(open_file(path)).files.sizes.to_pylist() == [None, None]


SIZES = zlib.compress(struct.pack("<2q", 10, 20))


@pytest.mark.parametrize(
    "entry",
    [
        *(b"", b"!!", b"AAAA", b"eJwDAAAAAAE="),
        # all sizes are there, but the stream is not whole, more follows, or a character is not of base 64
        *(base64.b64encode(SIZES[:-1]), base64.b64encode(SIZES[:-4]), base64.b64encode(SIZES + b"more")),
        b"\n".join((base64.b64encode(SIZES)[:8], base64.b64encode(SIZES)[8:])),
    ],
)
def test_broken_sizes(entry: bytes, tmp_path: Path) -> None:
    """[MDS-O-4] Invalid sizes, or sizes for another number of rows, raise an error."""
    path = tmp_path / "f.parquet"
    encode(numbered_table(0, 2), "/lake", path)
    rewrite(path, {b"io.xskip.object.sizes": entry})
    with pytest.raises(XskipError, match="sizes"):
        decode(open_file(path))


def test_sliced_arrays(tmp_path: Path) -> None:
    """[MDS-T-1] [MDS-T-2] [MDS-T-3] Arrays with an offset are written correctly."""
    whole = table_of(
        files_of(["/a", "/b", "/c", "/d"]),
        [
            minmax("k", "bigint", [1, 2, 3, 4], [5, 6, 7, 8]),
            valuelist("k", "string", [["x"], ["y", "z"], None, []]),
            bloomfilter("s", [[b"1"], [b"2"], None, [b"4"]]),
        ],
        [PartitionColumn("p", "date", array_of("date", [1, None, 3, 4]))],
    )
    f = whole.files
    part = MetadataTable(
        DataFiles(f.names[1:3], f.sizes[1:3], f.modified[1:3]),
        {n: dataclasses.replace(c, values=c.values[1:3]) for n, c in whole.partitions.items()},
        {k: dataclasses.replace(c, values=c.values[1:3]) for k, c in whole.indexes.items()},
    )
    assert_same(round_trip(part, tmp_path / "f.parquet"), whole.take(pa.array([1, 2])))


def test_odd_column_names(tmp_path: Path) -> None:
    """[MDS-N-1] [MDS-P-1] Names that are similar, or look like paths or like Parquet's names, stay distinct."""
    columns = ["a.b", "`a.b`", "a", "A", "list.element", "virtual_a", "größe", "x y,z;{}()=\t"]
    indexes = [minmax(c, "int", [i], [i]) for i, c in enumerate(columns)]
    names = ["a", "a.b", "a.b.c", "min", "ü #%"]
    partitions = [PartitionColumn(n, "int", pa.array([100 + i], pa.int32())) for i, n in enumerate(names)]
    table = table_of(files_of(["/f"]), indexes, partitions)
    assert_same(round_trip(table, tmp_path / "f.parquet"), table)
    file = open_file(tmp_path / "f.parquet")
    for i, name in enumerate(names):
        assert decode(file, [PartitionKey(name)]).partitions[name].values.to_pylist() == [100 + i]


def test_bloom_filters_are_wrapped(tmp_path: Path) -> None:
    """[MDS-T-3] A filter is a Java stream in the file, and has Spark's bytes in memory."""
    table = table_of(files_of(NAMES), [bloomfilter("s", [[b"x"], [], None])])
    assert_same(round_trip(table, tmp_path / "f.parquet"), table)
    stored = pq.read_table(tmp_path / "f.parquet")["s_bloomfilter_1"].to_pylist()
    assert [None if s is None else s[:4] for s in stored] == [b"\xac\xed\x00\x05", b"\xac\xed\x00\x05", None]


def test_a_filter_that_cannot_be_parsed_is_unknown(tmp_path: Path) -> None:
    """[MDS-T-3] An invalid filter affects only its own file."""
    path = tmp_path / "f.parquet"
    encode(table_of(files_of(NAMES), [bloomfilter("s", [[b"x"], [b"y"], [b"z"]])]), "/lake", path)
    good = java_bloom.wrap(filter_of([b"y"]))
    rewrite(path, {}, {"s_bloomfilter_1": pa.array([good[:-20], good, b"not java"], pa.binary())})
    read = decode(open_file(path)).indexes["bloomfilter", ("s",)]
    assert read.values.to_pylist() == [None, filter_of([b"y"]), None]
    assert read.unreadable == 2


@pytest.mark.parametrize(
    ("json_type", "values"),
    [
        ({"type": "udt", "class": "com.acme.SketchUDT", "pyClass": None, "sqlType": "binary"}, [b"1", None, b""]),
        ("void", [1, 2, None]),
        ({"type": "array", "elementType": {"type": "array", "elementType": "long"}}, [[[1], None], [], None]),
        (
            {"type": "struct", "fields": [{"name": "x", "type": {"type": "struct", "fields": []}}]},
            [{"x": {"y": 1}}] * 3,
        ),
    ],
)
def test_unknown_indexes_are_carried(json_type: Any, values: list[Any], tmp_path: Path) -> None:
    """[MDS-S-4] An unknown index is unchanged after a read and a write."""
    text = json.dumps(json_type, separators=(",", ":"))
    array = pa.array(values)
    sketch = IndexColumn(IndexDefinition("sketch", ("a", "b"), (("k", "v"),)), Opaque(text, array.type), array)
    table = table_of(files_of(NAMES), [sketch])
    first = round_trip(table, tmp_path / "1.parquet")
    second = round_trip(first, tmp_path / "2.parquet")
    assert second.indexes["sketch", ("a", "b")].values.to_pylist() == values
    assert second.indexes["sketch", ("a", "b")].definition == sketch.definition
    footers = [open_file(tmp_path / n).footer.metadata for n in ("1.parquet", "2.parquet")]
    key = b"org.apache.spark.sql.parquet.row.metadata"
    assert footers[0][key] == footers[1][key]
    assert text.encode() in footers[1][key]


def test_only_wanted_columns_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-T-7] A projection reads only the identities and the requested columns."""
    path = tmp_path / "f.parquet"
    partitions = [PartitionColumn("p", "int", pa.array([1, 2, 3], pa.int32()))]
    indexes = [
        minmax("k", "int", [1, 2, 3], [1, 2, 3]),
        valuelist("k", "int", [[1], [2], [3]]),
        bloomfilter("s", [[b"x"]] * 3),
    ]
    table = table_of(files_of(NAMES), indexes, partitions)
    encode(table, "/lake", path)
    asked: list[list[str]] = []

    def noted(read: Any, at: int) -> Any:
        def spy(*arguments: Any, **named: Any) -> Any:
            asked.append(arguments[at])
            return read(*arguments, **named)

        return spy

    for name, at in (("iter_batches", 3), ("read_row_groups", 2)):
        monkeypatch.setattr(pq.ParquetFile, name, noted(getattr(pq.ParquetFile, name), at))
    file = open_file(path)
    assert_same(decode(file, []), table_of(table.files))
    assert_same(decode(file, [("minmax", ("k",))]), table_of(table.files, indexes[:1]))
    assert_same(
        decode(file, [PartitionKey("p"), ("valuelist", ("k",))]), table_of(table.files, indexes[1:2], partitions)
    )
    assert_same(decode(file, [("minmax", ("K",)), PartitionKey("q")]), table_of(table.files))
    assert asked == [
        ["obj_name"],
        ["k_minmax_1.min", "k_minmax_1.max"],
        ["obj_name"],
        ["virtual_p"],
        ["obj_name", "k_valuelist_1.list.element"],
        ["obj_name"],
    ]


def test_legacy_timestamps(shared: Path) -> None:
    """[MDS-T-4] INT96 timestamps of older writers are read to the microsecond, in UTC."""
    home = shared / "fixtures/xskipper/parquet_version_tests/end_to_end/version=4"
    bounds = decode(open_file(next(home.glob("testID=5/*/*.parquet")))).indexes["minmax", ("timestamp",)].values
    assert bounds.type["min"].type == arrow_type("timestamp")
    assert [[str(v["min"]), str(v["max"])] for v in bounds.to_pylist()] == [
        ["2018-02-28 02:06:43+00:00", "2018-02-28 02:06:43+00:00"],
        ["2018-02-17 00:03:32+00:00", "2018-02-17 11:49:46+00:00"],
    ]
    lists = decode(open_file(next(home.glob("testID=3/*/*.parquet")))).indexes["valuelist", ("timestamp",)].values
    assert lists.type.value_type == arrow_type("timestamp")
    assert sorted(str(v) for v in lists[1].as_py())[0] == "2018-02-17 00:03:32+00:00"
