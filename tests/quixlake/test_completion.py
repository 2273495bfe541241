"""Tests of the completion of batches with many segments, without Spark."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from xskip.metadatastore import filesystem
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake.completion import Completion
from xskip.quixlake.manifests import SEGMENTS, Manifest, batch_name
from xskip.spark.quixlake.segments import PendingUpload


class NoMoves:
    """Names of segments that are free; the segments themselves do not exist."""

    def rename(self, topic: str, moves: Sequence[tuple[str, str, str]], ending: str) -> list[bool]:
        assert len(moves) <= 2_000
        return [False] * len(moves)

    def complete(self, topic: str, uploads: Sequence[str]) -> None:
        raise AssertionError("no segment has an upload")

    def uploads(self, folder: str) -> Sequence[PendingUpload]:
        raise AssertionError("no segment has an upload")


def segments(keys: int, each: int) -> pa.Table:
    """Return segments of stream keys, with a number of segments for each."""
    number = np.arange(keys * each)
    key = pc.binary_join_element_wise("key-", pa.array(number // each).cast(pa.string()), "")
    text = pa.array(number).cast(pa.string())
    texts = {
        "folder": pc.binary_join_element_wise("Key=", key, "/Start=1970-01-01", ""),
        "hidden": pc.binary_join_element_wise("._xskip-0123456789abcdef0123456789abcdef-", text, ""),
        "name": pc.binary_join_element_wise("ts_", text, "_", text, "_part_0_off_", text, "_", text, ".avro", ""),
        "stream_key": key,
    }
    numbers = dict.fromkeys(SEGMENTS.names[4:-1], number) | {"partition": np.zeros_like(number)}
    return pa.table(texts | numbers | {"upload": pa.nulls(len(number), pa.string())}, SEGMENTS)


def complete(base: Path, keys: int, each: int) -> int:
    """Commit and complete a batch, and return the greatest number of bytes of Python's objects meanwhile."""
    completion = Completion(LocalStorage(), NoMoves(), str(base), "t")
    manifest = Manifest(batch_name(str(base)), "token", 1, 1_000, segments(keys, each))
    tracemalloc.start()
    try:
        assert completion.log.commit(manifest)
        completion.complete(manifest)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_memory_of_python_does_not_grow_with_the_number_of_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-SK-5]"""
    monkeypatch.setattr(filesystem, "_sync", lambda _: None)  # a busy disk takes seconds
    complete(tmp_path / "warm", 1, 10)
    few, many = complete(tmp_path / "few", 2, 1_000), complete(tmp_path / "many", 20, 1_000)
    assert many < 1.5 * few + (1 << 20)
    of_keys = complete(tmp_path / "keys", 200, 1)
    assert of_keys < 1.5 * few + (1 << 20)
    described = [pq.read_table(path) for path in (tmp_path / "many").rglob("index_raw_*.parquet")]
    assert sorted(map(len, described)) == [1_000] * 20
    offsets = pa.concat_tables(described)["StartOffset"]
    assert len(pc.unique(offsets)) == len(offsets) == 20_000
