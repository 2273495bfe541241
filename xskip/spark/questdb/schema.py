"""The Spark types of QuestDB's columns, and the columns' description for the JVM. Rules: [QDB-SP]."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import Any

from xskip.errors import UnsupportedTypeError
from xskip.questdb_files.column_types import NANOSECOND_TIMESTAMP, ColumnType, Kind, column_type
from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.snapshot import Snapshot

__all__ = ["described_columns", "known_columns", "schema_json", "spark_type"]

_log = logging.getLogger("xskip")
_MAX_WARNINGS = 1024
_MAX_DIGITS = 38
_TYPES = {
    Kind.BOOLEAN: "boolean", Kind.BYTE: "byte", Kind.SHORT: "short", Kind.INT: "integer", Kind.LONG: "long",
    Kind.DATE: "timestamp", Kind.TIMESTAMP: "timestamp", Kind.FLOAT: "float", Kind.DOUBLE: "double",
    Kind.BINARY: "binary",
}  # fmt: skip


def known_columns(snapshot: Snapshot) -> list[Column]:
    """Return the columns of a table whose types this release knows; a warning names the others."""
    known = []
    for column in snapshot.metadata.columns:
        try:
            column_type(column.type_code, column.name)
        except UnsupportedTypeError as error:
            _warn_once(f"xskip leaves out a column of {snapshot.place.data}: {error}")
        else:
            known.append(column)
    return known


_warning = Lock()


def _warn_once(text: str) -> None:
    """Log a warning once, although each transaction of a table has the same one."""
    with _warning:
        _warn(text)


@lru_cache(maxsize=_MAX_WARNINGS)
def _warn(text: str) -> None:
    _log.warning("%s", text)


def schema_json(columns: Sequence[Column]) -> str:
    """Return Spark's schema of columns as JSON, in which all columns are nullable."""
    fields = [
        {"name": column.name, "type": spark_type(column.type_code, column.name), "nullable": True, "metadata": {}}
        for column in columns
    ]
    return json.dumps({"type": "struct", "fields": fields})


def described_columns(snapshot: Snapshot, columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return the fields of ``io.xskip.questdb.TableColumn`` for each column."""
    return [
        {
            **_fields(column.name, column.writer_index, column.type_code),
            "symbolTxn": snapshot.versions.symbol_txn(column.writer_index),
            "symbolCount": snapshot.symbol_count(column),
            "indexed": column.indexed,
            "former": _former(snapshot, column),
        }
        for column in columns
    ]


def _former(snapshot: Snapshot, column: Column) -> list[dict[str, Any]]:
    """Return the columns that a column has replaced, as far as their types are known."""
    codes = snapshot.metadata.type_codes
    found = []
    for index in column.former:
        try:
            fields = _fields(column.name, index, codes[index])
        except UnsupportedTypeError:
            break
        found.append({**fields, "symbolTxn": -1, "symbolCount": 0, "indexed": False, "former": []})
    return found


def _fields(name: str, writer_index: int, code: int) -> dict[str, Any]:
    of = column_type(code, name)
    precision, scale = (of.arrow.precision, of.arrow.scale) if of.kind is Kind.DECIMAL else (0, 0)
    return {
        "name": name, "writer": writer_index, "kind": of.kind.name, "width": of.width, "size": _size(of, code),
        "precision": precision, "scale": scale,
    }  # fmt: skip


def _size(of: ColumnType, code: int) -> int:
    match of.kind:
        case Kind.GEOHASH:
            return of.bits
        case Kind.ARRAY:
            return of.dimensions
        case Kind.TIMESTAMP:
            return 1_000_000_000 if code == NANOSECOND_TIMESTAMP else 1_000_000
        case _:
            return 0


def spark_type(code: int, name: str) -> Any:
    """Return the Spark type of a column as in the JSON of schemas."""
    of = column_type(code, name)
    match of.kind:
        case Kind.DECIMAL if of.arrow.precision <= _MAX_DIGITS:
            return f"decimal({of.arrow.precision},{of.arrow.scale})"
        case Kind.ARRAY:
            kind: Any = "double"
            for _ in range(of.dimensions):
                kind = {"type": "array", "elementType": kind, "containsNull": True}
            return kind
        case Kind.TIMESTAMP if code == NANOSECOND_TIMESTAMP:
            return "long"
        case _:
            return _TYPES.get(of.kind, "string")
