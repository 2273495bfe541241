"""Counts of how queries use the indexes of a dataset."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from xskip.engine.decision import ScanTrace
from xskip.engine.usage import UsageLog, columns_without_index
from xskip.expressions import Column, Comparison, Op
from xskip.expressions.condition_reasons import MissingIndex, OtherReason
from xskip.indexes.minmax import MinMaxClause
from xskip.protocol.scan_records import UsedRequest
from xskip.pruning.prune import ClauseCount, PruneResult, UnusedPart
from xskip.results.index_usage import Condition, ConditionUsage, IndexUsage

A, C = Column(("a",), "int"), Column(("c",), "int")


def count_of(name: str, ruled_out: int) -> ClauseCount:
    """Return the count of a clause over the index ``name(column)``."""
    index, column = name.rstrip(")").split("(")
    return ClauseCount(MinMaxClause(Comparison(Op.GT, A, 1), (index, (column,))), ruled_out)


def trace(*counts: ClauseCount, unused: tuple[UnusedPart, ...] = ()) -> ScanTrace:
    return ScanTrace("", PruneResult(np.zeros(0, bool), counts, unused))


#: The numbers of requests.
NUMBERS = itertools.count(1)


def add(log: UsageLog, directory: str, trace: ScanTrace) -> None:
    """Count a scan that a query has run at once."""
    log.add(directory, trace, UsedRequest(next(NUMBERS), trace.kept_bytes, 0))


def test_scans_count_once_for_each_index() -> None:
    """A scan with several conditions on one index counts the condition that rules out most files."""
    log = UsageLog()
    found = [count_of("minmax(a)", 2), count_of("minmax(a)", 5)]
    add(log, "/md", trace(*found, count_of("valuelist(b)", 0)))
    add(log, "/md", trace(count_of("minmax(a)", 1)))
    add(log, "/other", trace())
    usage = log.of("/md")
    assert usage.scans == 2
    assert usage.indexes == {"minmax(a)": IndexUsage(2, 6), "valuelist(b)": IndexUsage(1, 0)}
    assert usage.of("bloomfilter(c)") == IndexUsage(0, 0)
    assert log.of("/none").scans == 0


def test_conditions_count_once_for_each_scan() -> None:
    log, ranges, above = UsageLog(), Condition("c", ("above", "below")), Condition("c", ("above",))
    add(log, "/md", replace(trace(), conditions=(ranges,), kept_bytes=100))
    add(log, "/md", replace(trace(), conditions=(ranges, Condition("f")), kept_bytes=20))
    add(log, "/md", replace(trace(), conditions=(above,), kept_bytes=3))
    assert log.of("/md").conditions == {
        ranges: ConditionUsage(2, 120), Condition("f"): ConditionUsage(1, 20), above: ConditionUsage(1, 3),
    }  # fmt: skip


def test_columns_that_a_rewrite_lacks_have_equal_parts() -> None:
    """[REP-A-6] [REP-S-2] A scan without filters counts only if a rewrite has left out files."""
    log, bounds, count = UsageLog(), Condition("c", ("bounds",)), Condition("d", ("count",))
    of_rewrite = replace(trace(), filters="[]", conditions=(bounds, count), kept_bytes=1000, whole_bytes=800)
    log.add("/md", of_rewrite, UsedRequest(1, 100, 0))
    usage = log.of("/md")
    assert usage.conditions == {bounds: ConditionUsage(1, 40), count: ConditionUsage(1, 40)}
    assert usage.scans == 0
    assert usage.rewrite_columns == {"c", "d"}
    answered = replace(trace(), filters="[]", rewrite_indexes=("minmax(c)",), kept_bytes=1000)
    log.add("/md", answered, UsedRequest(2, 0, 9))
    assert (log.of("/md").scans, log.of("/md").indexes) == (1, {"minmax(c)": IndexUsage(1, 9)})
    assert log.of("/md").useful == {"minmax(c)"}


def test_a_scan_that_was_planned_before_the_indexes_changed_does_not_count() -> None:
    """[REP-S-2]"""
    log = UsageLog()
    old, new = (replace(trace(), indexes=frozenset((name,))) for name in ("minmax(a)", "minmax(b)"))
    log.add("/md", old, UsedRequest(1, 0, 0))
    log.add("/md", new, UsedRequest(3, 0, 0))
    log.add("/md", old, UsedRequest(2, 0, 0))
    assert (log.of("/md").scans, log.of("/md").present) == (1, new.indexes)


def test_expressions_without_their_literals_count_as_conditions_on_the_column() -> None:
    expression = Condition("(c % 10)", ("equal",), is_expression=True, column="c")
    log = UsageLog()
    add(log, "/md", replace(trace(), conditions=(expression, Condition("d", ("equal",))), kept_bytes=7))
    add(log, "/md", replace(trace(), conditions=(Condition("c"),), kept_bytes=2))
    assert log.of("/md").without_values().conditions == {
        Condition("c"): ConditionUsage(2, 9), Condition("d", ("equal",)): ConditionUsage(1, 7),
    }  # fmt: skip


def test_expressions_with_literals_leave_room_for_other_conditions() -> None:
    log = UsageLog()
    for i in range(600):
        expression = Condition(f"(c % {i})", ("equal",), is_expression=True, column="c")
        add(log, "/md", replace(trace(), conditions=(expression,), kept_bytes=1))
    for i in range(600):
        add(log, "/md", replace(trace(), conditions=(Condition(f"d{i}"),), kept_bytes=1))
    found = log.of("/md").conditions
    assert found[Condition("c")] == ConditionUsage(100, 100)
    assert (len(found), Condition("d498") in found, Condition("d499") in found) == (1000, True, False)


def test_columns_of_conditions_without_an_index() -> None:
    above, below = (UnusedPart((Comparison(op, C, 1),), MissingIndex("c")) for op in (Op.GT, Op.LT))
    other = UnusedPart(("f(x)",), OtherReason("f is not known"))
    assert columns_without_index(trace(unused=(above, below, other))) == {"c"}


def test_the_log_keeps_the_latest_datasets() -> None:
    log = UsageLog()
    for i in range(257):
        add(log, f"/md/{i}", trace())
    assert (log.of("/md/0").scans, log.of("/md/1").scans, log.of("/md/256").scans) == (0, 1, 1)


def test_a_scan_without_an_answer_counts() -> None:
    log = UsageLog()
    add(log, "/md", ScanTrace("", None, "the index cannot be read"))
    assert (log.of("/md").scans, dict(log.of("/md").indexes)) == (1, {})


def test_another_set_of_indexes_begins_at_zero() -> None:
    log = UsageLog()
    old, new = frozenset({"minmax(a)"}), frozenset({"minmax(a)", "valuelist(b)"})
    add(log, "/md", replace(trace(count_of("minmax(a)", 2)), indexes=old))
    add(log, "/md", ScanTrace("", None, "the index cannot be read"))
    assert (log.of("/md").scans, log.of("/md").present) == (2, old)
    add(log, "/md", replace(trace(count_of("minmax(a)", 3)), indexes=new))
    assert (log.of("/md").scans, log.of("/md").present) == (1, new)
    assert log.of("/md").of("minmax(a)") == IndexUsage(1, 3)
