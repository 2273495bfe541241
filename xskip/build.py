"""Building an index: from a dataset's listing to a commit.

.. code-block:: text

    open_source   the dataset as the user reads it, in a session of the build's own
    plan          indexes asked for -> definitions, or a clear refusal
    run           objects without metadata -> chunks -> files -> one commit
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.datatypes import from_json
from xskip.errors import CollectError, DatasetError, IndexDefinitionError
from xskip.expressions import join_path, split_path
from xskip.indexes import Index, index_of
from xskip.metadata import IndexDefinition, MetadataTable
from xskip.metadatastore.commit import Record, RecordedFile, publish
from xskip.metadatastore.location import metadata_directory
from xskip.metadatastore.snapshot import Snapshot, write_files
from xskip.metadatastore.storage import Storage
from xskip.metadatastore.versions import CURRENT_VERSION
from xskip.objects import Objects, join_ids, table_identifier
from xskip.reading import Reading, differences
from xskip.results import Progress, RefreshResult
from xskip.spark.collect import Collector, PlannedIndex
from xskip.spark.jvm import Dataset, build_session
from xskip.spark.listing import ListedObjects, list_objects
from xskip.spark.scan import Engine
from xskip.spark.storage import storage_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = [
    "LOCATION_KEY",
    "OnError",
    "ProgressOption",
    "Source",
    "base_location",
    "check_reading",
    "compare_objects",
    "open_source",
    "plan",
    "plan_again",
    "run",
]

OnError = Literal["raise", "skip"]
ProgressOption = bool | Callable[[Progress], None] | None
LOCATION_KEY = "spark.xskip.metadata.location"
_CHUNK_OBJECTS = ("spark.xskip.build.chunkObjects", 10_000)
_CHUNK_BYTES = ("spark.xskip.build.chunkBytes", 0)
_BYTES_PER_CORE = 256 << 20
_SETTINGS = {
    "spark.xskip.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    # sets of many files in one task must not turn to sorting
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(2**31 - 1),
    "spark.sql.sources.useV1SourceList": "avro,csv,json,kafka,orc,parquet,text,xml",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset opened for a build.

    Attributes
    ----------
    df : DataFrame
        The dataset, in a session of the build's own.
    dataset : Dataset
    root : str
        As the hook names it.
    directory : str
        Of the metadata.
    storage : Storage
    reading : Reading
    """

    df: DataFrame
    dataset: Dataset
    root: str
    directory: str
    storage: Storage
    reading: Reading


def base_location(spark: SparkSession) -> str | None:
    """The configured location of all indexes, None for each dataset's own."""
    return spark.conf.get(LOCATION_KEY, "") or None


def open_source(spark: SparkSession, engine: Engine, read: Callable[[SparkSession], DataFrame]) -> Source:
    """Opens a dataset for a build or a look at its index.

    Raises
    ------
    DatasetError
        It is not one dataset of files.
    """
    session = build_session(spark)
    for key, value in _SETTINGS.items():
        session.conf.set(key, value)
    df = read(session)
    dataset = engine.hook.dataset(df)
    roots = [engine.hook.key(root) for root in dataset.roots()]
    if len(roots) != 1:
        raise DatasetError(
            "an index is of one dataset",
            found=f"{len(roots)} root paths",
            expected="one",
            hint="index each directory by itself, or the directory above them",
        )
    directory = metadata_directory(roots[0], base_location(spark))
    described = dataset.reading()
    reading = Reading.of(described["format"], described["options"], described["conf"], described["schema"])
    return Source(df, dataset, roots[0], directory, storage_for(engine.hook, directory), reading)


def plan(source: Source, indexes: Sequence[Index]) -> tuple[PlannedIndex, ...]:
    """What is to be collected for the indexes asked for.

    Raises
    ------
    IndexDefinitionError
        There is none, or two are the same, or a column does not exist or is a partition column.
    UnsupportedTypeError
        An index cannot serve its column's type.
    """
    if not indexes:
        raise IndexDefinitionError("no index to create", expected="at least one, such as MinMax('ts')")
    partitions = {name.lower() for name, _ in source.dataset.partition_schema()}
    planned = [_planned(source, index, partitions) for index in indexes]
    seen: set[object] = set()
    for each in planned:
        if each.definition.key in seen:
            raise IndexDefinitionError("the same index twice", found=str(each.definition))
        seen.add(each.definition.key)
    return tuple(planned)


def plan_again(source: Source, snapshot: Snapshot) -> tuple[PlannedIndex, ...]:
    """What is to be collected for new objects of an existing index: the indexes whose type is known."""
    indexes = [index_of(definition) for definition, _ in snapshot.indexes]
    planned = plan(source, [index for index in indexes if index is not None])
    for each in planned:
        before = next(d.types for d, _ in snapshot.indexes if d.key == each.definition.key)
        if before and before != each.definition.types:
            raise IndexDefinitionError(
                "a column has another type than when it was indexed",
                where=str(each.definition),
                found=", ".join(each.definition.types),
                expected=", ".join(before),
                hint="drop the index and create it again",
            )
    return planned


