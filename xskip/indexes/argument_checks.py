"""Checks of the arguments of index types, which raise IndexDefinitionError."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xskip.column_paths import split_path
from xskip.errors import IndexDefinitionError, UnsupportedTypeError

if TYPE_CHECKING:
    from xskip.indexes.index_type import Index

__all__ = ["check_at_least_one", "check_column", "check_label", "check_rate", "check_text", "unsupported"]


def check_text(column: object) -> None:
    """Raise an error if a column is not named by a text, but is another object, such as a Spark column."""
    if not isinstance(column, str):
        raise IndexDefinitionError(
            "the column of an index is not a text", found=f"an object of type {type(column).__name__}",
            expected="the name of a column, such as MinMax('ts')",
        )  # fmt: skip


def check_label(label: object) -> None:
    """Raise an error if the label of a key is neither a text with characters nor None."""
    if label is not None and (not isinstance(label, str) or not label):
        raise IndexDefinitionError(
            "the label of a key is not a text", found=f"key_label={label!r:.100}", expected="such as key_label='k1'"
        )


def check_at_least_one(index: Index, attribute: str) -> None:
    """Raise an error if an integer attribute of an index is below 1."""
    found = getattr(index, attribute)
    if not isinstance(found, int) or found < 1:
        raise IndexDefinitionError(
            f"{type(index).__name__} has an invalid {attribute}",
            found=f"{attribute}={found!r}",
            expected="1 or more",
        )


def check_rate(index: Index, fpp: float) -> None:
    """Raise an error if the false positive rate of an index is not greater than 0 and less than 1."""
    if not isinstance(fpp, (int, float)) or not 0 < fpp < 1:
        raise IndexDefinitionError(
            f"{type(index).__name__} has an invalid rate",
            found=f"fpp={fpp!r}",
            expected="between 0 and 1",
        )


def unsupported(index: str, column: str, found: str, served: Sequence[str]) -> UnsupportedTypeError:
    """Return the error for a column whose Spark type an index cannot serve."""
    return UnsupportedTypeError(
        f"{index} cannot index this type", where=f"column {column}", found=found, expected="one of " + ", ".join(served)
    )


def check_column(column: str) -> None:
    """Raise an error if a text is not a column path such as ``a``, ``a.b`` or ```a.b```."""
    check_text(column)
    try:
        split_path(column)
    except ValueError as error:
        raise IndexDefinitionError(
            str(error), expected="a column such as a, a.b or `a.b`", hint="put a name that holds a dot in backticks"
        ) from error
