"""The verdicts of findings are those of pruning, and each finding names parts of the clause that prove its verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from tests.pruning.cases import Case, cases, collected, translated
from xskip.clauses.clause import AllOf, Always, AnyOf, Clause, IndexClause, Undetermined, leaves, subjects
from xskip.expressions.condition_reasons import Cause, OtherReason
from xskip.expressions.operands import Column
from xskip.expressions.predicate import And, Comparison, Constant, Op, Or, Predicate, Unknown
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.table import MetadataTable
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.file_findings import FileFindings, Finding
from xskip.pruning.prune import prune, text_of

INT, OTHER = Column(("a",), "int"), Column(("b",), "int")


def verdict(clause: IndexClause, table: MetadataTable, row: int) -> bool | None:
    found: bool | None = clause.evaluate(table, np.full(len(table), True))[row].as_py()
    return found


def proves(clause: Clause, predicates: set[str], table: MetadataTable, row: int) -> bool:
    """Return whether the clause is false of a file, even if all leaves but those with these predicates are unknown."""
    match clause:
        case AllOf(children):
            return any(proves(child, predicates, table, row) for child in children)
        case AnyOf(children):
            return all(proves(child, predicates, table, row) for child in children)
        case Undetermined():
            return False
        case Always(constant):
            return not constant
        case _:
            return clause.predicate in predicates and verdict(clause, table, row) is False


@settings(max_examples=300)
@given(cases())
def test_findings_prove_their_verdicts(case: Case) -> None:
    """[REP-F-2]"""
    clause, table = translated(case)
    result = prune(clause, table)
    findings = FileFindings(clause, table)
    verdicts = findings.verdicts.to_pylist()
    assert [each is False for each in verdicts] == result.skip.tolist()
    for row, found in enumerate(verdicts):
        finding = findings.of(row)
        assert str(finding.reason)
        if found is False:
            assert proves(clause, set(map(text_of, finding.subjects)), table, row)
        named = [leaf for leaf in leaves(clause) if subjects(leaf) in finding.subjects]
        if found is None:
            assert any(isinstance(leaf, Undetermined) or verdict(leaf, table, row) is None for leaf in named)
        if found and finding.subjects:
            assert any(not isinstance(leaf, Undetermined) and verdict(leaf, table, row) for leaf in named)


@settings(max_examples=100)
@given(cases())
def test_outcomes_of_some_files_add_up_to_those_of_all(case: Case) -> None:
    """[REP-F-4]"""
    clause, table = translated(case)
    some = np.arange(len(table)) % 2 == 0
    parts = [prune(clause, table, listed).counts for listed in (some, ~some)]
    for whole, left, right in zip(prune(clause, table).counts, *parts, strict=True):
        assert left.ruled_out + right.ruled_out == whole.ruled_out
        assert left.unknown + right.unknown == whole.unknown
    assert prune(clause, table, np.full(len(table), True)).counts == prune(clause, table).counts


def finding(predicate: Predicate, rows: list[Any]) -> Finding:
    """Return the finding of a single file whose column ``a`` has a MinMax index."""
    indexes = collected("minmax", "a", "int", [rows])
    catalog = IndexCatalog(tuple((c.definition, c.storage) for c in indexes.values()))
    table = MetadataTable(DataFiles.of([FileStatus("/f", 1, 1)]), {}, indexes)
    return FileFindings(translate(predicate, catalog), table).of(0)


A_IS_5, B_IS_5, A_ABOVE_9 = Comparison(Op.EQ, INT, 5), Comparison(Op.EQ, OTHER, 5), Comparison(Op.GT, INT, 9)


@pytest.mark.parametrize(
    ("predicate", "rows", "predicates", "reason"),
    [
        (A_IS_5, [1, 9], ("a = ?",), "the statistics admit a matching row"),
        (A_IS_5, [1, 2], ("a = ?",), "the statistics exclude every row"),
        (Or((A_IS_5, A_ABOVE_9)), [1, 2], ("a = ?", "a > ?"), "the statistics exclude every row"),
        (And((B_IS_5, A_ABOVE_9)), [1, 2], ("a > ?",), "the statistics exclude every row"),
        (And((A_IS_5, B_IS_5)), [1, 9], ("b = ?",), "there is no index on b"),
        (A_IS_5, None, ("a = ?",), "the index has no statistics of the file"),
        (Unknown(OtherReason("a function")), [1], ("?",), "a function"),
        (Constant(False), [1], (), "the filter is true of no row"),
        (Constant(True), [1], (), "the filter is true of every row"),
    ],
)
def test_the_deciding_parts(predicate: Any, rows: Any, predicates: Any, reason: str) -> None:
    """[REP-F-2]"""
    found = finding(predicate, rows)
    assert (tuple(map(text_of, found.subjects)), str(found.reason)) == (predicates, reason)


def test_the_reasons_of_indexes_are_named() -> None:
    """[REP-F-2]"""
    indexes = collected("minmax", "a", "int", [[1], None])
    (column,) = indexes.values()
    catalog = IndexCatalog(((column.definition, column.storage),))
    files = DataFiles.of([FileStatus("/f", 1, 1), FileStatus("/g", 1, 1)])
    clause = translate(A_IS_5, catalog)

    def reason(**changes: Any) -> str:
        from dataclasses import replace

        none = pa.nulls(2, column.values.type)
        table = MetadataTable(files, {}, {column.definition.key: replace(column, values=none, **changes)})
        return str(FileFindings(clause, table).of(1).reason)

    assert reason(unreadable=1) == "the index has no readable statistics of the file"
    assert reason(doubt="another program wrote them") == "another program wrote them"
    assert reason(is_locked=True) == "its key None is not available"
    assert FileFindings(clause, MetadataTable(files)).of(0).reason is Cause.NO_SUCH_INDEX
