"""Sessions of Spark beside the sessions of the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from xskip.errors import ArgumentError, DatasetError
from xskip.spark.bridge.gateway import Hook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["active_session", "check_session", "clone_session", "connect_error", "session_of"]


#: Guards RDD.toDF, which belongs to a clone for a moment.
_cloning = Lock()


def connect_error() -> DatasetError:
    """Return the error for a Spark Connect client."""
    return DatasetError(
        "xskip does not run in a Spark Connect client",
        hint="build indexes in a program with its own driver; xskip.open_index(path).files(...) selects files here",
    )


def check_session(spark: object) -> None:
    """Raise an error unless an object is a running Spark session with a JVM."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise connect_error()
    if not hasattr(spark, "_jsparkSession") or isinstance(spark, type):
        found = "None" if spark is None else f"an object of type {type(spark).__qualname__}"
        hint = "call getOrCreate() on the builder" if hasattr(spark, "getOrCreate") else None
        raise ArgumentError("xskip needs a Spark session", found=found, expected="a SparkSession", hint=hint)
    context = getattr(spark, "_sc", None)
    if getattr(context, "_jsc", None) is None or context._jsc.sc().isStopped():  # type: ignore[union-attr]
        raise ArgumentError(
            "the Spark session was stopped", hint="create a session, and call xskip.enable(spark) for it"
        )


@contextmanager
def active_session(spark: SparkSession) -> Iterator[None]:
    """Make a session the active session of this thread in the JVM while the body runs.

    Spark parses texts, and resolves columns of PySpark, with the settings of the thread's active session, which can be
    another session than that of the DataFrame, or none.
    """
    # A session of Spark Connect has no threads in this process.
    if not hasattr(spark, "_jsparkSession") or not _has_pinned_threads(spark):
        yield
        return
    java: Any = spark._jsparkSession  # a call of a static method by an object needs no search for its class
    before = java.getActiveSession()
    java.setActiveSession(java)
    try:
        yield
    finally:
        if before.isEmpty():
            java.clearActiveSession()
        else:
            java.setActiveSession(before.get())


def _has_pinned_threads(spark: SparkSession) -> bool:
    """Return whether a thread of Python has a thread of its own in the JVM, as it has by ``PYSPARK_PIN_THREAD``."""
    from py4j.clientserver import ClientServer

    return isinstance(spark.sparkContext._gateway, ClientServer)


def clone_session(hook: Hook, spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return a clone of a session, with its views and other settings; changes of the clone do not reach the user."""
    return session_of(spark, hook.builds.cloned_session(spark, settings))


def session_of(spark: SparkSession, java: Any) -> SparkSession:
    """Return a session of the JVM as a session of Python; ``spark`` is another session of the same context."""
    from pyspark import RDD

    with _cloning:
        rdd_to_df = RDD.toDF
        session = type(spark)(spark.sparkContext, java)
        RDD.toDF = rdd_to_df  # type: ignore[method-assign] # the constructor replaces the session of RDD.toDF
    return session
