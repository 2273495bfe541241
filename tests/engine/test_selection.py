"""The three steps of pruning in the driver: collect, evaluate once, prune. No Spark needed."""

from __future__ import annotations

from typing import Any

from tests.metadatastore.samples import files_of, table_of, valuelist
from tests.spark.catalyst.fakes import FakeEvaluation
from xskip.clauses.clause import Clause
from xskip.engine.selection import collect_evaluations, prune_with_functions
from xskip.metadata.table import IndexDefinition, MetadataTable
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.spark.catalyst.evaluator import Evaluator
from xskip.spark.catalyst.filter_decoder import to_predicate
from xskip.types.datatypes import Array

LISTS = [[1, 2], [3], None, [10, 20]]


def metadata() -> MetadataTable:
    return table_of(files_of(f"/f{i}" for i in range(len(LISTS))), [valuelist("k", "int", LISTS)])


def filter_on(term: int, value: int) -> list[Any]:
    """Return ``f(k) = value``, where f is the expression with a number."""
    call = ["Other", ["$", ["k"], "int"], {"@": term, "t": "int"}]
    return ["EqualTo", call, ["#", "int", value]]


def clause_of(evaluator: Evaluator, *filters: list[Any]) -> Clause:
    definition = IndexDefinition("valuelist", ("k",), types=("int",))
    return translate(to_predicate(filters, evaluator), IndexCatalog(((definition, Array("int")),)))


def test_all_functions_of_a_clause_are_evaluated_in_one_call() -> None:
    """[PRU-FN-10]"""
    fake = FakeEvaluation()
    evaluator = Evaluator(fake.hook, 7)
    clause = clause_of(evaluator, ["Or", filter_on(1, 3), filter_on(2, 12)], ["Not", filter_on(3, 6)])
    assert prune_with_functions(clause, metadata(), evaluator).skip.tolist() == [False, True, False, False]
    (call,) = fake.calls
    assert {term for term, _ in call} == {1, 2, 3}


def test_the_collection_evaluates_nothing_and_leaves_the_table_as_it_is() -> None:
    fake = FakeEvaluation()
    evaluator, table = Evaluator(fake.hook, 7), metadata()
    evaluations = collect_evaluations(clause_of(evaluator, filter_on(1, 3), filter_on(2, 12)), table, evaluator)
    assert {evaluation.term for evaluation in evaluations} == {1, 2}
    assert (fake.calls, table._made) == ([], {})


def test_a_clause_without_functions_asks_for_nothing() -> None:
    fake = FakeEvaluation()
    evaluator = Evaluator(fake.hook, 7)
    clause = clause_of(evaluator, ["EqualTo", ["$", ["k"], "int"], ["#", "int", 3]])
    assert prune_with_functions(clause, metadata(), evaluator).skip.tolist() == [True, False, False, True]
    assert fake.calls == []
