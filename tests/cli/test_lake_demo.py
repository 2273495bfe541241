"""The demonstration of a Quix Lake, and the example of its use, run in the session of the tests."""

from __future__ import annotations

import runpy
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.cli.demo_pages import check_page
from tests.quixlake.lakes import hourly
from xskip.cli import lake_demo
from xskip.cli.main import main
from xskip.quixlake import QuixLake

EXAMPLE = Path(__file__).parents[2] / "examples" / "quix_lake.py"


@pytest.fixture(autouse=True)
def _shared_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests


def test_the_demonstration_shows_each_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--lake", "--directory", str(tmp_path / "demo")]) == 0
    shown = capsys.readouterr().out
    for line in (
        "wrote 12,960 messages of 3 machines as 216 segments",
        "2 topics, 225 segments",
        "3 keys, 216 segments",
        "2 keys, 6 segments",
        "360 messages, the hottest of the oven: 120.0 degrees",
        "216 in all, 9 read, 207 skipped",
        "indexed 216 segments in",
        "segments replaced  216",
        "segments added     9",
        "removed 216 files; the check finds 0 faults",
        "sent 30 messages to a function",
    ):
        assert line in shown, line
    hot = next(line.split() for line in shown.splitlines() if line.startswith("hot, by a field of the payload"))
    assert (hot[7:10], hot[-1]) == (["50", "216", "2"], "yes")
    assert max(map(len, shown.splitlines())) <= 190
    page = Path(shown.splitlines()[-1].rpartition(": ")[2])
    assert page == tmp_path / "demo" / "report.html"
    check_page(page.read_text(encoding="utf-8"), queries=4)
    # a result that differs, in a shorter demonstration with data in the same directory
    monkeypatch.setattr(lake_demo, "_compact", lambda _: False)
    monkeypatch.setattr(lake_demo, "_MINUTES", 44 * 60)
    monkeypatch.setattr(lake_demo, "_QUERIES", ())
    monkeypatch.setattr(lake_demo, "_replay", lambda _: None)
    assert main(["demo", "--lake", "--directory", str(tmp_path / "demo")]) == 1
    assert "wrote 7,920 messages of 3 machines as 132 segments" in capsys.readouterr().out


def test_the_example_runs_and_skips(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hourly(tmp_path, exact=True)
    old = timedelta(0)
    compact, clean = QuixLake.compact, QuixLake.clean
    monkeypatch.setattr(QuixLake, "compact", lambda lake, topic: compact(lake, topic, older_than=old))
    monkeypatch.setattr(QuixLake, "clean", lambda lake, topic: clean(lake, topic, older_than=old))
    run = runpy.run_path(str(EXAMPLE))["main"]
    run(str(tmp_path), "t")
    shown = capsys.readouterr().out
    assert "2 keys, 12 segments" in shown
    assert shown.count("12 in all, 4 read, 8 skipped") == 2, shown
    assert "segments replaced  12" in shown
    assert len(list(tmp_path.glob("Raw/*/*/*/ts_*"))) == 2
    run(str(tmp_path), "t")  # refreshes the index of the topic
    assert "2 keys, 2 segments" in capsys.readouterr().out
    assert xskip.is_enabled(spark)
