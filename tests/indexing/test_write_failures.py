"""A write never fails because of its statistics, and an index never knows anything wrong. Rules: specs/writing.rst."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.helpers import Counted, assert_same_rows, metadata
from tests.indexing.writes import SIMPLE, assert_as_built, dataset, frame
from tests.metadatastore.samples import FaultyStorage
from xskip import MinMax, SkippingIndex, ValueList
from xskip.errors import MetadataNotFoundError, StorageError
from xskip.indexing import write_commit
from xskip.indexing.write_commit import WriteCommit

pytestmark = pytest.mark.usefixtures("indexed_writes")

ROWS = 20
MODES = {"before": {}, "after": {"after": True}, "transient": {"dead": False}}
Interrupt = Callable[[Callable[[], Any]], None]


def append(spark: SparkSession, root: Path) -> None:
    frame(spark, 100).write.mode("append").parquet(str(root / "d"))


def overwrite(spark: SparkSession, root: Path) -> None:
    frame(spark, 100).write.mode("overwrite").parquet(str(root / "d"))


def check(spark: SparkSession, root: Path, rows: int = ROWS) -> None:
    """Assert that queries return the same with the index, and that the dataset has all rows."""
    path = str(root / "d")
    assert spark.read.parquet(path).count() == rows
    assert_same_rows(lambda: spark.read.parquet(path).where("x >= 105 OR x = 3"), spark)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Interrupt:
    """Return a function that lets something happen after a write has committed its files, and before its statistics."""

    def interrupt(action: Callable[[], Any]) -> None:
        run = WriteCommit.run

        def later(self: WriteCommit) -> str:
            action()
            return run(self)

        monkeypatch.setattr(WriteCommit, "run", later)

    return interrupt


def test_an_error_in_a_task(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-6] [JVM-WR-3] The rows are written, and the files of the other tasks have statistics."""
    path = str(tmp_path / "d")
    spark.range(4).selectExpr("CAST(id AS STRING) AS s").write.parquet(path)
    made = SkippingIndex.for_path(spark, path)
    spark.conf.set("spark.sql.ansi.enabled", "true")
    made.create([MinMax("CAST(s AS INT)", expression=True)])
    bad = spark.range(0, 4, 1, 2).selectExpr("if(id = 3, 'x', CAST(id AS STRING)) AS s")
    bad.write.mode("append").parquet(path)
    assert spark.read.parquet(path).count() == 8
    status = made.status()
    assert (status.missing, status.stale) == (1, 0)


