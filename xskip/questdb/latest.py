"""QuestDB's ``LATEST ON`` for DataFrames. Rules: [QDB-FN]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskip.errors import PredicateError, UnsupportedTypeError
from xskip.questdb.frame_columns import Names, check_batch, positions, sortable_positions
from xskip.questdb.last_rows import LEAST, Order, numbered, selected_rows
from xskip.spark.bridge.sessions import active_session
from xskip.spark.questdb.relations import latest_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["latest_on"]

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
#: The number of rows that one task groups in less time than a shuffle takes.
_ONE_TASK = 1_000_000
_TIMES = ("timestamp", "timestamp_ntz", "date", *_INTEGERS)
#: Times as numbers of 64 bits, by type.
_NUMBERS = {"timestamp": "unix_micros({})", "date": "bigint(unix_date({}))"} | dict.fromkeys(_INTEGERS, "bigint({})")


def latest_on(df: DataFrame, timestamp: str, keys: Names, *, order: Names | None = None) -> DataFrame:
    """Return the latest row of each combination of keys, like ``LATEST ON timestamp PARTITION BY keys`` of QuestDB.

    A filter before this function is QuestDB's ``WHERE``: it selects the rows of which the latest is returned. A filter
    after it is a query on ``(… LATEST ON …)``.

    Parameters
    ----------
    df : DataFrame
        The rows, from any source. Of a table of QuestDB, Spark reads only the partitions with a latest row if there is
        one key of type SYMBOL, if ``timestamp`` is the designated timestamp, and if all filters are ranges of it or
        values of the key.
    timestamp : str
        The column whose greatest value is the latest one. A null is before all other values.
    keys : str or sequence of str
        The columns whose combinations each give one row. A null is a key like others.
    order : str or sequence of str, optional
        The columns that decide among rows of a key with equal timestamps: the row with the greatest values is returned.
        By default, it is the last one in the order of the rows of the DataFrame, which is QuestDB's choice. This needs
        a DataFrame that keeps the order of its source, without a join, an aggregation or a repartition. An empty
        sequence allows any of the rows: it is right for tables without such rows, and several times faster if the
        other columns than the keys are numbers, times and booleans. A filter on keys after this function reaches the
        source only if ``order`` is given.

    Returns
    -------
    DataFrame
        One whole row for each combination of keys, with the columns of ``df``, in no particular order.

    Raises
    ------
    PredicateError
        If no column or several columns have a name, or if there are no keys.
    UnsupportedTypeError
        If ``timestamp`` is not a time, a date or an integer, or if values of a key cannot be compared.
    DatasetError
        If ``df`` is a stream.

    Examples
    --------
    >>> from xskip.questdb import latest_on
    >>> trades = spark.createDataFrame(
    ...     [("btc", 1, 63000.0), ("eth", 2, 3100.0), ("btc", 3, 63100.0), ("btc", 3, 63200.0)],
    ...     "symbol string, ts long, price double",
    ... )
    >>> latest_on(trades, "ts", "symbol").sort("symbol").show()
    +------+---+-------+
    |symbol| ts|  price|
    +------+---+-------+
    |   btc|  3|63200.0|
    |   eth|  2| 3100.0|
    +------+---+-------+
    """
    check_batch(df, "df")
    groups = sortable_positions(df, keys, "keys")
    if not groups:
        raise PredicateError("there are no keys", where="keys", expected="at least one column")
    time = _time_position(df, timestamp)
    ties = None if order is None else sortable_positions(df, order, "order")
    fewer, count = latest_frame(df, time, groups[0]) if len(groups) == 1 else (df, None)
    with active_session(df.sparkSession):
        rows, by = _ordered(numbered(fewer, "c"), time, ties)
        if count is not None and count <= _ONE_TASK:
            rows = rows.coalesce(1)  # after _ordered, because Spark can coalesce partitions in another order
        return selected_rows(rows, groups, by, len(df.columns)).toDF(*df.columns)


def _ordered(rows: DataFrame, time: int, ties: list[int] | None) -> tuple[DataFrame, Order]:
    """Return rows with the order in which the last one is the latest."""
    from pyspark.sql import functions as F

    latest = F.col(f"c{time}")
    if ties is None:
        return rows.withColumn("position", F.monotonically_increasing_id()), Order((latest, F.col("position")))
    if ties:
        return rows, Order((latest, *(F.col(f"c{position}") for position in ties)))
    number = _NUMBERS.get(rows.schema.fields[time].dataType.simpleString())
    if number is None:
        return rows, Order((latest,))
    return rows, Order((F.coalesce(F.expr(number.format(f"c{time}")), F.lit(LEAST)),), fixed=True)


def _time_position(df: DataFrame, name: str) -> int:
    if not isinstance(name, str):
        raise PredicateError("the timestamp is not given by its name", where="timestamp", found=repr(name))
    (position,) = positions(df, name, "timestamp")
    kind = df.schema.fields[position].dataType.simpleString()
    if kind not in _TIMES and not kind.startswith("decimal("):
        raise UnsupportedTypeError(
            "the latest value of this type is not defined", where=f"timestamp, column {name}", found=kind,
            expected=f"{', '.join(_TIMES)} or decimal", hint="cast the column to a timestamp",
        )  # fmt: skip
    return position
