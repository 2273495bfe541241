"""The cache of what Spark has evaluated."""

from __future__ import annotations

from xskip.protocol.packed_values import Packed
from xskip.spark.catalyst.evaluator import EvaluationCache


def packed(size: int) -> Packed:
    return Packed(b"", b"", bytes(size))


def test_the_least_recently_used_results_go_first() -> None:
    cache = EvaluationCache(10)
    for key in "abc":
        cache.put((key,), packed(3))
    assert cache.get(("a",)) == packed(3)
    cache.put(("d",), packed(4))
    assert [cache.get((key,)) for key in "abcd"] == [packed(3), None, packed(3), packed(4)]
    cache.put(("a",), packed(3))  # a second time counts once
    assert [cache.get((key,)) for key in "acd"] == [packed(3), packed(3), packed(4)]


def test_results_larger_than_the_cache_are_left_out() -> None:
    cache = EvaluationCache(10)
    cache.put(("a",), packed(10))
    cache.put(("b",), packed(11))
    assert [cache.get((key,)) for key in "ab"] == [packed(10), None]
