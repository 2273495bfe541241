"""Versions 0 to 3 can be read and written. Rules: specs/metadatastore.rst, [MDS-N], [MDS-V] and [MDS-Z]."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers import Counted
from tests.metadatastore.samples import (
    DAY,
    VALUES,
    array_of,
    assert_same,
    bloomfilter,
    files_of,
    filter_of,
    minmax,
    rewrite,
    table_of,
    valuelist,
)
from xskip.errors import MetadataCorruptError, UnsupportedTypeError, XskipError
from xskip.expressions.operands import Column
from xskip.expressions.predicate import Comparison, Op
from xskip.metadata.table import IndexDefinition, MetadataTable, PartitionColumn, concat
from xskip.metadatastore.codec import decode, encode, open_file
from xskip.metadatastore.legacy import java_bloom
from xskip.metadatastore.legacy.java_stream import ClassSpec, JavaObject, StreamWriter, parse_stream
from xskip.metadatastore.legacy.java_values import Decoded, decode_streams, encode_streams
from xskip.metadatastore.schema import parse_schema, render_schema
from xskip.metadatastore.versions import WriteOptions, rules_of
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import prune
from xskip.results.clause_outcomes import unused_texts
from xskip.types import bloom_bits
from xskip.types.datatypes import Array, Opaque, Struct

PARAMS_SORTED = (("io.xskipper.index.bloom.fpp", "0.01"), ("io.xskipper.index.bloom.ndv", "10"))
# of serialised classes, before and since
UIDS = [
    (bytes.fromhex("603f5d1b7b764446"), bytes.fromhex("25e4f553292c5e68")),
    (bytes.fromhex("8303774076ceabf6"), bytes.fromhex("394d74921a9bcc14")),
]
NAMES = ["/lake/t/a", "/lake/t/b", "/lake/t/c"]
PACKAGE = "com.ibm.metaindex.metadata.index.types"


def written(table: MetadataTable, version: int, path: Path) -> MetadataTable:
    encode(table, "/lake/t", path, WriteOptions(version))
    return decode(open_file(path))


def schema_of(path: Path) -> Any:
    text = (pq.read_metadata(path).metadata or {})[b"org.apache.spark.sql.parquet.row.metadata"]
    return json.loads(text)["fields"]


@pytest.mark.parametrize(
    ("version", "names"),
    [
        (0, ["lat.#:lng_someindex", "a_b_minmax"]),
        (1, ["lat.#_lng_someindex", "a_b_minmax"]),
        (2, ["lat$#$##_lng_someindex_8-3", "a_b_minmax_3"]),
        (3, ["lat$#$##_lng_someindex_8-3", "a_b_minmax_3"]),
    ],
)
def test_column_names(version: int, names: list[str]) -> None:
    """[MDS-N-5] Before version 2, names have neither escapes nor lengths."""
    definitions = [IndexDefinition("someindex", ("lat.#", "lng")), IndexDefinition("minmax", ("a_b",))]
    assert [rules_of(version).column_name(each) for each in definitions] == names


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("kind", VALUES)
def test_values_of_every_type(kind: str, version: int, tmp_path: Path) -> None:
    """[MDS-V-4] From version 1 on, values have their own types; version 4 has partition columns."""
    low, high, nothing = VALUES[kind]
    indexes = [
        minmax("a.b", kind, [low, nothing, low], [high, nothing, low]),
        valuelist("a.b", kind, [[low, high], [], None]),
        bloomfilter("s", [[b"x"], [], None]),
    ]
    table = table_of(files_of(NAMES), indexes, [PartitionColumn("p", kind, array_of(kind, [high, nothing, low]))])
    read = written(table, version, tmp_path / "f.parquet")
    assert read.partitions == {}
    if version < 3:  # a list of parameters is sorted
        bloomed = indexes.pop()
        indexes.append(replace(bloomed, definition=replace(bloomed.definition, params=PARAMS_SORTED)))
    assert_same(read, table_of(table.files, indexes))


@pytest.mark.parametrize("kind", ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string",
                                  "binary", "decimal(38,10)"])  # fmt: skip
def test_values_of_version_0(kind: str, tmp_path: Path) -> None:
    """[MDS-V-4] [MDS-Z-1] [MDS-Z-2] Values are serialised objects; bounds without values are unknown."""
    low, high, nothing = VALUES[kind]
    bloomed = bloomfilter("s", [[b"x"], [], None])
    table = table_of(
        files_of(NAMES),
        [
            minmax("a", kind, [low, nothing, low], [high, nothing, low]),
            valuelist("a", kind, [[low, high], [], None]),
            bloomed,
        ],
    )
    expected = table_of(
        table.files,
        [
            minmax("a", kind, [low, nothing, low], [high, nothing, low], [False, True, False]),
            valuelist("a", kind, [[low, high], [], None]),
            bloomed,
        ],
    )
    assert_same(written(table, 0, tmp_path / "f.parquet"), expected)


def test_times_of_version_0(tmp_path: Path) -> None:
    """[MDS-Z-3] [MDS-Z-4] Timestamps and midnights of UTC are read back; times before 1900 are unknown."""
    moment = 1_600_000_000_123456
    table = table_of(
        files_of(NAMES),
        [
            minmax("t", "timestamp", [moment, -30610224000_000000, None], [moment + 1, moment, None]),
            valuelist("d", "date", [[18262, 0], [-354285], []]),
        ],
    )
    expected = table_of(
        table.files,
        [
            minmax("t", "timestamp", [moment, None, None], [moment + 1, None, None], [False, True, True]),
            valuelist("d", "date", [[18262, 0], None, []]),
        ],
    )
    assert_same(written(table, 0, tmp_path / "f.parquet"), expected)


@pytest.mark.parametrize("kind", ["timestamp_ntz", "interval year to month", "interval day to second"])
def test_types_that_version_0_lacks(kind: str, tmp_path: Path) -> None:
    """[MDS-Z-5] An unsupported type raises a clear error and leaves no file."""
    low, high, _ = VALUES[kind]
    table = table_of(files_of(NAMES[:1]), [minmax("a", kind, [low], [high])])
    with pytest.raises(UnsupportedTypeError, match=rf"version 0 .*found: {kind}.*use version 1 or newer"):
        encode(table, "/lake/t", tmp_path / "f.parquet", WriteOptions(0))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("version", [0, 1])
def test_names_that_meet(version: int, tmp_path: Path) -> None:
    """[MDS-N-5] Two indexes with the same column name are refused."""
    table = table_of(files_of(NAMES[:1]), [minmax("a_b", "int", [1], [1]), minmax("c", "int", [1], [1])])
    first, second = table.indexes.values()
    for definition in (IndexDefinition("minmax", ("a_b",)), IndexDefinition("b_minmax", ("a",))):
        second = type(second)(definition, second.storage, second.values)
        clash = table_of(table.files, [first, second])
        if len(clash.indexes) == 2:
            with pytest.raises(XskipError, match=r"two indexes the same column .*a_b_minmax"):
                encode(clash, "/lake/t", tmp_path / "f.parquet", WriteOptions(version))
            encode(clash, "/lake/t", tmp_path / "g.parquet", WriteOptions(2))


PARAMS = {
    0: {"spark.ibm.metaindex.index.bloom.ndv": "10", "spark.ibm.metaindex.index.bloom.fpp": "0.01"},
    1: ["spark.ibm.metaindex.index.bloom.fpp:0.01", "spark.ibm.metaindex.index.bloom.ndv:10"],
    2: ["spark.ibm.metaindex.index.bloom.fpp:0.01", "spark.ibm.metaindex.index.bloom.ndv:10"],
    3: {"io.xskipper.index.bloom.ndv": "10", "io.xskipper.index.bloom.fpp": "0.01"},
}


@pytest.mark.parametrize("version", PARAMS)
def test_schemas(version: int, tmp_path: Path) -> None:
    """[MDS-V-5] [MDS-V-6] Identifier, parameters, classes and package are those of the version."""
    table = table_of(files_of(NAMES[:1]), [bloomfilter("s", [[b"x"]])])
    path = tmp_path / "f.parquet"
    read = written(table, version, path)
    obj_name, index = schema_of(path)
    described = index["metadata"]["index"]
    old = version < 3
    assert obj_name["nullable"] is (version > 0)
    assert obj_name["metadata"] == (
        {"version": 0} if version == 0 else {"tableIdentifier": "/lake/t", "version": version}
    )
    assert described.get("tableIdentifier") == ("lake/t" if version == 0 else None)
    assert described["params"] == PARAMS[version]
    assert index["type"]["class"].startswith("com.ibm.metaindex.metadata." if old else "io.xskipper.")
    assert read.indexes["bloomfilter", ("s",)].definition == table.indexes["bloomfilter", ("s",)].definition or old
    assert dict(read.indexes["bloomfilter", ("s",)].definition.params) == {
        "io.xskipper.index.bloom.ndv": "10", "io.xskipper.index.bloom.fpp": "0.01",
    }  # fmt: skip
    stream = pq.read_table(path).column(index["name"])[0].as_py()
    assert ((PACKAGE if old else "io.xskipper.index.metadata") + ".BloomFilterMetaData").encode() in stream
    assert open_file(path).schema.table_identifier == "/lake/t"


def test_goldens_are_rendered_as_they_are(shared: Path) -> None:
    """[MDS-V-5] [MDS-V-6] The schema JSON of 87 files of versions 1 to 3 is rendered byte for byte."""
    home, seen = shared / "fixtures/xskipper/parquet_version_tests/end_to_end", 0
    for path in home.glob("version=[123]/*/*/*.parquet"):
        footer = pq.read_metadata(path)
        text = footer.metadata[b"org.apache.spark.sql.parquet.row.metadata"].decode()
        assert render_schema(parse_schema(text, footer.schema.to_arrow_schema())) == text
        seen += 1
    assert seen == 87


def test_streams_of_goldens_are_written_as_they_are(shared: Path) -> None:
    """[MDS-V-5] Filters of versions 1 and 2 are written byte for byte, those of version 3 with other UIDs."""
    home, seen = shared / "fixtures/xskipper/parquet_version_tests/end_to_end", 0
    for path in home.glob("version=[123]/*/*/*.parquet"):
        file = open_file(path)
        for index in file.schema.indexes:
            if index.definition.name == "bloomfilter":
                for stream in pq.read_table(path).column(index.column).to_pylist():
                    version = file.schema.version
                    again = java_bloom.wrap(java_bloom.unwrap(stream), rules_of(version).package)
                    assert again == reduce(lambda s, uids: s.replace(*uids), UIDS if version == 3 else (), stream)
                    seen += 1
    assert seen == 36


def plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S") + (f".{value.microsecond:06}" if value.microsecond else "")
    return str(value) if isinstance(value, dt.date | Decimal) else value


@pytest.mark.parametrize("folder", ["v0", "v0-unversioned"])
def test_goldens_of_version_0(shared: Path, folder: str, counted: Counted) -> None:
    """[MDS-V-3] [MDS-Z-1] [MDS-Z-2] [MDS-Z-3] [MDS-Z-4] All recorded values are read, also without a version."""
    home = shared / "fixtures/xskipper-1.6.0"
    expected = json.loads((home / "v0-expected.json").read_text())
    file = open_file(home / folder / "part-00000.snappy.parquet")
    assert (file.schema.version, file.schema.table_identifier) == (0, "/" + expected["tableIdentifier"])
    table = decode(file)
    names = [f"{n}#{t}" for n, t in zip(table.files.names.to_pylist(), table.files.modified.to_pylist(), strict=True)]
    assert names == expected["objects"]
    seen = set()
    for index in file.schema.indexes:
        values = table.indexes[index.definition.key].values.to_pylist()
        seen.add(index.column)
        for row, wanted in enumerate(expected["columns"][index.column] or ()):
            found = values[row]
            if index.definition.name == "bloomfilter":
                probes = [*map(str.encode, wanted), b"other"]
                among = np.array([True])
                filters = pa.array([found], pa.binary())
                hashes = [bloom_bits.hash_bytes(p) for p in probes]
                hits = [bloom_bits.might_contain(filters, [each], among)[0].as_py() for each in hashes]
                assert hits == [True] * len(wanted) + [False]
            elif index.definition.name == "minmax":
                assert (found and [plain(found["min"]), plain(found["max"])]) == wanted
            elif index.definition.name == "valuelist":
                assert sorted(map(plain, found)) == wanted
    assert seen == set(expected["columns"])
    assert table.indexes["someindex", ("lat", "lng")].values.to_pylist() == [b"\xac\xed\x00\x05t\x00\x03foo"] * 4
    counted("golden directories read", 1)


def test_streams_of_version_0_are_written_as_java_does(shared: Path) -> None:
    """[MDS-Z-1] [MDS-Z-2] Streams are equal byte for byte, except for the package and its UID."""
    rows = pq.read_table(shared / "fixtures/xskipper-1.6.0/v0/part-00000.snappy.parquet")
    swaps = [
        (b"\x00\x27io.xskipper.index.metadata.MetadataType" + bytes.fromhex("25e4f553292c5e68"),
         b"\x00\x33" + PACKAGE.encode() + b".MetadataType" + bytes.fromhex("f7b012bf742b86a4")),
        (b"\x00\x29io.xskipper.index.metadata.MinMaxMetaData", b"\x00\x35" + PACKAGE.encode() + b".MinMaxMetaData"),
        (b"\x00\x2cio.xskipper.index.metadata.ValueListMetaData", b"\x00\x38" + PACKAGE.encode()
         + b".ValueListMetaData"),
    ]  # fmt: skip
    compared = 0
    for column in ("temp_minmax", "price_minmax", "city_minmax", "ts_minmax", "day_minmax", "amount_minmax",
                   "city_valuelist"):  # fmt: skip
        streams = rows.column(column).to_pylist()
        found = decode_streams(column.rpartition("_")[2], streams)
        assert found is not None
        assert isinstance(found.storage, Struct | Array)
        for mine, theirs in zip(encode_streams(found.storage, found.values).to_pylist(), streams, strict=True):
            if theirs is not None:
                compared += mine == reduce(lambda stream, swap: stream.replace(*swap), swaps, theirs)
    assert compared == 27


def box(kind: str, value: Any) -> bytes:
    """Return the stream of a value list with one value."""
    stream: bytes = encode_streams(Array(kind), pa.ListArray.from_arrays([0, 1], array_of(kind, [value])))[0].as_py()
    return stream


def date_stream(millis: int) -> bytes:
    stream = box("date", 0)
    return stream.replace(b"\x77\x08" + bytes(8), b"\x77\x08" + millis.to_bytes(8, "big", signed=True))


@pytest.mark.parametrize(
    ("hours", "days"),
    [
        (0, [100]), (-1, [100]), (-9, [100]), (5, [100]), (-14, [99, 100]), (-13, [99, 100]), (-12, [99, 100]),
        (-10, [100]), (-9.5, [100]), (10, [100, 101]), (11, [100, 101]), (9.5, [100]),
    ],
)  # fmt: skip
def test_dates_of_any_zone(hours: float, days: list[int]) -> None:
    """[MDS-Z-3] A midnight gives one date, or two dates if it is a midnight in zones of both sides of the date line."""
    found = decode_streams("valuelist", [date_stream(int(100 * DAY / 1000 + hours * 3_600_000))])
    assert found is not None
    assert found.values.cast(pa.list_(pa.int32())).to_pylist() == [days]


MIXED: list[tuple[str, list[bytes], Any]] = [
    ("whole numbers", [box("int", 1), box("bigint", 2**40), box("tinyint", 3)], Array("bigint")),
    (
        "decimals",
        [box("decimal(9,2)", Decimal("1.25")), box("decimal(18,4)", Decimal("1.0001"))],
        Array("decimal(38,4)"),
    ),
    (
        "decimals that no type holds",
        [box("decimal(38,0)", Decimal("9" * 38)), box("decimal(38,10)", Decimal("0.0000000001"))],
        None,
    ),
    ("text and number", [box("string", "a"), box("int", 1)], None),
    ("float and double", [box("float", 1.0), box("double", 1.0)], None),
    (
        "no value at all",
        [box("string", "a").replace(b"w\x04\x00\x00\x00\x01t\x00\x01a", b"w\x04\x00\x00\x00\x00")],
        None,
    ),
]


@pytest.mark.parametrize(("streams", "storage"), [m[1:] for m in MIXED], ids=[m[0] for m in MIXED])
def test_values_of_several_classes(streams: list[bytes], storage: Any) -> None:
    """[MDS-Z-4] Integers get the widest type and decimals the finest scale; other mixtures are unknown."""
    found = decode_streams("valuelist", streams)
    assert (found and found.storage) == storage


GOOD = box("int", 7)
LONG = box("decimal(38,0)", Decimal("9" * 38))
BAD = {
    "empty": b"",
    "another magic": b"\xac\xed\x00\x04" + GOOD[4:],
    "a foreign class": GOOD.replace(b"java.lang.Integer", b"java.lang.Runtime"),
    "a class of ours in the wrong place": GOOD.replace(b".ValueListMetaData", b".MinMaxMetaData\x00\x00\x00"),
    "something behind it": GOOD + b"p",
    "a number of members that lies": GOOD.replace(b"w\x04\x00\x00\x00\x01", b"w\x04\x00\x00\x00\x02"),
    "a reference to nothing": GOOD.replace(b"w\x04\x00\x00\x00\x01", b"w\x04\x00\x00\x00\x01q\x00\x7f\x00\x00"),
    "a text": b"\xac\xed\x00\x05t\x00\x01a",
    "null": b"\xac\xed\x00\x05p",
    "a text of half a character": b"\xac\xed\x00\x05t\x00\x03\xed\xa0\xbd",
    "an object without a class": b"\xac\xed\x00\x05sp",
    "an array without a class": b"\xac\xed\x00\x05up",
    "a text as a class": GOOD.replace(b"w\x04\x00\x00\x00\x01", b"w\x04\x00\x00\x00\x02t\x00\x01asq\x00\x7e\x00\x09"),
    "a decimal of 39 digits": LONG.replace((10**38 - 1).to_bytes(16, "big"), b"\xff" * 16),
    "a decimal with a magnitude of 18 bytes": LONG.replace(
        b"\x10" + (10**38 - 1).to_bytes(16, "big"), b"\x12" + bytes(2) + (10**38 - 1).to_bytes(16, "big")
    ),
    "a proxy class": b"\xac\xed\x00\x05s}\x00\x00\x00\x00xp",
}


@pytest.mark.parametrize("stream", BAD.values(), ids=BAD.keys())
def test_streams_that_are_something_else(stream: bytes) -> None:
    """[MDS-Z-1] [MDS-Z-6] An invalid stream is unknown and counted, and other streams are read."""
    found = decode_streams("valuelist", [GOOD, stream, None])
    assert found == Decoded(Array("int"), found.values, 1) if found else False
    assert found is not None
    assert found.values.to_pylist() == [[7], None, None]


def test_lists_are_no_bounds() -> None:
    """[MDS-Z-6] A stream of another index type is invalid."""
    bounds = minmax("a", "int", [1], [2])
    assert isinstance(bounds.storage, Struct)
    (good,) = encode_streams(bounds.storage, bounds.values).to_pylist()
    found = decode_streams("minmax", [good, GOOD])
    assert found is not None
    assert (found.values.to_pylist(), found.unreadable) == ([{"min": 1, "max": 2}, None], 1)
    found = decode_streams("valuelist", [good, GOOD])
    assert found is not None
    assert (found.values.to_pylist(), found.unreadable) == ([None, [7]], 1)


@pytest.mark.parametrize("end", range(len(GOOD)))
def test_streams_cut_short(end: int) -> None:
    """[MDS-Z-6] A truncated stream is invalid."""
    found = decode_streams("valuelist", [GOOD, GOOD[:end]])
    assert found is not None
    assert (found.values.to_pylist(), found.unreadable) == ([[7], None], 1)


def test_lengths_that_lie_cost_nothing() -> None:
    """[MDS-Z-6] A wrong length or endless nesting raises an error without an allocation."""
    for stream in (b"\xac\xed\x00\x05|\x7f" + b"\xff" * 7, GOOD[:5] + b"r\xff\xff"):
        with pytest.raises(MetadataCorruptError, match="fewer than the stream declares"):
            parse_stream(stream, ())
    spec = {"Loop": ClassSpec(1, (("next", "LLoop;"),))}
    writer = StreamWriter(spec)
    for _ in range(100):
        writer.begin("Loop")
    with pytest.raises(MetadataCorruptError, match="levels deep"):
        parse_stream(bytes(writer.data) + b"p", ["Loop"])


@pytest.mark.parametrize("text", ["", "a\x00b", "\U0001f600é", "x" * 70_000])
def test_texts_in_streams(text: str) -> None:
    """[MDS-Z-2] Strings are in Java's modified UTF-8, with a long form beyond 65,535 bytes."""
    writer = StreamWriter({})
    writer.string(text)
    assert parse_stream(bytes(writer.data), ()) == text


