"""The indexes that a build collects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xskip.column_paths import quoted
from xskip.indexes import Index
from xskip.indexes.accumulator import Input
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Storage, element_of

__all__ = ["PlannedIndex", "value_types"]


@dataclass(frozen=True, slots=True)
class PlannedIndex:
    """An index that a build is about to collect."""

    index: Index
    #: The columns of the index, in the dataset's spelling.
    columns: tuple[str, ...]
    definition: IndexDefinition
    #: The type of the index's values in metadata.
    storage: Storage
    #: The columns of texts that the expression reads as timestamps, each with the names of its fields.
    timestamp_texts: tuple[tuple[str, ...], ...] = ()

    @property
    def inputs(self) -> Sequence[Input]:
        """Return the inputs of the index's accumulators or aggregates."""
        return self.index.inputs(self.columns, self.definition.types)

    @property
    def counted(self) -> Mapping[str, str]:
        """Return the columns whose NULLs a build counts, by the names of the definition: each as SQL."""
        return (
            {} if self.index.expression else dict(zip(self.definition.columns, map(quoted, self.columns), strict=True))
        )

    @property
    def types(self) -> tuple[str, ...]:
        """Return the Spark types of the indexed values: those of the columns, or of the elements of array columns."""
        return value_types(self.index, self.definition.types)


def value_types(index: Index, types: Sequence[str]) -> tuple[str, ...]:
    """Return the Spark types of the values that an index on columns of the given types covers."""
    return tuple((index.of_elements and element_of(kind)) or kind for kind in types)
