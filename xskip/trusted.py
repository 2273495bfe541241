"""Reading a dataset by what its index knows of it, without listing it. Rules: specs/pruning.rst, [PRU-TL].

.. code-block:: text

    snapshot     every object, with size and time
    - replaced   what lies in the directories that are listed after all, and in those that are gone
    + listed     what these directories hold now
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import DatasetError, IndexDefinitionError, MetadataNotFoundError
from xskip.metadata import MetadataTable, PartitionColumn
from xskip.metadatastore.location import Place, as_uri
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import CURRENT_VERSION, rules_of
from xskip.objects import table_identifier
from xskip.reader import PathReader
from xskip.source import check_own
from xskip.spark.dataset import Dataset, KnownFiles
from xskip.spark.listing import packed_objects
from xskip.spark.scan import Engine
from xskip.spark.storage import storage_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["read_trusting"]

# options by which readers choose among files: an index does not record them
_TRIED = 3
_MISSING = {"ignoreMissingFiles": "true"}
_CHOOSING = ("pathglobfilter", "modifiedbefore", "modifiedafter", "recursivefilelookup", "basepath")


def read_trusting(spark: SparkSession, engine: Engine, reader: PathReader, recheck: Sequence[str]) -> DataFrame:
    """The dataset with the objects that its index knows, and those in directories that may have changed.

    Parameters
    ----------
    spark : SparkSession
    engine : Engine
    reader : PathReader
    recheck : sequence of str
        Directories below the root, such as ``date=2026-11-20``, that are listed beside the newest and unknown ones.

    Raises
    ------
    MetadataNotFoundError
        There is no index.
    IndexDefinitionError
        The index is of another dataset or format, or another program's.
    DatasetError
        The files cannot be told, or their schema.
    """
    place, snapshot, token = _in_use(engine, reader)
    _check(snapshot, place, reader)
    table = snapshot.load(snapshot.partitions)
    if pc.count_distinct(table.objects.names).as_py() < len(table):
        raise DatasetError("the index knows an object twice", where=place.directory, hint="call refresh() first")
    uri = as_uri(place.root)
    changed = _changed(table, place, _directories(engine, uri, recheck), recheck)
    left = table.objects.names.filter(pa.array(~changed.replaced))
    some = [_uri(place, name) for name in left[:_TRIED].to_pylist()]
    directories = [f"{uri}/{each}" for each in changed.listed]
    if directories and not some:
        some = [unquote(each) for each in reader.load(spark, *directories, basePath=uri).inputFiles()[:_TRIED]]
    if not some:
        return reader(spark)
    ddl = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in snapshot.partitions.items())
    typed = replace(reader, schema=_schema(spark, reader, ddl, some))
    if directories:
        template = typed.load(spark, *directories, basePath=uri, **_MISSING)
    else:
        template = _first(typed, spark, some, **_MISSING)
    known = KnownFiles(token, packed_objects(table), place.root, changed.replaced, ddl)
    return Dataset(engine.hook, template).trusting(known, own=bool(changed.listed))


@dataclass(frozen=True, slots=True)
class _Changed:
    """Directories that are listed, and the known objects that count no more."""

    listed: tuple[str, ...]
    replaced: npt.NDArray[np.bool_]


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


def _directories(engine: Engine, uri: str, recheck: Sequence[str]) -> dict[str, set[str]]:
    """The directories below the root, and below those in which others are to be listed, by their parent."""
    storage = storage_for(engine.hook, uri)
    parents = {"", *(each.rpartition("/")[0] for each in recheck)}
    found = {}
    for parent in parents:
        names = (path.rpartition("/")[2] for path in storage.directories(f"{uri}/{parent}".rstrip("/")))
        found[parent] = {name for name in names if "=" in name or not name.startswith(("_", "."))}
    return found


def _changed(table: MetadataTable, place: Place, there: dict[str, set[str]], recheck: Sequence[str]) -> _Changed:
    prefix = table_identifier(place.root).rstrip("/") + "/"
    first = next(iter(table.partitions.values()), None)
    known = {} if first is None else _outermost(table, first, prefix)
    listed = {each for each in there[""] if first is not None and each not in known}
    listed |= set(_newest(known)) & there[""]
    again = {each.strip("/") for each in recheck}
    listed |= {each for each in again if each.rpartition("/")[2] in there[each.rpartition("/")[0]]}
    gone = {each for each in known if each not in there[""]} | again - listed
    outer = [each for each in sorted(listed) if not any(each.startswith(other + "/") for other in listed)]
    replaced = np.full(len(table), False)
    for each in (*outer, *gone):
        inside = pc.starts_with(table.objects.names, f"{prefix}{each}/")
        replaced |= inside.to_numpy(zero_copy_only=False)
    return _Changed(tuple(outer), replaced)


def _outermost(table: MetadataTable, first: PartitionColumn, prefix: str) -> dict[str, pa.Scalar]:
    """The directories right below the root that hold known objects, each with its value of the first column."""
    rest = pc.utf8_slice_codeunits(table.objects.names, len(prefix))
    names = pc.list_element(pc.split_pattern(rest, "/", max_splits=1), 0).dictionary_encode()
    rows = np.full(len(names.dictionary), 0)
    rows[names.indices.to_numpy()[::-1]] = np.arange(len(table))[::-1]
    return dict(zip(names.dictionary.to_pylist(), first.values.take(pa.array(rows)), strict=True))


def _newest(known: dict[str, pa.Scalar]) -> Iterator[str]:
    """The directories of the greatest value."""
    values = [value for value in known.values() if value.is_valid]
    if values:
        greatest = pc.max(pa.array([v.as_py() for v in values], values[0].type))
        yield from (name for name, value in known.items() if value.is_valid and value.equals(greatest))


def _schema(spark: SparkSession, reader: PathReader, partitions: str, some: Sequence[str]) -> StructType:
    """The columns in the files, as the user says or the first one shows, and the partition columns as known."""
    from pyspark.sql.types import StructType

    given = reader.schema
    if given is None:
        given = _first(reader, spark, some).schema
    elif isinstance(given, str):
        given = spark.createDataFrame([], given).schema
    known = spark.createDataFrame([], partitions).schema.fields if partitions else []
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
