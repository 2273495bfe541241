"""Random lakes from fixed and new seeds return just the messages that were written, and a wrong skip is detected."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.effort import seeds
from tests.fuzz.lakes.conditions import condition
from tests.fuzz.lakes.model import Model, Segment
from tests.fuzz.lakes.run import LakeRound
from tests.fuzz.lakes.segments import Writer
from xskip.quixlake import segments
from xskip.quixlake.new_messages import NewMessages, Part, Present
from xskip.quixlake.ranges import EVERY, NONE

STEPS = 4
#: Seeds with which faults show; each shows all of them, except that the fault of timestamps needs the first.
SEEDS = seeds((2, 1))


@pytest.mark.parametrize("seed", [*seeds(range(4)), None], ids=lambda seed: "a new seed" if seed is None else None)
def test_reads_return_what_was_written(
    spark: SparkSession, tmp_path: Path, seed: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """[QLK-RD-2] [QLK-RD-3] [QLK-SE-1] [QLK-TR-1] [QLK-TR-2] [QLK-DE-5] [QLK-IX-1] [QLK-IX-2] [QLK-TK-2]

    ``python -m tests.fuzz.lakes --seed`` runs a seed again.
    """
    number = int(time.time()) if seed is None else seed
    found = LakeRound(spark, tmp_path, number).run(STEPS)
    with capsys.disabled():
        sys.stdout.write(f" seed {number}: {found.reads} reads ")
    assert not found.faults, found.faults[0]
    assert found.reads > STEPS
    assert found.messages


def test_a_wrong_skip_is_detected(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Timestamps that bound nothing lose messages if they count as exact."""
    real = segments._combined

    def wrong(*args: object) -> object:
        table = real(*args)  # type: ignore[arg-type]
        at = table.schema.get_field_index("is_exact")
        return table.set_column(at, "is_exact", table["start"].is_valid())

    monkeypatch.setattr(segments, "_combined", wrong)
    faults = [fault for seed in SEEDS for fault in LakeRound(spark, tmp_path / str(seed), seed).run(STEPS).faults]
    assert faults
    assert all("missing [(" in fault for fault in faults)


@pytest.mark.parametrize(("part", "sign"), [(Part(EVERY), "additional [("), (Part(NONE), "missing [{")])
def test_wrong_reads_between_tokens_are_detected(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: Part, sign: str
) -> None:
    """[QLK-TK-2] Messages that come twice, and messages that do not come."""

    def wrong(_: NewMessages, present: Present) -> list[Part]:
        return [part] * len(present.segments)

    monkeypatch.setattr(NewMessages, "parts", wrong)
    rounds = [LakeRound(spark, tmp_path / str(seed), seed).run(STEPS) for seed in SEEDS]
    assert sum(each.new_reads for each in rounds) > 2
    faults = [fault for each in rounds for fault in each.faults]
    assert faults
    assert all("new messages" in fault for fault in faults)
    assert any(sign in fault for fault in faults)


def test_a_seed_determines_a_lake(tmp_path: Path) -> None:
    paths = []
    for copy in "ab":
        writer = Writer(Random(7), tmp_path / copy, is_ordered=False)
        paths.append([writer.segment().path for _ in range(20)])
    assert paths[0] == paths[1]


def test_every_sort_of_filter_occurs() -> None:
    near = {"stream_key": "a", "partition": 1, "offset": 5, "timestamp": 7, "date": None, "key": None, "value": b""}
    texts = " ".join(condition(Random(seed), [near]).sql for seed in range(500))
    for sort in ("`timestamp`", "`offset`", "`partition`", "time ", "stream_key", "topic", "date", "IN (", "BETWEEN"):
        assert sort in texts
    for sort in ("NOT (", " AND ", " OR ", "IS NULL", "startswith", "to_date(time)", "X'"):
        assert sort in texts


def message(offset: int) -> dict[str, object]:
    return {"timestamp": 5, "offset": offset, "key": None, "headers": "[]", "value": b""}


ROW = {"Key": "a", "Partition": 3, "FileSizeBytes": 10, "CreatedAt": 5, "DeletedAt": None}


@pytest.mark.parametrize(
    ("rows", "partition", "is_deleted"),
    [
        ([], None, False),
        ([ROW], 3, False),
        ([ROW | {"FileSizeBytes": 11}], None, False),
        ([ROW | {"DeletedAt": 1}], 3, True),
        ([ROW | {"DeletedAt": 1}, ROW], 3, False),
        ([ROW | {"DeletedAt": 1}, ROW | {"CreatedAt": 6}], 3, False),
        ([ROW, ROW | {"CreatedAt": 6, "DeletedAt": 1}], 3, True),
        ([ROW | {"CreatedAt": None, "Partition": 9, "DeletedAt": 1}, ROW], 3, False),
        ([ROW, ROW | {"Partition": 9}], None, False),
    ],
)
def test_the_descriptors_that_count(rows: list[dict[str, object]], partition: int | None, is_deleted: bool) -> None:
    """[QLK-DE-4] [QLK-DE-5] [QLK-DE-7] [QLK-RE-3]"""
    segment = Segment("Raw/Topic=t/Key=k/x.avro", 10, "k", None, None, (message(1),))
    found = list(Model({segment.path: segment}, {segment.path: rows} if rows else {}).messages_of(segment.path))
    assert [each["partition"] for each in found] == ([] if is_deleted else [partition])
    assert {each["stream_key"] for each in found} <= {"a" if rows else "k"}
