"""Queries find an index by properties of tables and databases, and by settings of sessions and of the process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import kept, opened_files, write_files, write_once
from xskip.errors import ArgumentError, IndexDefinitionError, SettingError
from xskip.spark.query.spark_engine import engine_of

KEYS = ("io.xskipper.parquet.mdlocation", "spark.ibm.metaindex.parquet.mdlocation")
FILES = {"p=1/a": [(1,)], "p=1/b": [(5,)], "p=2/c": [(9,)]}


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """Yield the path of a partitioned table ``shop.events`` with three files."""
    path = write_files(spark, tmp_path / "data", "v int", FILES)
    spark.sql("CREATE DATABASE shop")
    spark.sql(f"CREATE TABLE shop.events (v int, p int) USING parquet PARTITIONED BY (p) LOCATION '{path}'")
    spark.sql("ALTER TABLE shop.events RECOVER PARTITIONS")
    yield path
    spark.sql("DROP DATABASE shop CASCADE")


def by_table(spark: SparkSession, predicate: str) -> set[str]:
    return opened_files(spark.table("shop.events").filter(predicate))


@pytest.mark.parametrize("key", KEYS)
def test_a_table_s_property_names_the_directory(spark: SparkSession, events: str, tmp_path: Path, key: str) -> None:
    """[MDS-L-4] The index is created there under the table's name, and serves the table, not its path."""
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
    """[MDS-L-4] The digest of ``db.table``, the identifier, names the directory below the base."""
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
    """[MDS-L-5] The first place with an index is used, and a new index is created in the first place."""
    spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/conf")
    table = xskip.SkippingIndex.for_table(spark, "shop.events")
    path = xskip.SkippingIndex.for_path(spark, events)
    made = [f"{tmp_path}/conf/{digest(events)}"]
    path.create([xskip.MinMax("v")])
    assert by_table(spark, "v > 4") == {"b", "c"}
    assert table.describe().location == made[0]
    spark.sql(f"ALTER DATABASE shop SET DBPROPERTIES ('{KEYS[0]}'='{tmp_path}/base')")
    engine_of(spark).hook.locations.forget_directories()
    assert table.describe().location == made[0]  # there is none in the place before it yet
    spark.sql(f"ALTER TABLE shop.events SET TBLPROPERTIES ('{KEYS[0]}'='{tmp_path}/own')")
    path.drop()
    table.create([xskip.MinMax("v")])
    assert table.describe().location == f"{tmp_path}/own"
    spark.conf.set("spark.xskip.metadata.places", f"shop.events={tmp_path}/chosen")
    assert not table.exists()
    assert by_table(spark, "v > 4") == {"a", "b", "c"}
    table.create([xskip.MinMax("v")])
    assert table.describe().location == f"{tmp_path}/chosen"
    assert by_table(spark, "v > 4") == {"b", "c"}
    assert not path.exists()
    spark.conf.unset("spark.xskip.metadata.places")
    assert table.describe().location == f"{tmp_path}/own"


def test_a_table_s_name_below_the_configured_base(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-L-5] The place of other programs for a table is the last one."""
    table = xskip.SkippingIndex.for_table(spark, "shop.events")
    table.at(f"{tmp_path}/base/{digest('shop.events')}").create([xskip.MinMax("v")])
    assert by_table(spark, "v > 4") == {"a", "b", "c"}
    spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/base")
    assert by_table(spark, "v > 4") == {"b", "c"}
    assert table.describe().location == f"{tmp_path}/base/{digest('shop.events')}"
    assert kept(spark, events, "v > 4") == {"a", "b", "c"}


def test_a_directory_of_its_own(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-L-5] Of two indexes of a dataset, only the index in the chosen directory is used."""
    made = xskip.SkippingIndex.for_path(spark, events)
    made.create([xskip.MinMax("v")])
    assert kept(spark, events, "v = 2") == set()
    other = made.at(f"{tmp_path}/other")
    assert (made.exists(), other.exists()) == (True, False)
    other.create([xskip.NullCount("v")])
    assert other.describe().location == f"{tmp_path}/other"
    assert kept(spark, events, "v = 2") == set()
    spark.conf.set("spark.xskip.metadata.places", f"{events}={tmp_path}/other")
    assert kept(spark, events, "v = 2") == by_table(spark, "v = 2") == {"a", "b", "c"}
    assert kept(spark, events, "v IS NULL") == by_table(spark, "v IS NULL") == set()
    spark.conf.unset("spark.xskip.metadata.places")
    assert kept(spark, events, "v = 2") == by_table(spark, "v = 2") == set()


