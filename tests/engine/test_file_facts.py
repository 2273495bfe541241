"""Facts about files beyond "skip", and metadata that contradict themselves."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from xskip.engine.column_facts import column_facts
from xskip.engine.decision import Evidence
from xskip.engine.file_facts import file_facts, predicate_facts
from xskip.engine.ports import NoFunctions
from xskip.engine.scan_units import ScanUnits
from xskip.engine.selection import Selection
from xskip.expressions import Column, Comparison, Op
from xskip.expressions.predicate import Constant, IsNull, Predicate
from xskip.indexes import MinMax, ValueList
from xskip.metadata.data_files import DataFiles
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.metadatastore.snapshot import Snapshot
from xskip.protocol.answer import Answer, Section
from xskip.protocol.request import FactsRequest
from xskip.pruning.clause_translation import IndexCatalog
from xskip.types.datatypes import arrow_type

A = Column(("a",), "int")
DEFINITION = IndexDefinition("minmax", ("a",), types=("int",))
STORAGE = MinMax("a").storage(["int"])
LISTS = IndexDefinition("valuelist", ("a",), types=("int",))


def _of(column: Column, *needs: str) -> FactsRequest:
    """Return a question about a column."""
    return FactsRequest((), (column,), needs=(needs,))


class Files:
    """A snapshot of files with bounds, numbers of rows and numbers of NULLs."""

    def __init__(self, *files: tuple[tuple[Any, Any] | None, int | None, int | None], kind: str = "int") -> None:
        definition, storage = replace(DEFINITION, types=(kind,)), MinMax("a").storage([kind])
        bounds = [each and {"min": each[0], "max": each[1]} for each, _, _ in files]
        values = pa.array(bounds, arrow_type(storage))
        names = pa.array([f"/f{i}" for i in range(len(files))])
        numbers = pa.array([1] * len(files))
        self.table = MetadataTable(
            DataFiles(names, numbers, numbers), indexes={DEFINITION.key: IndexColumn(definition, storage, values)}
        )
        rows, nulls = (pa.array([each[i] for each in files], pa.int64()) for i in (1, 2))
        self.recorded = FileCounts(rows, {"a": nulls})
        self.rows = len(files)

    def counts(self) -> FileCounts:
        return self.recorded

    def load_proven(self, wanted: Iterable[object], profile: object) -> MetadataTable:
        kept = {key: column for key, column in self.table.indexes.items() if key in wanted}
        return replace(self.table, indexes=kept)


@pytest.mark.parametrize(
    ("file", "skip", "is_whole"),
    [
        (((6, 9), 3, 0), False, True),
        (((6, 9), 3, 1), False, False),
        (((6, 9), 3, None), False, False),
        (((6, 9), None, 0), False, False),
        (((4, 9), 3, 0), False, False),
        (((9, 6), 3, 0), False, False),
        ((None, 3, 0), False, False),
        (((None, None), 0, 0), True, False),
        (((None, None), 3, 0), True, False),
        (((6, 9), 3, 4), False, False),
        (((6, 9), -3, 0), False, False),
    ],
)
def test_which_files_match_wholly(
    file: tuple[tuple[int | None, int | None] | None, int | None, int | None], *, skip: bool, is_whole: bool
) -> None:
    """[PRU-CO-5]"""
    snapshot = cast(Snapshot, Files(file))
    predicate = Comparison(Op.GT, A, 5)
    catalog = IndexCatalog(((DEFINITION, STORAGE),))
    evidence = Evidence(Selection.of(predicate, catalog), weakref.ref(snapshot), ReadProfile("parquet"), NoFunctions())
    facts = file_facts(predicate, evidence, ScanUnits.of_files(evidence, snapshot, np.array([skip])))
    if skip:  # nothing is said of a file that is ruled out
        assert (facts.units.left, facts.whole.tolist(), facts.rows.to_pylist()) == (pa.array([], pa.int64()), [], [])
        return
    assert (facts.units.left, facts.whole.tolist()) == (None, [is_whole])
    known = file[1] is not None and file[1] >= 0
    assert facts.rows.to_pylist() == [file[1] if known else -1]
    assert facts.sections[Section.ROWS][1:] == facts.rows.to_pylist()[0].to_bytes(8, "little", signed=True)
    assert facts.sections[Section.WHOLE] == bytes([is_whole])


@pytest.mark.parametrize(
    ("kind", "bounds", "rows", "nulls", "states"),
    [
        ("int", (6, 9), 3, 0, (0, 0)),
        ("int", (6, 9), None, None, (0, 0)),
        ("int", (9, 6), 3, 0, (2, 2)),
        ("int", (6, None), 3, 0, (2, 2)),
        ("int", (None, None), 3, 3, (1, 1)),
        ("int", (None, None), None, None, (1, 1)),
        ("int", (None, None), 3, 1, (2, 2)),
        ("int", (6, 9), 3, 3, (2, 2)),
        ("int", None, 3, 0, (2, 2)),
        ("double", (-1.5, -0.0), 3, 0, (0, 3)),
        ("double", (0.0, float("nan")), 3, 0, (3, 0)),
    ],
)
def test_states_of_bounds(
    kind: str, bounds: tuple[Any, Any] | None, rows: int | None, nulls: int | None, states: tuple[int, int]
) -> None:
    """[JVM-AN-4]"""
    snapshot = cast(Snapshot, Files((bounds, rows, nulls), kind=kind))
    catalog = IndexCatalog(((replace(DEFINITION, types=(kind,)), MinMax("a").storage([kind])),))
    evidence = Evidence(
        Selection.of(Constant(True), catalog), weakref.ref(snapshot), ReadProfile("parquet"), NoFunctions()
    )
    counted = file_facts(Constant(True), evidence, ScanUnits.of_files(evidence, snapshot, np.array([False])))
    assert counted.rows.to_pylist() == [-1 if rows is None else rows]
    (facts,) = column_facts(_of(Column(("a",), kind)), evidence, counted.units, counted.rows)
    assert facts.nulls.to_pylist() == [-1 if nulls is None else nulls]
    assert (*facts.low.states, *facts.high.states) == states
    assert facts.to_bytes()[:9] == Answer.integers(facts.nulls.to_numpy())
    (other,) = column_facts(_of(Column(("b",), kind)), evidence, counted.units, counted.rows)
    assert (other.nulls.to_pylist(), other.low.states, other.high.states) == ([-1], b"\x02", b"\x02")


@pytest.mark.parametrize(
    ("bounds", "values", "state", "distinct"),
    [
        ((1, 9), [9, 1, 4], 0, 3),
        ((1, 9), None, 0, -1),
        # contradictions
        ((1, 9), [0, 9], 2, -1),
        ((1, 9), [1, 10], 2, -1),
        ((1, 9), [], 2, -1),
        ((1, 9), [1, None], 0, -1),
        # nothing is known of bounds, or no row has a value
        (None, [1, 9], 2, -1),
        ((None, None), [], 1, -1),
    ],
)
def test_distinct_values(
    bounds: tuple[int | None, int | None] | None, values: list[int] | None, state: int, distinct: int
) -> None:
    """[PLN-JB-7] [JVM-AN-4] [JVM-RQ-6]"""
    files = Files((bounds, 3, 3 if bounds == (None, None) else 0))
    storage = ValueList("a").storage(["int"])
    files.table.indexes[LISTS.key] = IndexColumn(LISTS, storage, pa.array([values], pa.list_(pa.int32())))  # type: ignore[index]
    snapshot = cast(Snapshot, files)
    catalog = IndexCatalog(((DEFINITION, STORAGE), (LISTS, storage)))
    evidence = Evidence(
        Selection.of(Constant(True), catalog), weakref.ref(snapshot), ReadProfile("parquet"), NoFunctions()
    )
    rows = pa.array([3])
    (facts,) = column_facts(_of(A, "partner"), evidence, ScanUnits(snapshot, evidence.profile, None), rows)
    assert (facts.low.states[0], facts.distinct.to_pylist()) == (state, [distinct])
    assert np.frombuffer(facts.values.numbers, "<i8").tolist() == (values if distinct >= 0 else [])
    (others,) = column_facts(_of(A, "bounds"), evidence, ScanUnits(snapshot, evidence.profile, None), rows)
    assert others.distinct.to_pylist() == [-1]


def test_answers_have_no_long_lists() -> None:
    """[PLN-JB-7] The limit is for the files that are left together."""
    files = Files(((0, 9_999), 10_000, 0), ((0, 0), 1, 0))
    storage, lists = ValueList("a").storage(["int"]), pa.array([list(range(10_000)), [0]], pa.list_(pa.int32()))
    files.table.indexes[LISTS.key] = IndexColumn(LISTS, storage, lists)  # type: ignore[index]
    snapshot = cast(Snapshot, files)
    catalog = IndexCatalog(((DEFINITION, STORAGE), (LISTS, storage)))
    evidence = Evidence(
        Selection.of(Constant(True), catalog), weakref.ref(snapshot), ReadProfile("parquet"), NoFunctions()
    )
    (facts,) = column_facts(
        _of(A, "partner"), evidence, ScanUnits(snapshot, evidence.profile, None), pa.array([10_000, 1])
    )
    assert facts.distinct.to_pylist() == [-1, -1]
    first = ScanUnits(snapshot, evidence.profile, pa.array([0]))
    (facts,) = column_facts(_of(A, "partner"), evidence, first, pa.array([10_000]))
    assert facts.distinct.to_pylist() == [10_000]
    files.rows = 10_001  # an index of so many files
    (facts,) = column_facts(_of(A, "partner"), evidence, first, pa.array([10_000]))
    assert facts.distinct.to_pylist() == [-1]


def test_facts_are_about_the_files_that_are_left() -> None:
    """[JVM-AN-1] [JVM-AN-4]"""
    snapshot = cast(Snapshot, Files(((0, 3), 1, 0), ((6, 9), 2, 0), ((4, 9), 4, 1), ((7, 8), 6, 0)))
    predicate = Comparison(Op.GT, A, 5)
    catalog = IndexCatalog(((DEFINITION, STORAGE),))
    evidence = Evidence(Selection.of(predicate, catalog), weakref.ref(snapshot), ReadProfile("parquet"), NoFunctions())
    facts = file_facts(
        predicate, evidence, ScanUnits.of_files(evidence, snapshot, np.array([True, False, False, False]))
    )
    assert facts.units.left is not None
    assert (facts.units.left.to_pylist(), facts.whole.tolist(), facts.rows.to_pylist()) == (
        [1, 2, 3],
        [True, False, True],
        [2, 4, 6],
    )
    (column,) = column_facts(_of(A), evidence, facts.units, facts.rows)
    assert column.nulls.to_pylist() == [0, 1, 0]
    assert np.frombuffer(column.low.numbers, "<i8").tolist() == [6, 4, 7]


@pytest.mark.parametrize(
    ("values", "width"),
    [
        ([], 0),
        ([5, 5], 0),
        ([-1, 254], 1),
        ([-1, 255], 2),
        ([0, 2**16 - 1], 2),
        ([0, 2**16], 4),
        ([7, 2**32 + 6], 4),
        ([7, 2**32 + 7], 8),
        ([-(2**63), 2**63 - 1], 8),
        ([-(2**63), -(2**63) + 3], 1),
        ([2**63 - 1, 2**63 - 200], 1),
    ],
)
def test_integers_have_as_few_bytes_as_they_need(values: list[int], width: int) -> None:
    """[JVM-AN-5]"""
    found = Answer.integers(np.array(values, np.int64))
    assert found[0] == width
    least = int.from_bytes(found[1:9], "little", signed=True)
    rest = [int.from_bytes(found[9 + i * width : 9 + (i + 1) * width], "little") for i in range(len(values))]
    assert [least + each for each in rest] == values
    assert len(found) == 9 + width * len(values)


@pytest.mark.parametrize(
    ("file", "none", "whole"),
    [
        (((9, 12), 3, 0), False, True),
        (((9, 12), 3, 1), False, False),
        (((1, 8), 3, 1), True, False),
        (((1, 9), 3, 0), False, False),
        (((None, None), 3, 3), True, False),
        (None, False, False),
        (((9, 6), 3, 0), False, False),
        (((None, None), 0, 0), True, True),
    ],
)
def test_which_files_satisfy_a_predicate(
    file: tuple[tuple[int | None, int | None], int | None, int | None] | None, *, none: bool, whole: bool
) -> None:
    """[JVM-AN-1] [PRU-CO-5] [PLN-AG-5]"""
    snapshot = cast(Snapshot, Files(file or (None, 3, 0)))
    catalog = IndexCatalog(((DEFINITION, STORAGE),))
    selection = Selection.of(Constant(True), catalog)
    evidence = Evidence(selection, weakref.ref(snapshot), ReadProfile("parquet"), NoFunctions())
    counted = file_facts(Constant(True), evidence, ScanUnits.of_files(evidence, snapshot, np.array([False])))
    predicates: list[Predicate] = [Comparison(Op.GT, A, 8), IsNull(A)]
    facts, nulls = predicate_facts(predicates, evidence, counted)
    assert (facts.none.tolist(), facts.whole.tolist(), facts.uses_partitions) == ([none], [whole], False)
    assert nulls.none.tolist() == [file is None or file[2] == 0]
    sections = replace(counted, predicates=(facts, nulls)).sections
    assert sections[Section.PREDICATES][:2] == bytes([none, whole])
    assert len(sections[Section.PREDICATES]) == 4
