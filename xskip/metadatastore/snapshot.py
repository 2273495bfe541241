"""A snapshot of an index: its metadata files, with columns that are read on demand and cached."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import KeyNotAvailableError, MetadataCorruptError
from xskip.hints import joined
from xskip.metadata.data_files import DataFiles, count_outside
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.file_parts import FileParts
from xskip.metadata.read_profile import ReadProfile, differences, differing_columns, zones_differ
from xskip.metadata.table import (
    IndexColumn,
    IndexDefinition,
    IndexKey,
    MetadataTable,
    PartitionColumn,
    PartitionKey,
    Requirement,
    concat,
)
from xskip.metadatastore.bounded_read import RATIO, demand_room
from xskip.metadatastore.codec import MetadataFile, counts_of, decode, has_parts, null_rows, parts_of, version_of
from xskip.metadatastore.commit import CommitRecord, LiveSnapshot, RecordedFile, find_live
from xskip.metadatastore.commit_records import changed_repeatedly
from xskip.metadatastore.encryption import KMS_HINT
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.legacy.xskipper_metadata import drop_unproven, may_be_of_footers, reason_unusable
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.portable_forms import is_portable
from xskip.metadatastore.recorded_files import open_recorded
from xskip.metadatastore.schema import IndexField
from xskip.metadatastore.time_zones import FORMATS, in_every_zone
from xskip.metadatastore.versions import CURRENT_VERSION, WriteOptions
from xskip.settings import METADATA_BYTES
from xskip.types.datatypes import Opaque, arrow_type
from xskip.types.datatypes import Storage as ValueStorage

__all__ = ["KnownFiles", "Snapshot", "file_versions", "open_snapshot"]

#: Names and partition values by the name and the digest of a metadata file, which never changes.
KnownFiles = dict[tuple[str, str], MetadataTable]

#: The setting of Avro that earlier releases recorded as set where it was not.
_EXTENSIONS = "avro.mapred.ignore.inputs.without.extension"
_T = TypeVar("_T")
_ATTEMPTS = 10


class Snapshot:
    """One state of an index, which reads each column once. Several threads can call all methods."""

    def __init__(self, live: LiveSnapshot, metadata_files: tuple[MetadataFile, ...]) -> None:
        self.live = live
        self.metadata_files = metadata_files
        self._lock = threading.Lock()
        self._files: DataFiles | None = None
        self._counts: FileCounts | None = None
        self._parts: FileParts | None = None
        self._part_keys: set[IndexKey] = set()
        self._partitions: dict[str, PartitionColumn] = {}
        self._indexes: dict[IndexKey, IndexColumn] = {}
        self._read: set[Requirement] = set()
        self._outside: dict[str, int] = {}
        self._known: KnownFiles = {}  # until the first load
        self._compared: tuple[ReadProfile, str, dict[tuple[str, ...], str]] | None = None

    @property
    def record(self) -> CommitRecord | None:
        """Return the commit record; None if only other programs have written to the directory."""
        return self.live.record

    @property
    def is_ours(self) -> bool:
        """Return whether xskip collected all statistics in the files and recorded how it read the data files."""
        return self.read_profile is not None

    @property
    def read_profile(self) -> ReadProfile | None:
        """Return how xskip read the data files; None if another program has written metadata."""
        return self.record.read_profile if self.record and not self.live.foreign else None

    @property
    def version(self) -> int:
        """Return the newest version among the metadata files."""
        return max((file.schema.version for file in self.metadata_files), default=CURRENT_VERSION)

    def of_another(self, location: IndexLocation) -> str:
        """Return the dataset of the metadata if it is not the dataset of a location; otherwise an empty text."""
        if self.record is not None and self.is_ours:
            return "" if self.record.root == location.root else self.record.root
        return "" if location.is_named(self.table_identifier) else self.table_identifier

    def reason_unusable(self, location: IndexLocation, profile: ReadProfile) -> str:
        """Return why the metadata prove nothing about a dataset as a query reads it; empty if they are usable."""
        other = self.of_another(location)
        return f"the index belongs to another dataset, {other}" if other else self._comparison(profile)[0]

    def _comparison(self, profile: ReadProfile) -> tuple[str, dict[tuple[str, ...], str]]:
        """Return why no index is usable for a profile, and the columns that it reads in another way."""
        known = self._compared
        # The comparison with the latest profile is kept: queries that read alike have the same object. Other threads
        # can replace the tuple, but each tuple is of one profile.
        if known is None or known[0] is not profile:
            differing = self._differing_columns(profile)
            known = self._compared = (profile, self._problem(profile, differing), differing)
        return known[1], known[2]

    def _problem(self, profile: ReadProfile, differing: Mapping[tuple[str, ...], str]) -> str:
        recorded = self.record.read_profile if self.record else None
        if recorded is None or not self.is_ours:
            # xskip may have written other files of the directory, and recorded how it read the data files
            other_reads = differences(recorded, profile, but_zone=True) if recorded else ()
            problem = reason_unusable(profile) or joined("; ", other_reads)
        else:
            # In these formats, load_proven removes what depends on the time zone.
            problem = joined("; ", self.differences(profile, but_zone=profile.format in FORMATS))
        # Columns that the query reads in another way matter here only if every index depends on one of them.
        if problem or not differing or not all(differing.keys() & set(d.paths) for d, _ in self.indexes):
            return problem
        return "; ".join(differing.values())

    def differences(self, profile: ReadProfile, *, but_zone: bool = False) -> list[str]:
        """Return the differences between the profile of the build and another profile that concern all columns.

        ``but_zone`` ignores the JVM's default time zone.
        """
        if self.read_profile is None:
            return []
        recorded = self.read_profile
        if _EXTENSIONS in recorded.conf and self._has_avro_names:
            recorded = replace(recorded, conf={k: v for k, v in recorded.conf.items() if k != _EXTENSIONS})
        return list(differences(recorded, profile, but_zone=but_zone))

    def differing_columns(self, profile: ReadProfile) -> dict[tuple[str, ...], str]:
        """Return the indexed columns that a query reads in another way than the build did, each with the reason."""
        return self._comparison(profile)[1]

    def _differing_columns(self, profile: ReadProfile) -> dict[tuple[str, ...], str]:
        recorded = self.record.read_profile if self.record else None
        found = differing_columns(recorded, profile, self.columns) if recorded is not None else {}
        if recorded is None or not self.is_ours:  # other programs read columns as Spark does by default
            found = differing_columns(ReadProfile(profile.format), profile, self.columns) | found
        return found

    @cached_property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """Return the columns on which the values of the indexes depend, with the names from the top-level column."""
        return tuple(dict.fromkeys(path for definition, _ in self.indexes for path in definition.paths))

    @cached_property
    def _has_avro_names(self) -> bool:
        """Return whether all data files have Avro's extension, so that no setting makes Spark pass over one of them."""
        names = self.load(()).files.names
        return bool(pc.all(pc.ends_with(names, ".avro"), min_count=0).as_py())

    def load_proven(self, wanted: Iterable[Requirement], profile: ReadProfile) -> MetadataTable:
        """Return the result of :meth:`load` without statistics that prove nothing about what a query reads."""
        table = self.load(wanted)
        if zones_differ(self.read_profile or ReadProfile(profile.format), profile):
            table = in_every_zone(table, (definition for definition, _ in self.indexes))
        if self.is_ours:
            return table
        files = (tuple((i.definition, i.storage) for i in file.schema.indexes) for file in self.metadata_files)
        return drop_unproven(table, footers=any(may_be_of_footers(profile.format, indexes) for indexes in files))

    @property
    def write_options(self) -> WriteOptions:
        """Return the write options of the files: their newest version and their key labels."""
        labels = next((f.schema.encryption for f in self.metadata_files if f.schema.encryption is not None), None)
        part_bytes = self.record.part_bytes if self.record else None
        write_options = WriteOptions(self.version, own=frozenset(self._own()), part_bytes=part_bytes)
        if labels is None:
            return write_options
        return replace(write_options, footer_key=labels.footer_key, plaintext_footer=labels.plaintext_footer)

    def _own(self) -> Iterator[IndexKey]:
        """Yield the indexes with names that only xskip knows, and the indexes with unknown bounds [MDS-F-8]."""
        for file in self.metadata_files:
            portable = file.schema.version > 0 and is_portable(file.schema, file.footer.metadata)
            for index in file.schema.indexes:
                key = index.definition.key
                if index.is_own or (key[0] == "minmax" and not portable and self._has_unknown(file, index)):
                    yield key

    def _has_unknown(self, file: MetadataFile, index: IndexField) -> bool:
        """Return whether bounds are unknown; null rows that another program wrote do not count."""
        column = decode(file, {index.definition.key}).indexes[index.definition.key]
        if isinstance(index.storage, Opaque) or column.is_locked:
            return False
        foreign = not self.is_ours and file.schema.version > 0
        return int(column.values.null_count) > (null_rows(file, index.column) if foreign else 0)

    @property
    def table_identifier(self) -> str:
        """Return the table identifier in the metadata files; an empty text if there are no files."""
        return self.metadata_files[0].schema.table_identifier if self.metadata_files else ""

    @cached_property
    def rows(self) -> int:
        """Return the number of rows, one for each data file."""
        return sum(file.rows for file in self.metadata_files)

    @cached_property
    def partitions(self) -> dict[str, str]:
        """Return the partition columns that all files have with the same type, and these types."""
        found = [dict(file.schema.partitions) for file in self.metadata_files]
        return {n: kind for n, kind in (found[0].items() if found else ()) if all(f.get(n) == kind for f in found)}

    @cached_property
    def indexes(self) -> tuple[tuple[IndexDefinition, ValueStorage], ...]:
        """Return the indexes of all files with their storage, and with the recorded types of their columns."""
        types = self.record.types if self.record and self.is_ours else {}
        merged: dict[IndexKey, tuple[IndexDefinition, ValueStorage]] = {}
        for file in self.metadata_files:
            for index in file.schema.indexes:
                known = tuple(types[c] for c in index.definition.columns if c in types)
                complete = known if len(known) == len(index.definition.columns) else ()
                before = merged.get(index.definition.key)
                if before is None or isinstance(before[1], Opaque):  # another file can have a type that xskip knows
                    merged[index.definition.key] = (replace(index.definition, types=complete), index.storage)
        return tuple(merged.values())

    @property
    def partition_keys(self) -> set[Requirement]:
        """Return all partition columns in the form that :meth:`load` takes."""
        return set(map(PartitionKey, self.partitions))

    def load(self, wanted: Iterable[Requirement] | None = None) -> MetadataTable:
        """Return the metadata table with the requested indexes and partition columns; None requests all, with counts.

        The table omits those that the snapshot does not have.
        """
        counts, parts = (self.counts(), self.parts()) if wanted is None else (None, None)
        with self._lock:
            everything = self.partition_keys.union(definition.key for definition, _ in self.indexes)
            needed = everything if wanted is None else everything & set(wanted)
            missing = needed - self._read
            if missing or self._files is None:
                self._keep(concat(self._decoded(missing)) if self.metadata_files else _NOTHING)
                self._read |= missing
            assert self._files is not None
            return MetadataTable(
                self._files,
                {name: column for name, column in self._partitions.items() if PartitionKey(name) in needed},
                {key: column for key, column in self._indexes.items() if key in needed},
                counts,
                parts,
            )

    def counts(self) -> FileCounts:
        """Return the numbers of rows and of NULLs of all data files, in the order of :meth:`load`.

        They hold for a query if :meth:`reason_unusable` is empty, and NULLs if the query reads the column as the build
        did. They are decoded when first needed. Nothing is known if another program has written metadata.
        """
        files = self.load(()).files  # this verifies the number of rows
        if not self.is_ours:
            return FileCounts.unknown(len(files))
        with self._lock:
            if self._counts is None:
                found = [counts_of(file) or FileCounts.unknown(file.rows) for file in self.metadata_files]
                self._counts = FileCounts.concat(found)
            return self._counts

    @property
    def has_parts(self) -> bool:
        """Return whether data files have parts."""
        return self.is_ours and any(map(has_parts, self.metadata_files))

    def parts(self, wanted: Collection[IndexKey] | None = None) -> FileParts | None:
        """Return the parts of all data files, in the order of :meth:`load`; None if no file has parts.

        They have the values of the requested indexes; None requests all. Nothing is known if another program has
        written metadata.
        """
        files = self.load(()).files  # this verifies the number of rows
        if not self.is_ours:
            return None
        keys = [definition.key for definition, _ in self.indexes if wanted is None or definition.key in wanted]
        with self._lock:
            missing = [key for key in keys if key not in self._part_keys]
            if missing or not self._part_keys:
                self._keep_parts(missing, len(files))
            return None if self._parts is None else self._parts.of_indexes(keys)

    def _keep_parts(self, keys: Sequence[IndexKey], files: int) -> None:
        found = [parts_of(file, keys) for file in self.metadata_files]
        self._part_keys.update(keys)
        if all(each is None for each in found):
            return
        storages = {definition.key: arrow_type(storage) for definition, storage in self.indexes}
        parts = FileParts.concat(
            [each or FileParts.none(file.rows) for each, file in zip(found, self.metadata_files, strict=True)]
        )
        values = {key: each for key, each in parts.values.items() if each.type.value_type == storages[key]}
        demand_room(parts.nbytes, self.metadata_files[0].limit, "the parts of data files")
        known = {} if self._parts is None else self._parts.values
        self._parts = FileParts(parts.ranges, {**known, **values})

    def known_files(self) -> KnownFiles:
        """Return the names and partition values that this snapshot has read of metadata files without encryption."""
        with self._lock:
            if self._files is None:
                return self._known
            table, first, known = MetadataTable(self._files, dict(self._partitions)), 0, {}
        for file in self.metadata_files:
            if file.digest and file.schema.encryption is None:  # a lost key ends the use of encrypted values
                known[file.name, file.digest] = table.named(first, file.rows)
            first += file.rows
        return known

    def take_over(self, known: KnownFiles) -> None:
        """Take the :meth:`known_files` of an earlier snapshot, instead of reading the same metadata files again."""
        with self._lock:
            if self._files is None:
                self._known = known

    def demand_keys(self) -> None:
        """Raise KeyNotAvailableError unless the client's keys open every index; read only a few rows of each file."""
        for file in self.metadata_files:
            keyed = {index.definition.key for index in file.schema.indexes if index.definition.key_label is not None}
            some = (0,) if file.footer.num_row_groups else ()
            for column in decode(replace(file, groups=some), keyed).indexes.values() if keyed else ():
                if column.is_locked:
                    raise KeyNotAvailableError(
                        "the key of an index is not available, so xskip changed nothing",
                        where=str(column.definition),
                        found=f"no key {column.definition.key_label} that decrypts the index",
                        hint=KMS_HINT,
                    )  # fmt: skip

    def count_outside(self, root: str) -> int:
        """Return how many data files lie outside a directory, see :func:`~xskip.metadata.data_files.count_outside`."""
        names = self.load(()).files.names
        if root not in self._outside:
            self._outside[root] = count_outside(names, root)
        return self._outside[root]

    def _decoded(self, wanted: set[Requirement]) -> Iterator[MetadataTable]:
        taken = 0
        for file in self.metadata_files:
            known = self._known.get((file.name, file.digest)) if self._files is None else None
            if known is None:
                table = decode(replace(file, has_names=self._files is None), wanted)
            else:
                table = _completed(known, file, wanted)
            taken += table.nbytes
            # The limit is the same in all files, and bounds the values of all of them.
            demand_room(taken, file.limit, str(file.path.parent))
            yield table

    def _keep(self, table: MetadataTable) -> None:
        if self._files is None:
            self._files, self._known = table.files, {}
        self._partitions.update(table.partitions)
        self._indexes.update(table.indexes)


