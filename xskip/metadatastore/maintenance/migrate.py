"""Migration: an index changes its version of the metadata format in one commit, without reading the data files.

.. code-block:: text

    0 <-> 1    serialised objects become values, and the table identifier moves to obj_name
    1 <-> 2    the names of columns are escaped and contain lengths
    2 <-> 3    parameters become a map, and classes and parameters are renamed
    3 <-> 4    partition columns are added
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from xskip.clauses.partition import partitions_of_names
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import IndexDefinition, MetadataTable, PartitionColumn
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.maintenance.rewrite import Target, rewrite
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import WriteOptions, rules_of
from xskip.results.operations import ColumnChange, MigrationResult

__all__ = ["Migration"]

#: A function that returns the partition columns of data files.
PartitionsOf = Callable[[DataFiles], Mapping[str, PartitionColumn]]


@dataclass(frozen=True, slots=True)
class Migration:
    """A migration of the index in a metadata directory to the version ``target``."""

    storage: Storage
    directory: str
    target: int
    #: Returns the partition columns of data files whose metadata lack them. By default, the names of the data files
    #: provide the values.
    partitions_of: PartitionsOf | None = None

    def run(self, *, dry_run: bool = False) -> MigrationResult:
        """Migrate the index, or only list the changes.

        An interrupted migration leaves the index unchanged, and the next migration starts from the beginning. The
        errors are those of :meth:`Target.open` and :func:`rewrite`, MetadataVersionError if this release does not know
        a version, and UnsupportedTypeError if the target version cannot hold a type.
        """
        rules_of(self.target)
        opened = Target.open(self.storage, self.directory, "migrate")
        snapshot = opened.snapshot
        versions = tuple(sorted({file.schema.version for file in snapshot.metadata_files}))
        write_options = replace(snapshot.write_options, version=self.target)
        is_there = versions == (self.target,)
        changes = () if is_there else tuple(_changes(snapshot, write_options))
        if not dry_run and not is_there:
            self._rewrite(opened, write_options)
        return MigrationResult(self.directory, versions, self.target, snapshot.rows, opened.seconds, dry_run, changes)

    def _rewrite(self, opened: Target, write_options: WriteOptions) -> None:
        identifier = opened.snapshot.table_identifier
        partitions_of = self.partitions_of or (lambda o: partitions_of_names(o.names, identifier))

        def migrated(table: MetadataTable, version: int) -> MetadataTable:
            while version != self.target:
                after = version + (1 if version < self.target else -1)
                table, version = _step(table, version, after, partitions_of), after
            return table

        rewrite(opened, write_options, migrated)


def _step(table: MetadataTable, before: int, after: int, partitions_of: PartitionsOf) -> MetadataTable:
    """Convert a table to an adjacent version; the codec handles all other differences."""
    match before, after:
        case 3, 4:
            return replace(table, partitions=partitions_of(table.files))
        case 4, 3:
            return replace(table, partitions={})
        case _:
            return table


def _changes(snapshot: Snapshot, write_options: WriteOptions) -> list[ColumnChange]:
    """List the changes to each column of the index, for each version among its files."""
    found: dict[ColumnChange, None] = {}
    new = rules_of(write_options.version)
    for file in snapshot.metadata_files:
        version = file.schema.version
        for index in file.schema.indexes:
            name = new.column_name(write_options.written(index.definition))
            texts = ["renamed"] * (index.column != name) + _differences(
                index.definition, version, write_options.version
            )
            if texts:
                found[ColumnChange(index.column, name, "; ".join(texts))] = None
        for name, _ in file.schema.partitions if not new.partitions else ():
            found[ColumnChange(rules_of(version).partition_name(name), "", "partition values are dropped")] = None
        if new.partitions and not rules_of(version).partitions:
            found[ColumnChange("", "virtual_…", "partition values are added, if the dataset is partitioned")] = None
    return list(found)


def _differences(definition: IndexDefinition, before: int, after: int) -> list[str]:
    old, new = rules_of(before), rules_of(after)
    texts = []
    if old.serialised != new.serialised:
        texts.append("serialised objects become values" if old.serialised else "values become serialised objects")
    if definition.params and old.params_json(definition.params) != new.params_json(definition.params):
        texts.append("the format of the parameters changes")
    if definition.name == "bloomfilter" and old.is_old != new.is_old:
        texts.append("the class of the Bloom filters changes")
    return texts
