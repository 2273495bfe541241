"""A session of its own with a Hive metastore in Derby.

``python -m tests.xskipper.hive DIRECTORY`` prints the results of its parts. A JVM has one catalog for all its sessions,
so that the other tests cannot share this session.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

import xskip
from tests.helpers import assert_same_rows, opened_files
from tests.xskipper import quickstart
from tests.xskipper.quickstart import only
from xskip.xskipper import Xskipper

KEY = "io.xskipper.parquet.mdlocation"


def session(home: Path) -> SparkSession:
    """Return a session with Hive's metastore, with all files below ``home``."""
    builder = SparkSession.builder.master("local[2]").appName("xskip with Hive").enableHiveSupport()
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        # each query runs once, and its classes would cost more than they save
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home}/metastore;create=true",
        "spark.xskip.strict": "true",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def table_name(spark: SparkSession, home: Path) -> dict[str, object]:
    """Return the results of HIVE_TABLE_NAME on a Hive table, which Spark reads as Parquet files."""
    spark.sql("CREATE DATABASE shop")
    spark.sql("CREATE TABLE shop.events (v int) PARTITIONED BY (p int) STORED AS PARQUET")
    for part, value in ((1, 1), (2, 5), (3, 9)):
        spark.sql(f"INSERT INTO shop.events PARTITION (p = {part}) VALUES ({value})")
    spark.sql(f"ALTER TABLE shop.events SET TBLPROPERTIES ('{KEY}'='{home}/own')")
    xskipper = Xskipper(spark, "shop.events")
    xskipper.setParams({KEY: "shop.events", f"{KEY}.type": "HIVE_TABLE_NAME"})
    built = only(xskipper.indexBuilder().addMinMaxIndex("v").addValueListIndex("v").build())
    return {"built": built, "files": len(list((home / "own").glob("part-*.parquet"))), **asked(spark)}


def database_name(spark: SparkSession, home: Path) -> dict[str, object]:
    """Return the results of HIVE_DB_NAME, after the table's own property is removed."""
    spark.sql(f"ALTER TABLE shop.events UNSET TBLPROPERTIES ('{KEY}')")
    spark.sql(f"ALTER DATABASE shop SET DBPROPERTIES ('{KEY}'='{home}/shop')")
    Xskipper.setConf(spark, {KEY: "shop", f"{KEY}.type": "HIVE_DB_NAME"})
    xskipper = Xskipper(spark, "shop.events")
    before = xskipper.isIndexed()
    built = only(xskipper.indexBuilder().addMinMaxIndex("v").build())
    listed = [row.Dataset for row in Xskipper.listIndexes(spark).collect()]
    return {"before": before, "built": built, "listed": listed, **asked(spark)}


def asked(spark: SparkSession) -> dict[str, object]:
    """Return the number of files that queries on the table open after all state is discarded."""
    Xskipper.reset(spark)
    xskip.enable(spark)
    spark.catalog.refreshTable("shop.events")
    opened = {
        predicate: len(opened_files(spark.table("shop.events").filter(predicate)))
        for predicate in ("v > 4", "v > 4 AND p < 3", "v = 7")
    }
    return {"opened": opened, "rows": assert_same_rows(lambda: spark.table("shop.events").filter("v > 4"), spark)}


def native(spark: SparkSession, home: Path) -> dict[str, object]:
    """Return the results of xskip's own API on a Hive table with a partition at another place."""
    spark.sql("DROP DATABASE shop CASCADE")
    spark.sql("CREATE DATABASE shop")
    spark.sql(f"CREATE EXTERNAL TABLE shop.events (v int) PARTITIONED BY (p int) STORED AS ORC LOCATION '{home}/orc'")
    spark.sql(f"ALTER TABLE shop.events ADD PARTITION (p = 2) LOCATION '{home}/elsewhere'")
    for part, value in ((1, 1), (2, 5), (3, 9)):
        spark.sql(f"INSERT INTO shop.events PARTITION (p = {part}) VALUES ({value})")
    made = xskip.SkippingIndex.for_table(spark, "shop.events")
    added = made.create([xskip.MinMax("v")]).added
    return {"added": added, **asked(spark)}


def by_serde(spark: SparkSession) -> dict[str, object]:
    """Return what queries and operations do while Spark reads the same table by its Hive SerDe."""
    spark.conf.set("spark.sql.hive.convertMetastoreOrc", "false")
    try:
        rows = assert_same_rows(lambda: spark.table("shop.events").filter("v > 4"), spark)
        refused = ""
        try:
            xskip.SkippingIndex.for_table(spark, "shop.events").refresh()
        except xskip.errors.DatasetError as error:
            refused = str(error)
        return {"rows": rows, "report": str(xskip.explain(spark.table("shop.events"))), "refused": refused}
    finally:
        spark.conf.unset("spark.sql.hive.convertMetastoreOrc")


def main(home: Path) -> None:
    """Run every part, and print the results as JSON in the last line."""
    spark = session(home)
    parts: dict[str, Callable[[], dict[str, object]]] = {
        "path": lambda: quickstart.on_a_path(spark, str(home / "md"), str(home / "data")),
        "table": lambda: quickstart.on_a_table(spark, str(home / "md"), str(home / "data")),
        "table_name": lambda: table_name(spark, home),
        "database_name": lambda: database_name(spark, home),
        "native": lambda: native(spark, home),
        "by_serde": lambda: by_serde(spark),
        "again": lambda: asked(spark),
    }
    seen: dict[str, object] = {"catalog": spark.conf.get("spark.sql.catalogImplementation")}
    for name, part in parts.items():
        seen[name] = part()
    sys.stdout.write(json.dumps(seen) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
