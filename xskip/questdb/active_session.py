"""The session of Spark that a function uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskip.errors import DatasetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["session_or_active"]


def session_or_active(spark: SparkSession | None) -> SparkSession:
    """Return a session, or the active one.

    Raises
    ------
    DatasetError
        If there is none.
    """
    from pyspark.sql import SparkSession

    found = spark or SparkSession.getActiveSession()
    if found is None:
        raise DatasetError("there is no active session of Spark", hint="create a session, or give it as spark=")
    return found
