"""Tests of manifests and of what a store remembers of them, without Spark."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from xskip.errors import MetadataCorruptError
from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake.compacted import Compactions
from xskip.quixlake.manifests import SEGMENTS, Manifest, ManifestLog, compaction_name

FOLDER = "Topic=t"
PLACE = "Key=k/Start=2025-08-21"


class Counting(LocalStorage):
    """A storage that counts the files that it reads and the folders that it lists."""

    def __init__(self) -> None:
        self.read_files = self.listed = 0

    def read(self, path: str) -> bytes:
        self.read_files += 1
        return super().read(path)

    def list(self, directory: str) -> Any:
        self.listed += 1
        return super().list(directory)


def paths(count: int, first: int = 0) -> pa.Array:
    below = f"Raw/{FOLDER}/{PLACE}"
    places = ((1_755_734_400_000 + i, i) for i in range(first, first + count))
    return pa.array([f"{below}/ts_{at}_{at + 9}_part_0_off_{i}_{i}.avro.snappy" for at, i in places], pa.string())


def manifest(number: int, replaced: pa.Array, added: tuple[str, ...] = ("x.avro",)) -> Manifest:
    row = {"folder": PLACE, "stream_key": "k"} | dict.fromkeys(SEGMENTS.names[4:-1], 1)
    rows = [row | {"hidden": f"._xskip-{name}", "name": name} for name in added]
    return Manifest(compaction_name(number), f"token{number}", 7, 9, pa.Table.from_pylist(rows, SEGMENTS), replaced)


def former(of: Manifest) -> bytes:
    """Return a manifest whose metadata name the replaced segments."""
    fields = {name: getattr(of, name) for name in ("batch", "token", "created", "index_rows")}
    fields["replaced"] = of.replaced.to_pylist()
    table = of.segments.drop_columns("upload").replace_schema_metadata({"xskip.batch": json.dumps(fields)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("write", [Manifest.to_bytes, former], ids=["present", "former"])
@pytest.mark.parametrize("count", [0, 1, 2_000])
@pytest.mark.parametrize("added", [(), ("x.avro", "y.avro")], ids=["none", "two"])
def test_a_manifest_holds_its_fields(write: Callable[[Manifest], bytes], count: int, added: tuple[str, ...]) -> None:
    """[QLK-CP-2] [QLK-CP-6]"""
    one = manifest(3, paths(count), added)
    found = Manifest.from_bytes(write(one))
    for name in ("batch", "token", "created", "index_rows"):
        assert getattr(found, name) == getattr(one, name)
    assert found.segments.equals(one.segments)
    assert found.replaced.equals(one.replaced)


def test_a_manifest_is_small() -> None:
    """[QLK-CP-6]"""
    replaced = paths(10_000)
    assert len(manifest(1, replaced).to_bytes()) < replaced.nbytes / 5


def test_a_damaged_manifest_is_an_error() -> None:
    """[QLK-SK-3]"""
    data = manifest(1, paths(100)).to_bytes()
    for length in range(0, len(data), 7):
        with pytest.raises(MetadataCorruptError):
            Manifest.from_bytes(data[:length])


def test_each_manifest_is_read_once(tmp_path: Path) -> None:
    """[QLK-CP-6] A store reads new manifests and marks, and lists the others."""
    storage = Counting()
    log = ManifestLog(storage, f"{tmp_path}/Metadata/{FOLDER}")
    compactions = Compactions(storage, str(tmp_path))
    for number in range(1, 6):
        one = manifest(number, paths(10, 10 * number))
        assert log.commit(one)
        if number != 3:
            log.mark(one)
    storage.read_files = storage.listed = 0
    found = compactions.compacted([FOLDER])
    assert sorted(found.replaced.to_pylist()) == sorted(paths(20, 10).to_pylist() + paths(20, 40).to_pylist())
    below = f"Raw/{FOLDER}/{PLACE}/x.avro"
    assert found.pending.to_pylist() == [below, f"{below}.token3"]
    assert (storage.read_files, storage.listed) == (9, 1)
    assert compactions.compacted([FOLDER]).replaced.equals(found.replaced)
    assert (storage.read_files, storage.listed) == (9, 2)
    log.mark(manifest(3, paths(0)))
    assert len(compactions.compacted([FOLDER]).replaced) == 50
    assert (storage.read_files, storage.listed) == (10, 3)
    (tmp_path / "Metadata" / FOLDER / "_xskip" / f"{compaction_name(4)}.arrow").unlink()
    assert len(compactions.compacted([FOLDER]).replaced) == 40
    assert storage.read_files == 10


def test_a_damaged_manifest_replaces_nothing(tmp_path: Path) -> None:
    """[QLK-CP-2]"""
    storage = LocalStorage()
    path = f"{tmp_path}/Metadata/{FOLDER}/_xskip/{compaction_name(1)}"
    storage.put_if_absent(f"{path}.arrow", b"ARROW1")
    storage.put_if_absent(f"{path}.done", b'{"token": "token1"}')
    found = Compactions(storage, str(tmp_path)).compacted([FOLDER])
    assert len(found.replaced) == len(found.pending) == 0


@pytest.mark.parametrize("count", [5, 500])
def test_excluded_files_do_not_count(tmp_path: Path, count: int) -> None:
    """[QLK-CP-2] For listings with fewer and with more files than the compactions have replaced."""
    storage = LocalStorage()
    log = ManifestLog(storage, f"{tmp_path}/Metadata/{FOLDER}")
    for number, (first, is_complete) in enumerate([(0, True), (50, True), (100, False)], 1):
        one = manifest(number, paths(50, first), (f"{number}.avro",))
        log.commit(one)
        if is_complete:
            log.mark(one)
    names = pa.concat_arrays([paths(count, 98), pa.array([f"Raw/{FOLDER}/{PLACE}/{n}.avro" for n in (2, 3)])])
    files = DataFiles(names, pa.nulls(len(names), pa.int64()), pa.nulls(len(names), pa.int64()))
    found = Compactions(storage, str(tmp_path)).compacted([FOLDER]).without_excluded(files)
    assert found.names.to_pylist() == [*paths(count - 2, 100).to_pylist(), f"Raw/{FOLDER}/{PLACE}/2.avro"]


def test_many_replaced_segments_need_little_memory_in_python(tmp_path: Path) -> None:
    """[QLK-CP-6]"""
    log = ManifestLog(LocalStorage(), f"{tmp_path}/Metadata/{FOLDER}")
    for number in range(1, 11):
        one = manifest(number, paths(10_000, 10_000 * number))
        log.commit(one)
        log.mark(one)
    tracemalloc.start()
    try:
        assert len(Compactions(LocalStorage(), str(tmp_path)).compacted([FOLDER]).replaced) == 100_000
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_marks_without_a_manifest_are_removed_but_for_the_last(tmp_path: Path) -> None:
    """[QLK-CP-3] [QLK-CP-5] The last mark stays, so that no number is given twice, and so do recent marks."""
    log = ManifestLog(LocalStorage(), f"{tmp_path}/Metadata/{FOLDER}")
    folder = tmp_path / "Metadata" / FOLDER / "_xskip"

    def compacted(number: int) -> str:
        one = manifest(number, paths(1, number))
        assert log.commit(one)
        log.mark(one)
        os.utime(folder / f"{one.batch}.done", (number, number))
        return one.batch

    for number in range(1, 4):
        recorded = log.recorded()
        assert recorded.next_compaction == compacted(number)
        log.forget([compaction_name(number)], log.recorded(), 10_000)
        assert [path.name for path in folder.iterdir()] == [f"{compaction_name(number)}.done"]
    first, *others = [compacted(number) for number in range(4, 8)]
    log.forget([first], log.recorded(), 3_500)
    assert sorted(log.recorded().marks) == [first, *others]
    log.forget([], log.recorded(), 10_000)
    assert sorted(log.recorded().marks) == others
