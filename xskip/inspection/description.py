"""The description of an index: its location, version, size, partition columns and index definitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xskip.metadata.table import IndexDefinition, IndexKey
from xskip.metadatastore.codec import MetadataFile
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.part_columns import RANGES, part_column
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.index_status import IndexDescription, IndexInfo
from xskip.results.index_usage import DatasetUsage, IndexUsage
from xskip.types.datatypes import Storage as StorageType
from xskip.types.datatypes import value_type

__all__ = ["cost_of", "dataset_of", "describe", "metadata_bytes", "size_in"]


def dataset_of(snapshot: Snapshot) -> str:
    """Return the root of the dataset, or what another program has written in its place."""
    return snapshot.record.root if snapshot.record else snapshot.table_identifier


def metadata_bytes(snapshot: Snapshot, storage: Storage, directory: str) -> int:
    """Return the size of the metadata files of a snapshot."""
    live = set(snapshot.live.names)
    return sum(entry.size for entry in storage.list(directory) if entry.name in live)


def describe(
    snapshot: Snapshot, storage: Storage, location: IndexLocation, usage: DatasetUsage, fmt: str = ""
) -> IndexDescription:
    """Return the description of an index; ``fmt`` is the format of the files if no record tells it."""
    record = snapshot.record
    usage = usage.among(str(definition) for definition, _ in snapshot.indexes)
    return IndexDescription(
        dataset=location.root,
        location=location.directory,
        format=record.read_profile.format if record and record.read_profile else fmt,
        version=snapshot.version,
        commit=record.number if record else 0,
        files=snapshot.rows,
        metadata_bytes=metadata_bytes(snapshot, storage, location.directory),
        partitions=tuple(f"{name} {kind}" for name, kind in snapshot.partitions.items()),
        indexes=tuple(_info(snapshot, d, s, usage.of(str(d))) for d, s in snapshot.indexes),
        scans=usage.scans,
        parts=_parts_in(snapshot),
    )


def _parts_in(snapshot: Snapshot) -> int | None:
    """Return the number of parts of data files, or None if a metadata file is encrypted."""
    if any(file.schema.encryption is not None for file in snapshot.metadata_files):
        return None
    chunks = (each for file in snapshot.metadata_files for each in _chunks_of(file, RANGES))
    starts = (each for each in chunks if each.path_in_schema.endswith(".start") and each.statistics is not None)
    # a file without parts is a NULL among the values
    return sum(int(each.num_values - each.statistics.null_count) for each in starts)


def _info(snapshot: Snapshot, definition: IndexDefinition, storage: StorageType, usage: IndexUsage) -> IndexInfo:
    types = definition.types or (value_type(storage) or "unknown",) * len(definition.columns)
    size, spent = cost_of(snapshot, definition.key)
    return IndexInfo(
        definition.name, definition.columns, types, definition.params, size, spent, usage.scans, usage.ruled_out
    )


def cost_of(snapshot: Snapshot, key: IndexKey) -> tuple[int | None, float | None]:
    """Return the size of an index's statistics and the seconds of its builds, each None if it is not known."""
    return _size_of(snapshot, key), snapshot.record.notes.of(key) if snapshot.record else None


def _size_of(snapshot: Snapshot, key: IndexKey) -> int | None:
    """Return the compressed size of an index's statistics in bytes, or None if a metadata file is encrypted."""
    # Arrow aborts the process if the metadata of an encrypted column chunk are read.
    if any(file.schema.encryption is not None for file in snapshot.metadata_files):
        return None
    return size_in(snapshot.metadata_files, key)


def size_in(files: Iterable[MetadataFile], key: IndexKey) -> int:
    """Return the compressed size of an index's statistics in metadata files without encryption."""
    own = ((file, index.column) for file in files for index in file.schema.indexes if index.definition.key == key)
    return sum(_size_in(file, each) for file, column in own for each in (column, part_column(column)))


def _size_in(file: MetadataFile, column: str) -> int:
    """Return the compressed size of a column, with all its nested columns, in a metadata file."""
    return sum(chunk.total_compressed_size for chunk in _chunks_of(file, column))


def _chunks_of(file: MetadataFile, column: str) -> list[Any]:
    """Return the chunks of a column, and of all its nested columns, in a metadata file."""
    groups = [file.footer.row_group(i) for i in range(file.footer.num_row_groups)]
    chunks = (group.column(j) for group in groups for j in range(group.num_columns))
    return [chunk for chunk in chunks if f"{chunk.path_in_schema}.".startswith(f"{column}.")]
