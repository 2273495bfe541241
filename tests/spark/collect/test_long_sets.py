"""The sets of longs of the build's kernel, against numpy: with random values, zeros, growth and reuse."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.spark.collect.java_structures import JavaSet, Longs

SETS = ("DistinctLongs", "LongSet")
#: Around the least capacity, the size of a partition, and the sizes at which the sets grow.
SIZES = (0, 1, 2, 3, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8193, 20_000, 70_000)
#: The inverse, modulo 2**64, of the multiplier by which the sets hash.
INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))
KINDS = ("mixed", "few", "equal", "zeros", "consecutive", "extreme", "one partition")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator whose seed pytest prints with a failure."""
    seed = int(time.time())
    sys.stdout.write(f"seed {seed}\n")
    return np.random.default_rng(seed)


@pytest.fixture(params=SETS)
def values_in_java(request: pytest.FixtureRequest, session: SparkSession) -> JavaSet:
    return JavaSet(session, request.param)


def random_longs(rng: np.random.Generator, size: int) -> Longs:
    return rng.integers(-(2**63), 2**63 - 1, size, np.int64, endpoint=True)


def some(rng: np.random.Generator, kind: str, size: int) -> Longs:
    """Returns values of a kind, in random order."""
    match kind:
        case "few":
            return rng.choice(random_longs(rng, 10), size)
        case "equal":
            return np.full(size, random_longs(rng, 1)[0])
        case "zeros":
            return np.where(rng.random(size) < 0.5, 0, random_longs(rng, size))
        case "consecutive":
            return rng.permutation(np.arange(size, dtype=np.int64) - size // 2)
        case "extreme":
            return rng.choice(np.array([-(2**63), 2**63 - 1, -1, 0, 1], np.int64), size)
        case "one partition":  # the hashes of these values differ only in their lowest bits: probes are long
            return np.asarray(rng.permutation(min(size, 5000)).astype(np.uint64) * INVERSE).astype(np.int64)
        case _:
            return random_longs(rng, size)


def distinct(parts: Sequence[Longs]) -> Longs:
    return np.unique(np.concatenate(parts))


@pytest.mark.parametrize("kind", KINDS)
def test_sets_of_any_size(values_in_java: JavaSet, rng: np.random.Generator, kind: str) -> None:
    """The same set is reused for sizes in random order, as a task reuses it for its files."""
    for size in rng.permutation(np.array(SIZES)).tolist():
        values = some(rng, kind, size)
        values_in_java.add(values)
        assert np.array_equal(values_in_java.values(), np.unique(values)), size
        values_in_java.clear()
        assert len(values_in_java.values()) == 0


def test_values_that_come_in_parts(values_in_java: JavaSet, rng: np.random.Generator) -> None:
    """The set is read between additions; values of earlier parts return in later ones."""
    for _ in range(5):
        parts: list[Longs] = []
        for size in rng.integers(0, 3000, 5).tolist():
            earlier = rng.choice(distinct(parts), size) if parts and len(distinct(parts)) else random_longs(rng, size)
            parts += [some(rng, str(rng.choice(KINDS)), size), earlier]
            values_in_java.add(np.concatenate(parts[-2:]))
            assert np.array_equal(values_in_java.values(), distinct(parts))
        values_in_java.clear()


def test_zero_is_a_value_like_any_other(values_in_java: JavaSet) -> None:
    for values, expected in (([0], [0]), ([0, 0, 5, 0], [0, 5]), ([5], [5]), ([], [])):
        values_in_java.add(np.array(values, np.int64))
        assert values_in_java.values().tolist() == expected
        values_in_java.clear()


def test_the_size_of_a_set(session: SparkSession, rng: np.random.Generator) -> None:
    """``LongSet`` has a size at any time, for the limit of a value list."""
    values_in_java = JavaSet(session, "LongSet")
    for size in (0, 1, 5000, 10):
        values = some(rng, "zeros", size)
        values_in_java.add(values)
        assert values_in_java.size() == len(np.unique(values))
        values_in_java.clear()
        assert values_in_java.size() == 0
