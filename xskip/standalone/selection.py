"""The files that a predicate rules out, by the metadata of an index."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import pyarrow as pa

from xskip.clauses.clause import Mask
from xskip.engine.decision import Evidence
from xskip.engine.ports import NoFunctions
from xskip.engine.scan_units import ScanParts
from xskip.engine.selection import Selection, index_catalog, select
from xskip.expressions.condition_reasons import Reason
from xskip.expressions.operands import Column
from xskip.expressions.predicate import Unknown
from xskip.metadata.data_files import DataFiles
from xskip.metadata.read_profile import ReadProfile
from xskip.pruning.clause_translation import IndexCatalog
from xskip.standalone.columns import Columns, mentions_in
from xskip.standalone.resolve import Resolver
from xskip.standalone.sql import Node, parse

__all__ = ["Predicate", "Pruned", "SqlPredicate", "StandaloneSelection", "Unused", "recorded_column"]

#: The types whose comparisons with literals are the same in all engines.
_EXACT = frozenset(["boolean", "tinyint", "smallint", "int", "bigint", "decimal", "string", "date"])
#: The parts of a predicate that were not used, each with the reason.
Unused = tuple[tuple[str, Reason], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Pruned:
    """The indexed files without a matching row."""

    skip: Mask
    #: The parts of the predicate that were not used.
    unused: Unused
    #: The clauses that rule out files; None if there are none.
    selection: Selection | None = None


@dataclass(frozen=True, slots=True)
class StandaloneSelection:
    """A selection of files by the metadata of an index, without Spark."""

    columns: Columns
    #: How the engine reads the files.
    profile: ReadProfile
    #: The time zone of timestamps without an offset; None if the zone is not known.
    time_zone: str | None

    @property
    def catalog(self) -> IndexCatalog:
        """Return the usable indexes."""
        return index_catalog(self.columns.snapshot, self.profile, case_sensitive=self.columns.case_sensitive)

    def skipped(self, node: Node, names: Callable[[], tuple[str, ...]]) -> Pruned:
        """Return the indexed files without a matching row, and the parts that were not used.

        ``names`` returns the columns that an unknown name can mean.
        """
        catalog = self.catalog
        resolver = Resolver(partial(recorded_column, catalog), self.time_zone, names)
        selection = Selection.of(resolver.resolve(node), catalog)
        result = select(selection, self.columns.snapshot, self.profile)
        # the resolver has reported the unknown parts by the words of the user
        left = (part for part in result.unused if not any(isinstance(each, Unknown) for each in part.subjects))
        unused = (*resolver.unused, *dict.fromkeys((part.text(), part.reason) for part in left))
        return Pruned(result.skip, unused, selection)

    def ranges(self, pruned: Pruned, files: DataFiles) -> pa.Array | None:
        """Return the ranges of listed files that can hold matching rows; None if all files are to be read whole."""
        if pruned.selection is None:
            return None
        snapshot = self.columns.snapshot
        evidence = Evidence(pruned.selection, weakref.ref(snapshot), self.profile, NoFunctions())
        parts = ScanParts.of(evidence, snapshot, pruned.skip)
        return None if parts is None else parts.ranges_of(files)


class Predicate(Protocol):
    """A predicate of a user, in one of the forms that xskip takes."""

    def check(self, columns: Columns) -> None:
        """Raise an error if the predicate names a column that the dataset does not have."""

    def skipped(self, selection: StandaloneSelection) -> Pruned:
        """Return the indexed files without a matching row, and the parts of the predicate that were not used."""

    def is_exact(self, selection: StandaloneSelection) -> bool:
        """Return whether Spark skips the same files, if all parts of the predicate are used [STA-SK-3]."""


@dataclass(frozen=True, slots=True)
class SqlPredicate:
    """A predicate in SQL."""

    text: str
    node: Node

    @staticmethod
    def of(text: str) -> SqlPredicate:
        """Return a predicate with its parts."""
        return SqlPredicate(text, parse(text))

    def check(self, columns: Columns) -> None:
        """Raise an error if the predicate names a column that the dataset does not have."""
        columns.check_sql(self.text, self.node)

    def skipped(self, selection: StandaloneSelection) -> Pruned:
        """Return the indexed files without a matching row, and the parts of the predicate that were not used."""
        return selection.skipped(self.node, lambda: selection.columns.unchecked)

    def is_exact(self, selection: StandaloneSelection) -> bool:
        """Return whether all columns have types whose comparisons are the same in all engines."""
        catalog = selection.catalog
        found = (recorded_column(catalog, mention.path) for mention in mentions_in(self.node))
        return all(column is not None and column.type.partition("(")[0] in _EXACT for column in found)


def recorded_column(catalog: IndexCatalog, path: tuple[str, ...]) -> Column | None:
    """Return a column with its recorded type, or None if the index has no statistics of the column."""
    name = catalog.name(path)
    for partition, kind in catalog.partitions.items():
        if catalog.name((partition,)) == name:
            return Column(path, kind)
    for definition, _ in catalog.on_column(name):
        if definition.types:
            return Column(path, definition.types[definition.columns.index(name)])
    return None
