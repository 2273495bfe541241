"""Metadata that would exhaust the driver's memory or time is refused. Rules: [MDS-D-5] [MDS-D-6] [MDS-D-7]."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.metadatastore.samples import (
    ROOT,
    commit,
    files_of,
    minmax,
    numbered_table,
    opened,
    put_foreign,
    table_of,
    valuelist,
)
from xskip.errors import MetadataCorruptError
from xskip.metadata.data_files import DataFiles, compare_files
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.bounded_read import read_bounded
from xskip.metadatastore.codec import READING
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.legacy.java_stream import JavaValue, parse_stream
from xskip.metadatastore.snapshot import open_snapshot
from xskip.metadatastore.unreadable_indexes import UnreadableIndexes
from xskip.metadatastore.versions import WriteOptions
from xskip.settings import METADATA_BYTES

DISK = LocalStorage()
ROWS, STREAMS = 20_000, 2_000
LONG = "x" * 4_000
#: They outlive what is allocated from them.
POOLS: list[pa.MemoryPool] = []


@contextmanager
def counted_memory() -> Iterator[pa.MemoryPool]:
    """Yield a pool from which Arrow allocates all memory during the body."""
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    POOLS.append(pool)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(usual)


def long_names() -> MetadataTable:
    """Return many rows with the same long name."""
    times = pa.array([1_700_000_000_000] * ROWS, pa.int64())
    return table_of(DataFiles(pa.array([LONG] * ROWS), pa.nulls(ROWS, pa.int64()), times))


def one_long_list() -> MetadataTable:
    """Return a row whose list contains a long string many times."""
    return table_of(files_of(["a", "b"]), [valuelist("s", "string", [[LONG] * ROWS, ["y"]])])


def many_bounds() -> MetadataTable:
    """Return many rows with long strings as bounds."""
    names = [f"{ROOT}/{i}" for i in range(ROWS)]
    return table_of(files_of(names), [minmax("s", "string", [LONG] * ROWS, [LONG + "y"] * ROWS)])


def repeated_streams() -> MetadataTable:
    """Return rows with the same serialised object."""
    names = [f"{ROOT}/{i}" for i in range(STREAMS)]
    return table_of(files_of(names), [valuelist("s", "string", [["a", "b"] * 20] * STREAMS)])


@pytest.mark.parametrize("table_of_much", [long_names, one_long_list, many_bounds], ids=["names", "list", "bounds"])
def test_values_are_not_taken_beyond_the_limit(table_of_much: Callable[[], MetadataTable], tmp_path: Path) -> None:
    """[MDS-D-5] A small file with at least 80 MB of values is loaded only if the setting allows it."""
    put_foreign(tmp_path / "md", [table_of_much()])
    assert sum(p.stat().st_size for p in (tmp_path / "md").iterdir()) < 1_000_000
    refused = open_snapshot(DISK, str(tmp_path / "md"), limit=40 << 20)
    assert refused is not None
    with pytest.raises(MetadataCorruptError, match=r"spark\.xskip\.metadata\.maxBytes"):
        refused.load()
    allowed = open_snapshot(DISK, str(tmp_path / "md"), limit=400 << 20)
    assert allowed is not None
    assert allowed.load().nbytes > 80_000_000


def test_no_more_than_the_limit_is_in_memory(tmp_path: Path) -> None:
    """[MDS-D-5] The memory of Arrow never exceeds the limit by much, not even for a moment."""
    limit = 16 << 20
    put_foreign(tmp_path / "md", [long_names()])
    (by_default,) = opened(tmp_path / "md").metadata_files
    assert by_default.limit == METADATA_BYTES.default
    with counted_memory() as memory:
        snapshot = open_snapshot(DISK, str(tmp_path / "md"), limit=limit)
        assert snapshot is not None
        with pytest.raises(MetadataCorruptError, match="exceeds the memory limit"):
            snapshot.load()
    assert limit < memory.max_memory() < 2.7 * limit


def zigzag(number: int) -> bytes:
    """Return a number in Thrift's compact protocol."""
    left, made = number << 1, bytearray()
    while left >= 128:
        made.append(left & 127 | 128)
        left >>= 7
    return bytes([*made, left])


@pytest.mark.parametrize("forged", ["", "file", "row group", "file and row group"])
def test_columns_of_numbers_are_bounded_before_they_are_read(forged: str, tmp_path: Path) -> None:
    """[MDS-D-5] A few kilobytes with ten million numbers are refused, also if footers declare fewer rows."""
    path, limit, actual, told = tmp_path / "f.parquet", 20 << 20, 10_000_000, 1_060_000
    pq.write_table(pa.table({"a": np.zeros(actual, "i8")}), path, row_group_size=actual, write_statistics=False)
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    before, *parts = data[start:].split(zigzag(actual))
    numbers = [zigzag(actual)] * len(parts)  # the first is the file's, the last the row group's
    if "file" in forged:
        numbers[0] = zigzag(told)
    if "row group" in forged:
        numbers[-1] = zigzag(told)
    changed = before + b"".join(number + part for number, part in zip(numbers, parts, strict=True))
    path.write_bytes(data[:start] + changed)
    with counted_memory() as memory:
        reader = pq.ParquetFile(path, **READING)
        if "row group" in forged:
            assert len(read_bounded(reader, ["a"], [0], limit)) == told
        else:
            with pytest.raises(MetadataCorruptError, match="exceeds the memory limit"):
                read_bounded(reader, ["a"], [0], limit)
    rows = (reader.metadata.num_rows, reader.metadata.row_group(0).num_rows)
    assert rows == (told if "file" in forged else actual, told if "row group" in forged else actual)
    assert 0 < memory.max_memory() < 2 * limit


