"""Spark jobs prune large metadata. Rules: specs/pruning.rst, [PRU-JB]."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import assert_same_rows, index, kept, opened_files, spoiled, write_once
from xskip import BloomFilter, LocalKms, MinMax, NullCount, SkippingIndex, ValueList
from xskip.engine import loaded_indexes
from xskip.metadatastore import codec
from xskip.metadatastore.commit import LiveSnapshot
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.splits import Part, parts_of
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.query import distributed_pruning
from xskip.spark.query.spark_engine import forget_indexes

SCHEMA = "a int, s string, d double, n struct<b:int>"
LIMIT = "spark.xskip.pruning.jobFiles"
PREDICATES = {
    "a > 31 AND a < 45": {"f3", "f4", "nan", "gaps"},
    "a = 62": {"f6", "gaps"},
    "s = 's2'": {"f2", "nan"},
    "s IN ('s1', 's5') AND a < 30": {"f1"},
    "NOT (a >= 20)": {"f0", "f1", "gaps"},
    "a < 5 OR s = 's4'": {"f0", "f4", "gaps"},
    "p = 1 AND a < 30": {"f0", "f1", "f2"},
    "p = 1 OR p = 3": {"f0", "f1", "f2", "f6", "nan", "nulls", "gaps"},
    "p IS NULL": {"none"},
    "p <> 2 AND a > 100": {"gaps"},
    "a IS NULL": {"nulls"},
    "d > 1e300": {"nan"},
    "n.b < 0": {"f0"},
    "_metadata.file_name = 'f5.{fmt}'": {"f5"},
    "a < p": {"f0", "gaps"},
}


def files() -> dict[str, list[tuple[Any, ...]]]:
    """Return files with known bounds, some with NULL, NaN or a wide range, and one in a NULL partition."""
    found: dict[str, list[tuple[Any, ...]]] = {
        f"p={1 + number // 3}/f{number}": [
            (10 * number + j, f"s{number}", number / 4, (10 * number - 1,)) for j in range(3)
        ]
        for number in range(7)
    }
    found["p=1/nan"] = [(40, "s2", float("nan"), (5,))]
    found["p=3/nulls"] = [(None, None, None, None)] * 2
    found["p=3/gaps"] = [(0, "x", 1.0, (5,)), (200, "z", 1.0, (5,))]
    found["p=__HIVE_DEFAULT_PARTITION__/none"] = [(90, "s9", 1.0, (5,))]
    return found


INDEXES = [MinMax("a"), ValueList("s"), BloomFilter("s"), MinMax("d"), MinMax("n.b"), NullCount("a")]


@pytest.fixture(scope="module")
def lakes(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write the files in two formats, with metadata in several files of several row groups, and return the paths."""
    home, found = tmp_path_factory.mktemp("lakes"), {}
    session.conf.set("spark.xskip.metadata.rowsPerFile", "4")
    before, codec.GROUP_ROWS = codec.GROUP_ROWS, 2
    for fmt in ("parquet", "avro"):
        found[fmt] = write_once(session, home / fmt, SCHEMA, files(), fmt)
        index(session, found[fmt], INDEXES, fmt)
    session.conf.unset("spark.xskip.metadata.rowsPerFile")
    codec.GROUP_ROWS = before
    return found


@pytest.fixture
def by_job(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Yield a function after whose call jobs answer all queries, and the driver loads no metadata."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a snapshot was loaded")

    def start() -> None:
        forget_indexes()
        spark.conf.set(LIMIT, "0")
        monkeypatch.setattr(Snapshot, "load", refuse)
        monkeypatch.setattr(loaded_indexes, "file_table", refuse)

    yield start
    forget_indexes()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, tuple[int, ...]]]:
    """Return a list to which jobs add the files and row groups that they read."""
    found: list[tuple[int, tuple[int, ...]]] = []

    def spy(*args: Any, **named: Any) -> list[Part]:
        parts = plain(*args, **named)
        found.extend((part.file, part.groups) for part in parts)
        return parts

    plain = parts_of
    monkeypatch.setattr(distributed_pruning, "parts_of", spy)
    return found


def answers(spark: SparkSession, path: str, fmt: str, predicates: Iterable[str]) -> dict[str, set[str]]:
    df = spark.read.format(fmt).load(path)
    return {each: opened_files(df.filter(each.format(fmt=fmt))) for each in predicates}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_a_job_skips_what_the_driver_does(
    spark: SparkSession, lakes: dict[str, str], fmt: str, by_job: Callable[[], None]
) -> None:
    """[PRU-JB-1] [PRU-JB-2] Jobs and the driver skip the same files for every kind of predicate."""
    path = lakes[fmt]
    forget_indexes()
    spark.conf.set(LIMIT, "1000")
    in_driver = answers(spark, path, fmt, PREDICATES)
    by_job()
    assert answers(spark, path, fmt, PREDICATES) == in_driver
    assert in_driver == PREDICATES
    for predicate in ("a > 31 AND a < 45", "p = 1 OR p IS NULL"):
        assert assert_same_rows(lambda p=predicate: spark.read.format(fmt).load(path).filter(p), spark)