def _completed(known: MetadataTable, file: MetadataFile, wanted: set[Requirement]) -> MetadataTable:
    """Add the indexes and partition columns of a metadata file that are requested and not known."""
    rest = wanted - set(map(PartitionKey, known.partitions))
    decoded = decode(replace(file, has_names=False), rest) if rest else known
    found = {**known.partitions, **decoded.partitions}
    partitions = {n: found[n] for n, _ in file.schema.partitions if PartitionKey(n) in wanted}
    return replace(decoded, files=known.files, partitions=partitions)


_NOTHING = MetadataTable(DataFiles(pa.array([], pa.string()), pa.array([], pa.int64()), pa.array([], pa.int64())))


def open_snapshot(
    storage: Storage, directory: str, known: Snapshot | None = None, limit: int = METADATA_BYTES.default
) -> Snapshot | None:
    """Open the current snapshot of a metadata directory, or return None if there is no index.

    While ``known``, the result of an earlier call, is current, the function returns it. ``limit`` is the maximum number
    of bytes for the values, unless 32 times the size of the files is more [MDS-D-5]. MetadataCorruptError or
    MetadataVersionError means that there is an index that cannot be read.
    """
    found = _read_all(storage, directory, open_recorded, known.live if known else None)
    if found is None:
        return None
    live, files = found
    if known is not None and known.live.identity == live.identity:
        return known
    _check_one_dataset(files, directory)
    room = max(limit, RATIO * sum(file.size for file in files))
    snapshot = Snapshot(live, tuple(replace(file, limit=room) for file in files))
    if known is not None:
        snapshot.take_over(known.known_files())
    return snapshot


