"""Reads and refreshes that take known files from an index instead of a listing. Rules: specs/pruning.rst, [PRU-TL].

.. code-block:: text

    snapshot     every known file, with size and modification time
    - replaced   the known files in listed directories and in deleted directories
    + listed     the present files of the listed directories
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.column_paths import in_backticks
from xskip.errors import DatasetError, IndexDefinitionError, MetadataNotFoundError
from xskip.hints import Argument, Call, Words
from xskip.indexing.directory_changes import DirectoryChanges, changed_partitions, diff_files, local_files
from xskip.indexing.reader import PathReader, Reader
from xskip.indexing.source import check_dataset, chosen_location
from xskip.metadata.data_files import table_identifier
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.filesystem import LocalStorage, local_path
from xskip.metadatastore.location import IndexLocation, as_uri
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import CURRENT_VERSION, rules_of
from xskip.protocol.file_table import file_table
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import first_line, in_short, spark_errors
from xskip.spark.collect.recorded_schema import recorded_schema
from xskip.spark.collect.relation import Dataset, KnownFiles
from xskip.spark.query.spark_engine import SparkEngine
from xskip.types.datatypes import json_field, to_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["IndexedListing", "compare", "listing_from_index"]

#: How many files _first tries: a known file may be gone or damaged.
_TRIED = 3
_PATTERN = re.compile(r"[*?\[\]{}\\]")
_STREAM_LOG = "_spark_metadata"
# Formats whose files store the types of their columns.
_TYPED = ("avro", "parquet")
# Reader options that select files: an index does not record them.
_CHOOSING = ("pathglobfilter", "modifiedbefore", "modifiedafter", "recursivefilelookup", "basepath")


class Known(NamedTuple):
    """A snapshot, the token that identifies it in the JVM, and a table of all its files with their partitions."""

    snapshot: Snapshot
    token: int
    table: MetadataTable


@dataclass(frozen=True, slots=True)
class IndexedListing:
    """An index that can replace the listing, and the directories of its dataset that may have changed."""

    engine: SparkEngine
    reader: PathReader
    location: IndexLocation
    known: Known
    changed: DirectoryChanges

    @property
    def snapshot(self) -> Snapshot:
        """Return the snapshot that replaces the listing."""
        return self.known.snapshot

    @property
    def in_question(self) -> npt.NDArray[np.bool_]:
        """Return for each known file whether :meth:`read_changed` lists the file if the file still exists."""
        return self.changed.replaced | self._is_blind

    def read(self, session: SparkSession) -> DataFrame:
        """Return the dataset with the files that the index knows, and the files in directories that may have changed.

        A DatasetError says that the schema needs a listing, or that a stream keeps a log of the files.
        """
        _demand_one_schema(session, self.reader)
        return self._read(session, self.known.table, ignoreMissingFiles="true")

    def read_changed(self, session: SparkSession) -> DataFrame:
        """Return a DataFrame over only the directories that may have changed.

        If directories cannot show what is new, the DataFrame covers the whole dataset.
        """
        if self._is_blind:
            return self.reader(session)
        _demand_one_schema(session, self.reader)
        none = self.known.table.take(pa.array([], pa.int64()))
        if not (self.changed.is_complete and self.changed.listed):
            return self._read(session, none)
        template = self._load_listed(session, self.reader)
        found = Dataset(self.engine.hook, template).partition_schema()
        known = [(name, to_json(kind)) for name, kind in self.snapshot.partitions.items()]
        if found != known:
            raise DatasetError(
                "the changed directories have other partition columns than the index",
                where=self.location.root, found=str(found), expected=str(known),
            )  # fmt: skip
        return self._trusting(template, none)

    @property
    def _is_blind(self) -> bool:
        """Return whether no directory can show new files: there are no partitions, or all of them were deleted."""
        if self.changed.listed or self.changed.is_complete:
            return False
        return not self.snapshot.partitions or bool(self.changed.replaced.all())

    def _read(self, session: SparkSession, shown: MetadataTable, **options: str) -> DataFrame:
        """Return the files of ``shown`` that are not replaced, and all files in the listed directories."""
        left = self.known.table.files.names.filter(pa.array(~self.changed.replaced))
        some = [_uri(self.location, name) for name in left[:_TRIED].to_pylist()]
        if self.changed.listed and not some:
            some = [_literal(unquote(each)) for each in self._load_listed(session, self.reader).inputFiles()[:_TRIED]]
        if not some:
            return self.reader(session)
        if self.reader.schema is None and not self.changed.listed:
            template = _first(self.reader, session, some, **options)
            self._complete(template.schema)
            return self._trusting(template, shown)
        typed = replace(self.reader, schema=self._schema(session, some))
        if self.changed.listed:
            return self._trusting(self._load_listed(session, typed, **options), shown)
        return self._trusting(_first(typed, session, some, **options), shown)

    def _load_listed(self, session: SparkSession, reader: PathReader, **options: str) -> DataFrame:
        uri = as_uri(self.location.listed_root)
        if len(self.changed.listed) == 1:  # Spark looks for a stream's log only in a single path
            _demand_no_log(self.engine, f"{uri}/{self.changed.listed[0]}")
        directories = [_literal(f"{uri}/{each}") for each in self.changed.listed]
        return reader.load(session, *directories, basePath=uri, **options)

    def _trusting(self, template: DataFrame, shown: MetadataTable) -> DataFrame:
        """Return known files, read as a template is, and the template's files if it covers listed directories."""
        files = KnownFiles(
            self.known.token,
            file_table(shown).to_pieces(),
            self.location.listed_root,
            self.location.root,
            self.changed.replaced,
        )
        # in DDL, "timestamp" is the type that the session configures; the recorded type has a time zone
        types = {k: "timestamp_ltz" if v == "timestamp" else v for k, v in self.snapshot.partitions.items()}
        ddl = ", ".join(f"{in_backticks(name)} {kind}" for name, kind in types.items())
        return Dataset(self.engine.hook, template).trusting(files, ddl, own=bool(self.changed.listed))

    def _schema(self, session: SparkSession, some: Sequence[str]) -> StructType:
        """Return the columns of the user's schema or of the first file, and the known partition columns."""
        given = self.reader.schema
        if given is None:
            given = _first(self.reader, session, some).schema
        elif isinstance(given, str):
            given = _of_ddl(self.engine, session, given)
        return self._complete(given)

    def _complete(self, given: StructType) -> StructType:
        """Add the known partition columns to the columns of the data."""
        from pyspark.sql.types import StructType

        fields = [json_field(name, to_json(kind)) for name, kind in self.snapshot.partitions.items()]
        known = StructType.fromJson({"fields": fields}).fields
        types = {field.name.lower(): field.dataType for field in known}
        for field in given.fields:
            kind = types.get(field.name.lower())
            # Without the user's schema, the column was found in a file: its values can differ from the directory's.
            if kind is not None and (self.reader.schema is None or field.dataType != kind):
                raise DatasetError(
                    "a column has the name of a partition column, but other values or another type",
                    where=self.reader.path, found=f"{field.name} {field.dataType.simpleString()}",
                    expected=kind.simpleString(), hint=Words("read the dataset without {}", Argument("trust_listing")),
                )  # fmt: skip
        return StructType([*(field for field in given.fields if field.name.lower() not in types), *known])


