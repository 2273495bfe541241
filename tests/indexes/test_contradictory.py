"""Metadata that contradicts itself skips no file, but other metadata beside it does. Rule: [PRU-V-10]."""

from __future__ import annotations

from decimal import Decimal
from math import inf, nan
from typing import Any

import pyarrow as pa
import pytest

from tests.metadatastore.samples import array_of, files_of, filter_of, minmax, table_of
from xskip.expressions.operands import Column
from xskip.expressions.predicate import (
    And,
    ColumnComparison,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    NotIn,
    Op,
    Predicate,
    StartsWith,
)
from xskip.metadata.table import IndexColumn, IndexDefinition, PartitionColumn
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import prune
from xskip.types.datatypes import Array, Storage, Struct, arrow_type


def kept(predicate: Predicate, *columns: IndexColumn, partitions: tuple[PartitionColumn, ...] = ()) -> list[int]:
    """Return the rows of the table that are not skipped."""
    table = table_of(files_of(f"/t/{i}" for i in range(len(columns[0].values))), columns, partitions)
    indexes = tuple((column.definition, column.storage) for column in columns)
    clause = translate(predicate, IndexCatalog(indexes, {p.name: p.type for p in partitions}))
    return [i for i, skipped in enumerate(prune(clause, table).skip) if not skipped]


def typed(column: IndexColumn, kind: str) -> IndexColumn:
    """Return the index column with recorded types."""
    definition = column.definition
    types = (kind,) * len(definition.columns)
    return IndexColumn(
        IndexDefinition(definition.name, definition.columns, definition.params, None, types),
        column.storage,
        column.values,
    )


def index(name: str, kind: str, storage: Storage, values: list[Any], **params: str) -> IndexColumn:
    """Return an index on the column k."""
    named = tuple((f"io.xskip.index.{name}.{key}", value) for key, value in params.items())
    column = IndexColumn(IndexDefinition(name, ("k",), named), storage, pa.array(values, arrow_type(storage)))
    return typed(column, kind)


@pytest.mark.parametrize(
    ("kind", "low", "high", "below", "above"),
    [
        ("int", 3, 1, 0, 9),
        ("double", inf, -inf, -1.0, 1.0),
        ("double", nan, 5.0, -1.0, 7.0),
        ("double", nan, inf, -1.0, nan),
        ("string", "\ue000", "b", b"a", "\U0001f600".encode()),
        ("boolean", True, False, False, True),
        ("decimal(9,2)", Decimal("0.01"), Decimal("-0.01"), Decimal("-1.00"), Decimal("1.00")),
        ("decimal(38,10)", Decimal("1E-10"), Decimal(0), Decimal(-1), Decimal(1)),
        ("date", 1, 0, -1, 2),
        ("timestamp", 1, 0, -1, 2),
    ],
)
def test_bounds(kind: str, low: Any, high: Any, below: Any, above: Any) -> None:
    """[PRU-V-10] A lower bound above the upper bound in Spark's order proves nothing."""
    k = Column(("k",), kind)
    bounds = minmax("k", kind, [low, high], [high, high])
    outside = (
        Comparison(Op.LT, k, below),
        Comparison(Op.EQ, k, below),
        Comparison(Op.GT, k, above),
        In(k, (below, above)),
        In(k, tuple([below, above] * 15)),
    )
    for predicate in outside:
        assert kept(predicate, bounds)[:1] == [0]
    assert kept(IsNotNull(k), bounds) == [0, 1]


def test_what_lies_beside_contradictory_bounds_is_skipped() -> None:
    """[PRU-V-10] Only the file whose bounds contradict each other stays."""
    k = Column(("k",), "int")
    bounds = minmax("k", "int", [3, 1, None, 3], [1, 3, None, 3])
    assert kept(Comparison(Op.EQ, k, 7), bounds) == [0]
    assert kept(Comparison(Op.NE, k, 3), bounds) == [0, 1]
    assert kept(NotIn(k, (3, 4)), bounds) == [0, 1]
    s = Column(("k",), "string")
    assert kept(StartsWith(s, b"x"), minmax("k", "string", ["b", "a"], ["a", "b"])) == [0]


