"""Files of a table that a server removes while Spark reads them. Rules: [QDB-SP-11]."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.questdb.server import Server
from tests.questdb.spark_values import load
from tests.questdb.tables import create_numbers
from xskip.questdb_files import files
from xskip.spark.questdb import tables
from xskip.spark.questdb.description import pack


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


def open_files(spark: SparkSession, folder: Path, *, wanted: bool = False) -> list[Path]:
    """Return the files below a folder that the JVM has open, once there are none, or once there are some."""
    java: Any = spark.sparkContext._gateway.jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    for _ in range(600):
        links = [handle.readlink() for handle in Path(f"/proc/{java}/fd").iterdir() if handle.is_symlink()]
        found = [link for link in links if folder in link.parents]
        if bool(found) == wanted:
            break
        time.sleep(0.1)
    return found


@pytest.fixture
def removing(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what to run after each description of a table, before its files are opened, and the descriptions."""
    plan: dict[str, Any] = {"then": [], "packed": 0}

    def pack_and_run(*args: Any, **kwargs: Any) -> bytes:
        packed = pack(*args, **kwargs)
        plan["packed"] += 1
        if plan["then"]:
            plan["then"].pop(0)()
        return packed

    monkeypatch.setattr(tables, "pack", pack_and_run)
    monkeypatch.setattr("xskip.questdb_files.snapshot.Snapshot.is_current", lambda _: True)
    return plan


@pytest.mark.parametrize("to", ["parquet", "native"])
def test_partitions_that_are_converted_while_a_query_runs(
    spark: SparkSession, server: Server, tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QDB-SP-11] Tasks read the files that were there when the query began, also if they were young at the load."""
    name = create_numbers(server, "open")
    folder = server.folder(name)
    if to == "native":
        server.run(name, f"alter table {name} convert partition to parquet where ts < '1970-01-05'")
    with monkeypatch.context() as patch:
        patch.setattr(files, "_TICK_NANOSECONDS", 1 << 62)
        df = load(spark, folder)
    before = {path.name for path in folder.iterdir() if path.name.startswith("1970")}
    spark.conf.set("spark.sql.files.openCostInBytes", str(1 << 30))  # a task for each piece

    begun, changed = tmp_path / "begun", tmp_path / "changed"

    def begin() -> bool:
        begun.touch()
        end = time.monotonic() + 60
        while not changed.exists() and time.monotonic() < end:
            time.sleep(0.01)
        return True

    slow = F.udf(lambda x: (x % 100 == 1 and begin(), x)[1], "bigint")
    numbers = df.select(slow("x").alias("x"))
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(lambda: numbers.agg(F.count("*"), F.sum("x")).collect())
        while not begun.exists() and not found.done():  # a task has begun, so that all files are open
            time.sleep(0.01)
        assert open_files(spark, folder, wanted=True)
        server.run(name, f"alter table {name} convert partition to {to} where ts < '1970-01-05'")
        while not before - {path.name for path in folder.iterdir()} and not found.done():
            time.sleep(0.01)
        assert not found.done()  # the server has removed folders, and tasks have not begun
        changed.touch()
        assert [tuple(row) for row in found.result()] == [(500, 500 * 501 // 2)]
    assert before - {path.name for path in folder.iterdir()}
    assert open_files(spark, folder) == []


def test_a_query_takes_the_next_transaction_if_files_are_gone(
    spark: SparkSession, server: Server, removing: dict[str, Any]
) -> None:
    """[QDB-SP-11] Before a scan has its list of pieces."""
    name = create_numbers(server, "open")
    folder = server.folder(name)
    df = load(spark, folder)

    def change() -> None:
        server.run(name, f"alter table {name} convert partition to parquet where ts < '1970-01-05'")
        server.run(name, f"insert into {name} values (7, '1970-01-05T12:00')")
        shutil.rmtree(folder / "1970-01-02", ignore_errors=True)

    server.run(name, f"insert into {name} values (5, '1970-01-09')")
    removing["then"] = [change]
    removing["packed"] = 0
    first, second = df.agg(F.count("*"), F.sum("x")).union(df.agg(F.count("*"), F.sum("x"))).collect()
    assert first == second == (502, 500 * 501 // 2 + 12)
    assert removing["packed"] == 2
    assert open_files(spark, folder) == []


def test_files_that_stay_away_are_errors(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-4] [QDB-SP-11] After a bounded number of attempts, with the reason first."""
    name = create_numbers(server, "open")
    folder = server.folder(name)
    df = load(spark, folder)
    assert df.count() == 500
    shutil.rmtree(folder / "1970-01-03")
    started = time.monotonic()
    with pytest.raises(Exception, match="xskip cannot read transaction") as found:
        df.agg(F.sum("x")).collect()
    assert time.monotonic() - started < 30
    assert str(found.value).index("xskip cannot read transaction") < 300
    assert df.filter("ts < '1970-01-02'").agg(F.count("x")).collect() == [(99,)]
    assert open_files(spark, folder) == []
