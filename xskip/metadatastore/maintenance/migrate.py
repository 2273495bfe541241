"""From one version of the metadata format to another: one commit, and the data stays untouched.

.. code-block:: text

    0 <-> 1    serialised objects become values, the table identifier moves to obj_name
    1 <-> 2    names of columns escape and carry lengths
    2 <-> 3    parameters become a map, classes and parameters are renamed
    3 <-> 4    partition columns come
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from xskip.clauses.partition import partitions_of_names
from xskip.metadata.objects import Objects
from xskip.metadata.table import IndexDefinition, MetadataTable, PartitionColumn
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.maintenance.rewrite import open_whole, rewrite
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import WriteOptions, rules_of
from xskip.results.operations import ColumnChange, MigrationResult

__all__ = ["Migration"]

#: The partition columns of some objects.
PartitionsOf = Callable[[Objects], Mapping[str, PartitionColumn]]


@dataclass(frozen=True, slots=True)
class Migration:
    """A metadata directory on its way to a version.

    Attributes
    ----------
    storage : Storage
    directory : str
    target : int
    partitions_of : callable, optional
        Where partition values come from that a version lacks; by default from the objects' names.
    """

    storage: Storage
    directory: str
    target: int
    partitions_of: PartitionsOf | None = None

    def run(self, *, dry_run: bool = False) -> MigrationResult:
        """Migrates, or with ``dry_run`` says what would change.

        A migration that dies leaves the index as it was; one that is repeated begins anew.

        Raises
        ------
        MetadataNotFoundError
            There is no index.
        MetadataVersionError
            The index is of a version that this release does not know, or the target is.
        MetadataCorruptError
            The index cannot be read, or another program has added to it.
        UnsupportedTypeError
            The target cannot hold a type.
        KeyNotAvailableError
            The index is encrypted and a key is not to be had, or the target is version 0.
        CommitConflictError
            Another writer was faster; nothing has changed.
        """
        started = time.monotonic()
        rules_of(self.target)
        snapshot = open_whole(self.storage, self.directory)
        versions = tuple(sorted({file.schema.version for file in snapshot.files}))
        form = replace(snapshot.form, version=self.target)
        is_there = versions == (self.target,)
        changes = () if is_there else tuple(_changes(snapshot, form))
        if not dry_run and not is_there:
            self._rewrite(snapshot, form)
        seconds = time.monotonic() - started
        return MigrationResult(self.directory, versions, self.target, snapshot.rows, seconds, dry_run, changes)

    def _rewrite(self, snapshot: Snapshot, form: WriteOptions) -> None:
        partitions_of = self.partitions_of or (lambda o: partitions_of_names(o.names, snapshot.table_identifier))

        def migrated(table: MetadataTable, version: int) -> MetadataTable:
            while version != self.target:
                after = version + (1 if version < self.target else -1)
                table, version = _step(table, version, after, partitions_of), after
            return table

        rewrite(self.storage, self.directory, snapshot, form, migrated)


def _step(table: MetadataTable, before: int, after: int, partitions_of: PartitionsOf) -> MetadataTable:
    """A table of a version as one of its neighbour; what else differs is the codec's."""
    match before, after:
        case 3, 4:
            return replace(table, partitions=partitions_of(table.objects))
        case 4, 3:
            return replace(table, partitions={})
        case _:
            return table


def _changes(snapshot: Snapshot, form: WriteOptions) -> list[ColumnChange]:
    """What becomes of each column of each version that the index has."""
    found: dict[ColumnChange, None] = {}
    new = rules_of(form.version)
    for file in snapshot.files:
        version = file.schema.version
        for index in file.schema.indexes:
            name = new.column_name(form.written(index.definition))
            texts = ["renamed"] * (index.column != name) + _differences(index.definition, version, form.version)
            if texts:
                found[ColumnChange(index.column, name, "; ".join(texts))] = None
        for name, _ in file.schema.partitions if not new.partitions else ():
            found[ColumnChange(rules_of(version).partition_name(name), "", "partition values are dropped")] = None
        if new.partitions and not rules_of(version).partitions:
            found[ColumnChange("", "virtual_…", "partition values are added, where there are partitions")] = None
    return list(found)


def _differences(definition: IndexDefinition, before: int, after: int) -> list[str]:
    old, new = rules_of(before), rules_of(after)
    texts = []
    if old.serialised != new.serialised:
        texts.append("serialised objects become values" if old.serialised else "values become serialised objects")
    if definition.params and old.params_json(definition.params) != new.params_json(definition.params):
        texts.append("parameters are written otherwise")
    if definition.name == "bloomfilter" and old.is_old != new.is_old:
        texts.append("another class wraps the filters")
    return texts
