"""The paths of a dataset's files on the file systems of other engines."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pytest
from pyarrow.fs import LocalFileSystem

from xskip.results.scan_source import ScanSource


@pytest.mark.parametrize(
    ("root", "uri", "place", "names", "paths"),
    [
        ("s3a://lake/data", "s3://lake/data", "lake/data", ["/data/p=1/f"], ["lake/data/p=1/f"]),
        ("s3n://lake/data/", "s3://lake/data/", "lake/data/", ["/data/f"], ["lake/data/f"]),
        ("s3a://lake", "s3://lake", "lake", ["/f", "/p=1/g"], ["lake/f", "lake/p=1/g"]),
        ("gs://lake/", "gs://lake/", "lake/", ["/f"], ["lake/f"]),
        ("hdfs://nn:8020/data", "hdfs://nn:8020/data", "/data", ["/data/f"], ["/data/f"]),
        ("hdfs://nn:8020/", "hdfs://nn:8020/", "/", ["/f"], ["/f"]),
    ],
)
def test_paths_on_the_file_system_of_the_scheme(
    monkeypatch: pytest.MonkeyPatch, root: str, uri: str, place: str, names: list[str], paths: list[str]
) -> None:
    """The file systems are those of pyarrow, which has other paths and schemes than Hadoop."""
    system = object()

    def from_uri(found: str) -> tuple[Any, str]:
        assert found == uri
        return system, place

    monkeypatch.setattr(pyarrow.fs, "FileSystem", SimpleNamespace(from_uri=from_uri))
    assert ScanSource(root, "parquet", pa.Schema).located(pa.array(names)) == (system, paths)


def test_paths_on_a_local_disk_and_on_a_given_file_system() -> None:
    names = pa.array(["/data/f"])
    for root in ("/data", "file:///data"):
        assert ScanSource(root, "parquet", pa.Schema).located(names) == (LocalFileSystem(), ["/data/f"])
    given = LocalFileSystem()
    source = ScanSource("s3a://lake/data", "parquet", pa.Schema, filesystem=given, prefix="lake")
    assert source.located(names) == (given, ["lake/data/f"])
