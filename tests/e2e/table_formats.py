"""Delta and Iceberg tables in a session of their own.

``python -m tests.e2e.table_formats DIRECTORY`` prints the recorded rows and plans. Each table has two copies, with an
index that was created while the data files were plain Parquet files. The same commands change both copies, one with
skipping on and one with skipping off. After each command a query with all filters runs on the first copy with skipping
on and off, and another one reads all rows of the second copy.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

import xskip

PACKAGES = (
    "io.delta:delta-spark_2.13:4.1.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
)
EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)
#: The first one reads all rows.
FILTERS = ("true", "id < 5", "id = 17 OR name = 'n25'")


def session(home: Path) -> SparkSession:
    """Return a strict session with both table formats, in which a failure of the rule fails the query."""
    builder = SparkSession.builder.master("local[2]").appName("xskip beside table formats")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        # each query runs once, and its classes would cost more than they save
        "spark.sql.codegen.wholeStage": "false",
        "spark.broadcast.blockSize": "64k",  # the size of a buffer, which most broadcasts do not fill
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
        "spark.sql.extensions": ",".join(EXTENSIONS),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(home / "ice"),
        "spark.databricks.delta.snapshotPartitions": "1",
        # VACUUM lists a table in as many tasks, by default 10,000
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.xskip.strict": "true",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return xskip.configure(builder, extra_packages=PACKAGES).getOrCreate()


@contextmanager
def skipping(spark: SparkSession, *, on: bool) -> Iterator[None]:
    """Run the body with skipping on or off."""
    (xskip.enable if on else xskip.disable)(spark)
    try:
        yield
    finally:
        xskip.disable(spark)


def plain_files(spark: SparkSession, path: Path) -> xskip.SkippingIndex:
    """Write three Parquet files of ten rows, and return an index that skips some of them."""
    df = spark.range(0, 30, 1, 3).selectExpr("int(id) id", "concat('n', id) name", "int(id div 10) part")
    df.write.parquet(str(path))
    index = xskip.SkippingIndex.for_path(spark, str(path))
    index.create([xskip.MinMax("id"), xskip.ValueList("name"), xskip.BloomFilter("id")])
    return index


def plan(df: DataFrame) -> list[str]:
    """Return the nodes of the optimized plan without ids, and the classes of the file indexes in its scans."""
    execution = df._jdf.queryExecution()
    text = re.sub(r"#\d+L?|@[0-9a-f]+|plan_id=\d+", "", execution.optimizedPlan().treeString())
    leaves, found = execution.optimizedPlan().collectLeaves(), []
    for i in range(leaves.length()):
        relation = getattr(leaves.apply(i), "relation", None)
        if relation is not None and leaves.apply(i).getClass().getSimpleName() == "LogicalRelation":
            found.append(relation().location().getClass().getName())
    return [*text.splitlines(), *found]


class Copies:
    """The two copies of a table, and the recorded rows and plans."""

    def __init__(self, spark: SparkSession, names: tuple[str, str]) -> None:
        self._spark = spark
        self.names = names
        self.steps: list[dict[str, Any]] = []
        self.others: dict[str, list[str]] = {}

    @property
    def seen(self) -> dict[str, Any]:
        return {"steps": self.steps, "others": self.others}

    def change(self, what: str, command: str, read: str = "SELECT * FROM {}") -> None:
        """Run a command on each copy, with skipping on and off, and query both."""
        for name, on in zip(self.names, (True, False), strict=True):
            with skipping(self._spark, on=on):
                for part in filter(None, map(str.strip, command.split(";"))):
                    self._spark.sql(part.format(name, name=name)).collect()
        self.ask(what, lambda name: self._spark.sql(read.format(name, name=name)))

    def ask(self, what: str, read: Callable[[str], DataFrame]) -> None:
        """Record rows and plans of every filter on the rows that ``read`` reads of a copy."""
        mine, other = self.names
        seen: dict[str, Any] = {"step": what}
        for key, on in (("on", True), ("off", False)):
            seen[key], seen[f"{key} plan"] = self._seen(read, mine, FILTERS, on=on)
        self.steps.append(seen)
        self.others[what] = self._seen(read, other, FILTERS[:1], on=False)[0][FILTERS[0]]

    def _seen(
        self, read: Callable[[str], DataFrame], name: str, filters: Sequence[str], *, on: bool
    ) -> tuple[dict[str, list[str]], list[str]]:
        """Return the rows by filter and the plan of one query, with one scan for each filter.

        It runs once, since Delta optimizes a query by jobs on its log.
        """
        with skipping(self._spark, on=on):
            df = read(name)
            tagged = [df.filter(condition).withColumn("filter", lit(condition)) for condition in filters]
            rows: dict[str, list[str]] = {condition: [] for condition in filters}
            query = reduce(DataFrame.union, tagged)
            for row in query.collect():
                rows[row["filter"]].append(str(row[:-1]))
            return {condition: sorted(found) for condition, found in rows.items()}, plan(query)


def delta(spark: SparkSession, home: Path) -> dict[str, Any]:
    """Turn an indexed Parquet dataset into a Delta table, and record queries after each of many commands."""
    paths = [home / "delta" / name for name in ("on", "off")]
    kept = [len(plain_files(spark, path).files("id < 5")) for path in paths]
    copies = Copies(spark, (f"delta.`{paths[0]}`", f"delta.`{paths[1]}`"))
    for path in paths:
        spark.sql(f"CONVERT TO DELTA parquet.`{path}`")
    copies.change("converted", "")
    copies.change(
        "deletion vectors",
        "ALTER TABLE {name} SET TBLPROPERTIES"
        " ('delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true');"
        "DELETE FROM {name} WHERE id IN (3, 17)",
    )
    copies.change("update", "UPDATE {name} SET id = id + 100 WHERE name = 'n25'")
    copies.change(
        "merge",
        "MERGE INTO {name} t USING (SELECT 8 id, 'm8' name UNION ALL SELECT 200, 'm200') s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET name = s.name"
        " WHEN NOT MATCHED THEN INSERT (id, name, part) VALUES (s.id, s.name, 9)",
    )
    copies.change("time travel", "", "SELECT * FROM {name} VERSION AS OF 0")
    copies.change("optimize", "OPTIMIZE {name}")
    copies.change("z-order", "DELETE FROM {name} WHERE id = 9; OPTIMIZE {name} ZORDER BY (id)")
    copies.change("restore", "DELETE FROM {name} WHERE id < 15; RESTORE TABLE {name} TO VERSION AS OF 4")
    copies.change("vacuum", "VACUUM {name} RETAIN 0 HOURS")

    def streamed(name: str) -> DataFrame:
        """Return the rows that a stream of the table has up to now."""
        view = f"stream_{name.rpartition('/')[2].strip('`')}_{next(number)}"
        source = spark.readStream.format("delta").load(name[len("delta.`") : -1])
        source.writeStream.format("memory").queryName(view).trigger(availableNow=True).start().awaitTermination()
        return spark.createDataFrame(spark.table(view).collect(), "id int, name string, part int")

    number = itertools.count()
    copies.ask("stream", streamed)
    copies.change(
        "column mapping",
        "ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name');"
        "ALTER TABLE {name} RENAME COLUMN id TO old_id;"
        "ALTER TABLE {name} RENAME COLUMN part TO id",
    )
    return {"kept": kept, **copies.seen, "refused": refused(spark, "delta", str(paths[0]))}


def iceberg(spark: SparkSession, home: Path) -> dict[str, Any]:
    """Record the same for Iceberg, with the metadata of an index below the table's location."""
    copies, kept = Copies(spark, ("ice.db.t_on", "ice.db.t_off")), []
    for name, mode in zip(copies.names, ("merge-on-read",) * 2, strict=True):
        modes = ", ".join(f"'write.{what}.mode' = '{mode}'" for what in ("delete", "update", "merge"))
        spark.sql(f"CREATE TABLE {name} (id int, name string, part int) USING iceberg TBLPROPERTIES ({modes})")
        for part in range(3):
            spark.sql(
                f"INSERT INTO {name} SELECT int(id), concat('n', id), {part} FROM range({10 * part}, {10 * part + 10})"
            )
        data = home / "ice" / "db" / name.rpartition(".")[2] / "data"
        index = xskip.SkippingIndex.for_path(spark, str(data))
        index.create([xskip.MinMax("id"), xskip.ValueList("name")])
        kept.append(len(index.files("id < 5")))
    copies.change("made", "")
    copies.change("deletes", "DELETE FROM {name} WHERE id IN (3, 17)")
    copies.change("update", "UPDATE {name} SET id = id + 100 WHERE name = 'n25'")
    copies.change(
        "merge",
        "MERGE INTO {name} t USING (SELECT 8 id, 'm8' name, 9 part UNION ALL SELECT 200, 'm200', 9) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *",
    )
    copies.change("rewrite", "CALL ice.system.rewrite_data_files(table => '{name}')")
    copies.change(
        "rename", "ALTER TABLE {name} RENAME COLUMN id TO old_id; ALTER TABLE {name} RENAME COLUMN part TO id"
    )
    copies.ask("snapshots", lambda name: spark.sql(f"SELECT 1 id, 'x' name, operation FROM {name}.snapshots"))
    return {"kept": kept, **copies.seen, "refused": refused(spark, "iceberg", "ice.db.t_on")}


def refused(spark: SparkSession, fmt: str, path: str) -> str:
    """Return the error of ``create`` for a table in a format."""
    try:
        xskip.SkippingIndex.for_path(spark, path, format=fmt).create([xskip.MinMax("id")])
    except xskip.XskipError as error:
        return f"{type(error).__name__}: {error}"
    return "made"


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    started = session(directory)
    sys.stdout.write(json.dumps({"delta": delta(started, directory), "iceberg": iceberg(started, directory)}) + "\n")
    started.stop()
