"""The scripts and the notebooks of ``examples`` run."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import write_once
from tests.quixlake.lakes import WrittenLake, records

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def main_of(name: str) -> Any:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]


def test_every_script_has_a_test() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == {"arrow_reader", "ensure_indexes", "quick_start", "quix_lake"}
    assert len(NOTEBOOKS) == 2


def test_quick_start(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main_of("quick_start")(str(tmp_path / "events"))
    said = capsys.readouterr().out
    assert "files added      300" in said
    assert "files unchanged  300" in said
    assert "300 in all" in said
    assert "new            1" in said
    expected = spark.read.format("avro").load(str(tmp_path / "events"))
    xskip.disable(spark)
    count = expected.filter("ts >= '2024-07-01' AND city = 'Oslo' AND ts < timestamp_seconds(1704067200 + 18000000)")
    assert f"{count.count()} events" in said


def test_ensure_indexes(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_once(spark, tmp_path / "data", "a int", {"one": [(1,)]})
    datasets = {path: [xskip.MinMax("a")]}
    ensure = main_of("ensure_indexes")
    capsys.readouterr()
    assert ensure("parquet", datasets) == 0
    assert capsys.readouterr().out == f"{path}: 1 added, 0 removed, not read: none\n"
    write_once(spark, Path(path), "a int", {"two": [(2,)]})
    assert ensure("parquet", datasets) == 0
    assert capsys.readouterr().out == f"{path}: 1 added, 0 removed, not read: none\n"
    assert xskip.SkippingIndex.for_path(spark, path).status().up_to_date
    assert ensure("parquet", {f"{tmp_path}/gone": [xskip.MinMax("a")], **datasets}) == 1
    said = capsys.readouterr().out
    assert f"{tmp_path}/gone: " in said
    assert f"{path}: 0 added" in said


def test_arrow_reader(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_once(spark, tmp_path / "data", "a int", {"low": [(1,), (2,)], "high": [(8,), (9,), (10,)]})
    xskip.SkippingIndex.for_path(spark, path).create([xskip.MinMax("a")])
    main_of("arrow_reader")(path, "a", 8)
    said = "1 of 2 files can hold matching rows\n3 rows in these files, 2 of them match\n"
    assert capsys.readouterr().out == said
    main_of("arrow_reader")(path, "a", 50)
    said = "0 of 2 files can hold matching rows\n0 rows in these files, 0 of them match\n"
    assert capsys.readouterr().out == said


def test_quix_lake(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = WrittenLake(tmp_path)
    lake.describe([lake.segment("k", records(5, first=first)) for first in (0, 5)])
    main_of("quix_lake")(str(tmp_path), "t")
    said = capsys.readouterr().out
    assert "count=10" in said
    assert "in all" in said


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run(
    spark: SparkSession, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    spark.conf.unset("spark.xskip.strict")  # as users have it
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    names: dict[str, Any] = {}
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    for number, cell in enumerate(cells):
        assert not cell.outputs
        exec(compile(cell.source, f"{path.name}:{number}", "exec"), names)
