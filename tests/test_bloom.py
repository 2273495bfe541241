"""Spark's Bloom filter: hashes, bits, bytes, and the stream in which the metadatastore keeps it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.reference import all_true
from xskip import bloom
from xskip.errors import MetadataCorruptError

# Bits that Spark 4.0 set in filters of 7 hash functions and 14977 words, by the values put in
SPARK_BITS = {
    (0, 50): [156760, 195112, 204991, 243343, 435972, 436568, 484203, 487976, 539384, 774367, 825775, 877183, 884307,
              928591],
    (100, 150): [22914, 25920, 76070, 153420, 229079, 280920, 331435, 353435, 356579, 379054, 632629, 680248, 733404,
                 856948],
    (b"k00a", b"k00z"): [32424, 85471, 104277, 165621, 209399, 240979, 289549, 443337, 580039, 632606, 651892, 712756,
                         756534, 931789],
    (b"k05a", b"k05z"): [12022, 52079, 85980, 312853, 360899, 369459, 518483, 569428, 573627, 661730, 695515, 718452,
                         895484, 922504],
}  # fmt: skip
ONE_LONG = bytes.fromhex("00000001 00000002 00000001".replace(" ", ""))  # version 1, 2 hash functions, 1 word


def hashes(value: int | bytes) -> bloom.HashPair:
    return bloom.hash_bytes(value) if isinstance(value, bytes) else bloom.hash_long(value)


def pack(values: list) -> np.ndarray:
    return np.array([h1 << 32 | h2 & 0xFFFFFFFF for h1, h2 in map(hashes, values)], np.int64)


def made(values: list, fpp: float = 0.01, ndv: int | None = None) -> bytes:
    return bloom.build(pack(values), *bloom.size_for(len(values) if ndv is None else ndv, fpp))


def bits_of(raw: bytes) -> list[int]:
    words = np.frombuffer(raw[12:], ">u8").astype("<u8")
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()


def asked(filters: list[bytes | None], *values: int | bytes) -> list[bool | None]:
    return bloom.might_contain(
        pa.array(filters, pa.binary()), [hashes(v) for v in values], all_true(len(filters))
    ).to_pylist()


def test_hashes_of_bytes_against_the_published_murmur3():
    """Murmur3_x86_32 with seed 0, where the length is a multiple of four and Spark's tail plays no part."""
    assert bloom.hash_bytes(b"test")[0] == 0xBA6BD213 - (1 << 32)
    assert bloom.hash_bytes(b"")[0] == 0
    assert bloom.hash_bytes(b"\0\0\0\0")[0] == 0x2362F9DE


def test_hashes_of_longs_are_those_of_their_eight_bytes():
    for value in (0, 1, -1, 42, 2**63 - 1, -(2**63)):
        assert bloom.hash_long(value) == bloom.hash_bytes(struct.pack("<q", value))


def test_u23_bytes_above_7f_in_a_tail_are_sign_extended():
    """[PRU-BF-3] Spark's own tail: a byte is an int before it is mixed, so 0xFF is -1 and not 255."""
    assert bloom.hash_bytes(b"\xff")[0] == 1645243454  # a whole word of -1, and a length of 1
    assert bloom.hash_bytes(b"\x7f")[0] == -1149661590  # a whole word of 127, and a length of 1


@pytest.mark.parametrize("values", SPARK_BITS, ids=str)
def test_u23_the_bits_that_spark_sets(values):
    """[PRU-BF-3]"""
    assert bits_of(bloom.build(pack(list(values)), 7, 14977)) == SPARK_BITS[values]


@pytest.mark.parametrize(
    ("items", "fpp", "hash_functions", "words"),
    [
        (100_000, 0.01, 7, 14977),
        (1, 0.01, 6, 1),
        (0, 0.01, 6, 1),
        (10, 0.01, 7, 2),
        (1000, 0.5, 1, 23),
        (1, 0.999, 1, 1),
    ],
)
def test_sizes_are_those_of_spark(items, fpp, hash_functions, words):
    assert bloom.size_for(items, fpp) == (hash_functions, words)


def test_the_header_of_a_filter():
    raw = bloom.build(pack([5]), 3, 2)
    assert raw[:12] == struct.pack(">iii", 1, 3, 2)
    assert len(raw) == 12 + 2 * 8
    assert 1 <= len(bits_of(raw)) <= 3


