"""Parsers of Spark's errors, which find the file, the root cause and the first line of an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote

from xskip.errors import XskipError, message_of
from xskip.hints import Option, Words

__all__ = [
    "JavaError",
    "first_line",
    "in_short",
    "is_cancellation",
    "reason",
    "spark_errors",
    "translate_spark_errors",
    "what_failed",
]

_MAX_CHARACTERS = 300
#: Spark's error classes of jobs that a user or a timeout has ended.
_CANCELLATIONS = ("SPARK_JOB_CANCELLED",)
#: The message of such a job on Spark 3.5, which has no class for it.
_CANCELLED_JOB = re.compile(r"Job \d+ cancelled\b")
_PATH_IN_ERROR = re.compile(r"(?:while reading file|reading file:?|file path:)\s+(\S+?)(?:\.\s|\s|$)")
#: What the hook's own readers write (io.xskip.common.ReadFailures).
_PATH_OF_READER = re.compile(r"xskip cannot read the file (.+?): ")
#: What Parquet's reader writes, to which Spark 3.5 adds no path.
_PATH_OF_PARQUET = re.compile(r"RuntimeException: (.+?) is not a Parquet file\.")
#: What readers throw at damaged bytes that they do not expect; the exceptions say nothing of the file.
_OF_DAMAGE = re.compile(
    r"java\.(lang\.(NullPointer|NegativeArraySize|(Array)?IndexOutOfBounds)|io\.EOF|nio\.BufferUnderflow)Exception\b"
)
#: What py4j writes before the error of a call that did not reach a method of Java.
_WITHOUT_EXCEPTION = re.compile(r"\AAn error occurred while calling [\w.$]+\. Trace:\s*")


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exception types that a call of Spark can raise: those of py4j and those of PySpark."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException


def what_failed(error: Exception) -> dict[str, str]:
    """Return the root cause of a Spark error, the file that the error names, and a hint for the user.

    The keys are arguments of an :class:`~xskip.errors.XskipError`; without a file there is no ``where``.
    """
    text = str(error)
    match = _PATH_IN_ERROR.search(text)
    plain = _PATH_OF_READER.search(text) or _PATH_OF_PARQUET.search(text)
    hint = Words("repair or remove the file, or build with {}", Option("on_error", "skip"))
    found = {"found": first_line(error), "hint": hint}
    place = unquote(match[1]) if match else plain[1] if plain else ""
    if not place:
        return found
    if _OF_DAMAGE.match(found["found"]):
        found["found"] += " (the file may be damaged)"
    return found | {"where": place}


def first_line(error: BaseException) -> str:
    """Return the first line of a Spark error, or of its root cause in the JVM, at most 300 characters."""
    # py4j's own first line names only the object that was called, such as o61.load.
    thrown = getattr(error, "java_exception", None)
    text = _WITHOUT_EXCEPTION.sub("", str(error)) if thrown is None else str(_root(thrown).toString())
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    # The message of a Python traceback is its last line.
    return (lines[-1] if "Traceback (most recent call last):" in lines else lines[0])[:_MAX_CHARACTERS]


def reason(error: BaseException) -> str:
    """Return a short description of an error of xskip, Python or the JVM, without its stack trace."""
    if isinstance(error, XskipError):
        return message_of(error)
    return first_line(error) if isinstance(error, spark_errors()) else repr(error)


class JavaError(Exception):
    """An exception of Java as the cause of an error: its chain of messages, without their stack traces."""

    def __init__(self, thrown: Any) -> None:
        texts = (str(each.toString()).partition("\n")[0][:_MAX_CHARACTERS] for each in _chain(thrown))
        super().__init__("\ncaused by: ".join(dict.fromkeys(texts)))
        #: The exception in the JVM, which has the stack trace.
        self.java_exception = thrown


def in_short(error: Exception) -> Exception:
    """Return the error to chain as a cause: an exception of Java without its stack trace, or the error itself."""
    thrown = getattr(error, "java_exception", None)
    # The text of py4j's own exception has some 200 lines, which hide the error that a user reads.
    return error if thrown is None else JavaError(thrown)


def is_cancellation(error: BaseException) -> bool:
    """Return whether a Spark job failed because the query, or the jobs of its group, were cancelled."""
    from py4j.protocol import Py4JError

    for thrown in _chain(getattr(error, "java_exception", None)):
        with suppress(Py4JError):  # most exceptions have no error class
            if thrown.getErrorClass() in _CANCELLATIONS or _CANCELLED_JOB.match(thrown.getMessage() or ""):
                return True
    return False


@contextmanager
def translate_spark_errors(kind: type[XskipError], what: str, where: str, hint: str | None = None) -> Iterator[None]:
    """Run the body, and raise an error of Spark as an error of xskip that names the root cause."""
    try:
        yield
    except spark_errors() as error:
        raise kind(what, where=where, found=first_line(error), hint=hint) from in_short(error)


def _root(thrown: Any) -> Any:
    """Return the last exception in the chain of causes of a Java exception."""
    outer, root = [thrown, *_chain(thrown)][-2:]
    # The name of a class that is not found says less than an exception with words of its own around it.
    if "ClassNotFoundException" in root.getClass().getName() and outer.getMessage() != root.toString():
        return outer
    return root


def _chain(thrown: Any) -> Iterator[Any]:
    """Yield a Java exception, its cause, the cause of the cause, and so on."""
    while thrown is not None:
        yield thrown
        thrown = thrown.getCause()
