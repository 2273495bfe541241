"""The dataset of a build, opened in a separate session as the user reads it, and the place of its index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xskip.data_systems import system_of
from xskip.errors import DatasetError, IndexDefinitionError, KeyNotAvailableError, MetadataCorruptError
from xskip.hints import Call, Words, joined
from xskip.indexing.reader import FrameReader, TableReader
from xskip.metadata.data_files import table_identifier
from xskip.metadata.read_profile import LEGACY, UNGUARDED, ReadProfile, differences
from xskip.metadatastore.commit import find_live
from xskip.metadatastore.encryption import demand_client
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.missing_index import no_index
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.metadatastore.versions import WriteOptions
from xskip.settings import BYTES_PER_FILE, FOOTER_KEY, LOCATION, PLACES, PLAINTEXT_FOOTER, ROWS_PER_FILE
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import translate_spark_errors
from xskip.spark.bridge.sessions import clone_session
from xskip.spark.collect.claims import Claims
from xskip.spark.collect.listing import ListedFiles, list_files
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.collect.relation import Dataset
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "Source",
    "base_location",
    "check_dataset",
    "check_keys",
    "check_reading",
    "check_root",
    "check_same_reading",
    "choose_location",
    "chosen_location",
    "existing_write_options",
    "new_write_options",
    "open_source",
    "reading_differences",
    "require_collected",
    "require_own_snapshot",
    "require_snapshot",
]

_SETTINGS = {
    "spark.xskip.enabled": "false",
    "spark.xskip.evaluate": "false",
    "spark.sql.adaptive.enabled": "false",
    # A task that collects value sets of many files must not fall back to a sort.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(2**31 - 1),
    "spark.sql.sources.useV1SourceList": "avro,csv,json,kafka,orc,parquet,text,xml",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset that is open for a build."""

    #: The dataset, in a session that only the build uses.
    df: DataFrame
    dataset: Dataset
    #: The present or future location of the metadata.
    location: IndexLocation
    storage: Storage
    read_profile: ReadProfile
    #: What is known of the files without their rows.
    claims: Claims | None = None
    #: The entry of spark.xskip.metadata.places by which queries find a chosen directory; empty without one.
    chosen: str = ""
    #: Why queries of the session do not find the index at a chosen directory; empty if they find it.
    unfound: str = ""
    #: Whether this process has built or used an index of the dataset, and has not dropped it.
    is_known: bool = False
    #: Whether the dataset belongs to a data system, which owns the directory around it.
    is_of_system: bool = False

    @property
    def root(self) -> str:
        """Return the dataset's root in the notation of the hook."""
        return self.location.root

    @property
    def directory(self) -> str:
        """Return the directory of the metadata."""
        return self.location.directory


def base_location(spark: SparkSession, engine: SparkEngine) -> str | None:
    """Return the configured base location of all indexes, or None if each index lies inside its dataset."""
    configured = engine.settings.of(spark, LOCATION)
    return engine.hook.locations.qualified(configured) if configured else None


def open_source(
    spark: SparkSession, engine: SparkEngine, read: Callable[[SparkSession], DataFrame], place: str = ""
) -> Source:
    """Open a dataset for a build or for an operation on its index.

    ``read`` is the dataset's reader, or reads a part of its files. ``place`` is the directory of the metadata; an empty
    text takes that of the reader.
    """
    with translate_spark_errors(DatasetError, "cannot plan a scan of the dataset", _name_of(read)):
        df = read(clone_session(engine.hook, spark, _SETTINGS))
        dataset = Dataset(engine.hook, df)
        roots = dataset.roots()
    if len(roots) != 1:
        raise DatasetError(
            "an index needs exactly one root path", found=f"{len(roots)} root paths", expected="one",
            hint="index each directory separately, or index their common parent directory",
        )  # fmt: skip
    locations, chosen, unfound = dataset.locations(), "", ""
    if place := place or getattr(read, "place", ""):
        wanted = chosen_location(spark, engine, locations[0].listed_root, read, place)
        key = wanted.root if wanted.identifier == table_identifier(wanted.root) else wanted.identifier
        chosen = f"{key}={wanted.directory}"
        if wanted not in locations:
            unfound = f"queries of this session look elsewhere; {PLACES.key}={chosen} makes them find it"
        locations = [wanted]
    location, storage = choose_location(engine, locations)
    dataset.name_files(location)
    claims = read.claims if isinstance(read, FrameReader) else None
    return Source(
        df, dataset, location, storage, dataset.read_profile(), claims, chosen, unfound,
        is_known=engine.indexes.knows(location.directory),
        is_of_system=isinstance(read, FrameReader) or system_of(getattr(read, "format", "")) is not None,
    )  # fmt: skip


def chosen_location(spark: SparkSession, engine: SparkEngine, root: str, read: object, place: str) -> IndexLocation:
    """Return the location of an index in a chosen directory; ``root`` is that by which Spark lists the dataset."""
    identifier = table_identifier(root)
    if isinstance(read, TableReader):
        # The identifier of a table is its name.
        table = engine.hook.locations.table(spark, read.table)
        identifier = table.name if table is not None else identifier
    return IndexLocation(root, engine.hook.locations.qualified(place), identifier)


def _name_of(read: Callable[[SparkSession], DataFrame]) -> str:
    return next((str(getattr(read, name)) for name in ("path", "table", "name") if hasattr(read, name)), "a DataFrame")


