"""Counts of how queries use the indexes of a dataset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xskip.engine.decision import ScanTrace
from xskip.engine.usage import UsageLog
from xskip.expressions import Column, Comparison, Op
from xskip.expressions.condition_reasons import MissingIndex, OtherReason
from xskip.indexes.minmax import MinMaxClause
from xskip.pruning.prune import ClauseCount, PruneResult, UnusedPart
from xskip.results.index_usage import IndexUsage

A, C = Column(("a",), "int"), Column(("c",), "int")


def count_of(name: str, ruled_out: int) -> ClauseCount:
    """Return the count of a clause over the index ``name(column)``."""
    index, column = name.rstrip(")").split("(")
    return ClauseCount(MinMaxClause(Comparison(Op.GT, A, 1), (index, (column,))), ruled_out)


def trace(*counts: ClauseCount, unused: tuple[UnusedPart, ...] = ()) -> ScanTrace:
    return ScanTrace("", PruneResult(np.zeros(0, bool), counts, unused))


def test_scans_count_once_for_each_index() -> None:
    """A scan with several conditions on one index counts the condition that rules out most files."""
    log = UsageLog()
    found = [count_of("minmax(a)", 2), count_of("minmax(a)", 5)]
    log.add("/md", trace(*found, count_of("valuelist(b)", 0)))
    log.add("/md", trace(count_of("minmax(a)", 1)))
    log.add("/other", trace())
    usage = log.of("/md")
    assert usage.scans == 2
    assert usage.indexes == {"minmax(a)": IndexUsage(2, 6), "valuelist(b)": IndexUsage(1, 0)}
    assert usage.of("bloomfilter(c)") == IndexUsage(0, 0)
    assert log.of("/none").scans == 0


def test_columns_without_an_index_count_once_for_each_scan() -> None:
    above, below = (UnusedPart((Comparison(op, C, 1),), MissingIndex("c")) for op in (Op.GT, Op.LT))
    log = UsageLog()
    log.add("/md", trace(unused=(above, below, UnusedPart(("f(x)",), OtherReason("f is not known")))))
    log.add("/md", trace(unused=(above,)))
    assert log.of("/md").without_index == {"c": 2}


def test_the_log_keeps_the_latest_datasets() -> None:
    log = UsageLog()
    for i in range(257):
        log.add(f"/md/{i}", trace())
    assert (log.of("/md/0").scans, log.of("/md/1").scans, log.of("/md/256").scans) == (0, 1, 1)


def test_a_scan_without_an_answer_counts() -> None:
    log = UsageLog()
    log.add("/md", ScanTrace("", None, "the index cannot be read"))
    assert (log.of("/md").scans, dict(log.of("/md").indexes)) == (1, {})


def test_another_set_of_indexes_begins_at_zero() -> None:
    log = UsageLog()
    old, new = frozenset({"minmax(a)"}), frozenset({"minmax(a)", "valuelist(b)"})
    log.add("/md", replace(trace(count_of("minmax(a)", 2)), indexes=old))
    log.add("/md", ScanTrace("", None, "the index cannot be read"))
    assert (log.of("/md").scans, log.of("/md").present) == (2, old)
    log.add("/md", replace(trace(count_of("minmax(a)", 3)), indexes=new))
    assert (log.of("/md").scans, log.of("/md").present) == (1, new)
    assert log.of("/md").of("minmax(a)") == IndexUsage(1, 3)