def test_a_filter_never_forgets_a_value():
    """[PRU-BF-1]"""
    longs = [0, 1, -1, 2**31, -(2**31), 2**63 - 1, -(2**63), *range(1000, 1300)]
    texts = [b"", b"a", b"ab", b"abc", b"abcd", b"abcde", "é\U0001f600".encode(), b"\xff\xfe\xfd", b"x" * 1000]
    for values in (longs, texts):
        filters = [made(values), made(values, fpp=0.5), made(values, ndv=1), made(values, ndv=100_000)]
        for value in values:
            assert asked(filters, value) == [True] * 4, value


def test_an_empty_filter_holds_nothing():
    """[PRU-BF-4]"""
    assert asked([made([])], 0, 1, b"") == [False]


def test_absent_values_are_found_absent_and_the_rate_is_near_the_one_asked_for():
    """[PRU-BF-1]"""
    for fpp in (0.1, 0.01):
        filters = [made(list(range(n, n + 50)), fpp=fpp) for n in range(0, 50_000, 50)]
        wrong = sum(sum(asked(filters, value)) for value in range(100_000, 100_010))
        assert 0.5 * fpp < wrong / 10_000 < 1.5 * fpp


def test_one_of_several_values_is_enough():
    """[PRU-BF-1]"""
    raw = made([1, 2, 3])
    assert asked([raw], 77_777_777, 2) == [True]
    assert asked([raw], 77_777_777, 88_888_888) == [False]


def test_no_values_are_in_no_filter():
    """[PRU-BF-1]"""
    assert asked([made([1])]) == [False]


def test_filters_of_many_sizes_and_hash_functions_are_asked_at_once():
    """[PRU-BF-2]"""
    filters = [made([n], fpp=fpp, ndv=ndv) for n, (fpp, ndv) in enumerate(
        (fpp, ndv) for fpp in (0.5, 0.1, 0.01, 0.0001) for ndv in (1, 10, 1000, 50_000)
    )]  # fmt: skip
    for n in range(len(filters)):
        alone = [asked([raw], n)[0] for raw in filters]
        assert asked(filters, n) == alone
        assert alone[n] is True
        assert False in alone


def test_null_filters_are_unknown():
    """[PRU-BF-2]"""
    raw = made([1])
    assert asked([None, raw, None], 1) == [None, True, None]
    assert asked([None, None], 1) == [None, None]
    assert asked([], 1) == []


def test_rows_that_are_not_asked_for_are_unknown():
    """[PRU-V-4]"""
    filters = pa.array([made([1]), made([1]), made([2])], pa.binary())
    assert bloom.might_contain(filters, [bloom.hash_long(2)], np.array([True, False, True])).to_pylist() == [
        False, None, True,
    ]  # fmt: skip
    assert bloom.might_contain(filters, [bloom.hash_long(2)], np.zeros(3, np.bool_)).null_count == 3


def test_sliced_arrays():
    """[PRU-BF-2]"""
    values = [made([n], ndv=n + 1) if n % 3 else None for n in range(20)]
    filters = pa.array(values, pa.binary())
    for start, length in ((0, 20), (1, 5), (7, 13), (19, 1), (5, 0)):
        piece = filters.slice(start, length)
        found = bloom.might_contain(piece, [bloom.hash_long(8)], all_true(length)).to_pylist()
        assert found == asked(values[start : start + length], 8)
    assert asked(values, 8)[8] is True


def test_u23_filters_of_version_2_or_of_contradicting_lengths_are_unknown():
    """[PRU-BF-2]"""
    raw = made([1])
    hostile = [
        struct.pack(">i", 2) + raw[4:],
        struct.pack(">iiii", 2, 6, 0, 1) + raw[12:],
        struct.pack(">i", 0) + raw[4:],
        raw[:-1],
        raw + b"\0",
        raw[:11],
        b"",
        struct.pack(">iii", 1, 0, 1) + raw[12:],
        struct.pack(">iii", 1, -1, 1) + raw[12:],
        struct.pack(">iii", 1, 6, 0),
        struct.pack(">iii", 1, 6, -1) + raw[12:],
        struct.pack(">iii", 1, 6, 2**31 - 1) + raw[12:],
    ]
    assert asked(hostile, 77_777_777) == [None] * len(hostile)
    assert asked([*hostile, raw], 77_777_777) == [*[None] * len(hostile), False]


# --- the stream ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [1, 2, 30, 31, 126, 127, 128, 500])
def test_a_filter_comes_out_of_its_stream_as_it_went_in(words):
    raw = bloom.build(pack(list(range(20))), 3, words)
    assert bloom.unwrap(bloom.wrap(raw)) == raw


