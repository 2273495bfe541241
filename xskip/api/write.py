"""Writes of DataFrames with an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from xskip.api.arguments import check_choice, check_frame, check_indexes, check_text
from xskip.api.index import SkippingIndex
from xskip.indexes import Index
from xskip.indexes.definition_text import text_of
from xskip.paths import check_path

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

__all__ = ["write"]

_MODES = ("error", "errorifexists", "append", "overwrite", "ignore")


def write(
    df: DataFrame | DataFrameWriter,
    path: str | os.PathLike[str],
    indexes: Sequence[Index] | None = None,
    *,
    format: str = "parquet",  # noqa: A002 - the name that Spark's writer uses
    mode: str | None = None,
) -> SkippingIndex:
    """Write a DataFrame to files, together with an index of them.

    It is ``df.write`` with the option ``xskip.index``, and then :meth:`SkippingIndex.ensure`: the tasks that write the
    rows collect the statistics, and ``ensure`` reads only what they could not collect, such as the files of a format of
    texts. In a session without :func:`enable`, ``ensure`` reads all new files.

    Parameters
    ----------
    df : DataFrame or DataFrameWriter
        The rows, or a writer of them, such as ``df.write.partitionBy("day").option("compression", "zstd")``.
    path : str or os.PathLike
        The dataset's root directory.
    indexes : sequence of Index, optional
        Such as ``[MinMax("ts"), ValueList("city")]``. The dataset has exactly these indexes afterwards. None keeps the
        indexes that the dataset has. For a dataset without an index, it chooses them after the write, as
        :meth:`SkippingIndex.choose` does, and then reads the files.
    format : str
        ``parquet``, ``avro``, ``orc``, ``csv`` or ``json``.
    mode : str, optional
        ``error``, ``append``, ``overwrite`` or ``ignore``, as for ``df.write.mode``. None means the mode of the writer,
        which is ``error`` by default.

    Returns
    -------
    SkippingIndex
        The index.

    Raises
    ------
    ArgumentError
        If an argument has another type than documented, or is none of the choices.
    IndexDefinitionError, UnsupportedTypeError
        If an index definition is invalid for the dataset or for the type of its column. The rows are written.
    CollectError
        If a file cannot be read. The rows are written.

    Examples
    --------
    >>> df = spark.range(100).selectExpr("id", "id % 7 AS k")
    >>> index = xskip.write(df, f"{path}/numbers", [xskip.MinMax("id"), xskip.ValueList("k")])
    >>> index.status().missing
    0
    """
    name = check_path(path)
    wanted = None if indexes is None else check_indexes(indexes)
    check_text("format", format)
    if mode is not None:
        check_choice("mode", mode, _MODES)
    writer, spark = _writer(df)
    writer = writer.format(format)
    if wanted is not None:
        writer = writer.option("xskip.index", ", ".join(map(text_of, wanted)))
    (writer if mode is None else writer.mode(mode)).save(name)
    index = SkippingIndex.for_path(spark, name, format=format)
    index.ensure(wanted)
    return index


def _writer(df: DataFrame | DataFrameWriter) -> tuple[DataFrameWriter, SparkSession]:
    """Return the writer of rows, and their session; raise ArgumentError for anything else."""
    is_writer, given = type(df).__name__ == "DataFrameWriter", cast("Any", df)
    frame = given._df if is_writer else given
    check_frame(frame)
    return (given if is_writer else frame.write), frame.sparkSession
