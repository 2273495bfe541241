"""The hook's operations for tables of QuestDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskip.errors import DatasetError
from xskip.spark.bridge.gateway import Hook, known_hook

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["latest_frame", "tier_frames"]


def tier_frames(hook: Hook, spark: SparkSession, path: str, cold: str) -> list[DataFrame]:
    """Return DataFrames of the rows of a table and its cold tier, all with the columns of the table."""
    from pyspark.errors import IllegalArgumentException
    from pyspark.sql import DataFrame

    session = spark._jsparkSession
    try:
        relations = hook.rule.extension("questdb").tiers(session, path, cold)
    except IllegalArgumentException as error:
        raise DatasetError(
            "cannot read a table with its cold tier", where=cold, found=str(error).splitlines()[0]
        ) from error
    frames = [DataFrame(session.baseRelationToDataFrame(relations.table()), spark)]
    for i in range(relations.count()):
        files = DataFrame(session.baseRelationToDataFrame(relations.files(i)), spark)
        frames.append(files.selectExpr(*relations.columns(i)))
    return frames


def latest_frame(df: DataFrame, timestamp: int, key: int) -> tuple[DataFrame, int | None]:
    """Return a DataFrame with the same latest row of each key that reads fewer pieces of a table [QDB-SP-9].

    ``timestamp`` and ``key`` are positions of columns. The number is that of the rows that the DataFrame reads at most,
    as the table is now. For other DataFrames than those that [QDB-SP-9] describes, the result is ``df`` and None.
    """
    from pyspark.sql import DataFrame

    hook = known_hook(df.sparkSession)
    tables = hook.rule.knownExtension("questdb") if hook else None
    if tables is None:  # no table was loaded
        return df, None
    fewer, rows = tables.latest(df._jdf, timestamp, key)
    return DataFrame(fewer, df.sparkSession), rows