def test_what_files_account_for_is_loaded(tmp_path: Path) -> None:
    """[MDS-D-5] Values of up to 32 times the size of their files are loaded, whatever the setting."""
    commit(DISK, str(tmp_path / "md"), tmp_path / "scratch", [numbered_table(0, 3000), numbered_table(3000, 6000)])
    snapshot = open_snapshot(DISK, str(tmp_path / "md"), limit=1)
    assert snapshot is not None
    assert len(snapshot.load()) == 6000


def test_the_limit_is_of_all_files_together(tmp_path: Path) -> None:
    """[MDS-D-5] The limit applies to the sum of all files."""
    part = many_bounds().take(pa.array(range(1500)))
    put_foreign(tmp_path / "md", [part] * 6)
    for limit, fits in ((40 << 20, False), (100 << 20, True)):
        snapshot = open_snapshot(DISK, str(tmp_path / "md"), limit=limit)
        assert snapshot is not None
        if fits:
            assert len(snapshot.load()) == 9000
        else:
            with pytest.raises(MetadataCorruptError, match="exceeds the memory limit"):
                snapshot.load()


def test_streams_that_are_the_same_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-D-7] Repeated streams are parsed once."""
    from xskip.metadatastore.legacy import java_values

    put_foreign(tmp_path / "md", [repeated_streams()], WriteOptions(0))
    read: list[int] = []

    def parse(data: bytes, known: Collection[str]) -> JavaValue:
        read.append(len(data))
        return parse_stream(data, known)

    monkeypatch.setattr(java_values, "parse_stream", parse)
    lists = opened(tmp_path / "md").load().indexes["valuelist", ("s",)].values
    assert len(read) == 1
    assert lists[0].as_py() == lists[STREAMS - 1].as_py()


def of_one_name(times: list[int], sizes: list[int | None]) -> DataFiles:
    """Return files with the same name that differ only in time and size."""
    return DataFiles(pa.array(["a"] * len(times)), pa.array(sizes, pa.int64()), pa.array(times, pa.int64()))


def test_one_name_in_many_rows() -> None:
    """[MDS-D-7] The row of a time and size is found among many rows of one name in linear time."""
    count = 300_000
    known = of_one_name(list(range(count)), [5] * count)
    fresh, there = compare_files(of_one_name([count - 1], [5]), known)
    assert (fresh.tolist(), np.flatnonzero(there).tolist()) == ([], [count - 1])
    fresh, there = compare_files(of_one_name([count - 1], [6]), known)
    assert (fresh.tolist(), bool(there.any())) == ([0], False)


def test_rows_of_one_name_and_time() -> None:
    """[MDS-D-7] The first row of a name, time and size counts; a row without a size matches any size."""
    known = of_one_name([1, 2, 2, 2, 3], [5, 6, None, 6, 7])
    for time, size, kept in ((1, 5, [0]), (2, 6, [1]), (2, 9, [2]), (3, 7, [4]), (3, 8, []), (4, 7, [])):
        fresh, there = compare_files(of_one_name([time], [size]), known)
        assert np.flatnonzero(there).tolist() == kept
        assert fresh.tolist() == ([] if kept else [0])


def test_failures_are_remembered_until_the_directory_changes(tmp_path: Path) -> None:
    """[MDS-D-6] A repeated failure raises the same error without opening the files."""
    md = tmp_path / "md"
    commit(DISK, str(md), tmp_path / "scratch", [numbered_table(0, 3)])
    failures, error = UnreadableIndexes(), MetadataCorruptError("what", where="w", found="f", expected="e", hint="h")
    assert failures.remember(str(md), error) is False  # nobody has looked
    failures.look(DISK, str(md))
    failures.look(DISK, str(md))
    assert failures.remember(str(md), KeyError("k")) is False
    failures.look(DISK, str(md))
    assert failures.remember(str(md), error) is True
    for _ in range(2):
        with pytest.raises(MetadataCorruptError) as caught:
            failures.look(DISK, str(md))
        assert str(caught.value) == str(error)
    (md / "_commits/00000000000000000002.json").write_bytes(b"{}")
    failures.look(DISK, str(md))
    failures.remember(str(md), error)
    failures.forget(str(md))
    failures.look(DISK, str(md))
