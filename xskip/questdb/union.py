"""A table and its cold tier as one DataFrame. Rules: [QDB-CT]."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from xskip.paths import check_path
from xskip.questdb.active_session import session_or_active
from xskip.questdb.table import Table
from xskip.questdb_files.database import place_of
from xskip.spark.query.spark_engine import engine_of
from xskip.spark.questdb.relations import tier_frames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["union"]


def union(hot: Table | str | Path, cold: str, *, spark: SparkSession | None = None) -> DataFrame:
    """Return the rows of a table and of its exported partitions, each row once.

    Each execution of a query reads the last transaction of the table, and the exports that were committed then. An
    exported partition that the table still has is read from the exported files. If rows were merged into it since, it
    is read from the table. If the table has dropped it, new rows of the same time are read as well.

    Parameters
    ----------
    hot : Table, str or Path
        The table, or its folder.
    cold : str
        The folder of the cold tier, see :meth:`Table.export`. Before the first export it need not exist.
    spark : SparkSession, optional
        The session of the DataFrame; by default the active session.

    Returns
    -------
    DataFrame
        The columns of the table. Columns that a file lacks are null there, or zero in a type without null.

    Raises
    ------
    ArgumentError
        If an argument is no path.
    DatasetError
        If there is no such table, if the folder has exports of another table, or if it is not known whether the table
        has the rows of an exported partition that has changed.
    UnsupportedTypeError
        If values of an exported column have no exact form in the type that the column has now.

    Examples
    --------
    >>> import xskip.questdb
    >>> trades = xskip.questdb.union("/root/.questdb/db/trades", "s3a://archive/trades")  # doctest: +SKIP
    >>> trades.where("ts >= '2025-01-01'").count()  # doctest: +SKIP
    """
    place = hot.place if isinstance(hot, Table) else place_of(hot)
    cold = check_path(cold, "folder of the cold tier")
    session = session_or_active(spark)
    frames = tier_frames(engine_of(session).hook, session, str(place.control), cold)
    return reduce(lambda left, right: left.unionAll(right), frames)
