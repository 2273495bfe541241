"""The command line: definitions of indexes, checks, JSON, quiet sessions, interruptions, help and completion."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.cli.calls import call, call_json
from tests.docs.blocks import blocks_in
from tests.helpers import index, opened_files, write_once
from xskip import BloomFilter, Formatted, GeoBox, MinMax, PathBounds, SkippingIndex, ValueList
from xskip.cli.commands import COMMANDS
from xskip.cli.completion import SHELLS, script
from xskip.cli.configuration_file import read_config
from xskip.cli.index_definitions import wanted_indexes
from xskip.cli.main import main
from xskip.cli.parser import make_parser
from xskip.errors import IndexDefinitionError

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference" / "command-line.rst"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
LOCAL = ("--conf", "spark.master=local[1]")


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    schema = "a int, b double, s string"
    return write_once(spark, tmp_path / "data", schema, {f"f{i}": [(i, i / 2, f"s{i}/x")] for i in range(3)})


def parsed(*arguments: str) -> argparse.Namespace:
    return make_parser().parse_args(["create", "/data", *arguments])


def parsers(parser: argparse.ArgumentParser | None = None) -> Iterator[argparse.ArgumentParser]:
    parser = parser or make_parser()
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers(each)


def test_flags_define_every_index_type_with_its_parameters(tmp_path: Path) -> None:
    config = tmp_path / "index.toml"
    config.write_text(
        '[[index]]\ntype = "bloomfilter"\ncolumn = "u"\nfpp = 0.1\n[[index]]\ntype = "pathbounds"\npattern = "f{a}"\n'
    )
    wanted = wanted_indexes(
        parsed(
            "--minmax", "a", "--minmax", "b.c", "--geobox", "x", "y", "--formatted", "s", r"^(\w+)/",
            "--index", "valuelist(city, max_values=5)", "--index", "minmax('size(tags)', expression=true)",
            "--index", "geobox(p.lon, p.lat, boxes=4)", "--config", str(config),
        )
    )  # fmt: skip
    assert wanted[:-1] == [
        MinMax("a"),
        MinMax("b.c"),
        GeoBox("x", "y"),
        Formatted("s", r"^(\w+)/"),
        ValueList("city", max_values=5),
        MinMax("size(tags)", expression=True),
        GeoBox("p.lon", "p.lat", boxes=4),
        BloomFilter("u", fpp=0.1),
    ]
    assert wanted[-1].name == "pathbounds"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("valuelist(city", "TYPE\\(COLUMN"),
        ("valuelist", "TYPE\\(COLUMN"),
        ("minmax(size(tags))", "TYPE\\(COLUMN"),
        ("minmax(5)", "TYPE\\(COLUMN"),
        ("minmax({[]: 1})", "TYPE\\(COLUMN"),
        ("prefix(a, length={[]: 1})", "TYPE\\(COLUMN"),
        ("nothing(a)", "one of minmax, valuelist"),
        ("minmx(a)", r"not known \(found: minmx; .*\); did you mean minmax\?$"),
        ("valuelist(a, longest=5)", r"valuelist has no such parameter \(found: longest; expected: one of column, "),
        ("valuelist(a, max_value=5)", r"; did you mean max_values\?$"),
        ("valuelist(a, max_values=0)", "max_values"),
        ("minmax()", r"minmax has other parameters \(.*'column'; expected: minmax\(column, "),
        ("minmax(a, b, c, d, e)", r"minmax has other parameters .* expected: minmax\(column, "),
    ],
)
def test_a_definition_that_is_not_valid_is_an_error(given: str, said: str) -> None:
    with pytest.raises(IndexDefinitionError, match=said):
        wanted_indexes(parsed("--index", given))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("index = 5", "another type"),
        ("indices = []", "unknown keys.*indices"),
        ("[[index]", "cannot read the configuration"),
        ('[[index]]\ntype="minmax"\ncolumns="a"', r"minmax has no such parameter .*; did you mean column\?$"),
        ('[[index]]\ntype="minmx"\ncolumn="a"', r"; did you mean minmax\?$"),
        ('[[index]]\ntype="pathbounds"\npatern="f{a}"', r"; did you mean pattern\?$"),
        ('[[index]]\ntype="pathbounds"\npattern="f{a}"\nunits="s"', r"; did you mean unit\?$"),
        ('[[index]]\ncolumn="a"', r"has no type \(found: the keys column; "),
        ("index = [5]", "another type"),
        ("indx = []", r"; did you mean index\?$"),
        ("", "no index is given"),
    ],
)
def test_a_configuration_that_is_not_valid_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "index.toml").write_text(text)
    with pytest.raises(IndexDefinitionError, match=said):
        wanted_indexes(parsed("--config", str(tmp_path / "index.toml")))


def test_the_configuration_of_the_reference_is_valid(tmp_path: Path) -> None:
    block, _ = (block for block in blocks_in(REFERENCE.read_text(encoding="utf-8")) if block.language == "toml")
    config = tmp_path / "index.toml"
    config.write_text(block.code)
    assert wanted_indexes(parsed("--config", str(config))) == [
        MinMax("ts"),
        ValueList("city", max_values=100),
        MinMax("length(city)", expression=True),
        GeoBox("lon", "lat"),
        PathBounds("ts", "events_{ts:min}_{ts:max}", "s"),
    ]
    read = read_config(str(config))
    assert (read["format"], read["options"]) == ("csv", {"header": "true", "inferSchema": "true"})


def test_a_configuration_defines_the_dataset(
    spark: SparkSession, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv = f"{path}-csv"
    spark.read.parquet(path).coalesce(1).write.option("header", "true").csv(csv)
    (tmp_path / "index.toml").write_text(
        'format = "csv"\n[options]\nheader = "true"\ninferSchema = "true"\n[[index]]\ntype = "minmax"\ncolumn = "a"\n'
    )
    assert call_json(capsys, "create", csv, "--config", str(tmp_path / "index.toml"))["added"] == 1
    described = call_json(capsys, "describe", csv)
    assert (described["format"], described["indexes"][0]["types"]) == ("csv", ["int"])
    assert described["indexes"][0]["params"] == {}


def test_the_format_of_an_index_is_known(
    spark: SparkSession, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    avro, base = f"{path}-avro", str(tmp_path / "base")
    spark.read.parquet(path).coalesce(1).write.format("avro").save(avro)
    call(capsys, "create", avro, "--format", "avro", "--minmax", "a", "--location", base)
    assert call_json(capsys, "status", avro, "--location", base)["up_to_date"]
    call(capsys, "create", avro, "--format", "avro", "--minmax", "b", "--at", f"{tmp_path}/own")
    assert call_json(capsys, "describe", avro, "--at", f"{tmp_path}/own")["indexes"][0]["columns"] == ["b"]


def test_a_dataset_that_cannot_be_read_names_the_format(
    spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    avro = f"{path}-avro"
    spark.read.parquet(path).coalesce(1).write.format("avro").save(avro)
    for given, hint in (((), "use --format avro"), (("--format", "parqet"), "did you mean parquet?")):
        error = call_json(capsys, "validate", avro, *given, code=2)["error"]
        assert error["hint"] == hint
        assert "An error occurred while calling" not in error["found"]
    for file in Path(avro).glob("*.avro"):
        file.rename(file.with_suffix(""))
    hint = call_json(capsys, "validate", avro, code=2)["error"]["hint"]
    assert hint.startswith("check that the format is parquet, or name another with --format; if the file is damaged")
    error = call_json(capsys, "status", f"{path}-typo", code=2)["error"]
    assert error["hint"] == "check the path"


def test_checks_exit_with_1(spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call_json(capsys, "exists", path) == {"exists": False}
    assert "no" in call(capsys, "exists", path, "--check", code=1)
    call(capsys, "create", path, "--minmax", "a", "--pathbounds", "f{a}")
    assert "yes" in call(capsys, "exists", path, "--check")
    assert call_json(capsys, "status", path, "--check")["up_to_date"] is True
    assert call_json(capsys, "validate", path, "--check")["wrong"] == []
    write_once(spark, Path(path), "a int, b double, s string", {"f9": [(8, 1.0, "x")]})
    assert call_json(capsys, "status", path)["up_to_date"] is False
    assert call_json(capsys, "status", path, "--check", code=1)["missing"] == 1
    call(capsys, "refresh", path)
    assert call_json(capsys, "validate", path, "--check", code=1)["wrong"][0]["path"].endswith("f9.parquet")
    assert call_json(capsys, "validate", path, code=1)["files"] == 4


def test_explain_says_what_a_query_skips(spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "create", path, "--minmax", "a")
    (scan,) = call_json(capsys, "explain", path, "a = 1 AND s = 'x'")["scans"]
    assert (scan["files"], scan["kept"]) == (3, 1)
    assert "there is no index on s" in call(capsys, "explain", path, "a = 1 AND s = 'x'")
    assert call_json(capsys, "explain", path, "nope = 1", code=2)["error"]["type"] == "PredicateError"


def test_explain_says_why_each_file_is_read(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """[REP-F-1]"""
    call(capsys, "create", path, "--minmax", "a")
    (scan,) = call_json(capsys, "explain", path, "a = 1", "--files", "2")["scans"]
    found = [(Path(file["name"]).stem, file["verdict"], file["index"], file["bounds"]) for file in scan["explained"]]
    assert found == [("f1", "kept", "minmax(a)", ""), ("f0", "skipped", "minmax(a)", "")]
    shown = call(capsys, "explain", path, "a = 1", "--files", "2", "--conf", "spark.xskip.report.values=true")
    assert "a = 1: the statistics exclude every row; minmax(a): 0 … 0" in shown
    assert "1 more file is not shown" in shown
    error = call_json(capsys, "explain", path, "a = 1", "--files", "0", code=2)["error"]
    assert error["type"] == "ArgumentError"


def test_files_without_an_index_are_an_error_unless_told_otherwise(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = call_json(capsys, "files", path, "a = 1", code=2)["error"]
    assert error["type"] == "MetadataNotFoundError"
    assert error["hint"] == "run xskip create first"
    assert len(call_json(capsys, "files", path, "a = 1", "--without-index")["files"]) == 3
    call(capsys, "create", path, "--minmax", "a")
    found = call_json(capsys, "files", path, "a = 1 AND s > 'x'")
    assert [Path(file["name"]).stem for file in found["files"]] == ["f1"]
    assert {"predicate": "s > ?", "reason": "there is no index on s"} in found["unused"]


def test_an_index_of_another_version_moves_to_the_newest(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "create", path, "--minmax", "a", "--version", "3")
    assert call_json(capsys, "describe", path)["version"] == 3
    assert call_json(capsys, "migrate", path)["after"] == 4
    assert call_json(capsys, "describe", path)["version"] == 4


def test_keys_of_a_file_encrypt_and_rotate(
    spark: SparkSession, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"f": "AAAAAAAAAAAAAAAAAAAAAA==", "k": "AQEBAQEBAQEBAQEBAQEBAQ=="}))
    encrypted = ("--conf", "spark.xskip.encryption.footer.key=f", "--index", "minmax(a, key_label='k')")
    try:
        call(capsys, "create", path, *encrypted, "--kms-keys", str(keys))
        assert opened_files(spark.read.parquet(path).filter("a = 1")) == {"f1"}
        rotated = call_json(capsys, "rotate-keys", path, "--kms-keys", str(keys), "--label", "k=f")
        assert rotated["labels"] == ["f"]
    finally:
        xskip.use_kms(None)


def test_a_directory_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such directory" in call_json(capsys, "list", "/nowhere/at/all", code=2)["error"]["what"]


def test_an_interruption_is_one_line(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SkippingIndex, "optimize", interrupted)
    capsys.readouterr()
    assert main(["optimize", path]) == 130
    assert capsys.readouterr().err == "xskip: interrupted\n"


def test_an_interruption_of_exec_has_the_exit_code(tmp_path: Path) -> None:
    """CPython remembers that an interruption ended an exec, and python -m then ends by the signal."""
    (tmp_path / "interrupted.py").write_text(
        "import sys\n"
        "from xskip.cli import main\n"
        "main.make_parser = lambda _: exec('raise KeyboardInterrupt')\n"
        "sys.exit(main.main([]))\n"
    )
    run = [sys.executable, "-m", "interrupted"]
    ran = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path, env=ENVIRONMENT)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "xskip: interrupted\n")


def test_an_unknown_error_is_one_line(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1 means something else, so an error that is not xskip's must not end the process with a traceback."""

    def fails(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(SkippingIndex, "optimize", fails)
    capsys.readouterr()
    assert main(["optimize", path]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "xskip: the command failed because of an unknown error (found: ZeroDivisionError('by zero')); "
        "use --verbose to see the traceback\n"
    )
    assert main(["optimize", path, "--json"]) == 2
    said = capsys.readouterr()
    assert (json.loads(said.out)["error"]["found"], said.err) == ("ZeroDivisionError('by zero')", "")
    assert main(["optimize", path, "--verbose", "--conf", "spark.ui.showConsoleProgress=false"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_ends_early_gets_no_traceback() -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "xskip", "completion", "fish"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=ENVIRONMENT,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (2, "")


def running(name: str) -> list[str]:
    """Return the commands of the JVMs of an application."""
    listed = subprocess.run(["ps", "-wweo", "args"], capture_output=True, text=True, check=True).stdout
    return [line[-200:] for line in listed.splitlines() if f"spark.app.label={name}" in line and "java" in line]


def leftovers(name: str) -> list[str]:
    """Return the commands of the JVMs of an application that still run after some seconds."""
    found = running(name)
    for _ in range(200):
        if not found:
            break
        time.sleep(0.1)
        found = running(name)
    return found


def test_a_process_that_is_interrupted_shows_no_traceback(path: str) -> None:
    """The JVM, which is about to start, ends as well."""
    label = f"interrupted-{os.getpid()}"
    process = subprocess.Popen(
        [sys.executable, "-m", "xskip", "create", path, "--minmax", "a", *LOCAL, "--conf", f"spark.app.label={label}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=ENVIRONMENT,
    )  # fmt: skip
    while not running(label) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "xskip: interrupted\n")
    assert leftovers(label) == []


#: What a command that can show its result without Spark says if it has settings of a session.
WITH_SPARK = "xskip: starts Spark, because --conf is given\n"
INTERRUPTED = {
    "while a session starts, by the handler of PySpark": """
        from pyspark.sql import SparkSession
        start = SparkSession.Builder.getOrCreate
        SparkSession.Builder.getOrCreate = lambda self: (start(self), os.kill(os.getpid(), signal.SIGINT))[0]
    """,
    "in an answer to Spark, which hides all exceptions": """
        from xskip.spark.query.spark_engine import SparkEngine
        SparkEngine._decide = lambda self, request: os.kill(os.getpid(), signal.SIGINT)
    """,
    "in code that hides the exception and never ends": """
        from xskip import SkippingIndex
        def files(self, *_, **__):
            with contextlib.suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(600)
        SkippingIndex.files = files
    """,
}


@pytest.mark.parametrize("moment", INTERRUPTED)
def test_an_interruption_at_any_moment_ends_the_command(spark: SparkSession, path: str, moment: str) -> None:
    index(spark, path, [MinMax("a")])
    code = "import contextlib, os, signal, sys, time\n" + textwrap.dedent(INTERRUPTED[moment])
    code += f"from xskip.cli.main import main\nsys.exit(main(['files', {path!r}, 'a = 1', *{LOCAL!r}]))"
    run = [sys.executable, "-c", code]
    ran = subprocess.run(run, capture_output=True, text=True, check=False, cwd=ROOT, env=ENVIRONMENT, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", f"{WITH_SPARK}xskip: interrupted\n")


def test_a_process_is_quiet(path: str) -> None:
    arguments = ["create", path, "--minmax", "a", *LOCAL]
    run = [sys.executable, "-m", "xskip"]
    ran = subprocess.run([*run, *arguments], capture_output=True, text=True, check=False, cwd=ROOT, env=ENVIRONMENT)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "files added  3" in ran.stdout
    wrong = ["status", path, "--conf", "spark.driver.memory=nonsense"]
    ran = subprocess.run([*run, *wrong], capture_output=True, text=True, check=False, cwd=ROOT, env=ENVIRONMENT)
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (2, "", 2)
    assert ran.stderr.startswith(f"{WITH_SPARK}xskip: Spark does not start (found: ")
    assert "nonsense" in ran.stderr


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["create", "--help"], ["completion", "bash"]])
def test_help_is_fast(arguments: list[str]) -> None:
    """Neither pyspark nor pyarrow is imported. Processor time varies with the machine, the modules do not."""
    code = (
        "import sys, contextlib, io, time\n"
        "from xskip.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"    main({arguments})\n"
        "print([m for m in ('pyspark', 'pyarrow', 'numpy', 'pandas', 'py4j') if m in sys.modules], time.process_time())"
    )
    run = [sys.executable, "-c", code]
    ran = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT, env=ENVIRONMENT)
    modules, _, seconds = ran.stdout.rpartition(" ")
    assert modules == "[]"
    assert float(seconds) < 0.5


def test_every_flag_has_a_sentence_and_every_command_an_example() -> None:
    silent = [
        (p.prog, a.dest) for p in parsers() for a in p._actions if not a.help and a.dest not in ("command", "quix")
    ]
    assert silent == []
    for parser in parsers():
        assert parser.format_help()
        assert parser.description
        assert parser.prog == "xskip" or f"{parser.prog} " in f"{parser.epilog} "
        assert parser.prog == "xskip" or str(parser.epilog).startswith("example: ")


def test_examples_are_valid_calls() -> None:
    examples = [str(parser.epilog).removeprefix("example: ") for parser in parsers() if parser.prog != "xskip"]
    assert len(examples) > len(COMMANDS) + 10
    for example in examples:
        if not example.startswith("source"):
            arguments = make_parser().parse_args(shlex.split(example)[1:])
            assert example.startswith(f"xskip {arguments.command} ") or example == "xskip demo"


def test_the_reference_calls_every_command() -> None:
    blocks = blocks_in(REFERENCE.read_text(encoding="utf-8"))
    lines = [line for block in blocks if block.language == "shell" for line in block.code.splitlines()]
    called = set()
    for line in lines:
        arguments = make_parser().parse_args(shlex.split(line)[1:])
        called.add(" ".join(filter(None, ("xskip", arguments.command, getattr(arguments, "quix", None)))))
    assert called == {parser.prog for parser in parsers()} - {"xskip", "xskip quix"}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_completes_commands_and_flags(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = call(capsys, "completion", shell)
    assert text.strip() == script(shell, make_parser()).strip()
    for word in ("create", "valuelist", "trust-listing", "topics"):
        assert word in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["xskip", "cr"], ["create"]),
        (["xskip", "status", "--ch"], ["--check"]),
        (["xskip", "quix", "ke"], ["keys"]),
        (["xskip", "quix", "find", "--st"], ["--start"]),
        (["xskip", "completion", "f"], ["fish"]),
        (["xskip", "status", "/lake", "--output", ""], ["text", "json"]),
        (["xskip", "status", "/lake", "--output", "j"], ["json"]),
        (["xskip", "status", "/lake", "--output", "=", "j"], ["json"]),
        (["xskip", "status", "/lake", "--output", "="], ["text", "json"]),
        (["xskip", "create", "/lake", "--on-error", "sk"], ["skip"]),
        (["xskip", "create", "/lake", "--path-unit", ""], ["s", "ms", "us", "ns"]),
        (["xskip", "create", "/lake", "--format", ""], ["parquet", "avro", "orc", "csv", "json"]),
        (["xskip", "create", "/lake", "--format", "avro", "--minm"], ["--minmax"]),
        (["xskip", "create", "/lake", "--config", ""], []),
        (["xskip", "quix", "index", "/lake", "t", "--trust", ""], ["checked", "names", "data"]),
        (["xskip", "quix", "range", "/lake", "t", "--trust", ""], ["checked", "names"]),
        (["xskip", "quix", "read", "/lake", "t", "--output", "t"], ["text"]),
    ],
)
def test_bash_completes(words: list[str], expected: list[str]) -> None:
    line = " ".join(f"'{word}'" for word in words)
    typed = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _xskip; echo ${{COMPREPLY[@]}}"
    code = f"{script('bash', make_parser())}\n{typed}"
    ran = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == expected
    assert ran.stderr == ""


def test_fish_completes_the_values_of_flags() -> None:
    lines = script("fish", make_parser()).splitlines()
    start = "complete -c xskip -n '__fish_seen_subcommand_from"
    assert f"{start} status' -l output -x -a 'text json'" in lines
    assert f"{start} status' -l location -r" in lines
    assert f"{start} status' -l check" in lines
    assert f"{start} quix; and __fish_seen_subcommand_from index' -l trust -x -a 'checked names data'" in lines


def test_the_formats_that_shells_complete_are_those_of_the_help() -> None:
    (text,) = {flag.text for flag in COMMANDS[0].flags if "--format" in flag.names}
    (line,) = {line for line in script("bash", make_parser()).splitlines() if " create:*:--format)" in line}
    assert line.split("'")[1].split() == text.split(": ")[1].partition(" (")[0].replace(" or ", ", ").split(", ")
