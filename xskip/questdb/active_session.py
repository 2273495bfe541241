"""The session of Spark that a function uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskip.errors import DatasetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["session_or_active"]


def session_or_active(spark: SparkSession | None) -> SparkSession:
    """Return a session, or else the active one of the thread, or else the default session."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return spark or SparkSession.active()
    except PySparkRuntimeError as error:
        hint = "create a session, or give it as spark="
        raise DatasetError("there is no active session of Spark", hint=hint) from error
