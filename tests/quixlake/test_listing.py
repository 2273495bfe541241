"""Listings of all files below a directory. Rules: [QLK-PA-6]."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from xskip.errors import StorageError
from xskip.metadata.data_files import DataFiles
from xskip.protocol.file_table import FileTable
from xskip.quixlake.location import files_below
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.collect import relation
from xskip.spark.collect.relation import Listing

LISTED = (
    "a.avro",
    "Key=a%2Fb/Start=2025-08-21/ts_1_2_part_0_off_0_1.avro.snappy",
    "Key=a/b:c d#e?f/100%.avro",
    "Key=caf\u00e9/\u00fc\U0001f600.avro",
    "Key=_hidden/_deeper/.deepest/x=[1]{2}*'\".avro",
    "Key=/+&;,$\\.avro",
    "empty.avro",
    "other.txt",
)
HIDDEN = ("_SUCCESS", ".a.avro.crc", "Key=a/_x.avro", "Key=a/.x.avro")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name in (*LISTED, *HIDDEN):
        path = tmp_path / "a lake" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (0 if name == "empty.avro" else len(name)))
        os.utime(path, ns=(0, 1_700_000_000_123_456_789 + len(name)))
    (tmp_path / "a lake" / "no files").mkdir()
    return tmp_path / "a lake"


def entries_of(files: DataFiles) -> list[tuple[str, int, int]]:
    return sorted((files[i].name, files[i].size, files[i].modified) for i in range(len(files)))


def by_hadoop(spark: SparkSession, uri: str) -> DataFiles:
    """Return the listing that other file systems than local ones get."""
    return Listing(hook_of(spark).builds.files().below(uri)).files()


def test_every_file_below_is_listed(spark: SparkSession, lake: Path) -> None:
    """[QLK-PA-6]"""
    expected = sorted(
        (f"{lake}/{name}", 0 if name == "empty.avro" else len(name), 1_700_000_000_123) for name in LISTED
    )
    for uri in (f"{lake}", f"file:{lake}", f"file://{lake}/"):
        assert entries_of(files_below(hook_of(spark), uri).files) == expected
    for uri in (f"file:{lake}", f"file://{lake}/"):
        assert entries_of(by_hadoop(spark, uri)) == expected


def test_many_files_go_through_a_local_file(
    spark: SparkSession, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = entries_of(by_hadoop(spark, f"file:{lake}"))
    monkeypatch.setattr(relation, "_MAX_FILES", len(LISTED) - 1)
    folders: list[str] = []

    def noted(purpose: str) -> Any:
        folders.append(str(tmp_path / purpose))
        return nullcontext(folders[-1])

    monkeypatch.setattr(relation, "temporary_folder", noted)
    assert entries_of(by_hadoop(spark, f"file:{lake}")) == expected, "the JVM cannot write the file"
    (tmp_path / "files").mkdir()
    assert entries_of(by_hadoop(spark, f"file:{lake}")) == expected
    assert entries_of(FileTable.parse((tmp_path / "files/files").read_bytes()).files) == expected
    assert len(folders) == 2
    monkeypatch.setattr(relation, "_MAX_FILES", len(LISTED))
    assert entries_of(by_hadoop(spark, f"file:{lake}")) == expected
    assert len(folders) == 2


def test_a_directory_that_does_not_exist_has_no_files(spark: SparkSession, lake: Path) -> None:
    for uri in (f"file:{lake}/none", f"file:{lake}/no files"):
        assert entries_of(files_below(hook_of(spark), uri).files) == []
        assert entries_of(by_hadoop(spark, uri)) == []


def test_names_that_are_not_utf_8_are_left_out(spark: SparkSession, lake: Path) -> None:
    before = entries_of(files_below(hook_of(spark), str(lake)).files)
    folder = os.fsencode(lake / "Key=x")
    os.makedirs(folder + b"\xff/inside")
    for name in (folder + b"\xff/x.avro", os.fsencode(lake) + b"/Key=a/\xfe\xc3.avro"):
        Path(os.fsdecode(name)).touch()
    found = files_below(hook_of(spark), f"file:{lake}")
    assert entries_of(found.files) == before
    assert sorted(found.undecodable) == [f"{lake}/Key=a/\\xfe\\xc3.avro", f"{lake}/Key=x\\xff"]


def test_a_directory_that_cannot_be_read(spark: SparkSession, lake: Path) -> None:
    with pytest.raises(StorageError, match="cannot list the files of a directory"):
        files_below(hook_of(spark), f"file:{lake}/a.avro")
    with pytest.raises(StorageError, match="No FileSystem for scheme"):
        files_below(hook_of(spark), "nowhere://bucket/lake")


def test_names_have_no_scheme_and_no_authority(spark: SparkSession, lake: Path) -> None:
    """[QLK-PA-6]"""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.xskip-listing.link./base", (lake / "Key=a%2Fb").as_uri())
    try:
        found = files_below(hook_of(spark), "viewfs://xskip-listing/base")
        assert sorted(found.files.names.to_pylist()) == ["/base/Start=2025-08-21/ts_1_2_part_0_off_0_1.avro.snappy"]
    finally:
        conf.unset("fs.viewfs.mounttable.xskip-listing.link./base")
