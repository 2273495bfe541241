"""The codec between a metadata file and its table in memory, which implements the layout of every format version."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from xskip.errors import KeyNotAvailableError, MetadataCorruptError, XskipError
from xskip.metadata.data_files import DataFiles, join_ids, split_ids
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.file_parts import RANGE, FileParts
from xskip.metadata.table import IndexColumn, IndexKey, MetadataTable, PartitionColumn, PartitionKey, Requirement
from xskip.metadatastore.bounded_read import RATIO, read_bounded
from xskip.metadatastore.digests import RESTORE_HINT
from xskip.metadatastore.encryption import KMS_HINT, decryption, encryption, labels_of
from xskip.metadatastore.filesystem import reading
from xskip.metadatastore.footer_numbers import COUNTS, SIZES, pack_counts, pack_numbers, unpack_counts, unpack_sizes
from xskip.metadatastore.legacy import java_bloom
from xskip.metadatastore.legacy.java_values import Decoded, decode_streams, encode_streams
from xskip.metadatastore.legacy.julian_calendar import SPARK_VERSION, mask_legacy_dates
from xskip.metadatastore.part_columns import RANGES, from_lists, part_column, part_columns
from xskip.metadatastore.portable_forms import field_of, is_list, list_from_file, list_to_file, portability_of
from xskip.metadatastore.schema import (
    OBJECT_COLUMN,
    FileSchema,
    IndexField,
    leaves_under,
    parse_schema,
    parse_version,
    render_schema,
)
from xskip.metadatastore.value_conversion import from_file
from xskip.metadatastore.versions import VersionRules, WriteOptions, is_udt, rules_of
from xskip.settings import METADATA_BYTES
from xskip.types.datatypes import Array, Bloom, Opaque, Struct, arrow_type

__all__ = [
    "GROUP_ROWS",
    "READING",
    "MetadataFile",
    "columns_of",
    "counts_of",
    "decode",
    "encode",
    "has_parts",
    "leaf_paths",
    "null_rows",
    "open_file",
    "part_of",
    "parts_of",
    "rows_of",
    "version_of",
]

#: The maximum number of rows in a row group, small enough for the statistics of row groups to be selective.
GROUP_ROWS = 5_000
_GROUP_BYTES = 16 << 20

_ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"
# Spark derives the calendar of dates from this entry; from 3.0.0 on it is the Gregorian calendar
_WRITES_LIKE = b"4.0.0"
_WRITE_OPTIONS = WriteOptions()


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """A metadata file with a parsed footer, or a selection of its row groups."""

    path: Path
    schema: FileSchema
    rows: int
    footer: pq.FileMetaData
    reader: pq.ParquetFile = field(repr=False, compare=False)
    #: The values of serialised objects, by the name of their column.
    serialised: Mapping[str, Decoded] = field(default_factory=dict, repr=False, compare=False)
    #: The selected row groups; None for all.
    groups: tuple[int, ...] | None = None
    #: Whether the names of the data files are known; without them, only their number is known.
    has_names: bool = True
    #: As the commit record states it, or empty; so is ``digest``.
    name: str = ""
    digest: str = ""
    size: int = 0
    #: The maximum number of bytes for values.
    limit: int = METADATA_BYTES.default

    def again(self, dictionaries: list[str]) -> pq.ParquetFile:
        """Open the file with a second reader, which reads the given leaves as dictionaries."""
        secrets = None if self.schema.encryption is None else decryption()
        return pq.ParquetFile(
            self.path, metadata=self.footer, decryption_properties=secrets, read_dictionary=dictionaries, **READING
        )


def encode(
    table: MetadataTable, table_identifier: str, path: Path, write_options: WriteOptions = _WRITE_OPTIONS
) -> None:
    """Write a metadata table as a metadata file at ``path``, which must be on a local disk.

    KeyNotAvailableError means that the options and the indexes disagree on encryption, or that a key is not available.
    A type that the version cannot hold raises UnsupportedTypeError, and two indexes with one column name raise
    XskipError.
    """
    version, rules = write_options.version, rules_of(write_options.version)
    indexes = [field_of(column, write_options, rules) for column in table.indexes.values()]
    kept = list(table.partitions.values()) if rules.partitions else []
    own, others = _own_columns(table, kept, rules), _index_columns(table, indexes, rules)
    columns = [*own, *others]
    names = [name for name, _ in columns]
    if len(set(names)) < len(names):
        raise XskipError(
            f"version {version} of the metadata format gives two indexes the same column",
            found=next(name for name in names if names.count(name) > 1),
            hint="use version 2 or newer",
        )
    written = pa.table([a for _, a in columns], pa.schema([pa.field(name, a.type) for name, a in columns]))
    labels_by_column = {c: i.definition.key_label for i in indexes for c in (i.column, part_column(i.column))}
    keys = {name: labels_by_column[name] for name, _ in others}
    leaves = [] if write_options.footer_key is None else _leaves_of(written.schema)
    labels = labels_of(write_options, [name for name, _ in own], keys, leaves)
    partitions = tuple((column.name, column.type) for column in kept)
    schema = FileSchema(version, table_identifier, partitions, tuple(indexes), labels)
    footer = {
        _ROW_METADATA: render_schema(schema).encode(),
        SPARK_VERSION: _WRITES_LIKE,
        # Other programs ignore these entries. If a data file has another size now, its row is not used.
        SIZES: pack_numbers(table.files.sizes),
        **_counts_entry(table, write_options),
        **portability_of(table.indexes.values(), write_options),
    }
    secrets = None if labels is None else encryption(labels)
    with pq.ParquetWriter(path, written.schema, encryption_properties=secrets, **_STYLE) as writer:
        writer.write_table(written, row_group_size=_group_rows(table))
        writer.add_key_value_metadata(footer)


def _own_columns(
    table: MetadataTable, partitions: Iterable[PartitionColumn], rules: VersionRules
) -> list[tuple[str, pa.Array]]:
    """Return the columns before those of indexes, which are under the key of the footer."""
    ranges = [] if table.parts is None or table.parts.is_none or not rules.parts else [(RANGES, table.parts.ranges)]
    named = [(rules.partition_name(column.name), column.values) for column in partitions]
    return [(OBJECT_COLUMN, join_ids(table.files.names, table.files.modified)), *named, *ranges]


def _index_columns(
    table: MetadataTable, indexes: Sequence[IndexField], rules: VersionRules
) -> list[tuple[str, pa.Array]]:
    """Return the columns of indexes, and after them those with their values by part."""
    values = [_to_file(column, rules) for column in table.indexes.values()]
    parts = part_columns(table, indexes, lambda column: _to_file(column, rules)) if rules.parts else {}
    return [*zip((i.column for i in indexes), values, strict=True), *parts.items()]


def _counts_entry(table: MetadataTable, write_options: WriteOptions) -> dict[bytes, bytes]:
    """Return the footer entry with what is known of the rows and NULLs of data files, without secrets [ENC-C-2]."""
    if table.counts is None:
        return {}
    open_indexes = [c.definition for c in table.indexes.values() if c.definition.key_label is None]
    # Statistics of an index without a key can show the number of rows, so it is a secret only if there is none.
    if write_options.plaintext_footer and write_options.footer_key is not None and not open_indexes:
        return {}
    counts = table.counts.of_columns({column for each in open_indexes for column in each.plain_columns})
    return {} if counts.is_unknown else {COUNTS: pack_counts(counts)}


def _group_rows(table: MetadataTable) -> int:
    return max(1, min(GROUP_ROWS, _GROUP_BYTES * len(table) // max(table.nbytes, 1)))


_STYLE: dict[str, Any] = {
    "compression": "snappy", "store_schema": False, "store_decimal_as_integer": True, "write_page_checksum": True,
}  # fmt: skip
#: Arrow's options for reading metadata files. A page without a checksum is accepted.
READING: dict[str, Any] = {"coerce_int96_timestamp_unit": "us", "page_checksum_verification": True}


def _leaves_of(schema: pa.Schema) -> list[str]:
    """Return the paths of the Parquet leaves to which Arrow writes a schema."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink, **_STYLE)
    return leaf_paths(pq.read_metadata(pa.BufferReader(sink.getvalue())))


