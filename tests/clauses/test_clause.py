"""Clauses combine verdicts in Kleene's logic, and expensive clauses see only the files in question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.reference import all_true
from xskip.clauses.clause import (
    AllOf,
    Always,
    AnyOf,
    Clause,
    Mask,
    Trace,
    Undetermined,
    Verdicts,
    evaluate,
    is_false,
    leaves,
)
from xskip.expressions.condition_reasons import OtherReason
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.table import MetadataTable, Requirement

THREE = (True, False, None)


@dataclass(frozen=True)
class Fake:
    """A clause with given verdicts that records the masks with which it is evaluated.

    An expensive fake returns null for the files outside of the mask.
    """

    verdicts: tuple[bool | None, ...]
    expensive: bool = False
    predicate: str = "c IS NOT NULL"
    needs: tuple[Requirement, ...] = (("fake", ("c",)),)
    asks_spark: bool = False
    asked: list[list[bool]] = field(default_factory=list, compare=False)

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        self.asked.append(among.tolist())
        return pa.array([v if a or not self.expensive else None for v, a in zip(self.verdicts, among, strict=True)])


def table(rows: int) -> MetadataTable:
    return MetadataTable(DataFiles.of([FileStatus(f"/{i}", 1, 1) for i in range(rows)]))


def run(clause: Clause, rows: int) -> list[bool | None]:
    found: list[bool | None] = evaluate(clause, table(rows), all_true(rows), Trace()).to_pylist()
    return found


def all_of(*values: bool | None) -> bool | None:
    return False if False in values else None if None in values else True


def any_of(*values: bool | None) -> bool | None:
    return True if True in values else None if None in values else False


def columns_of(size: int) -> tuple[list[tuple[bool | None, ...]], list[Fake]]:
    """Return all combinations of verdicts as rows, and one fake clause for each column."""
    rows = list(product(THREE, repeat=size))
    return rows, [Fake(tuple(row[i] for row in rows)) for i in range(size)]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_truth_table_of_all_of(size: int) -> None:
    """[PRU-V-1] ``AllOf`` follows Kleene's conjunction for up to three children."""
    rows, children = columns_of(size)
    assert run(AllOf(tuple(children)), len(rows)) == [all_of(*row) for row in rows]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_truth_table_of_any_of(size: int) -> None:
    """[PRU-V-1] ``AnyOf`` follows Kleene's disjunction for up to three children."""
    rows, children = columns_of(size)
    assert run(AnyOf(tuple(children)), len(rows)) == [any_of(*row) for row in rows]


def test_truth_table_of_two_written_out() -> None:
    """[PRU-V-1] The truth tables of two children are those of the specification."""
    p = Fake((True, True, True, False, False, False, None, None, None))
    q = Fake((True, False, None, True, False, None, True, False, None))
    assert run(AllOf((p, q)), 9) == [True, False, None, False, False, False, None, False, None]
    assert run(AnyOf((p, q)), 9) == [True, True, True, True, False, None, True, None, None]


@pytest.mark.parametrize(("outer", "inner"), [(AllOf, AnyOf), (AnyOf, AllOf), (AllOf, AllOf), (AnyOf, AnyOf)])
def test_nested_clauses(outer: Any, inner: Any) -> None:
    """[PRU-V-1] Nested clauses combine verdicts in Kleene's logic at each level."""
    kleene: dict[Any, Callable[..., bool | None]] = {AllOf: all_of, AnyOf: any_of}
    rows, (a, b, c, d) = columns_of(4)
    expected = [kleene[outer](w, kleene[inner](x, y), z) for w, x, y, z in rows]
    assert run(outer((a, inner((b, c)), d)), len(rows)) == expected


def test_a_leg_without_an_index() -> None:
    """[SND-7] [PRU-V-1] An undetermined child turns false into null under OR, and true into null under AND."""
    known = Fake((True, False, None))
    open_leg = Undetermined(("f(x)",), OtherReason("why"))
    assert run(AnyOf((known, open_leg)), 3) == [True, None, None]
    assert run(AllOf((known, open_leg)), 3) == [None, False, None]


def test_nothing_to_combine() -> None:
    """[PRU-V-1] ``AllOf`` without children is true, ``AnyOf`` without children is false."""
    assert run(AllOf(()), 2) == [True, True]
    assert run(AnyOf(()), 2) == [False, False]


