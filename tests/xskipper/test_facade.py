"""Xskipper's Python API has the same names, statuses, DataFrames, configuration and four types of locations."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import kept, opened_files, write_files
from tests.xskipper import quickstart
from tests.xskipper.quickstart import only, texts
from xskip.metadatastore.location import metadata_directory
from xskip.spark.query.spark_engine import engine_of
from xskip.xskipper import IndexBuilder, Registration, Xskipper, XskipperException

LOCATION, KIND = "io.xskipper.parquet.mdlocation", "io.xskipper.parquet.mdlocation.type"
FPP, NDV = "io.xskipper.index.bloom.fpp", "io.xskipper.index.bloom.ndv"
FILES = {"p=1/a": [(1,)], "p=1/b": [(5,)], "p=2/c": [(9,)]}


@pytest.fixture(autouse=True)
def as_before(spark: SparkSession) -> Iterator[None]:
    """Reset the process's configuration and the database's property before and after each test."""
    Xskipper.reset(spark)
    yield
    Xskipper.reset(spark)
    spark.sql(f"ALTER DATABASE default SET DBPROPERTIES ('{LOCATION}'='')")
    engine_of(spark).hook.locations.forget_directories()


@pytest.fixture
def data(spark: SparkSession, tmp_path: Path) -> str:
    return write_files(spark, tmp_path / "data", "v int", FILES)


@pytest.fixture
def table(spark: SparkSession, data: str) -> Iterator[str]:
    spark.sql("CREATE DATABASE shop")
    spark.sql(f"CREATE TABLE shop.events (v int, p int) USING parquet PARTITIONED BY (p) LOCATION '{data}'")
    spark.sql("ALTER TABLE shop.events RECOVER PARTITIONS")
    yield "shop.events"
    spark.sql("DROP DATABASE shop CASCADE")


def build(spark: SparkSession, xskipper: Xskipper) -> dict[str, object]:
    return only(xskipper.indexBuilder().addMinMaxIndex("v").build(spark.read.format("parquet")))


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def test_the_quick_start_has_the_documented_results(spark: SparkSession, tmp_path: Path) -> None:
    base, data = str(tmp_path / "md"), str(tmp_path / "data")
    seen = quickstart.on_a_path(spark, base, data)
    assert seen["built"] == {"status": "SUCCESS", "new_entries_added": 2, "old_entries_removed": 0}
    indexes = [
        ("# Index information", "", ""),
        ("# Index type", "Columns", "Params"),
        ("minmax", "temp", ""),
        ("valuelist", "city", ""),
        ("bloomfilter", "vid", f"{NDV} -> 100000 ; {FPP} -> 0.01"),
    ]
    where = [("# Metadata properties", "", ""), ("Metadata location", metadata_directory(data, base), "")]
    assert seen["described"] == [("Status", "Up to date", ""), ("Total objects indexed", "2", ""), *where, *indexes]
    assert seen["listed"] == [
        ("# Metadatastore Manager parameters", "", ""),
        ("Metadata base path", base, ""),
        (data, "minmax", "temp"),
        ("", "valuelist", "city"),
        ("", "bloomfilter", "vid"),
    ]
    assert seen["rows"] == [("Tel-Aviv",)]
    sizes = sorted(p.stat().st_size for p in Path(data).rglob("*.parquet"))
    stats: Any = seen["stats"]
    assert stats == seen["aggregated"]
    assert (stats["status"], stats["isSkippable"], stats["skipped_Objs"], stats["total_Objs"]) == (
        "SUCCESS",
        True,
        1,
        2,
    )
    assert stats["skipped_Bytes"] in sizes
    assert seen["stale"] == [
        ("Status", "Out of date - please use REFRESH operation to update the index", ""),
        ("Total new/modified objects", "33% of the objects (1 of 3)", ""),
        ("Total objects indexed", "2", ""),
        *where,
        *indexes,
    ]
    assert seen["refreshed"] == {"status": "SUCCESS", "new_entries_added": 1, "old_entries_removed": 0}
    assert seen["fresh"] == [("Status", "Up to date", ""), ("Total objects indexed", "3", ""), *where, *indexes]
    assert seen["indexed"] is False


def test_the_quick_start_on_a_table_has_the_documented_results(spark: SparkSession, tmp_path: Path) -> None:
    base, data = str(tmp_path / "md"), str(tmp_path / "data")
    quickstart.on_a_path(spark, base, data)
    seen = quickstart.on_a_table(spark, base, data)
    assert seen["built"] == {"status": "SUCCESS", "new_entries_added": 3, "old_entries_removed": 0}
    assert sorted(seen["rows"]) == [("Beer-Sheva",), ("Tel-Aviv",)]  # type: ignore[call-overload]
    aggregated: Any = seen["aggregated"]
    assert (aggregated["isSkippable"], aggregated["skipped_Objs"], aggregated["total_Objs"]) == (True, 1, 3)
    described: Any = seen["described"]
    assert ("Metadata location", f"{base}/{digest('default.tbl')}", "") in described
    assert seen["refreshed"] == {"status": "SUCCESS", "new_entries_added": 0, "old_entries_removed": 0}
    assert seen["indexed"] is False


def test_the_forms_of_dataframes(spark: SparkSession, data: str, tmp_path: Path) -> None:
    """Names, types and nullability are those of the Scala case classes."""
    Xskipper.setConf(spark, {LOCATION: str(tmp_path / "md")})
    xskipper = Xskipper(spark, data)
    failed = "struct<status:string,reason:string>"
    assert xskipper.getLatestQueryStats().schema.simpleString() == failed
    assert only(xskipper.getLatestQueryStats()) == {"status": "FAILED", "reason": "No Data Was Supplied"}
    built = xskipper.indexBuilder().addMinMaxIndex("v").build(spark.read.format("parquet"))
    assert [(f.name, f.dataType.simpleString(), f.nullable) for f in built.schema] == [
        ("status", "string", True),
        ("new_entries_added", "int", False),
        ("old_entries_removed", "int", False),
    ]
    Xskipper.enable(spark)
    spark.read.parquet(data).filter("v > 4").collect()
    assert [(f.name, f.dataType.simpleString(), f.nullable) for f in xskipper.getLatestQueryStats().schema] == [
        ("status", "string", True),
        ("isSkippable", "boolean", False),
        ("skipped_Bytes", "bigint", False),
        ("skipped_Objs", "bigint", False),
        ("total_Bytes", "bigint", False),
        ("total_Objs", "bigint", False),
    ]
    described = xskipper.describeIndex(spark.read.format("parquet"))
    assert described.columns == ["Data Skipping Index Stats", data, "Comment"]
    assert Xskipper.listIndexes(spark).columns == ["Dataset", "Index type", "Index columns"]


def test_statistics_add_up_until_they_are_cleared(spark: SparkSession, data: str, tmp_path: Path) -> None:
    Xskipper.setConf(spark, {LOCATION: str(tmp_path / "md")})
    other = write_files(spark, tmp_path / "other", "v int", {"x": [(1,)], "y": [(2,)]})
    one, two = Xskipper(spark, data), Xskipper(spark, other)
    build(spark, one)
    build(spark, two)
    Xskipper.enable(spark)
    Xskipper.clearStats(spark)
    nothing = {"status": "SUCCESS", "isSkippable": False}
    zeros = dict.fromkeys(("skipped_Bytes", "skipped_Objs", "total_Bytes", "total_Objs"), 0)
    assert only(Xskipper.getLatestQueryAggregatedStats(spark)) == nothing | zeros
    spark.read.parquet(data).filter("v IS NULL").collect()
    assert only(one.getLatestQueryStats()) == nothing | zeros
    for _ in range(2):
        spark.read.parquet(data).filter("v > 4").collect()
    spark.read.parquet(other).filter("v > 1").collect()
    first, second = only(one.getLatestQueryStats()), only(two.getLatestQueryStats())
    assert (first["isSkippable"], first["skipped_Objs"], first["total_Objs"]) == (True, 2, 6)
    assert (second["isSkippable"], second["skipped_Objs"], second["total_Objs"]) == (True, 1, 2)
    both = only(Xskipper.getLatestQueryAggregatedStats(spark))
    assert (both["skipped_Objs"], both["total_Objs"]) == (3, 8)
    Xskipper.clearStats(spark)
    assert only(one.getLatestQueryStats())["status"] == "FAILED"


def test_configuration_keys_can_be_set_and_removed(spark: SparkSession) -> None:
    Xskipper.setConf(spark, {FPP: "0.2", NDV: "7"})
    Xskipper.set(spark, "spark.ibm.metaindex.parquet.index.chunksize", "3")
    assert Xskipper.getConf(spark) == {FPP: "0.2", NDV: "7", "spark.ibm.metaindex.parquet.index.chunksize": "3"}
    assert Xskipper.get(spark, FPP) == "0.2"
    Xskipper.unset(spark, FPP)
    assert Xskipper.get(spark, FPP) is None
    Xskipper.reset(spark)
    assert Xskipper.getConf(spark) == {}
    with pytest.raises(XskipperException, match="texts"):
        Xskipper.set(spark, NDV, 7)  # type: ignore[arg-type]


def test_keys_with_an_effect_here(spark: SparkSession, data: str, tmp_path: Path) -> None:
    """Present and former keys configure Bloom filters, chunks and sizes of files."""
    Xskipper.setConf(
        spark,
        {
            "spark.ibm.metaindex.parquet.mdlocation": str(tmp_path / "md"),
            "spark.ibm.metaindex.parquet.mdlocation.type": "EXPLICIT_BASE_PATH_LOCATION",
            "spark.ibm.metaindex.index.bloom.fpp": "0.2",
            NDV: "50",
            "io.xskipper.parquet.maxRecordsPerMetadataFile": "1",
        },
    )
    xskipper = Xskipper(spark, data)
    xskipper.indexBuilder().addBloomFilterIndex("v").build(spark.read.format("parquet"))
    assert len(list((tmp_path / "md" / digest(data)).glob("part-*.parquet"))) == 3
    rows = texts(xskipper.describeIndex(spark.read.format("parquet")))
    assert ("bloomfilter", "v", f"{NDV} -> 50 ; {FPP} -> 0.2") in rows
    xskipper.setParams({FPP: "much"})
    with pytest.raises(XskipperException, match="need numbers"):
        xskipper.indexBuilder().addBloomFilterIndex("v")
    xskipper.setParams({FPP: "2"})
    with pytest.raises(XskipperException, match="invalid rate"):
        xskipper.indexBuilder().addBloomFilterIndex("v")
    xskipper.dropIndex()
    xskipper.setParams({"io.xskipper.parquet.index.chunksize": "none"})
    with pytest.raises(XskipperException, match=r"Invalid Configuration.*chunkFiles.*found: none"):
        build(spark, xskipper)


def test_unknown_keys_and_keys_without_effect_are_logged(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "xskip"):
        Xskipper.set(spark, "io.xskipper.parquet.mdlocaton", "/x")
        Xskipper.set(spark, "io.xskipper.timeout", "1")
        Xskipper.set(spark, "my.own.key", "1")
    assert [record.getMessage() for record in caplog.records] == [
        "unknown configuration key io.xskipper.parquet.mdlocaton",
        "io.xskipper.timeout has no effect: an index is read while the query is planned",
    ]


def test_evaluation(spark: SparkSession, data: str, tmp_path: Path) -> None:
    """In evaluation mode, indexed datasets are not read, and the statistics count the files to skip."""
    Xskipper.setConf(spark, {LOCATION: str(tmp_path / "md"), "io.xskipper.evaluation.enabled": "true"})
    xskipper = Xskipper(spark, data)
    build(spark, xskipper)
    Xskipper.enable(spark)
    Xskipper.clearStats(spark)
    assert spark.read.parquet(data).filter("v > 4").count() == 0
    assert only(xskipper.getLatestQueryStats())["skipped_Objs"] == 1
    Xskipper.set(spark, "io.xskipper.evaluation.enabled", "false")
    assert spark.read.parquet(data).filter("v > 4").count() == 2


def test_explicit_base_path_location(spark: SparkSession, data: str, table: str, tmp_path: Path) -> None:
    """The digests of a path and of a table's name name the directories, also for other processes."""
    Xskipper.setConf(spark, {LOCATION: f"{tmp_path}/md", KIND: "EXPLICIT_BASE_PATH_LOCATION"})
    build(spark, Xskipper(spark, data))
    only(Xskipper(spark, table).indexBuilder().addMinMaxIndex("v").build())
    assert {p.name for p in (tmp_path / "md").iterdir()} == {digest(data), digest(table)}
    Xskipper.reset(spark)
    Xskipper.enable(spark)
    assert kept(spark, data, "v > 4") == {"a", "b", "c"}
    Xskipper.setConf(spark, {LOCATION: f"{tmp_path}/md", KIND: "EXPLICIT_BASE_PATH_LOCATION"})
    assert kept(spark, data, "v > 4") == {"b", "c"}
    Xskipper(spark, data).dropIndex()
    assert opened_files(spark.table(table).filter("v > 4")) == {"b", "c"}
    assert kept(spark, data, "v > 4") == {"a", "b", "c"}


