"""The job in which the build's kernel collects statistics in a single pass over the rows of many files.

A task reads the rows of a file consecutively, so the accumulators need no grouping and no shuffle; Spark's aggregates
cost several times as much. Only this module knows the protocol between Python and
``io.xskip.collect.KernelFunction``: the text of the accumulators, the names of the columns, and that several tasks
can return rows of the same file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.column_paths import in_backticks
from xskip.indexes.accumulator import Accumulator, Input
from xskip.metadata.file_counts import FileCounts
from xskip.spark.collect.accumulation import Accumulation, Span
from xskip.spark.collect.file_results import FileResults
from xskip.spark.collect.part_layout import Borders, PartResults
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.collect.relation import ORDINAL, PART, Dataset
from xskip.types.datatypes import json_field

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["AccumulatorJob"]

#: The lines after those of the accumulators that ask the kernel for the results of parts, for the numbers of rows and
#: NULLs, and for the times of the accumulators; the latter are also the names of the result columns.
_PARTS, _ROWS, _TIMES = "parts", "rows", "times"
_LONGS = {"type": "array", "elementType": "long", "containsNull": False}


@dataclass(frozen=True, slots=True)
class AccumulatorJob:
    """A job of the build's kernel for several indexes, with the accumulators of each index."""

    accumulations: tuple[tuple[Accumulation, ...], ...]
    #: The columns whose NULLs the job counts, each as SQL.
    counted: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, indexes: Sequence[PlannedIndex]) -> AccumulatorJob:
        """Return the job for indexes that have accumulators."""
        counted = {name: sql for planned in indexes for name, sql in planned.counted.items()}
        return cls(tuple(_accumulations(planned) for planned in indexes), counted)

    def query(self, dataset: Dataset, rows: DataFrame, borders: Borders | None = None) -> DataFrame:
        """Return a DataFrame of the results, which :meth:`results` decodes, for a :meth:`Dataset.subset`.

        With borders, which need a subset in parts, it also has the results that :meth:`part_results` decodes.
        """
        schema = json.loads(self.schema)
        schema["fields"].append(json_field(_TIMES, _LONGS))
        if not borders:
            lines = "\n".join((self.specification, _ROWS, _TIMES))
            return dataset.accumulate(rows, self.selection, lines, json.dumps(schema))
        schema["fields"].insert(1, json_field(PART, "long"))
        lines = "\n".join((self.specification, _PARTS, _ROWS, _TIMES))
        return dataset.accumulate(rows, [*self.selection, PART], lines, json.dumps(schema), borders.to_bytes())

    def seconds(self, table: pa.Table) -> list[float]:
        """Return the time that tasks have spent in the accumulators of each index, from the rows of :meth:`query`."""
        table = _of_files(table)  # the time of a file includes that of its parts
        totals = iter(_matrix(table, _TIMES, len(self._all)).sum(axis=0).tolist())
        # The kernel counts nanoseconds.
        return [sum(next(totals) for _ in accumulations) / 1e9 for accumulations in self.accumulations]

    @property
    def selection(self) -> list[str]:
        """Return the SQL of the columns that the kernel reads: the file's position, then each distinct input."""
        return [ORDINAL, *(f"{sql} AS c{i}" for i, sql in enumerate(self._inputs()))]

    @property
    def plain_columns(self) -> tuple[str, ...] | None:
        """Return the names of the columns after the ordinal, or None if one of them is not a top-level column."""
        paths = [_column_of(sql) for sql in self._inputs()]
        return tuple(path for path in paths if path is not None) if None not in paths else None

    @property
    def specification(self) -> str:
        """Return a line ``kind:column:type:cap:rate`` for each accumulator.

        The column is a position in the selection, and the rate is the natural logarithm of the false positive rate.
        """
        columns = {sql: column for column, sql in enumerate(self._inputs(), 1)}
        lines = []
        for accumulation in self._all:
            accumulator, column = accumulation.accumulator, columns[accumulation.input.sql]
            rate = math.log(accumulator.fpp)
            lines.append(f"{accumulator.kind}:{column}:{accumulation.physical_type}:{accumulator.cap}:{rate!r}")
        return "\n".join(lines)

    @property
    def schema(self) -> str:
        """Return the schema JSON of the results: the file's position, the results of each accumulator, the counts."""
        fields = [json_field(ORDINAL, "integer")]
        for accumulation, names in chain.from_iterable(self._named()):
            fields += map(json_field, names, accumulation.result_types)
        fields.append(json_field(_ROWS, _LONGS))
        return json.dumps({"type": "struct", "fields": fields})

    def results(self, table: pa.Table) -> FileResults:
        """Return the results of :meth:`query` with a row for each file, and hashes of Bloom filters as lists of int64.

        The table has one row for each task that has read rows of the file. Dates and times are plain numbers.
        """
        table = _of_files(table)
        ordinals = table.column(ORDINAL).to_numpy()
        runs = _Runs.of(ordinals) if len(np.unique(ordinals)) < len(ordinals) else None
        counts = _matrix(table, _ROWS, 1 + len(self._all))
        columns = []
        for named in islice(self._named(), len(self.accumulations)):
            results: list[pa.ChunkedArray] = []
            for accumulation, names in named:
                decoded = accumulation.decode([table.column(name) for name in names])
                results += decoded if runs is None else runs.merged(accumulation, decoded)
            columns.append(results)
        counts = counts if runs is None else runs.sums(counts)
        return FileResults(ordinals if runs is None else runs.ordinals, columns, self._counts(counts))

    def part_results(self, table: pa.Table) -> PartResults:
        """Return the results of the parts of files from the rows of :meth:`query`, in the order of files and parts."""
        table = table.filter(pc.greater_equal(table.column(PART), 0)).sort_by(
            [(ORDINAL, "ascending"), (PART, "ascending")]
        )
        columns = [
            [each for accumulation, names in named for each in accumulation.decode([table.column(n) for n in names])]
            for named in islice(self._named(), len(self.accumulations))
        ]
        ordinals, starts = (table.column(name).to_numpy().astype(np.int64) for name in (ORDINAL, PART))
        rows = _matrix(table, _ROWS, 1 + len(self._all))[:, 0]
        return PartResults(ordinals, starts, rows, columns)

    def _counts(self, counts: npt.NDArray[np.int64]) -> FileCounts:
        """Return the numbers of rows and of NULLs from those that the kernel returns for each accumulator's input."""
        nulls = {accumulation.input.sql: counts[:, i] for i, accumulation in enumerate(self._all, 1)}
        others = self._others
        inputs = {name: others[name].input.sql if name in others else sql for name, sql in self.counted.items()}
        return FileCounts(pa.array(counts[:, 0]), {name: pa.array(nulls[sql]) for name, sql in inputs.items()})

    def _inputs(self) -> list[str]:
        return list(dict.fromkeys(accumulation.input.sql for accumulation in self._all))

    @property
    def _all(self) -> list[Accumulation]:
        return [*chain.from_iterable(self.accumulations), *self._others.values()]

    @property
    def _others(self) -> dict[str, Accumulation]:
        """Return counts for the columns over which no index has an accumulator."""
        inputs = {accumulation.input.sql for accumulation in chain.from_iterable(self.accumulations)}
        # Where Spark computes a row of inputs anyway, a Boolean spares it the copy of a value.
        is_scan = inputs <= set(self.counted.values())
        return {
            name: Accumulation(
                Input(sql if is_scan else f"CASE WHEN {sql} IS NOT NULL THEN true END", "boolean"),
                Accumulator("counts"),
            )
            for name, sql in self.counted.items()
            if sql not in inputs
        }

    def _named(self) -> Iterator[list[tuple[Accumulation, list[str]]]]:
        """Yield for each index its accumulations with the names of their result columns, then the other ones."""
        for i, accumulations in enumerate((*self.accumulations, tuple(self._others.values()))):
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

    def sums(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the sum of counts for each file."""
        starts = [start for start, _ in self.spans]
        return np.add.reduceat(counts[self.order.to_numpy()], starts, axis=0)

    def merged(self, accumulation: Accumulation, columns: Sequence[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
        """Return the result columns of an accumulator with a single row for each file."""
        adjacent = [column.take(self.order).combine_chunks() for column in columns]
        return [pa.chunked_array([column]) for column in accumulation.merge(adjacent, self.spans)]


def _of_files(table: pa.Table) -> pa.Table:
    """Return the results without those of parts."""
    return table.filter(pc.less(table.column(PART), 0)) if PART in table.column_names else table


def _matrix(table: pa.Table, name: str, width: int) -> npt.NDArray[np.int64]:
    """Return a column of arrays of one length."""
    arrays = table.column(name).combine_chunks()
    return np.asarray(arrays.flatten()).reshape(len(table), width)


def _column_of(sql: str) -> str | None:
    """Return the name of a top-level column from its SQL, or None for other SQL.

    >>> _column_of("`a b`"), _column_of("`a`.`b`"), _column_of("a + 1")
    ('a b', None, None)
    """
    name = sql[1:-1]
    return name if name and sql == in_backticks(name) and "`" not in name else None


def _accumulations(planned: PlannedIndex) -> tuple[Accumulation, ...]:
    inputs = planned.inputs
    return tuple(Accumulation(inputs[accumulator.of], accumulator) for accumulator in planned.index.accumulators)
