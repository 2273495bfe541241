"""The complement of a predicate is TRUE wherever the predicate is not; files that match wholly have no other row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pruning.cases import Case, cases, translated, trees
from tests.reference import POOLS, truth
from xskip.expressions.condition_reasons import OtherReason
from xskip.expressions.operands import Column, Computed, Elements, Monotonicity
from xskip.expressions.predicate import (
    And,
    ColumnComparison,
    Comparison,
    Constant,
    Equivalent,
    In,
    IsNotNull,
    IsNull,
    NotIn,
    Op,
    Or,
    Predicate,
    Unknown,
)
from xskip.indexes import MinMax, NullCount
from xskip.metadata.data_files import DataFiles
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.table import IndexColumn, IndexDefinition, IndexKey, MetadataTable
from xskip.pruning.clause_translation import IndexCatalog
from xskip.pruning.complement import complement, matching_wholly
from xskip.types.datatypes import arrow_type

A, B = Column(("a",), "int"), Column(("b",), "int")


def without_unknown(predicate: Predicate) -> Predicate:
    """Return a predicate with FALSE in place of what is unknown."""
    match predicate:
        case Unknown():
            return Constant(False)
        case And(children) | Or(children):
            return type(predicate)(tuple(map(without_unknown, children)))
        case _:
            return predicate


@st.composite
def rows_and_predicates(draw: st.DrawFn) -> tuple[Predicate, dict[str, Any]]:
    kinds = [draw(st.sampled_from(list(POOLS))) for _ in "ab"]
    row = {
        name: draw(st.one_of(st.none(), st.sampled_from(POOLS[kind]))) for name, kind in zip("ab", kinds, strict=True)
    }
    return draw(trees(*kinds)), row


def test_the_complement_is_true_where_the_predicate_is_not() -> None:
    """[PRU-CO-1] [PRU-CO-2] Without unknown parts it is TRUE for no other row."""
    seen = {True: 0, False: 0}

    @settings(max_examples=600)
    @given(rows_and_predicates())
    def check(case: tuple[Predicate, dict[str, Any]]) -> None:
        predicate, row = case
        certain = without_unknown(predicate)
        opposite = truth(complement(predicate), row) is True
        if truth(certain, row) is not True:
            assert opposite
        if certain == predicate:
            assert opposite is not (truth(predicate, row) is True)
        seen[opposite] += 1

    check()
    assert min(seen.values()) > 60, seen


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (ColumnComparison(Op.LT, A, B), Or((ColumnComparison(Op.GE, A, B), IsNull(A), IsNull(B)))),
        (In(A, (1, 2), has_null=True), Or((NotIn(A, (1, 2)), IsNull(A)))),
        (In(A, (), has_null=True), Constant(True)),
        (NotIn(A, (1,), has_null=True), Constant(True)),
        (NotIn(A, (1,)), Or((In(A, (1,)), IsNull(A)))),
        (IsNull(A), IsNotNull(A)),
        (IsNotNull(A), IsNull(A)),
        (Constant(None), Constant(True)),
        (Unknown(OtherReason("why")), Unknown(OtherReason("why"))),
        (Equivalent((IsNull(A), IsNull(B))), Equivalent((IsNotNull(A), IsNotNull(B)))),
    ],
)
def test_complements(predicate: Predicate, expected: Predicate) -> None:
    """[PRU-CO-2]"""
    assert complement(predicate) == expected


@pytest.mark.parametrize("is_total", [False, True])
def test_the_complement_of_a_condition_on_a_function(*, is_total: bool) -> None:
    """[PRU-CO-2] Only a function that is NULL for no value is NULL where its column is."""
    function = Computed(A, "int", "f", 0, Monotonicity(), cast(Any, None), is_total=is_total)
    expected = Or((Comparison(Op.GE, function, 1), IsNull(A if is_total else function)))
    assert complement(Comparison(Op.LT, function, 1)) == expected


@pytest.mark.parametrize("is_one", [False, True])
def test_the_complement_of_a_condition_on_elements_is_unknown(is_one: bool) -> None:
    """[PRU-CO-2]"""
    elements = Elements(Column(("l",), "array<int>"), "int", is_one=is_one)
    assert isinstance(complement(Comparison(Op.EQ, elements, 1)), Unknown)


def null_counts(case: Case) -> dict[IndexKey, IndexColumn]:
    """Return the counts of NULL of both columns; no file lacks them."""
    counts = {}
    for name, kind in case.kinds.items():
        definition = IndexDefinition("nullcount", (name,), types=(kind,))
        storage = NullCount(name).storage([kind])
        values = [{"nulls": sum(row[name] is None for row in rows), "rows": len(rows)} for rows in case.data]
        counts[definition.key] = IndexColumn(definition, storage, pa.array(values, arrow_type(storage)))
    return counts


def test_files_that_match_wholly_have_no_other_row() -> None:
    """[PRU-CO-3] Random indexes and predicates agree with brute force over random rows."""
    seen = {"wholly": 0, "all rows match": 0, "files": 0}

    @settings(max_examples=400)
    @given(cases())
    def check(case: Case) -> None:
        _, table = translated(case)
        table = replace(table, indexes={**table.indexes, **null_counts(case)})
        catalog = IndexCatalog(tuple((c.definition, c.storage) for c in table.indexes.values()))
        certain = without_unknown(case.predicate)
        for wholly, rows in zip(matching_wholly(case.predicate, catalog, table), case.data, strict=True):
            every = all(truth(certain, row) is True for row in rows)
            assert every or not wholly
            seen["files"] += 1
            seen["wholly"] += bool(wholly and rows)
            seen["all rows match"] += bool(every and rows)

    check()
    assert seen["wholly"] > seen["all rows match"] / 4, seen
    assert seen["wholly"] > seen["files"] / 50, seen


def counted(rows: int | None, nulls: int | None, name: str = "a") -> MetadataTable:
    """Return a table with one file, and with its counts."""
    files = DataFiles(pa.array(["/f"]), pa.array([1]), pa.array([1]))
    counts = FileCounts(pa.array([rows], pa.int64()), {name: pa.array([nulls], pa.int64())})
    return MetadataTable(files, counts=counts)


@pytest.mark.parametrize(
    ("nulls", "column", "differing", "is_whole"),
    [
        (0, A, {}, True),
        (1, A, {}, False),
        (None, A, {}, False),
        (0, Column(("a",), "bigint"), {}, False),
        (0, Column(("b",), "int"), {}, False),
        (0, A, {("a",): "why"}, False),
    ],
)
def test_recorded_nulls(
    nulls: int | None, column: Column, differing: dict[tuple[str, ...], str], *, is_whole: bool
) -> None:
    """[PRU-CO-4]"""
    definition = IndexDefinition("minmax", ("a",), types=("int",))
    catalog = IndexCatalog(((definition, MinMax("a").storage(["int"])),), differing=differing)
    table = counted(3, nulls)
    assert matching_wholly(IsNotNull(column), catalog, table).tolist() == [is_whole]
    partitioned = replace(catalog, partitions={"a": "int"})
    assert matching_wholly(IsNotNull(column), partitioned, table).tolist() == [False]
