"""The results of accumulators or aggregates, in the form in which both kinds of jobs return them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.metadata.file_counts import FileCounts

__all__ = ["FileResults"]


@dataclass(frozen=True, slots=True, eq=False)
class FileResults:
    """The results of several indexes, with one row for each file that has rows."""

    #: The position in the listing of each row's file, in any order and without duplicates.
    ordinals: npt.NDArray[np.int32]
    #: The result columns of each index, in the order of its accumulators or aggregates.
    columns: Sequence[Sequence[pa.ChunkedArray]]
    #: The numbers of rows and of NULLs, in the order of ``ordinals``.
    counts: FileCounts