def _planned(source: Source, index: Index, partitions: set[str]) -> PlannedIndex:
    found = [_resolve(source, column, partitions) for column in index.columns]
    types = tuple(kind for _, kind in found)
    spelled = tuple(join_path(path) for path, _ in found)
    names = spelled if source.reading.case_sensitive else tuple(name.lower() for name in spelled)
    definition = IndexDefinition(index.name, names, index.params, index.key_label, types)
    return PlannedIndex(index, spelled, definition, index.storage(types))


def _resolve(source: Source, column: str, partitions: set[str]) -> tuple[tuple[str, ...], str]:
    """A column as the dataset spells it, and its Spark type."""
    from pyspark.sql.types import StructType

    path = split_path(column)
    if len(path) == 1 and path[0].lower() in partitions:
        raise IndexDefinitionError(
            "a partition column needs no index", where=f"column {column}", hint="queries skip by partitions already"
        )
    spelled: list[str] = []
    kind: object = source.df.schema
    for part in path:
        name = (
            _field_name(kind, part, case_sensitive=source.reading.case_sensitive)
            if isinstance(kind, StructType)
            else None
        )
        if name is None:
            known = ", ".join(join_path((f.name,)) for f in source.df.schema.fields)
            raise IndexDefinitionError("no such column", found=column, where=source.root, expected=f"one of {known}")
        assert isinstance(kind, StructType)
        spelled.append(name)
        kind = kind[name].dataType
    return tuple(spelled), from_json(_type_name(kind))


def _field_name(struct: StructType, part: str, *, case_sensitive: bool) -> str | None:
    names = struct.fieldNames()
    if part in names:
        return part
    folded = [name for name in names if not case_sensitive and name.lower() == part.lower()]
    return folded[0] if len(folded) == 1 else None


def _type_name(kind: object) -> str:
    from pyspark.sql.types import DataType

    assert isinstance(kind, DataType)
    return kind.simpleString()


def run(
    source: Source,
    engine: Engine,
    planned: tuple[PlannedIndex, ...],
    snapshot: Snapshot | None,
    *,
    progress: ProgressOption,
    on_error: OnError,
) -> RefreshResult:
    """Collects what is missing, drops what has gone, and commits; does nothing where nothing changed."""
    started = time.monotonic()
    listed = list_objects(source.dataset)
    usable = snapshot is not None and snapshot.record is not None and not snapshot.live.foreign
    table = snapshot.load(()) if snapshot is not None and usable else None
    fresh, alive = compare_objects(listed.objects, table.objects if table else None)
    gone = (len(alive) - int(alive.sum())) if table else (snapshot.rows if snapshot else 0)
    if snapshot is not None and usable and not len(fresh) and not gone:
        return RefreshResult(0, 0, len(alive), time.monotonic() - started)
    collector = Collector(engine.hook, source.dataset, listed, planned, source.reading.format)
    show = _progress(progress)
    with tempfile.TemporaryDirectory(prefix="xskip-build-") as scratch:
        files: list[tuple[Path, RecordedFile]] = []
        kept = _keep(source, snapshot, alive, Path(scratch), files) if snapshot is not None and usable else []
        failed: list[str] = []
        chunks = list(_chunks(source, listed, fresh))
        done = 0
        for i, chunk in enumerate(chunks):
            _add(source, _collect(collector, chunk, on_error, failed), Path(scratch), files)
            done += len(chunk)
            show(Progress(i + 1, len(chunks), done, len(fresh), time.monotonic() - started))
        record = _record(source, planned, snapshot, (*kept, *(entry for _, entry in files)))
        publish(source.storage, source.directory, snapshot.live if snapshot else None, files, record)
    engine.forget(source.root)
    unchanged = int(alive.sum()) if table else 0
    return RefreshResult(len(fresh) - len(failed), gone, unchanged, time.monotonic() - started, tuple(failed))


def check_reading(source: Source, snapshot: Snapshot) -> None:
    """Refuses to mix metadata of two readings.

    Raises
    ------
    IndexDefinitionError
        The dataset is read in another way than when the index was built.
    """
    record = snapshot.record
    problems = list(differences(record.reading, source.reading)) if record and not snapshot.live.foreign else []
    if problems:
        raise IndexDefinitionError(
            "the dataset is read in another way than when it was indexed",
            where=source.root,
            found="; ".join(problems),
            hint="read it as before, or drop the index and create it again",
        )


