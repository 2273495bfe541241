"""Tests of index files on file systems that only Hadoop reaches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from xskip.errors import StorageError
from xskip.metadata.data_files import DataFiles
from xskip.quixlake import small_files
from xskip.quixlake.small_files import UnreadableFile, read_small_files
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.bridge.hadoop_filesystem import HadoopStorage


@pytest.fixture
def storage(spark: SparkSession) -> HadoopStorage:
    return HadoopStorage(hook_of(spark))


def test_files_of_a_listing_are_read_as_a_whole(storage: HadoopStorage, tmp_path: Path) -> None:
    contents = [bytes(range(256)), b"", b"\x00", "é".encode() * 70_000]
    paths = [f"file:{tmp_path}/{i} é%20#.x" for i in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        Path(path.removeprefix("file:")).write_bytes(content)
    sizes = [len(content) for content in contents]
    assert storage.read_listed(paths, sizes) == contents
    assert storage.read_listed(paths[:2], [300, 1]) == contents[:2], "files that are shorter now"
    assert storage.read_listed(paths[:1], [10]) == [contents[0][:10]], "a file that is longer now"
    assert storage.read_listed([], []) == []
    with pytest.raises(FileNotFoundError, match="/none"):
        storage.read_listed([*paths, f"file:{tmp_path}/none"], [*sizes, 1])
    with pytest.raises(StorageError, match="No FileSystem for scheme"):
        storage.read_listed(["nowhere://bucket/x"], [1])


def test_a_file_that_has_grown_since_the_listing_is_read_again(
    storage: HadoopStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-DE-5] [QLK-DE-9] Without its descriptors, deleted messages would come back."""
    monkeypatch.setattr(small_files, "_MAX_FILES", 2)
    names = [f"{tmp_path}/{i}.parquet" for i in range(5)]
    for i, name in enumerate(names):
        pq.write_table(pa.table({"Path": [str(i)] * (i + 1)}), name)
    Path(names[2]).write_bytes(b"no Parquet file")
    sizes = [Path(name).stat().st_size - 7 * (i == 3) for i, name in enumerate(names)]
    files = DataFiles(pa.array(names), pa.array(sizes), pa.array([1] * 5))
    found: list[Any] = list(read_small_files(storage, "file:", files, {}).values())
    assert isinstance(found.pop(2), UnreadableFile)
    assert [table["Path"].to_pylist() for table in found] == [[str(i)] * (i + 1) for i in (0, 1, 3, 4)]
