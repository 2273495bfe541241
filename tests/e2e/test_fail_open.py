"""With any fault of an index, queries return the correct rows and log the reason once, and strict mode raises it."""

from __future__ import annotations

import json
import logging
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession

import xskip
import xskip.engine.loaded_indexes as indexes_module
import xskip.metadatastore.snapshot as snapshot_module
import xskip.spark.query.spark_engine as engine_module
from tests.helpers import index, opened_files, record_again, write_once
from xskip import MinMax, ValueList
from xskip.engine import selection
from xskip.engine.decision import Decision
from xskip.errors import MetadataNotFoundError, RecordDamagedError
from xskip.metadatastore.snapshot import Snapshot

ALL = {"f0", "f1", "f2"}
SCHEMA = "a int, s string"


class Case:
    """A dataset of three files with an index, and its metadata."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.path = write_once(spark, root, SCHEMA, {f"f{i}": [(i, f"s{i}")] for i in range(3)})
        self.index = index(spark, self.path, [MinMax("a"), ValueList("s")])
        self.directory = Path(self.index.describe().location)

    def query(self) -> DataFrame:
        return self.spark.read.schema(SCHEMA).parquet(self.path).filter("a = 1")

    @property
    def files(self) -> list[Path]:
        return sorted(self.directory.glob("part-*.parquet"))

    @property
    def records(self) -> list[Path]:
        return sorted((self.directory / "_commits").glob("*.json"))


@pytest.fixture
def case(spark: SparkSession, tmp_path: Path) -> Iterator[Case]:
    made = Case(spark, tmp_path / "data")
    assert opened_files(made.query()) == {"f1"}  # skipping works before anything is broken
    spark.conf.set("spark.xskip.strict", "false")
    yield made
    shutil.rmtree(made.path, ignore_errors=True)


@pytest.fixture(scope="module")
def made_once(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(session, tmp_path_factory.mktemp("steady") / "data")


@pytest.fixture
def steady(spark: SparkSession, made_once: Case) -> Case:
    """Return a case whose files do not change."""
    assert opened_files(made_once.query()) == {"f1"}
    spark.conf.set("spark.xskip.strict", "false")
    return made_once


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "xskip"]


def assert_reads_all_and_says_once(case: Case, caplog: pytest.LogCaptureFixture, reason: str) -> None:
    caplog.clear()
    with caplog.at_level(logging.WARNING, "xskip"):
        assert opened_files(case.query()) == ALL
        assert [row.a for row in case.query().collect()] == [1]
    (warning,) = said(caplog)
    assert case.path in warning
    assert reason in warning
    report = xskip.explain(case.query())
    assert reason in report.scans[0].problem
    assert reason in str(report)
    assert report.scans[0].skipped == 0


def assert_strict_raises(case: Case, reason: str) -> None:
    case.spark.conf.set("spark.xskip.strict", "true")
    with pytest.raises(IllegalArgumentException, match="xskip") as caught:  # PySpark shows only its message
        case.query().collect()
    assert case.path in str(caught.value)
    assert reason in str(caught.value)
    case.spark.conf.set("spark.xskip.strict", "false")


def assert_skips_again(case: Case) -> None:
    assert opened_files(case.query()) == {"f1"}
    assert [row.a for row in case.query().collect()] == [1]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def rewritten(case: Case, change: Callable[[dict[bytes, bytes]], dict[bytes, bytes]]) -> None:
    """Rewrite every metadata file with changed key-value metadata."""
    for path in case.files:
        table = pq.read_table(path)
        footer = change({k: v for k, v in (pq.read_metadata(path).metadata or {}).items() if k != b"ARROW:schema"})
        with pq.ParquetWriter(path, table.schema.with_metadata(None), store_schema=False) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata(footer)


def of_version_99(footer: dict[bytes, bytes]) -> dict[bytes, bytes]:
    key = b"org.apache.spark.sql.parquet.row.metadata"
    schema = json.loads(footer[key])
    for field in schema["fields"]:
        metadata = field.get("metadata", {}).get("version")
        if metadata is not None:
            field["metadata"]["version"] = 99
    text = json.dumps(schema)
    assert "99" in text
    return {**footer, key: text.encode()}


def of_another_root(case: Case) -> None:
    (record,) = case.records
    body = json.loads(record.read_text())
    record.write_text(json.dumps({**body, "root": "s3a://elsewhere" + body["root"]}))


def each(case: Case, change: Callable[[Path], object]) -> None:
    """Change every metadata file."""
    for file in case.files:
        change(file)


def signed(case: Case, change: Callable[[], object]) -> None:
    """Change metadata files, and update the record."""
    change()
    record_again(case.directory)


DAMAGE: dict[str, tuple[Callable[[Case], object], str]] = {
    "truncated": (lambda c: each(c, truncate), "differs from its commit record"),
    "garbage": (lambda c: [f.write_bytes(b"garbage" * 100) for f in c.files], "differs from its commit record"),
    "empty": (lambda c: [f.write_bytes(b"") for f in c.files], "differs from its commit record"),
    "gone": (lambda c: each(c, Path.unlink), "metadata files are missing"),
    "foreign file": (
        lambda c: pq.write_table(pa.table({"x": [1]}), c.directory / "foreign.parquet"),
        "",
    ),
    "not metadata": (
        lambda c: signed(c, lambda: [pq.write_table(pa.table({"x": [1]}), f) for f in c.files]),
        "not a metadata file",
    ),
    "too new": (lambda c: signed(c, lambda: rewritten(c, of_version_99)), "metadata of version 99"),
    "wrong root": (of_another_root, "another dataset"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_queries_read_all_files_if_the_index_is_damaged(
    case: Case, caplog: pytest.LogCaptureFixture, tmp_path: Path, name: str
) -> None:
    """[JVM-AN-3]"""
    damage, reason = DAMAGE[name]
    backup = shutil.copytree(case.directory, tmp_path / "backup")
    damage(case)
    xskip.spark.query.spark_engine.engine_of(case.spark).forget_all()  # as in a process that has not seen the index yet
    assert_reads_all_and_says_once(case, caplog, reason)
    assert_strict_raises(case, reason)
    shutil.rmtree(case.directory)
    shutil.copytree(backup, case.directory)
    xskip.spark.query.spark_engine.engine_of(case.spark).forget_all()
    assert_skips_again(case)


@pytest.mark.parametrize("name", ["gone", "foreign file"])
def test_damage_is_detected_while_the_index_is_in_use(case: Case, caplog: pytest.LogCaptureFixture, name: str) -> None:
    damage, reason = DAMAGE[name]
    damage(case)
    assert_reads_all_and_says_once(case, caplog, reason)
    assert_strict_raises(case, reason)


@pytest.mark.parametrize("data", [b"", b"{", b'{"number": 1}', b"\xff\xfe", b"[]", b"null"])
def test_torn_first_record(case: Case, caplog: pytest.LogCaptureFixture, data: bytes) -> None:
    """[MDS-C-4] An incomplete first record makes the index unreadable until the record is complete."""
    (record,) = case.records
    whole = record.read_bytes()
    record.write_bytes(data)
    assert_reads_all_and_says_once(case, caplog, "the first commit record of the index is incomplete")
    record.write_bytes(whole)
    assert_skips_again(case)


def test_torn_latest_record(case: Case) -> None:
    """If the latest record is incomplete, the previous record counts."""
    (record,) = case.records
    (case.directory / "_commits" / f"{2:020d}.json").write_bytes(record.read_bytes()[:40])
    assert_skips_again(case)


def test_a_removed_directory_counts_as_no_index(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    backup = case.directory.with_name("backup")
    case.directory.rename(backup)
    with caplog.at_level(logging.WARNING, "xskip"):
        assert opened_files(case.query()) == ALL
        assert [row.a for row in case.query().collect()] == [1]
    assert not said(caplog)  # no index is no fault
    assert not case.index.exists()
    case.spark.conf.set("spark.xskip.strict", "true")
    assert [row.a for row in case.query().collect()] == [1]
    backup.rename(case.directory)
    xskip.spark.query.spark_engine.engine_of(case.spark).forget_all()
    assert_skips_again(case)


PLACES = {
    "translate": (selection, "translate"),
    "prune": (selection, "prune"),
    "load": (Snapshot, "load"),
    "to_predicate": (engine_module, "to_predicate"),
    "open_snapshot": (indexes_module, "open_snapshot"),
    "requirements": (selection, "requirements"),
    "reading": (snapshot_module, "differences"),
}


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("place", PLACES)
def test_an_exception_at_any_place_fails_no_query(
    steady: Case,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    kind: type[BaseException],
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise kind("on purpose")

    xskip.spark.query.spark_engine.engine_of(steady.spark).forget_all()
    with monkeypatch.context() as patched:
        patched.setattr(*PLACES[place], fail)
        assert_reads_all_and_says_once(steady, caplog, f"{kind.__name__}('on purpose')")
        assert_strict_raises(steady, "on purpose")
    assert_skips_again(steady)


def test_a_new_index_logs_its_warnings_again(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    DAMAGE["gone"][0](case)
    assert_reads_all_and_says_once(case, caplog, "metadata files are missing")
    shutil.rmtree(case.directory)
    case.index.create([MinMax("a")])
    assert_skips_again(case)
    DAMAGE["gone"][0](case)
    assert_reads_all_and_says_once(case, caplog, "metadata files are missing")


def test_other_reader_options_do_not_use_the_index(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    def query() -> DataFrame:
        reader = case.spark.read.option("datetimeRebaseMode", "LEGACY")
        return reader.parquet(case.path).filter("a = 1")

    with caplog.at_level(logging.WARNING, "xskip"):
        assert opened_files(query()) == ALL
        assert query().count() == 1
    (warning,) = said(caplog)
    assert "datetimeRebaseModeInRead has another value" in warning  # the option replaces the setting
    assert_skips_again(case)


def test_errors_of_the_data_itself_are_sparks_own(case: Case) -> None:
    (Path(case.path) / "f1.parquet").write_bytes(b"broken")
    with pytest.raises(Exception, match=r"f1\.parquet"):
        case.query().collect()


def test_a_missing_dataset_is_sparks_own_error(case: Case) -> None:
    shutil.rmtree(case.path)
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        case.query().collect()


WRONG_ANSWERS: dict[str, Callable[[bytes], bytes]] = {
    "of another snapshot": lambda answer: answer[:6] + struct.pack("<q", 10**9) + answer[14:],
    "bitmap cut short": lambda answer: answer[:-1],
    "without a bitmap": lambda answer: answer[:14],
    "header cut short": lambda answer: answer[:9],
    "another letter": lambda answer: b"X" + answer[1:],
    "empty": lambda answer: answer[:0],
}


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_an_answer_that_does_not_fit_skips_nothing(case: Case, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    engine = xskip.spark.query.spark_engine.engine_of(case.spark)
    original = engine_module.SparkEngine._prune

    def spoilt(self: Any, *args: Any) -> Decision:
        decision = original(self, *args)
        assert decision.answer is not None
        return replace(decision, answer=WRONG_ANSWERS[name](decision.answer))

    case.spark.conf.set("spark.xskip.strict", "true")  # an error in Python would fail the query
    engine.forget_all()
    with monkeypatch.context() as patched:
        patched.setattr(engine_module.SparkEngine, "_prune", spoilt)
        assert opened_files(case.query()) == ALL
        assert [row.a for row in case.query().collect()] == [1]
    engine.forget_all()
    assert_skips_again(case)


@pytest.mark.parametrize("damage", [truncate, flipped], ids=["half", "bit"])
def test_the_only_record_is_damaged(
    case: Case, damage: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    """[MDS-C-4] The index is unreadable, which differs from no index, and ``create()`` replaces it."""
    (record,) = case.records
    damage(record)
    reason = "the first commit record of the index is incomplete"
    assert_reads_all_and_says_once(case, caplog, reason)
    assert_strict_raises(case, reason)
    for method in (case.index.status, case.index.describe, case.index.refresh, case.index.exists):
        with pytest.raises(RecordDamagedError, match="call create"):
            method()
    case.index.create([MinMax("a"), ValueList("s")])
    assert_skips_again(case)
    case.index.drop()
    assert not case.index.exists()


def test_the_first_record_is_removed(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    """[MDS-C-16] Later records alone are no index, and everything says so and names the way back."""
    case.index.add([ValueList("a")])
    first, _ = case.records
    whole = first.read_bytes()
    first.unlink()
    reason = "there is no index, because its first commit record was removed"
    assert_reads_all_and_says_once(case, caplog, reason)
    assert_strict_raises(case, reason)
    index = case.index
    for operation in (index.status, index.describe, index.refresh, index.adopt, lambda: index.files("a = 1")):
        with pytest.raises(MetadataNotFoundError, match=rf"{reason} .*_commits\); restore the record"):
            operation()
    with pytest.raises(MetadataNotFoundError, match=reason):
        xskip.open_index(case.path)
    (check,) = (check for check in xskip.doctor(case.spark, case.path) if check.name == "index")
    assert check.found == f"{case.path}: {reason}"
    first.write_bytes(whole)
    assert_skips_again(case)
    assert len(index.history()) == 2
    first.unlink()
    index.create([MinMax("a")])
    assert_skips_again(case)


def test_the_inference_of_a_schema_reads_lines_without_a_warning(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Spark reads CSV files as text to infer their schema; in strict mode, this query must not fail."""
    for i in range(3):
        (tmp_path / f"f{i}.csv").write_text(f"a\n{i}\n")
    options = {"header": "true", "inferSchema": "true"}
    index(spark, str(tmp_path), [MinMax("a")], "csv", **options)
    with caplog.at_level(logging.WARNING, "xskip"):
        df = spark.read.options(**options).csv(str(tmp_path)).filter("a = 1")
        assert opened_files(df) == {"f1"}
        assert spark.read.text(str(tmp_path)).filter("value = '2'").count() == 1
    assert said(caplog) == []