def compare_objects(listed: Objects, known: Objects | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The positions of listed objects without metadata, and for each known object whether it is still there."""
    if known is None:
        return np.arange(len(listed)), np.zeros(0, np.bool_)
    now, before = _identities(listed), _identities(known)
    fresh = pc.invert(pc.is_in(now, before)).to_numpy(zero_copy_only=False)
    alive: npt.NDArray[np.bool_] = pc.is_in(before, now).to_numpy(zero_copy_only=False)
    return np.flatnonzero(fresh), alive


def _identities(objects: Objects) -> pa.Array:
    """Name, time and size in one text."""
    sizes = objects.sizes.fill_null(-1).cast(pa.string())
    return pc.binary_join_element_wise(join_ids(objects.names, objects.modified), sizes, "#")


def _keep(
    source: Source,
    snapshot: Snapshot,
    alive: npt.NDArray[np.bool_],
    scratch: Path,
    files: list[tuple[Path, RecordedFile]],
) -> list[RecordedFile]:
    """The files that stay as they are; those with rows of vanished objects are written anew without them."""
    assert snapshot.record is not None
    kept = []
    start = 0
    table: MetadataTable | None = None
    for entry, file in zip(snapshot.record.files, snapshot.files, strict=True):
        rows = np.arange(start, start + file.rows)
        start += file.rows
        if alive[rows].all():
            kept.append(entry)
            continue
        table = snapshot.load() if table is None else table
        _add(source, table.take(pa.array(rows[alive[rows]])), scratch, files)
    return kept


def _add(source: Source, table: MetadataTable, scratch: Path, files: list[tuple[Path, RecordedFile]]) -> None:
    if len(table):
        files += write_files(table, table_identifier(source.root), scratch, len(files))


def _chunks(source: Source, listed: ListedObjects, fresh: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """New objects in portions that one job and the driver can hold."""
    session = source.df.sparkSession
    most_objects = _number(session, *_CHUNK_OBJECTS)
    most_bytes = _number(session, *_CHUNK_BYTES)
    most_bytes = most_bytes or _BYTES_PER_CORE * max(4, session.sparkContext.defaultParallelism)
    sizes = listed.objects.sizes.fill_null(0).to_numpy(zero_copy_only=False)
    start, volume = 0, 0
    for i, position in enumerate(fresh):
        if i > start and (i - start >= most_objects or volume + sizes[position] > most_bytes):
            yield fresh[start:i]
            start, volume = i, 0
        volume += int(sizes[position])
    if start < len(fresh):
        yield fresh[start:]


def _number(session: SparkSession, key: str, default: int) -> int:
    text = session.conf.get(key, str(default)) or str(default)
    if not text.isdecimal():
        raise IndexDefinitionError("a setting that is no number", where=key, found=text, expected="such as 10000")
    return int(text)


def _collect(collector: Collector, chunk: npt.NDArray[np.int64], on_error: OnError, failed: list[str]) -> MetadataTable:
    """A chunk's metadata; with ``on_error="skip"`` without the files that cannot be read."""
    while True:
        try:
            return collector.collect(chunk)
        except CollectError as error:
            if on_error == "raise":
                raise
            bad = _culprit(collector, chunk, error)
            failed.append(collector.listed.paths[bad])
            chunk = chunk[chunk != bad]


def _culprit(collector: Collector, chunk: npt.NDArray[np.int64], error: CollectError) -> int:
    """The file that an error names; where it names none, the one that halving the chunk finds."""
    for position in chunk:
        if error.where in (collector.listed.uris[position], collector.listed.paths[position]):
            return int(position)
    while len(chunk) > 1:
        half = chunk[: len(chunk) // 2]
        try:
            collector.collect(half)
            chunk = chunk[len(half) :]
        except CollectError:
            chunk = half
    return int(chunk[0])


def _record(
    source: Source, planned: tuple[PlannedIndex, ...], snapshot: Snapshot | None, files: tuple[RecordedFile, ...]
) -> Record:
    types = dict(snapshot.record.types) if snapshot and snapshot.record else {}
    for each in planned:
        types.update(zip(each.definition.columns, each.definition.types, strict=True))
    return Record(0, source.root, CURRENT_VERSION, files, source.reading, types, 0)


def _progress(option: ProgressOption) -> Callable[[Progress], None]:
    if callable(option):
        return option
    shown = sys.stderr.isatty() if option is None else option
    return _bar if shown else lambda _: None


def _bar(progress: Progress) -> None:
    """A bar as Spark draws them."""
    width = 40
    filled = width * progress.objects // max(progress.total, 1)
    bar = "=" * filled + (">" if filled < width else "")
    end = "\n" if progress.chunk == progress.chunks else ""
    sys.stderr.write(f"\r[xskip {bar.ljust(width)} ({progress.objects} / {progress.total})]{end}")
    sys.stderr.flush()
