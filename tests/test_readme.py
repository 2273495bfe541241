"""The code in the README runs, the README names each setting, and the pages render without warnings."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from docutils.core import publish_doctree
from pyspark.sql import SparkSession

import xskip
from tests.helpers import write_files
from tests.pages import blocks_of
from tests.quixlake.lakes import WrittenLake
from tests.quixlake.written import message
from xskip.quixlake.selection import milliseconds

README = Path(__file__).parents[1] / "README.rst"


def test_the_python_block_runs_and_skips(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = "ts timestamp, city string, user_id bigint"
    files = {"may": [(datetime(2024, 5, 2), "Oslo", 1)], "june": [(datetime(2024, 6, 2), "Bergen", 2)]}
    path = write_files(spark, tmp_path / "events", schema, files, "avro")
    code, *_ = blocks_of(README, "python")
    assert "/lake/events" in code
    exec(compile(code.replace("/lake/events", path), "README.rst", "exec"), {})
    printed = capsys.readouterr().out
    assert "2 in all, 1 read, 1 skipped" in printed
    assert xskip.is_enabled(spark)


def test_the_block_of_a_quix_lake_runs(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = WrittenLake(tmp_path)
    first = 331_130
    start = milliseconds("2026-01-31 09:30")
    rows = [
        message(first + i, timestamp=start + i, value=b'{"temp": %d, "site": "Oslo"}' % (25 + i)) for i in range(10)
    ]
    lake.describe([lake.segment("B", rows[:5], "csv-data"), lake.segment("B", rows[5:], "csv-data")])
    _, code, *_ = blocks_of(README, "python")
    names: dict[str, Any] = {"spark": spark}
    exec(compile(code.replace("s3a://bucket/workspace", str(tmp_path)), "README.rst", "exec"), names)
    assert "1 topics, 2 segments" in capsys.readouterr().out
    assert names["messages"].count() == 10


def test_every_setting_is_named() -> None:
    sources = [*(README.parent / "xskip").rglob("*.py"), *(README.parent / "xskip").rglob("*.java")]
    read = {
        key for path in sources for key in re.findall(r'"(spark\.xskip\.[\w.]+)"', path.read_text(encoding="utf-8"))
    }
    shown = README.read_text(encoding="utf-8").replace("``….", "``spark.xskip.")
    assert len(read) > 10
    assert {key for key in read if f"``{key}``" not in shown} == set()


@pytest.mark.parametrize("page", ["README.rst", "CHANGELOG.rst", "CONTRIBUTING.rst", "specs/custom-index.rst"])
def test_pages_render_without_a_warning(page: str) -> None:
    text = (README.parent / page).read_text(encoding="utf-8")
    publish_doctree(text, settings_overrides={"report_level": 2, "halt_level": 2})
