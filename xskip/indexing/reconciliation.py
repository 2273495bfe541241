"""Reconciliations: one call after which a dataset has exactly the requested indexes, with all its files.

.. code-block:: text

    no index                        create it, or adopt that of the former path of a moved dataset, and go on
    the same indexes                refresh them, without a Spark job if no file has changed
    other indexes or parameters     add, replace and remove indexes, and refresh the others, in one commit
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from xskip.errors import (
    IndexDroppedError,
    KeyNotAvailableError,
    MetadataNotFoundError,
    RecordDamagedError,
    XskipError,
)
from xskip.indexes import Index
from xskip.indexing.adoption import Adoption, FormerIndex
from xskip.indexing.build_plan import plan, registered
from xskip.indexing.builder import Build
from xskip.indexing.commit_attempts import Collected
from xskip.indexing.definition_build import DefinitionBuild, with_footer_key
from xskip.indexing.indexed_listing import IndexedListing
from xskip.indexing.source import (
    Source,
    check_dataset,
    check_keys,
    check_same_reading,
    new_write_options,
    reading_differences,
)
from xskip.indexing.update import Update
from xskip.metadata.table import IndexDefinition
from xskip.metadatastore.commit_records import list_records
from xskip.metadatastore.definition_copy import DefinitionCopy, find_copy
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.metadatastore.versions import CURRENT_VERSION, WriteOptions
from xskip.results.index_choice import IndexChoice
from xskip.results.operations import EnsureResult, RefreshResult
from xskip.spark.collect.planned_index import PlannedIndex

__all__ = ["Reconciliation"]

_log = logging.getLogger("xskip")


@dataclass(frozen=True, slots=True)
class _Difference:
    """The difference between the indexes of a snapshot and the requested ones."""

    added: tuple[PlannedIndex, ...]
    #: The requested indexes that the snapshot has with another parameter, key or type.
    replaced: tuple[PlannedIndex, ...]
    removed: tuple[IndexDefinition, ...]

    @staticmethod
    def between(snapshot: Snapshot, requested: Sequence[PlannedIndex]) -> _Difference:
        """Compare the indexes of a snapshot with the requested ones."""
        present = {definition.key: definition for definition, _ in snapshot.indexes}
        known = [each for each in requested if each.definition.key in present]
        keys = {each.definition.key for each in known}
        return _Difference(
            tuple(each for each in requested if each.definition.key not in keys),
            tuple(each for each in known if not present[each.definition.key].is_same(each.definition)),
            tuple(definition for key, definition in present.items() if key not in keys),
        )

    def __bool__(self) -> bool:
        return bool(self.added or self.replaced or self.removed)


@dataclass(frozen=True, slots=True)
class Reconciliation(Update):
    """A reconciliation of one dataset with the requested indexes."""

    #: None keeps the indexes that the dataset has or had, and lets ``choose`` choose them for any other dataset.
    indexes: Sequence[Index] | None = ()
    #: The number of bytes of the parts that data files are divided into; 0 for none, None for that of the index.
    part_bytes: int | None = None
    #: Whether the reconciliation only returns what it would do.
    dry_run: bool = False
    choose: Callable[[Source], IndexChoice] | None = None

    def run(self) -> EnsureResult:
        """Reconcile the dataset, and start over if another writer committed first or dropped the index."""
        with suppress(IndexDroppedError):
            return self._repeated()
        return replace(self, _collected=Collected())._repeated()

    def _repeated(self) -> EnsureResult:
        return self.repeat(partial(self.run_prepared, self._prepared))

    def _prepared(self, found: IndexedListing | None) -> Callable[[], EnsureResult]:
        """Prepare a build over the changed directories, or over the whole dataset if other indexes are requested."""
        source = self.open(found)
        snapshot = found.snapshot if found else self._present(source)
        if snapshot is None:
            return self._prepared_first(source)
        known = [definition for definition, _ in snapshot.indexes]
        requested = plan(source, registered(source, known) if self.indexes is None else self.indexes, known)
        check_dataset(snapshot, source.location)
        difference = _Difference.between(snapshot, requested)
        reread = (*reading_differences(source, snapshot), *self._part_differences(snapshot))
        if found and (difference or reread):
            return self._prepared(None)
        kind = DefinitionBuild if difference else Build
        build = self.build_on(source, snapshot, kind, requested, rereads=bool(reread))
        build.dry_run = self.dry_run
        if self.part_bytes is not None:
            build.write_options = replace(build.write_options, part_bytes=self.part_bytes)
        if isinstance(build, DefinitionBuild):
            build.operation, build.added = "ensure", (*difference.added, *difference.replaced)
            build.removed = frozenset(each.key for each in difference.removed)
            build.write_options = self._write_options(build)
        run = self.prepare_run(build, snapshot, found, reread)
        return lambda: self._result(source, run(), difference)

    def _write_options(self, build: DefinitionBuild) -> WriteOptions:
        """Return the write options of a build whose indexes can have other keys than those of the snapshot."""
        write_options = with_footer_key(build, build.added)
        if any(each.definition.key_label for each in build.planned):
            check_keys(write_options, build.planned)
            return write_options
        # A session with a key for footers wants no plain index, see create().
        check_keys(new_write_options(self.spark, self.engine, write_options.version), build.planned)
        return replace(write_options, footer_key=None)

    def _part_differences(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Return why files are divided into other parts than requested."""
        present = snapshot.record.part_bytes if snapshot.record else None
        return () if self.part_bytes in (None, present) else ("the parts of files get another size",)

    def _present(self, source: Source) -> Snapshot | None:
        """Return the present snapshot; None if there is none, or if its record is damaged, which a build replaces.

        Without a list of indexes, a damaged record is an error, because it hides which indexes there were.
        """
        try:
            return open_snapshot(source.storage, source.directory)
        except RecordDamagedError:
            if self.indexes is None:
                raise
        return None

    def _prepared_first(self, source: Source) -> Callable[[], EnsureResult]:
        """Prepare the first index of the dataset at its path."""
        copy = find_copy(source.storage, source.location) if self.indexes is None else None
        if copy is not None:
            check_same_reading(source, copy.read_profile)
            return partial(self._created, source, plan(source, registered(source, copy.indexes)), copy)
        former = self._former_index(source)
        if former is not None:
            known = [definition for definition, _ in former.snapshot.indexes]
            wanted = registered(source, known) if self.indexes is None else self.indexes
            return partial(self._adopted, source, former, plan(source, wanted, known))
        if self.indexes is not None:
            return partial(self._created, source, plan(source, self.indexes))
        assert self.choose is not None
        choice = self.choose(source)
        planned = plan(source, choice.indexes)
        return lambda: replace(self._created(source, planned), choice=choice)

    def _former_index(self, source: Source) -> FormerIndex | None:
        """Return the index of a former path of the dataset; None if there is none that can be adopted."""
        if list_records(source.storage, source.directory):  # a damaged record, which only a build replaces
            return None
        try:
            former = self._adoption(source).find(None)
        except MetadataNotFoundError:
            return None
        except XskipError as error:
            if self.indexes is None and isinstance(error, KeyNotAvailableError):
                raise  # other indexes would tell what this one hides
            _log.info("xskip builds a new index of %s, and adopts none of a former path: %s", source.root, error)
            return None
        return former if len(former.table) else None

    def _adoption(self, source: Source) -> Adoption:
        return Adoption(self.engine, source, None, new_write_options(self.spark, self.engine, CURRENT_VERSION))

    def _adopted(self, source: Source, former: FormerIndex, requested: tuple[PlannedIndex, ...]) -> EnsureResult:
        if not self.dry_run:
            self._adoption(source).commit(former)
            return replace(self._prepared(None)(), former=former.root)
        files = RefreshResult(former.new_files, former.changed, len(former.table), 0.0)
        result = self._result(source, files, _Difference.between(former.snapshot, requested))
        return replace(result, former=former.root)

    def _created(
        self, source: Source, requested: tuple[PlannedIndex, ...], copy: DefinitionCopy | None = None
    ) -> EnsureResult:
        """Create an index, with the form of the copy of a definition."""
        version, part_bytes = CURRENT_VERSION, self.part_bytes
        if copy is not None:
            version, part_bytes = copy.version, copy.part_bytes if part_bytes is None else part_bytes
        build = self.new_build(source, requested, version, part_bytes)
        build.dry_run = self.dry_run
        rebuilt = self._is_overwritten(source)
        result = self._result(source, build.run(None), _Difference(requested, (), ()))
        return replace(result, created=True, rebuilt=rebuilt)

    def _is_overwritten(self, source: Source) -> bool:
        """Return whether an overwrite has deleted the index; a drop would have removed the copy of the definition."""
        with suppress(RecordDamagedError):
            is_there = open_snapshot(source.storage, source.directory) is not None
            return not is_there and find_copy(source.storage, source.location) is not None
        return False

    def _result(self, source: Source, files: RefreshResult, difference: _Difference) -> EnsureResult:
        return EnsureResult(
            dataset=source.root,
            indexes_added=tuple(str(each.definition) for each in difference.added),
            indexes_replaced=tuple(str(each.definition) for each in difference.replaced),
            indexes_removed=tuple(map(str, difference.removed)),
            added=files.added,
            removed=files.removed,
            unchanged=files.unchanged,
            seconds=files.seconds,
            failed=files.failed,
            reread=files.reread,
            dry_run=self.dry_run,
        )
