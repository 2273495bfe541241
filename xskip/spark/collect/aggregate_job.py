"""The job in which Spark's own aggregates, or aggregates in Python, collect statistics, grouped by file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.user_classes import method_errors
from xskip.errors import IndexDefinitionError
from xskip.indexes.accumulator import Input
from xskip.metadata.file_counts import FileCounts
from xskip.spark.bridge.java_errors import translate_spark_errors
from xskip.spark.collect.file_results import FileResults
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.collect.relation import ORDINAL
from xskip.types.datatypes import atomic_name

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

__all__ = ["AggregateJob"]

#: The bytes and the number of files whose distinct values one reduce task holds.
_PARTITION_BYTES = 64 << 20
_PARTITION_FILES = 256
#: The name of the column with the numbers of rows, and the start of the names of those with the numbers of values.
_ROWS, _VALUES = "rows", "values_"


@dataclass(frozen=True, slots=True)
class AggregateJob:
    """A job of aggregates for several indexes."""

    #: Indexes whose aggregates Spark can combine: none or all of them are functions in Python.
    indexes: tuple[PlannedIndex, ...]

    def query(self, rows: DataFrame, sizes: npt.NDArray[np.int64], cores: int) -> DataFrame:
        """Return a DataFrame of the results, which :meth:`results` decodes, and set the session's number of partitions.

        The rows are those of :meth:`Dataset.subset`, ``sizes`` are in bytes, and ``cores`` is the number of tasks at
        the same time.
        """
        aggregates = []
        for i, planned in enumerate(self.indexes):
            with method_errors(type(planned.index), "aggregates"):
                results = planned.index.aggregates([_carried(source) for source in planned.inputs])
                aggregates += [result.alias(f"{i}_{j}") for j, result in enumerate(results)]
        aggregates += self._counts()
        # Enough reduce tasks keep the sets of distinct values in a task small.
        tasks = max(cores, int(sizes.sum()) // _PARTITION_BYTES, len(sizes) // _PARTITION_FILES)
        rows.sparkSession.conf.set("spark.sql.shuffle.partitions", str(tasks))
        names = ", ".join(str(planned.definition) for planned in self.indexes)
        with translate_spark_errors(IndexDefinitionError, "Spark cannot plan the aggregates of the index types", names):
            return rows.groupBy(ORDINAL).agg(*aggregates)

    def results(self, table: pa.Table) -> FileResults:
        """Return the results of each index from the rows of :meth:`query`."""
        columns = [
            [table.column(name) for name in table.column_names if name.startswith(f"{i}_")]
            for i in range(len(self.indexes))
        ]
        counts = FileCounts.unknown(len(table))
        if not self._in_python:
            rows = table.column(_ROWS).combine_chunks()
            values = {name: table.column(f"{_VALUES}{k}").combine_chunks() for k, name in enumerate(self._counted)}
            counts = FileCounts(rows, {name: pc.subtract(rows, found) for name, found in values.items()})
        return FileResults(table.column(ORDINAL).to_numpy(), columns, counts)

    def _counts(self) -> list[SparkColumn]:
        """Return the aggregates of the rows, and of the values of each column that are not NULL."""
        from pyspark.sql import functions as F

        if self._in_python:  # Spark cannot combine its own aggregates with functions in Python
            return []
        values = [F.count(F.expr(sql)).alias(f"{_VALUES}{k}") for k, sql in enumerate(self._counted.values())]
        return [F.count(F.lit(1)).alias(_ROWS), *values]

    @property
    def _in_python(self) -> bool:
        return any(planned.index.in_python for planned in self.indexes)

    @property
    def _counted(self) -> dict[str, str]:
        """Return the columns of all indexes, each as SQL."""
        return {name: sql for planned in self.indexes for name, sql in planned.counted.items()}


def _carried(source: Input) -> SparkColumn:
    """Return an input in a type that Spark can convert to Arrow; an interval of months becomes the number of months."""
    from pyspark.sql import functions as F

    if atomic_name(source.type) != "interval year to month":
        return source.column
    years, months = (F.extract(F.lit(unit), source.column).cast("int") for unit in ("YEAR", "MONTH"))
    return years * 12 + months
