"""Clauses over attributes of files: fields of Spark's hidden column ``_metadata`` that all rows of a file share.

Rules: specs/pruning.rst, [PRU-FC]. Metadata identifies a file by name, size and modification time. A file that differs
from its metadata in one of these is a different file, and the query reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import LeafClause, Mask, Verdicts
from xskip.expressions.evaluate import matches
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import MetadataTable

__all__ = ["FILE_COLUMNS", "FileClause"]


def _last(names: pa.Array) -> pa.Array:
    # the last component; null where Spark may write it with escapes, such as a space as %20
    return pc.struct_field(pc.extract_regex(names, r"(?s)^(?:.*/)?(?P<last>[A-Za-z0-9._=-]+)$"), 0)


#: The functions that compute a field of the hidden column from the list of files, by the field's name.
FILE_COLUMNS: dict[str, Callable[[DataFiles], pa.Array]] = {
    "file_name": lambda files: _last(files.names),
    "file_size": lambda files: files.sizes,
    # the list of files has milliseconds, and Spark's type has microseconds
    "file_modification_time": lambda files: pc.multiply(files.modified, 1000).cast(pa.timestamp("us", tz="UTC")),
}


@dataclass(frozen=True, slots=True)
class FileClause(LeafClause):
    """A clause over a file's name, size or modification time."""

    #: The field of ``_metadata``, a key of :data:`FILE_COLUMNS`.
    column: str

    @property
    def needs(self) -> tuple[()]:
        """Return an empty tuple, because the clause reads only the list of files."""
        return ()

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """Return a verdict for every file, null where the size or the form of the name is unknown."""
        values = FILE_COLUMNS[self.column](table.files)
        return pc.if_else(values.is_valid(), matches(self.leaf, values), pa.scalar(None, pa.bool_()))
