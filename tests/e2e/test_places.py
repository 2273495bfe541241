"""Where queries find an index: tables' and databases' properties, directories of one's own, settings of the process."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import kept, opened_files, write_files
from xskip.spark.scan import engine_of

KEYS = ("io.xskipper.parquet.mdlocation", "spark.ibm.metaindex.parquet.mdlocation")
FILES = {"p=1/a": [(1,)], "p=1/b": [(5,)], "p=2/c": [(9,)]}


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A partitioned table ``shop.events`` of three files; returns the path of its data."""
    path = write_files(spark, tmp_path / "data", "v int", FILES)
    spark.sql("CREATE DATABASE shop")
    spark.sql(f"CREATE TABLE shop.events (v int, p int) USING parquet PARTITIONED BY (p) LOCATION '{path}'")
    spark.sql("ALTER TABLE shop.events RECOVER PARTITIONS")
    yield path
    spark.sql("DROP DATABASE shop CASCADE")
    for name in ("shop.events", path):
        engine_of(spark).hook.choose_place(name, None)


def by_table(spark: SparkSession, predicate: str) -> set[str]:
    return opened_files(spark.table("shop.events").filter(predicate))


@pytest.mark.parametrize("key", KEYS)
def test_a_table_s_property_names_the_directory(spark: SparkSession, events: str, tmp_path: Path, key: str) -> None:
    """[MDS-L-4] The index is made there, under the table's name, and asked by the table, not by its path."""
    spark.sql(f"ALTER TABLE shop.events SET TBLPROPERTIES ('{key}'='{tmp_path}/md')")
    made = xskip.SkippingIndex.for_table(spark, "shop.events")
    made.create([xskip.MinMax("v")])
    assert made.describe().location == f"{tmp_path}/md"
    assert {p.parent for p in tmp_path.rglob("part-*.parquet") if "md" in p.parts} == {tmp_path / "md"}
    assert by_table(spark, "v > 4") == {"b", "c"}
    assert by_table(spark, "v > 4 AND p = 1") == {"b"}
    assert kept(spark, events, "v > 4") == {"a", "b", "c"}
    assert not (Path(events) / "_xskip").exists()


@pytest.mark.parametrize("key", KEYS)
def test_a_database_s_property_names_a_base(spark: SparkSession, events: str, tmp_path: Path, key: str) -> None:
    """[MDS-L-4] Below it the directory is named by the digest of ``db.table``, which is the identifier, too."""
    spark.sql(f"ALTER DATABASE shop SET DBPROPERTIES ('{key}'='{tmp_path}/base/')")
    made = xskip.SkippingIndex.for_table(spark, "shop.events")
    made.create([xskip.MinMax("v")])
    assert made.describe().location == f"{tmp_path}/base/{digest('shop.events')}"
    assert by_table(spark, "v > 4") == {"b", "c"}
    write_files(spark, Path(events), "v int", {"p=2/d": [(0,)]})
    assert made.refresh().added == 1
    spark.catalog.refreshTable("shop.events")
    assert by_table(spark, "v > 4") == {"b", "c"}
    assert by_table(spark, "v < 1") == {"d"}
    made.drop()
    assert by_table(spark, "v > 4") == {"a", "b", "c", "d"}


def test_the_order_of_places(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-L-5] Each place is asked where those before it hold no index; a new index is made in the first."""
    spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/conf")
    table = xskip.SkippingIndex.for_table(spark, "shop.events")
    path = xskip.SkippingIndex.for_path(spark, events)
    made = [f"{tmp_path}/conf/{digest(events)}"]
    path.create([xskip.MinMax("v")])
    assert by_table(spark, "v > 4") == {"b", "c"}
    assert table.describe().location == made[0]
    spark.sql(f"ALTER DATABASE shop SET DBPROPERTIES ('{KEYS[0]}'='{tmp_path}/base')")
    engine_of(spark).hook.forget_directories()
    assert table.describe().location == made[0]  # there is none in the place before it yet
    spark.sql(f"ALTER TABLE shop.events SET TBLPROPERTIES ('{KEYS[0]}'='{tmp_path}/own')")
    path.drop()
    table.create([xskip.MinMax("v")])
    assert table.describe().location == f"{tmp_path}/own"
    table.at(f"{tmp_path}/chosen")
    assert not table.exists()
    assert by_table(spark, "v > 4") == {"a", "b", "c"}
    table.create([xskip.MinMax("v")])
    assert table.describe().location == f"{tmp_path}/chosen"
    assert by_table(spark, "v > 4") == {"b", "c"}
    assert not path.exists()


def test_a_table_s_name_below_the_configured_base(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-L-5] Where other programs put a table's metadata is looked at last."""
    table = xskip.SkippingIndex.for_table(spark, "shop.events").at(f"{tmp_path}/base/{digest('shop.events')}")
    table.create([xskip.MinMax("v")])
    engine_of(spark).hook.choose_place("shop.events", None)
    assert by_table(spark, "v > 4") == {"a", "b", "c"}
    spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/base")
    assert by_table(spark, "v > 4") == {"b", "c"}
    assert table.describe().location == f"{tmp_path}/base/{digest('shop.events')}"
    assert kept(spark, events, "v > 4") == {"a", "b", "c"}


