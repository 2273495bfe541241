"""The columns of exported files, and what became of them in the table. Rules: [QDB-CT]."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from xskip.column_paths import in_backticks
from xskip.errors import UnsupportedTypeError
from xskip.questdb_files.column_types import NANOSECOND_TIMESTAMP, column_type, keeps_values
from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.snapshot import Snapshot
from xskip.spark.questdb.cold_tier import ColdColumn, ColdPartition, ColdTier
from xskip.spark.questdb.schema import spark_type

__all__ = ["described_files", "layout_of"]

#: By name, the column of the files that differs from the column of the table, or None if the files have no values.
_Changes: TypeAlias = Mapping[str, ColdColumn | None]

_SQL_TYPES = {"byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT"}


def layout_of(columns: Sequence[Column]) -> tuple[ColdColumn, ...]:
    """Return the columns of files that are written from columns of a table."""
    return tuple(ColdColumn(column.writer_index, column.name, column.type_code) for column in columns)


def _changes_of(snapshot: Snapshot, columns: Sequence[Column], layout: Sequence[ColdColumn]) -> _Changes:
    """Return the columns whose values Spark does not find in files by name, type and null alone [QDB-CT-8]."""
    by_index = {column.writer_index: column for column in layout}
    names = {column.name.lower() for column in layout}
    changes: dict[str, ColdColumn | None] = {}
    for column in columns:
        stored = next((by_index[i] for i in (column.writer_index, *column.former) if i in by_index), None)
        now = column_type(column.type_code, column.name)
        if stored is None:
            if not now.nullable or column.name.lower() in names:
                # Spark would read null instead of zero, or the values of another column with this name
                changes[column.name] = None
        elif stored.name != column.name or stored.type_code != column.type_code:
            former = column_type(stored.type_code, stored.name)
            if not keeps_values(former, now):
                raise UnsupportedTypeError(
                    "an exported column has a former type, whose values have no exact form in the new type",
                    where=f"{snapshot.place.data}, column {column.name}", found=former.kind.name,
                    expected=now.kind.name, hint="export the table into another folder, or select other columns",
                )  # fmt: skip
            changes[column.name] = stored
    return changes


def described_files(
    snapshot: Snapshot, columns: Sequence[Column], tier: ColdTier, partitions: Sequence[ColdPartition]
) -> dict[str, Any]:
    """Return exported files, grouped by the changes of their columns, as ``io.xskip.questdb.ColdFiles`` reads them."""
    layouts = [_changes_of(snapshot, columns, layout) for layout in tier.layouts]
    groups = [_group_of(changes) for changes in layouts]
    return {
        "number": tier.number,
        "format": tier.format,
        "groups": [
            {
                "name": name,
                "schema": _file_schema(columns, changes, tier.format),
                "columns": _selection(columns, changes, tier.format),
            }
            for name, changes in {"": {}, **dict(zip(groups, layouts, strict=True))}.items()
        ],
        "files": [
            [groups[partition.layout], file.path, file.size, file.modified, partition.start, partition.end]
            for partition in partitions
            for file in partition.files
        ],
    }


def _group_of(changes: _Changes) -> str:
    """Return a text that is equal for equal changes; the empty text stands for no changes."""
    listed = [[name, stored and [stored.name, stored.type_code]] for name, stored in sorted(changes.items())]
    return json.dumps(listed) if listed else ""


def _file_schema(columns: Sequence[Column], changes: _Changes, file_format: str) -> str:
    """Return the Spark schema as JSON with which files are read."""
    fields = []
    for column in columns:
        stored = changes.get(column.name, column)
        if stored is not None:
            kind = _stored_type(stored, file_format)
            fields.append({"name": stored.name, "type": kind, "nullable": True, "metadata": {}})
    return json.dumps({"type": "struct", "fields": fields})


def _selection(columns: Sequence[Column], changes: _Changes, file_format: str) -> list[str]:
    """Return the columns of the table as SQL over the columns of files."""
    stored = [(column, changes.get(column.name, column)) for column in columns]
    texts = [_absent(column) if found is None else _converted(found, column, file_format) for column, found in stored]
    return [f"{text} AS {in_backticks(column.name)}" for text, column in zip(texts, columns, strict=True)]


def _absent(column: Column) -> str:
    """Return the value of rows from before a column was added."""
    nullable = column_type(column.type_code, column.name).nullable
    return f"CAST({'NULL' if nullable else '0'} AS {_sql_type(column)})"


def _stored_type(stored: ColdColumn | Column, file_format: str) -> Any:
    """Return the Spark type of a column in files."""
    kind = spark_type(stored.type_code, stored.name)
    # Avro has no integers of fewer than 32 bits
    return "integer" if file_format == "avro" and kind in ("byte", "short") else kind


def _converted(stored: ColdColumn | Column, column: Column, file_format: str) -> str:
    """Return values of files in the type that the column has now."""
    name = in_backticks(stored.name)
    if _stored_type(stored, file_format) == spark_type(column.type_code, column.name):
        return name
    if column.type_code == NANOSECOND_TIMESTAMP:
        return f"unix_micros({name}) * 1000"
    if stored.type_code == NANOSECOND_TIMESTAMP:
        error = "raise_error('a time of an exported column has no exact form in microseconds')"
        return f"IF({name} IS NULL OR {name} % 1000 = 0, timestamp_micros({name} div 1000), {error})"
    return f"CAST({name} AS {_sql_type(column)})"


def _sql_type(column: Column) -> str:
    return _sql_type_of(spark_type(column.type_code, column.name))


def _sql_type_of(kind: Any) -> str:
    if isinstance(kind, dict):
        return f"ARRAY<{_sql_type_of(kind['elementType'])}>"
    return _SQL_TYPES.get(str(kind), str(kind))
