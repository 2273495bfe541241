"""Bloom filters have the hashes, bits and bytes of Spark's implementation."""

from __future__ import annotations

import struct
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from tests.filters import asked, made, pack
from tests.reference import all_true
from xskip.types import bloom_bits

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


def bits_of(raw: bytes) -> list[int]:
    words = np.frombuffer(raw[12:], ">u8").astype("<u8")
    found: list[int] = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()
    return found


def test_hashes_of_bytes_against_the_published_murmur3() -> None:
    """Hashes agree with Murmur3_x86_32, seed 0, for lengths without a tail, which Spark hashes differently."""
    assert bloom_bits.hash_bytes(b"test")[0] == 0xBA6BD213 - (1 << 32)
    assert bloom_bits.hash_bytes(b"")[0] == 0
    assert bloom_bits.hash_bytes(b"\0\0\0\0")[0] == 0x2362F9DE


def test_hashes_of_longs_are_those_of_their_eight_bytes() -> None:
    for value in (0, 1, -1, 42, 2**63 - 1, -(2**63)):
        assert bloom_bits.hash_long(value) == bloom_bits.hash_bytes(struct.pack("<q", value))


def test_bytes_above_7f_in_a_tail_are_sign_extended() -> None:
    """[SND-23] [PRU-BF-3] Spark widens each byte of a tail to an int, so that 0xFF is -1 and not 255."""
    assert bloom_bits.hash_bytes(b"\xff")[0] == 1645243454  # a whole word of -1, and a length of 1
    assert bloom_bits.hash_bytes(b"\x7f")[0] == -1149661590  # a whole word of 127, and a length of 1


@pytest.mark.parametrize("values", SPARK_BITS, ids=str)
def test_the_bits_that_spark_sets(values: Any) -> None:
    """[SND-23] [PRU-BF-3] The bits of a filter are those that Spark sets."""
    assert bits_of(bloom_bits.build(pack(list(values)), 7, 14977)) == SPARK_BITS[values]


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
def test_sizes_are_those_of_spark(items: int, fpp: float, hash_functions: int, words: int) -> None:
    assert bloom_bits.size_for(items, fpp) == (hash_functions, words)


def test_a_filter_starts_with_its_header() -> None:
    raw = bloom_bits.build(pack([5]), 3, 2)
    assert raw[:12] == struct.pack(">iii", 1, 3, 2)
    assert len(raw) == 12 + 2 * 8
    assert 1 <= len(bits_of(raw)) <= 3


def test_a_filter_never_forgets_a_value() -> None:
    """[PRU-BF-1]"""
    longs = [0, 1, -1, 2**31, -(2**31), 2**63 - 1, -(2**63), *range(1000, 1300)]
    texts = [b"", b"a", b"ab", b"abc", b"abcd", b"abcde", "é\U0001f600".encode(), b"\xff\xfe\xfd", b"x" * 1000]
    for values in (longs, texts):
        filters = [made(values), made(values, fpp=0.5), made(values, ndv=1), made(values, ndv=100_000)]
        for value in values:
            assert asked(filters, value) == [True] * 4, value


def test_an_empty_filter_holds_nothing() -> None:
    """[PRU-BF-4]"""
    assert asked([made([])], 0, 1, b"") == [False]


def test_absent_values_are_found_absent_and_the_rate_is_near_the_one_asked_for() -> None:
    """[PRU-BF-1]"""
    for fpp in (0.1, 0.01):
        filters = [made(list(range(n, n + 50)), fpp=fpp) for n in range(0, 50_000, 50)]
        wrong = sum(sum(cast("list[bool]", asked(filters, value))) for value in range(100_000, 100_010))
        assert 0.5 * fpp < wrong / 10_000 < 1.5 * fpp


def test_one_of_several_values_is_enough() -> None:
    """[PRU-BF-1]"""
    raw = made([1, 2, 3])
    assert asked([raw], 77_777_777, 2) == [True]
    assert asked([raw], 77_777_777, 88_888_888) == [False]


def test_no_values_are_in_no_filter() -> None:
    """[PRU-BF-1]"""
    assert asked([made([1])]) == [False]


def test_filters_of_many_sizes_and_hash_functions_are_asked_at_once() -> None:
    """[PRU-BF-2]"""
    filters = [made([n], fpp=fpp, ndv=ndv) for n, (fpp, ndv) in enumerate(
        (fpp, ndv) for fpp in (0.5, 0.1, 0.01, 0.0001) for ndv in (1, 10, 1000, 50_000)
    )]  # fmt: skip
    for n in range(len(filters)):
        alone = [asked([raw], n)[0] for raw in filters]
        assert asked(filters, n) == alone
        assert alone[n] is True
        assert False in alone


def test_null_filters_are_unknown() -> None:
    """[PRU-BF-2]"""
    raw = made([1])
    assert asked([None, raw, None], 1) == [None, True, None]
    assert asked([None, None], 1) == [None, None]
    assert asked([], 1) == []


def test_rows_that_are_not_asked_for_are_unknown() -> None:
    """[PRU-V-4]"""
    filters = pa.array([made([1]), made([1]), made([2])], pa.binary())
    found = bloom_bits.might_contain(filters, [bloom_bits.hash_long(2)], np.array([True, False, True]))
    assert found.to_pylist() == [False, None, True]
    assert bloom_bits.might_contain(filters, [bloom_bits.hash_long(2)], np.zeros(3, np.bool_)).null_count == 3


def test_sliced_arrays() -> None:
    """[PRU-BF-2] Slices of an array of filters give the verdicts of their rows."""
    values = [made([n], ndv=n + 1) if n % 3 else None for n in range(20)]
    filters = pa.array(values, pa.binary())
    for start, length in ((0, 20), (1, 5), (7, 13), (19, 1), (5, 0)):
        piece = filters.slice(start, length)
        found = bloom_bits.might_contain(piece, [bloom_bits.hash_long(8)], all_true(length)).to_pylist()
        assert found == asked(values[start : start + length], 8)
    assert asked(values, 8)[8] is True


def test_filters_of_version_2_or_of_contradicting_lengths_are_unknown() -> None:
    """[SND-23] [PRU-BF-2]"""
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
