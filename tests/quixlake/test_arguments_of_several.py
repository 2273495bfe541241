"""Arguments that hold several topics, partitions, columns or values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip.quixlake
from tests.cli.calls import call, call_json
from xskip.errors import ArgumentError, PredicateError
from xskip.quixlake import OpenedLake, QuixLake


@pytest.fixture
def base(spark: SparkSession, tmp_path: Path) -> str:
    lake = QuixLake(spark, tmp_path)
    for topic in ("t", "u"):
        frame = spark.range(3).selectExpr(
            "id AS timestamp", "CAST(CASE WHEN id > 0 THEN id END AS STRING) AS key", f"'{topic}' AS value",
            "0 AS partition", "id AS offset",
        )  # fmt: skip
        lake.write(frame, topic)
    return str(tmp_path)


@pytest.fixture
def opened(base: str) -> OpenedLake:
    return xskip.quixlake.open(base)


@pytest.mark.parametrize("topics", [[["t"]], {"t", "u"}, {"t": 1}, b"t", 5, [b"t"]])
def test_topics_that_are_no_list_of_names_are_refused(opened: OpenedLake, topics: Any) -> None:
    with pytest.raises(ArgumentError, match="topic is not a text"):
        opened.to_arrow(topics)


@pytest.mark.parametrize("method", ["segments", "time_range"])
def test_discovery_refuses_several_topics(opened: OpenedLake, method: str) -> None:
    with pytest.raises(ArgumentError, match="topic is not a text"):
        getattr(opened, method)(["t", "u"])


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        ({"partitions": [[1]]}, r"a partition is not a whole number .*topic t"),
        ({"partitions": {"t": "x"}}, r"a partition is not a whole number .*topic t"),
        ({"offsets": {1, 2}}, "the offsets are not a pair"),
        ({"offsets": iter((1, 2))}, "the offsets are not a pair"),
        ({"offsets": {"t": (1,)}}, r"the offsets are not a pair .*topic t"),
        ({"columns": []}, "columns is not a list of names"),
        ({"columns": 5}, "columns is not a list of names"),
        ({"columns": [["offset"]]}, "columns is not a list of names"),
    ],
)
def test_odd_values_name_the_topic(opened: OpenedLake, filters: dict[str, Any], text: str) -> None:
    with pytest.raises(PredicateError, match=text):
        opened.to_arrow(["t", "u"], **filters)


def test_iterators_give_their_values(opened: OpenedLake) -> None:
    several: dict[str, Any] = {"columns": iter(["offset", "topic"]), "partitions": iter([0])}
    found = opened.to_arrow(["t", "u"], **several)
    assert found.column_names == ["offset", "topic"]
    assert found["topic"].to_pylist() == ["t"] * 3 + ["u"] * 3


def test_the_text_of_several_topics_names_them(
    base: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    assert "topic" not in call(capsys, "quix", "read", base, "t")
    lines = call(capsys, "quix", "read", base, "t", "u", "--limit", "3").splitlines()
    assert lines[0].split()[0] == "topic"
    assert [line.split()[0] for line in lines[2:]] == ["t", "u", "t"]


def test_values_of_metadata_are_repeated(
    base: str, spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    lake = QuixLake(spark, base)
    for key, site in (("1", "Oslo"), ("2", "Bergen"), (None, "Lima")):
        lake.set_metadata("t", key, {"site": site})
    either = ("--metadata", "site=Oslo", "--metadata", "site=Bergen")
    assert [row["offset"] for row in call_json(capsys, "quix", "read", base, "t", *either)] == [1, 2]
    shown = call_json(capsys, "quix", "metadata", base, "t", "--null-key")
    assert [row["value"] for row in shown] == ["Lima"]
    twice = ("--set", "site=a", "--set", "site=b", "--key", "1")
    call(capsys, "quix", "metadata", base, "t", *twice, code=2)
    assert [row["value"] for row in lake.metadata("t", "1")] == ["Oslo"]
