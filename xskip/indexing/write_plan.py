"""Plans of the statistics that writes collect, and the reasons to leave files to a refresh. Rules: [WRT-ST]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xskip.indexes import index_of
from xskip.indexes.definition_text import parse_indexes
from xskip.indexing.ambiguous_columns import ambiguous_indexes
from xskip.indexing.build_plan import plan, plan_existing
from xskip.indexing.source import Source, check_keys, existing_write_options, new_write_options
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import CURRENT_VERSION, WriteOptions
from xskip.protocol.write_request import WriteRequest
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.collect.accumulator_job import AccumulatorJob
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.collect.relation import Dataset
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["WritePlan", "plan_write"]

#: The formats whose files give Spark the values that it has written.
_FORMATS = ("avro", "orc", "parquet")
#: Writer options that do not change values, in lower case.
_OPTIONS = (
    "__partition_columns", "compression", "maxrecordsperfile", "mergeschema", "partitionoverwritemode", "path",
    "recordname", "recordnamespace", "xskip.index", "serialization.format",
)  # fmt: skip
_OPTION_PREFIXES = (
    "orc.bloom.filter.", "orc.compress", "orc.stripe.size", "parquet.block.size", "parquet.bloom.filter.",
    "parquet.compression", "parquet.dictionary.page.size", "parquet.enable.dictionary", "parquet.page.",
    "parquet.writer.version",
)  # fmt: skip
#: The properties of columns that do not change the values of files with all columns, which Spark has written.
_COLUMNS = {"default", "position", "struct", "time"}
#: Parts of the names of types that a file can hold in another precision or calendar.
_TIMES = ("date", "time", "interval")
#: The settings by which Spark writes dates and times otherwise, each with the value that does so.
_OTHER_TIMES = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    "spark.sql.avro.datetimeRebaseModeInWrite": "LEGACY",
    # other names that Spark knows for the last three
    "spark.sql.legacy.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.legacy.parquet.int96RebaseModeInWrite": "LEGACY",
    "spark.sql.legacy.avro.datetimeRebaseModeInWrite": "LEGACY",
}


@dataclass(frozen=True, slots=True)
class WritePlan:
    """A plan of the statistics that the tasks of a write collect."""

    location: IndexLocation
    #: The index when Spark planned the write; None if the write creates the index.
    snapshot: Snapshot | None
    #: The form of the metadata; an overwrite can remove the files that tell it.
    write_options: WriteOptions
    #: All indexes of the dataset.
    planned: tuple[PlannedIndex, ...]
    #: The statistics of those indexes that are not about paths.
    job: AccumulatorJob

    @property
    def of_rows(self) -> tuple[PlannedIndex, ...]:
        """Return the indexes of the job, in its order."""
        return tuple(each for each in self.planned if not each.index.of_paths)


def plan_write(engine: SparkEngine, request: WriteRequest, columns: DataFrame) -> WritePlan | str:
    """Return what a write collects, or why the index gets the files by a refresh; an empty text without an index.

    ``columns`` is a DataFrame with the written columns in the session of the write. XskipError means that the written
    columns cannot have the indexes.
    """
    location = request.location
    found = engine.indexes.snapshot(location.directory)
    snapshot = found[0] if found else None
    is_requested = bool(request.indexes) and (snapshot is None or request.overwrites)
    if snapshot is None and not is_requested:
        return ""
    dataset, storage = Dataset(engine.hook, columns), storage_for(engine.hook, location.directory)
    source = Source(columns, dataset, location, storage, dataset.read_profile())
    if is_requested:
        snapshot, planned = None, plan(source, parse_indexes(request.indexes))
    why = next(_refusals(snapshot, source, request.options), "")
    if why:
        return why
    if snapshot is not None:
        planned = plan_existing(source, snapshot)
    why = next(_index_refusals(source, planned), "")
    if why:
        return why
    write_options = _write_options(engine, columns, snapshot, planned)
    own = write_options.own | ambiguous_indexes(columns.schema, planned)
    job = AccumulatorJob.of([each for each in planned if not each.index.of_paths])
    return WritePlan(location, snapshot, replace(write_options, own=own), planned, job)


def _write_options(
    engine: SparkEngine, columns: DataFrame, snapshot: Snapshot | None, planned: tuple[PlannedIndex, ...]
) -> WriteOptions:
    if snapshot is not None:
        return existing_write_options(columns.sparkSession, engine, snapshot)
    write_options = new_write_options(columns.sparkSession, engine, CURRENT_VERSION)
    check_keys(write_options, planned)
    return write_options


def _refusals(snapshot: Snapshot | None, source: Source, options: Mapping[str, str]) -> Iterator[str]:
    """Yield why a refresh has to read the files of a write to a dataset."""
    if source.read_profile.format not in _FORMATS:
        yield f"files of the format {source.read_profile.format} do not give the values back as they were"
    if snapshot is not None:
        yield from _snapshot_refusals(snapshot, source)
    for name in options:
        lower = name.lower()
        if lower not in _OPTIONS and not lower.startswith(_OPTION_PREFIXES):
            yield f"xskip does not know what the option {name} of the writer does"


def _snapshot_refusals(snapshot: Snapshot, source: Source) -> Iterator[str]:
    recorded = snapshot.read_profile
    if recorded is None:
        yield "another program has collected its statistics"
        return
    if other := snapshot.of_another(source.location):
        yield f"it is the index of {other}"
    if recorded.format != source.read_profile.format:
        yield f"it reads files of the format {recorded.format}, and the write is in {source.read_profile.format}"
    if recorded.case_sensitive != source.read_profile.case_sensitive:
        yield "the session and the index differ in spark.sql.caseSensitive"
    if recorded.options or not recorded.columns.keys() <= _COLUMNS:
        yield "it reads the files with options that change values"
    if recorded.format == "orc" and recorded.columns.get("position") != _positions(snapshot, source):
        yield "the columns have other places in the files, by which Spark can find them"
    if any(index_of(definition) is None for definition, _ in snapshot.indexes):
        yield "it has an index type that is not registered"


def _positions(snapshot: Snapshot, source: Source) -> Mapping[str, str] | None:
    return source.read_profile.of_columns(snapshot.columns).columns.get("position")


def _index_refusals(source: Source, planned: tuple[PlannedIndex, ...]) -> Iterator[str]:
    """Yield why a write cannot collect the statistics of some index."""
    for each in planned:
        index = each.index
        if index.of_paths:
            continue
        if not index.accumulators or index.in_python:
            yield f"only a Spark job collects the statistics of {each.definition}"
        if each.timestamp_texts:
            yield f"{each.definition} reads texts as timestamps"
    times = sorted(_time_columns(source, planned))
    if not times:
        return
    if source.read_profile.format == "orc":
        yield f"ORC can hold dates and times in another form than Spark, such as those of {times[0]}"
    conf = source.df.sparkSession.conf
    for key, value in _OTHER_TIMES.items():
        if (conf.get(key, None) or "").upper() == value:
            yield f"{key} is {value}, so that files can hold other dates and times, such as those of {times[0]}"


def _time_columns(source: Source, planned: tuple[PlannedIndex, ...]) -> set[str]:
    """Return the indexed columns of the dataset that have dates or times, also in fields."""
    tops = {path[0].lower() for each in planned for path in each.definition.paths if not each.index.of_paths}
    return {
        field.name
        for field in source.df.schema.fields
        if field.name.lower() in tops and any(part in field.dataType.simpleString() for part in _TIMES)
    }