def test_a_directory_of_its_own(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-L-5] Two indexes of one dataset: the one that was chosen last is asked, and no other."""
    made = xskip.SkippingIndex.for_path(spark, events)
    made.create([xskip.MinMax("v")])
    assert kept(spark, events, "v = 2") == set()
    made.at(f"{tmp_path}/other")
    assert kept(spark, events, "v = 2") == {"a", "b", "c"}
    made.create([xskip.ValueList("v")])
    assert made.describe().location == f"{tmp_path}/other"
    assert kept(spark, events, "v = 2") == set()
    assert kept(spark, events, "v = 5") == {"b"}
    assert by_table(spark, "v = 5") == {"b"}


def test_settings_of_the_process(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-L-1] A session without a setting of its own has that of the process, for builds and for queries."""
    engine = engine_of(spark)
    engine.set_process_wide("spark.xskip.metadata.location", f"{tmp_path}/process")
    try:
        made = xskip.SkippingIndex.for_path(spark, events)
        made.create([xskip.MinMax("v")])
        assert made.describe().location == f"{tmp_path}/process/{digest(events)}"
        assert kept(spark, events, "v > 4") == {"b", "c"}
        spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/mine")
        assert kept(spark, events, "v > 4") == {"a", "b", "c"}
        spark.conf.unset("spark.xskip.metadata.location")
        engine.set_process_wide("spark.xskip.enabled", "false")
        assert not xskip.is_enabled(spark)
        assert kept(spark, events, "v > 4") == {"a", "b", "c"}
        engine.set_process_wide("spark.xskip.enabled", None)
        assert kept(spark, events, "v > 4") == {"b", "c"}
    finally:
        engine.set_process_wide("spark.xskip.metadata.location", None)
        engine.set_process_wide("spark.xskip.enabled", None)
    assert kept(spark, events, "v > 4") == {"a", "b", "c"}


def test_counting_without_reading(spark: SparkSession, events: str) -> None:
    """Evaluation: a query on an indexed dataset reads nothing, its report says what it would; others are as ever."""
    made = xskip.SkippingIndex.for_path(spark, events)
    made.create([xskip.MinMax("v")])
    spark.conf.set("spark.xskip.evaluate", "true")
    asked = spark.read.parquet(events).filter("v > 4")
    assert asked.collect() == []
    (scan,) = xskip.last_report(spark).scans
    assert (scan.objects, scan.kept, scan.skipped) == (3, 2, 1)
    made.drop()
    assert sorted(row.v for row in spark.read.parquet(events).filter("v > 4").collect()) == [5, 9]


def test_a_setting_without_such_a_value(spark: SparkSession, events: str) -> None:
    """A setting that cannot be understood is refused before anything is made."""
    spark.conf.set("spark.xskip.metadata.rowsPerFile", "many")
    with pytest.raises(xskip.XskipError, match=r"spark\.xskip\.metadata\.rowsPerFile.*found: many.*a number from 1 on"):
        xskip.SkippingIndex.for_path(spark, events).create([xskip.MinMax("v")])
    assert not (Path(events) / "_xskip").exists()


def test_files_of_metadata_have_the_size_that_is_set(spark: SparkSession, events: str) -> None:
    """[MDS-C-10] By create, and by refresh."""
    spark.conf.set("spark.xskip.metadata.rowsPerFile", "2")
    made = xskip.SkippingIndex.for_path(spark, events)
    made.create([xskip.MinMax("v")])
    assert len(made.status().files) == 2
    write_files(spark, Path(events), "v int", {f"p=3/{n}": [(n,)] for n in "1234" for n in [int(n)]})
    made.refresh()
    assert len(made.status().files) == 4
    assert kept(spark, events, "v > 4") == {"b", "c"}