def _read_all(
    storage: Storage, directory: str, read: Callable[[Path, RecordedFile | None], _T], known: LiveSnapshot | None = None
) -> tuple[LiveSnapshot, tuple[_T, ...]] | None:
    """Return the current snapshot with the result of ``read`` for each file, or without results if it is ``known``."""
    for _ in range(_ATTEMPTS):
        live = find_live(storage, directory, known)
        if live is None:
            return None
        if known is not None and live.identity == known.identity:
            return live, ()
        recorded = {entry.name: entry for entry in (live.record.metadata_files if live.record else ())}
        try:
            return live, tuple(read(storage.fetch(f"{directory}/{name}"), recorded.get(name)) for name in live.names)
        except FileNotFoundError:  # a commit has just removed the file: start over
            continue
    raise changed_repeatedly(directory)


def file_versions(storage: Storage, directory: str) -> tuple[tuple[str, int], ...]:
    """Return the name and the version of each file in the current snapshot of a directory; none without an index.

    The versions include those that this release cannot read.
    """
    found = _read_all(storage, directory, lambda path, _: version_of(path))
    return () if found is None else tuple(zip(found[0].names, found[1], strict=True))


def _check_one_dataset(files: tuple[MetadataFile, ...], directory: str) -> None:
    identifiers = {file.schema.table_identifier for file in files}
    if len(identifiers) > 1:
        raise MetadataCorruptError(
            "the directory contains metadata of several datasets", where=directory, found=", ".join(sorted(identifiers))
        )
