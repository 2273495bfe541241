"""Commands that show an index without Spark show what they show with Spark [STA-ST-1] [STA-ST-2]."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.cli.calls import call
from tests.helpers import index, write_files
from xskip import BloomFilter, MinMax, NullCount, ValueList
from xskip.cli.main import main
from xskip.cli.parser import make_parser
from xskip.cli.sessions import recorded_format
from xskip.cli.spark_fallback import NeedsSpark, files, indexes_below, open_without_spark, status
from xskip.metadatastore.filesystem import LocalStorage
from xskip.query_history.files import HistoryFiles, HistoryWriter
from xskip.query_history.rows import HistoryRows, ScanKind, ScanSums

ROOT = Path(__file__).parents[2]
SCHEMA = "a int, s string, d date, x double"
FILES: dict[str, list[tuple[Any, ...]]] = {
    f"p={i % 2}/f{i}": [(10 * i + j, f"s{i}", None, i / 2) for j in range(3)] for i in range(12)
}
#: The commands, and arguments of each.
COMMANDS = {
    "describe": (),
    "status": (),
    "history": (),
    "advise": (),
    "files": ("a = 35",),
}
PREDICATES = (
    "a between 30 and 41",
    "s = 's3' or a < 5",
    "p = 1 and a > 60",
    "d is not null",
    "not a > 20",
    "s in ('s1', 's7')",
)
WITH_SPARK = ("--conf", "spark.ui.enabled=false")


@pytest.fixture(scope="module", params=["parquet", "avro"])
def dataset(request: pytest.FixtureRequest, session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a dataset with an index."""
    xskip.enable(session)
    path = write_files(session, tmp_path_factory.mktemp(request.param) / "data", SCHEMA, FILES, request.param)
    index(session, path, [MinMax("a"), ValueList("s"), NullCount("d"), BloomFilter("s")], request.param)
    return path


@pytest.fixture
def outdated(spark: SparkSession, dataset: str, tmp_path: Path) -> str:
    """Return a dataset with a file that its index does not know, and without a file that its index knows."""
    path = shutil.copytree(dataset, tmp_path / "copy", ignore=shutil.ignore_patterns("_xskip"))
    fmt = "avro" if list(path.rglob("*.avro")) else "parquet"
    index(spark, str(path), [MinMax("a"), ValueList("s")], fmt)
    write_files(spark, path, SCHEMA, {"p=0/new": [(999, "g", None, 1.0)]}, fmt)
    (path / "p=1" / f"f1.{fmt}").unlink()
    return str(path)


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the start of a session fail."""

    def refuse(*_: object) -> None:
        raise AssertionError("a session starts")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refuse)


@pytest.fixture
def kept_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the session of all tests, which a command would stop."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)


def outputs(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str, str]:
    """Return what a command prints as text and as JSON, and what it says on stderr."""
    capsys.readouterr()
    assert main(arguments) == 0
    text = capsys.readouterr()
    return text.out, call(capsys, *arguments, "--json"), text.err


@pytest.mark.usefixtures("kept_session")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_output_is_that_with_spark(
    dataset: str, command: str, spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = (command, dataset, *COMMANDS[command])
    with_spark = outputs(capsys, *arguments, *WITH_SPARK)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", None)
    assert outputs(capsys, *arguments) == (*with_spark[:2], "")
    assert with_spark[2] == "xskip: starts Spark, because --conf is given\n"


@pytest.mark.parametrize("predicate", PREDICATES)
def test_files_are_those_that_spark_reads(
    dataset: str, predicate: str, spark: SparkSession, capsys: pytest.CaptureFixture[str], no_spark: None
) -> None:
    fmt = Path(dataset).parent.name.rstrip("0123456789")
    made = xskip.SkippingIndex.for_path(spark, dataset, format=fmt)
    listed = call(capsys, "files", dataset, predicate, "--json")
    assert {Path(str(name)).name for name in made.files(predicate).names} == {
        word for word in listed.replace('"', " ").replace("/", " ").split() if word.endswith(f".{fmt}")
    }


@pytest.mark.usefixtures("no_spark")
def test_the_indexes_below_a_directory(dataset: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{dataset} " in call(capsys, "list", str(Path(dataset).parent))


@pytest.mark.usefixtures("kept_session")
def test_overviews_and_savings_of_a_session(
    dataset: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = datetime.now(timezone.utc)
    rows, ended = HistoryRows(10), int(now.timestamp() * 1000)
    rows.add(
        ScanKind(dataset, "parquet", None, "", (), (), (), "me", "job"),
        ScanSums(ended, ended, 1, 2, 8, 800, 6, 600, 1.5),
    )
    HistoryWriter(HistoryFiles(LocalStorage(), str(tmp_path))).write(rows, now)
    for arguments, found in (
        (("list", str(Path(dataset).parent)), f"{dataset} "),
        (("list", str(Path(dataset).parent), "--history", str(tmp_path)), "200 B"),
        (("savings", str(tmp_path)), "200 B"),
    ):
        plain = call(capsys, *arguments)
        assert found in plain
        assert call(capsys, *arguments, *WITH_SPARK) == plain


@pytest.mark.parametrize("command", COMMANDS)
def test_no_index_is_an_error_at_once(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str], no_spark: None
) -> None:
    assert main([command, str(tmp_path), *COMMANDS[command]]) == 2
    assert capsys.readouterr().err.startswith("xskip: there is no index")


def test_an_outdated_index(outdated: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark rules out files that the index does not know, by their partition values."""
    with pytest.raises(NeedsSpark, match="files that are not indexed, by their partitions"):
        files(make_parser().parse_args(["files", outdated, "p = 1"]))
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    with_spark = outputs(capsys, "status", outdated, *WITH_SPARK)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", None)
    assert outputs(capsys, "status", outdated) == (*with_spark[:2], "")
    call(capsys, "status", outdated, "--check", code=1)