def test_bounds_of_two_columns() -> None:
    """[PRU-V-10] A comparison of two columns proves nothing if the bounds of one of them contradict each other."""
    j, k = Column(("j",), "int"), Column(("k",), "int")
    left, right = minmax("j", "int", [5, 9, 5], [6, 5, 6]), minmax("k", "int", [1, 1, 3], [2, 2, 2])
    assert kept(ColumnComparison(Op.LT, j, k), left, right) == [1, 2]
    days = PartitionColumn("j", "int", array_of("int", [9, 9, 9]))
    assert kept(ColumnComparison(Op.LT, j, k), right, partitions=(days,)) == [2]


def test_ranges_and_boxes() -> None:
    """[PRU-V-10] A range, or a side of a box, with ends in the wrong order proves nothing."""
    k, y = Column(("k",), "int"), Column(("y",), "double")
    ranges = index("gaplist", "int", Array("int"), [[1, 2, 9, 8], [1, 2, 8, 9], [1, None]])
    assert kept(Comparison(Op.EQ, k, 5), ranges) == [0, 2]
    odd = index("gaplist", "int", Array("int"), [[1, 2, 8, 9], [1, 2, 3]])
    assert kept(Comparison(Op.EQ, k, 5), odd) == [0, 1]
    definition = IndexDefinition("geobox", ("x", "y"), types=("double", "double"))
    lists = [[0.0, 1.0, 9.0, 8.0], [0.0, 1.0, 8.0, 9.0], [0.0, 1.0, nan, inf], [1.0, -inf, 8.0, 9.0]]
    boxes = IndexColumn(definition, Array("double"), pa.array(lists))
    assert kept(Comparison(Op.EQ, y, 5.0), boxes) == [0, 2]
    x = Column(("x",), "double")
    assert kept(And((Comparison(Op.EQ, y, 8.5), Comparison(Op.EQ, x, 7.0))), boxes) == [3]


def test_lists_that_hold_null() -> None:
    """[PRU-V-10] A list that contains NULL proves nothing."""
    k = Column(("k",), "string")
    lists = index("valuelist", "string", Array("string"), [["a", None], ["a"], [], None, ["b"]])
    assert kept(Comparison(Op.EQ, k, b"b"), lists) == [0, 3, 4]


def test_beginnings_that_are_too_long() -> None:
    """[PRU-V-10] A prefix that is longer than the index's length proves nothing."""
    k = Column(("k",), "string")
    lists = index("prefix", "string", Array("binary"), [[b"abcd"], [b"abc"], [b"zzz"]], length="3")
    assert kept(Comparison(Op.EQ, k, b"zzzzz"), lists) == [0, 2]


def test_a_list_beside_a_filter() -> None:
    """[PRU-V-10] A Hybrid with both a list and a filter proves nothing."""
    k = Column(("k",), "string")
    storage = Struct((("values", "array<string>"), ("filter", "binary")))
    filters = [filter_of([b"a"])] * 2
    rows = [
        {"values": ["a"], "filter": filters[0]},
        {"values": ["a"], "filter": None},
        {"values": None, "filter": None},
    ]
    both = index("hybrid", "string", storage, rows, maxvalues="5", fpp="0.01")
    assert kept(Comparison(Op.EQ, k, b"b"), both) == [0, 2]


def test_counts() -> None:
    """[PRU-V-10] Counts with more NULL rows than rows, or with negative numbers, prove nothing."""
    k = Column(("k",), "int")
    storage = Struct((("nulls", "bigint"), ("rows", "bigint")))
    rows = [(3, 2), (-1, 2), (0, -1), (2, 2), (0, 2)]
    counts = index("nullcount", "int", storage, [{"nulls": n, "rows": r} for n, r in rows])
    assert kept(IsNotNull(k), counts) == [0, 1, 2, 4]
    assert kept(IsNull(k), counts) == [0, 1, 2, 3]