@pytest.mark.parametrize("error", [StorageError("full", where="/d"), OSError(28, "No space left"), ValueError("x")])
@pytest.mark.parametrize("write", [append, overwrite])
def test_an_error_in_the_driver(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    error: Exception, write: Callable[[SparkSession, Path], None],
) -> None:  # fmt: skip
    """[WRT-ST-6] The write succeeds, the log warns once, and a refresh mends the index."""

    def failing(*_: Any) -> Any:
        raise error

    made = dataset(spark, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(write_commit, "publish", failing)
        for _ in range(2):
            write(spark, tmp_path)
    warnings = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "has no statistics of the files of a write" in warnings[0]
    check(spark, tmp_path, 30 if write is append else 10)
    made.refresh()
    assert_as_built(made, SIMPLE)


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("write", [append, overwrite])
def test_a_process_ends_at_any_step(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: Counted,
    mode: str, write: Callable[[SparkSession, Path], None],
) -> None:  # fmt: skip
    """[WRT-ST-6] At each operation on the metadata: the index knows the files or not, and never wrongly."""
    points = 0
    for k in range(1, 60):
        root = tmp_path / str(k)
        root.mkdir()
        made = dataset(spark, root)
        faulty = FaultyStorage(k, **MODES[mode])
        with monkeypatch.context() as patch:
            patch.setattr(write_commit, "storage_for", lambda *_, faulty=faulty: faulty)
            write(spark, root)
        if faulty.calls < k:
            break
        points += 1
        check(spark, root, 20 if write is append else 10)
        made.refresh()
        assert made.validate().wrong == ()
        assert made.status().missing == 0
    assert points > 5
    counted("fault points of a write survived", points)


def test_a_refresh_reads_the_files_first(spark: SparkSession, tmp_path: Path, meanwhile: Interrupt) -> None:
    """[WRT-ST-6] No file is in the index twice, also if an overwrite replaces all other files."""
    made = dataset(spark, tmp_path)
    meanwhile(made.refresh)
    append(spark, tmp_path)
    names = metadata(made).files.names.to_pylist()
    assert len(names) == len(set(names)) == 4
    overwrite(spark, tmp_path)
    assert len(metadata(made)) == 2
    assert_as_built(made, SIMPLE)


def test_another_writer_commits_first(spark: SparkSession, tmp_path: Path, meanwhile: Interrupt) -> None:
    """[WRT-ST-6] Both have their files in the index."""
    made = dataset(spark, tmp_path)
    done: list[bool] = []

    def another() -> None:
        if not done:
            done.append(True)
            other = threading.Thread(target=append, args=(spark, tmp_path))
            other.start()
            other.join()

    meanwhile(another)
    append(spark, tmp_path)
    assert len(metadata(made)) == 6
    assert_as_built(made, SIMPLE)


def test_the_index_is_dropped(spark: SparkSession, tmp_path: Path, meanwhile: Interrupt) -> None:
    """[WRT-ST-6] It stays dropped."""
    made = dataset(spark, tmp_path)
    meanwhile(made.drop)
    append(spark, tmp_path)
    with pytest.raises(MetadataNotFoundError):
        made.describe()
    check(spark, tmp_path)


def test_the_indexes_are_changed(
    spark: SparkSession, tmp_path: Path, meanwhile: Interrupt, caplog: pytest.LogCaptureFixture
) -> None:
    """[WRT-ST-6] A refresh reads the files, for all indexes."""
    made = dataset(spark, tmp_path)
    meanwhile(lambda: made.ensure([MinMax("x"), ValueList("p")]))
    with caplog.at_level(logging.INFO, "xskip.builds"):
        append(spark, tmp_path)
    assert "the indexes of the dataset were changed while Spark wrote" in caplog.text
    made.refresh()
    assert_as_built(made, [MinMax("x"), ValueList("p")])


def test_a_failed_write(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-6] The index knows nothing of its files."""
    made = dataset(spark, tmp_path)
    failing = frame(spark, 100).selectExpr("IF(x = 109, CAST(raise_error('no') AS INT), x) AS x", "s", "p")
    with pytest.raises(Exception, match="no"):
        failing.write.mode("append").parquet(str(tmp_path / "d"))
    assert len(metadata(made)) == 2
    append(spark, tmp_path)
    assert_as_built(made, SIMPLE)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_versions(spark: SparkSession, tmp_path: Path, version: int) -> None:
    """[WRT-ST-5] An index that an overwrite deletes keeps its version, also for other programs."""
    path = str(tmp_path / "d")
    frame(spark, 0).write.parquet(path)
    made = SkippingIndex.for_path(spark, path)
    made.create(SIMPLE, version=version)
    append(spark, tmp_path)
    assert made.status().missing == 0
    overwrite(spark, tmp_path)
    assert made.describe().version == version
    assert made.status().missing == 0
    assert made.validate().wrong == ()


def test_results_above_the_limits_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """[JVM-WR-3] A refresh reads the files of a task whose results are large, and the write succeeds."""
    made = dataset(spark, tmp_path)
    conf: Any = spark.sparkContext._jsc.sc().conf()
    before = conf.get("spark.kryoserializer.buffer.max", "64m")
    conf.set("spark.kryoserializer.buffer.max", "1k")
    try:
        append(spark, tmp_path)
    finally:
        conf.set("spark.kryoserializer.buffer.max", before)
    assert made.status().missing == 2
    append(spark, tmp_path)
    assert made.status().missing == 2
    check(spark, tmp_path, 30)
