"""The collection of statistics: the rows of each file in a chunk become a single row of metadata, for all indexes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from xskip.data_systems import system_of
from xskip.errors import CollectError
from xskip.indexes import MinMax, NullCount
from xskip.metadata.data_files import DataFiles
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.file_parts import FileParts
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexDefinition, MetadataTable
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.java_errors import in_short, spark_errors, what_failed
from xskip.spark.collect.accumulator_job import AccumulatorJob
from xskip.spark.collect.aggregate_job import AggregateJob
from xskip.spark.collect.arrow_results import arrow_table
from xskip.spark.collect.assembly import assemble, columns_of, counts_of_rows, rows_of
from xskip.spark.collect.build_costs import BuildCosts
from xskip.spark.collect.claims import Claim, Claims, PathClaims
from xskip.spark.collect.file_results import FileResults
from xskip.spark.collect.footer_results import FooterResult, counts_of, footer_of, footer_result, parts_of, values_of
from xskip.spark.collect.listing import ListedFiles
from xskip.spark.collect.parquet_footers import row_group_starts, served_by_footers
from xskip.spark.collect.part_layout import NO_PARTS, Borders, PartLayout, PartResults, borders_of
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.collect.relation import Dataset
from xskip.spark.collect.time_guards import recent_guard, text_guard, timestamp_guard
from xskip.types.datatypes import arrow_type
from xskip.types.masks import to_mask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

__all__ = ["Collector"]

_FOOTER_THREADS = 8
#: The formats whose files contain timestamps as texts.
_WITH_TEXTS = ("csv", "json", "xml")
_CORRUPT = "the values in corrupt records depend on the query"
_TIME_TEXTS = "Spark reads a time without a date as a time of the present day"
_log = logging.getLogger("xskip.builds")


class _Found(NamedTuple):
    """The statistics of some files, with an entry for each file."""

    #: The values of each index.
    values: list[pa.Array]
    counts: FileCounts
    #: The parts of the files; None if no file has any.
    parts: FileParts | None = None


@dataclass(frozen=True, slots=True)
class _Guard:
    """An expression that is not NULL in a row of which an index must know nothing."""

    #: The count of the rows in which the expression is NULL.
    index: PlannedIndex
    #: The positions of the indexes whose values are unknown for a file with another row.
    guarded: tuple[int, ...]
    #: The reason, for the log.
    why: str
    #: Whether the number of rows of a file with such a row is unknown as well.
    of_files: bool = False

    @staticmethod
    def of(text: str, guarded: Iterable[int], why: str) -> _Guard:
        index = NullCount(text, expression=True)
        definition = IndexDefinition(index.name, (text,), types=("boolean",))
        return _Guard(PlannedIndex(index, (text,), definition, index.storage(("boolean",))), tuple(guarded), why)

    def applied(self, found: _Found, marked: pa.Array, planned: Sequence[PlannedIndex]) -> _Found:
        """Return the statistics of all indexes; those that are guarded are unknown for marked files."""
        count = pc.sum(marked).as_py()
        if not count:
            return found
        _log.warning("%d files have no statistics, because %s", count, self.why)
        values = [
            pc.if_else(marked, pa.scalar(None, each.type), each) if i in self.guarded else each
            for i, each in enumerate(found.values)
        ]
        columns = {column for i in self.guarded for column in planned[i].counted}
        counts = found.counts.without_files(marked) if self.of_files else found.counts.without(marked, columns)
        parts = None if found.parts is None else found.parts.without_files(to_mask(marked))
        return _Found(values, counts, parts)


@dataclass(frozen=True, slots=True)
class Collector:
    """A collector of the metadata of a dataset's files."""

    hook: Hook
    #: The dataset, in a session that only the build uses, because the collector changes the session's settings.
    dataset: Dataset
    listed: ListedFiles
    indexes: tuple[PlannedIndex, ...]
    read_profile: ReadProfile
    #: Whether bounds can come from the footers of Parquet files.
    footers: bool
    #: What is known of the files without their rows.
    claims: Claims | None = None
    #: Which files have statistics by part.
    layout: PartLayout = NO_PARTS
    #: The borders of the parts, by the ordinals of the files in the listing; None if the layout decides.
    borders: Borders | None = None
    #: The time that the collection takes, to which collect() adds.
    costs: BuildCosts = field(default_factory=BuildCosts)

    def collect(self, chosen: npt.NDArray[np.int64]) -> MetadataTable:
        """Collect the metadata of the files at some positions in the listing, in their order.

        A CollectError names the file that Spark cannot read if Spark's error does.
        """
        rows = pa.array(chosen)
        partitions = {
            name: type(column)(name, column.type, column.values.take(rows))
            for name, column in self.listed.partitions.items()
        }
        files = self.listed.files.take(rows)
        claims = [self._claim(planned, files) for planned in self.indexes]
        of_rows = [planned for planned, claim in zip(self.indexes, claims, strict=True) if claim is None]
        of_claims = [planned for planned, claim in zip(self.indexes, claims, strict=True) if claim is not None]
        # claims are about whole files: the rows, if they are read, give the values of parts
        of_parts = [each for each in of_claims if each.index.accumulators] if of_rows and self._divides(chosen) else []
        found = self._found(chosen, (*of_rows, *of_parts))
        collected = iter(found.values)
        claimed = [next(collected) if claim is None else claim for claim in claims]
        values, counts, _ = self._settled(claimed, found.counts, chosen)
        return MetadataTable(files, partitions, columns_of(self.indexes, values), counts, found.parts)

    def _divides(self, chosen: npt.NDArray[np.int64]) -> bool:
        """Return whether files can have parts."""
        is_large = self.listed.sizes[chosen] >= self.layout.least_divided
        return self._has_ranges and self.layout.part_bytes > 0 and bool(is_large.any())

    @property
    def _has_ranges(self) -> bool:
        """Return whether Spark reads ranges of the files."""
        fmt = self.read_profile.format
        system = system_of(fmt)
        return fmt in ("avro", "parquet") or (system is not None and system.has_ranges)

    def _claim(self, planned: PlannedIndex, files: DataFiles) -> Claim | None:
        with self.costs.of(planned):
            claim = self.claims.of(planned, files) if self.claims is not None else None
            return claim if claim is not None else PathClaims().of(planned, files)

    def _settled(self, values: Sequence[pa.Array | Claim], counts: FileCounts, chosen: npt.NDArray[np.int64]) -> _Found:
        """Return the statistics of all indexes, after the rows of files have decided the open claims."""
        is_open = [isinstance(each, Claim) and bool(each.is_open.any()) for each in values]
        undecided = tuple(planned for planned, each in zip(self.indexes, is_open, strict=True) if each)
        if not undecided:
            return _Found([each.values if isinstance(each, Claim) else each for each in values], counts)
        some = np.logical_or.reduce([each.is_open for each in values if isinstance(each, Claim)])
        found = self._found(chosen[some], undecided)
        row_of = np.where(some, np.cumsum(some) - 1, -1)
        counts = counts.agreed(found.counts.take(pa.array(row_of, mask=~some)))
        decided = iter(found.values)
        settled = []
        for each, is_undecided in zip(values, is_open, strict=True):
            column = each.values if isinstance(each, Claim) else each
            if isinstance(each, Claim) and is_undecided:
                start = len(column)
                rows = np.arange(start)
                rows[each.is_open] = start + np.flatnonzero(each.is_open[some])
                column = pa.concat_arrays([column, next(decided)]).take(pa.array(rows))
            settled.append(column)
        return _Found(settled, counts)

    def _found(self, chosen: npt.NDArray[np.int64], indexes: tuple[PlannedIndex, ...]) -> _Found:
        """Return the statistics of indexes from rows, with an entry for each file in the order of ``chosen``."""
        if not len(chosen) or not indexes:
            nothing = [pa.nulls(0, arrow_type(planned.storage)) for planned in indexes]
            return _Found(nothing, FileCounts.unknown(len(chosen)))
        by_footers = self._footers_may_do(indexes)
        with self.costs.of(*indexes if by_footers else ()):
            of_footers = self._from_footers(chosen, indexes) if by_footers else [None] * len(chosen)
        is_served = np.array([each is not None for each in of_footers])
        served, unserved = np.flatnonzero(is_served), np.flatnonzero(~is_served)
        parts = [self._from_data(chosen[unserved], indexes)] if len(unserved) else []
        if not len(served):
            return parts[0]
        parts.insert(0, _of_footers([each for each in of_footers if each is not None], indexes))
        order = np.empty(len(chosen), np.int64)
        order[np.concatenate((served, unserved))] = np.arange(len(chosen))
        take = pa.array(order)
        values = [pa.concat_arrays(arrays).take(take) for arrays in zip(*(part.values for part in parts), strict=True)]
        counts = FileCounts.concat([part.counts for part in parts]).take(take)
        return _Found(values, counts, _joined_parts(parts, take))

    def _footers_may_do(self, indexes: tuple[PlannedIndex, ...]) -> bool:
        by_name = "id" not in self.read_profile.columns
        return (self.footers and self.read_profile.format == "parquet" and by_name) and all(
            isinstance(p.index, MinMax) and not p.index.expression and served_by_footers(p.definition.types[0])
            for p in indexes
        )

    def _from_footers(
        self, chosen: npt.NDArray[np.int64], indexes: tuple[PlannedIndex, ...]
    ) -> list[FooterResult | None]:
        """Return the statistics of every index for each file, or None for a file whose footer is not reliable."""
        columns = [(p.columns[0], p.definition.types[0]) for p in indexes]
        footers = zip(self._footers(chosen), self.listed.sizes[chosen].tolist(), strict=True)
        return [footer_result(footer, columns, self.layout, size) for footer, size in footers]

    def _footers(self, chosen: npt.NDArray[np.int64]) -> list[pq.FileMetaData | None]:
        """Return the footer of each file, or None for a file whose footer is not plain."""
        paths = self.listed.paths_of(chosen)
        if all(path.startswith("file:") for path in paths):
            sources: Sequence[str | bytes] = [path.removeprefix("file:") for path in paths]
        else:
            sources = self.hook.builds.footers(paths, _FOOTER_THREADS)
        return list(map(footer_of, sources))

    def _borders(self, chosen: npt.NDArray[np.int64], planned: Sequence[PlannedIndex]) -> Borders:
        """Return where the parts of the files begin; none if no index has values by part."""
        if self.borders is not None:
            return self.borders
        fmt = self.read_profile.format
        if not self._has_ranges or not any(p.index.accumulators for p in planned):
            return Borders()
        return borders_of(chosen, self.listed.sizes, self.layout, self._row_groups if fmt == "parquet" else None)

    def _row_groups(self, chosen: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64] | None]:
        return [None if footer is None else row_group_starts(footer) for footer in self._footers(chosen)]

    def _from_data(self, chosen: npt.NDArray[np.int64], planned: tuple[PlannedIndex, ...]) -> _Found:
        """Return the statistics of every index from the rows of the files, in the order of ``chosen``."""
        mask = np.zeros(len(self.listed), np.bool_)
        mask[chosen] = True
        self.dataset.share_out(self.listed.sizes[chosen])
        borders = self._borders(chosen, planned)
        rows = self.dataset.subset(mask, in_parts=bool(borders))
        recent = self._recent_times(rows, planned)
        guards = (*self._corrupt_records(planned), *_time_texts(planned), *([recent] if recent else ()))
        collected = self._collected(rows, (*planned, *(guard.index for guard in guards)), chosen, borders)
        marks = [_marked(counts) for counts in collected.values[len(planned) :]]
        if recent:
            marks[-1] = self._has_time_texts(chosen, marks[-1], rows, planned)
        parts = collected.parts
        if parts is not None:
            parts = parts.of_indexes({each.definition.key for each in planned})
        found = _Found(collected.values[: len(planned)], collected.counts, parts)
        for guard, marked in zip(guards, marks, strict=True):
            found = guard.applied(found, marked, planned)
        return found

    def _collected(
        self, rows: DataFrame, planned: tuple[PlannedIndex, ...], chosen: npt.NDArray[np.int64],
        borders: Borders = Borders(),  # noqa: B008 - it does not change
    ) -> _Found:  # fmt: skip
        """Return the statistics of every index from the rows of a subset, in the order of ``chosen``."""
        # The kernel, Spark's aggregates and aggregates in Python run in separate jobs. A job reads only the columns of
        # its indexes.
        ways = [(bool(p.index.accumulators), p.index.in_python) for p in planned]
        values: dict[int, pa.Array] = {}
        counts, parts = FileCounts.unknown(len(chosen)), None
        for way in dict.fromkeys(ways):
            members = [i for i, other in enumerate(ways) if other == way]
            indexes = tuple(planned[i] for i in members)
            by_kernel, _ = way
            if by_kernel:
                results, of_parts = self._by_kernel(rows, indexes, borders)
                parts = None if of_parts is None else self._parts(of_parts, indexes, chosen, borders)
            else:
                results = self._by_aggregates(rows, indexes, chosen)
            take = rows_of(results, chosen)
            values.update(zip(members, self._assembled(results, indexes, take), strict=True))
            # Two jobs find different counts only if these depend on the columns that a query reads.
            counts = counts.agreed(counts_of_rows(results, take))
        return _Found([values[i] for i in range(len(ways))], counts, None if parts is None else parts.complete(counts))

    def _parts(
        self, results: PartResults, indexes: Sequence[PlannedIndex], chosen: npt.NDArray[np.int64], borders: Borders
    ) -> FileParts:
        """Return the parts of files, with the values of indexes."""
        take = pa.array(np.arange(len(results.ordinals)))
        values = self._assembled(results, indexes, take)
        by_key = {each.definition.key: column for each, column in zip(indexes, values, strict=True)}
        return results.parts(borders, self.listed.sizes, chosen, by_key)

    def _corrupt_records(self, planned: tuple[PlannedIndex, ...]) -> tuple[_Guard, ...]:
        """Return the guard against corrupt records, if the values in them depend on the columns that a query reads."""
        text = self.dataset.corrupt_records(alone=not any(p.index.accumulators for p in planned))
        return (replace(_Guard.of(text, range(len(planned)), _CORRUPT), of_files=True),) if text else ()

    def _recent_times(self, rows: DataFrame, planned: tuple[PlannedIndex, ...]) -> _Guard | None:
        """Return the guard against timestamps of the present day, which can come from times without a date."""
        if self.read_profile.format not in _WITH_TEXTS:
            return None
        guarded = [i for i, each in enumerate(planned) if recent_guard(_columns_of([each], rows))]
        text = recent_guard(_columns_of(planned, rows))
        return _Guard.of(text, guarded, _TIME_TEXTS) if guarded else None

    def _has_time_texts(
        self, chosen: npt.NDArray[np.int64], recent: pa.Array, rows: DataFrame, planned: tuple[PlannedIndex, ...]
    ) -> pa.Array:
        """Return which of the files with timestamps of the present day have times without a date in their texts."""
        questioned = np.flatnonzero(recent.to_numpy(zero_copy_only=False))
        if not len(questioned):
            return recent
        mask = np.zeros(len(self.listed), np.bool_)
        mask[chosen[questioned]] = True
        guard = _Guard.of(timestamp_guard(_columns_of(planned, rows)), (), _TIME_TEXTS)
        texts = self.dataset.subset(mask, as_texts=True)
        (counts,) = self._collected(texts, (guard.index,), chosen[questioned]).values
        found = np.zeros(len(chosen), np.bool_)
        found[questioned] = _marked(counts).to_numpy(zero_copy_only=False)
        return pa.array(found)

    def _by_kernel(
        self, rows: DataFrame, indexes: tuple[PlannedIndex, ...], borders: Borders
    ) -> tuple[FileResults, PartResults | None]:
        job = AccumulatorJob.of(indexes)
        table = self._run(job.query(self.dataset, rows, borders))
        for planned, seconds in zip(indexes, job.seconds(table), strict=True):
            if planned in self.indexes:
                self.costs.add(planned, seconds)
        return job.results(table), job.part_results(table) if borders else None

    def _by_aggregates(
        self, rows: DataFrame, indexes: tuple[PlannedIndex, ...], chosen: npt.NDArray[np.int64]
    ) -> FileResults:
        job = AggregateJob(indexes)
        with self.costs.of(*indexes), self.dataset.in_session():
            table = self._run(job.query(rows, self.listed.sizes[chosen], self.dataset.cores))
        return job.results(table)

    def _run(self, df: DataFrame) -> pa.Table:
        try:
            return arrow_table(df)
        except spark_errors() as error:
            raise CollectError("cannot read the data", **what_failed(error)) from in_short(error)

    def _assembled(
        self, results: FileResults | PartResults, indexes: Sequence[PlannedIndex], take: pa.Array
    ) -> list[pa.Array]:
        """Return the values of indexes for each file, whose row in the results is in ``take``."""
        values = []
        for planned, columns in zip(indexes, results.columns, strict=True):
            with self.costs.of(*(planned,) if planned in self.indexes else ()):
                values.append(assemble(planned, columns, take))
        return values


