"""Columns that other programs of the metadata format would confuse with other columns. Rules: [MDS-F-8]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from xskip.column_paths import split_path
from xskip.metadata.table import IndexKey
from xskip.spark.collect.planned_index import PlannedIndex

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["ambiguous_indexes"]

# These programs treat the fields of Spark's hidden column _metadata as columns with the fields' names.
_HIDDEN = (
    "file_path",
    "file_name",
    "file_size",
    "file_block_start",
    "file_block_length",
    "file_modification_time",
    "row_index",
)


def ambiguous_indexes(schema: StructType, planned: Iterable[PlannedIndex]) -> frozenset[IndexKey]:
    """Return the keys of the indexes whose columns another program would confuse with other columns."""
    # Other programs identify a column by its path joined with dots, without regard to case.
    known = Counter(".".join(path).casefold() for path in _paths(schema))
    known.update(_HIDDEN)
    return frozenset(
        each.definition.key
        for each in planned
        if not each.index.expression and any(_is_shared(column, known) for column in each.columns)
    )


def _is_shared(column: str, known: Counter[str]) -> bool:
    path = split_path(column)
    return known[".".join(path).casefold()] > 1 or path[0].casefold() == "_metadata"


def _paths(schema: StructType) -> Iterator[tuple[str, ...]]:
    """Yield the path of each column and of each field inside structs."""
    from pyspark.sql.types import StructType

    for field in schema.fields:
        yield (field.name,)
        if isinstance(field.dataType, StructType):
            yield from ((field.name, *inner) for inner in _paths(field.dataType))
