"""Parquet partitions that another writer than the server wrote."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def rewrite(path: Path, rows: pa.Table, **options: Any) -> None:
    """Replace the file of a Parquet partition, and let the transaction of its table name the size."""
    before = path.stat().st_size
    pq.write_table(rows, path, **options)
    state = path.parents[1] / "_txn"
    txn = state.read_bytes()
    old, new = struct.pack("<q", before), struct.pack("<q", path.stat().st_size)
    assert txn.count(old) >= 1
    state.write_bytes(txn.replace(old, new))


def spoil(path: Path, group: int) -> None:
    """Overwrite the values of a row group."""
    data, stored = bytearray(path.read_bytes()), pq.ParquetFile(path).metadata.row_group(group)
    for position in range(stored.num_columns):
        chunk = stored.column(position)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        data[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(data)
