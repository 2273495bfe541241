"""The schema and the partition values of a dataset, for scans without Spark."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.partition import texts_of_names
from xskip.errors import DatasetError
from xskip.hints import Call, Words
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.polars_scan import avro_schema
from xskip.results.scan_source import ScanSource
from xskip.results.spark_scan import ddl_of_file
from xskip.standalone.store import Store
from xskip.types.datatypes import arrow_type

__all__ = ["dataset_schema", "partitions_of", "schema_of_file", "spark_schema", "with_partitions"]


def dataset_schema(store: Store, fmt: str, listed: DataFiles, snapshot: Snapshot) -> pa.Schema:
    """Return the schema of a dataset: that of its first file, with the partition columns."""
    if not len(listed):
        raise DatasetError("the dataset has no files, so its schema is not known", where=store.root)
    return with_partitions(schema_of_file(store, fmt, listed.slice(0, 1)), snapshot)


def schema_of_file(store: Store, fmt: str, file: DataFiles) -> pa.Schema:
    """Return the schema of one data file, without partition columns."""
    source = ScanSource(store.root, fmt, pa.schema, {}, store.filesystem, store.prefix)
    try:
        read = avro_schema if fmt == "avro" else ScanSource.schema_of
        return read(source, file.names)
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(
            "a file of the dataset cannot be read", where=file.names[0].as_py(), found=str(error)[:300]
        ) from error


def with_partitions(schema: pa.Schema, snapshot: Snapshot) -> pa.Schema:
    """Return the schema of a file with the partition columns of its dataset."""
    for name, kind in snapshot.partitions.items():
        at = schema.get_field_index(name)
        field = pa.field(name, arrow_type(kind))
        schema = schema.append(field) if at < 0 else schema.set(at, field)
    return schema


def spark_schema(store: Store, fmt: str, listed: DataFiles, snapshot: Snapshot) -> str:
    """Return the schema of a dataset in Spark's DDL."""
    schema = dataset_schema(store, fmt, listed, snapshot)
    source = ScanSource(store.root, fmt, pa.schema, {}, store.filesystem, store.prefix)
    return ddl_of_file(source, listed.names.slice(0, 1), schema, snapshot.partitions)


def partitions_of(kept: DataFiles, known: MetadataTable, root: str) -> dict[str, PartitionColumn]:
    """Return the partition values of files: from the index, and of files that are not in the index from their paths.

    ``known`` has all indexed files with their partition values, and ``root`` is the path of the dataset's root.
    """
    rows = pc.index_in(kept.names, known.files.names)
    fresh = rows.is_null()
    found = {n: replace(column, values=column.values.take(rows)) for n, column in known.partitions.items()}
    if not found or not pc.any(fresh).as_py():
        return found
    texts = texts_of_names(kept.names.filter(fresh), root)
    for name, column in found.items():
        try:
            parsed = pa.array([row[name] for row in texts], pa.string()).cast(column.values.type)
        except (pa.ArrowException, KeyError) as error:
            raise DatasetError(
                f"the path of a new file has no partition value of type {column.type}", where=name, found=str(error),
                hint=Words("{} in Spark", Call("refresh")),
            ) from error  # fmt: skip
        found[name] = replace(column, values=pc.replace_with_mask(column.values, fresh, parsed))
    return found
