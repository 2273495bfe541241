"""The clause of ``IS NULL`` over the numbers of NULLs that metadata records beside the indexes. Rule: [PRU-CO-4]."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import LeafClause, Mask, Verdicts
from xskip.metadata.table import MetadataTable

__all__ = ["RecordedNulls"]


@dataclass(frozen=True, slots=True)
class RecordedNulls(LeafClause):
    """A clause that tests ``IS NULL`` of a column against the recorded number of NULLs."""

    #: The name of the column in the counts of the table.
    column: str

    @property
    def needs(self) -> tuple[()]:
        """Return an empty tuple, because the clause reads no index."""
        return ()

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """Return whether a file has a NULL; null where the number is unknown."""
        nulls = None if table.counts is None else table.counts.nulls.get(self.column)
        return pa.nulls(len(table), pa.bool_()) if nulls is None else pc.greater(nulls, 0)
