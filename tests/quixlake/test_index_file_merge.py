"""Tests of the merging of index files: what is doubled or gone goes, and each file is listed and read once."""

from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.quixlake.lakes import WrittenLake, hourly, records
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake import QuixLake, compaction
from xskip.quixlake.descriptors import describe
from xskip.quixlake.index_file_merge import merge_index_files
from xskip.quixlake.manifests import SEGMENTS, Manifest, ManifestLog, compaction_name
from xskip.spark.quixlake.segments import SegmentCalls

#: A limit in the future: the clock of files need not be that of Python.
NOW = dt.timedelta(minutes=-1)
LATER = dt.datetime(2026, 6, 1, tzinfo=dt.timezone.utc)


def described(base: Path) -> list[dict[str, Any]]:
    """Return the descriptors of all index files in the order of offsets."""
    rows = [row for path in base.glob("Metadata/**/index_raw_*.parquet") for row in pq.read_table(path).to_pylist()]
    return sorted(rows, key=lambda row: (row["StartOffset"], row["CreatedAt"], row["RecordCount"]))


def test_equal_descriptors_become_one(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-4] [QLK-DE-4]"""
    written = WrittenLake(tmp_path)
    row, twice, differs, deleted = (written.segment("k", records(2, first=10 * i)) for i in range(4))
    for marks in (LATER, LATER + dt.timedelta(seconds=1)):  # as two compactions leave it
        rows = [row, twice, differs, deleted | {"DeletedAt": marks}]
        written.describe(rows, exact=True)
    written.describe([twice, twice | {"CreatedAt": LATER}, differs | {"RecordCount": 7}], exact=True)
    lake = QuixLake(spark, str(tmp_path))
    before = [*lake.segments("t")]
    limit = int(time.time() * 1000 + 60_000)
    assert merge_index_files(lake._store, "t", limit) == (3, 1)
    found = described(tmp_path)
    assert found == [row, twice, twice | {"CreatedAt": LATER}, differs, differs | {"RecordCount": 7},
                     deleted | {"DeletedAt": LATER}]  # fmt: skip
    assert merge_index_files(lake._store, "t", limit) == (0, 0)
    assert described(tmp_path) == found
    assert [*lake.segments("t")] == before


def test_descriptors_that_a_clean_up_has_left_go_later(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-4] A clean-up leaves recent index files, and a later merge drops the descriptors of removed segments."""
    written = hourly(tmp_path, ("a", "b"), exact=True)
    deleted, other = (written.segment("c", records(2, first=10 * i)) for i in range(2))
    written.describe([deleted | {"DeletedAt": LATER}], exact=True)
    written.describe([other | {"DeletedAt": LATER}])
    (tmp_path / other["Path"].partition("workspace/")[2]).unlink()
    lake = QuixLake(spark, str(tmp_path))
    assert lake.compact("t", older_than=NOW).replaced == 12
    for path in tmp_path.glob("Metadata/**/*.*"):  # the compaction is old, and the index files are not
        if path.suffix in (".done", ".parquet"):
            at = time.time() - (2 * 86_400 if path.suffix == ".done" else 0)
            os.utime(path, (at, at))
    assert lake.clean("t") == 12
    assert len(described(tmp_path)) == 16
    assert [row["case"] for row in lake.check("t")].count("stale") == 13
    assert lake.compact("t", older_than=NOW).index_files == (2, 2)
    assert len(described(tmp_path)) == 4
    assert [(row["case"], row["path"]) for row in lake.check("t")] == [
        ("deleted", deleted["Path"].partition("workspace/")[2]),
        ("stale", other["Path"].partition("workspace/")[2]),
    ]


def test_a_writer_that_rewrites_its_file_overwrites_no_merged_one(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-4] [QLK-DE-9] Whichever of its files a writer writes anew, segments stay deleted."""
    written = WrittenLake(tmp_path)
    rows = [written.segment("k", records(2, first=10 * i)) for i in range(3)]
    for row in rows:
        written.describe([row | {"DeletedAt": LATER}])
    lake = QuixLake(spark, str(tmp_path))
    for _ in range(2):  # the second merge finds the names of the first files free
        written.describe([written.segment("k", records(2, first=100 + 10 * written._files))])
        merged = lake.compact("t", older_than=NOW).index_files[0]
        assert merged > 1
    folder = tmp_path / "Metadata/Topic=t/Key=k"
    for number in {*range(10), *(row["StartOffset"] for row in described(tmp_path))}:
        (folder / f"index_raw_0_{number}.parquet").write_bytes(describe(rows[:1], exact=False))
    found = [row["offset"] for row in lake.read("t").collect()]
    assert sorted(found) == [0, 1, 130, 131, 140, 141]


def test_files_that_stay_as_many_are_not_merged(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-4] One file with the mark of the sink and one without cannot be merged."""
    written = WrittenLake(tmp_path)
    rows = [written.segment("k", records(2, first=10 * i)) for i in range(2)]
    written.describe(rows[:1], exact=True)
    written.describe(rows[1:])
    lake = QuixLake(spark, str(tmp_path))
    files = {*tmp_path.glob("Metadata/**/*.parquet")}
    assert lake.compact("t", older_than=NOW).index_files == (0, 0)
    assert {*tmp_path.glob("Metadata/**/*.parquet")} == files


def test_a_clean_up_of_many_compactions(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QLK-CP-3] It lists manifests, removes segments and merges index files once, not once for each compaction."""
    hourly(tmp_path, ("a", "b"), 12, exact=True)
    log = ManifestLog(LocalStorage(), str(tmp_path / "Metadata/Topic=t"))
    paths = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("Raw/**/*.avro*"))
    for number in range(10):
        replaced = pa.array(paths[2 * number : 2 * number + 2])
        manifest = Manifest(compaction_name(number + 1), f"{number}", 0, 1000, SEGMENTS.empty_table(), replaced)
        assert log.commit(manifest)
        log.mark(manifest)
    calls = {"recorded": 0, "remove": 0, "merge_index_files": 0, "list": 0}

    def counted(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def call(*args: Any, **options: Any) -> Any:
            calls[name] += 1
            return real(*args, **options)

        monkeypatch.setattr(owner, name, call)

    lake = QuixLake(spark, str(tmp_path))
    assert len(lake.segments("t", listed=True)) == 4
    counted(ManifestLog, "recorded")
    counted(SegmentCalls, "remove")
    counted(compaction, "merge_index_files")
    counted(LocalStorage, "list")
    assert lake.clean("t", older_than=NOW) == 20
    assert (calls["recorded"], calls["merge_index_files"]) == (3, 1)
    assert calls["remove"] == 2  # hidden files, and replaced segments
    assert calls["list"] <= 8
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("Raw/**/*.avro*")) == paths[20:]
    assert len(described(tmp_path)) == 4
    assert len(lake.check("t")) == 0
    assert sorted(log.recorded().manifests) == []
    assert sorted(log.recorded().marks) == [compaction_name(10)]