def test_files_have_the_same_ordinals_however_the_jvm_was_told(
    spark: SparkSession, lakes: dict[str, str], by_job: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PRU-JB-2] Jobs and the driver can use each other's registration of a snapshot."""
    path, some = lakes["parquet"], ["a = 62", "p = 1 AND a < 30", "s = 's2'"]
    with monkeypatch.context() as inside:
        forget_indexes()
        spark.conf.set(LIMIT, "0")
        inside.setattr(loaded_indexes, "file_table", lambda _: pytest.fail("registered by the driver"))
        assert kept(spark, path, "a = 40") == {"f4", "nan", "gaps"}
        spark.conf.set(LIMIT, "1000")
        registered = answers(spark, path, "parquet", some)
        assert registered == {predicate: PREDICATES[predicate] for predicate in some}
    forget_indexes()
    assert kept(spark, path, "a = 40") == {"f4", "nan", "gaps"}
    spark.conf.set(LIMIT, "0")
    assert answers(spark, path, "parquet", some) == registered


def test_names_of_all_kinds(spark: SparkSession, tmp_path: Path, by_job: Callable[[], None]) -> None:
    """[PRU-JB-2] Names with spaces, percent signs, hashes and non-ASCII letters are supported."""
    names = ["plain", "with space", "a#b", "50%", "ä ü \U0001f600", "x" * 100]
    path = write_once(spark, tmp_path / "da ta", "a int", {name: [(i,)] for i, name in enumerate(names)})
    index(spark, path, [MinMax("a")])
    by_job()
    before = hook_of(spark).queries.last_scan()
    for i, name in enumerate(names):
        assert kept(spark, path, f"a = {i}") == {name}
    assert {(scan.listed, scan.known) for scan in hook_of(spark).queries.scans_after(before)} == {(6, 6)}


def test_only_row_groups_that_statistics_leave_are_read(
    spark: SparkSession, lakes: dict[str, str], by_job: Callable[[], None], read: list[Any]
) -> None:
    """[PRU-JB-3] All other row groups count as ruled out, and are not read."""
    by_job()
    path = lakes["parquet"]
    kept(spark, path, "a = 1000")
    everything = {(file, group) for file, groups in read for group in groups}
    read.clear()
    df = spark.read.parquet(path).filter("a = 11")
    found = xskip.explain(df).scans[0]
    some = {(file, group) for file, groups in read for group in groups}
    assert some < everything
    (by_statistics,) = [o.ruled_out for o in found.outcomes if o.index == "statistics of the metadata"]
    assert by_statistics > 0
    assert kept(spark, path, "a = 11") == {"f1", "gaps"}


def test_a_query_of_what_statistics_rule_out_everywhere_runs_no_job(
    spark: SparkSession, tmp_path: Path, by_job: Callable[[], None], read: list[Any]
) -> None:
    """[PRU-JB-3] The footers suffice, so that no job runs."""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(3)})
    index(spark, path, [MinMax("a")])
    by_job()
    kept(spark, path, "a = 1")
    read.clear()
    assert kept(spark, path, "a = 7") == set()
    assert read == []


def test_what_changed_since_is_read(spark: SparkSession, tmp_path: Path, by_job: Callable[[], None]) -> None:
    """[PRU-JB-2] Files that were overwritten or added after the build are read."""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(4)})
    index(spark, path, [MinMax("a")])
    later = write_once(spark, tmp_path / "later", "a int", {"f1": [(7,), (8,)], "new": [(7,)]})
    for name in ("f1", "new"):
        shutil.move(f"{later}/{name}.parquet", f"{path}/{name}.parquet")
    Path(path, "f2.parquet").unlink()
    by_job()
    assert kept(spark, path, "a = 7") == {"f1", "new"}
    assert spark.read.parquet(path).filter("a = 7").count() == 2


def test_functions_are_not_evaluated(spark: SparkSession, lakes: dict[str, str], by_job: Callable[[], None]) -> None:
    """[PRU-JB-4] Functions skip no file, and the report says so; other conditions skip."""
    by_job()
    df = spark.read.parquet(lakes["parquet"]).filter("upper(s) = 'S2' AND a < 30")
    (scan,) = xskip.explain(df).scans
    assert any("does not evaluate functions" in reason for _, reason in scan.unused)
    assert kept(spark, lakes["parquet"], "upper(s) = 'S2' AND a < 30") == {"f0", "f1", "f2", "gaps"}
    known = {name.rpartition("/")[2] for name in files()} - {"nulls", "none"}  # where a or p is always NULL
    assert kept(spark, lakes["parquet"], "a > p + 1000") == known


def failing() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from ()
        raise ValueError("on purpose")

    return run


