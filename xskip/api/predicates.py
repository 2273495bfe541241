"""Predicates that users pass, and the errors of predicates that Spark cannot resolve."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xskip.errors import PredicateError, shown
from xskip.spark.bridge.java_errors import first_line
from xskip.standalone.syntax import STATEMENTS
from xskip.standalone.tokens import place_of

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["check_predicate", "resolving"]

_EXPECTED = "a condition such as \"ts >= '2024-03-01' AND city = 'Oslo'\""
#: The place of an error of syntax in Spark's words, and what stands there.
_NEAR = re.compile(r"at or near ('.*?'|end of input)[.:;].*?line (\d+), pos(?:ition)? (\d+)", re.DOTALL)
#: The errors of Spark for a text that is no condition.
_NO_CONDITION = ("PARSE_", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN")


def check_predicate(predicate: object) -> None:
    """Raise PredicateError unless a predicate is a text or a Column."""
    from pyspark.sql import Column

    if not isinstance(predicate, (str, Column)):
        expected = f"{_EXPECTED}, or a Column such as col('city') == 'Oslo'"
        raise PredicateError("the predicate is neither SQL nor a Column", found=shown(predicate), expected=expected)


@contextmanager
def resolving(predicate: str | Column) -> Iterator[None]:
    """Run the body, and raise an error of Spark as a PredicateError."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        found = first_line(error).rstrip(";")
        if isinstance(predicate, str) and ("PARSE_" in found or _is_statement(predicate, found)):
            raise _no_sql(predicate, found) from error
        expected = _EXPECTED if any(name in found for name in _NO_CONDITION) else None
        raise PredicateError(
            "Spark cannot resolve the predicate", where=str(predicate), found=found, expected=expected
        ) from error


def _is_statement(predicate: str, found: str) -> bool:
    """Return whether Spark took the first word of a statement for a column, as in ``SELECT * FROM t``."""
    first = predicate.split(maxsplit=1)[0] if predicate.strip() else ""
    return first.upper() in STATEMENTS and "UNRESOLVED_COLUMN" in found and f"`{first}`" in found


def _no_sql(predicate: str, found: str) -> PredicateError:
    """Return the error for a text that Spark cannot parse, with the place of the error."""
    first = predicate.split(maxsplit=1)[0].upper() if predicate.strip() else ""
    if first in STATEMENTS:
        return PredicateError(
            "the predicate is a statement", where=predicate, found=place_of(first, 0), expected=_EXPECTED,
            hint="pass only what follows WHERE",
        )  # fmt: skip
    if not first:
        return PredicateError("the predicate is empty", expected=_EXPECTED)
    near = _NEAR.search(found)
    if near is not None:
        place = "the end" if near[1] == "end of input" else place_of(near[1][1:-1], int(near[3]))
        found = place if near[2] == "1" else f"{place} of line {near[2]}"
    return PredicateError("Spark cannot parse the predicate", where=predicate, found=found, expected=_EXPECTED)