def test_explicit_location(spark: SparkSession, data: str, tmp_path: Path) -> None:
    """Queries use the location of a dataset as soon as an instance with its configuration exists."""
    xskipper = Xskipper(spark, data)
    xskipper.setParams({LOCATION: f"{tmp_path}/here", KIND: "EXPLICIT_LOCATION"})
    assert not xskipper.isIndexed()
    build(spark, xskipper)
    assert list((tmp_path / "here").glob("part-*.parquet"))
    Xskipper.enable(spark)
    assert kept(spark, data, "v > 4") == {"b", "c"}
    Xskipper.reset(spark)
    Xskipper.enable(spark)
    assert kept(spark, data, "v > 4") == {"a", "b", "c"}
    Xskipper.setConf(spark, {LOCATION: f"{tmp_path}/here", KIND: "EXPLICIT_LOCATION"})
    assert Xskipper(spark, data).isIndexed()
    assert kept(spark, data, "v > 4") == {"b", "c"}


@pytest.mark.parametrize("legacy", [False, True])
def test_hive_table_name(spark: SparkSession, table: str, tmp_path: Path, *, legacy: bool) -> None:
    """The table's property names the directory, and is written once there is an index."""
    key = "spark.ibm.metaindex.parquet.mdlocation" if legacy else LOCATION
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{key}'='{tmp_path}/by\\'table')")
    xskipper = Xskipper(spark, table)
    xskipper.setParams({LOCATION: table, KIND: "HIVE_TABLE_NAME"})
    only(xskipper.indexBuilder().addMinMaxIndex("v").build())
    assert list((tmp_path / "by'table").glob("part-*.parquet"))
    properties = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}
    assert properties[LOCATION] == f"file:{tmp_path}/by'table"
    assert "spark.ibm.metaindex.parquet.mdlocation" not in properties
    Xskipper.reset(spark)
    Xskipper.enable(spark)
    assert opened_files(spark.table(table).filter("v > 4")) == {"b", "c"}


