"""Parsers of Spark's errors, which find the file, the root cause and the first line of an error."""

from __future__ import annotations

import re
from urllib.parse import unquote

from xskip.errors import XskipError

__all__ = ["first_line", "reason", "spark_errors", "what_failed"]

_PATH_IN_ERROR = re.compile(r"(?:while reading file|reading file:?|file path:)\s+(\S+?)(?:\.\s|\s|$)")


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exception types that a call of Spark can raise: those of py4j and those of PySpark."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException


def what_failed(error: Exception) -> dict[str, str]:
    """Return the root cause of a Spark error, the file that the error names, and a hint for the user.

    Returns
    -------
    dict of str to str
        Keyword arguments of an :class:`~xskip.errors.XskipError`: ``found`` (a line of at most 300 characters),
        ``hint``, and ``where`` if the error names a file.
    """
    match = _PATH_IN_ERROR.search(str(error))
    cause = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    text = str(error) if cause is None else str(cause.toString())
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [text]
    # the message of a Python traceback is its last line
    said = lines[-1] if "Traceback (most recent call last):" in lines else lines[0]
    found = {"found": said[:300], "hint": "repair or remove the file, or build with on_error='skip'"}
    return found | ({"where": unquote(match[1])} if match else {})


def first_line(error: Exception) -> str:
    """Return the first non-empty line of a Spark error, at most 300 characters."""
    return next((line for line in str(error).splitlines() if line.strip()), "")[:300]


def reason(error: BaseException) -> str:
    """Return a short description of an error of xskip, Python or the JVM, without its stack trace."""
    if isinstance(error, XskipError):
        return str(error)
    java = getattr(error, "java_exception", None)
    return repr(error) if java is None else next(iter(str(java.toString()).splitlines()), "")
