"""Sessions of Spark beside the sessions of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xskip.spark.bridge.gateway import Hook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["clone_session"]


def clone_session(hook: Hook, spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return a clone of a session, with the same settings and views; changes of the clone do not reach the user.

    Parameters
    ----------
    hook : Hook
        The hook of the session's JVM.
    spark : SparkSession
        The session to clone.
    settings : mapping of str to str
        The settings in which the clone differs.
    """
    from pyspark import RDD

    rdd_to_df = RDD.toDF
    clone = type(spark)(spark.sparkContext, hook.builds.cloned_session(spark, settings))
    RDD.toDF = rdd_to_df  # type: ignore[method-assign] # the constructor replaces the session of RDD.toDF
    return clone
