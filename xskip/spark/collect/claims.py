"""Statistics of files that something else than their rows claims, such as a catalog of the files."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.metadata.data_files import DataFiles
from xskip.spark.collect.planned_index import PlannedIndex

__all__ = ["Claim", "Claims"]


class Claim(NamedTuple):
    """The values of one index for many files."""

    #: The value of each file, of the storage type of the index; null where unknown.
    values: pa.Array
    #: Whether the rows of the file must decide in place of the claim.
    is_open: npt.NDArray[np.bool_]


class Claims(Protocol):
    """A source of claims about the files of a dataset."""

    def of(self, planned: PlannedIndex, files: DataFiles) -> Claim | None:
        """Return the values of an index for files, or None if the rows of the files must decide."""


class PathClaims:
    """The claims of indexes that are computed from the paths of files."""

    def of(self, planned: PlannedIndex, files: DataFiles) -> Claim | None:
        """Return the values of an index of paths, or None for another index."""
        if not planned.index.of_paths:
            return None
        values = planned.index.assemble([files.names], planned.types)
        return Claim(values, np.zeros(len(files), np.bool_))
