"""Random pairs of files and filters from new seeds show no wrong skip, and a wrong skip is detected."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.effort import THOROUGH, cases
from tests.fuzz import rounds
from tests.fuzz.copies import FILES
from tests.fuzz.kinds import indexes, some
from tests.fuzz.plans import plan
from tests.fuzz.rounds import Round
from tests.helpers import Counted, needs_spark_4
from xskip.clauses import bounds
from xskip.expressions.predicate import Op

PREDICATES = cases(90)


def test_every_copy_has_an_index() -> None:
    """A file of text without columns of strings has no index of prefixes."""
    plans = [plan(Random(seed), FILES) for seed in range(2000)]
    assert any(not indexes("prefix", each.absent) for each in plans)
    for seed, each in enumerate(plans):
        drawn = some(Random(seed), each.absent)
        assert all(kind == "pathbounds" or indexes(kind, each.absent) for kind in drawn)


@needs_spark_4("refuses many of these filters")
@pytest.mark.parametrize("served", [False, True], ids=["any plan", "a plan that indexes serve"])
def test_what_is_skipped_holds_no_matching_row(
    served: bool,
    spark: SparkSession,
    tmp_path: Path,
    counted: Counted,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """[PRU-V-2] [PRU-FN-1] The test prints its seed; ``python -m tests.fuzz --seed`` runs it again."""
    seed = int(time.time())
    while served and not plan(Random(seed), FILES).served:
        seed += 1
    with capsys.disabled():
        sys.stdout.write(f" seed {seed}: ")
    monkeypatch.setattr(rounds, "_RUN", cases(rounds._RUN))
    tally, failures = Round(spark, tmp_path, seed).run(PREDICATES)
    with capsys.disabled():
        sys.stdout.write(f"{tally.pairs:,} pairs, {tally.skipped:,} skipped ")
    assert not failures, failures[0].script()
    if served:
        assert tally.skipped > tally.pairs // 20
        assert tally.matching > 0
        assert tally.refused <= tally.predicates // 10
    counted("random pairs of a file and a filter", tally.pairs)
    counted("of them skipped", tally.skipped)


@needs_spark_4("refuses many of these filters")
def test_a_wrong_skip_is_found_and_cut_down(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault in one comparison fails within a round, and the script contains that comparison."""
    right = bounds._compared

    def wrong(op: Op, lo: object, hi: object, value: object) -> object:
        return right(Op.LT if op is Op.LE else op, lo, hi, value)

    monkeypatch.setattr(bounds, "_compared", wrong)
    if not THOROUGH:  # most queries, about which nothing is asserted
        monkeypatch.setattr(rounds, "planned_by_metadata", lambda *_: ())
    monkeypatch.setattr(rounds, "_RUN", 12)  # so that the way that plans first is sure to ask the wrong comparison
    _, failures = Round(spark, tmp_path, 4).run(40 if THOROUGH else 20)
    monkeypatch.undo()
    assert failures
    assert {failure.way for failure in failures} > {"", "explained before settings changed"}
    shortest = min((failure.where for failure in failures), key=len)
    assert len(shortest) < 120
    assert any(sign in shortest for sign in ("<=", ">", "BETWEEN", "NOT"))
    compile(failures[0].script(), "script", "exec")
