"""The filter of a read: an expression of pyarrow on the columns of a table. Rules: [QDB-FE]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.arrow_filters import columns_of_filter, skipped_by_guarantees
from xskip.questdb_files.pieces import Piece

if TYPE_CHECKING:
    import pyarrow.dataset

__all__ = ["RowFilter"]


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A filter on the columns of a table in a snapshot."""

    expression: pyarrow.dataset.Expression
    #: The columns that the filter needs.
    schema: pa.Schema
    #: The name of the designated timestamp, or None.
    timestamp: str | None

    @classmethod
    def of(cls, expression: pyarrow.dataset.Expression, schema: pa.Schema, timestamp: str | None) -> RowFilter:
        """Return the filter for a table with the columns of ``schema``, which the expression fits."""
        needed = pa.schema([schema.field(name) for name in columns_of_filter(expression, schema)])
        return cls(expression, needed, timestamp if timestamp in needed.names else None)

    def pieces(self, pieces: list[Piece]) -> list[Piece]:
        """Return the pieces that can have a row for which the expression is TRUE, by their bounds of time."""
        if self.timestamp is None:
            return pieces
        skipped = skipped_by_guarantees(self.expression, self.schema, [self._guarantee(piece) for piece in pieces])
        return [pieces[i] for i in np.flatnonzero(~skipped)]

    def _guarantee(self, piece: Piece) -> pyarrow.dataset.Expression:
        """Return a condition that is TRUE of all rows of a piece."""
        condition, column = pc.scalar(True), pc.field(self.timestamp)
        if piece.start is not None:
            condition &= column >= self._time(piece.start)
        if piece.end is not None:
            condition &= column < self._time(piece.end)
        return condition

    def _time(self, ticks: int) -> pa.Scalar:
        return pa.scalar(ticks, pa.int64()).cast(self.schema.field(self.timestamp).type)
