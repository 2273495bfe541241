"""The hook's operations for tables of QuestDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskip.errors import DatasetError
from xskip.spark.bridge.gateway import Hook

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["tier_frames"]


def tier_frames(hook: Hook, spark: SparkSession, path: str, cold: str) -> list[DataFrame]:
    """Return DataFrames of the rows of a table and its cold tier, all with the columns of the table.

    Parameters
    ----------
    hook : Hook
        The hook of the session's JVM.
    spark : SparkSession
        The session of the DataFrames.
    path : str
        The folder of the table.
    cold : str
        The folder of the cold tier.

    Raises
    ------
    DatasetError
        If the JVM cannot describe the table.
    """
    from pyspark.errors import IllegalArgumentException
    from pyspark.sql import DataFrame

    session = spark._jsparkSession
    try:
        relations = hook.rule.tables().tiers(session, path, cold)
    except IllegalArgumentException as error:
        raise DatasetError(
            "cannot read a table with its cold tier", where=cold, found=str(error).splitlines()[0]
        ) from error
    frames = [DataFrame(session.baseRelationToDataFrame(relations.table()), spark)]
    for i in range(relations.count()):
        files = DataFrame(session.baseRelationToDataFrame(relations.files(i)), spark)
        frames.append(files.selectExpr(*relations.columns(i)))
    return frames
