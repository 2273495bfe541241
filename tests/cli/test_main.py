"""Each command of the command line runs in the process of the tests, and one command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import opened_files, write_files, write_once
from xskip.api.session import check_java
from xskip.cli.demo import empty_directory
from xskip.cli.main import main
from xskip.errors import JavaNotFoundError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    return write_once(spark, tmp_path / "data", "a int, s string", {f"f{i}": [(i, f"s{i}")] for i in range(3)})


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(arguments) == 0
    return capsys.readouterr().out


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(run(capsys, *arguments, "--output", "json"))


def fail(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    *before, error = said.err.splitlines(keepends=True)
    assert error.startswith("xskip: ")
    assert all(line.startswith("xskip: starts Spark, because ") for line in before)
    assert len(before) <= 1
    return error


def test_commands_manage_an_index_from_create_to_drop(
    spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    created = run(capsys, "create", path, "--minmax", "a", "--valuelist", "s", "--bloomfilter", "a")
    assert "files added  3" in created
    assert opened_files(spark.read.parquet(path).filter("a = 1")) == {"f1"}
    described = run(capsys, "describe", path)
    assert path in described
    assert all(name in described for name in ("minmax", "valuelist", "bloomfilter"))
    assert "up to date" in run(capsys, "status", path)
    listed = run(capsys, "files", path, "a = 1")
    assert "f1.parquet" in listed
    assert "f0.parquet" not in listed
    write_once(spark, Path(path), "a int, s string", {"f9": [(9, "s9")]})
    assert "no, run xskip refresh" in run(capsys, "status", path)
    assert "unchanged    3" in run(capsys, "refresh", path)
    assert "2 -> 1" in run(capsys, "optimize", path)
    told = run_json(capsys, "optimize", path)
    assert (told["metadata_files_before"], told["metadata_files_after"], told["files"]) == (1, 1, 4)
    assert opened_files(spark.read.parquet(path).filter("a = 1")) == {"f1"}
    assert "dropped" in run(capsys, "drop", path)
    assert opened_files(spark.read.parquet(path).filter("a = 1")) == {"f0", "f1", "f2", "f9"}


def test_bounds_in_file_names(spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_json(capsys, "create", path, "--pathbounds", "f{a}")["added"] == 3
    assert opened_files(spark.read.parquet(path).filter("a = 1")) == {"f1"}
    assert run_json(capsys, "status", path)["unknown_paths"] == 0
    assert "wrong statistics  0" in run(capsys, "validate", path)
    assert run_json(capsys, "validate", path, "--sample", "2")["files"] == 2
    assert "a single brace" in fail(capsys, "create", path, "--pathbounds", "f{a")


def test_commands_print_results_as_json(
    spark: SparkSession, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = str(tmp_path / "base")
    place = ("--location", base)
    created = run_json(capsys, "create", path, *place, "--minmax", "a", "--on-error", "skip")
    assert (created["added"], created["removed"], created["unchanged"], created["failed"]) == (3, 0, 0, [])
    described = run_json(capsys, "describe", path, *place)
    assert described["dataset"] == path
    assert described["location"].startswith(base)
    assert [(i["name"], i["columns"], i["types"]) for i in described["indexes"]] == [("minmax", ["a"], ["int"])]
    status = run_json(capsys, "status", path, *place)
    assert (status["version"], status["indexed"], status["missing"], status["stale"]) == ("CURRENT", 3, 0, 0)
    files = run_json(capsys, "files", path, "a >= 1", *place)
    assert sorted(Path(f["name"]).stem for f in files["files"]) == ["f1", "f2"]
    assert [f["size"] for f in files["files"]] == [Path(f["name"]).stat().st_size for f in files["files"]]
    assert files["total"] == 3
    (listed,) = run_json(capsys, "list", base)["indexes"]
    assert (listed["dataset"], listed["files"]) == (path, 3)
    assert run_json(capsys, "refresh", path, *place)["unchanged"] == 3
    assert run_json(capsys, "refresh", path, *place, "--trust-listing", "--recheck", "d")["unchanged"] == 3
    assert run_json(capsys, "drop", path, *place)["metadata_files"] == 1
    assert run_json(capsys, "list", base)["indexes"] == []


def test_a_list_finds_indexes_inside_of_datasets(
    spark: SparkSession, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert path == str(tmp_path / "data")
    made = [tmp_path / "lake" / name for name in ("bronze/events", "visits")]
    for each in made:
        write_files(spark, each, "a int", {"p=1/f": [(1,)], "p=2/f": [(2,)]})
        xskip.SkippingIndex.for_path(spark, str(each)).create([xskip.MinMax("a")])
    write_files(spark, tmp_path / "lake" / "other", "a int", {"p=1/f": [(1,)]})
    capsys.readouterr()
    for place, expected in (("lake", made), ("lake/visits", made[1:]), ("lake/bronze", made[:1]), ("lake/other", [])):
        found = run_json(capsys, "list", str(tmp_path / place))["indexes"]
        assert [each["dataset"] for each in found] == [str(root) for root in expected]
    assert run(capsys, "list", str(tmp_path / "lake/other")) == "no index\n"
    assert caplog.messages == []


def test_a_relative_directory_is_that_of_the_shell(
    spark: SparkSession, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    created = run_json(capsys, "create", path, "--location", "md", "--minmax", "a")
    assert created["added"] == 3
    assert run_json(capsys, "describe", path, "--location", f"{tmp_path}/md")["location"].startswith(f"{tmp_path}/md/")
    assert len(run_json(capsys, "list", "md")["indexes"]) == 1
    assert run_json(capsys, "create", path, "--at", "mine", "--minmax", "a")["added"] == 3
    assert run_json(capsys, "describe", path, "--at", f"{tmp_path}/mine")["location"] == f"{tmp_path}/mine"
    assert run_json(capsys, "explain", path, "a >= 2", "--at", "mine")["scans"][0]["skipped"] == 2
    assert run_json(capsys, "status", path, "--at", "mine")["up_to_date"]


def test_commands_accept_formats_and_reader_options(
    spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    avro = f"{path}-avro"
    spark.read.parquet(path).coalesce(1).write.format("avro").save(avro)
    assert run_json(capsys, "create", avro, "--format", "avro", "--minmax", "a")["added"] == 1
    assert run_json(capsys, "describe", avro, "--format", "avro")["format"] == "avro"
    csv = f"{path}-csv"
    spark.read.parquet(path).coalesce(1).write.option("header", "true").csv(csv)
    options = ("--format", "csv", "--option", "header=true", "--option", "inferSchema=true")
    run(capsys, "create", csv, *options, "--minmax", "a")
    assert run_json(capsys, "describe", csv, *options)["indexes"][0]["types"] == ["int"]
    assert "option header" in run_json(capsys, "status", csv, "--format", "csv")["problem"]


def test_conf_sets_spark_settings(spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "create", path, "--minmax", "a", "--conf", "spark.sql.shuffle.partitions=3")
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3"


def test_errors_are_one_line_on_stderr(
    spark: SparkSession, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "run xskip create first" in fail(capsys, "status", path)
    assert "run xskip create first" in fail(capsys, "optimize", path)
    assert "one of a, s" in fail(capsys, "create", path, "--minmax", "nope")
    for command in ("create", "add"):
        assert fail(capsys, command, path) == (
            "xskip: no index is given (expected: at least one, such as --minmax COLUMN or --valuelist COLUMN); "
            f"see xskip {command} --help\n"
        )
    assert "name the package of its file system with --package" in fail(capsys, "status", "nope://lake/events")
    assert "cannot read the dataset" in fail(capsys, "create", str(tmp_path / "none"), "--minmax", "a")
    (tmp_path / "empty").mkdir()
    empty = fail(capsys, "create", str(tmp_path / "empty"), "--minmax", "a")
    assert "; write files of the format parquet first, or name another format with --format" in empty
    run(capsys, "create", path, "--minmax", "a")
    again = fail(capsys, "create", path, "--minmax", "a")
    assert "already has an index" in again
    assert (
        "run xskip refresh to bring it up to date, xskip add to add to it, or xskip drop before xskip create" in again
    )
    (Path(path) / "f9.parquet").write_bytes(b"broken" * 9)
    assert "f9.parquet" in fail(capsys, "refresh", path)
    assert run_json(capsys, "refresh", path, "--on-error", "skip")["failed"] == [f"file:{path}/f9.parquet"]


def test_an_invalid_predicate_is_an_error(spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "true")
    run(capsys, "create", path, "--minmax", "a")
    assert "nope" in fail(capsys, "files", path, "nope = 1")
    assert "a >" in fail(capsys, "files", path, "a >")
    for command in ("files", "explain"):
        assert "(where: a = 'x'; found: [CAST_INVALID_INPUT] " in fail(capsys, command, path, "a = 'x'")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["none"],
        ["create"],
        ["files", "x"],
        ["status", "x", "--output", "xml"],
        ["status", "x", "--conf", "nonsense"],
    ],
)
def test_invalid_arguments_name_the_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command = "" if arguments in ([], ["none"]) else f" {arguments[0]}"
    assert fail(capsys, *arguments).endswith(f"; see xskip{command} --help\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["creat", "x"], "xskip has no such command (found: creat; expected: one of ensure, create, choose, refresh, "),
        (["creat", "x"], "; did you mean create?"),
        (["quix", "topcs", "x"], "xskip quix has no such command (found: topcs; expected: one of topics, "),
        (["quix", "topcs", "x"], "; did you mean topics?"),
        (["quix"], "xskip quix needs COMMAND; see xskip quix --help"),
        (["create", "x", "--formt=avro"], "xskip create has no such flag (found: --formt); did you mean --format?"),
        (["create", "x", "--min-max", "a"], "xskip create has no such flag (found: --min-max); did you mean --minmax?"),
        (["quix", "read", "x", "t", "--strat", "9"], "(found: --strat); did you mean --start?"),
        (["status", "x", "--zzzz"], "xskip status has no such flag (found: --zzzz); see xskip status --help"),
        (["--conf", "a=b", "status", "x"], "flags come after the command (found: --conf); see xskip COMMAND --help"),
        (["quix", "--conf", "a=b", "topics"], "after the command (found: --conf); see xskip quix COMMAND --help"),
        (
            ["validate", "x", "--sample", "0"],
            "--sample has an invalid value (found: '0'; expected: a whole number of at",
        ),
        (
            ["vacuum", "x", "--older-than", "3"],
            "(found: '3'; expected: a time with its unit, such as 30min, 12h or 1d)",
        ),
        (["quix", "compact", "x", "t", "--older-than", "6"], "(found: '6'; expected: a time with its unit, such as "),
        (["quix", "clean", "x", "t", "--older-than", "6.5"], "(found: '6.5'; expected: a time with its unit, such as "),
        (
            ["vacuum", "x", "--older-than", "soon"],
            "(found: 'soon'; expected: a time with its unit, such as 30min, 12h or 1d); see xskip ",
        ),
        (["refresh", "x", "y"], "xskip refresh takes fewer arguments (found: y); see xskip refresh --help"),
        (["create", "x", "--on-error", "skpi"], "(found: skpi; expected: one of raise, skip); did you mean skip?"),
        (["completion", "fsh"], "shell has no such value (found: fsh; expected: one of bash, zsh, fish)"),
        (
            ["create", "x", "--version", "new"],
            "--version has an invalid value (found: 'new'; expected: a whole number)",
        ),
        (
            ["quix", "replay", "x", "t", "--speed", "fast"],
            "--speed has an invalid value (found: 'fast'; expected: a number)",
        ),
        (
            ["quix", "segments", "x", "t", "--metadata", "a"],
            "--metadata has an invalid value (found: 'a'; expected",
        ),
        (["status", "x", "--location", ""], "--location has an invalid value (found: ''; expected: a directory)"),
        (["list", " "], "location has an invalid value (found: ' '; expected: a directory); see xskip list --help"),
    ],
)
def test_a_mistyped_argument_names_the_one_that_was_meant(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in fail(capsys, *arguments)


@pytest.mark.parametrize(
    "words",
    [
        ["create", "x", "--minmx", "a", "--json"],
        ["--json", "create"],
        ["creat", "x", "--output", "json"],
        ["status", "x", "--output=json", "--conf", "nonsense"],
        ["validate", "x", "--sample", "many", "--json"],
    ],
)
def test_a_mistyped_argument_is_json_where_json_is_asked(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.err == ""
    error = json.loads(said.out)["error"]
    assert error["type"] == "ArgumentError"
    assert error["what"]
    assert error["hint"].startswith(("see xskip", "did you mean"))


def test_errors_name_flags_instead_of_arguments_of_python(
    spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "create", path, "--minmax", "a")
    assert fail(capsys, "validate", path, "--sample", "0") == (
        "xskip: --sample has an invalid value (found: '0'; expected: a whole number of at least 1); "
        "see xskip validate --help\n"
    )
    assert fail(capsys, "vacuum", path, "--older-than", "soon") == (
        "xskip: --older-than has an invalid value (found: 'soon'; expected: a time with its unit, such as 30min, 12h "
        "or 1d); see xskip vacuum --help\n"
    )
    assert "--index \"TYPE(COLUMN, key_label='LABEL')\"" in fail(capsys, "rotate-keys", path)
    assert fail(capsys, "add", path, "--minmax", "a").endswith("; to change its parameters, run xskip remove first\n")
    replay = ("quix", "replay", path, "t", "--servers", "s", "--into", "i", "--speed", "-1")
    assert fail(capsys, *replay).endswith("; without --speed, it replays as fast as possible\n")


def test_the_demonstration_deletes_no_files_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    assert "contains other files" in fail(capsys, "demo", "--directory", str(tmp_path))
    assert (tmp_path / "thesis.txt").read_text() == "x"
    assert "cannot write" in fail(capsys, "demo", "--directory", str(tmp_path / "thesis.txt"))
    assert (tmp_path / "thesis.txt").read_text() == "x"


def test_the_demonstration_replaces_the_data_of_an_earlier_run(tmp_path: Path) -> None:
    root = empty_directory(tmp_path / "a" / "b")
    (root / "old").mkdir()
    assert [file.name for file in empty_directory(root).iterdir()] == [".xskip-demo"]


def test_version_prints_the_version_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"xskip {xskip.__version__}\n"


def fake_java(folder: Path, version: str, code: int = 0) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\nprintf '%s\\n' '{version}' >&2\nexit {code}\n")
    java.chmod(0o755)
    return folder


#: what ``java -version`` says first, and what is wrong with it
JAVAS = {
    'openjdk version "1.8.0_402"': "Java 8",
    'openjdk version "11.0.22" 2024-01-16': "Java 11",
    'java version "16.0.1"': "Java 16",
    'openjdk version "17.0.10" 2024-01-16': "",
    'openjdk version "21" 2023-09-19': "",
    'openjdk version "25-ea" 2025-09-16': "",
    "Picked up JAVA_TOOL_OPTIONS: -Dx\nopenjdk version \"21.0.1\"": "",
}  # fmt: skip


def need_java(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(ROOT / ".ci" / "need-java")], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("version", JAVAS)
@pytest.mark.parametrize("where", ["JAVA_HOME", "PATH"])
def test_a_java_that_is_too_old_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, where: str
) -> None:
    home = fake_java(tmp_path / "jdk", version)
    environment = {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(home)}
    if where == "PATH":
        environment = {"PATH": f"{home}/bin:/usr/bin:/bin"}
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    wrong = JAVAS[version]
    shell = need_java(environment)
    if not wrong:
        check_java()
        assert (shell.returncode, shell.stdout, shell.stderr) == (0, "", "")
        return
    with pytest.raises(JavaNotFoundError, match=wrong) as caught:
        check_java()
    assert "install it with" in str(caught.value)
    assert shell.returncode == 2
    assert shell.stdout == ""
    assert wrong in shell.stderr
    assert "install it with" in shell.stderr
    assert len(shell.stderr.splitlines()) == 1


@pytest.mark.parametrize("broken", ["none on the path", "home without java", "java that fails"])
def test_a_missing_java_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sed", "head", "sh"):
        (tools / tool).symlink_to(next(Path(d, tool) for d in ("/usr/bin", "/bin") if Path(d, tool).exists()))
    environment = {"PATH": str(tools)}
    if broken == "home without java":
        environment["JAVA_HOME"] = str(tmp_path / "nothing")
    if broken == "java that fails":
        environment["JAVA_HOME"] = str(fake_java(tmp_path / "jdk", "Error occurred", code=1))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    assert main(["refresh", "/nowhere"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("xskip: Spark needs Java 17 or newer, and no Java was found")
    assert len(said.err.splitlines()) == 1
    shell = need_java(environment)
    assert shell.returncode == 2
    assert shell.stderr.startswith("Spark needs Java 17 or newer, and no Java was found; install it with")


def test_as_a_process(path: str) -> None:
    """A command in a new process starts its own Spark, and ends with exit code 0."""
    arguments = ["create", path, "--minmax", "a", "--output", "json", "--conf", "spark.master=local[1]"]
    ran = subprocess.run(
        [sys.executable, "-m", "xskip", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["added"] == 3
    assert list((Path(path) / "_xskip").rglob("part-*.parquet"))
