"""Arrow values in the form that the server's JSON has for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from tests.questdb.server import Server
from xskip.questdb.table import open_table

_EMPTY_FOR_NULL = ("LONG256", "CHAR")


def shown(table: pa.Table, types: list[str]) -> list[list[Any]]:
    """Return rows as JSON has them; ``types`` are the server's names of the column types."""
    columns = [_column(column, kind) for column, kind in zip(table.columns, types, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def check(server: Server, name: str, *, columns: str = "*", reference: str | None = None) -> pa.Table:
    """Compare every value of a table with what the server selects, and return the table.

    ``reference`` is another table with the rows that the server has to have, where it cannot read its own table.
    """
    server.wait(name)
    table = open_table(server.database / name).to_arrow()
    table.validate(full=True)
    compare(server, table, f"select {columns} from {reference or name}")
    return table


def compare(server: Server, table: pa.Table, query: str) -> None:
    answer = server._answer(query)
    names = [column["name"] for column in answer["columns"]]
    types = [column["type"] for column in answer["columns"]]
    table = table.select(names)
    rounded = [_rounding(kind) for kind in types]
    expected = [[f(v) for f, v in zip(rounded, row, strict=True)] for row in answer["dataset"]]
    found = [[f(v) for f, v in zip(rounded, row, strict=True)] for row in shown(table, types)]
    assert len(found) == len(expected)
    different = [
        (row, name, value, right)
        for row, (values, rights) in enumerate(zip(found, expected, strict=True))
        for name, value, right in zip(names, values, rights, strict=True)
        if value != right
    ]
    assert not different, f"{len(different)} differ (row, column, found, expected): {different[:5]}"


def _column(column: pa.ChunkedArray, kind: str) -> list[Any]:
    if kind == "BINARY":
        return [[] for _ in range(len(column))]  # the server shows no bytes
    if pa.types.is_timestamp(column.type):
        return [_time(ticks, column.type.unit) for ticks in column.cast(pa.int64()).to_pylist()]
    values = column.to_pylist()
    if pa.types.is_decimal(column.type):
        return [None if value is None else f"{value:f}" for value in values]
    if kind == "ARRAY":
        return [[] if value is not None and not _has_element(value) else value for value in values]
    return ["" if value is None and kind in _EMPTY_FOR_NULL else value for value in values]


def _has_element(value: Any) -> bool:
    """Return whether an array has elements; the server shows one without any as ``[]``, whatever its shape."""
    return any(_has_element(v) for v in value) if isinstance(value, list) else True


def _time(ticks: int | None, unit: str) -> str | None:
    return None if ticks is None else f"{np.array(ticks).astype(f'datetime64[{unit}]')}Z"


def _rounding(kind: str) -> Callable[[Any], Any]:
    """Return a function that takes values to the precision in which the server writes them."""
    if kind == "FLOAT":
        return lambda value: value if value is None else float(np.float32(value))
    return lambda value: value