def listing_from_index(
    spark: SparkSession, engine: SparkEngine, reader: PathReader, recheck: Sequence[str]
) -> IndexedListing:
    """Find the directories that may have changed by their names, and take all other files from the index."""
    if any(part in ("", ".", "..") for each in recheck for part in each.strip("/").split("/")):
        raise DatasetError("a directory to recheck is not below the root", where=reader.path, found=", ".join(recheck))
    location, snapshot, token = _in_use(spark, engine, reader)
    table = _load(engine, snapshot, location, reader)
    uri = as_uri(location.root)
    changed = changed_partitions(table, uri, storage_for(engine.hook, uri), recheck)
    return IndexedListing(engine, reader, location, Known(snapshot, token, table), changed)


def compare(spark: SparkSession, engine: SparkEngine, reader: Reader) -> IndexedListing | None:
    """Compare all files of a dataset on a local disk with the index, several times as fast as a listing by Spark.

    None says that Spark must list the dataset: if it is a table, not on a local disk or neither Parquet nor Avro, or if
    most of it has changed.
    """
    if not isinstance(reader, PathReader) or reader.format.lower() not in _TYPED:
        return None
    if not isinstance(storage_for(engine.hook, engine.hook.locations.qualified(reader.path)), LocalStorage):
        return None
    location, found, token = _in_use(spark, engine, reader)
    snapshot = Snapshot(found.live, found.metadata_files)  # the engine's snapshot would keep all loaded values
    snapshot.take_over(found.known_files())
    root = as_uri(location.root)
    with ThreadPoolExecutor(1) as pool:  # Arrow decodes the index while it lists the files
        walk = pool.submit(local_files, root)
        table = _load(engine, snapshot, location, reader)
        changed = diff_files(table, root, walk.result())
    return IndexedListing(engine, reader, location, Known(snapshot, token, table), changed) if changed else None


