"""Trials: the statistics of indexes that a dataset does not have, collected from some files and written nowhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.errors import CollectError, IndexDefinitionError, UnsupportedTypeError
from xskip.expressions.expression_sql import expression_sql
from xskip.expressions.operands import Form
from xskip.indexes import BloomFilter, Index, MinMax, NullCount, Prefix, ValueList
from xskip.indexing.build_plan import plan
from xskip.indexing.collection import chunks_of, collect, collector_of
from xskip.indexing.source import Source, check_reading, require_collected
from xskip.inspection.candidates import Collected, MeasuredOperand, Operand, Trial, measured
from xskip.inspection.description import size_in
from xskip.inspection.layouts import RowSample, layouts_of
from xskip.metadata.table import IndexKey, MetadataTable
from xskip.metadatastore.codec import open_file
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.temporary import temporary_folder
from xskip.results.index_usage import KEYS, ConditionKind
from xskip.spark.bridge.java_errors import translate_spark_errors
from xskip.spark.collect.arrow_results import arrow_table
from xskip.spark.collect.collector import Collector
from xskip.spark.collect.listing import list_files
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.collect.relation import ORDINAL
from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["TrialRun", "collect_sample", "spread"]

Positions = npt.NDArray[np.int64]

#: The number of values in the lists of all files and one operand above which the lists are not complete.
_MAX_VALUES = 5_000_000
#: The most rows that stand for all rows in layouts.
_MAX_ROWS = 50_000
_DIRECTORY = "__xskip_directory"
#: A kind of conditions that an order helps.
_RANGES: frozenset[ConditionKind] = frozenset(("above",))
#: The needs of rewrites that bounds and numbers of NULLs answer for some files.
_ORDERS_AND_GROUPS = ("group", "least", "greatest", "least_or_null", "greatest_or_null")


@dataclass(frozen=True, slots=True)
class TrialRun:
    """A trial of indexes for a dataset."""

    engine: SparkEngine
    source: Source

    def run(
        self, operands: Mapping[Operand, Collection[ConditionKind]], most: int, columns: Sequence[str] = ()
    ) -> Trial:
        """Return what at most so many files, spread evenly over the listing, say of indexes on operands.

        An operand that no index covers, such as one that no longer exists, is left out. With ``columns``, rows of the
        files also tell what bounds would rule out in other layouts.
        """
        check_reading(self.source, require_collected(self.source))
        listed = list_files(self.source.dataset)
        chosen = spread(len(listed), most)
        if not len(chosen):
            return Trial(0)
        planned = {operand: self._planned(operand, kinds, len(chosen)) for operand, kinds in operands.items()}
        wanted = tuple(each for some in planned.values() for each in some)
        found: dict[IndexKey, Collected] = {}
        if wanted:
            collector = collector_of(self.engine, self.source, listed, wanted)
            chunks = chunks_of(self.engine, self.source, listed, chosen)
            found = collect_sample(collector, chunks, skips=False)
        rows = self._rows(columns, chosen, len(listed))
        if not wanted and rows is None:
            return Trial(0)
        measures = {operand: _measured(some, found, len(listed)) for operand, some in planned.items() if some}
        if rows is None:
            return Trial(len(chosen), measures)
        layouts = tuple(layouts_of(rows, len(listed)))
        return Trial(len(chosen), measures, len(rows), rows.present(len(listed)), layouts, self._partitions)

    def _rows(self, columns: Sequence[str], chosen: Positions, files: int) -> RowSample | None:
        """Return rows of files at random; None without columns that exist."""
        from pyspark.sql import functions as F

        known = [name for name in columns if self._planned((name, False), _RANGES, files)]
        if not known:
            return None
        mask = np.zeros(files, np.bool_)
        mask[chosen] = True
        what, where = "cannot read the rows of a trial", self.source.root
        with self.source.dataset.in_session(), translate_spark_errors(CollectError, what, where):
            rows = self.source.dataset.subset(mask)
            directory = F.xxhash64(F.lit(0), *(F.col(f"`{name}`") for name in self._partitions)).alias(_DIRECTORY)
            rows = rows.select(ORDINAL, directory, *(F.col(name).alias(name) for name in known))
            table = arrow_table(rows.orderBy(F.rand(0)).limit(_MAX_ROWS))
        return RowSample.of(table, ORDINAL, _DIRECTORY)

    @property
    def _partitions(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.source.dataset.partition_schema())

    def _planned(self, operand: Operand, kinds: Collection[ConditionKind], files: int) -> list[PlannedIndex]:
        found: list[PlannedIndex] = []
        for index in _indexes(operand, frozenset(kinds), max(_MAX_VALUES // files, 1) if files else 1):
            try:
                (planned,) = plan(self.source, [index])
            except (IndexDefinitionError, UnsupportedTypeError, ValueError):
                continue
            if _is_asked(planned, operand):
                found.append(planned)
        return found


def _indexes(operand: Operand, kinds: frozenset[ConditionKind], most: int) -> Iterator[Index]:
    """Yield the indexes that answer some kinds of conditions on an operand."""
    column, expression = operand
    has_keys = not kinds.isdisjoint(KEYS)
    if has_keys or kinds & {"equal", "above", "below", "prefix", "bounds", *_ORDERS_AND_GROUPS}:
        yield MinMax(column, expression=expression)
    if has_keys or kinds & {"equal", "prefix"}:
        yield ValueList(column, max_values=most, expression=expression)
    if has_keys or "equal" in kinds:
        yield BloomFilter(column, expression=expression)
    if "prefix" in kinds:
        yield Prefix(column, expression=expression)
    if kinds & {"null", "count", *_ORDERS_AND_GROUPS}:
        yield NullCount(column, expression=expression)


def _is_asked(planned: PlannedIndex, operand: Operand) -> bool:
    """Return whether Spark resolves the text of an expression to the expression that queries have."""
    form = planned.definition.expression
    if form is None:
        return not operand[1]
    found = expression_sql(Form(form, form, ()))
    return found is not None and found.text.lower() == operand[0].lower()


def spread(count: int, most: int) -> Positions:
    """Return at most so many of the first whole numbers, spread evenly.

    >>> spread(10, 4).tolist(), spread(2, 4).tolist(), spread(0, 4).tolist()
    ([0, 3, 6, 9], [0, 1], [])
    """
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def collect_sample(collector: Collector, chunks: Iterable[Positions], *, skips: bool) -> dict[IndexKey, Collected]:
    """Collect the statistics of some files, in chunks of positions in the listing, and keep them nowhere.

    Files that Spark cannot read raise a CollectError, or are left out if the call ``skips`` them.
    """
    unreadable: dict[str, str] | None = {} if skips else None
    tables = [collect(collector, chunk, unreadable) for chunk in chunks]
    costs = collector.costs.seconds
    return {key: Collected(_column(tables, key), size, costs.get(key)) for key, size in _sizes(tables).items()}


def _sizes(tables: Sequence[MetadataTable]) -> dict[IndexKey, int]:
    """Return the sizes that the statistics of all indexes have in metadata files."""
    sizes: dict[IndexKey, int] = {}
    with temporary_folder("trial") as folder:
        for part, table in enumerate(tables):
            files = [open_file(path) for path, _ in write_files(table, "", Path(folder), part)]
            for key in table.indexes:
                sizes[key] = sizes.get(key, 0) + size_in(files, key)
    return sizes


def _column(tables: Sequence[MetadataTable], key: IndexKey) -> pa.Array:
    return pa.concat_arrays([table.indexes[key].values for table in tables])


def _measured(some: list[PlannedIndex], found: Mapping[IndexKey, Collected], files: int) -> MeasuredOperand:
    collected = {each.definition.name: found[each.definition.key] for each in some}
    return measured(collected, files, BloomFilter("x").fpp)