def test_hive_table_name_without_a_property(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """The directory is below the database's location, and the table's property is written."""
    spark.sql(f"ALTER DATABASE shop SET DBPROPERTIES ('{LOCATION}'='{tmp_path}/db')")
    xskipper = Xskipper(spark, table)
    xskipper.setParams({LOCATION: table, KIND: "HIVE_TABLE_NAME"})
    only(xskipper.indexBuilder().addMinMaxIndex("v").build())
    properties = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}
    assert properties[LOCATION] == f"file:{tmp_path}/db/{digest(table)}"
    only(xskipper.refreshIndex())
    xskipper.dropIndex()
    assert LOCATION not in {row.key for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}
    assert not xskipper.isIndexed()


def test_instances_of_a_dataset_share_what_was_set(spark: SparkSession, data: str, tmp_path: Path) -> None:
    """A second instance of a dataset uses the location of the first one."""
    Xskipper.setConf(spark, {LOCATION: f"{tmp_path}/md"})
    first = Xskipper(spark, data)
    first.setParams({LOCATION: f"{tmp_path}/here", KIND: "EXPLICIT_LOCATION"})
    build(spark, first)
    second = Xskipper(spark, f"{data}/")
    assert second.isIndexed()
    Xskipper.enable(spark)
    assert kept(spark, data, "v > 4") == {"b", "c"}


