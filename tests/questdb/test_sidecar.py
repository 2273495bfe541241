"""The files ``_pm`` beside Parquet partitions [QDB-PM]."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.questdb.sidecars import Pair, SidecarFile
from xskip.errors import TableDamagedError, TableVersionError
from xskip.questdb_files.metadata_file import Column, Metadata
from xskip.questdb_files.parquet_partitions import ParquetPartition
from xskip.questdb_files.partition_names import Clock, PartitionUnit
from xskip.questdb_files.sidecar import ColumnChunk, RowGroup, Sidecar, SidecarColumn, read_sidecar

Bounds = list[Pair]

COLUMNS = [("ts", 0, 8), ("é", 3, 26)]


def long(value: int) -> bytes:
    return struct.pack("<q", value)


def write(folder: Path, file: SidecarFile) -> Path:
    path = folder / "_pm"
    path.write_bytes(file.data)
    return path


def test_the_content_of_a_version(tmp_path: Path) -> None:
    """[QDB-PM-1]: statistics are in their slot or behind the group; later bytes do not count."""
    groups: list[tuple[int, Bounds]] = [
        (5, [(long(-1), long(9)), (b"a", b"a longer text")]),
        (7, [(long(9), long(20)), None]),
    ]
    file = SidecarFile(COLUMNS, 0).version(1000, groups)
    file.data += b"\xff" * 77
    found = read_sidecar(write(tmp_path, file), 1000)
    assert found == Sidecar(
        (SidecarColumn("ts", 0, 8), SidecarColumn("é", 3, 26)),
        0,
        (
            RowGroup(5, (ColumnChunk(5, 0, long(-1), long(9)), ColumnChunk(5, 0, b"a", b"a longer text"))),
            RowGroup(7, (ColumnChunk(7, 0, long(9), long(20)), ColumnChunk(7, 0, None, None))),
        ),
    )
    assert found.time_bounds() == [(-1, 9), (9, 20)]


def test_bounds_of_time_that_are_unknown(tmp_path: Path) -> None:
    """[QDB-PM-4]."""
    file = SidecarFile(COLUMNS, 0).version(1000, [(5, [None, None])])
    assert read_sidecar(write(tmp_path, file), 1000).time_bounds() is None
    file = SidecarFile(COLUMNS, -1).version(1000, [(5, [(long(1), long(2)), None])])
    assert read_sidecar(write(tmp_path, file), 1000).time_bounds() is None


def test_the_version_of_a_size_counts(tmp_path: Path) -> None:
    """[QDB-PM-2]."""
    file = SidecarFile(COLUMNS, 0).version(1000, [(5, [None, None])])
    file.version(2000, [(5, [None, None]), (6, [None, None])]).version(2500, [(11, [None, None])])
    path = write(tmp_path, file)
    for size, rows in ((1000, [5]), (2000, [5, 6]), (2500, [11])):
        assert [group.rows for group in read_sidecar(path, size).groups] == rows
    with pytest.raises(TableDamagedError, match="no footer for 1,500 bytes"):
        read_sidecar(path, 1500)


@pytest.mark.parametrize("bit", range(64))
def test_unknown_features(tmp_path: Path, bit: int) -> None:
    """[QDB-PM-3]."""
    in_header = SidecarFile(COLUMNS, 0, features=1 << bit).version(1000, [(5, [None, None])])
    in_footer = SidecarFile(COLUMNS, 0).version(1000, [(5, [None, None])], features=1 << bit)
    for file, known in ((in_header, bit < 32), (in_footer, bit <= 32)):
        path = write(tmp_path, file)
        if known:
            assert [group.rows for group in read_sidecar(path, 1000).groups] == [5]
        else:
            with pytest.raises(TableVersionError, match=rf"bits {bit}\b.*convert the partition to native"):
                read_sidecar(path, 1000)


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    """[QDB-PM-1]: a file with another byte, or without its end, is an error and not another content."""
    plain = bytes(SidecarFile(COLUMNS, 0).version(1000, [(5, [(long(1), long(2)), None])]).data)
    path = tmp_path / "_pm"
    for place in range(len(plain)):
        path.write_bytes(plain[:place] + bytes([plain[place] ^ 0x41]) + plain[place + 1 :])
        with pytest.raises((TableDamagedError, TableVersionError)):
            read_sidecar(path, 1000)
        path.write_bytes(plain[:place])
        with pytest.raises(TableDamagedError):
            read_sidecar(path, 1000)


def partition(folder: Path, **changed: Bounds) -> ParquetPartition:
    """Write a Parquet partition of three row groups and its sidecar, and open it."""
    schema = pa.schema(
        [
            pa.field("ts", pa.timestamp("us", "UTC"), metadata={"PARQUET:field_id": "0"}),
            pa.field("x", pa.int32(), metadata={"PARQUET:field_id": "3"}),
        ]
    )
    times = [10, 20, 30, 40, 50, 50, 50, 80, 90]
    pq.write_table(pa.table([times, range(9)], schema), folder / "data.parquet", row_group_size=3)
    size = (folder / "data.parquet").stat().st_size
    bounds = changed.get("bounds", [(long(times[i]), long(times[i + 2])) for i in (0, 3, 6)])
    file = SidecarFile([("ts", 0, 8), ("x", 3, 5)], 0)
    write(folder, file.version(size, [(3, [pair, None]) for pair in bounds]))
    timestamp = Column("ts", 0, 8, False, False, (), None)
    columns = (timestamp, Column("x", 5, 6, False, False, (3,), None))
    # the table has forgotten what type the writer index 3 had
    metadata = Metadata(columns, (8, 1, 1, 13, 1, 6), Clock(PartitionUnit.DAY, 1_000_000), timestamp, 1, 0, True)
    return ParquetPartition(folder, size, 9, metadata)


def test_types_and_bounds_of_a_partition_are_those_of_its_sidecar(tmp_path: Path) -> None:
    """[QDB-PM-4]: the column is an INT there, and the search opens the group that holds the time."""
    file = partition(tmp_path)
    values = pa.chunked_array(list(file.values(Column("x", 5, 6, False, False, (3,), None), range(2, 8))))
    assert values.type == pa.int64()
    assert values.to_pylist() == list(range(2, 8))
    assert [file.row_at(time) for time in (0, 10, 11, 30, 40, 50, 51, 80, 90, 91)] == [0, 0, 1, 2, 3, 4, 7, 7, 8, 9]
    (tmp_path / "unknown").mkdir()
    without = partition(tmp_path / "unknown", bounds=[None, None, None])
    assert [without.row_at(time) for time in (10, 50, 51, 91)] == [0, 4, 7, 9]


def test_a_sidecar_with_other_rows_is_an_error(tmp_path: Path) -> None:
    """[QDB-PQ-7]."""
    with pytest.raises(TableDamagedError, match="other rows"):
        partition(tmp_path, bounds=[None, None])
