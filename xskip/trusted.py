"""Reading and refreshing by what an index knows, where Spark need not list. Rules: specs/pruning.rst, [PRU-TL].

.. code-block:: text

    snapshot     every object, with size and time
    - replaced   what lies in the directories that are listed after all, and in those that are gone
    + listed     what these directories hold now
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.changed import Changed, find_changed, find_differences
from xskip.datatypes import to_json
from xskip.errors import DatasetError, IndexDefinitionError, MetadataNotFoundError, XskipError
from xskip.metadata import MetadataTable
from xskip.metadatastore.location import Place, as_uri
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.storage import LocalStorage
from xskip.metadatastore.versions import CURRENT_VERSION, rules_of
from xskip.objects import table_identifier
from xskip.operands import in_backticks
from xskip.reader import PathReader
from xskip.source import check_own
from xskip.spark.dataset import Dataset, KnownFiles
from xskip.spark.listing import packed_objects
from xskip.spark.scan import Engine
from xskip.spark.storage import storage_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["Trust", "look", "trust"]

_TRIED = 3
# options by which readers choose among files: an index does not record them
_CHOOSING = ("pathglobfilter", "modifiedbefore", "modifiedafter", "recursivefilelookup", "basepath")


@dataclass(frozen=True, slots=True)
class Trust:
    """An index that can be trusted, and where its dataset may have changed.

    Attributes
    ----------
    engine : Engine
    reader : PathReader
    place : Place
    known : tuple of (Snapshot, int, MetadataTable)
        The snapshot, the token by which the JVM knows it, and all its objects with their partitions.
    changed : Changed
    """

    engine: Engine
    reader: PathReader
    place: Place
    known: tuple[Snapshot, int, MetadataTable]
    changed: Changed

    @property
    def snapshot(self) -> Snapshot:
        """What is trusted in."""
        return self.known[0]

    @property
    def in_question(self) -> npt.NDArray[np.bool_]:
        """The known objects that :meth:`read_changed` would show if they were there."""
        return self.changed.replaced | self._is_blind

    def read(self, session: SparkSession) -> DataFrame:
        """The dataset with the objects that its index knows, and those in directories that may have changed.

        Raises
        ------
        DatasetError
            The schema cannot be told.
        """
        return self._read(session, self.known[2], ignoreMissingFiles="true")

    def read_changed(self, session: SparkSession) -> DataFrame:
        """The directories alone that may have changed; the dataset itself, where no directory could tell what is new.

        Raises
        ------
        DatasetError
            The schema cannot be told.
        """
        if self._is_blind:
            return self.reader(session)
        return self._read(session, self.known[2].take(pa.array([], pa.int64())))

    @property
    def _is_blind(self) -> bool:
        """Is nothing listed, and nothing known to be as it was."""
        if self.changed.listed or self.changed.is_all:
            return False
        return not self.snapshot.partitions or bool(self.changed.replaced.all())

    def _read(self, session: SparkSession, shown: MetadataTable, **options: str) -> DataFrame:
        """Some known objects, but for those that are replaced, and all in the listed directories."""
        uri, (_, token, table) = as_uri(self.place.root), self.known
        left = table.objects.names.filter(pa.array(~self.changed.replaced))
        some = [_uri(self.place, name) for name in left[:_TRIED].to_pylist()]
        directories = [f"{uri}/{each}" for each in self.changed.listed]
        if directories and not some:
            listed = self.reader.load(session, *directories, basePath=uri)
            some = [unquote(each) for each in listed.inputFiles()[:_TRIED]]
        if not some:
            return self.reader(session)
        columns = self.snapshot.partitions
        ddl = ", ".join(f"{in_backticks(name)} {kind}" for name, kind in columns.items())
        typed = replace(self.reader, schema=_schema(session, self.reader, columns, some))
        if directories:
            template = typed.load(session, *directories, basePath=uri, **options)
        else:
            template = _first(typed, session, some, **options)
        files = KnownFiles(token, packed_objects(shown), self.place.root, self.changed.replaced)
        return Dataset(self.engine.hook, template).trusting(files, ddl, own=bool(directories))


def trust(engine: Engine, reader: PathReader, recheck: Sequence[str]) -> Trust:
    """Looks at a dataset's directories, but not into those that can hold nothing new.

    Parameters
    ----------
    engine : Engine
    reader : PathReader
    recheck : sequence of str
        Directories below the root, such as ``date=2026-11-20``, that are listed beside the last and unknown ones.

    Raises
    ------
    MetadataNotFoundError
        There is no index.
    IndexDefinitionError
        The index is of another dataset or format, or another program's.
    DatasetError
        The files cannot be told.
    """
    place, known = _known(engine, reader)
    uri = as_uri(place.root)
    changed = find_changed(known[2], uri, storage_for(engine.hook, uri), recheck)
    return Trust(engine, reader, place, known, changed)


def look(engine: Engine, reader: PathReader) -> Trust | None:
    """Looks at all files of a dataset on a local disk, several times as fast as Spark would.

    None where Spark has to: the dataset is elsewhere, there is nothing to trust in, or much has changed.
    """
    with suppress(XskipError, OSError):
        storage = storage_for(engine.hook, engine.hook.location(reader.path))
        if isinstance(storage, LocalStorage):
            place, known = _known(engine, reader)
            changed = find_differences(known[2], as_uri(place.root), storage)
            return Trust(engine, reader, place, known, changed) if changed else None
    return None


def _known(engine: Engine, reader: PathReader) -> tuple[Place, tuple[Snapshot, int, MetadataTable]]:
    """Where an index that can be trusted is, and what it knows."""
    place, snapshot, token = _in_use(engine, reader)
    _check(snapshot, place, reader)
    table = snapshot.load(snapshot.partitions)
    if pc.count_distinct(table.objects.names).as_py() < len(table):
        raise DatasetError("the index knows an object twice", where=place.directory, hint="call refresh() first")
    return place, (snapshot, token, table)


def _in_use(engine: Engine, reader: PathReader) -> tuple[Place, Snapshot, int]:
    root = engine.hook.location(reader.path)
    for place in engine.hook.places(root):
        found = engine.snapshot(place.directory)
        if found is not None:
            return (place, *found)
    raise MetadataNotFoundError.at(root)


def _check(snapshot: Snapshot, place: Place, reader: PathReader) -> None:
    record = snapshot.record
    check_own(snapshot, place)
    if not snapshot.is_ours or record is None or record.reading is None:
        raise IndexDefinitionError(
            "another program's metadata do not tell objects' sizes", where=place.directory, hint="call refresh() first"
        )
    if record.reading.format != reader.format.lower():
        raise IndexDefinitionError(
            "the index is of another format", where=place.directory, found=reader.format, expected=record.reading.format
        )
    oldest = min(file.schema.version for file in snapshot.files)
    if not rules_of(oldest).partitions:
        raise IndexDefinitionError(
            "metadata that do not tell objects' partitions", where=place.directory, found=f"version {oldest}",
            hint=f"call migrate({CURRENT_VERSION}) first",
        )  # fmt: skip
    options = {name.lower(): value for name, value in reader.options.items()}
    chosen = [name for name in options if name in _CHOOSING]
    if chosen:
        raise DatasetError("an index does not tell which files an option chooses", where=place.root, found=chosen[0])
    if options.get("mergeschema", "").lower() == "true" and reader.schema is None:
        raise DatasetError("mergeSchema looks at every file", where=place.root, hint="give a schema")


def _schema(spark: SparkSession, reader: PathReader, partitions: Mapping[str, str], some: Sequence[str]) -> StructType:
    """The columns in the files, as the user says or the first one shows, and the partition columns as known."""
    from pyspark.sql.types import StructType

    given = reader.schema
    if given is None:
        given = _first(reader, spark, some).schema
    elif isinstance(given, str):
        given = spark.createDataFrame([], given).schema
    fields = [{"name": k, "type": to_json(v), "nullable": True, "metadata": {}} for k, v in partitions.items()]
    known = StructType.fromJson({"fields": fields}).fields
    types = {field.name.lower(): field.dataType for field in known}
    for field in given.fields:
        if field.name.lower() in types and (reader.schema is None or field.dataType != types[field.name.lower()]):
            raise DatasetError(
                "a column has the name of a partition column, and other values or another type", where=reader.path,
                found=f"{field.name} {field.dataType.simpleString()}",
                expected=types[field.name.lower()].simpleString(), hint="read it without trust_listing",
            )  # fmt: skip
    return StructType([*(field for field in given.fields if field.name.lower() not in types), *known])


def _first(reader: PathReader, spark: SparkSession, some: Sequence[str], **options: str) -> DataFrame:
    """The first path that is there."""
    for path in some[:-1]:
        with suppress(DatasetError):
            return reader.load(spark, path, **options)
    return reader.load(spark, some[-1], **options)


def _uri(place: Place, name: str) -> str:
    """A known object's name with the scheme and authority of its root."""
    path = table_identifier(place.root)
    return as_uri(place.root)[: -len(path)] + name if place.root.endswith(path) else as_uri(name)
