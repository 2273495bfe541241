"""Filters by expressions of pyarrow, which decides itself whether an expression can be TRUE under given conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.errors import PredicateError

__all__ = ["check_filter", "columns_of_filter", "rows_of_filter", "skipped_by_guarantees"]


def check_filter(expression: Any, schema: pa.Schema, *, where: str | None = None) -> None:
    """Raise an error unless an expression is a filter on the columns of a schema."""
    try:
        schema.empty_table().filter(expression)
    except (TypeError, ValueError, pa.ArrowException) as error:
        reason, *_ = str(error).partition(f" in {schema.names[0]}: ")  # the schema follows, in several lines
        raise PredicateError(
            "the filter does not fit the columns", where=where, found=f"{expression}: {reason}",
            expected=f"an expression on some of {', '.join(schema.names)}, such as pyarrow.compute.field('x') > 5",
        ) from error  # fmt: skip


def rows_of_filter(expression: Any, table: pa.Table, *, where: str) -> pa.Table:
    """Return the rows for which an expression is TRUE, or raise an error for rows of which it has no value."""
    try:
        return table.filter(expression)
    except pa.ArrowException as error:  # such as a division by zero
        raise PredicateError(
            "the filter fails for a row", where=where, found=f"{expression}: {str(error).splitlines()[0]}",
            hint="whether such rows are read depends on what is skipped: write a filter that has a value for each row",
        ) from error  # fmt: skip


def columns_of_filter(expression: Any, schema: pa.Schema) -> list[str]:
    """Return the columns that a filter on the columns of a schema needs.

    >>> import pyarrow.compute as pc
    >>> columns_of_filter(pc.field("a") > pc.field("c"), pa.schema([("a", "int8"), ("b", "int8"), ("c", "int8")]))
    ['a', 'c']
    """
    # Expressions of pyarrow do not name their columns, but they do not fit a schema without one of these.
    return [name for name in schema.names if not _fits(expression, _without(schema, name))]


def skipped_by_guarantees(expression: Any, schema: pa.Schema, guarantees: list[Any]) -> npt.NDArray[np.bool_]:
    """Return for which files an expression is TRUE of no row, by a condition for each file that is TRUE of all rows.

    No file is skipped if pyarrow cannot evaluate the expression.
    """
    from pyarrow.dataset import FileSystemDataset, ParquetFileFormat
    from pyarrow.fs import LocalFileSystem

    dataset = FileSystemDataset.from_paths(
        [str(row) for row in range(len(guarantees))],
        schema=schema,
        format=ParquetFileFormat(),
        filesystem=LocalFileSystem(),
        partitions=guarantees,
    )
    skip = np.full(len(guarantees), True)
    try:
        skip[[int(fragment.path) for fragment in dataset.get_fragments(filter=expression)]] = False
    except (pa.ArrowException, TypeError):
        return np.zeros(len(guarantees), np.bool_)
    return skip


def _without(schema: pa.Schema, name: str) -> pa.Schema:
    return pa.schema([field for field in schema if field.name != name])


def _fits(expression: Any, schema: pa.Schema) -> bool:
    try:
        schema.empty_table().filter(expression)
    except (TypeError, ValueError, pa.ArrowException):
        return False
    return True
