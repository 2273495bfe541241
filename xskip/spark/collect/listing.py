"""The files of a dataset as Spark lists them, with their partition values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.protocol.file_table import FileTable
from xskip.spark.catalyst.literals import literal_value
from xskip.spark.collect.relation import Dataset, Listing
from xskip.types.datatypes import array_of, arrow_type, atomic_name, from_json

__all__ = ["ListedFiles", "file_table", "list_files", "partition_texts"]


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """The files of a dataset at the time of a listing; a partition column has a value for every file."""

    files: DataFiles
    partitions: dict[str, PartitionColumn]
    listing: Listing

    def __len__(self) -> int:
        return len(self.files)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Return the size of each file in bytes, 0 for an unknown size."""
        found: npt.NDArray[np.int64] = self.files.sizes.fill_null(0).to_numpy(zero_copy_only=False)
        return found

    def paths_of(self, positions: npt.NDArray[np.int64]) -> list[str]:
        """Return the Hadoop paths, with scheme, of the files at some positions in the listing."""
        return self.listing.paths(positions)

    def partitions_of(self, files: DataFiles) -> dict[str, PartitionColumn]:
        """Return the partition values of files, found by name; NULL for a file that is not in the listing."""
        rows = pc.index_in(files.names, self.files.names)
        return {name: replace(column, values=column.values.take(rows)) for name, column in self.partitions.items()}


def list_files(dataset: Dataset) -> ListedFiles:
    """Return all files of a dataset, which Spark lists once."""
    listing = dataset.listing()
    of = listing.table.partition_of
    values = [json.loads(text) for text in listing.table.partitions]
    partitions = {}
    for i, (name, json_type) in enumerate(dataset.partition_schema()):
        kind = from_json(json_type) if isinstance(json_type, str) else ""
        if atomic_name(kind) is not None:
            partitions[name] = PartitionColumn(name, kind, _spread([row[i] for row in values], kind, of))
    return ListedFiles(listing.files(), partitions, listing)


def file_table(table: MetadataTable) -> FileTable:
    """Return the files of a table that has the partition columns of the snapshot."""
    return FileTable(table.files, *partition_texts(table))


def partition_texts(table: MetadataTable) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return the partition of each file, and the values of each partition as a JSON array in the hook's encoding."""
    # The hook prunes by partition values only if a text equals the text of the query's own listing. A text that
    # differs from the hook's encoding of equal values therefore only keeps files. A read without listing parses the
    # texts.
    rows: list[tuple[str, ...]] = [()]
    of = np.zeros(len(table), np.int64)
    for column in table.partitions.values():
        values = column.values.dictionary_encode(null_encoding="encode")
        words = _encoded(values.dictionary)
        codes = pa.array(of * len(words) + values.indices.to_numpy()).dictionary_encode()
        of = codes.indices.to_numpy().astype(np.int64)
        rows = [(*rows[code // len(words)], words[code % len(words)]) for code in codes.dictionary.to_pylist()]
    return of, [f"[{','.join(row)}]" for row in rows]


def _encoded(values: pa.Array) -> list[str]:
    kind = values.type
    if pa.types.is_date32(kind):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.view(pa.int64())
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return ["null" if v is None else json.dumps(str(v)) for v in values.to_pylist()]
    elif pa.types.is_binary(kind):
        return ["?" for _ in range(len(values))]
    return [json.dumps(v) for v in values.to_pylist()]


def _spread(raw: Sequence[Any], kind: str, of: npt.NDArray[np.int64]) -> pa.Array:
    values = [None if value is None else literal_value(value, kind) for value in raw]
    return array_of(values, arrow_type(kind)).take(pa.array(of))
