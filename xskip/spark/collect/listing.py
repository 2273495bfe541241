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
from xskip.metadata.table import PartitionColumn
from xskip.spark.catalyst.literals import literal_value
from xskip.spark.collect.relation import Dataset, Listing
from xskip.types.datatypes import array_of, arrow_type, atomic_name, from_json

__all__ = ["ListedFiles", "list_files", "listed_files"]


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
    return listed_files(dataset.listing(), dataset.partition_schema())


def listed_files(listing: Listing, partition_schema: Sequence[tuple[str, object]]) -> ListedFiles:
    """Return the files of a listing; ``partition_schema`` has names, and types as in Spark's schema JSON."""
    of = listing.table.partition_of
    values = [json.loads(text) for text in listing.table.partitions]
    partitions = {}
    for i, (name, json_type) in enumerate(partition_schema):
        kind = from_json(json_type) if isinstance(json_type, str) else ""
        if atomic_name(kind) is not None:
            partitions[name] = PartitionColumn(name, kind, _spread([row[i] for row in values], kind, of))
    return ListedFiles(listing.files(), partitions, listing)


def _spread(raw: Sequence[Any], kind: str, of: npt.NDArray[np.int64]) -> pa.Array:
    values = [None if value is None else literal_value(value, kind) for value in raw]
    return array_of(values, arrow_type(kind)).take(pa.array(of))
