"""Sessions of Spark beside the sessions of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["clone_session"]


def clone_session(spark: SparkSession) -> SparkSession:
    """Return a clone of a session, with the same settings and views; changes of the clone do not reach the user."""
    from pyspark import RDD

    sessions = spark._jvm.SparkSession  # type: ignore[union-attr]
    rdd_to_df, active = RDD.toDF, sessions.getActiveSession()
    clone = type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    # the constructor also replaces the thread's active session and the session of RDD.toDF: restore the user's session
    RDD.toDF = rdd_to_df  # type: ignore[method-assign]
    sessions.setActiveSession(active.get() if active.isDefined() else spark._jsparkSession)
    return clone