def leaf_paths(footer: pq.FileMetaData) -> list[str]:
    """Return the paths of the Parquet leaves of a file."""
    return [footer.schema.column(i).path for i in range(len(footer.schema))]


def open_file(path: Path) -> MetadataFile:
    """Open a metadata file and read its footer.

    A file that is not Parquet or not metadata raises MetadataCorruptError, a file that no key opens
    KeyNotAvailableError, and a version that this release cannot read MetadataVersionError.
    """
    with _reading(path):
        reader, text = _opened(path)
        schema = parse_schema(text, reader.schema_arrow)
        # Anyone can open a plaintext footer, but only a reader with keys decrypts columns.
        if schema.encryption is not None and schema.encryption.plaintext_footer:
            reader = _unlocked(path)
        size = path.stat().st_size
        room = max(METADATA_BYTES.default, RATIO * size)
        file = MetadataFile(path, schema, reader.metadata.num_rows, reader.metadata, reader, size=size, limit=room)
        return _with_types(file) if rules_of(schema.version).serialised else file


def part_of(reader: pq.ParquetFile, path: Path, groups: tuple[int, ...], *, has_names: bool) -> MetadataFile:
    """Select row groups of a file that is not encrypted and has no serialised objects."""
    with _reading(path):
        schema = parse_schema(reader.metadata.metadata[_ROW_METADATA], reader.schema_arrow)
        rows = sum(reader.metadata.row_group(group).num_rows for group in groups)
        return MetadataFile(path, schema, rows, reader.metadata, reader, groups=groups, has_names=has_names)


