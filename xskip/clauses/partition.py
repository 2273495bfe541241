"""Clauses over Hive-style partition columns, and partition columns parsed from paths.

Rules: specs/pruning.rst, [PRU-PC]. Values and types are those that Spark inferred; the metadata stores them in
``virtual_`` columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import LeafClause, Mask, Verdicts
from xskip.expressions.evaluate import matches
from xskip.metadata.table import MetadataTable, PartitionColumn, PartitionKey
from xskip.types.datatypes import arrow_type

__all__ = ["PartitionClause", "column_of", "partitions_of_names", "texts_of_names"]


@dataclass(frozen=True, slots=True)
class PartitionClause(LeafClause):
    """A clause over the partition value that all rows of a file share; NULL is an ordinary value here."""

    #: The name of the partition column, as the metadata table spells it.
    requires: str

    @property
    def needs(self) -> tuple[PartitionKey]:
        """Return the key of the partition column."""
        return (PartitionKey(self.requires),)

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """Return a verdict for every file, or null for all files if the table lacks the partition column."""
        # all rows share the value, so the leaf is TRUE for all rows or for none: the verdict is exact [PRU-PC-1]
        column = table.partitions.get(self.requires)
        return pa.nulls(len(table), pa.bool_()) if column is None else matches(self.leaf, column.values)


_DEFAULT = "__HIVE_DEFAULT_PARTITION__"
# Spark writes % and the hexadecimal code of a character
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")


def partitions_of_names(names: pa.Array, root: str) -> dict[str, PartitionColumn]:
    """Return the partition columns, by name, that the paths of files below a dataset's root contain.

    The paths are without scheme and authority. Empty if the files do not all have the same partition columns.
    """
    rows = texts_of_names(names, root)
    if not rows or any(row.keys() != rows[0].keys() for row in rows):
        return {}
    return {name: _typed(name, [row[name] for row in rows]) for name in rows[0]}


def texts_of_names(names: pa.Array, root: str) -> list[dict[str, str | None]]:
    """Return the partition values, by column, that the path of each file contains, as texts; None is NULL.

    >>> texts_of_names(pa.array(["/t/a%20b=7/n=__HIVE_DEFAULT_PARTITION__/f"]), "/t")
    [{'a b': '7', 'n': None}]
    """
    prefix = root.rstrip("/") + "/"
    parts = ([p.partition("=") for p in name.removeprefix(prefix).split("/")[:-1]] for name in names.to_pylist())
    return [
        {_unescaped(column): None if text == _DEFAULT else _unescaped(text) for column, sign, text in row if sign}
        for row in parts
    ]


def column_of(directory: str) -> str | None:
    """Return the partition column that a directory's name sets, or None for any other directory.

    >>> column_of("a%20b=7"), column_of("data")
    ('a b', None)
    """
    name, sign, _ = directory.partition("=")
    return _unescaped(name) if sign else None


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _typed(name: str, raw: list[str | None]) -> PartitionColumn:
    # a query that infers another type does not use the column, so a wrong guess here loses no row
    texts = pa.array(raw, pa.string())
    for kind, form in (("int", r"^(0|-?[1-9]\d*)$"), ("bigint", r"^(0|-?[1-9]\d*)$"), ("date", r"^\d{4}-\d\d-\d\d$")):
        fits = pc.match_substring_regex(texts.drop_null(), form)
        if len(fits) and pc.all(fits).as_py():
            try:
                return PartitionColumn(name, kind, texts.cast(arrow_type(kind)))
            except pa.ArrowInvalid:  # a number that is too large, or no day of the calendar
                continue
    return PartitionColumn(name, "string", texts)
