"""A damaged index is an error of xskip that says what is damaged, where, and what to do, in Spark and without it."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyarrow.fs import LocalFileSystem
from pyspark.sql import SparkSession

import xskip
from tests.helpers import index, write_once
from xskip import MinMax, SkippingIndex
from xskip.errors import (
    DatasetError,
    MetadataCorruptError,
    MetadataNotFoundError,
    RecordDamagedError,
    StorageError,
    XskipError,
)

RESTORE = "restore the file, or drop the index and create it again"
CHECK = "check the storage and the permissions of this user, and try again"


class Damaged:
    """A dataset with an index whose files a test damages."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.path = write_once(spark, root / "data", "a int", {f"f{i}": [(i,)] for i in range(3)})
        index(spark, self.path, [MinMax("a")])
        (self.folder,) = (Path(self.path) / "_xskip").iterdir()
        (self.metadata,) = self.folder.glob("part-*.parquet")
        (self.record,) = (self.folder / "_commits").glob("*.json")

    def message(self, text: str) -> str:
        names = {"FOLDER": self.folder, "METADATA": self.metadata, "NAME": self.metadata.name, "DATA": self.path}
        for name, path in names.items():
            text = text.replace(name, str(path))
        return text


@pytest.fixture
def damaged(spark: SparkSession, tmp_path: Path) -> Damaged:
    spark.conf.set("spark.xskip.metadata.definitions", "false")  # an error about a known definition says when it was
    return Damaged(spark, tmp_path)


def replaced(path: Path, at: int, new: bytes) -> None:
    data = path.read_bytes()
    at %= len(data)
    path.write_bytes(data[:at] + new + data[at + len(new) :])


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


CASES: list[tuple[Callable[[Damaged], object], type[XskipError], str]] = [
    (lambda d: cut(d.metadata, 1000), MetadataCorruptError, "differs"),
    (lambda d: replaced(d.metadata, -8, b"\xff\xff\xff\x7f"), MetadataCorruptError, "no footer"),
    (lambda d: replaced(d.metadata, -4, b"NOPE"), MetadataCorruptError, "another footer"),
    (lambda d: d.metadata.unlink(), MetadataCorruptError, "missing"),
    (lambda d: cut(d.record, 100), RecordDamagedError, "no record"),
    (lambda d: d.record.unlink(), MetadataNotFoundError, "no index"),
]
MESSAGES = {
    "differs": "a metadata file differs from its commit record (where: METADATA; found: 1000 bytes; expected: SIZE "
    f"bytes); {RESTORE}",
    "no footer": "the metadata file is damaged or incomplete (where: METADATA; found: THOUSANDS bytes; expected: a "
    f"Parquet file with its footer); {RESTORE}",
    "another footer": "a metadata file differs from its commit record (where: METADATA; found: footer ",
    "missing": "metadata files are missing (where: FOLDER; found: 1 missing, the first of them NAME); drop the index "
    "and create it again",
    "no record": "the first commit record of the index is incomplete (where: FOLDER/_commits); restore the record, or "
    "call create() again",
    "no index": "there is no index (where: FOLDER); call create([...]) first",
}


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_damaged_index_is_an_error_at_the_opening(spark: SparkSession, damaged: Damaged, case: int) -> None:
    """[STA-OP-1]"""
    damage, kind, name = CASES[case]
    size = damaged.metadata.stat().st_size
    opened = xskip.open_index(damaged.path)
    damage(damaged)
    expected = damaged.message(MESSAGES[name]).replace("SIZE", str(size)).replace("THOUSANDS", f"{size:,}")
    for filesystem in (None, LocalFileSystem()):
        with pytest.raises(kind) as error:
            xskip.open_index(damaged.path, filesystem=filesystem)
        told = str(error.value)
        if name == "another footer":
            assert told.endswith(RESTORE)
            expected = told if filesystem is None and told.startswith(expected) else expected
        if filesystem is None:
            assert told == expected
        else:  # pyarrow's file systems copy the file
            assert told.partition("(where: ")[0] == expected.partition("(where: ")[0]
    with pytest.raises(kind) as error:
        opened.files("a = 1")
    if kind is MetadataCorruptError:  # Spark says the same of it
        with pytest.raises(kind) as by_spark:
            SkippingIndex.for_path(spark, damaged.path).refresh()
        assert str(by_spark.value) == str(error.value)