def test_the_stream_of_a_small_filter_byte_for_byte():
    stream = bloom.wrap(ONE_LONG + bytes(8))
    assert stream.startswith(bytes.fromhex("aced00057372002e") + b"io.xskipper.index.metadata.BloomFilterMetaData")
    assert stream.endswith(b"Lorg/apache/spark/util/sketch/BitArray;xp" + b"w\x14" + ONE_LONG + bytes(8) + b"x")
    assert len(stream) == 332


def test_blocks_are_cut_at_1024_bytes_and_long_ones_carry_four_bytes_of_length():
    stream = bloom.wrap(bloom.build(pack([1]), 3, 255))  # 2052 bytes
    start = stream.index(b"BitArray;xp") + len(b"BitArray;xp")
    assert stream[start : start + 5] == b"z\0\0\4\0"
    assert stream[start + 5 + 1024 :][:5] == b"z\0\0\4\0"
    assert stream[start + 2 * (5 + 1024) :][:2] == b"w\4"


@pytest.mark.parametrize("blocks", [(20,), (1,) * 20, (12, 8), (0, 20), (19, 1)])
def test_a_stream_whose_blocks_are_cut_elsewhere_is_read(blocks):
    raw = ONE_LONG + bytes(range(8))
    head = bloom.wrap(raw).partition(b"BitArray;xp")[0] + b"BitArray;xp"
    pieces, at = [], 0
    for size in blocks:
        pieces.append(b"w" + bytes((size,)) + raw[at : at + size])
        at += size
    assert bloom.unwrap(head + b"".join(pieces) + b"x") == raw


def test_a_stream_with_other_serial_version_uids_and_of_the_older_package_is_read():
    raw = made([1, 2, 3])
    stream = bloom.wrap(raw)
    for name in (b"io.xskipper.index.metadata.BloomFilterMetaData", b"org.apache.spark.util.sketch.BloomFilterImpl"):
        at = stream.index(name) + len(name)
        assert bloom.unwrap(stream[:at] + b"\x12\x34\x56\x78\x9a\xbc\xde\xf0" + stream[at + 8 :]) == raw
    old = stream
    for new, former in (("BloomFilterMetaData", "types.BloomFilterMetaData"), ("MetadataType", "types.MetadataType")):
        before = f"io.xskipper.index.metadata.{new}".encode()
        after = f"com.ibm.metaindex.metadata.index.{former}".encode()
        old = old.replace(struct.pack(">H", len(before)) + before, struct.pack(">H", len(after)) + after)
    assert len(old) > len(stream)
    assert bloom.unwrap(old) == raw


def test_a_stream_with_a_filter_of_version_2_is_carried_as_it_is():
    """[PRU-BF-2]"""
    raw = struct.pack(">iiii", 2, 7, 42, 1) + bytes(8)
    assert bloom.unwrap(bloom.wrap(raw)) == raw


SMALL = bloom.wrap(ONE_LONG + bytes(range(8)))


def test_u35_a_stream_that_ends_early_at_any_byte():
    for end in range(len(SMALL)):
        with pytest.raises(MetadataCorruptError):
            bloom.unwrap(SMALL[:end])


def test_a_stream_with_any_byte_changed_is_refused_or_read_and_nothing_else():
    refused = 0
    for at in range(len(SMALL)):
        for byte in (0x00, 0x7F, 0x80, 0xFF, SMALL[at] ^ 1):
            try:
                found = bloom.unwrap(SMALL[:at] + bytes((byte,)) + SMALL[at + 1 :])
            except MetadataCorruptError:
                refused += 1
            else:
                assert isinstance(found, bytes)
                assert len(found) == 20
    assert refused > 4 * (len(SMALL) - 60)  # all but the serial version UIDs and the filter's own bits


@pytest.mark.parametrize("tail", [b"x", b"\0", b"p", b"w\1a", SMALL])
def test_a_stream_with_something_behind_it(tail):
    with pytest.raises(MetadataCorruptError, match="bytes too many"):
        bloom.unwrap(SMALL + tail)


