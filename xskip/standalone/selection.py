"""The files that a predicate rules out, in SQL or as an expression of pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from xskip.clauses.clause import Mask
from xskip.engine.selection import Selection, index_catalog, select
from xskip.expressions.condition_reasons import Cause, OtherReason, Reason
from xskip.expressions.operands import Column
from xskip.expressions.predicate import Unknown
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import Requirement
from xskip.pruning.translate import IndexCatalog
from xskip.standalone.arrow_filter import skipped_by_expression
from xskip.standalone.arrow_nodes import NodeMaker, fields_of, has_nan, text_of
from xskip.standalone.arrow_tree import FormError, Tree, tree_of
from xskip.standalone.columns import Columns, mentions_in
from xskip.standalone.resolve import Resolver
from xskip.standalone.sql import Node, parse

__all__ = ["Predicate", "StandaloneSelection", "Unused"]

#: The types whose comparisons with literals are the same in all engines.
_EXACT = frozenset(["boolean", "tinyint", "smallint", "int", "bigint", "decimal", "string", "date"])
#: The parts of a predicate that were not used, each with the reason.
Unused = tuple[tuple[str, Reason], ...]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate of a user, and its parts."""

    #: A text in SQL, or an expression of pyarrow.
    given: Any
    node: Node | None = None
    #: The parts of an expression; None if they are not known, for the reason in problem.
    tree: Tree | None = None
    problem: str = ""

    @staticmethod
    def of(given: Any) -> Predicate:
        """Return a predicate with its parts."""
        if isinstance(given, str):
            return Predicate(given, parse(given))
        try:
            return Predicate(given, tree=tree_of(given))
        except FormError as error:
            return Predicate(given, problem=str(error))

    @property
    def may_have_nan(self) -> bool:
        """Return whether an expression may have the literal NaN."""
        return "nan" in str(self.given).lower() if self.tree is None else has_nan(self.tree)

    def check(self, columns: Columns) -> None:
        """Raise an error if the predicate names a column that the dataset does not have."""
        if self.node is not None:
            columns.check_sql(self.given, self.node)
        if self.tree is not None:
            columns.check_fields(text_of(self.tree), fields_of(self.tree))


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

    def skipped(self, predicate: Predicate) -> tuple[Mask, Unused]:
        """Return the indexed files without a matching row, and the parts of the predicate that were not used."""
        if predicate.node is not None:
            return self._by_indexes(predicate.node, lambda: self.columns.unchecked)
        schema = self.columns.schema
        if schema is None:
            reason = f"the schema of the dataset is not known: {self.columns.problem}"
            return np.zeros(self.columns.snapshot.rows, np.bool_), ((str(predicate.given), OtherReason(reason)),)
        skip: Mask = np.zeros(self.columns.snapshot.rows, np.bool_)
        unused: Unused = ((str(predicate.given), OtherReason(predicate.problem)),)
        if predicate.tree is not None:
            recorded = partial(_recorded, self.catalog, self.columns.doubted)
            partitions = frozenset(self.columns.snapshot.partitions)
            maker = NodeMaker(schema, recorded, partitions, case_sensitive=self.columns.case_sensitive)
            skip, unused = self._by_indexes(maker.node(predicate.tree), tuple)
        # pyarrow takes x < NaN for TRUE of a file whose bounds it knows, and FALSE of each row, so that it rules out
        # files with rows for which ~(x < NaN) is TRUE.
        if unused and not predicate.may_have_nan:
            skip = skip | self._by_pyarrow(predicate.given)
        return skip, tuple(pair for pair in unused if pair[1] is not Cause.IN_PARTITIONS)

    def is_exact(self, predicate: Predicate) -> bool:
        """Return whether Spark skips the same files, if all parts of a predicate in SQL are used [STA-SK-3]."""
        if predicate.node is None:
            return False
        catalog = self.catalog
        found = (_column(catalog, mention.path) for mention in mentions_in(predicate.node))
        return all(column is not None and column.type.partition("(")[0] in _EXACT for column in found)

    def _by_indexes(self, node: Node, names: Callable[[], tuple[str, ...]]) -> tuple[Mask, Unused]:
        catalog = self.catalog
        resolver = Resolver(partial(_column, catalog), self.time_zone, names)
        result = select(Selection.of(resolver.resolve(node), catalog), self.columns.snapshot, self.profile)
        # the resolver has reported the unknown parts by the words of the user
        left = (part for part in result.unused if not any(isinstance(each, Unknown) for each in part.subjects))
        return result.skip, (*resolver.unused, *dict.fromkeys((part.text(), part.reason) for part in left))

    def _by_pyarrow(self, expression: Any) -> Mask:
        """Return the files that pyarrow itself rules out by bounds and partition values."""
        snapshot = self.columns.snapshot
        keys: list[Requirement] = [d.key for d, _ in snapshot.indexes if d.name == "minmax" and d.expression is None]
        table = snapshot.load_proven([*keys, *snapshot.partition_keys], self.profile)
        schema = self.columns.schema
        assert schema is not None
        return skipped_by_expression(expression, table, schema, self.catalog, self.columns.doubted)


def _column(catalog: IndexCatalog, path: tuple[str, ...]) -> Column | None:
    """Return a column with its recorded type, or None if the index has no statistics of the column."""
    name = catalog.name(path)
    for partition, kind in catalog.partitions.items():
        if catalog.name((partition,)) == name:
            return Column(path, kind)
    for definition, _ in catalog.on_column(name):
        if definition.types:
            return Column(path, definition.types[definition.columns.index(name)])
    return None


def _recorded(catalog: IndexCatalog, doubted: frozenset[str], path: tuple[str, ...]) -> str | None:
    """Return the recorded type of a column; empty if the files differ in the column's type."""
    column = _column(catalog, path)
    return None if column is None else "" if path[0] in doubted else column.type
