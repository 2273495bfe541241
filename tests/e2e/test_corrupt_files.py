"""An error names a corrupt data file wherever it is, and ``on_error="skip"`` omits the file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import index, needs_spark_4, write_files
from xskip import LocalKms, MinMax, SkippingIndex, ValueList
from xskip.errors import CollectError, DatasetError

FILES = {"p=1/a": [(1,)], "p=1/b": [(2,)], "p=2/[c]": [(3,)]}


@pytest.fixture(scope="module")
def written(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the paths of the files in each format, which tests copy."""
    home = tmp_path_factory.mktemp("written")
    return {fmt: write_files(session, home / fmt, "x int", FILES, fmt) for fmt in ("parquet", "avro", "orc")}


def spoil(path: str, name: str, fmt: str) -> None:
    file = Path(path) / f"{name}.{fmt}"
    file.write_bytes(b"no such format" * 20)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def rows_of_text(text: str, *names: str) -> list[str]:
    """Return the values of the rows with these names."""
    rows = dict(line.split("  ", 1) for line in text.splitlines())
    return [rows[name].strip() for name in names]


@pytest.mark.parametrize("merge", ["false", "true"])
@pytest.mark.parametrize("fmt", ["parquet", "avro", "orc"])
@pytest.mark.parametrize("corrupt", FILES)
def test_a_corrupt_file_is_named(
    spark: SparkSession, written: dict[str, str], tmp_path: Path, fmt: str, corrupt: str, merge: str
) -> None:
    """[PRU-RD-9] Errors name the corrupt file, whichever file of the dataset it is."""
    path = str(shutil.copytree(written[fmt], tmp_path / "data"))
    made = index(spark, path, [MinMax("x"), ValueList("x")], fmt, mergeSchema=merge)
    spoil(path, corrupt, fmt)
    status = made.status()
    assert (status.indexed, status.stale, status.missing, status.changed) == (2, 1, 1, 1)
    assert rows_of_text(str(status), "new", "changed", "deleted") == ["0", "1", "0"]
    with pytest.raises(CollectError) as error:
        made.refresh()
    assert f"/{corrupt}.{fmt}" in str(error.value.where)
    refreshed = made.refresh(on_error="skip")
    assert (refreshed.removed, refreshed.unchanged) == (1, 2)
    assert [corrupt in name for name in refreshed.failed] == [True]
    after = made.status()
    assert (after.indexed, after.stale, after.missing, after.up_to_date) == (2, 0, 1, False)
    ((name, reason),) = after.unreadable
    assert name.endswith(f"/{corrupt}.{fmt}")
    assert reason
    assert "no, repair or remove the file that Spark cannot read" in str(after)
    assert rows_of_text(str(after), "new", "changed", "deleted", "not readable") == ["0", "0", "0", "1"]
    assert rows_of_text(str(after), "error") == [f"{name}: {reason}"]
    assert after.changed == 0
    made.drop()
    assert made.create([MinMax("x")], on_error="skip").added == 2
    assert {name.rpartition("/")[2] for name in made.files("x < 100").names} == {
        f"{name.rpartition('/')[2]}.{fmt}" for name in FILES
    }


@needs_spark_4("does not miss the last byte of an Avro file")
def test_a_file_that_is_cut_off_may_be_damaged(spark: SparkSession, written: dict[str, str], tmp_path: Path) -> None:
    """Spark's reader of Avro throws an exception without a message."""
    path = str(shutil.copytree(written["avro"], tmp_path / "data"))
    file = Path(path) / "p=1/a.avro"
    file.write_bytes(file.read_bytes()[:-1])
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    made = SkippingIndex.for_path(spark, path, format="avro")
    with pytest.raises(CollectError) as error:
        made.create([MinMax("x")])
    assert str(error.value.where).endswith("/p=1/a.avro")
    assert str(error.value.found).endswith(" (the file may be damaged)")
    assert made.create([MinMax("x")], on_error="skip").added == 2
    ((_, reason),) = made.status().unreadable
    assert reason.startswith("java.lang.NullPointerException")
    assert reason.endswith(" (the file may be damaged)")


@pytest.mark.parametrize("fmt", ["parquet", "avro", "orc"])
def test_a_dataset_of_corrupt_files_is_refused(
    spark: SparkSession, written: dict[str, str], tmp_path: Path, fmt: str
) -> None:
    path = str(shutil.copytree(written[fmt], tmp_path / "data"))
    for name in FILES:
        spoil(path, name, fmt)
    with pytest.raises(DatasetError, match="cannot read the dataset"):
        SkippingIndex.for_path(spark, path, format=fmt).create([MinMax("x")])


def test_a_status_names_unreadable_files_until_they_change(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-C-29] The note outlives other operations, and ends with the file that it is about."""
    path = write_files(spark, tmp_path / "data", "x int", FILES)
    spoil(path, "p=1/a", "parquet")
    made = SkippingIndex.for_path(spark, path)
    made.create([MinMax("x"), ValueList("x")], on_error="skip")
    made.remove(["valuelist(x)"])
    made.add([ValueList("x")], on_error="skip")
    made.optimize()
    assert [name.rpartition("/")[2] for name, _ in made.status().unreadable] == ["a.parquet"]
    spoil(path, "p=1/b", "parquet")
    status = made.status()
    assert (status.missing, status.stale, len(status.unreadable)) == (2, 1, 1)
    assert "no, call refresh()" in str(status)
    made.refresh(on_error="skip")
    assert [name.rpartition("/")[2] for name, _ in made.status().unreadable] == ["a.parquet", "b.parquet"]
    for name in ("p=1/a", "p=1/b"):
        (Path(path) / f"{name}.parquet").unlink()
    assert made.status().unreadable == ()
    assert made.status().missing == 0


def test_a_file_that_stays_unreadable_makes_no_commits(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-C-29] A refresh that finds what the record says leaves the record, whose history would fill with copies."""
    path = write_files(spark, tmp_path / "data", "x int", FILES)
    spoil(path, "p=1/a", "parquet")
    made = SkippingIndex.for_path(spark, path)
    made.create([MinMax("x")], on_error="skip")
    (created,) = made.history()
    for _ in range(2):
        result = made.refresh(on_error="skip")
        assert (result.added, result.removed, result.unchanged) == (0, 0, 2)
        assert [name.rpartition("/")[2] for name in result.failed] == ["a.parquet"]
        ensured = made.ensure([MinMax("x")], on_error="skip")
        assert [name.rpartition("/")[2] for name in ensured.failed] == ["a.parquet"]
    assert list(made.history()) == [created]
    os.utime(Path(path) / "p=1" / "a.parquet", (1, 1))
    made.refresh(on_error="skip")
    made.refresh(on_error="skip")
    assert [commit.operation for commit in made.history()] == ["create", "refresh"]


def test_records_of_encrypted_indexes_do_not_name_unreadable_files(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-C-29]"""
    path = write_files(spark, tmp_path / "data", "x int", FILES)
    spoil(path, "p=1/a", "parquet")
    made = SkippingIndex.for_path(spark, path)
    spark.conf.set("spark.xskip.encryption.footer.key", "f")
    xskip.use_kms(LocalKms({label: label.encode() * 16 for label in ("f", "k")}))
    try:
        assert len(made.create([MinMax("x", key_label="k")], on_error="skip").failed) == 1
        assert made.status().missing == 1
        assert made.status().unreadable == ()
        records = [file.read_text() for file in Path(made.describe().location).rglob("*.json")]
        assert ["a.parquet" in text for text in records] == [False]
    finally:
        xskip.use_kms(None)