def waiting(end: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return the function of a task that writes a file ``end.begun`` and runs until there is a file ``end``."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import os
        import time

        for batch in batches:
            open(f"{end}.begun", "w").close()
            for _ in range(600):
                if os.path.exists(end):
                    break
                time.sleep(0.1)
            yield batch

    return run


@pytest.mark.parametrize("task", ["_pruning", "_registering"])
def test_a_job_that_fails(
    spark: SparkSession,
    lakes: dict[str, str],
    by_job: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    task: str,
) -> None:
    """[PRU-JB-5] The query reads all files, logs the reason once, and does not retry the job at once."""
    path = lakes["parquet"]
    by_job()
    spark.conf.set("spark.xskip.strict", "false")
    tried = []

    def fails(*_: Any, **__: Any) -> Any:
        tried.append(task)
        return failing()

    monkeypatch.setattr(distributed_pruning, task, fails)
    with caplog.at_level(logging.WARNING, "xskip"):
        assert len(kept(spark, path, "a = 11")) == len(files())
        assert spark.read.parquet(path).filter("a = 11").count() == 1
    said = [record.message for record in caplog.records if "on purpose" in record.message]
    assert ["\n" in message for message in said] == [False]
    assert len(tried) == 1
    spark.conf.set("spark.xskip.strict", "true")
    with pytest.raises(Exception, match="on purpose"):
        kept(spark, path, "a = 11")
    spark.conf.set("spark.xskip.strict", "false")
    monkeypatch.undo()
    spark.conf.set(LIMIT, "1000")
    assert kept(spark, path, "a = 11") == {"f1", "gaps"}


def test_a_job_that_is_cancelled_runs_again(
    spark: SparkSession,
    lakes: dict[str, str],
    by_job: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """[PRU-JB-5] The cancellation of one query does not keep the next query from its job."""
    path = lakes["parquet"]
    by_job()
    spark.conf.set("spark.xskip.strict", "false")
    monkeypatch.setattr(distributed_pruning, "_pruning", lambda *_, **__: waiting(str(tmp_path / "end")))
    read: list[set[str]] = []
    query = threading.Thread(target=lambda: read.append(kept(spark, path, "a = 11")))
    query.start()
    while not (tmp_path / "end.begun").exists():  # the query's first job infers the schema
        assert query.is_alive()
        time.sleep(0.05)
    spark.sparkContext.cancelAllJobs()
    query.join()
    (tmp_path / "end").touch()
    assert len(read[0]) == len(files())
    monkeypatch.undo()
    assert kept(spark, path, "a = 11") == {"f1", "gaps"}


def test_metadata_that_only_the_driver_can_read(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """[PRU-JB-6] The driver prunes encrypted metadata and version 0 of any size, with a warning."""
    xskip.use_kms(LocalKms({"k": b"0123456789012345"}))
    spark.conf.set(LIMIT, "0")
    for name, version, label in (("old", 0, None), ("secret", 4, "k")):
        spark.conf.set("spark.xskip.encryption.footer.key", label or "")
        path = write_once(spark, tmp_path / name, "a int", {f"f{i}": [(i,)] for i in range(3)})
        made = SkippingIndex.for_path(spark, path)
        with caplog.at_level(logging.WARNING, "xskip"):
            made.create([MinMax("a", key_label=label)], version=version)
            assert kept(spark, path, "a = 1") == {"f1"}
            assert kept(spark, path, "a = 2") == {"f2"}
        said = [record.message for record in caplog.records if "the driver prunes" in record.message]
        assert len(said) == 1
        caplog.clear()
    xskip.use_kms(None)


def test_metadata_of_another_program() -> None:
    """[PRU-JB-6] Jobs do not prune metadata of other programs."""
    assert "another program" in loaded_indexes.driver_only_reason(Snapshot(LiveSnapshot(None, (), foreign=True), ()))


def test_workers_need_no_installation() -> None:
    """[PRU-JB-1] The archive for the workers can be imported."""
    archive = distributed_pruning._package()
    code = "import xskip.xskipper; from xskip.spark.query import distributed_pruning as d; print(d.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        env=os.environ | {"PYTHONPATH": archive},
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(archive), done.stderr


def test_skipped_files_are_not_opened(spark: SparkSession, lakes: dict[str, str], by_job: Callable[[], None]) -> None:
    """[PRU-JB-1] Files that a job rules out are never opened."""
    by_job()
    path = lakes["parquet"]
    with spoiled([Path(path) / "p=1/f0.parquet", Path(path) / "p=3/f6.parquet"]):
        schema = "a int, s string, d double, n struct<b:int>, p int"
        assert spark.read.schema(schema).parquet(path).filter("a > 31 AND a < 39").count() == 1


def test_a_limit_that_is_no_number(spark: SparkSession, lakes: dict[str, str]) -> None:
    """[PRU-JB-1] An invalid setting is an error in strict mode, and otherwise reads all files."""
    spark.conf.set(LIMIT, "many")
    with pytest.raises(Exception, match=r"setting is not valid .where: spark\.xskip\.pruning\.jobFiles"):
        kept(spark, lakes["parquet"], "a = 11")
    spark.conf.set("spark.xskip.strict", "false")
    assert len(kept(spark, lakes["parquet"], "a = 11")) == len(files())
