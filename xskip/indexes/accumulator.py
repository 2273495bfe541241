"""The statistics that the kernel of a build computes for index types, and the inputs of these statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["Accumulator", "Input"]


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A statistic that the build's kernel computes over one input of an index, per file.

    Attributes
    ----------
    kind : {"bounds", "values", "hashes", "words", "counts", "ranges", "boxes"}
        The statistic:

        - ``bounds``: the minimum and the maximum.
        - ``values``: the list of distinct values.
        - ``hashes``: a Bloom filter of the values. If several tasks read parts of the file, the kernel returns the
          distinct pairs of hashes instead, because the filters of parts cannot be merged.
        - ``words``: as ``hashes``, for the words of the values.
        - ``counts``: the number of NULL rows and the number of rows.
        - ``ranges``: ranges that cover all numbers, as a flat list of alternating lower and upper ends.
        - ``boxes``: boxes that cover all points, as a flat list of four numbers per box.
    cap : int
        For ``values``, the maximum length of the list; a file with more distinct values has a null list. For ``ranges``
        and ``boxes``, the maximum number of ranges or boxes per task that reads a part of the file. For ``hashes`` and
        ``words``, the number of distinct values that every filter is sized for; 0 sizes a filter for the number of
        values in its file.
    of : int
        The position of the input in the result of :meth:`Index.inputs`.
    fpp : float
        The false positive rate of the Bloom filters.
    """

    kind: Literal["bounds", "values", "hashes", "words", "counts", "ranges", "boxes"]
    cap: int = 0
    of: int = 0
    fpp: float = 1.0


class Input(NamedTuple):
    """A column, or an expression over columns, that a build aggregates.

    Attributes
    ----------
    sql : str
        The column or the expression, in SQL.
    type : str
        The Spark type of the values.
    """

    sql: str
    type: str

    @property
    def column(self) -> SparkColumn:
        """Return the input as a Spark column, for Spark aggregates."""
        from pyspark.sql import functions as F

        return F.expr(self.sql)
