"""Expressions that Spark evaluates: once for equal values, together, and from the cache. No Spark needed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.spark.catalyst.fakes import FakeEvaluation
from xskip.expressions.operands import Evaluated
from xskip.spark.catalyst import evaluator as evaluator_module
from xskip.spark.catalyst.evaluator import EvaluationCache, Evaluator, decorate


def ints(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int32())


def listed(evaluated: Evaluated) -> tuple[list[Any], list[bool]]:
    return evaluated.values.to_pylist(), evaluated.failed.tolist()


def with_term(fake: FakeEvaluation, cache: EvaluationCache | None = None) -> Evaluator:
    """An evaluator that knows the form of its expression 1."""
    evaluator = Evaluator(fake.hook, 7, cache)
    decorate(["Add", ["$", ["k"], "int"], ["#", "int", 1], {"@": 1, "t": "int"}], evaluator)
    return evaluator


def test_distinct_values_are_evaluated_once() -> None:
    fake = FakeEvaluation()
    evaluator = Evaluator(fake.hook, 7)
    for _ in range(2):
        assert listed(evaluator(1, "int", ints(5, None, 5, 6))) == ([6, None, 6, 7], [False] * 4)
    assert fake.calls == [[(1, 3)]]
    assert listed(evaluator(2, "int", ints(5)))[0] == [7]
    assert fake.calls == [[(1, 3)], [(2, 1)]]


def test_collected_evaluations_run_in_one_call() -> None:
    """[PRU-FN-10] Until then their values are unknown."""
    fake = FakeEvaluation()
    evaluator = Evaluator(fake.hook, 7)
    evaluator(3, "int", ints(1))
    fake.calls.clear()
    with evaluator.collecting() as evaluations:
        assert listed(evaluator(1, "int", ints(5, 6))) == ([None, None], [True, True])
        assert listed(evaluator(1, "int", ints(5, 6))) == ([None, None], [True, True])
        assert listed(evaluator(2, "int", ints(5))) == ([None], [True])
        assert listed(evaluator(3, "int", ints(1))) == ([4], [False])
    assert [(e.term, e.kind, len(e.values.states)) for e in evaluations] == [(1, "int", 2), (2, "int", 1)]
    assert fake.calls == []
    evaluator.evaluate(evaluations)
    assert fake.calls == [[(1, 2), (2, 1)]]
    assert listed(evaluator(1, "int", ints(5, 6))) == ([6, 7], [False, False])
    assert listed(evaluator(2, "int", ints(5))) == ([7], [False])
    assert len(fake.calls) == 1


def test_nothing_to_evaluate_is_no_call() -> None:
    fake = FakeEvaluation()
    evaluator = Evaluator(fake.hook, 7)
    with evaluator.collecting() as evaluations:
        pass
    evaluator.evaluate(evaluations)
    assert fake.calls == []


def test_an_error_ends_the_collection() -> None:
    evaluator = Evaluator(FakeEvaluation().hook, 7)
    with pytest.raises(KeyError), evaluator.collecting():
        raise KeyError
    assert listed(evaluator(1, "int", ints(5))) == ([6], [False])


def test_another_request_takes_results_from_the_cache() -> None:
    """[PRU-FN-10]"""
    fake, cache = FakeEvaluation(), EvaluationCache()
    for _ in range(2):
        assert listed(with_term(fake, cache)(1, "int", ints(5)))[0] == [6]
    assert len(fake.calls) == 1
    with_term(fake, cache)(1, "int", ints(6))
    assert len(fake.calls) == 2
    fake.digest = "of other settings"
    with_term(fake, cache)(1, "int", ints(5))
    assert len(fake.calls) == 3


def test_an_expression_without_a_form_is_not_cached() -> None:
    fake, cache = FakeEvaluation(), EvaluationCache()
    for _ in range(2):
        Evaluator(fake.hook, 7, cache)(1, "int", ints(5))
    assert len(fake.calls) == 2


def test_many_distinct_values_are_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-FN-3]"""
    monkeypatch.setattr(evaluator_module, "_MAX_VALUES", 2)
    fake = FakeEvaluation()
    evaluator = Evaluator(fake.hook, 7)
    assert listed(evaluator(1, "int", ints(1, 2, 3))) == ([None] * 3, [True] * 3)
    assert fake.calls == []
    assert listed(evaluator(1, "int", ints(1, 2, 1))) == ([2, 3, 2], [False] * 3)


def test_the_value_of_a_zero_is_unknown() -> None:
    """[PRU-FN-3] Metadata does not tell which zero it is."""
    evaluator = Evaluator(FakeEvaluation("double").hook, 7)
    assert listed(evaluator(1, "double", pa.array([0.0, 2.0, None])))[1] == [True, False, False]
