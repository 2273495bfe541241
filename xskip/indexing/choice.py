"""The run of a choice of indexes: a sample of the files, read in two passes, and the indexes that come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.column_paths import join_path
from xskip.errors import IndexDefinitionError, UnsupportedTypeError
from xskip.indexes import BloomFilter, Index, MinMax, NullCount, Prefix, TokenBloom, ValueList, index_of
from xskip.indexing.build_plan import check_options, plan
from xskip.indexing.collection import chunks_of, collector_of
from xskip.indexing.source import Source, check_reading
from xskip.indexing.trial import Positions, collect_sample, spread
from xskip.inspection.candidates import Candidate, Collected, MeasuredOperand, measured, texts_in
from xskip.inspection.choice import RATES, Chooser, PresentIndex, SampledColumn, is_left_to_queries
from xskip.inspection.description import cost_of
from xskip.inspection.proposals import definitions_of, is_secret
from xskip.metadata.table import IndexDefinition, index_text
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.index_choice import ColumnChoice, IndexChoice
from xskip.results.workload import Workload
from xskip.settings import CHOICE_BUDGET, CHOICE_FILES
from xskip.spark.collect.listing import ListedFiles
from xskip.spark.collect.part_layout import PartLayout
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType

__all__ = ["ChoiceRun"]

#: The most columns that are measured, those of recorded conditions first.
_MAX_COLUMNS = 64
#: The most bytes of files that are read, unless so many files are larger.
_MAX_BYTES, _LEAST_FILES = 2 << 30, 4
#: The number of files up to which all are read; of more files, so many or a quarter, whichever is more.
_SMALL = 8
#: The budget of small data, whose metadata is mostly that of empty files.
_LEAST_BUDGET = 64 << 10
#: The least number of words of a text that is more than a name.
_WORDS = 3
_MAKERS: Mapping[str, Callable[..., Index]] = {
    each.name: each for each in (MinMax, ValueList, Prefix, BloomFilter, TokenBloom, NullCount)
}


@dataclass(frozen=True)
class ChoiceRun:
    """A choice of indexes for a dataset, with or without an index."""

    engine: SparkEngine
    source: Source
    listed: ListedFiles
    workload: Workload
    #: The present index; None without one.
    snapshot: Snapshot | None = None
    #: The definitions of a former index, whose encrypted columns get no other index.
    former: Sequence[IndexDefinition] = ()

    def run(self) -> IndexChoice:
        """Read the sample, and return the choice. Nothing is written."""
        check_options(self.source)
        if self.snapshot is not None:
            check_reading(self.source, self.snapshot)
        measured_names = self._names[:_MAX_COLUMNS]
        columns = [self._column(name, found) for name, found in self._measures(measured_names).items()]
        total = int(self.listed.sizes.sum())
        budget = max(round(total * self.engine.settings.of(self._spark, CHOICE_BUDGET)), _LEAST_BUDGET)
        files, sample = len(self.listed), len(self._chosen)
        choices = Chooser(columns, self.workload, files, sample, budget, self._present).choices()
        if not any(each.is_chosen for each in choices):
            raise IndexDefinitionError(
                "xskip finds no column to choose an index for", where=self.source.root,
                expected="a column of numbers, times or texts", hint="pass the indexes, such as [NullCount('a')]",
            )  # fmt: skip
        return IndexChoice(
            self.source.root, files, total, sample, budget, self.workload.scans, choices,
            tuple(self._indexes(choices)), len(self._names) - len(measured_names),
        )  # fmt: skip

    @property
    def _spark(self) -> SparkSession:
        return self.source.df.sparkSession

    @cached_property
    def _chosen(self) -> Positions:
        """Return the positions of the sample's files in the listing."""
        files, sizes = len(self.listed), self.listed.sizes
        most = self.engine.settings.of(self._spark, CHOICE_FILES)
        by_bytes = max(_LEAST_FILES, int(_MAX_BYTES * files // max(int(sizes.sum()), 1)))
        return spread(files, min(most, by_bytes, max(_SMALL, files // 4)))

    @cached_property
    def _present(self) -> Sequence[PresentIndex]:
        snapshot = self.snapshot
        if snapshot is None:
            return ()
        is_own = self.source.claims is None  # a data system has indexes of its own
        return [
            PresentIndex(each, cost_of(snapshot, each.key)[0], is_own and _is_of_choice(each))
            for each, _ in snapshot.indexes
        ]

    @cached_property
    def _secret(self) -> frozenset[str]:
        """Return the columns that an encrypted index covers."""
        definitions = [*self.former, *(definitions_of(self.snapshot) if self.snapshot is not None else ())]
        return frozenset(name for name in self._names if is_secret((name, False), definitions))

    @cached_property
    def _names(self) -> list[str]:
        """Return the columns, and the fields of structs, that can have an index; those of recorded conditions first."""
        partitions = {name.lower() for name, _ in self.source.dataset.partition_schema()}
        names = [join_path(path) for path in _leaves(self.source.df.schema) if path[0].lower() not in partitions]
        return sorted(names, key=lambda name: name.lower() not in self.workload.uses)

    # the sample

    def _measures(self, names: Sequence[str]) -> dict[str, dict[str, Collected]]:
        """Return the statistics of the sample by columns and names of index types."""
        # the statistics of secret columns are never collected: parts of them are written to a temporary folder
        known = [name for name in names if name not in self._secret]
        found = self._collected({name: [MinMax(name), ValueList(name), NullCount(name)] for name in known})
        further = {name: self._further(name, statistics) for name, statistics in found.items()}
        for name, statistics in self._collected(further).items():
            found[name] |= statistics
        return {name: found.get(name, {}) for name in names}

    def _further(self, name: str, statistics: Mapping[str, Collected]) -> list[Index]:
        """Return the indexes to measure for a column that has too many values for lists, or has texts."""
        column = self._column(name, statistics)
        present = {each.definition.name for each in self._present if each.is_of_choice and each.column == name.lower()}
        wanted = present.difference(statistics)
        if "valuelist" in statistics and not is_left_to_queries(self.workload, name):
            wanted |= {"tokenbloom"} if column.has_words else set()
            wanted |= set() if column.has_few_values else {"bloomfilter", "prefix"}
        return [_MAKERS[kind](name) for kind in sorted(wanted)]

    def _collected(self, indexes: Mapping[str, Iterable[Index]]) -> dict[str, dict[str, Collected]]:
        planned = {name: list(self._planned(some)) for name, some in indexes.items()}
        wanted = tuple(each for some in planned.values() for each in some)
        if not wanted or not len(self._chosen):  # without files, the types alone decide
            nothing = Collected(pa.nulls(0), 0)
            return {name: {each.definition.name: nothing for each in some} for name, some in planned.items()}
        record = None if self.snapshot is None else self.snapshot.record
        layout = PartLayout.of(None if record is None else record.part_bytes)
        collector = replace(collector_of(self.engine, self.source, self.listed, wanted), layout=layout)
        chunks = chunks_of(self.engine, self.source, self.listed, self._chosen)
        found = collect_sample(collector, chunks, skips=True)
        return {
            name: {each.definition.name: found[each.definition.key] for each in some} for name, some in planned.items()
        }

    def _planned(self, indexes: Iterable[Index]) -> Iterator[PlannedIndex]:
        """Yield those indexes that the types of their columns allow."""
        for index in indexes:
            try:
                yield from plan(self.source, [index])
            except (IndexDefinitionError, UnsupportedTypeError, ValueError):
                continue

    def _column(self, name: str, statistics: Mapping[str, Collected]) -> SampledColumn:
        if name in self._secret:
            return SampledColumn(name, None, is_secret=True)
        if not len(self._chosen):
            candidates = tuple(Candidate(kind, {}, 0.0) for kind in statistics if kind == "minmax")
            return SampledColumn(name, MeasuredOperand(candidates))
        nulls, others = statistics.get("nullcount"), statistics.keys() - {"nullcount"}
        has_files = any(len(each.values) for each in statistics.values())
        operand = measured(statistics, len(self.listed), RATES[0]) if others and has_files else None
        has_nulls = nulls is not None and bool(len(nulls.values)) and _has_nulls(nulls.values)
        return SampledColumn(name, operand, _values(statistics), has_nulls, _has_words(statistics))

    # the indexes

    def _indexes(self, choices: Sequence[ColumnChoice]) -> Iterator[Index]:
        """Yield the chosen indexes; those of unknown index types, which stay, are left out."""
        present = {str(each.definition): each.definition for each in self._present}
        new = {
            index_text((kind, (name,))): partial(make, name) for name in self._names for kind, make in _MAKERS.items()
        }
        for choice in choices:
            if choice.action == "keep":
                index = index_of(present[choice.subject])
                if index is not None:
                    yield index
            elif choice.action == "add":
                make = new[choice.subject]
                yield make() if choice.fpp is None else make(fpp=choice.fpp)


def _is_of_choice(definition: IndexDefinition) -> bool:
    """Return whether a choice can have made an index: one on a column, without a key and with its parameters."""
    make, index = _MAKERS.get(definition.name), index_of(definition)
    if make is None or index is None or definition.expression is not None or definition.key_label is not None:
        return False
    rates = [make(*definition.columns, fpp=rate) for rate in RATES] if hasattr(index, "fpp") else []
    return index in (make(*definition.columns), *rates)


def _leaves(struct: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of columns, and of the fields of structs."""
    for field in struct.fields:
        path = (*above, field.name)
        if _is_struct(field.dataType):
            yield from _leaves(field.dataType, path)
        else:
            yield path


def _is_struct(kind: DataType) -> bool:
    return kind.typeName() == "struct"


def _values(statistics: Mapping[str, Collected]) -> float | None:
    """Return the mean number of different values in a file; None if lists lack for some files."""
    found = statistics.get("valuelist")
    if found is None or not len(found.values) or found.values.null_count:
        return None
    return float(pc.mean(pc.list_value_length(found.values)).as_py())


def _has_nulls(counts: pa.Array) -> bool:
    return bool(pc.any(pc.greater(pc.struct_field(counts, 0), 0)).as_py())


def _has_words(statistics: Mapping[str, Collected]) -> bool:
    """Return whether most texts have several words, between spaces."""
    texts = texts_in({name: each.values for name, each in statistics.items()})
    return bool(texts) and bool(np.mean([len(text.split()) >= _WORDS for text in texts]) > 0.5)
