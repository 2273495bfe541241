"""An error names a corrupt data file wherever it is, and ``on_error="skip"`` omits the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.helpers import index, write_files
from xskip import MinMax, SkippingIndex, ValueList
from xskip.errors import CollectError, DatasetError

FILES = {"p=1/a": [(1,)], "p=1/b": [(2,)], "p=2/[c]": [(3,)]}


def spoil(path: str, name: str, fmt: str) -> None:
    file = Path(path) / f"{name}.{fmt}"
    file.write_bytes(b"no such format" * 20)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize("merge", ["false", "true"])
@pytest.mark.parametrize("fmt", ["parquet", "avro", "orc"])
@pytest.mark.parametrize("corrupt", FILES)
def test_a_corrupt_file_is_named(spark: SparkSession, tmp_path: Path, fmt: str, corrupt: str, merge: str) -> None:
    """[PRU-RD-9] Errors name the corrupt file, whichever file of the dataset it is."""
    path = write_files(spark, tmp_path / "data", "x int", FILES, fmt)
    made = index(spark, path, [MinMax("x"), ValueList("x")], fmt, mergeSchema=merge)
    spoil(path, corrupt, fmt)
    status = made.status()
    assert (status.indexed, status.stale, status.missing) == (2, 1, 1)
    with pytest.raises(CollectError) as error:
        made.refresh()
    assert f"/{corrupt}.{fmt}" in str(error.value.where)
    refreshed = made.refresh(on_error="skip")
    assert (refreshed.removed, refreshed.unchanged) == (1, 2)
    assert [corrupt in name for name in refreshed.failed] == [True]
    made.drop()
    assert made.create([MinMax("x")], on_error="skip").added == 2
    assert {name.rpartition("/")[2] for name in made.files("x < 100").names} == {
        f"{name.rpartition('/')[2]}.{fmt}" for name in FILES
    }


@pytest.mark.parametrize("fmt", ["parquet", "avro", "orc"])
def test_a_dataset_of_corrupt_files_is_refused(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    path = write_files(spark, tmp_path / "data", "x int", FILES, fmt)
    for name in FILES:
        spoil(path, name, fmt)
    with pytest.raises(DatasetError, match="cannot read the dataset"):
        SkippingIndex.for_path(spark, path, format=fmt).create([MinMax("x")])