def told(xskipper: Xskipper, params: dict[str, str]) -> bool:
    xskipper.setParams(params)
    return xskipper.isIndexed()


def test_paths_that_are_no_names(spark: SparkSession, tmp_path: Path) -> None:
    """A text that is not a table's name is a path; other texts raise an XskipperException."""
    Xskipper.setConf(spark, {LOCATION: str(tmp_path / "md")})
    for uri in ("data-2024", "events.v1.parquet", "my data"):
        assert not Xskipper(spark, uri).isIndexed()
    for params in ({LOCATION: "a-b", KIND: "HIVE_TABLE_NAME"}, {LOCATION: "nofs://x/y", KIND: "EXPLICIT_LOCATION"}):
        xskipper = Xskipper(spark, str(tmp_path / params[KIND]))
        with pytest.raises(XskipperException):
            told(xskipper, params)
    with pytest.raises(XskipperException):
        Xskipper.set(spark, LOCATION, "bad:path")
    assert Xskipper.get(spark, LOCATION) == str(tmp_path / "md")


def test_a_broken_index_can_be_dropped(spark: SparkSession, data: str, tmp_path: Path) -> None:
    Xskipper.setConf(spark, {LOCATION: str(tmp_path / "md")})
    xskipper = Xskipper(spark, data)
    build(spark, xskipper)
    for file in (tmp_path / "md").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(XskipperException, match="metadata files are missing"):
        xskipper.isIndexed()
    xskipper.dropIndex()
    assert not xskipper.isIndexed()