def test_the_same_verdict_for_every_file() -> None:
    assert run(Always(True), 2) == [True, True]
    assert run(Always(False), 2) == [False, False]
    assert run(Undetermined(("?",), OtherReason("why")), 2) == [None, None]


def test_only_false_skips() -> None:
    """[PRU-V-2]"""
    assert is_false(pa.array([True, False, None])).tolist() == [False, True, False]
    assert is_false(pa.array([None, None], pa.bool_())).tolist() == [False, False]
    assert is_false(pa.array([], pa.bool_())).tolist() == []
    assert is_false(pa.array([True, None, False, None, False, True])[2:5]).tolist() == [True, False, True]


@pytest.mark.parametrize("cheap_first", [True, False])
def test_an_expensive_clause_under_and_sees_what_is_not_yet_false(cheap_first: bool) -> None:
    """[PRU-V-4]"""
    cheap, expensive = Fake((True, False, None)), Fake((False, False, False), expensive=True)
    children = (cheap, expensive) if cheap_first else (expensive, cheap)
    assert run(AllOf(children), 3) == [False, False, False]
    assert cheap.asked == [[True, True, True]]
    assert expensive.asked == [[True, False, True]]


@pytest.mark.parametrize("cheap_first", [True, False])
def test_an_expensive_clause_under_or_sees_what_is_false_so_far(cheap_first: bool) -> None:
    """[PRU-V-4]"""
    cheap, expensive = Fake((True, False, None)), Fake((False, True, True), expensive=True)
    children = (cheap, expensive) if cheap_first else (expensive, cheap)
    assert run(AnyOf(children), 3) == [True, True, None]
    assert expensive.asked == [[False, True, False]]


def test_the_rows_in_question_narrow_through_nested_clauses() -> None:
    """[PRU-V-4]"""
    a, b = Fake((True, True, True, False)), Fake((True, False, False, False))
    expensive = Fake((False, False, True, False), expensive=True)
    assert run(AllOf((a, AnyOf((b, expensive)))), 4) == [True, False, True, False]
    assert expensive.asked == [[False, True, True, False]]


def test_two_expensive_clauses_narrow_each_other() -> None:
    """[PRU-V-4]"""
    first, second = Fake((True, False, None), expensive=True), Fake((True, True, False), expensive=True)
    assert run(AllOf((first, second)), 3) == [True, False, False]
    assert (first.asked, second.asked) == ([[True, True, True]], [[True, False, True]])


def test_narrowing_skips_no_file_that_a_full_look_keeps() -> None:
    """[PRU-V-4]"""
    rows, (a, b, c) = columns_of(3)
    costly = [Fake(x.verdicts, expensive=True) for x in (a, b, c)]
    shapes: list[Callable[[Clause, Clause, Clause], Clause]] = [
        lambda x, y, z: AllOf((x, AnyOf((y, z)))),
        lambda x, y, z: AnyOf((x, AllOf((y, z)))),
        lambda x, y, z: AnyOf((AllOf((x, y)), AllOf((x, z)))),
        lambda x, y, z: AllOf((AnyOf((x, y)), AnyOf((y, z)))),
    ]
    for shape in shapes:
        full = is_false(pa.array(run(shape(a, b, c), len(rows)), pa.bool_()))
        for children in ((a, b, costly[2]), (costly[0], b, c), (a, costly[1], costly[2]), tuple(costly)):
            narrowed = is_false(pa.array(run(shape(*children), len(rows)), pa.bool_()))
            assert narrowed.tolist() == full.tolist()


def test_the_trace_counts_what_each_clause_ruled_out_in_order_of_evaluation() -> None:
    cheap, expensive = Fake((True, False, None)), Fake((False, False, False), expensive=True)
    trace = Trace()
    evaluate(AllOf((expensive, cheap)), table(3), all_true(3), trace)
    assert trace.counts == [(cheap, 1), (expensive, 2)]


def test_leaves_are_the_questions_in_order() -> None:
    one, two = Fake((True,)), Undetermined(("?",), OtherReason("why"))
    assert list(leaves(AllOf((one, Always(True), AnyOf((two, one)))))) == [one, two, one]


def test_rows_out_of_question_from_the_start() -> None:
    """[PRU-V-4] A clause ignores the files that the given mask excludes."""
    expensive = Fake((False, False), expensive=True)
    found = evaluate(expensive, table(2), np.array([True, False]), Trace())
    assert found.to_pylist() == [False, None]
