"""Strategies for random files with two columns, the metadata of some of their indexes, and predicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.filters import made
from tests.reference import CASTS, POOLS, order, to_arrow
from xskip.clauses.clause import Clause
from xskip.expressions.condition_reasons import OtherReason
from xskip.expressions.operands import Cast, Column
from xskip.expressions.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    Unknown,
    negate,
)
from xskip.indexes import BloomFilter, MinMax, ValueList
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.table import IndexColumn, IndexDefinition, IndexKey, MetadataTable
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.types.datatypes import Storage, arrow_type

KINDS = {"minmax": MinMax, "valuelist": ValueList, "bloomfilter": BloomFilter}


def defined(index: str, column: str, kind: str) -> tuple[IndexDefinition, Storage]:
    return IndexDefinition(index, (column,), types=(kind,)), KINDS[index](column).storage([kind])


def distinct(rows: list[Any]) -> list[Any]:
    return list({order(v): v for v in rows if v is not None}.values())


def collected(index: str, column: str, kind: str, data: Sequence[list[Any] | None]) -> dict[IndexKey, IndexColumn]:
    """Return the metadata of files with these rows, built from plain values; None gives unknown metadata."""
    definition, storage = defined(index, column, kind)
    if index == "bloomfilter":
        values = pa.array([None if rows is None else made(distinct(rows)) for rows in data], pa.binary())
    elif index == "minmax":
        ordered = [sorted(distinct(rows or []), key=order) for rows in data]
        low, high = (to_arrow([o[i] if o else None for o in ordered], arrow_type(kind)) for i in (0, -1))
        unknown = pa.array([rows is None for rows in data], pa.bool_())
        values = pa.StructArray.from_arrays([low, high], fields=list(arrow_type(storage)), mask=unknown)
    else:
        lists = [None if rows is None else distinct(rows) for rows in data]
        flat = to_arrow([v for values in lists for v in values or ()], arrow_type(kind))
        ends = np.cumsum([0, *(len(values or ()) for values in lists)]).astype(np.int32)
        unknown = pa.array([values is None for values in lists], pa.bool_())
        values = pa.ListArray.from_arrays(pa.array(ends), flat, mask=unknown).cast(arrow_type(storage))
    return {definition.key: IndexColumn(definition, storage, values)}


def files(count: int) -> DataFiles:
    return DataFiles.of([FileStatus(f"/{i}", 1, 1) for i in range(count)])


BLOOMED = ("string", "binary", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz")


PREFIXES = (b"", b"a", b"ab", b"b", b"\xc3", "\ufffd".encode(), "\U0001f600".encode(), b"\xf4\x8f", b"\xff")


@cache
def leaves(name: str, kind: str) -> st.SearchStrategy:
    """Return a strategy for leaves about a column, with literals that are often in the data."""
    column = Column((name,), kind)
    literal = st.sampled_from(POOLS[kind])
    operand = st.sampled_from([column, column, column, *(Cast(column, target) for target in CASTS.get(kind, ()))])
    several = st.lists(literal, min_size=1, max_size=4).map(tuple)
    found = [
        st.builds(Comparison, st.sampled_from(Op), operand, literal),
        st.builds(In, operand, st.one_of(st.just(()), several), st.booleans()),
        st.builds(NotIn, operand, several, st.sampled_from([False, False, True])),
        st.sampled_from([IsNull(column), IsNotNull(column)]),
    ]
    if kind == "string":
        found += [st.builds(k, st.just(column), st.sampled_from(PREFIXES)) for k in (StartsWith, NotStartsWith)]
    return st.one_of(found)


@cache
def rows_of(kind: str) -> st.SearchStrategy:
    """Return a strategy for the rows of a file: often few values and narrow bounds, at times only NULL or no rows."""
    value = st.sampled_from(POOLS[kind])
    narrow = st.tuples(value, value).map(lambda few: [few[0], None, few[1], few[0]])
    return st.one_of(narrow, st.lists(st.one_of(value, st.none()), max_size=5), st.just([None, None]))


@dataclass(frozen=True)
class Case:
    """Files with two columns, the indexes of each file, and a predicate."""

    kinds: dict[str, str]
    data: list[list[dict[str, Any]]]
    indexed: list[tuple[str, str]]
    missing: frozenset[tuple[str, str, int]]
    predicate: Predicate


def translated(case: Case) -> tuple[Clause, MetadataTable]:
    """Return the clause of the predicate over the indexes, and their metadata."""
    indexes: dict[IndexKey, IndexColumn] = {}
    for index, name in case.indexed:
        rows = [
            None if (index, name, i) in case.missing else [row[name] for row in data]
            for i, data in enumerate(case.data)
        ]
        indexes |= collected(index, name, case.kinds[name], rows)
    catalog = IndexCatalog(tuple((c.definition, c.storage) for c in indexes.values()))
    return translate(case.predicate, catalog), MetadataTable(files(len(case.data)), {}, indexes)


@cache
def trees(a: str, b: str) -> st.SearchStrategy:
    """Return a strategy for predicates over two columns of these types."""
    constants = st.sampled_from([Constant(True), Constant(False), Constant(None), Unknown(OtherReason("why"))])
    about = [leaves("a", a), leaves("b", b)]
    return st.recursive(
        st.one_of(*about, *about, constants),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda children: And(tuple(children))),
            st.lists(inner, min_size=1, max_size=3).map(lambda children: Or(tuple(children))),
            inner.map(negate),
        ),
        max_leaves=5,
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    kinds = {name: draw(st.sampled_from(list(POOLS))) for name in ("a", "b")}
    data = []
    for _ in range(draw(st.integers(1, 5))):
        columns = {name: draw(rows_of(kind)) for name, kind in kinds.items()}
        count = min(len(rows) for rows in columns.values())
        data.append([{name: columns[name][i] for name in kinds} for i in range(count)])
    possible = [(i, n) for n, k in kinds.items() for i in KINDS if i != "bloomfilter" or k in BLOOMED]
    indexed = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=4, unique=True))
    holes = st.tuples(st.sampled_from(indexed), st.integers(0, 4)).map(lambda hole: (*hole[0], hole[1]))
    missing = draw(st.one_of(st.just([]), st.lists(holes, max_size=3)))
    tree = trees(kinds["a"], kinds["b"])
    return Case(kinds, data, indexed, frozenset(missing), draw(tree))
