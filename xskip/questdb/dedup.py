"""QuestDB's ``DEDUP UPSERT KEYS`` and ``DEDUP SKIP`` for DataFrames. Rules: [QDB-FN]."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from xskip.errors import DatasetError, PredicateError
from xskip.questdb.frame_columns import Names, check_batch, positions, sortable_positions
from xskip.questdb.last_rows import Order, numbered, selected_rows
from xskip.spark.bridge.sessions import active_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Mode", "dedup_upsert"]

#: What happens to a row whose keys exist: it replaces the row with these keys, or it is left out.
Mode: TypeAlias = Literal["upsert", "skip"]


def dedup_upsert(
    existing: DataFrame, new: DataFrame, keys: Names, *, mode: Mode = "upsert", order: Names | None = None
) -> DataFrame:
    """Return the rows of a table after an insert, as a table with ``DEDUP UPSERT KEYS(keys)`` of QuestDB has them.

    Each combination of keys in ``new`` gives one row: the last one in its order. It replaces the row of ``existing``
    with equal keys, or is added if there is none. All columns are replaced, those with nulls too. Equal keys among the
    rows of ``existing``, which a server has from before its deduplication was enabled, stay as many rows as they are.

    Parameters
    ----------
    existing : DataFrame
        The rows of the table; ``new.limit(0)`` for none, so that only the new rows are deduplicated.
    new : DataFrame
        The rows to insert, with the same columns as ``existing`` in any order.
    keys : str or sequence of str
        The columns that identify a row. A null is equal to a null. On a server, the designated timestamp is always one
        of them.
    mode : {"upsert", "skip"}, default "upsert"
        With ``"skip"``, like ``DEDUP SKIP`` of newer servers, the first row stays: that of ``existing``, or else the
        first one in the order of ``new``.
    order : str or sequence of str, optional
        The columns that give the order of ``new``, with nulls first. By default, it is the order of the rows of the
        DataFrame. This needs a DataFrame that keeps the order of its source, without a join, an aggregation or a
        repartition. Among rows with equal keys and an equal order, any is taken; so an empty sequence allows any row.

    Returns
    -------
    DataFrame
        The rows, with the columns of ``existing``, in no particular order.

    Raises
    ------
    PredicateError
        If no column or several columns have a name, if there are no keys, or if the mode does not exist.
    UnsupportedTypeError
        If values of a key cannot be compared.
    DatasetError
        If the DataFrames have different columns, or if one is a stream.

    Examples
    --------
    >>> from xskip.questdb import dedup_upsert
    >>> schema = "ts long, symbol string, price double"
    >>> existing = spark.createDataFrame([(1, "btc", 63000.0), (1, "eth", 3100.0)], schema)
    >>> new = spark.createDataFrame([(1, "btc", 63100.0), (2, "btc", 63200.0), (1, "btc", 63150.0)], schema)
    >>> dedup_upsert(existing, new, ["ts", "symbol"]).sort("ts", "symbol").show()
    +---+------+-------+
    | ts|symbol|  price|
    +---+------+-------+
    |  1|   btc|63150.0|
    |  1|   eth| 3100.0|
    |  2|   btc|63200.0|
    +---+------+-------+
    >>> dedup_upsert(existing, new, ["ts", "symbol"], mode="skip").sort("ts", "symbol").show()
    +---+------+-------+
    | ts|symbol|  price|
    +---+------+-------+
    |  1|   btc|63000.0|
    |  1|   eth| 3100.0|
    |  2|   btc|63200.0|
    +---+------+-------+
    """
    if mode not in get_args(Mode):
        raise PredicateError("a mode does not exist", where="mode", found=repr(mode), expected="'upsert' or 'skip'")
    check_batch(existing, "existing")
    check_batch(new, "new")
    groups = sortable_positions(existing, keys, "keys")
    if not groups:
        raise PredicateError("there are no keys", where="keys", expected="at least one column")
    same = _same_columns(existing, new)
    ties = None if order is None else [same.index(p) for p in sortable_positions(new, order, "order")]
    with active_session(existing.sparkSession):
        inserted = _deduplicated(numbered(new, "i").select(*(f"i{p}" for p in same)), groups, ties, mode)
        return _merged(numbered(existing, "e"), numbered(inserted, "n"), groups, mode).toDF(*existing.columns)


def _same_columns(existing: DataFrame, new: DataFrame) -> list[int]:
    """Return the positions in ``new`` of the columns of ``existing``."""
    if len(existing.columns) != len(new.columns):
        raise DatasetError(
            "the new rows have other columns than the existing ones", where="new", found=", ".join(new.columns),
            expected=", ".join(existing.columns), hint="select the columns, and null for those that are absent",
        )  # fmt: skip
    found = [positions(new, name, "new")[0] for name in existing.columns]
    for field, position in zip(existing.schema.fields, found, strict=True):
        kind, expected = new.schema.fields[position].dataType.simpleString(), field.dataType.simpleString()
        if kind != expected:
            raise DatasetError(
                "a column of the new rows has another type than the existing one", where=f"new, column {field.name}",
                found=kind, expected=expected, hint="cast the column",
            )  # fmt: skip
    return found


def _deduplicated(rows: DataFrame, keys: list[int], ties: list[int] | None, mode: Mode) -> DataFrame:
    """Return one of the new rows for each combination of keys."""
    from pyspark.sql import functions as F

    width, first = len(rows.columns), mode == "skip"
    rows = numbered(rows, "c")
    if ties is None:
        rows = rows.withColumn("position", F.monotonically_increasing_id())
        order = Order((F.col("position"),), fixed=True, first=first)
    elif ties:
        order = Order(tuple(F.col(f"c{position}") for position in ties), first=first)
    else:
        order = Order((F.lit(0),), fixed=True, first=first)
    return selected_rows(rows, keys, order, width)


def _merged(existing: DataFrame, new: DataFrame, keys: list[int], mode: Mode) -> DataFrame:
    """Return the rows after an insert."""
    from pyspark.sql import functions as F

    equal = reduce(and_, (F.col(f"e{key}").eqNullSafe(F.col(f"n{key}")) for key in keys))
    # One full outer join reads both DataFrames once [QDB-FN-8]. If it read the new rows twice, to remove the rows that
    # they replace and to add them, then a source that changes meanwhile could lose a row.
    joined = existing.withColumn("existed", F.lit(True)).join(new.withColumn("inserted", F.lit(True)), equal, "full")
    wins, kept, other = ("inserted", "n", "e") if mode == "upsert" else ("existed", "e", "n")
    return joined.select(
        *(
            F.when(F.col(wins), F.col(f"{kept}{position}")).otherwise(F.col(f"{other}{position}"))
            .alias(f"c{position}")
            for position in range(len(existing.columns))
        )
    )  # fmt: skip
