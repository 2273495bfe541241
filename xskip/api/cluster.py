"""Layouts of DataFrames before a write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from xskip.api.arguments import check_choice, check_count, check_frame, check_texts
from xskip.column_paths import join_path, split_path
from xskip.errors import ArgumentError, did_you_mean
from xskip.indexing.clustering import Clustering

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["cluster"]

#: More columns leave less than half of the order of each to files.
_MAX_COLUMNS = 8
#: The types, by their names in Spark, that have an order which xskip knows.
_ORDERED = (
    "binary", "boolean", "byte", "char", "date", "decimal", "double", "float", "integer", "long", "short", "string",
    "timestamp", "timestamp_ntz", "varchar",
)  # fmt: skip


def cluster(
    df: DataFrame,
    by: Sequence[str],
    *,
    partition_by: Sequence[str] = (),
    files: int | None = None,
    method: Literal["auto", "range", "hilbert"] = "auto",
) -> DataFrame:
    """Return the rows of a DataFrame in a layout in which files can be skipped by columns.

    Files that are written from the result hold rows with near values. In the order of one column, or of several columns
    one after the other (``"range"``), each file has a range of the values of the first column. Along a Hilbert curve
    through the values of several columns (``"hilbert"``), each file has a wider range of each of them. It reads some 15
    to 30 % fewer files than Z-order. Within a file, the rows are in the same order, so that queries also read fewer
    parts of large files.

    Spark computes the DataFrame once or twice more, to find the ranges of values in rows at random: cache it if it is
    expensive. The rows stay the same, and so do the columns.

    Parameters
    ----------
    df : DataFrame
        The rows, not of a stream.
    by : sequence of str
        One to eight columns, or fields of structs such as ``"position.lat"``, of numbers, texts, bytes, dates, times or
        booleans. Those with the most selective conditions first.
    partition_by : sequence of str
        The columns of ``df.write.partitionBy``: rows of one directory are together, and in the layout within it. Lay
        out columns that follow the directories, such as a time in directories of days, alone or with ``"range"``:
        they have few different places on a curve within one directory.
    files : int, optional
        The number of parts of the result, which are files without ``partition_by`` and without limits of their sizes.
        Rows that are equal in all columns are in one part. None leaves the number to Spark: to
        ``spark.sql.shuffle.partitions``, and to adaptive execution, which joins small parts.
    method : {"auto", "range", "hilbert"}
        ``"auto"`` takes ranges for one column, and the curve for several.

    Returns
    -------
    DataFrame
        The same rows.

    Raises
    ------
    ArgumentError
        If an argument has another type than documented, or if the DataFrame is a stream or has no such columns.

    See Also
    --------
    SkippingIndex.advise : With a trial, tells what a layout saves the recorded queries.

    Examples
    --------
    >>> df = spark.range(1000).selectExpr("id % 100 AS x", "id div 10 AS y")
    >>> index = xskip.write(xskip.cluster(df, by=["x", "y"], files=16), f"{path}/points", [xskip.MinMax("x")])
    >>> len(index.files("x = 5").names) < 8
    True
    """
    check_frame(df)
    columns, partitions = _columns("by", df, by), _columns("partition_by", df, partition_by)
    check_count("files", files)
    check_choice("method", method, ("auto", "range", "hilbert"))
    if not 1 <= len(columns) <= _MAX_COLUMNS:
        raise ArgumentError(
            "the number of columns is not valid", found=f"by={list(by)!r}", expected=f"one to {_MAX_COLUMNS} columns"
        )
    fold = _fold(df)
    folded = [fold(each) for each in (*columns, *partitions)]
    twice = next((each for each in folded if folded.count(each) > 1), None)
    if twice is not None:
        raise ArgumentError("a column is given twice", found=twice, hint="name each column once, in by or partition_by")
    if df.isStreaming:
        raise ArgumentError(
            "a stream has no order of all its rows", hint="call cluster() in foreachBatch, for each batch"
        )
    return Clustering(columns, partitions, files, method != "range" and len(columns) > 1).of(df)


def _columns(name: str, df: DataFrame, given: Sequence[str]) -> list[str]:
    """Return columns after a check, in Spark's notation."""
    check_texts(name, given, "ts")
    for each in given:
        _check_column(name, df, each)
    return list(given)


def _check_column(name: str, df: DataFrame, given: str) -> None:
    fold = _fold(df)
    kind: Any = df.schema
    for part in split_path(given):
        fields = [each for each in getattr(kind, "fields", ()) if fold(each.name) == fold(part)]
        if len(fields) != 1:
            known = [join_path((field.name,)) for field in df.schema.fields]
            raise ArgumentError(
                "the DataFrame has several such columns" if fields else "the DataFrame has no such column", where=name,
                found=given, expected=f"one of {', '.join(known)}", hint=None if fields else did_you_mean(given, known),
            )  # fmt: skip
        kind = fields[0].dataType
    if kind.typeName() not in _ORDERED:
        raise ArgumentError(
            "the column has a type without an order", where=f"{name}, column {given}", found=kind.simpleString(),
            expected="numbers, texts, bytes, dates, times or booleans",
        )  # fmt: skip


def _fold(df: DataFrame) -> Callable[[str], str]:
    """Return the function under which names of columns are equal in a session."""
    return str if df.sparkSession.conf.get("spark.sql.caseSensitive") == "true" else str.lower
