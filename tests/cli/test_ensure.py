"""The command ``ensure``, for one dataset and for all datasets of a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.cli.calls import call, call_json
from tests.docs.blocks import blocks_in
from tests.helpers import write_once
from xskip import BloomFilter, MinMax, ValueList
from xskip.cli.ensure import datasets_of
from xskip.cli.main import main
from xskip.cli.parser import make_parser
from xskip.errors import DatasetError

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.rst"
SCHEMA = "a int, s string"
FILES: dict[str, list[tuple[Any, ...]]] = {"f": [(1, "x")], "g": [(2, "y")]}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory with a Parquet, an Avro and a CSV dataset."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    for fmt in ("parquet", "avro"):
        write_once(spark, tmp_path / fmt, SCHEMA, FILES, fmt)
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "f.csv").write_text("a,s\n1,x\n")
    return tmp_path


def test_one_dataset(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(lake / "parquet")
    planned = call_json(capsys, "ensure", path, "--minmax", "a", "--dry-run", "--check", code=1)
    assert (planned["created"], planned["dry_run"], planned["added"]) == (True, True, 2)
    assert call_json(capsys, "exists", path) == {"exists": False}
    assert call_json(capsys, "ensure", path, "--minmax", "a")["created"]
    assert call_json(capsys, "ensure", path, "--minmax", "a", "--check")["indexes_added"] == []
    changed = call_json(capsys, "ensure", path, "--valuelist", "s", "--check", code=1)
    assert (changed["indexes_added"], changed["indexes_removed"]) == (["valuelist(s)"], ["minmax(a)"])
    text = call(capsys, "ensure", path, "--valuelist", "s")
    assert text.splitlines()[1].split() == ["files", "added", "0"]


def test_all_datasets_of_a_file(lake: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    spark.sql(f"CREATE TABLE made (a int, s string) USING parquet LOCATION '{lake}/parquet'")
    config = lake / "index.toml"
    config.write_text(f"""
[[dataset]]
path = "{lake}/avro"
format = "avro"
location = "{lake}/md"
indexes = ["minmax(a)", "valuelist(s, max_values=5)"]

[[dataset]]
path = "{lake}/csv"
format = "csv"
at = "{lake}/md-csv"
indexes = ["minmax(a)"]
[dataset.options]
header = true
inferSchema = true

[[dataset]]
table = "made"
[[dataset.index]]
type = "minmax"
column = "a"
""")
    planned = call_json(capsys, "ensure", "--config", str(config), "--dry-run")
    assert [(each["created"], each["added"]) for each in planned] == [(True, 2), (True, 1), (True, 2)]
    assert not list(lake.glob("md*"))
    made = call_json(capsys, "ensure", "--config", str(config))
    assert [Path(each["dataset"]).name for each in made] == ["avro", "csv", "parquet"]
    assert [each["indexes_added"] for each in made] == [["minmax(a)", "valuelist(s)"], ["minmax(a)"], ["minmax(a)"]]
    again = call_json(capsys, "ensure", "--config", str(config), "--check")
    assert [(each["created"], each["added"], each["unchanged"]) for each in again] == [
        (False, 0, 2), (False, 0, 1), (False, 0, 2),
    ]  # fmt: skip
    assert (lake / "md-csv" / "_commits").is_dir()
    assert (lake / "parquet" / "_xskip").is_dir()  # the base location of another dataset does not count
    assert len(list((lake / "md").iterdir())) == 1


def test_the_file_of_the_reference_is_valid(tmp_path: Path) -> None:
    _, block = (block for block in blocks_in(REFERENCE.read_text(encoding="utf-8")) if block.language == "toml")
    (tmp_path / "lake.toml").write_text(block.code)
    assert [each.indexes for each in datasets_of(str(tmp_path / "lake.toml"))] == [
        [MinMax("ts"), ValueList("city", max_values=100)],
        [MinMax("temp")],
        [MinMax("ordered"), BloomFilter("customer")],
    ]


def test_an_error_of_one_dataset_does_not_concern_the_others(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = lake / "index.toml"
    config.write_text(f"""
