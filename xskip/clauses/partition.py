"""Hive-style partitions: every row of an object has the partition's value, so it is an exact minimum and maximum.

Rules: specs/pruning.rst, [PRU-PC]. The values are Spark's own, with the types it inferred, and are stored in
``virtual_`` columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import LeafClause, Mask, PartitionKey, Verdicts
from xskip.expressions.evaluate import matches
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.types.datatypes import arrow_type

__all__ = ["PartitionClause", "column_of", "partitions_of_names"]


@dataclass(frozen=True, slots=True)
class PartitionClause(LeafClause):
    """A leaf asked of the one value that all rows of an object share; NULL is a value here."""

    requires: str

    @property
    def needs(self) -> tuple[PartitionKey]:
        """The partition column."""
        return (PartitionKey(self.requires),)

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """True or false, never in doubt; null only where the partition values are not recorded."""
        column = table.partitions.get(self.requires)
        return pa.nulls(len(table), pa.bool_()) if column is None else matches(self.leaf, column.values)


_DEFAULT = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")


def partitions_of_names(names: pa.Array, root: str) -> dict[str, PartitionColumn]:
    """The partition columns that objects' names below a dataset's root tell, as far as all of them agree.

    Types are ``int``, ``bigint`` or ``date`` where all values are, else ``string``: where a query has it otherwise, the
    column is not asked.

    >>> found = partitions_of_names(pa.array(["/t/d=2020-01-01/n=7/f", "/t/d=2020-01-02/n=8/f"]), "/t")
    >>> [(c.type, c.values.to_pylist()[0]) for c in found.values()]
    [('date', datetime.date(2020, 1, 1)), ('int', 7)]
    """
    prefix = root.rstrip("/") + "/"
    rows = [
        dict(part.partition("=")[::2] for part in name.removeprefix(prefix).split("/")[:-1] if "=" in part)
        for name in names.to_pylist()
    ]
    if not rows or any(row.keys() != rows[0].keys() for row in rows):
        return {}
    return {_unescaped(name): _typed(_unescaped(name), [row[name] for row in rows]) for name in rows[0]}


def column_of(directory: str) -> str | None:
    """The partition column that a directory's name has a value of.

    >>> column_of("a%20b=7"), column_of("data")
    ('a b', None)
    """
    name, sign, _ = directory.partition("=")
    return _unescaped(name) if sign else None


def _unescaped(text: str) -> str:
    """As Spark writes what a path cannot hold: one byte of Latin-1 each."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _typed(name: str, raw: list[str]) -> PartitionColumn:
    texts = pa.array([None if text == _DEFAULT else _unescaped(text) for text in raw], pa.string())
    for kind, form in (("int", r"^(0|-?[1-9]\d*)$"), ("bigint", r"^(0|-?[1-9]\d*)$"), ("date", r"^\d{4}-\d\d-\d\d$")):
        fits = pc.match_substring_regex(texts.drop_null(), form)
        if len(fits) and pc.all(fits).as_py():
            try:
                return PartitionColumn(name, kind, texts.cast(arrow_type(kind)))
            except pa.ArrowInvalid:
                continue
    return PartitionColumn(name, "string", texts)
