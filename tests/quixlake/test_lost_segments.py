"""Segments of committed batches vanish before the batch is complete: users learn of it, and go on."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.quixlake.lakes import START, hourly, identity
from xskip.errors import StorageError
from xskip.quixlake import QuixLake
from xskip.quixlake.completion import Completion
from xskip.quixlake.manifests import ManifestLog

#: A limit in the future: the clock of files need not be that of Python.
NOW = timedelta(minutes=-1)
COLUMNS = "timestamp LONG, key BINARY, value BINARY, partition INT, offset LONG"


class StoppedError(Exception):
    """The error of a writer that a test stops."""


def stop(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise StoppedError

    monkeypatch.setattr(ManifestLog if step == "mark" else Completion, step, stopped)


def messages(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(map(identity, frame.collect()))


def cases(lake: QuixLake) -> list[tuple[str, str]]:
    return [(row["case"], row["path"]) for row in lake.check("t")]


def frame(spark: SparkSession, keys: str, first: int = 0) -> DataFrame:
    rows = [(START + i, key.encode(), b"v", 0, i) for i, key in enumerate(keys, first)]
    return spark.createDataFrame(rows, COLUMNS)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QuixLake:
    """Return a lake with a committed batch of three segments under hidden names, of which that of ``b`` is lost."""
    lake = QuixLake(spark, str(tmp_path))
    with monkeypatch.context() as patched:
        stop(patched, "_named")
        with pytest.raises(StoppedError):
            lake.write(frame(spark, "abc"), "t", batch="lost")
    (lost,) = tmp_path.glob("Raw/Topic=t/Key=b/*/._xskip-*")
    lost.rename(tmp_path / "lost.avro")
    return lake


NAME = f"Key=b/Start=2025-08-21/ts_{START + 1}_{START + 1}_part_0_off_1_1.avro.snappy"


def test_errors_name_lost_segments(spark: SparkSession, lake: QuixLake) -> None:
    """[QLK-SK-10] [QLK-CK-1]"""
    assert cases(lake) == [("lost", f"Raw/Topic=t/{NAME}")]
    for work in (lambda: lake.write(frame(spark, "d", 9), "t"), lambda: lake.compact("t"), lambda: lake.clean("t")):
        with pytest.raises(StorageError, match="a segment of a committed batch is missing") as failed:
            work()
        assert failed.value.found == f"1 missing: {NAME}"
        assert "abandon_lost=True" in str(failed.value)
        assert "as a new batch" in str(failed.value)
    assert ("lost", f"Raw/Topic=t/{NAME}") in cases(lake)


def test_a_batch_without_its_lost_segments(
    spark: SparkSession, lake: QuixLake, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """[QLK-SK-10] The other segments become visible, and the log names the lost one."""
    lake.clean("t", older_than=NOW, abandon_lost=True)
    assert NAME in caplog.text
    assert cases(lake) == []
    assert sorted(row.stream_key for row in lake.read("t").collect()) == ["a", "c"]
    assert len(lake.segments("t")) == len(lake.segments("t", listed=True)) == 2
    assert not lake.write(frame(spark, "abc"), "t", batch="lost").is_new
    assert lake.write(frame(spark, "b", 1), "t").is_new
    assert sorted(row.stream_key for row in lake.read("t").collect()) == ["a", "b", "c"]
    assert not list(tmp_path.rglob("._xskip-*"))


@pytest.mark.parametrize("name", ["hidden", "final"])
def test_a_restored_segment_completes_the_batch(spark: SparkSession, lake: QuixLake, tmp_path: Path, name: str) -> None:
    """[QLK-SK-10]"""
    with pytest.raises(StorageError, match=r"_part_0_off_1_1\.avro"):
        lake.write(frame(spark, "d", 9), "t")
    (manifest,) = tmp_path.glob("Metadata/Topic=t/_xskip/*.arrow")
    rows = ManifestLog(lake._store.storage, str(tmp_path / "Metadata/Topic=t")).read(manifest.stem)
    assert rows is not None
    (hidden,) = (row["hidden"] for row in rows.segments.to_pylist() if row["stream_key"] == "b")
    target = tmp_path / "Raw/Topic=t" / NAME
    (tmp_path / "lost.avro").rename(target.with_name(hidden) if name == "hidden" else target)
    assert lake.write(frame(spark, "d", 9), "t").is_new
    assert sorted(row.stream_key for row in lake.read("t").collect()) == ["a", "b", "c", "d"]
    assert cases(lake) == []


@pytest.mark.parametrize("step", ["_named", "_describe", "mark"])
def test_a_compaction_with_lost_segments_is_undone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """[QLK-SK-10] [QLK-CP-3] The segments that it would have replaced still count, and no message is lost."""
    hourly(tmp_path, ("a", "b"), exact=True)
    old = {*tmp_path.glob("Raw/**/*.avro.snappy")}
    lake = QuixLake(spark, str(tmp_path))
    before = messages(lake.read("t"))
    with monkeypatch.context() as patched:
        stop(patched, step)
        with pytest.raises(StoppedError):
            lake.compact("t", older_than=NOW)
    pattern = "._xskip-*" if step == "_named" else "ts_*.avro.snappy.*"
    (added,) = tmp_path.glob(f"Raw/Topic=t/Key=a/*/{pattern}")
    added.unlink()
    with pytest.raises(StorageError, match="loses no message"):
        lake.compact("t", older_than=NOW)
    assert [case for case, _ in cases(lake)] == ["lost"]
    assert messages(lake.read("t")) == before
    lake.clean("t", abandon_lost=True)  # the added segments are recent, and stay
    assert messages(lake.read("t")) == before
    assert cases(lake) == []
    assert len(lake.segments("t")) == len(lake.segments("t", listed=True)) == 12
    lake.clean("t", older_than=NOW)
    assert set(tmp_path.glob("Raw/**/ts_*")) == old
    assert messages(lake.read("t")) == before
    assert cases(lake) == []
    assert len(lake.segments("t")) == 12
    assert not list(tmp_path.rglob("compaction-*.arrow"))
    found = lake.compact("t", older_than=NOW)
    assert (found.replaced, found.added) == (12, 2)
    assert messages(lake.read("t")) == before


def test_a_compaction_that_completes_meanwhile_is_not_undone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-CP-2] The first mark decides."""
    hourly(tmp_path, ("a",), exact=True)
    lake = QuixLake(spark, str(tmp_path))
    before = messages(lake.read("t"))
    lake.compact("t", older_than=NOW)
    log = ManifestLog(lake._store.storage, str(tmp_path / "Metadata/Topic=t"))
    (name,) = log.recorded().compactions
    manifest = log.read(name)
    assert manifest is not None
    log.undo(manifest)
    assert log.token_of(name) == manifest.token
    assert messages(lake.read("t")) == before