def _time_texts(planned: Sequence[PlannedIndex]) -> list[_Guard]:
    """Return the guards of indexes whose expressions read texts as timestamps."""
    texts = {i: p.timestamp_texts for i, p in enumerate(planned) if p.timestamp_texts}
    return [
        _Guard.of(text_guard(columns), [i for i, others in texts.items() if others == columns], _TIME_TEXTS)
        for columns in dict.fromkeys(texts.values())
    ]


def _columns_of(planned: Iterable[PlannedIndex], rows: DataFrame) -> list[tuple[str, DataType]]:
    """Return the top-level columns that indexes read, and their types."""
    tops = {path[0].lower() for each in planned for path in each.definition.paths}
    return [(field.name, field.dataType) for field in rows.schema.fields if field.name.lower() in tops]


def _marked(counts: pa.Array) -> pa.Array:
    """Return for each file whether a guard is not NULL in a row."""
    nulls, rows = (pc.struct_field(counts, name) for name in ("nulls", "rows"))
    return pc.fill_null(pc.less(nulls, rows), False)


def _joined_parts(found: Sequence[_Found], take: pa.Array) -> FileParts | None:
    """Return the parts of several collections together, in another order."""
    if all(each.parts is None for each in found):
        return None
    return FileParts.concat([each.parts or FileParts.none(len(each.counts)) for each in found]).take(take)


def _of_footers(found: Sequence[FooterResult], indexes: Sequence[PlannedIndex]) -> _Found:
    """Return the statistics of indexes on one column each from those of footers."""
    values = values_of([each.file for each in found], indexes)
    return _Found(values, counts_of(found, indexes), parts_of(found, indexes))