[[dataset]]
path = "{lake}/none"
indexes = ["minmax(a)"]
[[dataset]]
path = "{lake}/csv"
indexes = ["minmax(z)"]
[[dataset]]
path = "{lake}/parquet"
indexes = ["minmax(a)"]
""")
    results = call_json(capsys, "ensure", "--config", str(config), code=2)
    assert "cannot read the dataset" in results[0]["problem"]
    assert results[1]["problem"]
    assert (results[2]["problem"], results[2]["created"]) == ("", True)
    text = call(capsys, "ensure", "--config", str(config), code=2)
    assert f"dataset  {lake}/none\nproblem  cannot read the dataset" in text


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("", "defines no dataset"),
        ('[[index]]\ntype = "minmax"\ncolumn = "a"\n', "defines no dataset"),
        ('[[dataset]]\nindexes = ["minmax(a)"]\n', "has no name, or two .*found: neither path nor table"),
        ('[[dataset]]\npath = "/d"\ntable = "t"\nindexes = ["minmax(a)"]\n', "found: path and table"),
        ('[[dataset]]\npath = "/d"\n', "a dataset has no index"),
        ('[[dataset]]\npath = "/d"\nindexes = "minmax(a)"\n', "a key of another type"),
        ('[[dataset]]\npath = 3\nindexes = ["minmax(a)"]\n', "a key of another type"),
        ('[[dataset]]\npath = "/d"\nindexes = ["minmax(a)"]\noptions = ["x"]\n', "a key of another type"),
        ('[[dataset]]\npath = "/d"\nindexs = ["minmax(a)"]\n', r"unknown keys \(.*did you mean indexes"),
        ('[[dataset]]\npath = "/d"\nindexes = ["minmx(a)"]\n', "did you mean minmax"),
        ('[[dataset]]\ntable = "t"\nformat = "avro"\nindexes = ["minmax(a)"]\n', "the catalog determines"),
        ('[[dataset]]\npath = "/d"\nlocation = ""\nindexes = ["minmax(a)"]\n', "a key of another type"),
        (2 * '[[dataset]]\npath = "/d"\nindexes = ["minmax(a)"]\n', r"a dataset twice .*found: /d"),
        ('format = "csv"\n[[dataset]]\npath = "/d"\nindexes = ["minmax(a)"]\n', "unknown keys"),
    ],
)
def test_a_file_that_is_not_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str, message: str
) -> None:
    """The error comes before Spark starts."""
    (tmp_path / "index.toml").write_text(config)
    assert main(["ensure", "--config", str(tmp_path / "index.toml")]) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "needs a path, or a file"),
        (["--minmax", "a"], "needs a path, or a file"),
        (["/d"], "no index is given"),
        (["--config", "FILE", "--format", "avro"], "the file says what each dataset has"),
        (["--config", "FILE", "--minmax", "a"], "the file says what each dataset has"),
        (["/d", "--config", "FILE"], "the configuration defines datasets of its own"),
    ],
)
def test_arguments_that_do_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    config = tmp_path / "index.toml"
    config.write_text('[[dataset]]\npath = "/d"\nindexes = ["minmax(a)"]\n')
    assert main(["ensure", *(each.replace("FILE", str(config)) for each in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_an_interruption_is_not_the_problem_of_a_dataset(
    lake: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next dataset would begin, while the user waits for the end."""
    config = lake / "index.toml"
    tables = (f'[[dataset]]\npath = "{lake}/{each}"\nindexes = ["minmax(a)"]\n' for each in ("none", "parquet"))
    config.write_text("".join(tables))
    monkeypatch.setattr("xskip.cli.interrupts.is_requested", lambda: True)
    arguments = make_parser().parse_args(["ensure", "--config", str(config)])
    with pytest.raises(DatasetError, match="cannot read the dataset"):
        arguments.run(arguments)
    assert not (lake / "parquet" / "_xskip").exists()
