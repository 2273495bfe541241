"""Bloom filters are wrapped in Java streams as the metadatastore stores them, also by Spark and Xskipper."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.filters import ONE_LONG, asked, made, pack
from xskip.errors import MetadataCorruptError
from xskip.metadatastore.legacy import java_bloom
from xskip.types import bloom_bits


@pytest.mark.parametrize("words", [1, 2, 30, 31, 126, 127, 128, 500])
def test_a_filter_comes_out_of_its_stream_as_it_went_in(words: int) -> None:
    raw = bloom_bits.build(pack(list(range(20))), 3, words)
    assert java_bloom.unwrap(java_bloom.wrap(raw)) == raw


def test_a_small_filter_has_the_expected_bytes() -> None:
    stream = java_bloom.wrap(ONE_LONG + bytes(8))
    assert stream.startswith(bytes.fromhex("aced00057372002e") + b"io.xskipper.index.metadata.BloomFilterMetaData")
    assert stream.endswith(b"Lorg/apache/spark/util/sketch/BitArray;xp" + b"w\x14" + ONE_LONG + bytes(8) + b"x")
    assert len(stream) == 332


def test_blocks_are_cut_at_1024_bytes_and_long_ones_carry_four_bytes_of_length() -> None:
    stream = java_bloom.wrap(bloom_bits.build(pack([1]), 3, 255))  # 2052 bytes
    start = stream.index(b"BitArray;xp") + len(b"BitArray;xp")
    assert stream[start : start + 5] == b"z\0\0\4\0"
    assert stream[start + 5 + 1024 :][:5] == b"z\0\0\4\0"
    assert stream[start + 2 * (5 + 1024) :][:2] == b"w\4"


@pytest.mark.parametrize("blocks", [(20,), (1,) * 20, (12, 8), (0, 20), (19, 1)])
def test_a_stream_whose_blocks_are_cut_elsewhere_is_read(blocks: Any) -> None:
    raw = ONE_LONG + bytes(range(8))
    head = java_bloom.wrap(raw).partition(b"BitArray;xp")[0] + b"BitArray;xp"
    pieces, at = [], 0
    for size in blocks:
        pieces.append(b"w" + bytes((size,)) + raw[at : at + size])
        at += size
    assert java_bloom.unwrap(head + b"".join(pieces) + b"x") == raw


def test_a_stream_with_other_serial_version_uids_and_of_the_older_package_is_read() -> None:
    raw = made([1, 2, 3])
    stream = java_bloom.wrap(raw)
    for name in (b"io.xskipper.index.metadata.BloomFilterMetaData", b"org.apache.spark.util.sketch.BloomFilterImpl"):
        at = stream.index(name) + len(name)
        assert java_bloom.unwrap(stream[:at] + b"\x12\x34\x56\x78\x9a\xbc\xde\xf0" + stream[at + 8 :]) == raw
    old = stream
    for new, former in (("BloomFilterMetaData", "types.BloomFilterMetaData"), ("MetadataType", "types.MetadataType")):
        before = f"io.xskipper.index.metadata.{new}".encode()
        after = f"com.ibm.metaindex.metadata.index.{former}".encode()
        old = old.replace(struct.pack(">H", len(before)) + before, struct.pack(">H", len(after)) + after)
    assert len(old) > len(stream)
    assert java_bloom.unwrap(old) == raw


def test_a_stream_with_a_filter_of_version_2_is_carried_as_it_is() -> None:
    """[PRU-BF-2]"""
    raw = struct.pack(">iiii", 2, 7, 42, 1) + bytes(8)
    assert java_bloom.unwrap(java_bloom.wrap(raw)) == raw


SMALL = java_bloom.wrap(ONE_LONG + bytes(range(8)))


def test_a_truncated_stream_is_refused() -> None:
    """[SND-35]"""
    for end in range(len(SMALL)):
        with pytest.raises(MetadataCorruptError):
            java_bloom.unwrap(SMALL[:end])


def test_a_stream_with_any_byte_changed_is_refused_or_read_and_nothing_else() -> None:
    refused = 0
    for at in range(len(SMALL)):
        for byte in (0x00, 0x7F, 0x80, 0xFF, SMALL[at] ^ 1):
            try:
                found = java_bloom.unwrap(SMALL[:at] + bytes((byte,)) + SMALL[at + 1 :])
            except MetadataCorruptError:
                refused += 1
            else:
                assert isinstance(found, bytes)
                assert len(found) == 20
    assert refused > 4 * (len(SMALL) - 60)  # all but the serial version UIDs and the filter's own bits


@pytest.mark.parametrize("tail", [b"x", b"\0", b"p", b"w\1a", SMALL])
def test_a_stream_with_bytes_after_the_value_is_refused(tail: Any) -> None:
    with pytest.raises(MetadataCorruptError, match="bytes after the value"):
        java_bloom.unwrap(SMALL + tail)


@pytest.mark.parametrize(
    "name",
    [
        "java.util.HashMap",
        "io.xskipper.index.metadata.MinMaxMetaData",
        "io.xskipper.index.metadata.BloomFilterMetaDat0",
    ],
)
def test_a_stream_of_a_foreign_class_is_refused(name: str) -> None:
    genuine = "io.xskipper.index.metadata.BloomFilterMetaData"
    head = struct.pack(">H", len(genuine)) + genuine.encode()
    stream = SMALL.replace(head, struct.pack(">H", len(name)) + name.encode())
    with pytest.raises(MetadataCorruptError, match=rf"found: class {name}"):
        java_bloom.unwrap(stream)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        ONE_LONG[:11],
        ONE_LONG,
        ONE_LONG + bytes(7),
        ONE_LONG + bytes(9),
        struct.pack(">iii", 1, 0, 1) + bytes(8),
        struct.pack(">iii", 1, -2, 1) + bytes(8),
        struct.pack(">iii", 1, 2, 0),
        struct.pack(">iii", 1, 2, -1) + bytes(8),
        struct.pack(">iii", 1, 2, 2**31 - 1) + bytes(8),
    ],
)
def test_a_stream_with_a_contradictory_filter_is_refused(raw: Any) -> None:
    with pytest.raises(MetadataCorruptError, match="Bloom filter"):
        java_bloom.unwrap(java_bloom.wrap(raw))


@pytest.mark.parametrize("lie", [b"w\xff", b"z\x7f\xff\xff\xff", b"z\xff\xff\xff\xff", b"w\x13"])
def test_a_stream_with_a_wrong_block_length_is_refused(lie: bytes) -> None:
    with pytest.raises(MetadataCorruptError):
        java_bloom.unwrap(SMALL.replace(b"w\x14", lie))


def test_bytes_that_are_no_stream_are_refused() -> None:
    for stream in (b"", b"PAR1", b"\xac\xed", b"\xac\xed\x00\x05p", bytes(1000), ONE_LONG + bytes(8)):
        with pytest.raises(MetadataCorruptError):
            java_bloom.unwrap(stream)


# --- golden files of Spark and Xskipper --------------------------------------------------------------------------


def golden_streams(shared: Path, *patterns: str) -> Iterator[tuple[str, bytes]]:
    for pattern in patterns:
        for path in sorted((shared / "fixtures").glob(pattern)):
            if not path.is_file():
                continue
            for name in pq.read_schema(path).names:
                if "_bloomfilter" in name:
                    rows = pq.ParquetFile(path).read(columns=[name, "obj_name"]).to_pylist()
                    yield from ((row["obj_name"], row[name]) for row in rows)


def test_golden_streams_round_trip_byte_for_byte(shared: Path) -> None:
    streams = list(
        golden_streams(
            shared, "xskipper-1.6.0/metadata/bloomfilter-*/*/*.parquet", "xskipper-1.6.0/metadata/avro/*/*.parquet"
        )
    )
    assert len(streams) == 5 * 7 + 6
    for name, stream in streams:
        assert java_bloom.wrap(java_bloom.unwrap(stream)) == stream, name


def test_golden_streams_of_an_earlier_release_differ_in_two_serial_version_uids(shared: Path) -> None:
    streams = list(golden_streams(shared, "xskipper/parquet_version_tests/end_to_end/version=4/**/*.parquet"))
    assert len(streams) == 12
    uids = set()
    for class_name in (b"io.xskipper.index.metadata.MetadataType", b"org.apache.spark.util.sketch.BloomFilterImpl"):
        at = streams[0][1].index(class_name) + len(class_name)
        uids |= set(range(at, at + 8))
    for name, stream in streams:
        again = java_bloom.wrap(java_bloom.unwrap(stream))
        assert len(again) == len(stream)
        assert {i for i, (one, two) in enumerate(zip(again, stream, strict=True)) if one != two} <= uids, name


def test_golden_streams_of_older_versions_are_read(shared: Path) -> None:
    streams = [
        stream
        for version in (1, 2, 3)
        for _, stream in golden_streams(
            shared, f"xskipper/parquet_version_tests/end_to_end/version={version}/**/*.parquet"
        )
    ]
    assert len(streams) >= 30
    for stream in streams:
        assert java_bloom.unwrap(stream)[:12] == struct.pack(">iii", 1, 7, 14977)


@pytest.mark.parametrize(
    ("case", "column"),
    [
        ("bloomfilter-s", "s"),
        ("bloomfilter-i", "i"),
        ("bloomfilter-str", "str"),
        ("bloomfilter-st.x", "st.x"),
        ("bloomfilter-st.in.y", "st.in.y"),
    ],
)
def test_every_value_of_the_data_is_found_in_the_golden_filter(shared: Path, case: str, column: str) -> None:
    """[PRU-BF-1]"""
    home = shared / "fixtures" / "xskipper-1.6.0"
    first, *fields = column.split(".")
    outcomes = []
    values_of, filters = [], []
    for name, stream in golden_streams(shared, f"xskipper-1.6.0/metadata/{case}/*/*.parquet"):
        data = pq.ParquetFile(home / "data/types" / Path(name.rpartition("#")[0]).name).read(columns=[first])
        values = data.column(first).to_pylist()
        for field in fields:
            values = [None if v is None else v[field] for v in values]
        values_of.append({v.encode() if isinstance(v, str) else v for v in values} - {None})
        filters.append(java_bloom.unwrap(stream))
    assert len(filters) == 7
    for value in set().union(*values_of):
        for held, verdict in zip(values_of, asked(filters, value), strict=True):
            assert verdict or value not in held, value
            outcomes.append((value in held, verdict))
    assert outcomes.count((True, True)) >= 6
    assert outcomes.count((False, False)) >= 30


def test_golden_filters_are_built_again_bit_for_bit(shared: Path) -> None:
    """[PRU-BF-3]"""
    home = shared / "fixtures" / "xskipper-1.6.0"
    checked = 0
    for name, stream in golden_streams(shared, "xskipper-1.6.0/metadata/bloomfilter-[si]/*/*.parquet"):
        data = pq.ParquetFile(home / "data/types" / Path(name.rpartition("#")[0]).name).read(columns=["s", "i"])
        raw = java_bloom.unwrap(stream)
        both = [bloom_bits.build(pack(list(set(data.column(c).to_pylist()) - {None})), 7, 14977) for c in ("s", "i")]
        assert raw in both, name
        checked += 1
    assert checked == 14