def test_a_directory_changes_nothing_else(
    spark: SparkSession, events: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """[MDS-L-7] Another directory is that of one instance, and the instance says that queries look elsewhere."""
    made = xskip.SkippingIndex.for_path(spark, events)
    other = made.at(tmp_path / "other")
    assert other is not made
    other.create([xskip.MinMax("v")])
    entry = f"{events}={tmp_path}/other"
    assert f"spark.xskip.metadata.places={entry} makes them find it" in caplog.text
    assert not made.exists()
    assert not (Path(events) / "_xskip").exists()
    assert kept(spark, events, "v > 4") == {"a", "b", "c"}
    assert {Path(name).stem for name in other.files("v > 4").names} == {"b", "c"}
    assert spark.conf.get("spark.xskip.metadata.places", None) is None
    status = other.status()
    assert (status.up_to_date, status.remedy) == (False, "see the problem")
    assert status.problem.endswith(f"spark.xskip.metadata.places={entry} makes them find it")
    made.create([xskip.ValueList("v")])
    write_files(spark, Path(events), "v int", {"p=2/d": [(4,)]})
    assert (other.refresh().added, other.refresh(trust_listing=True).added) == (1, 0)
    assert (made.status().missing, other.status().missing) == (1, 0)
    assert other.read(trust_listing=True).filter("v > 4").count() == 2
    other.add([xskip.BloomFilter("v")])
    assert [each.name for each in other.describe().indexes] == ["minmax", "bloomfilter"]
    assert other.remove(["bloomfilter(v)"]).removed == ("bloomfilter(v)",)
    assert (other.validate().files, other.validate().wrong) == (4, ())
    assert [each.name for each in made.describe().indexes] == ["valuelist"]
    assert other.drop().location == f"{tmp_path}/other"
    assert made.exists()
    assert other.at(None).describe().location == made.describe().location


def test_queries_of_one_session_find_a_place(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-L-5] The setting is that of a session; invalid and other pairs do not count."""
    made = xskip.SkippingIndex.for_path(spark, events).at(f"{tmp_path}/other")
    made.create([xskip.MinMax("v")])
    session = spark.newSession()
    xskip.enable(session)
    places = f"/elsewhere=/md, file:{events}/ = file:{tmp_path}/other/"
    session.conf.set("spark.xskip.metadata.places", places)
    assert kept(session, events, "v > 4") == {"b", "c"}
    assert kept(spark, events, "v > 4") == {"a", "b", "c"}
    spark.conf.set("spark.xskip.metadata.places", places)
    found = xskip.SkippingIndex.for_path(spark, events)
    assert (found.exists(), found.status().problem) == (True, "")
    assert found.at(f"{tmp_path}/other").status().problem == ""
    for wrong in ("md", f"{events}=md", f"events={tmp_path}/other", f"{events}={tmp_path}/other,"):
        spark.conf.set("spark.xskip.metadata.places", wrong)
        with pytest.raises(SettingError, match=r"spark\.xskip\.metadata\.places.*such as /lake/events=/md/events"):
            found.exists()


@pytest.mark.parametrize("place", ["md", "./md", "~/md", "../md", "s3a:md"])
def test_places_are_absolute(spark: SparkSession, events: str, place: str) -> None:
    """[MDS-L-8] A relative path names another directory in each process."""
    made = xskip.SkippingIndex.for_path(spark, events)
    with pytest.raises(ArgumentError, match="the location is not an absolute path"):
        made.at(place)
    spark.conf.set("spark.xskip.metadata.location", place)
    with pytest.raises(SettingError, match=r"an absolute path such as /md"):
        made.create([xskip.MinMax("v")])
    assert not (Path(events) / "_xskip").exists()


def test_settings_of_the_process(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-L-1] Sessions without their own setting use that of the process, in builds and queries."""
    engine = engine_of(spark)
    engine.settings.set_process_wide("spark.xskip.metadata.location", f"{tmp_path}/process")
    try:
        made = xskip.SkippingIndex.for_path(spark, events)
        made.create([xskip.MinMax("v")])
        assert made.describe().location == f"{tmp_path}/process/{digest(events)}"
        assert kept(spark, events, "v > 4") == {"b", "c"}
        spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/mine")
        assert kept(spark, events, "v > 4") == {"a", "b", "c"}
        spark.conf.unset("spark.xskip.metadata.location")
        engine.settings.set_process_wide("spark.xskip.enabled", "false")
        assert not xskip.is_enabled(spark)
        assert kept(spark, events, "v > 4") == {"a", "b", "c"}
        engine.settings.set_process_wide("spark.xskip.enabled", None)
        assert kept(spark, events, "v > 4") == {"b", "c"}
    finally:
        engine.settings.set_process_wide("spark.xskip.metadata.location", None)
        engine.settings.set_process_wide("spark.xskip.enabled", None)
    assert kept(spark, events, "v > 4") == {"a", "b", "c"}


def test_counting_without_reading(spark: SparkSession, events: str) -> None:
    """[REP-P-9] In evaluation mode, a query on an indexed dataset reads nothing, and its report says so."""
    made = xskip.SkippingIndex.for_path(spark, events)
    made.create([xskip.MinMax("v")])
    spark.conf.set("spark.xskip.evaluate", "true")
    asked = spark.read.parquet(events).filter("v > 4")
    assert asked.collect() == []
    (scan,) = xskip.last_report(spark).scans
    assert (scan.files, scan.kept, scan.skipped, scan.evaluated) == (3, 2, 1, True)
    report = xskip.last_report(spark)
    assert report.headline.startswith("would skip 1 of 3 files")
    assert "evaluated only: the query read no data, because spark.xskip.evaluate is true" in str(report)
    assert "evaluated only" in report._repr_html_()
    made.drop()
    assert sorted(row.v for row in spark.read.parquet(events).filter("v > 4").collect()) == [5, 9]


def test_evaluation_touches_no_files_list_and_no_writes(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """Evaluation mode does not affect writes, lists of files, and filters that the index cannot answer."""
    made = xskip.SkippingIndex.for_path(spark, events)
    made.create([xskip.MinMax("v")])
    spark.conf.set("spark.xskip.evaluate", "true")
    assert {Path(name).stem for name in made.files("v > 4").names} == {"b", "c"}
    asked = spark.read.parquet(events).filter("v > 4")
    asked.write.parquet(f"{tmp_path}/copy")
    assert sorted(row.v for row in spark.read.parquet(f"{tmp_path}/copy").collect()) == [5, 9]
    assert spark.read.parquet(events).filter("v IS NULL OR hash(v, p) > 0 OR TRUE").count() == 3


@pytest.mark.parametrize("where", ["", "/..", "/md", "/p=1", "/p=1/md"])
def test_metadata_never_lie_among_the_data(spark: SparkSession, events: str, where: str) -> None:
    """[MDS-L-6] A directory in which readers would take metadata for data is refused."""
    import os

    before = sorted(Path(events).rglob("*"))
    made = xskip.SkippingIndex.for_path(spark, events)
    with pytest.raises(IndexDefinitionError, match="among the data"):
        made.at(os.path.normpath(events + where)).create([xskip.MinMax("v")])
    assert sorted(Path(events).rglob("*")) == before


def test_below_the_data_under_a_hidden_name(spark: SparkSession, events: str) -> None:
    """[MDS-L-6] A hidden directory below the data is allowed."""
    xskip.SkippingIndex.for_path(spark, events).at(f"{events}/_mine/index").create([xskip.MinMax("v")])
    spark.conf.set("spark.xskip.metadata.places", f"{events}={events}/_mine/index")
    assert kept(spark, events, "v > 4") == {"b", "c"}


def test_another_dataset_s_index_stays(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-L-6] A directory that two datasets have chosen serves only the dataset of its index."""
    other = write_files(spark, tmp_path / "other", "v int", {"x": [(1,)], "y": [(9,)]})
    mine = xskip.SkippingIndex.for_path(spark, events).at(f"{tmp_path}/md")
    mine.create([xskip.MinMax("v")])
    theirs = xskip.SkippingIndex.for_path(spark, other).at(f"{tmp_path}/md")
    spark.conf.set("spark.xskip.metadata.places", f"{events}={tmp_path}/md,{other}={tmp_path}/md")
    for change in (theirs.refresh, theirs.migrate, theirs.rotate_keys, theirs.drop):
        with pytest.raises(IndexDefinitionError, match="index of another dataset"):
            change()
    assert kept(spark, events, "v > 4") == {"b", "c"}
    spark.conf.set("spark.xskip.strict", "false")
    assert kept(spark, other, "v > 4") == {"x", "y"}
    mine.drop()
    theirs.create([xskip.MinMax("v")])
    assert kept(spark, other, "v > 4") == {"y"}


def test_a_directory_without_an_index_is_passed_over(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-L-5] A directory without metadata is ignored."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/note.txt").write_text("x")
    xskip.SkippingIndex.for_path(spark, events).create([xskip.MinMax("v")])
    spark.sql(f"ALTER TABLE shop.events SET TBLPROPERTIES ('{KEYS[0]}'='{tmp_path}/empty')")
    assert by_table(spark, "v > 4") == {"b", "c"}


def test_a_broken_index_can_be_dropped(spark: SparkSession, events: str, tmp_path: Path) -> None:
    """[MDS-C-13] An index with missing files can be dropped in any of several places."""
    spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/conf")
    table = xskip.SkippingIndex.for_table(spark, "shop.events")
    table.create([xskip.MinMax("v")])
    for file in (tmp_path / "conf").rglob("*.parquet"):
        file.unlink()
    table.drop()
    assert not table.exists()


def test_an_index_that_is_forgotten_while_a_query_loads_it(spark: SparkSession, events: str) -> None:
    """An earlier operation never removes the files that a query has registered."""
    made = xskip.SkippingIndex.for_path(spark, events)
    made.create([xskip.MinMax("v")])
    engine = engine_of(spark)
    directory = made.describe().location
    stop = threading.Event()

    def forget() -> None:
        while not stop.is_set():
            engine.forget(directory)

    thread = threading.Thread(target=forget)
    thread.start()
    try:
        for _ in range(20):
            assert {"b", "c"} <= kept(spark, events, "v > 4") <= {"a", "b", "c"}
    finally:
        stop.set()
        thread.join()
    assert kept(spark, events, "v > 4") == {"b", "c"}


def test_files_of_a_set_size_are_not_gathered_again(spark: SparkSession, events: str) -> None:
    """[MDS-C-10] A refresh does not merge files that have the maximum size."""
    write_once(spark, Path(events), "v int", {f"p=4/{n}": [(n,)] for n in range(20)})
    spark.conf.set("spark.xskip.metadata.rowsPerFile", "1")
    made = xskip.SkippingIndex.for_path(spark, events)
    made.create([xskip.MinMax("v")])
    before = {name for name, _ in made.status().metadata_files}
    write_files(spark, Path(events), "v int", {"p=5/new": [(77,)]})
    made.refresh()
    assert {name for name, _ in made.status().metadata_files} > before
    assert len(before) == 23


def test_a_build_leaves_the_session_s_settings_in_force(spark: SparkSession, events: str) -> None:
    """The user's session stays active after a build, whether the build succeeds or fails."""
    made = xskip.SkippingIndex.for_path(spark, events)
    made.create([xskip.MinMax("v")])
    with pytest.raises(xskip.XskipError):
        made.create([xskip.MinMax("v")])
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    active = spark._jvm.SparkSession.getActiveSession().get()  # type: ignore[union-attr]
    assert active.conf().get("spark.sql.shuffle.partitions") == "3"


def test_a_setting_without_such_a_value(spark: SparkSession, events: str) -> None:
    """An invalid setting is refused before anything is written."""
    spark.conf.set("spark.xskip.metadata.rowsPerFile", "many")
    with pytest.raises(
        xskip.XskipError, match=r"spark\.xskip\.metadata\.rowsPerFile.*found: many.*a whole number of at least 1"
    ):
        xskip.SkippingIndex.for_path(spark, events).create([xskip.MinMax("v")])
    assert not (Path(events) / "_xskip").exists()


def test_files_of_metadata_have_the_size_that_is_set(spark: SparkSession, events: str) -> None:
    """[MDS-C-10] create() and refresh() write files of the configured size."""
    spark.conf.set("spark.xskip.metadata.rowsPerFile", "2")
    made = xskip.SkippingIndex.for_path(spark, events)
    made.create([xskip.MinMax("v")])
    assert len(made.status().metadata_files) == 2
    write_files(spark, Path(events), "v int", {f"p=3/{n}": [(n,)] for n in (1, 2, 3, 4)})
    made.refresh()
    assert len(made.status().metadata_files) == 4
    assert kept(spark, events, "v > 4") == {"b", "c"}