@pytest.mark.parametrize(
    "name",
    [
        "java.util.HashMap",
        "io.xskipper.index.metadata.MinMaxMetaData",
        "io.xskipper.index.metadata.BloomFilterMetaDat0",
    ],
)
def test_a_stream_of_a_foreign_class(name):
    genuine = "io.xskipper.index.metadata.BloomFilterMetaData"
    head = struct.pack(">H", len(genuine)) + genuine.encode()
    stream = SMALL.replace(head, struct.pack(">H", len(name)) + name.encode())
    with pytest.raises(MetadataCorruptError, match=rf"found: class {name}"):
        bloom.unwrap(stream)


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
def test_a_stream_whose_filter_contradicts_itself(raw):
    with pytest.raises(MetadataCorruptError, match="Bloom filter"):
        bloom.unwrap(bloom.wrap(raw))


@pytest.mark.parametrize("lie", [b"w\xff", b"z\x7f\xff\xff\xff", b"z\xff\xff\xff\xff", b"w\x13"])
def test_a_stream_whose_block_lies_about_its_length(lie):
    with pytest.raises(MetadataCorruptError):
        bloom.unwrap(SMALL.replace(b"w\x14", lie))


def test_what_is_no_stream_at_all():
    for stream in (b"", b"PAR1", b"\xac\xed", b"\xac\xed\x00\x05p", bytes(1000), ONE_LONG + bytes(8)):
        with pytest.raises(MetadataCorruptError):
            bloom.unwrap(stream)


# --- golden files of Spark and Xskipper ---------------------------------------------------------------------------


def golden_streams(shared: Path, *patterns: str) -> Iterator[tuple[str, bytes]]:
    for pattern in patterns:
        for path in sorted((shared / "fixtures").glob(pattern)):
            if not path.is_file():
                continue
            for name in pq.read_schema(path).names:
                if "_bloomfilter" in name:
                    rows = pq.ParquetFile(path).read(columns=[name, "obj_name"]).to_pylist()
                    yield from ((row["obj_name"], row[name]) for row in rows)


def test_golden_streams_round_trip_byte_for_byte(shared):
    streams = list(
        golden_streams(
            shared, "xskipper-1.6.0/metadata/bloomfilter-*/*/*.parquet", "xskipper-1.6.0/metadata/avro/*/*.parquet"
        )
    )
    assert len(streams) == 5 * 7 + 6
    for name, stream in streams:
        assert bloom.wrap(bloom.unwrap(stream)) == stream, name


def test_golden_streams_of_an_earlier_release_differ_in_two_serial_version_uids(shared):
    streams = list(golden_streams(shared, "xskipper/parquet_version_tests/end_to_end/version=4/**/*.parquet"))
    assert len(streams) == 12
    uids = set()
    for name in (b"io.xskipper.index.metadata.MetadataType", b"org.apache.spark.util.sketch.BloomFilterImpl"):
        at = streams[0][1].index(name) + len(name)
        uids |= set(range(at, at + 8))
    for name, stream in streams:
        again = bloom.wrap(bloom.unwrap(stream))
        assert len(again) == len(stream)
        assert {i for i, (one, two) in enumerate(zip(again, stream, strict=True)) if one != two} <= uids, name


def test_golden_streams_of_older_versions_are_read(shared):
    streams = [
        stream
        for version in (1, 2, 3)
        for _, stream in golden_streams(
            shared, f"xskipper/parquet_version_tests/end_to_end/version={version}/**/*.parquet"
        )
    ]
    assert len(streams) >= 30
    for stream in streams:
        assert bloom.unwrap(stream)[:12] == struct.pack(">iii", 1, 7, 14977)


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
def test_every_value_of_the_data_is_found_in_the_golden_filter(shared, case, column):
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
        filters.append(bloom.unwrap(stream))
    assert len(filters) == 7
    for value in set().union(*values_of):
        for held, verdict in zip(values_of, asked(filters, value), strict=True):
            assert verdict or value not in held, value
            outcomes.append((value in held, verdict))
    assert outcomes.count((True, True)) >= 6
    assert outcomes.count((False, False)) >= 30


def test_golden_filters_are_built_again_bit_for_bit(shared):
    """[PRU-BF-3]"""
    home = shared / "fixtures" / "xskipper-1.6.0"
    checked = 0
    for name, stream in golden_streams(shared, "xskipper-1.6.0/metadata/bloomfilter-[si]/*/*.parquet"):
        data = pq.ParquetFile(home / "data/types" / Path(name.rpartition("#")[0]).name).read(columns=["s", "i"])
        raw = bloom.unwrap(stream)
        both = [bloom.build(pack(list(set(data.column(c).to_pylist()) - {None})), 7, 14977) for c in ("s", "i")]
        assert raw in both, name
        checked += 1
    assert checked == 14
