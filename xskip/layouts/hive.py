"""Hive-style partitions: every row of an object has the partition's value, so it is an exact minimum and maximum.

Rules: specs/pruning.rst, [PRU-PC]. The values are Spark's own, with the types it inferred, and are stored in
``virtual_`` columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from xskip.clauses import Mask, Verdicts
from xskip.expressions import Leaf
from xskip.metadata import MetadataTable
from xskip.ordering import matches

__all__ = ["PartitionClause"]


@dataclass(frozen=True, slots=True)
class PartitionClause:
    """A leaf asked of the one value that all rows of an object share; NULL is a value here."""

    leaf: Leaf
    requires: str
    expensive: bool = False

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """True or false, never in doubt; null only where the partition values are not recorded."""
        column = table.partitions.get(self.requires)
        return pa.nulls(len(table), pa.bool_()) if column is None else matches(self.leaf, column.values)