def test_hive_db_name(spark: SparkSession, data: str, table: str, tmp_path: Path) -> None:
    """A database's location serves paths and tables, by the configuration of the process or of an instance."""
    spark.sql(f"ALTER DATABASE shop SET DBPROPERTIES ('{LOCATION}'='{tmp_path}/db')")
    Xskipper.setConf(spark, {LOCATION: "shop", KIND: "HIVE_DB_NAME"})
    build(spark, Xskipper(spark, data))
    only(Xskipper(spark, table).indexBuilder().addMinMaxIndex("v").build())
    assert {p.name for p in (tmp_path / "db").iterdir()} == {digest(data), digest(table)}
    listed = texts(Xskipper.listIndexes(spark))
    assert listed[1] == ("Metadata base path", f"{tmp_path}/db", "")
    assert {row[0] for row in listed[2:]} == {data, table}


def test_without_a_location(spark: SparkSession, data: str, table: str) -> None:
    """Without a location, the index is in the dataset, as with xskip's own API."""
    build(spark, Xskipper(spark, data))
    assert (Path(data) / "_xskip").is_dir()
    assert Xskipper(spark, table).isIndexed()
    with pytest.raises(XskipperException, match=r"configuration io\.xskipper\.parquet\.mdlocation missing"):
        Xskipper.listIndexes(spark)


def test_invalid_locations_are_refused(spark: SparkSession, data: str, table: str) -> None:
    xskipper = Xskipper(spark, data)
    for params, words in (
        ({LOCATION: "/x", KIND: "ANYWHERE"}, "valid values are EXPLICIT_BASE_PATH_LOCATION"),
        ({LOCATION: "no.table", KIND: "HIVE_TABLE_NAME"}, "Table no.table Not Found"),
        ({LOCATION: "nobody", KIND: "HIVE_DB_NAME"}, "DB properties of nobody do not contain"),
        ({LOCATION: table, KIND: "HIVE_TABLE_NAME"}, "DB properties of shop do not contain"),
    ):
        with pytest.raises(XskipperException, match=words):
            xskipper.setParams(params)


def test_a_reader_s_format_options_and_schema(spark: SparkSession, tmp_path: Path) -> None:
    """The reader's format, options and schema become part of the index's read profile."""
    root = tmp_path / "csv"
    root.mkdir()
    for name, value in (("a", 1), ("b", 2), ("c", -1)):
        (root / f"{name}.csv").write_text(f"v;w\n{value};x\n")
    Xskipper.setConf(spark, {LOCATION: str(tmp_path / "md")})
    reader = spark.read.format("csv").option("header", "true").option("SEP", ";").schema("v int, w string")
    reader = reader.option("nullValue", "-1")
    xskipper = Xskipper(spark, str(root))
    only(xskipper.indexBuilder().addMinMaxIndex("v").addValueListIndex("w").build(reader))
    Xskipper.enable(spark)
    assert opened_files(reader.load(str(root)).filter("v > 1")) == {"b"}
    assert opened_files(reader.load(str(root)).filter("v IS NULL")) >= {"c"}
    spark.conf.set("spark.sql.sources.default", "json")
    assert engine_of(spark).hook.builds.reader(spark, spark.read)[0] == "json"


def test_builders_accept_index_types_by_class_name(spark: SparkSession, data: str, tmp_path: Path) -> None:
    Xskipper.setConf(spark, {LOCATION: str(tmp_path / "md")})
    xskipper = Xskipper(spark, data, "io.xskipper.metadatastore.parquet.ParquetMetadataStoreManager")
    builder = xskipper.indexBuilder()
    assert isinstance(builder, IndexBuilder)
    builder.addCustomIndex("io.xskipper.index.MinMaxIndex", ["v"], {})
    builder.addCustomIndex("io.xskipper.index.ValueListIndex", ["v"], {})
    builder.addCustomIndex("io.xskipper.index.BloomFilterIndex", ["v"], {NDV: "9"})
    only(builder.build(spark.read.format("parquet")))
    indexes = texts(xskipper.describeIndex(spark.read.format("parquet")))[-3:]
    assert indexes == [("minmax", "v", ""), ("valuelist", "v", ""), ("bloomfilter", "v", f"{NDV} -> 9 ; {FPP} -> 0.01")]
    with pytest.raises(XskipperException, match=r"Invalid Index Type: org\.example\.Index on 1 columns"):
        builder.addCustomIndex("org.example.Index", ["v"], {})


