"""Predicates that users pass, and the errors of predicates that Spark cannot resolve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xskip.errors import PredicateError, shown
from xskip.spark.bridge.java_errors import first_line

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["check_predicate", "resolving"]

_EXPECTED = "a condition such as \"ts >= '2024-03-01' AND city = 'Oslo'\""
#: The errors of Spark for a text that is no condition.
_NO_CONDITION = ("PARSE_", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN")


def check_predicate(predicate: object) -> None:
    """Raise an error unless a predicate is a text or a Column.

    Raises
    ------
    PredicateError
        If the predicate is neither.
    """
    from pyspark.sql import Column

    if not isinstance(predicate, (str, Column)):
        expected = f"{_EXPECTED}, or a Column such as col('city') == 'Oslo'"
        raise PredicateError("the predicate is neither SQL nor a Column", found=shown(predicate), expected=expected)


@contextmanager
def resolving(predicate: str | Column) -> Iterator[None]:
    """Run the body, and raise an error of Spark as an error about the predicate.

    Raises
    ------
    PredicateError
        If Spark cannot parse or resolve the predicate.
    """
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        found = first_line(error).rstrip(";")
        expected = _EXPECTED if any(name in found for name in _NO_CONDITION) else None
        raise PredicateError(
            "Spark cannot resolve the predicate", where=str(predicate), found=found, expected=expected
        ) from error
