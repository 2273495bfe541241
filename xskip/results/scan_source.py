"""Scans of data files by pyarrow, on which the scans by other engines are based."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import DatasetError
from xskip.metadata.data_files import table_identifier
from xskip.metadata.table import PartitionColumn
from xskip.results.read_ranges import ranges_of, row_groups_in

if TYPE_CHECKING:
    import pyarrow.dataset
    import pyarrow.fs

__all__ = ["ScanSource", "engine_module"]

#: The names that pyarrow has for the schemes of stores.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_FORMATS = ("parquet", "orc")


def engine_module(name: str) -> Any:
    """Return an optional package, whose name is also the name of the extra that installs it, or raise DatasetError."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DatasetError(
            f"the package {name} is not installed", found=str(error), hint=f"install it with: pip install xskip[{name}]"
        ) from error


@dataclass(frozen=True, slots=True)
class ScanSource:
    """The reading of a dataset's files by engines other than Spark."""

    root: str
    format: str
    #: Returns the schema of the whole dataset, with the partition columns.
    schema: Callable[[], pa.Schema]
    #: The partition values of the files to read, in the order of the files.
    partitions: Mapping[str, PartitionColumn] = field(default_factory=dict)
    #: None finds the file system by the root's scheme.
    filesystem: pyarrow.fs.FileSystem | None = None
    #: What precedes the names of files on ``filesystem``, such as the name of a bucket.
    prefix: str = ""
    #: The options of Spark's reader.
    options: Mapping[str, str] = field(default_factory=dict)
    #: Returns the schema of the whole dataset for Spark, as a type or in DDL.
    spark_schema: Callable[[], Any] | None = None

    def located(self, names: pa.Array) -> tuple[pyarrow.fs.FileSystem, list[str]]:
        """Return a file system, and the path of each file on it; ``names`` are without scheme and authority."""
        from pyarrow.fs import FileSystem, LocalFileSystem

        scheme, colon, rest = self.root.partition("://")
        if self.filesystem is not None:
            return self.filesystem, [self.prefix + name for name in names.to_pylist()]
        if not colon or scheme == "file":
            return LocalFileSystem(), names.to_pylist()
        filesystem, root = FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
        own = table_identifier(self.root).rstrip("/")  # that of a bucket is only a slash
        return filesystem, [root.rstrip("/") + name.removeprefix(own) for name in names.to_pylist()]

    def dataset(self, names: pa.Array, ranges: pa.Array | None = None) -> pyarrow.dataset.Dataset:
        """Return files as a dataset of pyarrow; ``names`` are in the order of the partition values.

        ``ranges`` are those of :class:`~xskip.results.file_list.FileList`.
        """
        from pyarrow.dataset import FileSystemDataset

        file_format = self._file_format()
        filesystem, paths = self.located(names)
        schema = self.schema()
        conditions = self._conditions(schema, len(paths))
        if ranges is None or self.format != "parquet":
            return FileSystemDataset.from_paths(
                paths, schema=schema, format=file_format, filesystem=filesystem, partitions=conditions
            )
        fragments = []
        for row, (path, condition) in enumerate(zip(paths, conditions, strict=True)):
            fragment = file_format.make_fragment(path, filesystem, condition)
            found = ranges_of(ranges, row)
            if found is not None:
                groups = row_groups_in(fragment.metadata, found)
                fragment = fragment.subset(row_group_ids=groups) if groups else None
            fragments += [] if fragment is None else [fragment]
        return FileSystemDataset(fragments, schema, file_format, filesystem)

    def schema_of(self, names: pa.Array) -> pa.Schema:
        """Return the schema of a file, without partition columns."""
        filesystem, (path,) = self.located(names)
        return self._file_format().inspect(path, filesystem).remove_metadata()

    def footer(self, names: pa.Array) -> Any:
        """Return the footer of a Parquet file."""
        filesystem, (path,) = self.located(names)
        return self._file_format().make_fragment(path, filesystem).metadata

    def _file_format(self) -> pyarrow.dataset.FileFormat:
        from pyarrow.dataset import OrcFileFormat, ParquetFileFormat

        if self.format not in _FORMATS:
            raise DatasetError(
                f"pyarrow does not read files of the format {self.format}", where=self.root,
                expected=" or ".join(_FORMATS),
                hint="Polars reads Avro: use to_polars()" if self.format == "avro" else None,
            )  # fmt: skip
        # Spark writes times as INT96 by default, whose range in nanoseconds is too short
        return ParquetFileFormat(coerce_int96_timestamp_unit="us") if self.format == "parquet" else OrcFileFormat()

    def _conditions(self, schema: pa.Schema, count: int) -> list[Any]:
        """Return for each file the condition that its partition values are what they are."""
        rows: list[Any] = [None] * count
        for name, column in self.partitions.items():
            values = column.values.dictionary_encode(null_encoding="encode")
            equal = [_equals(name, value, schema.field(name).type) for value in values.dictionary]
            found = (equal[code] for code in values.indices.to_pylist())
            rows = [new if row is None else row & new for row, new in zip(rows, found, strict=True)]
        return [pc.scalar(True) if row is None else row for row in rows]


def _equals(name: str, value: pa.Scalar, kind: pa.DataType) -> Any:
    return pc.field(name) == value.cast(kind) if value.is_valid else pc.field(name).is_null()