def test_every_error_is_an_xskipper_exception(spark: SparkSession, data: str, table: str, tmp_path: Path) -> None:
    Xskipper.setConf(spark, {LOCATION: str(tmp_path / "md")})
    Xskipper.installExceptionWrapper()
    reader = spark.read.format("parquet")
    xskipper = Xskipper(spark, data)
    for call in (xskipper.refreshIndex, xskipper.describeIndex):
        with pytest.raises(XskipperException, match="Index Not Found"):
            call(reader)
    for builder, words in (
        (xskipper.indexBuilder(), "Failed To Create Index: the list of indexes is empty"),
        (xskipper.indexBuilder().addMinMaxIndex("x"), "no such column"),
        (xskipper.indexBuilder().addMinMaxIndex("p"), "partition column"),
        (xskipper.indexBuilder().addMinMaxIndex("v").addMinMaxIndex("v"), "the same index twice"),
        (xskipper.indexBuilder().addMinMaxIndex("v", "label"), "footer"),
    ):
        with pytest.raises(XskipperException, match=words):
            builder.build(reader)
    assert not xskipper.isIndexed()
    xskipper.dropIndex()
    build(spark, xskipper)
    with pytest.raises(XskipperException, match="Index Already Exists") as caught:
        build(spark, xskipper)
    assert "IndexExistsError" in caught.value.stackTrace
    assert str(caught.value) == repr(caught.value.desc)
    with pytest.raises(XskipperException, match="Glob paths"):
        build(spark, Xskipper(spark, f"{data}/p=*"))
    with pytest.raises(XskipperException, match="needs a DataFrameReader"):
        xskipper.indexBuilder().addMinMaxIndex("v").build()
    with pytest.raises(XskipperException, match="not a valid MetadataStoreManager"):
        Xskipper(spark, data, "org.example.Manager")
    spark.sql(f"CREATE VIEW shop.seen AS SELECT * FROM {table}")
    with pytest.raises(XskipperException, match="can't index views"):
        Xskipper(spark, "shop.seen").isIndexed()


def test_an_encrypted_index(spark: SparkSession, data: str, tmp_path: Path) -> None:
    """Labels select the keys of indexes, and the configuration selects the footer key."""
    Xskipper.setConf(spark, {LOCATION: str(tmp_path / "md"), "io.xskipper.parquet.encryption.footer.key": "k1"})
    xskip.use_kms(xskip.LocalKms({"k1": b"0123456789012345", "k2": b"5432109876543210"}))
    try:
        xskipper = Xskipper(spark, data)
        builder = xskipper.indexBuilder().addMinMaxIndex("v", "k2")
        only(builder.build(spark.read.format("parquet")))
        (file,) = (tmp_path / "md" / digest(data)).glob("part-*.parquet")
        assert file.read_bytes()[-4:] == b"PARE"
        Xskipper.enable(spark)
        assert kept(spark, data, "v > 4") == {"b", "c"}
    finally:
        xskip.use_kms(None)


def test_registration_accepts_only_known_classes(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    Registration.addMetadataFilterFactory(spark, "io.xskipper.search.filters.BaseFilterFactory")
    Registration.addIndexFactory(spark, "io.xskipper.index.BaseIndexFactory")
    Registration.addMetaDataTranslator(spark, "io.xskipper.metadatastore.parquet.ParquetBaseMetaDataTranslator")
    Registration.addClauseTranslator(spark, "io.xskipper.metadatastore.parquet.ParquetBaseClauseTranslator")
    Registration.setActiveMetadataStoreManager(spark, "io.xskipper.metadatastore.parquet.Parquet")
    assert Registration.getActiveMetadataStoreManagerType(spark) == "io.xskipper.metadatastore.parquet.Parquet$"
    assert caplog.records == []
    Registration.addIndexFactory(spark, "org.example.Factory")
    Registration.setActiveMetadataStoreManager(spark, "org.example.Store")
    assert [r.getMessage().split()[0] for r in caplog.records] == ["org.example.Factory", "there"]
    assert Registration.getActiveMetadataStoreManagerType(spark) == "io.xskipper.metadatastore.parquet.Parquet$"
