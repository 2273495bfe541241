"""Collect for advice the columns of which rewrites of plans lack metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Mask
from xskip.engine.decision import Evidence
from xskip.engine.file_facts import FileFacts
from xskip.expressions.operands import Column
from xskip.expressions.predicate import Comparison, In, Predicate
from xskip.indexes.file_bounds import bounds_of_files
from xskip.metadatastore.snapshot import Snapshot
from xskip.protocol.request import FactsRequest
from xskip.pruning.clause_translation import IndexCatalog
from xskip.pruning.prune import index_name
from xskip.results.index_usage import ORDERS, Condition, ConditionKind, kind_of_keys
from xskip.types.masks import to_mask

__all__ = ["RewriteNeeds", "by_keys", "needs_of"]

#: The kinds of needs for which a column alone does not tell what an index would save.
_OF_SEVERAL = frozenset(("rows", "partner"))
_KINDS = frozenset(get_args(ConditionKind))
#: The most columns of which a request tells something.
_MAX_COLUMNS = 8
_SOME_KEYS = 1000


@dataclass(frozen=True, slots=True)
class RewriteNeeds:
    """The columns of which a rewrite needs metadata, as conditions of a scan."""

    conditions: tuple[Condition, ...] = ()
    #: The bytes of the files that the missing metadata would answer, at most.
    whole_bytes: int = 0
    #: The texts of the indexes that have statistics of the columns.
    indexes: tuple[str, ...] = ()


_NOTHING = RewriteNeeds()


def needs_of(request: FactsRequest, evidence: Evidence, facts: FileFacts) -> RewriteNeeds:
    """Return what the rewrite that has sent a request needs of the columns; an empty result if no index would help."""
    if not request.needs or len(request.needs) != len(request.columns) or len(request.columns) > _MAX_COLUMNS:
        return _NOTHING
    columns = [
        _NeededColumn(column, frozenset(needs), evidence.selection.catalog, facts.units.snapshot)
        for column, needs in zip(request.columns, request.needs, strict=True)
    ]
    indexes = tuple(dict.fromkeys(name for each in columns for name in each.indexes()))
    found = RewriteNeeds(indexes=indexes)
    if request.predicates or any(each.needs & _OF_SEVERAL for each in columns):
        return found  # the answer depends on more than the columns
    whole = facts.whole
    if any(each.needs & ORDERS for each in columns):
        lacking = columns if _is_single_order(columns) and _has_rows(request.rows, facts) else ()
    else:
        keys = [each for each in columns if "group" in each.needs]
        lacking = [each for each in keys if not each.has_bounds] or [each for each in columns if each not in keys]
        for key in keys if all(each.has_bounds for each in keys) else ():
            whole = whole & _has_one_value(key.column, evidence, facts)
        if keys and 2 * whole.sum() < len(whole):
            return found
    conditions = tuple(each.condition() for each in lacking if each.lacks() or each.needs & ORDERS)
    lacks = any(not each.is_answered for each in conditions)
    size = int(pc.sum(facts.units.sizes().filter(pa.array(whole))).as_py() or 0) if lacks else 0
    return replace(found, conditions=conditions if size or not lacks else (), whole_bytes=size)


@dataclass(frozen=True, slots=True)
class _NeededColumn:
    """A column with the needs that a rewrite has of it."""

    column: Column
    needs: frozenset[str]
    catalog: IndexCatalog
    snapshot: Snapshot

    @property
    def has_bounds(self) -> bool:
        return self.catalog.bounds_of(self.column) is not None

    def lacks(self) -> frozenset[str]:
        """Return the needs for which there is no index."""
        counted = self.catalog.counted_column(self.column)
        has_counts = counted is not None and counted in self.snapshot.counts().nulls
        return frozenset(need for need in self.needs if not (has_counts if need == "count" else self.has_bounds))

    def condition(self) -> Condition:
        """Return the condition with the needs that no index answers, or with all of an order that one answers."""
        lacks = self.lacks()
        kinds = tuple(cast(ConditionKind, need) for need in sorted(lacks or self.needs) if need in _KINDS)
        return Condition(self.catalog.name(self.column.path), kinds, is_answered=not lacks)

    def indexes(self) -> Iterator[str]:
        """Yield the text of the index whose bounds or counts the rewrite gets."""
        key = self.catalog.bounds_of(self.column)
        if key is not None:
            yield index_name((key,))
        elif self.catalog.counted_column(self.column) is not None:
            name = self.catalog.name(self.column.path)
            yield from (str(definition) for definition, _ in self.catalog.on_column(name)[:1])


def _is_single_order(columns: list[_NeededColumn]) -> bool:
    """Return whether all first rows are those in one order, and not those of groups."""
    return len(columns) == 1 and len(columns[0].needs) == 1


def _has_rows(rows: int, facts: FileFacts) -> bool:
    """Return whether all rows of the units match, and each unit has the number of rows."""
    return bool(len(facts.rows) and facts.whole.all() and pc.min(facts.rows).as_py() >= rows)


def _has_one_value(column: Column, evidence: Evidence, facts: FileFacts) -> Mask:
    """Return which units certainly have one value or NULL in all rows of a column."""
    catalog = evidence.selection.catalog
    key, counted = catalog.bounds_of(column), catalog.counted_column(column)
    table = facts.units.load(() if key is None else (key,))
    values = next((index.values for index in table.indexes.values()), None)
    nulls = facts.units.counts().nulls.get(counted or "")
    if values is None or nulls is None:
        return np.zeros(len(facts.whole), bool)
    low, high = bounds_of_files(values)
    is_empty = pc.and_(values.is_valid(), pc.and_(low.is_null(), high.is_null()))
    is_one = pc.or_(pc.and_(pc.equal(low, high), pc.equal(nulls, 0)).fill_null(False), is_empty)
    return to_mask(is_one)


def by_keys(conditions: tuple[Condition, ...], predicate: Predicate) -> tuple[Condition, ...]:
    """Return the conditions of a request by the keys of a join, which are in its predicate."""
    count = len(predicate.values) if isinstance(predicate, In) else 1 if isinstance(predicate, Comparison) else None
    kind = kind_of_keys(_SOME_KEYS if count is None else count)
    return tuple(replace(each, kinds=(kind,)) for each in conditions)