def null_rows(file: MetadataFile, column: str) -> int:
    """Return the number of null rows that an index column has in the file itself."""
    return int(_whole(_read(file, [column]), column).null_count)


def rows_of(footer: pq.FileMetaData, groups: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the positions of all rows of the given row groups in their file."""
    ends = np.cumsum([footer.row_group(i).num_rows for i in range(footer.num_row_groups)])
    found = [np.arange(ends[i] - footer.row_group(i).num_rows, ends[i]) for i in groups]
    return np.concatenate([np.zeros(0, np.int64), *found])


def version_of(path: Path) -> int:
    """Return the version of a metadata file, even a version that this release cannot read."""
    with _reading(path):
        return parse_version(_opened(path)[1])


@contextmanager
def _reading(path: Path, what: str = "cannot read the metadata file") -> Iterator[None]:
    """Run the body and raise MetadataCorruptError for any error that malformed bytes cause."""
    try:
        with _permitted(path):
            yield
    except MetadataCorruptError as error:
        if error.where:
            raise
        hint = error.hint or RESTORE_HINT
        raise MetadataCorruptError(
            error.what, where=str(path), found=error.found, expected=error.expected, hint=hint
        ) from error
    except (XskipError, FileNotFoundError):
        raise
    except (pa.ArrowException, OSError) as error:  # Arrow's message describes the problem
        found = " ".join(str(error).split())
        raise MetadataCorruptError(what, where=str(path), found=found, hint=RESTORE_HINT) from error
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        found = f"{type(error).__name__}: {error}"
        raise MetadataCorruptError(what, where=str(path), found=found, hint=RESTORE_HINT) from error


@contextmanager
def _permitted(path: Path) -> Iterator[None]:
    """Run the body and raise StorageError if the user may not read the file, which then need not be damaged."""
    try:
        yield
    except PermissionError as error:
        with reading(path):
            raise error


def _opened(path: Path) -> tuple[pq.ParquetFile, bytes]:
    with _reading(path, "the metadata file is damaged or incomplete"):
        reader = _unlocked(path) if _is_encrypted(path) else pq.ParquetFile(path, **READING)
        text = (reader.metadata.metadata or {}).get(_ROW_METADATA)
    if text is None:
        raise MetadataCorruptError(
            "the file is not a metadata file",
            where=str(path),
            expected="Spark's schema in its footer",
            hint=RESTORE_HINT,
        )
    return reader, text


def _is_encrypted(path: Path) -> bool:
    """Return whether the footer is encrypted, by the last four bytes of the file."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(file.tell() - 4, 0))
        return file.read() == b"PARE"


def _unlocked(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, decryption_properties=decryption(), **READING)
    except (pa.ArrowException, OSError) as error:
        raise KeyNotAvailableError(
            "no available key decrypts the metadata file", where=str(path), hint=KMS_HINT
        ) from error


def _with_types(file: MetadataFile) -> MetadataFile:
    """Return a file with the types of its serialised objects, which only these objects reveal."""
    decoded: dict[str, Decoded] = {}
    for index in file.schema.indexes:
        if isinstance(index.storage, Opaque) and _is_serialised(index.definition.name, index.storage):
            streams = _read(file, [index.column]).column(0).to_pylist()
            found = decode_streams(index.definition.name, streams)
            if found is not None:
                decoded[index.column] = found
    indexes = [
        replace(index, storage=decoded[index.column].storage) if index.column in decoded else index
        for index in file.schema.indexes
    ]
    return replace(file, schema=replace(file.schema, indexes=tuple(indexes)), serialised=decoded)


def _is_serialised(index: str, storage: Opaque) -> bool:
    kind = json.loads(storage.json)
    return index in ("minmax", "valuelist") and isinstance(kind, dict) and is_udt(index, str(kind.get("class")))


def decode(file: MetadataFile, wanted: Iterable[Requirement] | None = None) -> MetadataTable:
    """Decode a metadata file with the requested indexes and partition columns; None requests all, and the counts.

    MetadataCorruptError means that the rows cannot be read or contradict the schema, and KeyNotAvailableError that no
    key opens the names or the partition columns. An index that no key opens is locked.
    """
    with _reading(file.path, "cannot read the rows of the metadata file"):
        if wanted is None:
            return replace(_decoded(file, None), counts=counts_of(file), parts=parts_of(file))
        return _decoded(file, set(wanted))


def counts_of(file: MetadataFile) -> FileCounts | None:
    """Return the numbers of rows and of NULLs of the data files of a metadata file, or None if nothing is known."""
    columns = {c for i in file.schema.indexes if i.definition.key_label is None for c in i.definition.plain_columns}
    counts = unpack_counts(file.footer, columns, file.limit)
    if counts is None or file.groups is None:
        return counts
    return counts.take(pa.array(rows_of(file.footer, file.groups)))


def has_parts(file: MetadataFile) -> bool:
    """Return whether data files of a metadata file have parts."""
    return RANGES in file.reader.schema_arrow.names and rules_of(file.schema.version).parts


def parts_of(file: MetadataFile, wanted: Iterable[IndexKey] | None = None) -> FileParts | None:
    """Return the parts of the data files of a metadata file, or None if no file has parts.

    They have the values of the requested indexes; None requests all. An index whose key is not available has no values.
    """
    with _reading(file.path, "cannot read the parts in the metadata file"):
        if not has_parts(file):
            return None
        present = set(file.reader.schema_arrow.names)
        choice = None if wanted is None else set(wanted)
        found = {}
        for index in file.schema.indexes:
            key, column = index.definition.key, part_column(index.column)
            if column in present and (choice is None or key in choice):
                with suppress(KeyNotAvailableError):
                    found[key] = _part_values(file, index, column)
        ranges = _whole(_read(file, [RANGES]), RANGES).cast(pa.list_(RANGE))
        return FileParts(ranges, found).plausible(_sizes(file))


def _part_values(file: MetadataFile, index: IndexField, column: str) -> pa.Array:
    def from_parts(values: pa.Array) -> pa.Array:
        return mask_legacy_dates(_from_file(index, values), index.storage, file.footer.metadata or {})

    return from_lists(_whole(_read(file, [column]), column), from_parts)


def columns_of(file: MetadataFile, choice: set[Requirement] | None) -> list[str]:
    """Return the names of the requested columns: ``obj_name``, partition columns, and indexes without a key."""
    rules = rules_of(file.schema.version)
    partitions, indexes = _chosen(file, choice)
    plain = [i.column for i in indexes if i.definition.key_label is None and i.column not in file.serialised]
    return [OBJECT_COLUMN] * file.has_names + [rules.partition_name(n) for n, _ in partitions] + plain


def _chosen(file: MetadataFile, choice: set[Requirement] | None) -> tuple[list[tuple[str, str]], list[IndexField]]:
    partitions = [(n, kind) for n, kind in file.schema.partitions if choice is None or PartitionKey(n) in choice]
    return partitions, [index for index in file.schema.indexes if choice is None or index.definition.key in choice]


def _decoded(file: MetadataFile, choice: set[Requirement] | None) -> MetadataTable:
    partitions, indexes = _chosen(file, choice)
    plain = [i for i in indexes if i.definition.key_label is None]
    table = _read(file, columns_of(file, choice))
    decoded = _table(file, table, partitions, plain)
    found = dict(decoded.indexes) | {i.definition.key: _keyed_column(file, i) for i in indexes if i not in plain}
    return replace(decoded, indexes={i.definition.key: found[i.definition.key] for i in indexes})


def _keyed_column(file: MetadataFile, index: IndexField) -> IndexColumn:
    """Read an index that has a key; without this key the values are unknown, but other indexes remain usable."""
    try:
        return _column(file, _read(file, [index.column]), index)
    except KeyNotAvailableError:
        nothing = pa.nulls(file.rows, arrow_type(index.storage))
        return IndexColumn(index.definition, index.storage, nothing, is_locked=True)


def _read(file: MetadataFile, columns: list[str]) -> pa.Table:
    wanted = leaves_under(columns, leaf_paths(file.footer))  # Arrow would split the names of columns at dots
    groups = file.groups if file.groups is not None else range(file.footer.num_row_groups)
    try:
        table = read_bounded(file.reader, wanted, groups, file.limit, None if file.digest else file.again)
        table.validate()
    except (pa.ArrowException, OSError) as error:
        if file.schema.encryption is None:
            raise
        raise KeyNotAvailableError(
            "no available key decrypts the metadata rows", where=str(file.path), hint=KMS_HINT
        ) from error
    if columns and len(table) != file.rows:
        raise MetadataCorruptError(
            "the number of rows differs from the footer of the metadata file", where=str(file.path),
            found=str(len(table)), expected=str(file.rows),
        )  # fmt: skip
    return table


def _table(
    file: MetadataFile, table: pa.Table, partitions: list[tuple[str, str]], indexes: list[IndexField]
) -> MetadataTable:
    rules = rules_of(file.schema.version)
    return MetadataTable(
        _files(file, table),
        {
            n: PartitionColumn(n, kind, _text(_whole(table, rules.partition_name(n)).cast(arrow_type(kind))))
            for n, kind in partitions
        },
        {i.definition.key: _column(file, table, i) for i in indexes},
    )


def _files(file: MetadataFile, table: pa.Table) -> DataFiles:
    if not file.has_names:
        return DataFiles(*(pa.nulls(file.rows, kind) for kind in (pa.string(), pa.int64(), pa.int64())))
    names, modified = split_ids(_whole(table, OBJECT_COLUMN))
    return DataFiles(names, _sizes(file), modified)


def _sizes(file: MetadataFile) -> pa.Array:
    sizes = unpack_sizes(file.footer, str(file.path))
    return sizes if file.groups is None else sizes.take(pa.array(rows_of(file.footer, file.groups)))


def _column(file: MetadataFile, table: pa.Table, index: IndexField) -> IndexColumn:
    decoded = file.serialised.get(index.column)
    if decoded is not None:
        return IndexColumn(index.definition, index.storage, decoded.values, decoded.unreadable)
    kept = _whole(table, index.column)
    values = mask_legacy_dates(_from_file(index, kept), index.storage, file.footer.metadata or {})
    # Lists with NULL and old dates of the Julian calendar become null in memory, and are not damaged. A Bloom filter
    # becomes null if it cannot be parsed.
    if values.null_count > kept.null_count and not isinstance(index.storage, Bloom):
        return IndexColumn(index.definition, index.storage, values)
    return IndexColumn(index.definition, index.storage, values, values.null_count - kept.null_count)


def _text(values: pa.Array) -> pa.Array:
    # Strings of partition values must be valid UTF-8, which strings of data need not be.
    values.validate(full=True)
    return values


def _whole(table: pa.Table, column: str) -> pa.Array:
    return table.column(column).combine_chunks()


def _to_file(column: IndexColumn, rules: VersionRules) -> pa.Array:
    storage, values = column.storage, column.values
    if isinstance(storage, Bloom):
        wrapped = [None if v is None else java_bloom.wrap(v, rules.package) for v in values.to_pylist()]
        return pa.array(wrapped, pa.binary())
    if rules.serialises(column.definition.name) and isinstance(storage, (Struct, Array)):
        return encode_streams(storage, values)
    return list_to_file(values) if is_list(column.definition, storage) else values


def _from_file(index: IndexField, values: pa.Array) -> pa.Array:
    known = from_file(index.storage, values)
    return list_from_file(known) if is_list(index.definition, index.storage) else known
