"""The job in which the build's kernel collects statistics in a single pass over the rows of many files.

A task reads the rows of a file consecutively, so the accumulators need no grouping and no shuffle; Spark's aggregates
cost several times as much. Only this module knows the protocol between Python and
``io.xskip.collect.AccumulatorKernel``: the text of the accumulators, the names of the columns, and that several tasks
can return rows of the same file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.spark.collect.accumulation import Accumulation, Span
from xskip.spark.collect.file_results import FileResults
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.collect.relation import ORDINAL, Dataset
from xskip.types.datatypes import json_field

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["AccumulatorJob"]

#: The line after those of the accumulators that asks the kernel for their times, and the name of the result column.
_TIMES = "times"


@dataclass(frozen=True, slots=True)
class AccumulatorJob:
    """A job of the build's kernel for several indexes, with the accumulators of each index."""

    accumulations: tuple[tuple[Accumulation, ...], ...]

    @classmethod
    def of(cls, indexes: Sequence[PlannedIndex]) -> AccumulatorJob:
        """Return the job for indexes that have accumulators."""
        return cls(tuple(_accumulations(planned) for planned in indexes))

    def query(self, dataset: Dataset, rows: DataFrame) -> DataFrame:
        """Return a DataFrame of the results, which :meth:`results` decodes, for a :meth:`Dataset.subset`."""
        schema = json.loads(self.schema)
        schema["fields"].append(json_field(_TIMES, {"type": "array", "elementType": "long", "containsNull": False}))
        return dataset.accumulate(rows, self.selection, f"{self.specification}\n{_TIMES}", json.dumps(schema))

    def seconds(self, table: pa.Table) -> list[float]:
        """Return the time that tasks have spent in the accumulators of each index, from the rows of :meth:`query`."""
        times = table.column(_TIMES).combine_chunks()
        count = sum(map(len, self.accumulations))
        totals = iter(np.asarray(times.flatten()).reshape(len(table), count).sum(axis=0).tolist())
        # The kernel counts nanoseconds.
        return [sum(next(totals) for _ in accumulations) / 1e9 for accumulations in self.accumulations]

    @property
    def selection(self) -> list[str]:
        """Return the SQL of the columns that the kernel reads: the file's position, then each distinct input."""
        return [ORDINAL, *(f"{sql} AS c{i}" for i, sql in enumerate(self._inputs()))]

    @property
    def specification(self) -> str:
        """Return a line ``kind:column:type:cap:rate`` for each accumulator.

        The column is a position in the selection, and the rate is the natural logarithm of the false positive rate.
        """
        columns = {sql: column for column, sql in enumerate(self._inputs(), 1)}
        lines = []
        for accumulation in chain.from_iterable(self.accumulations):
            accumulator, column = accumulation.accumulator, columns[accumulation.input.sql]
            rate = math.log(accumulator.fpp)
            lines.append(f"{accumulator.kind}:{column}:{accumulation.physical_type}:{accumulator.cap}:{rate!r}")
        return "\n".join(lines)

    @property
    def schema(self) -> str:
        """Return the schema JSON of the results: the file's position, then the result columns of each accumulator."""
        fields = [json_field(ORDINAL, "integer")]
        for accumulation, names in chain.from_iterable(self._named()):
            fields += map(json_field, names, accumulation.result_types)
        return json.dumps({"type": "struct", "fields": fields})

    def results(self, table: pa.Table) -> FileResults:
        """Return the results of :meth:`query` with a row for each file, and hashes of Bloom filters as lists of int64.

        The table has one row for each task that has read rows of the file. Dates and times are plain numbers.
        """
        ordinals = table.column(ORDINAL).to_numpy()
        runs = _Runs.of(ordinals) if len(np.unique(ordinals)) < len(ordinals) else None
        columns = []
        for named in self._named():
            results: list[pa.ChunkedArray] = []
            for accumulation, names in named:
                decoded = accumulation.decode([table.column(name) for name in names])
                results += decoded if runs is None else runs.merged(accumulation, decoded)
            columns.append(results)
        return FileResults(ordinals if runs is None else runs.ordinals, columns)

    def _inputs(self) -> list[str]:
        return list(dict.fromkeys(a.input.sql for a in chain.from_iterable(self.accumulations)))

    def _named(self) -> Iterator[list[tuple[Accumulation, list[str]]]]:
        """Yield for each index its accumulations with the names of their result columns."""
        for i, accumulations in enumerate(self.accumulations):
            numbers = count()
            yield [(a, [f"{i}_{next(numbers)}" for _ in a.result_types]) for a in accumulations]


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """The rows that several tasks have returned for the same files."""

    ordinals: npt.NDArray[np.int32]
    #: The positions of all rows, with the rows of each file adjacent.
    order: pa.Array
    #: The rows of each file in that order.
    spans: list[Span]

    @classmethod
    def of(cls, ordinals: npt.NDArray[np.int32]) -> _Runs:
        """Return the rows of each file from the ordinals of all rows."""
        order = ordinals.argsort(kind="stable")
        ordinals = ordinals[order]
        starts = np.flatnonzero(np.concatenate(([True], ordinals[1:] != ordinals[:-1])))
        ends = np.append(starts[1:], len(ordinals))
        return cls(ordinals[starts], pa.array(order), list(zip(starts.tolist(), ends.tolist(), strict=True)))

    def merged(self, accumulation: Accumulation, columns: Sequence[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
        """Return the result columns of an accumulator with a single row for each file."""
        adjacent = [column.take(self.order).combine_chunks() for column in columns]
        return [pa.chunked_array([column]) for column in accumulation.merge(adjacent, self.spans)]


def _accumulations(planned: PlannedIndex) -> tuple[Accumulation, ...]:
    inputs = planned.inputs
    return tuple(Accumulation(inputs[accumulator.of], accumulator) for accumulator in planned.index.accumulators)
