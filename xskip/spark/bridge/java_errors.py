"""Read Spark's errors: the file that one names, its cause, its first line."""

from __future__ import annotations

import re
from urllib.parse import unquote

from xskip.errors import XskipError

__all__ = ["first_line", "reason", "spark_errors", "what_failed"]

_PATH_IN_ERROR = re.compile(r"(?:while reading file|reading file:?|file path:)\s+(\S+?)(?:\.\s|\s|$)")


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the errors that a call of Spark raises: those of py4j, and those that PySpark makes of them."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException


def what_failed(error: Exception) -> dict[str, str]:
    """Return the file that Spark's error names, the first line of what is at its bottom, and what to do.

    Returns
    -------
    dict of str to str
        Keyword arguments of an error of xskip: ``found``, ``hint``, and ``where`` if the error names a file.
    """
    match = _PATH_IN_ERROR.search(str(error))
    cause = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    text = str(error) if cause is None else str(cause.toString())
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [text]
    said = lines[-1] if "Traceback (most recent call last):" in lines else lines[0]  # Python says it last
    found = {"found": said[:300], "hint": "repair or remove the file, or build with on_error='skip'"}
    return found | ({"where": unquote(match[1])} if match else {})


def first_line(error: Exception) -> str:
    """Return what Spark's error says, without the rest of its text."""
    return next((line for line in str(error).splitlines() if line.strip()), "")[:300]


def reason(error: BaseException) -> str:
    """Return what went wrong in one line, be it an error of xskip, of Python or of the JVM."""
    if isinstance(error, XskipError):
        return str(error)
    java = getattr(error, "java_exception", None)
    return repr(error) if java is None else next(iter(str(java.toString()).splitlines()), "")
