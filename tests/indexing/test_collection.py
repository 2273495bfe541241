"""Tests of the chunks in which builds collect files, and of the times of indexes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xskip import MinMax
from xskip.indexing.collection import chunk_ends
from xskip.metadata.table import IndexDefinition
from xskip.spark.collect.build_costs import BuildCosts
from xskip.spark.collect.planned_index import PlannedIndex


def ends_one_by_one(sizes: list[int], most_files: int, most_bytes: int) -> list[int]:
    """Return the ends of chunks that take file after file while both limits allow it."""
    ends, start, volume = list[int](), 0, 0
    for i, size in enumerate(sizes):
        if i > start and (i - start >= most_files or volume + size > most_bytes):
            ends.append(i)
            start, volume = i, 0
        volume += size
    return [*ends, len(sizes)] if sizes else []


@given(st.lists(st.sampled_from([0, 1, 2, 3, 50, 2**40])), st.integers(1, 6), st.integers(1, 60))
def test_a_chunk_ends_where_a_limit_is_reached(sizes: list[int], most_files: int, most_bytes: int) -> None:
    found = chunk_ends(np.array(sizes, np.int64), most_files, most_bytes)
    assert list(found) == ends_one_by_one(sizes, most_files, most_bytes)


@pytest.mark.parametrize(("most_bytes", "ends"), [(9, [1, 2]), (10, [1, 2]), (20, [2])])
def test_a_large_file_is_a_chunk_of_its_own(most_bytes: int, ends: list[int]) -> None:
    assert list(chunk_ends(np.array([10, 10]), 100, most_bytes)) == ends


def test_indexes_share_the_time_of_a_pass_equally(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time counts also if the pass fails, because the build then reads the files once more."""
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("xskip.spark.collect.build_costs.time.monotonic", lambda: next(clock))
    costs = BuildCosts()
    planned = [PlannedIndex(MinMax(c), (c,), IndexDefinition("minmax", (c,)), pa.int32()) for c in "ab"]
    with costs.of(*planned):
        pass
    assert list(costs.seconds.values()) == [5, 5]
    with pytest.raises(OSError, match="unreadable"), costs.of(planned[0]):
        raise OSError("unreadable")
    assert list(costs.seconds.values()) == [15, 5]
