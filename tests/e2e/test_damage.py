"""With damaged or hostile metadata, queries return the correct rows and log one warning. Rules: [MDS-D]."""

from __future__ import annotations

import logging
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.helpers import by_days, index, kept, opened_files, rows_of, write_once
from tests.metadatastore.samples import minmax, opened, put_foreign, table_of
from xskip import MinMax, SkippingIndex
from xskip.errors import DatasetError, IndexDefinitionError
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import EXPRESSION, SETTINGS, IndexDefinition, MetadataTable, concat
from xskip.metadatastore import recorded_files
from xskip.metadatastore.codec import MetadataFile, open_file
from xskip.metadatastore.commit import publish
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.recorded_files import write_files
from xskip.spark.query.spark_engine import engine_of

ALL = {"f0", "f1", "f2"}


def committed(directory: str, table: MetadataTable, scratch: Path) -> None:
    """Replace the metadata of an index with another table, with a valid record."""
    before = opened(directory)
    assert before.record is not None
    scratch.mkdir()
    files = write_files(table, before.table_identifier, scratch, 0, before.write_options)
    record = replace(before.record, metadata_files=tuple(entry for _, entry in files))
    publish(LocalStorage(), directory, before.live, files, record)


def end_of_names(path: Path) -> int:
    """Return the position of the last byte of a metadata file's first column."""
    chunk = pq.read_metadata(path).row_group(0).column(0)
    return int((chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size - 1)


@pytest.mark.parametrize("where", ["footer", "page", "record"])
def test_a_flipped_bit(
    spark: SparkSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    """[MDS-D-1] [MDS-D-2] [MDS-D-6] Queries read all files, and open the damaged index once until it changes."""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(3)})
    directory = Path(index(spark, path, [MinMax("a")]).describe().location)
    assert kept(spark, path, "a = 1") == {"f1"}
    spark.conf.set("spark.xskip.strict", "false")
    (damaged,) = directory.glob("_commits/*" if where == "record" else "part-*")
    whole = damaged.read_bytes()
    at = {"footer": len(whole) - 12, "page": end_of_names(next(directory.glob("part-*"))), "record": 40}[where]
    damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    engine_of(spark).forget_all()
    opens: list[Path] = []

    def noted(path: Path) -> MetadataFile:
        opens.append(path)
        return open_file(path)

    monkeypatch.setattr(recorded_files, "open_file", noted)
    with caplog.at_level(logging.WARNING, "xskip"):
        for value in (1, 2, 1):
            assert kept(spark, path, f"a = {value}") == ALL
    assert len(opens) <= 1
    if where != "record":  # a record that is not whole counts as none
        assert len(caplog.records) == 1
    damaged.write_bytes(whole)
    os.utime(damaged, (time.time() + 9, time.time() + 9))
    engine_of(spark).hook.locations.forget_directories()
    assert kept(spark, path, "a = 1") == {"f1"}


