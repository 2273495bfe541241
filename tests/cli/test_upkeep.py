"""The commands that keep an index for long: they validate, repair, extend, list and check it."""

from __future__ import annotations

import argparse
import os
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.cli.calls import call_json
from tests.falsified import falsify
from tests.helpers import write_once
from xskip import SkippingIndex
from xskip.cli import sessions
from xskip.cli.main import main
from xskip.metadatastore.commit import new_file_name


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    path = write_once(spark, tmp_path / "data", "a int, s string", {f"f{i}": [(i, f"s{i}")] for i in range(3)})
    assert main(("create", path, "--minmax", "a")) == 0
    return path


def kinds(capsys: pytest.CaptureFixture[str], path: str) -> list[str]:
    return [index["name"] for index in call_json(capsys, "describe", path)["indexes"]]


def test_indexes_are_added_and_removed(capsys: pytest.CaptureFixture[str], path: str) -> None:
    call_json(capsys, "add", path, "--valuelist", "s", "--index", "bloomfilter(a, fpp=0.1)")
    assert kinds(capsys, path) == ["minmax", "valuelist", "bloomfilter"]
    call_json(capsys, "remove", path, "valuelist(s)", "bloomfilter(a)")
    assert kinds(capsys, path) == ["minmax"]
    assert call_json(capsys, "remove", path, "nothing(a)", code=2)["error"]["found"] == "nothing(a)"


def test_wrong_statistics_are_found_and_repaired(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    falsify(spark, SkippingIndex.for_path(spark, path), ("minmax", ("a",)), {"f1": {"min": 7, "max": 8}})
    assert len(call_json(capsys, "validate", path, code=1)["wrong"]) == 1
    repaired = call_json(capsys, "repair", path, "--check")
    assert [Path(each).stem for each in repaired["repaired"]] == ["f1"]
    assert call_json(capsys, "validate", path, "--check")["wrong"] == []


def test_commits_are_listed(capsys: pytest.CaptureFixture[str], path: str) -> None:
    call_json(capsys, "add", path, "--nullcount", "s")
    commits = call_json(capsys, "history", path)["commits"]
    assert [each["operation"] for each in commits] == ["create", "add"]
    times = [datetime.fromisoformat(each["created"]) for each in commits]
    assert [each.utcoffset() for each in times] == [timedelta()] * 2
    assert times == sorted(times)


def test_leftovers_are_removed(capsys: pytest.CaptureFixture[str], path: str) -> None:
    (folder,) = Path(path, "_xskip").iterdir()
    leftover = folder / new_file_name(7)
    leftover.write_bytes(b"x")
    os.utime(leftover, (1, 1))
    assert len(call_json(capsys, "vacuum", path, "--dry-run")["files"]) == 1
    assert leftover.exists()
    assert call_json(capsys, "vacuum", path, "--older-than", "100000d")["files"] == []
    assert len(call_json(capsys, "vacuum", path, "--older-than", "2h")["files"]) == 1
    assert not leftover.exists()


def test_a_moved_dataset_keeps_its_index(capsys: pytest.CaptureFixture[str], path: str) -> None:
    moved = str(Path(path).rename(Path(path).with_name("moved")))
    assert call_json(capsys, "exists", moved) == {"exists": False}
    call_json(capsys, "adopt", moved)
    assert call_json(capsys, "status", moved, "--check")["up_to_date"]


def test_a_diagnosis_and_settings(spark: SparkSession, capsys: pytest.CaptureFixture[str], path: str) -> None:
    checks = {check["name"]: check for check in call_json(capsys, "doctor", path, "--check")["checks"]}
    assert (checks["round trip"]["state"], checks["index"]["state"]) == ("ok", "ok")
    assert checks["spark-avro"]["advice"] == ""
    (Path(path) / "f0.parquet").touch()
    stale = {check["name"]: check for check in call_json(capsys, "doctor", path, "--check", code=1)["checks"]}
    assert (stale["index"]["state"], stale["index"]["advice"]) == ("warning", "run xskip refresh")
    call_json(capsys, "refresh", path)
    spark.conf.set("spark.xskip.strickt", "true")
    try:
        assert call_json(capsys, "settings")["settings"][-1]["key"] == "spark.xskip.strickt"
        found = call_json(capsys, "settings", "--check", code=1)["settings"]
    finally:
        spark.conf.unset("spark.xskip.strickt")
    assert "did you mean spark.xskip.strict" in found[-1]["problem"]
    assert all(each["meaning"] for each in found[:-1])


def test_a_diagnosis_loads_the_format_of_the_dataset(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"f": [(1,)]}
    paths = {fmt: write_once(spark, tmp_path / fmt, "a int", files, fmt) for fmt in ("avro", "parquet")}
    for fmt, path in paths.items():
        xskip.SkippingIndex.for_path(spark, path, format=fmt).create([xskip.MinMax("a")], progress=False)
    session, asked = sessions.session, []

    def noted(arguments: argparse.Namespace, fmt: str = "") -> AbstractContextManager[SparkSession]:
        asked.append(fmt)
        return session(arguments, fmt)

    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    monkeypatch.setattr(sessions, "session", noted)
    for words in ([paths["avro"]], [paths["parquet"]], []):
        call_json(capsys, "doctor", *words)
    assert asked == ["avro", "parquet", ""]


def test_advice_names_an_index_that_rules_out_nothing(
    spark: SparkSession, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call_json(capsys, "advise", path, "--check")["advice"] == []  # three files say nothing
    files = {f"f{i}": [(0, f"s{i}"), (9, f"s{i}")] for i in range(8)}
    alike = write_once(spark, tmp_path / "alike", "a int, s string", files)
    call_json(capsys, "create", alike, "--minmax", "a", "--minmax", "s")
    (advice,) = call_json(capsys, "advise", alike, "--check", code=1)["advice"]
    assert (advice["action"], advice["subject"]) == ("remove", "minmax(a)")
    assert main(("advise", alike)) == 0
    assert "minmax(a) rules out next to nothing" in capsys.readouterr().out
