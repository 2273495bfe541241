"""Metadata files are split into parts. Rules: specs/pruning.rst, [PRU-JB]."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.metadatastore.samples import (
    ROOT,
    assert_same,
    bloomfilter,
    files_of,
    minmax,
    table_of,
    valuelist,
)
from xskip.metadata.table import MetadataTable, PartitionColumn, PartitionKey, Requirement
from xskip.metadatastore import codec, splits
from xskip.metadatastore.codec import decode, encode, open_file
from xskip.metadatastore.splits import Part, parts_of
from xskip.metadatastore.versions import WriteOptions


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "GROUP_ROWS", 2)


def read(path: Path, part: Part) -> bytes:
    """Return the bytes that the JVM reads of a part."""
    data = path.read_bytes()
    ranges = [data[start : start + length] for start, length in part.ranges]
    return struct.pack("<q", len(data)) + data[len(data) - part.tail :] + b"".join(ranges)


def sample(count: int) -> MetadataTable:
    numbers = list(range(count))
    lists = [None if n == 1 else [n, n + 1] for n in numbers]
    filters = [None if n == 2 else [str(n).encode()] for n in numbers]
    indexes = [minmax("k.$x", "int", numbers, numbers), valuelist("v", "int", lists), bloomfilter("s", filters)]
    places = [PartitionColumn("p", "int", pa.array([n // 3 for n in numbers], pa.int32()))]
    return table_of(files_of(f"{ROOT}/f#{n}" for n in numbers), indexes, places)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
@pytest.mark.parametrize("groups", [[0], [1, 3], [0, 1, 2, 3]])
def test_a_part_is_these_rows_of_its_file(tmp_path: Path, version: int, groups: list[int]) -> None:
    """[JVM-RG-1] [PRU-JB-2] A part has the rows of its row groups, in any version."""
    path = tmp_path / "file"
    encode(sample(7), ROOT, path, WriteOptions(version))
    file = open_file(path)
    wanted = {PartitionKey("p"), *_keys(file)}
    (part,) = parts_of([file], [(0, group) for group in groups], wanted, has_names=True)
    rows = pa.array([row for group in groups for row in range(2 * group, min(2 * group + 2, 7))])
    assert part.ordinals.tolist() == rows.to_pylist()
    assert_same(part.table(read(path, part), wanted, has_names=True), decode(file).take(rows))


def _keys(file: codec.MetadataFile) -> list[Any]:
    return [index.definition.key for index in file.schema.indexes]


def test_of_a_part_only_what_is_wanted_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-JB-2] A part has no bytes of other columns and row groups."""
    monkeypatch.setattr(splits, "_GAP", 0)
    path = tmp_path / "file"
    encode(sample(7), ROOT, path)
    file = open_file(path)
    wanted: set[Requirement] = {("valuelist", ("v",))}
    (part,) = parts_of([file], [(0, 2)], wanted, has_names=False)
    found = part.table(read(path, part), wanted, has_names=False)
    assert found.indexes["valuelist", ("v",)].values.to_pylist() == [[4, 5], [5, 6]]
    assert (found.files.names.null_count, len(found)) == (2, 2)
    with pytest.raises(Exception, match="belong to no requested column"):
        part.table(read(path, part), {("minmax", ("k.$x",))}, has_names=False)


def test_parts_are_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-JB-2] A file has several parts, with ordinals over all files."""
    monkeypatch.setattr(splits, "_ROWS", 4)
    files = []
    for name in ("one", "other"):
        encode(sample(7), ROOT, tmp_path / name)
        files.append(open_file(tmp_path / name))
    made = parts_of(files, [(i, group) for i in (0, 1) for group in range(4)], set(), has_names=True)
    assert [(part.file, part.groups) for part in made] == [(0, (0, 1)), (0, (2, 3)), (1, (0, 1)), (1, (2, 3))]
    assert np.concatenate([part.ordinals for part in made]).tolist() == list(range(14))