def test_one_name_in_many_rows(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-D-7] Queries and refreshes with many rows of one name take linear time."""
    path = write_once(spark, tmp_path / "data", "a int", {"f0": [(0,)], "f1": [(1,)]})
    made = index(spark, path, [MinMax("a")])
    table, count = opened(made.describe().location).load(), 100_000
    times = np.arange(count) + 1_700_000_000_000
    many = DataFiles(pa.array([f"{path}/f0.parquet"] * count), pa.nulls(count, pa.int64()), pa.array(times))
    wrong = table_of(many, [minmax("a", "int", [7] * count, [7] * count)])
    twice = concat([wrong, wrong.take(pa.array(np.zeros(count, np.int64))), table])
    committed(made.describe().location, twice, tmp_path / "scratch")
    assert kept(spark, path, "a = 1") == {"f1"}
    assert kept(spark, path, "a = 0") == {"f0"}
    with pytest.raises(DatasetError, match="a file twice"):
        made.read(trust_listing=True)
    assert made.refresh().unchanged == 2
    assert opened(made.describe().location).rows == 2


def test_metadata_that_would_fill_the_memory(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """[MDS-D-5] Large metadata of another program is used only if a setting allows it."""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(3)})
    made = index(spark, path, [MinMax("a")])
    table = opened(made.describe().location).load()
    directory = made.describe().location
    made.drop()
    Path(directory).parent.mkdir(exist_ok=True)
    long = DataFiles(pa.array(["/" + "x" * 4_000] * 20_000), pa.nulls(20_000, pa.int64()), pa.array([1] * 20_000))
    nothing = table_of(long, [minmax("a", "int", [None] * 20_000, [None] * 20_000)])
    put_foreign(directory, [concat([nothing, table])], identifier=path)
    spark.conf.set("spark.xskip.strict", "false")
    spark.conf.set("spark.xskip.metadata.maxBytes", str(40 << 20))
    engine_of(spark).forget(directory)
    with caplog.at_level(logging.WARNING, "xskip"):
        for _ in range(2):
            assert kept(spark, path, "a = 1") == ALL
    assert [r.getMessage().count("spark.xskip.metadata.maxBytes") for r in caplog.records] == [1]
    spark.conf.set("spark.xskip.metadata.maxBytes", str(400 << 20))
    engine_of(spark).forget(directory)
    opened_files(spark.read.parquet(path).filter("a = 1"))  # bounds of numbers alone prove nothing there
    assert len(caplog.records) == 1


def test_names_that_leave_the_dataset(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-TL-7] Files outside of the dataset are not read; a refresh that lists drops their names."""
    made, path = by_days(spark, tmp_path)
    write_once(spark, tmp_path / "other", "x int, s string", {"day=2026-01-01/h=1/secret": [(666, "secret")]})
    secret = next((tmp_path / "other").rglob("secret.parquet"))
    below = str(secret.relative_to(tmp_path / "other"))
    directory = made.describe().location
    good = opened(directory).load()
    expected = rows_of(made)
    encoded = str(tmp_path / "other").replace("/", "%2F")
    names = [
        f"{path}/../other/{below}", f"{path}/day=2026-01-01/../../other/{below}", f"{tmp_path}/other/{below}",
        f"file:{tmp_path}/other/{below}", f"file://{tmp_path}/other/{below}", f"{path}x/{below}", "", "/", path,
        f"{path}/", f"{path}//{below}", f"{path}/./{below}", f"{path}/day=2026-01-01/..",
    ]  # fmt: skip
    for number, name in enumerate([*names, f"{path}/%2e%2e/other/{below}", f"{path}/{encoded}"]):
        size, modified = secret.stat().st_size, secret.stat().st_mtime_ns // 1_000_000
        odd = replace(
            good.take(pa.array([0])), files=DataFiles(pa.array([name]), pa.array([size]), pa.array([modified]))
        )
        committed(directory, concat([good, odd]), tmp_path / f"scratch{number}")
        engine_of(spark).forget(directory)
        if name in names:
            for call in (made.read, made.refresh):
                with pytest.raises(DatasetError, match="lists files outside of the dataset"):
                    call(trust_listing=True)
        else:
            assert {row.x for row in made.read(trust_listing=True).collect()}.isdisjoint({666})
        assert made.refresh().removed == 1
        assert rows_of(made) == expected
    assert made.read(trust_listing=True).count() == 6
    for outside in ("..", "../other", "day=2026-01-01/../../other", ""):
        with pytest.raises(DatasetError, match="not below the root"):
            made.read(trust_listing=True, recheck=[outside])


def test_expressions_of_metadata_are_not_analyzed(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-EX-4] An expression that no index can have is refused before Spark analyzes it."""
    path = write_once(spark, tmp_path / "data", "a int", {"f0": [(0,)], "f1": [(1,)]})
    made = SkippingIndex.for_path(spark, path)
    made.create([MinMax("a + 1", expression=True)])
    directory = made.describe().location
    table = opened(directory).load()
    ((key, column),) = table.indexes.items()
    params = dict(column.definition.params)
    assert set(params) == {EXPRESSION, SETTINGS}
    for number, text in enumerate(("(select max(b) from parquet.`/nowhere`)", "a + length(repeat('x', 500000000))")):
        definition = IndexDefinition("minmax", (text,), column.definition.params)
        forged = replace(table, indexes={definition.key: replace(column, definition=definition)})
        assert definition.key != key
        committed(directory, forged, tmp_path / f"scratch{number}")
        write_once(spark, tmp_path / "new", "a int", {"f2": [(2,)]})
        shutil.copyfile(tmp_path / "new/f2.parquet", f"{path}/g{number}.parquet")
        with pytest.raises(IndexDefinitionError, match="xskip cannot index this expression"):
            made.refresh()
