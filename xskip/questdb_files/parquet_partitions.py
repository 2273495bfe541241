"""Parquet partitions: the file ``data.parquet`` up to the size that the transaction names. Rules: [QDB-PQ]."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from xskip.errors import TableDamagedError
from xskip.questdb_files.column_types import ColumnType, column_type
from xskip.questdb_files.files import CHECKPOINT_HINT
from xskip.questdb_files.fixed_columns import absent
from xskip.questdb_files.metadata_file import Column, Metadata
from xskip.questdb_files.parquet_values import changed_type, parquet_values
from xskip.questdb_files.sidecar import Sidecar, read_sidecar

__all__ = ["ParquetPartition"]

_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True)
class _Stored:
    """A column of the file: its name there, and the type with which it was written."""

    name: str
    type: ColumnType


class ParquetPartition:
    """The file of a Parquet partition: its first ``size`` bytes, with the ``rows`` of the transaction."""

    def __init__(self, folder: Path, size: int, rows: int, metadata: Metadata) -> None:
        self._path = folder / "data.parquet"
        self._metadata = metadata
        content = _content(self._path, size)
        self._sidecar = _sidecar(folder, size)
        self._file = self._opened(content)
        self._names = {
            int(field.metadata[_FIELD_ID]): field.name
            for field in self._file.schema_arrow
            if field.metadata and _FIELD_ID in field.metadata
        }
        stored = self._file.metadata
        groups = [stored.row_group(i).num_rows for i in range(stored.num_row_groups)]
        self._starts: list[int] = [0, *np.cumsum(groups, dtype=np.int64).tolist()]
        if self._starts[-1] != rows or (self._sidecar and [g.rows for g in self._sidecar.groups] != groups):
            raise TableDamagedError(
                "a Parquet partition has other rows than its transaction", where=str(self._path),
                found=f"{self._starts[-1]:,} rows", expected=f"{rows:,} rows",
            )  # fmt: skip

    def values(self, column: Column, rows: range) -> Iterator[pa.Array]:
        """Yield the values of a column in a range of rows."""
        now = column_type(column.type_code, column.name)
        stored = self._stored(column)
        if stored is None:
            yield absent(now, len(rows))
            return
        for group in self._groups(rows):
            first = self._starts[group]
            chosen = slice(max(rows.start - first, 0), rows.stop - first)
            read = self._read(group, stored.name)
            for chunk in read.chunks:
                values = changed_type(self._decoded(stored.type, chunk), stored.type, now, f"{self._path}")
                part = values[chosen]
                # positions count from the start of each chunk
                chosen = slice(max(chosen.start - len(chunk), 0), max(chosen.stop - len(chunk), 0))
                if len(part):
                    yield part

    def row_groups(self, rows: range) -> Iterator[range]:
        """Yield the parts of a range of rows that lie in one row group each."""
        for group in self._groups(rows):
            yield range(max(rows.start, self._starts[group]), min(rows.stop, self._starts[group + 1]))

    def row_at(self, time: int) -> int:
        """Return the position of the first row whose designated timestamp is not less than a time in ticks."""
        count = len(self._starts) - 1
        # the bounds in _pm save reads of row groups
        if self._bounds is not None:
            bounds = self._bounds
            group = bisect_left(range(count), time, key=lambda i: bounds[i][1])
        else:
            group = bisect_left(range(count), time, key=lambda i: int(self._times(i)[-1]))
        if group == count:
            return self._starts[-1]
        return self._starts[group] + int(np.searchsorted(self._times(group), time))

    @cached_property
    def _bounds(self) -> list[tuple[int, int]] | None:
        return self._sidecar.time_bounds() if self._sidecar else None

    @cached_property
    def _known_times(self) -> dict[int, npt.NDArray[np.int64]]:
        return {}

    def _times(self, group: int) -> npt.NDArray[np.int64]:
        """Return the designated timestamps of a row group in ticks."""
        if group not in self._known_times:
            column = self._metadata.timestamp
            stored = self._stored(column) if column else None
            if column is None or stored is None:
                raise TableDamagedError("a Parquet partition has no designated timestamp", where=str(self._path))
            read = self._read(group, stored.name)
            now = column_type(column.type_code, column.name)
            self._known_times[group] = np.asarray(read.combine_chunks().cast(now.arrow).cast(pa.int64()))
        return self._known_times[group]

    def _stored(self, column: Column) -> _Stored | None:
        """Return the column of the file that has the values of a column, under its writer index or a former one."""
        known = self._sidecar.columns if self._sidecar else ()
        types = {c.writer_index: c.type_code for c in known if c.type_code >= 0}
        for writer_index in (column.writer_index, *column.former):
            if writer_index in self._names:
                code = types.get(writer_index, self._metadata.type_codes[writer_index])
                return _Stored(self._names[writer_index], column_type(code, column.name))
        return None

    def _groups(self, rows: range) -> Iterator[int]:
        for group in range(len(self._starts) - 1):
            if self._starts[group] < rows.stop and rows.start < self._starts[group + 1]:
                yield group

    def _opened(self, content: pa.Buffer) -> pq.ParquetFile:
        # without read_dictionary: the dictionary page of a SYMBOL column can have the empty text several times, and
        # Arrow merges equal entries there without a change of the indices
        try:
            return pq.ParquetFile(pa.BufferReader(content))
        except pa.ArrowException as error:
            raise self._unreadable(error) from error

    def _read(self, group: int, name: str) -> pa.ChunkedArray:
        try:
            return self._file.read_row_group(group, columns=[name]).column(0)
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from error

    def _decoded(self, of: ColumnType, stored: pa.Array) -> pa.Array:
        try:
            return parquet_values(of, stored)
        except ValueError as error:  # Arrow's errors of values have this class, too
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> TableDamagedError:
        return TableDamagedError(
            "a Parquet partition cannot be read", where=str(self._path), found=str(error), hint=CHECKPOINT_HINT
        )  # fmt: skip


def _content(path: Path, size: int) -> pa.Buffer:
    stored = path.stat().st_size
    if not 0 < size <= stored:
        raise TableDamagedError(
            "a Parquet partition is shorter than its transaction says", where=str(path), found=f"{stored:,} bytes",
            expected=f"{size:,} bytes", hint=CHECKPOINT_HINT,
        )  # fmt: skip
    # a server appends to the file and leaves the former bytes, so that the file can be mapped [QDB-PQ-2]
    with pa.memory_map(str(path)) as mapped:
        return mapped.read_buffer(size)


def _sidecar(folder: Path, size: int) -> Sidecar | None:
    try:
        return read_sidecar(folder / "_pm", size)
    except FileNotFoundError:
        return None
