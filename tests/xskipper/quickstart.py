"""The steps of Xskipper's quick start, with the calls of its documentation and another import."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from xskip.xskipper import Xskipper

SCHEMA = "dt string, temp double, city string, vid string"
FIRST = [("2017-07-07", 20.0, "Tel-Aviv", "a"), ("2017-07-08", 30.0, "Jerusalem", "b")]
LATER = [("2017-07-09", 25.0, "Beer-Sheva", "c")]
TABLE = """CREATE TABLE IF NOT EXISTS tbl (temp Double, city String, vid String, dt String)
USING PARQUET PARTITIONED BY (dt) LOCATION '{0}'"""
Row = dict[str, object]


def only(frame: DataFrame) -> Row:
    (row,) = frame.collect()
    return dict(row.asDict())


def texts(frame: DataFrame) -> list[tuple[str, ...]]:
    return [tuple(row) for row in frame.collect()]


def on_a_path(spark: SparkSession, base: str, data: str) -> dict[str, object]:
    """Run the steps on a path, and return the result of each step."""
    conf = {
        "io.xskipper.parquet.mdlocation": base,
        "io.xskipper.parquet.mdlocation.type": "EXPLICIT_BASE_PATH_LOCATION",
        "io.xskipper.parquet.filter.dedup": "false",
    }
    Xskipper.setConf(spark, conf)
    spark.createDataFrame(FIRST, SCHEMA).write.partitionBy("dt").mode("overwrite").parquet(data)
    reader = spark.read.format("parquet")
    seen: dict[str, object] = {}
    xskipper = Xskipper(spark, data)
    if xskipper.isIndexed():
        xskipper.dropIndex()
    builder = xskipper.indexBuilder().addMinMaxIndex("temp").addValueListIndex("city").addBloomFilterIndex("vid")
    seen["built"] = only(builder.build(reader))
    seen["described"] = texts(xskipper.describeIndex(reader))
    seen["listed"] = texts(Xskipper.listIndexes(spark))
    Xskipper.enable(spark)
    Xskipper.disable(spark)
    if not Xskipper.isEnabled(spark):
        Xskipper.enable(spark)
    reader.load(data).createOrReplaceTempView("sample")
    Xskipper.clearStats(spark)
    seen["rows"] = texts(spark.sql("select city from sample where temp < 30"))
    seen["aggregated"] = only(Xskipper.getLatestQueryAggregatedStats(spark))
    seen["stats"] = only(xskipper.getLatestQueryStats())
    spark.createDataFrame(LATER, SCHEMA).write.partitionBy("dt").mode("append").parquet(data)
    seen["stale"] = texts(xskipper.describeIndex(reader))
    seen["refreshed"] = only(xskipper.refreshIndex(reader))
    seen["fresh"] = texts(xskipper.describeIndex(reader))
    xskipper.dropIndex()
    seen["indexed"] = xskipper.isIndexed()
    return seen


def on_a_table(spark: SparkSession, base: str, data: str) -> dict[str, object]:
    """Run the steps on a table of the catalog, whose database names the metadata location."""
    spark.sql(f"ALTER DATABASE default SET DBPROPERTIES ('io.xskipper.parquet.mdlocation'='{base}')")
    spark.sql(TABLE.format(data))
    spark.sql("ALTER TABLE tbl RECOVER PARTITIONS")
    seen: dict[str, object] = {}
    xskipper_hive = Xskipper(spark, "default.tbl")
    if xskipper_hive.isIndexed():
        xskipper_hive.dropIndex()
    builder = xskipper_hive.indexBuilder().addMinMaxIndex("temp").addValueListIndex("city").addBloomFilterIndex("vid")
    seen["built"] = only(builder.build())
    if not Xskipper.isEnabled(spark):
        Xskipper.enable(spark)
    Xskipper.clearStats(spark)
    seen["rows"] = texts(spark.sql("select city from tbl where temp < 30"))
    seen["aggregated"] = only(Xskipper.getLatestQueryAggregatedStats(spark))
    seen["described"] = texts(xskipper_hive.describeIndex())
    seen["refreshed"] = only(xskipper_hive.refreshIndex())
    xskipper_hive.dropIndex()
    seen["indexed"] = xskipper_hive.isIndexed()
    return seen
