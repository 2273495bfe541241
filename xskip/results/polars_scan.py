"""Scans of data files by Polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xskip.avro_container import blocks_in, empty_file, header_size
from xskip.errors import DatasetError
from xskip.results.read_ranges import ranges_of
from xskip.results.scan_source import ScanSource, engine_module

if TYPE_CHECKING:
    import polars as pl

__all__ = ["avro_schema", "scan_polars"]


def scan_polars(source: ScanSource, names: pa.Array, ranges: pa.Array | None = None) -> pl.LazyFrame:
    """Return files as a lazy frame of Polars; ``names`` are in the order of the partition values.

    ``ranges`` are those of :class:`~xskip.results.file_list.FileList`.
    """
    polars: Any = engine_module("polars")
    if source.format != "avro":
        frame: pl.LazyFrame = polars.scan_pyarrow_dataset(source.dataset(names, ranges))
        return frame
    from polars.io.plugins import register_io_source

    scan = _AvroScan(source, names, dict(polars.from_arrow(source.schema().empty_table()).schema), ranges)
    return register_io_source(scan.frames, schema=scan.schema)


def avro_schema(source: ScanSource, names: pa.Array) -> pa.Schema:
    """Return the Arrow schema with which Polars reads an Avro file, without partition columns."""
    engine_module("polars")
    return _read_avro(source, names, 0).head(0).to_arrow().schema


@dataclass(frozen=True, slots=True)
class _AvroScan:
    """A scan of Avro files, which Polars reads one by one."""

    source: ScanSource
    names: pa.Array
    schema: dict[str, pl.DataType]
    ranges: pa.Array | None

    def frames(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows of each file that satisfy the predicate; None stands for all columns or rows."""
        wanted = list(self.schema) if with_columns is None else with_columns
        left = n_rows
        for row in range(len(self.names)):
            if left is not None and left <= 0:
                return
            # A frame has the rows of a file, whatever ``batch_size`` is.
            frame = self._read(row).select(wanted)
            frame = frame if left is None else frame.head(left)
            left = None if left is None else left - len(frame)
            yield frame if predicate is None else frame.filter(predicate)

    def _read(self, row: int) -> pl.DataFrame:
        """Return the rows of a file with the columns and types of the schema."""
        import polars as pl

        read = _read_avro(self.source, self.names, row, ranges_of(self.ranges, row))
        columns = []
        for name, kind in self.schema.items():
            partition = self.source.partitions.get(name)
            if partition is not None:
                value = pl.from_arrow(partition.values.slice(row, 1))
                assert isinstance(value, pl.Series)
                columns.append(pl.lit(value.item(), kind).alias(name))
            elif name not in read.columns:
                columns.append(pl.lit(None, kind).alias(name))
            else:
                columns.append(_as(pl.col(name), read.schema[name], kind))
        # a selection of literals alone has one row, whatever the number of rows is
        return read.with_columns(columns).select(list(self.schema)) if len(read) else pl.DataFrame(schema=self.schema)


def _read_avro(
    source: ScanSource, names: pa.Array, row: int, ranges: Sequence[tuple[int, int]] | None = None
) -> pl.DataFrame:
    """Return the rows of a file, or of ranges of it."""
    import polars as pl

    filesystem, (path,) = source.located(names.slice(row, 1))
    try:
        with filesystem.open_input_file(path) as file:
            if ranges is None:
                data = bytes(file.read())
            else:
                data = blocks_in(lambda start, size: file.read_at(size, start), file.size(), ranges)
        return pl.read_avro(BytesIO(_readable(data)))
    except (pl.exceptions.PolarsError, DatasetError, ValueError, LookupError) as error:
        raise DatasetError(
            "Polars cannot read an Avro file", where=names[row].as_py(), found=str(error)[:300],
            hint="read the dataset with Spark",
        ) from error  # fmt: skip


def _readable(data: bytes) -> bytes:
    """Return an Avro file that Polars can read: not one without blocks, unless it states no codec."""
    return empty_file(data) if header_size(data) == len(data) else data


def _as(column: pl.Expr, found: pl.DataType, wanted: pl.DataType) -> pl.Expr:
    """Return a column with the type of the schema."""
    import polars as pl

    # times without a zone in Avro files are in UTC
    if isinstance(found, pl.Datetime) and isinstance(wanted, pl.Datetime) and found.time_zone is None:
        zone = wanted.time_zone
        column = column if zone is None else column.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return column if found == wanted else column.cast(wanted)