def test_damaged_rows_are_an_error_of_the_call_that_reads_them(damaged: Damaged) -> None:
    """[STA-OP-1]"""
    replaced(damaged.metadata, 40, b"\xff" * 8)
    opened = xskip.open_index(damaged.path)
    for predicate in ("a = 1", ds.field("a") == 1):
        with pytest.raises(MetadataCorruptError) as error:
            opened.files(predicate)
        told = str(error.value)
        assert told.startswith(f"cannot read the rows of the metadata file (where: {damaged.metadata}; found: ")
        assert told.endswith(f"; {RESTORE}")
        assert "\n" not in told


def test_a_file_that_is_no_metadata(damaged: Damaged) -> None:
    """[STA-OP-1]"""
    shutil.copy(f"{damaged.path}/f0.parquet", damaged.folder / "other.parquet")
    with pytest.raises(MetadataCorruptError) as error:
        xskip.open_index(damaged.path)
    assert str(error.value) == (
        f"the schema is not a schema of metadata (where: {damaged.folder}/other.parquet; found: no column obj_name); "
        f"{RESTORE}"
    )


class Refusing:
    """A file system on which some reads and listings fail."""

    def __init__(self, refused: str) -> None:
        self._own = LocalFileSystem()
        self._refused = refused

    def get_file_info(self, selector: Any) -> Any:
        if self._refused == "list":
            raise PermissionError("Cannot list directory '/x'. Detail: [errno 13] Permission denied")
        return self._own.get_file_info(selector)

    def open_input_stream(self, path: str) -> Any:
        if self._refused in path:
            raise PermissionError(f"Failed to open local file '{path}'. Detail: [errno 13] Permission denied")
        return self._own.open_input_stream(path)


def test_no_permission(damaged: Damaged, monkeypatch: pytest.MonkeyPatch) -> None:
    """[STA-OP-1]"""
    denied = "found: Permission denied)"
    for refused, what in {
        "list": f"cannot list the directory (where: {damaged.folder}/_commits; {denied}; {CHECK}",
        ".parquet": f"cannot read the file (where: {damaged.metadata}; {denied}; {CHECK}",
        ".json": f"cannot read the file (where: {damaged.record}; {denied}; {CHECK}",
    }.items():
        filesystem: Any = Refusing(refused)
        with pytest.raises(StorageError) as error:
            xskip.open_index(damaged.path, filesystem=filesystem)
        assert str(error.value) == what

    def refuse(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("xskip.metadatastore.recorded_files.footer_digest", refuse)
    with pytest.raises(StorageError) as error:
        xskip.open_index(damaged.path)
    hint = "check the permissions of this user, and whether the file system is read-only"
    assert str(error.value) == f"cannot read the file (where: {damaged.metadata}; {denied}; {hint}"


def test_links_to_nothing_among_the_data_files(damaged: Damaged) -> None:
    """[STA-OP-1]"""
    opened = xskip.open_index(damaged.path)
    for target, found in {"nothing": "No such file or directory", "link": "Too many levels of symbolic links"}.items():
        link = Path(damaged.path) / "link"
        link.symlink_to(link.with_name(target))
        with pytest.raises(DatasetError) as error:
            opened.files("a = 1")
        what = f"a file of the dataset cannot be listed (where: {link}; found: {found})"
        assert str(error.value) == f"{what}; restore the file, or remove the link"
        link.unlink()
    assert [Path(name).stem for name in opened.files("a = 1")] == ["f1"]


def test_random_damage_is_no_other_error(damaged: Damaged) -> None:
    """[STA-OP-1] [STA-SK-1]"""
    opened = xskip.open_index(damaged.path)
    failed = 0
    for path in (damaged.metadata, damaged.record):
        whole, stat = path.read_bytes(), path.stat()
        for seed in range(150):
            draw = random.Random(seed)
            data = bytearray(whole)
            for _ in range(draw.randint(1, 4)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            path.write_bytes(data[: draw.choice([len(data), draw.randrange(len(data))])])
            for predicate in ("a = 1", ds.field("a") == 1):
                try:
                    assert f"{damaged.path}/f1.parquet" in xskip.open_index(damaged.path).files(predicate).names
                except XskipError:
                    failed += 1
        path.write_bytes(whole)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert failed > 300
    assert len(opened.files("a = 1")) == 1
