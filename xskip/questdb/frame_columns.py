"""The columns that arguments name: their positions in a DataFrame, and checks of their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xskip.errors import DatasetError, PredicateError, UnsupportedTypeError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

__all__ = ["Names", "check_batch", "positions", "sortable_positions"]

#: The name of a column, or a sequence of names.
Names = str | Sequence[str]
#: The types without an order, in the notation of Spark, beside maps.
_UNORDERED = ("geography", "geometry", "interval", "variant")


def positions(df: DataFrame, names: Names, argument: str) -> list[int]:
    """Return the positions of columns, each once; an error names the argument that has the names."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise PredicateError(
            "the columns are not given by their names", where=argument, found=repr(names),
            expected="a name, or a sequence of names",
        )  # fmt: skip
    return list(dict.fromkeys(_position(df, name, argument) for name in listed))


def sortable_positions(df: DataFrame, names: Names, argument: str) -> list[int]:
    """Return the positions of columns whose values have an order."""
    found = positions(df, names, argument)
    for field in (df.schema.fields[position] for position in found):
        if not _has_order(field.dataType):
            raise UnsupportedTypeError(
                "values of this type cannot be compared", where=f"{argument}, column {field.name}",
                found=field.dataType.simpleString(), hint="name other columns",
            )  # fmt: skip
    return found


def check_batch(df: DataFrame, argument: str) -> None:
    """Check that an argument is a DataFrame with an end."""
    if not hasattr(df, "isStreaming"):
        raise DatasetError("the argument is not a DataFrame of Spark", where=argument, found=type(df).__name__)
    if df.isStreaming:
        raise DatasetError(
            "a stream has no last row", where=argument, found="a streaming DataFrame",
            hint="call the function in foreachBatch, or read the source as a batch",
        )  # fmt: skip


def _position(df: DataFrame, name: str, argument: str) -> int:
    exact = [i for i, column in enumerate(df.columns) if column == name]
    # case does not count if no column has the name exactly [QDB-RD-1]
    found = exact or [i for i, column in enumerate(df.columns) if column.lower() == name.lower()]
    if len(found) != 1:
        raise PredicateError(
            "several columns have this name" if found else "the DataFrame has no column with this name",
            where=argument, found=name, expected=None if found else ", ".join(df.columns),
            hint="rename the columns" if found else None,
        )  # fmt: skip
    return found[0]


def _has_order(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, StructType):
        return all(_has_order(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_order(kind.elementType)
    return not isinstance(kind, MapType) and kind.typeName() not in _UNORDERED