def choose_location(engine: SparkEngine, locations: Sequence[IndexLocation]) -> tuple[IndexLocation, Storage]:
    """Return the location and the storage of an index; without an index, use the first location."""
    for location in locations[1:] and locations:
        storage = storage_for(engine.hook, location.directory)
        if _holds_one(storage, location.directory):
            return location, storage
    location = locations[0]
    if location.is_among_data:
        raise IndexDefinitionError(
            "the metadata directory would be among the data files",
            where=location.directory, found=f"the dataset is {location.root}",
            hint="choose a directory outside of the dataset, or a name that begins with an underscore",
        )  # fmt: skip
    return location, storage_for(engine.hook, location.directory)


def _holds_one(storage: Storage, directory: str) -> bool:
    try:
        return find_live(storage, directory) is not None
    except MetadataCorruptError:
        return True  # a damaged index must not hide behind the next location


def new_write_options(spark: SparkSession, engine: SparkEngine, version: int) -> WriteOptions:
    """Return the write options of a new index from the settings of a session."""
    return WriteOptions(
        version,
        engine.settings.of(spark, FOOTER_KEY) or None,
        engine.settings.of(spark, PLAINTEXT_FOOTER),
        engine.settings.of(spark, ROWS_PER_FILE),
        engine.settings.of(spark, BYTES_PER_FILE),
    )


def check_keys(write_options: WriteOptions, planned: Iterable[PlannedIndex]) -> None:
    """Raise an error before a build if the footer has no key although an index has one, or the reverse."""
    keyed = [each.definition for each in planned if each.definition.key_label is not None]
    if keyed and write_options.footer_key is None:
        raise KeyNotAvailableError(
            "an index has a key, but the footer of the metadata has none", where=str(keyed[0]),
            found=f"key_label {keyed[0].key_label}, and no {FOOTER_KEY.key}", expected="the label of a key",
            hint=f"set {FOOTER_KEY.key}",
        )  # fmt: skip
    if write_options.footer_key is not None and not keyed:
        raise KeyNotAvailableError(
            "the footer of the metadata has a key, but no index has one",
            found=f"{FOOTER_KEY.key} {write_options.footer_key}",
            hint=f"give an index a key_label, or unset {FOOTER_KEY.key}",
        )  # fmt: skip
    if keyed:
        demand_client()


def existing_write_options(spark: SparkSession, engine: SparkEngine, snapshot: Snapshot) -> WriteOptions:
    """Return the write options of an existing index: its version, its keys and the session's size limits."""
    rows, size = engine.settings.of(spark, ROWS_PER_FILE), engine.settings.of(spark, BYTES_PER_FILE)
    return replace(snapshot.write_options, rows_per_file=rows, bytes_per_file=size)


def require_snapshot(source: Source) -> Snapshot:
    """Return the present snapshot of a dataset's index."""
    snapshot = open_snapshot(source.storage, source.directory)
    if snapshot is None:
        check_root(source, list_files(source.dataset))
        raise no_index(source.storage, source.location, is_known=source.is_known)
    return snapshot


def check_root(source: Source, listed: ListedFiles) -> None:
    """Raise an error if the root of the dataset is a file, in which no directory of an index can be."""
    is_inside = source.directory.startswith(f"{source.root.rstrip('/')}/")
    if is_inside and len(listed) == 1 and listed.files.names[0].as_py() in (source.root, table_identifier(source.root)):
        raise DatasetError(
            "the root of the dataset is a file", where=source.root, expected="a directory with data files",
            hint="index the directory of the file",
        )  # fmt: skip


def require_own_snapshot(source: Source) -> Snapshot:
    """Return the present snapshot of a dataset's index, for an operation that changes the index."""
    snapshot = require_snapshot(source)
    check_dataset(snapshot, source.location)
    return snapshot


def require_collected(source: Source) -> Snapshot:
    """Return the present snapshot of a dataset's index, whose statistics xskip has collected."""
    snapshot = require_own_snapshot(source)
    if not snapshot.is_ours:
        raise IndexDefinitionError(
            "another program has collected statistics of the index", where=source.directory,
            hint=Words("{}, which reads all files and collects the statistics anew", Call("refresh")),
        )  # fmt: skip
    return snapshot


def check_dataset(snapshot: Snapshot, location: IndexLocation) -> None:
    """Raise an error if a snapshot describes another dataset."""
    other = snapshot.of_another(location)
    if other:
        raise IndexDefinitionError(
            "the directory contains the index of another dataset", where=location.directory, found=other,
            expected=location.root, hint="choose another directory",
        )  # fmt: skip


def reading_differences(source: Source, snapshot: Snapshot) -> tuple[str, ...]:
    """Return by what indexed columns are read differently than when they were indexed."""
    if snapshot.read_profile is None:
        return ()
    found = snapshot.differences(source.read_profile)
    _check_same(source, found, "drop the index and create it again")
    return (*found, *snapshot.differing_columns(source.read_profile).values())


def check_same_reading(source: Source, recorded: ReadProfile) -> None:
    """Raise an error if the dataset is read in another way than recorded: a caller may have forgotten an option."""
    _check_same(source, tuple(differences(recorded, source.read_profile)), "create the index")


def check_reading(source: Source, snapshot: Snapshot) -> None:
    """Raise an error if the dataset is read in another way than when the index was built."""
    found = reading_differences(source, snapshot)
    if found:
        raise _read_differently(source, found, Words("read the dataset as before, or {}", Call("refresh")))


def _check_same(source: Source, found: Sequence[str], otherwise: str) -> None:
    # A caller may have forgotten a format, an option or a setting: then a build would collect other values.
    if any(each not in (LEGACY, UNGUARDED) for each in found):
        raise _read_differently(source, found, f"read the dataset as before, or {otherwise}")


def _read_differently(source: Source, found: Sequence[str], hint: str) -> IndexDefinitionError:
    return IndexDefinitionError(
        "the dataset is read differently than when it was indexed", where=source.root, found=joined("; ", found),
        hint=hint,
    )  # fmt: skip