def test_files_need_an_index_that_queries_use(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    path = write_files(spark, tmp_path / "data", "a int", {"f": [(1,)], "g": [(2,)]})
    index(spark, path, [MinMax("a")])
    with pytest.raises(NeedsSpark, match="Spark can rule out more files"):
        files(make_parser().parse_args(["files", path, "a = 1"]))
    found = status(make_parser().parse_args(["status", path]))
    assert "spark.sql.caseSensitive has another value" in found.problem


@pytest.mark.parametrize("path", ["hdfs:/lake/events", "dbfs:/lake/events", "s3a:/bucket/x"])
def test_paths_that_only_hadoop_knows(path: str) -> None:
    with pytest.raises(NeedsSpark, match="only Spark knows paths of this form"):
        open_without_spark(make_parser().parse_args(["describe", path]))


def test_a_base_location_on_another_file_system(dataset: str) -> None:
    with pytest.raises(NeedsSpark, match="on another file system"):
        open_without_spark(make_parser().parse_args(["describe", dataset, "--location", "s3://bucket/md"]))


def test_a_symbolic_link(dataset: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(dataset)
    for path in (f"{tmp_path}/link", f"file:{tmp_path}/link", f"file://{tmp_path}/link"):
        with pytest.raises(NeedsSpark, match="symbolic link"):
            open_without_spark(make_parser().parse_args(["describe", path]))
    for path in (f"file:{dataset}", f"file://{dataset}"):
        assert open_without_spark(make_parser().parse_args(["describe", path])).describe().dataset == dataset


@pytest.mark.usefixtures("no_spark")
def test_the_form_of_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The flag --format is the form of what list prints, and the format of the data files of other commands."""
    assert main(["list", f"{tmp_path}/none", "--format", "json"]) == 2
    assert '"error"' in capsys.readouterr().out
    assert main(["refresh", f"{tmp_path}/none", "--format", "json"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err[:7]) == ("", "xskip: ")


@pytest.mark.parametrize("variable", ["HADOOP_CONF_DIR", "YARN_CONF_DIR"])
def test_another_default_file_system(dataset: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "/etc/hadoop/conf")
    with pytest.raises(NeedsSpark, match=f"{variable} can name another default file system"):
        open_without_spark(make_parser().parse_args(["describe", dataset]))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--conf", "spark.sql.ansi.enabled=true"), "--conf is given"),
        (("--package", "a:b:1"), "--package is given"),
        (("--kms-keys", "keys.json"), "--kms-keys is given"),
        (("--option", "mergeSchema=true"), "--option is given"),
        (("--at", "/md"), "--at is given"),
        (("--format", "orc"), "--format is given"),
    ],
)
def test_arguments_that_need_a_session(dataset: str, arguments: tuple[str, ...], reason: str) -> None:
    for command in ("describe", "status"):
        with pytest.raises(NeedsSpark, match=reason):
            open_without_spark(make_parser().parse_args([command, dataset, *arguments]))


@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        ("x > 1.5", "Spark can rule out more files"),
        ("upper(s) = 'S1'", "Spark can rule out more files"),
        ("a > '5'", "Spark can rule out more files"),
        ("a >", "the predicate"),
    ],
)
def test_predicates_that_need_spark(dataset: str, predicate: str, reason: str) -> None:
    with pytest.raises(NeedsSpark, match=reason):
        files(make_parser().parse_args(["files", dataset, predicate]))


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("spark.xskip.metadata.location /md", {"describe", "status", "list", "files"}),
        ("spark.sql.caseSensitive=true", {"status", "list", "files"}),
        ("spark.hadoop.fs.defaultFS hdfs://nn", {"describe", "status", "list", "files"}),
        ("spark.sql.parquet.datetimeRebaseModeInRead LEGACY", {"status", "list", "files"}),
        ("spark.sql.avro.datetimeRebaseModeInRead LEGACY", {"status", "list", "files"}),
        ("spark.sql.parquet.int96TimestampConversion true", {"status", "list", "files"}),
        ("spark.sql.parquet.someNewReader true", {"status", "list", "files"}),
        ("spark.sql.legacy.someNewFlag true", {"status", "list", "files"}),
        ("spark.sql.files.ignoredPathSegmentRegex x", {"status", "list", "files"}),
        ("spark.sql.sources.partitionColumnTypeInference.enabled false", {"status", "list", "files"}),
        ("spark.sql.shuffle.partitions 8", {"files"}),
        ("spark.sql.adaptive.enabled true", {"files"}),
        ("spark.sql.extensions io.delta.sql.DeltaSparkSessionExtension", {"files"}),
        ("spark.sql.session.timeZone Asia/Tokyo", {"files"}),
        ("spark.sql.files.maxPartitionBytes 64m", {"files"}),
        ("spark.sql.parquet.compression.codec zstd", {"files"}),
        ("spark.sql.csv.parser.columnPruning.enabled false", {"files"}),
        ("# spark.sql.caseSensitive true", set()),
        ("spark.executor.memory 2g", set()),
    ],
)
@pytest.mark.parametrize("place", ["SPARK_CONF_DIR", "SPARK_HOME"])
def test_the_default_settings_of_spark(
    dataset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, commands: set[str], place: str
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(f"{line}\n")
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.setenv(place, str(tmp_path if place == "SPARK_HOME" else tmp_path / "conf"))
    needing = {}
    finds: dict[str, Callable[[argparse.Namespace], object]] = {
        "describe": open_without_spark,
        "status": status,
        "list": indexes_below,
        "files": files,
    }
    for command, find in finds.items():
        try:
            find(make_parser().parse_args([command, dataset, *COMMANDS.get(command, ())]))
        except NeedsSpark as reason:
            needing[command] = str(reason)
    assert needing.keys() == commands
    assert all("spark-defaults.conf sets spark." in reason for reason in needing.values())


@pytest.mark.parametrize(
    ("text", "key", "commands"),
    [
        (
            "-Dspark.xskip.metadata.location=/md -Xmx1g",
            "spark.xskip.metadata.location",
            {"describe", "status", "files"},
        ),
        (
            "--conf spark.hadoop.fs.defaultFS=hdfs://nn pyspark-shell",
            "spark.hadoop.fs.defaultFS",
            {"describe", "status", "files"},
        ),
        ("--conf 'spark.sql.caseSensitive=true' pyspark-shell", "spark.sql.caseSensitive", {"status", "files"}),
        (
            "--conf spark.ui.port=1 --conf spark.sql.shuffle.partitions=8",
            "spark.sql.shuffle.partitions",
            {"files"},
        ),
        ("--conf spark.xskip.history.location=/h pyspark-shell", "spark.xskip.history.location", {"describe"}),
        ("--properties-file /conf pyspark-shell", "--properties-file", {"describe", "status", "files"}),
        ("--master local[2] --packages org.apache.spark:spark-avro_2.13:4.1.1 pyspark-shell", "", set()),
        ("-Dspark.executor.memory=2g", "", set()),
    ],
)
@pytest.mark.parametrize("variable", ["PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS"])
def test_settings_in_the_environment(
    dataset: str, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, key: str, commands: set[str]
) -> None:
    """[STA-ST-2] A setting makes those commands start Spark that it concerns, as one of spark-defaults.conf does."""
    monkeypatch.setenv(variable, text)
    finds: dict[str, Callable[[argparse.Namespace], object]] = {
        "describe": open_without_spark, "status": status, "files": files,
    }  # fmt: skip
    reasons = {}
    for command, find in finds.items():
        try:
            find(make_parser().parse_args([command, dataset, *COMMANDS[command]]))
        except NeedsSpark as reason:
            reasons[command] = str(reason)
    assert reasons == dict.fromkeys(commands, f"{variable} sets {key}")


def test_another_format_needs_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = write_files(spark, tmp_path / "data", "a int", {"f": [(1,)]}, "csv")
    xskip.SkippingIndex.for_path(spark, path, format="csv", schema="a int").create([MinMax("a")])
    assert open_without_spark(make_parser().parse_args(["describe", path])).describe().format == "csv"
    with pytest.raises(NeedsSpark, match="only Spark knows how it reads the files"):
        status(make_parser().parse_args(["status", path]))


def test_only_the_state_of_a_deleted_index_needs_spark(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_files(spark, tmp_path / "data", "a int", {"f": [(1,)]})
    index(spark, path, [MinMax("a")])
    spark.read.schema("a int").json(spark.sparkContext.parallelize([])).write.mode("overwrite").parquet(path)
    with pytest.raises(NeedsSpark, match="the dataset was overwritten since"):
        status(make_parser().parse_args(["status", path]))
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", None)
    for command in set(COMMANDS) - {"status"}:
        assert main([command, path, *COMMANDS[command]]) == 2
        error = capsys.readouterr().err
        assert error.startswith("xskip: the dataset was overwritten since its indexes were defined (20"), command
        assert "run xskip refresh" in error


def test_the_format_of_a_dataset_that_was_moved(spark: SparkSession, tmp_path: Path) -> None:
    """The indexes of the former path tell it, unless they have different ones."""
    path = write_files(spark, tmp_path / "data", "a int", {"f": [(1,)]}, "avro")
    index(spark, path, [MinMax("a")], "avro")
    assert recorded_format(path) == "avro"
    moved = str(tmp_path / "moved")
    os.rename(path, moved)
    assert (recorded_format(moved), recorded_format(moved, base="/md")) == ("avro", "")
    other = write_files(spark, tmp_path / "other", "a int", {"f": [(1,)]})
    index(spark, other, [MinMax("a")])
    (directory,) = Path(other, "_xskip").iterdir()
    os.rename(directory, Path(moved, "_xskip", directory.name))
    assert recorded_format(moved) == ""
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / "_xskip").touch()
    assert recorded_format(str(tmp_path / "third")) == ""


def imported_modules(*arguments: str) -> set[str]:
    """Return the modules that the process of a command imports."""
    run = [sys.executable, "-X", "importtime", "-m", "xskip", *arguments]
    ran = subprocess.run(run, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0
    return {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}


#: What takes as long to import as all else of a command.
HEAVY = {
    "pyspark",
    "py4j",
    "pandas.core",
    "pyarrow.dataset",
    "jinja2",
    "tqdm",
    "cachetools",
    "cryptography",
    "fastavro",
}
#: The layers that read data with Spark, those that only some commands need, and these commands.
LAYERS_OF: dict[str, set[str]] = {
    "xskip.spark": set(),
    "xskip.indexing": set(),
    "xskip.pruning": {"files"},
    "xskip.clauses": {"files"},
    "xskip.indexes.base": {"files"},
    "xskip.expressions": {"files"},
    "xskip.standalone.arrow_predicate": set(),
    "xskip.results.history": {"history"},
    "xskip.results.index_status": {"status", "describe", "advise", "list"},
    "xskip.results.advice": {"advise"},
}


def test_a_process_imports_only_what_its_command_needs(dataset: str, tmp_path: Path) -> None:
    commands = {command: (dataset, *given) for command, given in COMMANDS.items()}
    commands |= {"list": (str(Path(dataset).parent),), "savings": (str(tmp_path),)}
    loaded = {command: imported_modules(command, *given) for command, given in commands.items()}
    assert {command: HEAVY & modules for command, modules in loaded.items()} == {command: set() for command in commands}
    assert all("pyarrow" in modules for modules in loaded.values())
    users = {layer: {c for c, modules in loaded.items() if layer in modules} for layer in LAYERS_OF}
    assert users == LAYERS_OF


def test_help_imports_no_pyarrow() -> None:
    modules = imported_modules("--help")
    assert "xskip.cli.commands" in modules
    assert not {"pyarrow", "numpy", *HEAVY} & modules


def test_other_code_of_a_process_has_pandas(dataset: str) -> None:
    """Arrow takes missing values of pandas for null after a command in the same process, as before."""
    code = (
        "import sys\nfrom xskip.cli.main import main\n"
        f"code = main(['describe', {dataset!r}])\n"
        "import pandas, pyarrow\n"
        "sys.exit(code or pyarrow.array(pandas.Series([1.0, float('nan')])).null_count - 1)\n"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT, stdout=subprocess.DEVNULL).returncode == 0
    )