def _load(engine: SparkEngine, snapshot: Snapshot, location: IndexLocation, reader: PathReader) -> MetadataTable:
    """Load all files that an index knows, with their partitions, after a check that the index can replace a listing."""
    _check(snapshot, location, reader)
    _demand_no_log(engine, as_uri(location.root))
    table = snapshot.load(snapshot.partition_keys)
    outside = snapshot.count_outside(table_identifier(location.root))
    if outside:
        raise DatasetError(
            "the index lists files outside of the dataset", where=location.directory, found=f"{outside:,} of them",
            expected=f"files below {location.root}", hint=Words("{} first", Call("refresh")),
        )  # fmt: skip
    return table


def _in_use(spark: SparkSession, engine: SparkEngine, reader: PathReader) -> tuple[IndexLocation, Snapshot, int]:
    root = engine.hook.locations.qualified(reader.path)
    chosen = [chosen_location(spark, engine, root, reader, reader.place)] if reader.place else None
    for location in chosen or engine.hook.locations.of_path(spark, root):
        found = engine.indexes.snapshot(location.directory)
        if found is not None:
            return (location, *found)
    raise MetadataNotFoundError.at(root)


def _check(snapshot: Snapshot, location: IndexLocation, reader: PathReader) -> None:
    record = snapshot.record
    check_dataset(snapshot, location)
    if not snapshot.is_ours or record is None or record.read_profile is None:
        raise IndexDefinitionError(
            "metadata of another program does not contain file sizes", where=location.directory,
            hint=Words("{} first", Call("refresh")),
        )  # fmt: skip
    if record.read_profile.format != reader.format.lower():
        raise IndexDefinitionError(
            "the index was built from another format",
            where=location.directory, found=reader.format, expected=record.read_profile.format,
        )  # fmt: skip
    oldest = min(file.schema.version for file in snapshot.metadata_files)
    if not rules_of(oldest).partitions:
        raise IndexDefinitionError(
            "the metadata does not contain the partitions of files",
            where=location.directory, found=f"version {oldest}",
            hint=Words("{} first", Call("migrate", str(CURRENT_VERSION))),
        )  # fmt: skip
    if any(dict(file.schema.partitions) != snapshot.partitions for file in snapshot.metadata_files):
        raise IndexDefinitionError(
            "the partition columns of the metadata differ from file to file", where=location.directory,
            hint="drop the index and create it again",
        )  # fmt: skip
    chosen = [name for name in reader.lower_options if name in _CHOOSING]
    if chosen:
        raise DatasetError(
            "the index cannot determine which files an option selects", where=location.root, found=chosen[0]
        )


def _demand_one_schema(session: SparkSession, reader: PathReader) -> None:
    """Raise an error if Spark would merge the schemas of all files."""
    key = f"spark.sql.{reader.format.lower()}.mergeSchema"
    merged = reader.lower_options.get("mergeschema", session.conf.get(key, "false"))
    if reader.schema is None and str(merged).lower() == "true":
        raise DatasetError("mergeSchema requires the schema of every file", where=reader.path, hint="specify a schema")


def _demand_no_log(engine: SparkEngine, directory: str) -> None:
    """Raise an error if a directory has the log of a stream, which Spark reads instead of the directory."""
    if any(path.endswith(f"/{_STREAM_LOG}") for path in storage_for(engine.hook, directory).directories(directory)):
        raise DatasetError(
            "the directory contains the file log of a streaming query",
            where=directory,
            hint=Words("omit {}", Argument("trust_listing")),
        )


def _of_ddl(engine: SparkEngine, session: SparkSession, text: str) -> StructType:
    """Parse a schema in DDL in the JVM; PySpark's own parser would change the active session of the thread."""
    from pyspark.sql.types import StructType

    try:
        return StructType.fromJson(json.loads(engine.hook.builds.schema_of(session, text)))
    except spark_errors() as error:
        raise DatasetError("cannot parse the schema", where=text, found=first_line(error)) from in_short(error)


def _first(reader: PathReader, spark: SparkSession, some: Sequence[str], **options: str) -> DataFrame:
    """Read the first path that Spark can read, by the schema that it has if that needs no Spark job."""
    if reader.schema is None and reader.format.lower() == "parquet" and some[0].startswith("file:/"):
        reader = replace(reader, schema=recorded_schema(local_path(some[0])))
    for path in some[:-1]:
        with suppress(DatasetError):
            return reader.load(spark, path, **options)
    return reader.load(spark, some[-1], **options)


def _uri(location: IndexLocation, name: str) -> str:
    """Return a known file's name with the scheme and authority of the dataset's root, as a literal path for Spark."""
    path = table_identifier(location.root)
    return _literal(as_uri(location.root)[: -len(path)] + name if location.root.endswith(path) else as_uri(name))


def _literal(path: str) -> str:
    r"""Return a path in which the characters of patterns are escaped, so that Spark takes the path literally.

    >>> print(_literal("/lake/k=[a]"))
    /lake/k=\[a\]
    """
    return _PATTERN.sub(r"\\\g<0>", path)
