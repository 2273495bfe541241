"""Units: the parts of a dataset that a row of statistics describes, of which clauses rule out each by itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from xskip.clauses.clause import Mask

__all__ = ["UnitKind", "Units"]


class UnitKind(Enum):
    """The kinds of units. A verdict about a unit holds for all rows in it."""

    #: A data file: the rows of a metadata table.
    FILE = "file"
    #: A row group of a Parquet file.
    ROW_GROUP = "row group"
    #: A range of the blocks of an Avro file.
    RANGE = "range"
    #: A piece of a dataset that does not consist of files.
    PIECE = "piece"
    #: A row group of a metadata file, whose members are data files.
    METADATA_ROW_GROUP = "metadata row group"


@dataclass(frozen=True, slots=True)
class Units:
    """Units in order, each with a number of consecutive members: smaller units, such as the files of a row group.

    >>> groups = Units(UnitKind.METADATA_ROW_GROUP, np.array([2, 1]))
    >>> groups.members(np.array([True, False])).tolist()
    [True, True, False]
    """

    kind: UnitKind
    sizes: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sizes)

    def members(self, units: Mask) -> Mask:
        """Return True for each member of a unit for which ``units`` is True."""
        members: Mask = np.repeat(units, self.sizes)
        return members
