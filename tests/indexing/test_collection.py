"""Tests of the chunks in which builds collect files, and of the times of indexes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xskip import MinMax
from xskip.errors import CollectError
from xskip.indexing.collection import Positions, chunk_ends, collect
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


@dataclass
class Reader:
    """A collector whose errors name no file of the chunk; it returns the chunk that it has read."""

    bad: frozenset[int]
    most: int = 1000
    reads: int = 0
    listed: Any = field(init=False)

    def __post_init__(self) -> None:
        names = pa.array([f"/d/{i}" for i in range(100)])
        paths = partial(map, "file:/d/{}".format)
        self.listed = SimpleNamespace(files=SimpleNamespace(names=names), paths_of=paths)

    def collect(self, chunk: Positions) -> Positions:
        self.reads += 1
        if len(chunk) > self.most or self.bad.intersection(chunk.tolist()):
            raise CollectError("cannot read", where="/d/another", found="damage")
        return chunk


@pytest.mark.parametrize("bad", [(), (3,), (60,), (99,), (3, 4), (0, 50, 99), tuple(range(3, 100, 4))])
def test_files_that_cannot_be_read_are_found_without_their_names(bad: tuple[int, ...]) -> None:
    chunk, reader, unreadable = np.arange(3, 100), Reader(frozenset(bad)), dict[str, str]()
    kept: Any = collect(reader, chunk, unreadable)  # type: ignore[arg-type]
    left_out = sorted(set(bad) & set(chunk.tolist()))
    assert kept.tolist() == [i for i in chunk.tolist() if i not in left_out]
    assert unreadable == {f"file:/d/{i}": "damage" for i in left_out}
    assert reader.reads <= 1 + 9 * len(left_out)
    if left_out:
        with pytest.raises(CollectError) as error:
            collect(Reader(frozenset(bad)), chunk)  # type: ignore[arg-type]
        assert error.value.where in unreadable


def test_an_error_that_no_single_file_causes_is_raised() -> None:
    unreadable = dict[str, str]()
    with pytest.raises(CollectError) as error:
        collect(Reader(frozenset(), most=50), np.arange(100), unreadable)  # type: ignore[arg-type]
    assert (error.value.where, unreadable) == ("/d/another", {})


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
