"""Tests of checks: every odd case of descriptors and segments is named."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.quixlake.lakes import WrittenLake, hourly, records
from xskip.quixlake import QuixLake


def test_every_case_is_listed(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CK-1] [QLK-DE-1] [QLK-DE-6] [QLK-DE-7]"""
    written = WrittenLake(tmp_path)
    good, doubled, deleted, grown, missing, odd = (written.segment("k", records(2, first=10 * i)) for i in range(6))
    unnamed = written.segment("k", records(2, first=90), name="x.avro")
    at = dt.datetime(2026, 5, 1, tzinfo=dt.timezone.utc)
    written.describe([
        good, doubled, doubled, deleted | {"DeletedAt": at}, grown | {"FileSizeBytes": 5},
        good | {"Path": good["Path"].replace("off_0", "off_7")}, good | {"Path": "s3://elsewhere/x.avro"},
    ])  # fmt: skip
    below = {name: row["Path"].partition("workspace/")[2] for name, row in
             {"doubled": doubled, "deleted": deleted, "grown": grown, "missing": missing, "odd": odd,
              "unnamed": unnamed, "good": good}.items()}  # fmt: skip
    folder = tmp_path / "Metadata/Topic=t/Key=k"
    (folder / "index_raw_0_97.parquet").write_bytes(b"PAR1")
    (folder / "metadata_98.parquet").write_bytes(b"")
    pq.write_table(pa.table({"path": [odd["Path"]], "offset_start": [1]}), folder / "index_raw_0_99.parquet")
    (tmp_path / "Raw/Topic=t/Key=k/Start=2025-08-21/ts_1_2_part_0_off_3_4.avro").write_bytes(b"")
    found = [(row["case"], row["path"]) for row in QuixLake(spark, str(tmp_path)).check("t")]
    assert found == [
        ("deleted", below["deleted"]),
        ("doubled", below["doubled"]),
        ("empty", "Raw/Topic=t/Key=k/Start=2025-08-21/ts_1_2_part_0_off_3_4.avro"),
        ("former", "Metadata/Topic=t/Key=k/index_raw_0_99.parquet"),
        ("missing", below["missing"]),
        ("missing", below["unnamed"]),
        ("name", below["unnamed"]),
        ("outside", "Metadata/Topic=t/Key=k/index_raw_0_0.parquet"),
        ("size", below["grown"]),
        ("stale", below["good"].replace("off_0", "off_7")),
        ("unreadable", "Metadata/Topic=t/Key=k/index_raw_0_97.parquet"),
        ("unreadable", "Metadata/Topic=t/Key=k/metadata_98.parquet"),
    ]


def test_a_lake_without_odd_cases(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CK-1]"""
    hourly(tmp_path, ("a", None))
    assert len(QuixLake(spark, str(tmp_path)).check("t")) == 0


def test_names_that_are_not_utf_8_are_listed(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CK-1] A folder of a stream key, segments, and a folder of index files."""
    hourly(tmp_path, ("a",), 1)
    below = os.fsencode(tmp_path)
    for folder in (b"Raw/Topic=t/Key=caf\xe9/Start=2025-08-21", b"Metadata/Topic=t/Key=caf\xe9"):
        os.makedirs(below + b"/" + folder)
    for i in range(12):
        Path(os.fsdecode(below + b"/Raw/Topic=t/Key=a/Start=2025-08-21/\xff%02d.avro" % i)).touch()
    (tmp_path / "Raw/Topic=u").mkdir()
    Path(os.fsdecode(below + b"/Raw/Topic=u/\xff")).touch()
    lake = QuixLake(spark, str(tmp_path))
    assert [(row["case"], row["path"]) for row in lake.check("t")] == [
        ("undecodable", "Metadata/Topic=t/Key=caf\\xe9"),
        *(("undecodable", f"Raw/Topic=t/Key=a/Start=2025-08-21/\\xff{i:02}.avro") for i in range(12)),
        ("undecodable", "Raw/Topic=t/Key=caf\\xe9"),
    ]
    assert lake.read("t").count() == 4
