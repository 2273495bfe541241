"""Files themselves: what Spark's hidden column ``_metadata`` says of a file holds for all its rows.

Rules: specs/pruning.rst, [PRU-FC]. An object's name, size and time are part of what it is: a file that differs in one
is another, and is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import LeafClause, Mask, Verdicts
from xskip.expressions.evaluate import matches
from xskip.metadata.objects import Objects
from xskip.metadata.table import MetadataTable

__all__ = ["FILE_COLUMNS", "FileClause"]


def _last(names: pa.Array) -> pa.Array:
    """The last part of each name, null where it holds what Spark writes otherwise there: a space as ``%20``."""
    return pc.struct_field(pc.extract_regex(names, r"(?s)^(?:.*/)?(?P<last>[A-Za-z0-9._=-]+)$"), 0)


#: What is known of objects, by its name in the hidden column.
FILE_COLUMNS: dict[str, Callable[[Objects], pa.Array]] = {
    "file_name": lambda objects: _last(objects.names),
    "file_size": lambda objects: objects.sizes,
    "file_modification_time": lambda objects: pc.multiply(objects.modified, 1000).cast(pa.timestamp("us", tz="UTC")),
}


@dataclass(frozen=True, slots=True)
class FileClause(LeafClause):
    """A leaf asked of an object's own name, size or time."""

    column: str

    @property
    def needs(self) -> tuple[()]:
        """Nothing but the objects."""
        return ()

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """True or false; null where a size is not known, or a name's form."""
        values = FILE_COLUMNS[self.column](table.objects)
        return pc.if_else(values.is_valid(), matches(self.leaf, values), pa.scalar(None, pa.bool_()))
