"""Each command of a Quix Lake runs in the process of the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.quixlake.lakes import WrittenLake, hourly, records, skipped
from xskip.cli.main import main
from xskip.quixlake import QuixLake


@pytest.fixture
def base(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    hourly(tmp_path, ("a", "b"), exact=True).set("b", "site", "Oslo")
    return str(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(("quix", *arguments)) == code
    return capsys.readouterr().out


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(run(capsys, *arguments, "--output", "json"))


def test_discovery(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "topics", base).startswith("1 topic, 12 segments, ")
    assert [row["stream_key"] for row in run_json(capsys, "keys", base, "t", "--listed")] == ["a", "b"]
    (row,) = run_json(capsys, "partitions", base, "t", "--key", "b")
    assert (row["partition"], row["last"]) == (1, 53)
    found = run_json(capsys, "range", base, "t", "--key", "a", "--end", "2025-08-21 01:00")
    assert found == {"start": "2025-08-21 00:00:00+00:00", "end": "2025-08-21 00:30:00+00:00", "unknown": 0}
    selection = ("--partition", "1", "--offsets", "33:41", "--metadata", "site=Oslo")
    segments = run_json(capsys, "segments", base, "t", *selection)
    assert [row["first"] for row in segments] == [30, 40]
    assert "Oslo" in run(capsys, "metadata", base, "t")
    assert [row["stream_key"] for row in run_json(capsys, "find", base, "oslo")] == ["b"]
    assert [row["stream_key"] for row in run_json(capsys, "find", base, "--metadata", "site=Oslo")] == ["b"]


def test_the_start_of_spark_is_said(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("quix", "partitions", base, "t", "--json")) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[0] == "xskip: starts Spark, because xskip quix partitions runs in it"
    assert [row["partition"] for row in json.loads(printed.out)] == [0, 1]


def test_messages(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, "read", base, "t", "--key", "a", "--offsets", ":2")
    assert shown.splitlines()[0].split() == ["time", "stream_key", "partition", "offset", "key", "value"]
    assert "value 1" in shown
    assert len(shown.splitlines()) == 4
    rows = run_json(capsys, "read", base, "t", "--limit", "1", "--value", "upper(string(value))")
    assert [(row["key"], row["value"], row["headers"], row["time"]) for row in rows] == [
        ("key", "VALUE 0", [], "2025-08-21 00:00:00")
    ]


def test_several_topics(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    WrittenLake(Path(base)).segment("k", records(2), "u")
    rows = run_json(capsys, "read", base, "t", "u", "--offsets", "1:2")
    assert sorted((row["topic"], row["partition"]) for row in rows) == [("t", 0), ("t", 1), ("u", 0)]


def test_custom_metadata(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    def values(*arguments: str) -> list[tuple[str | None, str, str]]:
        found = run_json(capsys, "metadata", base, "t", *arguments)
        return [(row["stream_key"], row["name"], row["value"]) for row in found]

    assert values("--key", "a", "--set", "team=red", "--set", "note=a=b") == [
        ("a", "note", "a=b"),
        ("a", "team", "red"),
    ]
    assert values("--key", "b", "--set", "team=blue", "--delete", "site") == [("b", "team", "blue")]
    assert values() == [("a", "note", "a=b"), ("a", "team", "red"), ("b", "team", "blue")]
    assert values("--null-key", "--set", "x=") == [(None, "x", "")]
    assert len(values()) == 4
    assert values("--null-key", "--delete", "x") == []
    assert [row["stream_key"] for row in run_json(capsys, "find", base, "--metadata", "team=red")] == ["a"]
    for arguments, message in (
        (("--set", "a=b"), "custom metadata is that of one stream key (expected: --key KEY or --null-key)"),
        (("--delete", "a"), "custom metadata is that of one stream key"),
        (("--key", "a", "--null-key"), "a stream key and the null key are given"),
        (("--key", "a", "--set", "team=x", "--delete", "team"), "a name is set and deleted (found: team"),
    ):
        assert main(("quix", "metadata", base, "t", *arguments)) == 2
        assert message in capsys.readouterr().err
    assert len(values()) == 3


def test_indexes_on_payloads(base: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """[QLK-IX-5] [QLK-IX-6]"""
    written = WrittenLake(Path(base))
    rows = [[row | {"value": b'{"temp": %d}' % row["offset"]} for row in records(5, 1000 + 10 * n)] for n in range(4)]
    written.describe([written.segment("c", own, "u") for own in rows], exact=True)
    payload = ("--value", "json", "--schema", "temp DOUBLE")
    flags = ("--minmax", "value.temp", "--bloomfilter", "key", "--index", "valuelist(key, max_values=5)")
    assert run_json(capsys, "index", base, "u", *payload, *flags)["created"]
    found = QuixLake(spark, base).read("u", value="json", schema="temp DOUBLE").filter("value.temp = 1012")
    assert skipped(spark, found) == (1, 4)
    index = QuixLake(spark, base).index("u")
    names = {f"{row['index']}({row['columns']})" for row in index.describe().to_arrow().to_pylist()}
    assert {"minmax(offset)", "minmax(timestamp)", "bloomfilter(key)", "valuelist(key)"} < names
    assert not run_json(capsys, "index", base, "u", *payload, *flags)["indexes_added"]
    assert run_json(capsys, "index", base, "u", "--bloomfilter", "key")["indexes_removed"]
    assert skipped(spark, QuixLake(spark, base).read("u").filter("offset = 1012")) == (1, 4)
    assert "unchanged" in run(capsys, "index", base, "u")
    assert {f"{row['index']}({row['columns']})" for row in index.describe().to_arrow().to_pylist()} < names
    for arguments, message in (
        (payload, "a decoding of payloads serves indexes on fields"),
        (("--value", "protobuf", "--minmax", "value.temp"), "no index supports this decoding"),
        (("--index", "nope(key)"), "the index type is not known"),
    ):
        assert main(("quix", "index", base, "u", *arguments)) == 2
        assert message in capsys.readouterr().err


def test_index_and_checks(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "files added  12" in run(capsys, "index", base, "t", "--trust", "names")
    assert "unchanged    12" in run(capsys, "index", base, "t")
    assert run(capsys, "check", base, "t") == "0 cases\n"
    assert run(capsys, "validate", base, "t", "--sample", "3") == "0 wrong claims\n"
    WrittenLake(Path(base)).segment("a", records(2, first=900))
    assert "no descriptor names the segment" in run(capsys, "check", base, "t", code=1)


def test_compactions(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "segments replaced  0" in run(capsys, "compact", base, "t")
    found = run_json(capsys, "compact", base, "t", "--older-than", "0s")
    assert (found["replaced"], found["added"], found["messages"]) == (12, 2, 48)
    assert run_json(capsys, "clean", base, "t") == {"removed": 0}
    assert run(capsys, "clean", base, "t", "--older-than", "0s", "--abandon-lost") == "12\n"
    assert [row["segments"] for row in run_json(capsys, "topics", base)] == [2]


def test_errors(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (("keys", base, "u"), "the lake has no such topic"),
        (("topics", f"{base}/none"), "the folder of the lake does not exist"),
        (("find", f"{base}/Raw"), "the folder is no lake"),
        (("read", base, "t", "--offsets", "x"), "offsets cannot be understood"),
        (("read", base, "t", "--start", "soon"), "a moment cannot be understood"),
        (("read", base, "t", "--limit", "-1"), "(found: '-1'; expected: a whole number of at least 1); see"),
        (("read", base, "t", "--value", "nope(value)"), "nope"),
    ):
        assert main(("quix", *arguments)) == 2
        assert message in capsys.readouterr().err
