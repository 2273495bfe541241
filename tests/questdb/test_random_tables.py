"""Random tables that a server writes and changes: reads without Spark and with it return what the server selects."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.effort import cases, seeds
from tests.fuzz.questdb import run
from tests.fuzz.questdb.run import STEPS, TableRound, steps_of
from tests.fuzz.questdb.tables import RandomTable
from tests.questdb.server import Server
from xskip.clauses import bounds
from xskip.expressions.predicate import Op

#: The changes of a table that Spark reads after each of them.
_STEPS_IN_SPARK = max(4, cases(8))


@pytest.mark.parametrize("seed", [*seeds([1, 2, 3, 4]), None], ids=lambda seed: str(seed or "a new seed"))
def test_tables_without_spark(server: Server, seed: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    """[QDB-RD-1], [QDB-RD-2], [QDB-TY-2]."""
    number = _number(seed, capsys)
    done: list[str] = []
    steps_of(RandomTable(server, number), STEPS, done)
    assert seed is None or len(done) == STEPS


@pytest.mark.parametrize("seed", seeds([8, 11, 23]))
def test_tables_of_a_newer_server(newer_server: Server, seed: int) -> None:
    """[QDB-RD-1], [QDB-RD-2], [QDB-PQ-9]."""
    done: list[str] = []
    steps_of(RandomTable(newer_server, seed), STEPS, done)
    assert any("to native" in statement for statement in done)


@pytest.mark.parametrize("seed", [*seeds([12, 1, 9]), None], ids=lambda seed: str(seed or "a new seed"))
def test_tables_in_spark(
    spark: SparkSession, server: Server, tmp_path: Path, seed: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """[QDB-SP-1], [QDB-SP-5], [QDB-SP-6], [QDB-SP-9], [QDB-CT-5].

    ``python -m tests.fuzz.questdb --seed`` runs a seed again.
    """
    xskip.enable(spark)
    numbers = [_number(seed, capsys) for _ in range(1 if seed else 5)]
    rounds = (TableRound(spark, server, tmp_path / str(number), number).run(_STEPS_IN_SPARK) for number in numbers)
    found = next((outcome for outcome in rounds if outcome.faults or outcome.steps), None)
    assert found is not None, f"the server refused the first step of each of the seeds {numbers}"
    assert not found.faults, found.faults[0]
    if seed is not None:
        assert found.steps == _STEPS_IN_SPARK
        assert found.skipped > 0


def test_a_wrong_skip_is_detected(
    spark: SparkSession, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault in the comparisons of bounds loses rows. Tables of one seed have other values in each run."""
    right = bounds._compared

    def wrong(op: Op, lo: object, hi: object, value: object) -> object:
        return right(op, hi, hi, value)

    monkeypatch.setattr(bounds, "_compared", wrong)
    monkeypatch.setattr(run, "SINGLE", ("minmax", "nullcount", "prefix"))  # so that each index has bounds
    xskip.enable(spark)
    rounds = (TableRound(spark, server, tmp_path / str(seed), seed).run(STEPS) for seed in (9, 12, 7, 10, 11, 4, 1, 2))
    found = next((outcome.faults[0] for outcome in rounds if outcome.faults), "")
    assert "rows are missing" in found


def _number(seed: int | None, capsys: pytest.CaptureFixture[str]) -> int:
    number = random.randrange(1 << 32) if seed is None else seed
    with capsys.disabled():
        sys.stdout.write(f" seed {number} ")
    return number