def test_a_value_that_refers_to_itself() -> None:
    """[MDS-Z-6] A circular reference is followed once."""
    writer = StreamWriter({"Loop": ClassSpec(1, (("next", "LLoop;"),))})
    writer.begin("Loop")
    found = parse_stream(bytes(writer.data) + b"q\x00\x7e\x00\x02", ["Loop"])
    assert isinstance(found, JavaObject)
    assert found.fields["next"] is found


def test_unknown_indexes_of_version_0_are_carried(tmp_path: Path, shared: Path) -> None:
    """[MDS-S-4] [MDS-Z-5] The streams and the type of unknown indexes stay unchanged in any version."""
    table = decode(open_file(shared / "fixtures/xskipper-1.6.0/v0/part-00000.snappy.parquet"))
    key = ("someindex", ("lat", "lng"))
    for version in range(5):
        column = written(table, version, tmp_path / f"{version}.parquet").indexes[key]
        assert isinstance(column.storage, Opaque)
        assert column.values.equals(table.indexes[key].values)
    assert filter_of([b"u0"])


def test_what_cannot_be_read_is_reported(tmp_path: Path) -> None:
    """[MDS-Z-6] [MDS-T-3] The report has the number of unreadable files over all metadata files."""
    files = []
    for number in range(2):
        path = tmp_path / f"{number}.parquet"
        encode(table_of(files_of(NAMES), [valuelist("a", "int", [[1], [2], [3]])]), "/lake/t", path, WriteOptions(0))
        rewrite(path, {}, {"a_valuelist": pa.array([GOOD, GOOD[:-5], None], pa.binary())})
        files.append(decode(open_file(path)))
    table = concat(files)
    column = table.indexes["valuelist", ("a",)]
    assert (column.unreadable, column.values.to_pylist()) == (2, [[7], None, None] * 2)
    leaf = Comparison(Op.EQ, Column(("a",), "int"), 5)
    found = prune(translate(leaf, IndexCatalog(((column.definition, column.storage),))), table)
    assert found.skip.tolist() == [True, False, False] * 2
    assert unused_texts(found) == (("valuelist(a)", "the metadata of 2 files cannot be read"),)
