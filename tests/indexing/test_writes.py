"""Spark's writes to an indexed dataset collect the statistics of the files. Rules: specs/writing.rst, [WRT-ST]."""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.e2e.random_files import POOLS
from tests.helpers import index, kept, metadata, rows_of
from tests.indexing.writes import SIMPLE, all_of, assert_as_built, dataset, frame
from tests.metadatastore.samples import opened
from xskip import BloomFilter, GapList, LocalKms, MinMax, NullCount, Prefix, SkippingIndex, TokenBloom, ValueList
from xskip.errors import IndexExistsError

pytestmark = pytest.mark.usefixtures("indexed_writes")

#: The types that Spark reads back from files of a format, and whose values it reads as they were.
TYPES = {
    "parquet": list(POOLS),
    "avro": [kind for kind in POOLS if kind not in ("TINYINT", "SMALLINT")],
    "orc": [kind for kind in POOLS if not kind.startswith(("DATE", "TIMESTAMP", "INTERVAL"))],
}

BLOOM_TYPES = ("STRING", "BINARY", "TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIMESTAMP")


def random_rows(spark: SparkSession, kinds: list[str], rng: random.Random, count: int) -> DataFrame:
    rows = []
    for _ in range(count):
        values = [rng.choice([*POOLS[kind], "NULL"]) for kind in kinds]
        rows.append(
            "SELECT "
            + ", ".join(f"CAST({v} AS {k}) AS c{i}" for i, (v, k) in enumerate(zip(values, kinds, strict=True)))
        )
    return spark.sql(" UNION ALL ".join(rows))


@pytest.mark.parametrize("fmt", list(TYPES))
def test_equals_a_build(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[WRT-ST-1] [WRT-ST-2] For every type with its odd values, every index type, and expressions."""
    kinds, rng, path = TYPES[fmt], random.Random(40), str(tmp_path / "d")
    random_rows(spark, kinds, rng, 4).write.format(fmt).save(path)
    indexes: list[Any] = []
    for i, kind in enumerate(kinds):
        name = f"c{i}"
        indexes += [NullCount(name), ValueList(name, max_values=6)]
        indexes += [MinMax(name)] if kind not in ("BINARY", "BOOLEAN") else []
        indexes += [BloomFilter(name)] if kind.startswith(BLOOM_TYPES) and not kind.startswith("INTERVAL") else []
        if kind in ("INT", "DATE", "DOUBLE") and not (fmt == "orc" and kind == "DATE"):
            indexes.append(GapList(name, gaps=3))
        if kind == "STRING":
            indexes += [Prefix(name, length=2), TokenBloom(name), MinMax(f"upper({name})", expression=True)]
        if kind == "INT":
            indexes.append(ValueList(f"{name} % 3", expression=True))
    made = index(spark, path, indexes, fmt)
    for count in (1, 3, 20):
        random_rows(spark, kinds, rng, count).repartition(2).write.format(fmt).mode("append").save(path)
    assert len(assert_as_built(made, indexes)) > 8


def insert_into(df: DataFrame, path: str, fmt: str) -> None:
    df.createOrReplaceTempView("rows")
    with_table(df.sparkSession, path, fmt, "INSERT INTO t SELECT * FROM rows")


def insert_overwrite(df: DataFrame, path: str, fmt: str) -> None:
    df.createOrReplaceTempView("rows")
    with_table(df.sparkSession, path, fmt, "INSERT OVERWRITE t SELECT * FROM rows")


def with_table(spark: SparkSession, path: str, fmt: str, statement: str) -> None:
    spark.sql(f"CREATE TABLE t (x int, s string, p bigint) USING {fmt} LOCATION '{path}'")
    spark.sql(statement)
    spark.sql("DROP TABLE t")


WAYS: dict[str, tuple[Callable[[DataFrame, str, str], None], bool]] = {
    "append": (lambda df, path, fmt: df.write.format(fmt).mode("append").save(path), False),
    "overwrite": (lambda df, path, fmt: df.write.format(fmt).mode("overwrite").save(path), True),
    "insert into": (insert_into, False),
    "insert overwrite": (insert_overwrite, True),
    "sorted": (lambda df, path, fmt: df.sortWithinPartitions("s").write.format(fmt).mode("append").save(path), False),
    "small files": (
        lambda df, path, fmt: df.write.format(fmt).mode("append").option("maxRecordsPerFile", 2).save(path), False,
    ),
    "no rows": (lambda df, path, fmt: df.where("x < 0").write.format(fmt).mode("append").save(path), False),
    "no rows left": (lambda df, path, fmt: df.where("x < 0").write.format(fmt).mode("overwrite").save(path), True),
    "one row": (lambda df, path, fmt: df.limit(1).write.format(fmt).mode("append").save(path), False),
    "compressed": (
        lambda df, path, fmt: df.write.format(fmt).mode("append").option("compression", "snappy").save(path), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_every_way_to_write(spark: SparkSession, tmp_path: Path, fmt: str, way: str) -> None:
    """[WRT-ST-1] [WRT-ST-5] The index has the new files, and after an overwrite no others."""
    made = dataset(spark, tmp_path, fmt)
    write, overwrites = WAYS[way]
    before = set(metadata(made).files.names.to_pylist())
    write(frame(spark, 100), str(tmp_path / "d"), fmt)
    after = set(metadata(made).files.names.to_pylist())
    assert before.isdisjoint(after) if overwrites else before < after
    assert_as_built(made, SIMPLE)
    if not way.startswith("no rows"):
        assert kept(spark, str(tmp_path / "d"), "x = 100", fmt) < {Path(name).stem for name in after}


PARTITIONED: dict[str, tuple[str, set[int]]] = {
    "INSERT INTO t SELECT * FROM rows": ("dynamic", {0, 1, 2}),
    "INSERT INTO t PARTITION (p = 7) SELECT x, s FROM rows": ("static", {0, 1, 2, 7}),
    "INSERT OVERWRITE t PARTITION (p = 1) SELECT x, s FROM rows": ("static", {0, 1, 2}),
    "INSERT OVERWRITE t PARTITION (p) SELECT x, s, 1 FROM rows": ("dynamic", {0, 1, 2}),
    "INSERT OVERWRITE t SELECT x, s, 5 FROM rows": ("static", {5}),
}


@pytest.mark.parametrize("statement", list(PARTITIONED))
@pytest.mark.parametrize("managed", [False, True])
def test_partitions(spark: SparkSession, tmp_path: Path, statement: str, managed: bool) -> None:
    """[WRT-ST-4] [WRT-ST-5] An overwrite removes the files of the partitions that it replaces, and no others."""
    mode, left = PARTITIONED[statement]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    at = "" if managed else f"LOCATION '{tmp_path}/d'"
    spark.sql(f"CREATE TABLE t (x int, s string, p bigint) USING parquet PARTITIONED BY (p) {at}")
    frame(spark, 0, 30).write.insertInto("t")
    made = SkippingIndex.for_table(spark, "t")
    made.create(SIMPLE)
    frame(spark, 100).createOrReplaceTempView("rows")
    spark.sql(statement)
    partitions = metadata(made).partitions["p"]
    assert (set(partitions.values.to_pylist()), partitions.type) == (left, "bigint")
    assert_as_built(made, SIMPLE)
    expected = [row.x for row in spark.table("t").where("x >= 100 AND x % 1 = 0").collect()]
    assert sorted(expected) == sorted(row.x for row in spark.table("t").where("x >= 100").collect())


def test_partitions_of_paths(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-4] With several levels, odd names, concurrent writers, and a dynamic overwrite."""
    path = str(tmp_path / "d")
    rows = frame(spark, 0, 40).selectExpr("x", "s", "p AS `a b`", "concat('q=', s, '%/') AS q")
    rows.write.partitionBy("a b", "q").parquet(path)
    made = index(spark, path, SIMPLE)
    rows.selectExpr("x + 100 AS x", "s", "`a b`", "q").write.mode("append").partitionBy("a b", "q").parquet(path)
    assert_as_built(made, SIMPLE)
    spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "3")
    rows.where("`a b` = 2").write.mode("append").partitionBy("a b", "q").parquet(path)
    assert_as_built(made, SIMPLE)
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    rows.where("x = 5").write.mode("overwrite").partitionBy("a b", "q").parquet(path)
    assert_as_built(made, SIMPLE)
    rows.where("x = 5").drop("a b", "q").write.mode("append").parquet(f"{path}/a b=9/q=z")
    assert_as_built(made, SIMPLE)
    spark.conf.set("spark.sql.optimizer.plannedWrite.enabled", "false")
    rows.where("x < 9").write.mode("overwrite").partitionBy("a b", "q").parquet(path)
    assert_as_built(made, SIMPLE)


#: What leaves the files of a write to a refresh, and what the log says.
LEFT: dict[str, tuple[Callable[[DataFrame, str], None], str]] = {
    "an unknown option": (
        lambda df, path: df.write.mode("append").option("mystery", 1).parquet(path),
        "what the option mystery of the writer does",
    ),
    "another type": (
        lambda df, path: df.selectExpr("CAST(x AS BIGINT) AS x", "s", "p").write.mode("append").parquet(path),
        "a column has another type than when it was indexed",
    ),
    "a missing column": (
        lambda df, path: df.drop("s").write.mode("append").parquet(path), "the dataset has no such column",
    ),
    "another format": (
        lambda df, path: df.write.format("orc").mode("append").save(path),
        "it reads files of the format parquet, and the write is in orc",
    ),
    "texts": (lambda df, path: df.write.mode("append").json(path), "files of the format json do not give"),
    "new partitions": (
        lambda df, path: df.write.mode("append").partitionBy("p").parquet(path),
        "the partition columns of the dataset differ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", list(LEFT))
def test_what_a_write_leaves(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str) -> None:
    """[WRT-ST-3] The index stays as it is, queries read the new files, and the log says why."""
    write, why = LEFT[what]
    made, path = dataset(spark, tmp_path), str(tmp_path / "d")
    before, number = all_of(made), len(made.history().commits)
    with caplog.at_level(logging.INFO, "xskip.builds"):
        write(frame(spark, 100), path)
    assert (all_of(made), len(made.history().commits)) == (before, number)
    assert why in caplog.text
    assert [record.levelname for record in caplog.records if why in record.message] == ["INFO"]


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("timestamp", "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS"),
        ("date", "spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY"),
        ("int", "spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY"),
    ],
)
def test_other_forms_of_times(spark: SparkSession, tmp_path: Path, kind: str, key: str, value: str) -> None:
    """[WRT-ST-3] Files then hold other values than those that Spark writes."""
    path = str(tmp_path / "d")
    times = spark.range(4).selectExpr(f"CAST(CAST(id AS STRING) AS {kind}) AS t" if kind == "int" else (
        "timestamp_micros(id * 1001) AS t" if kind == "timestamp" else "DATE'1500-01-01' + CAST(id AS INT) AS t"
    ))  # fmt: skip
    times.write.parquet(path)
    made = index(spark, path, [MinMax("t")])
    spark.conf.set(key, value)
    times.write.mode("append").parquet(path)
    assert (made.status().missing == 0) is (kind == "int")
    made.refresh()
    assert made.validate().wrong == ()


def test_partition_values_of_another_type(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-4] A text among numbers makes all values of the column texts; numbers among texts are texts."""
    path = str(tmp_path / "d")
    rows = frame(spark, 0)
    rows.write.partitionBy("p").parquet(path)
    made = index(spark, path, SIMPLE)
    rows.selectExpr("x", "s", "'a' AS p").write.mode("append").partitionBy("p").parquet(path)
    assert made.status().missing == 2
    made.refresh()
    rows.selectExpr("x", "s", "'007' AS p").write.mode("append").partitionBy("p").parquet(path)
    assert made.status().missing == 0
    made.drop()
    made.create(SIMPLE)
    rows.selectExpr("x", "s", "'008' AS p").write.mode("append").partitionBy("p").parquet(path)
    assert "008" in metadata(made).partitions["p"].values.to_pylist()
    assert_as_built(made, SIMPLE)


def test_off(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-1] By the setting, or in a session without xskip."""
    made, path = dataset(spark, tmp_path), str(tmp_path / "d")
    spark.conf.set("spark.xskip.writes.enabled", "false")
    frame(spark, 100).write.mode("append").parquet(path)
    assert made.status().missing == 2
    spark.conf.set("spark.xskip.writes.enabled", "true")
    xskip.disable(spark)
    frame(spark, 100).write.mode("append").parquet(path)
    assert made.status().missing == 4
    xskip.enable(spark)
    frame(spark, 100).write.mode("append").parquet(path)
    assert made.status().missing == 4


def test_plans(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-7] The plan and the metrics of an indexed write are those of Spark."""
    made, path = dataset(spark, tmp_path), str(tmp_path / "d")
    frame(spark, 100).createOrReplaceTempView("rows")
    spark.sql(f"CREATE TABLE t (x int, s string, p bigint) USING parquet LOCATION '{path}'")
    texts = []
    for on in ("true", "false"):
        spark.conf.set("spark.xskip.writes.enabled", on)
        plan = spark.sql("EXPLAIN EXTENDED INSERT INTO t SELECT * FROM rows").collect()[0][0]
        texts.append(re.sub(r"#\d+|@[0-9a-f]+|xskip\.\w+", "", plan))
    assert texts[0] == texts[1]
    assert "Execute InsertIntoHadoopFsRelationCommand" in texts[0]
    assert made.status().missing == 0


def test_create_after_an_overwrite(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-5] A program that overwrites and creates runs each day; an index that something else made stays."""
    path = str(tmp_path / "d")
    made = SkippingIndex.for_path(spark, path)
    for _ in range(3):
        frame(spark, 0).write.mode("overwrite").parquet(path)
        made.create(SIMPLE)
    frame(spark, 0).write.mode("overwrite").parquet(path)
    frame(spark, 100).write.mode("append").parquet(path)
    made.create([MinMax("x")])
    with pytest.raises(IndexExistsError):
        made.create(SIMPLE)
    frame(spark, 0).write.mode("overwrite").parquet(path)
    made.refresh()
    assert len(metadata(made).indexes) == 1
    made.ensure([MinMax("p")])
    with pytest.raises(IndexExistsError):
        made.create(SIMPLE)


def test_nested_columns_and_expressions(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-1] [WRT-ST-2] Fields of structs, elements of arrays, values of maps; structs and arrays can be NULL."""
    path = str(tmp_path / "d")
    rows = spark.range(0, 30, 1, 2).selectExpr(
        "id AS `a b`",
        "IF(id % 5 = 0, NULL, struct(IF(id % 3 = 0, NULL, id) AS n, struct(CAST(id AS STRING) AS s) AS inner)) AS t",
        "IF(id % 7 = 0, NULL, array(id, id + 1, NULL)) AS items",
        "map('k', id) AS props",
    )
    rows.write.parquet(path)
    indexes: list[Any] = [
        MinMax("`a b`"), MinMax("t.n"), ValueList("t.inner.s"), BloomFilter("t.inner.s"), MinMax("items"),
        ValueList("items"), MinMax("props['k']", expression=True), NullCount("t.n"),
        MinMax("size(items)", expression=True), Prefix("t.inner.s", length=1),
    ]  # fmt: skip
    made = index(spark, path, indexes)
    rows.write.mode("append").parquet(path)
    rows.selectExpr("props", "items", "t", "`a b`").write.mode("append").parquet(path)
    assert_as_built(made, indexes)


def test_directories_that_are_no_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-1] Spark does not read them with the dataset, and what is beside the dataset is another one."""
    location, path = dataset(spark, tmp_path).describe().location, str(tmp_path / "d")
    for other in ("sub", "_staging", "../d2", "p=1/sub"):
        frame(spark, 100).write.mode("append").parquet(f"{path}/{other}")
    assert opened(location).rows == 2


def test_many_threads(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-6] Threads write to partitions of one dataset, and to others, at once; each file is in an index once."""
    shared = dataset(spark, tmp_path, "parquet", "p")
    own = [dataset(spark, tmp_path / str(i)) for i in range(4)]

    def work(number: int) -> None:
        for i in range(3):
            rows = frame(spark, 100 * number + 10 * i)
            rows.drop("p").write.mode("append").parquet(str(tmp_path / "d" / f"p={number}"))
            rows.write.mode("append").parquet(str(tmp_path / str(number) / "d"))

    files = len(metadata(shared))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    for made in own:
        assert len(metadata(made)) == 8
        assert_as_built(made, SIMPLE)
    if shared.status().missing:  # a writer that others overtake again and again gives up
        shared.refresh()
    assert len(metadata(shared)) == files + 24
    assert_as_built(shared, SIMPLE)


def test_symbolic_links(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-1] A dataset has the same index by each of its names."""
    made = dataset(spark, tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "d")
    frame(spark, 100).write.mode("append").parquet(str(tmp_path / "link"))
    assert_as_built(made, SIMPLE)


def test_case_sensitivity(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-3] A session that tells columns apart by case writes others than the index knows."""
    made, path = dataset(spark, tmp_path), str(tmp_path / "d")
    frame(spark, 100).withColumnRenamed("x", "X").write.mode("append").parquet(path)
    assert made.status().missing == 0
    spark.conf.set("spark.sql.caseSensitive", "true")
    frame(spark, 100).write.mode("append").parquet(path)
    spark.conf.set("spark.sql.caseSensitive", "false")
    assert made.status().missing == 2


def test_defaults_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-ST-2] A default concerns the files that lack the column, and written files have it."""
    spark.sql(f"CREATE TABLE t (x int, y int DEFAULT 7) USING parquet LOCATION '{tmp_path}/d'")
    spark.sql("INSERT INTO t SELECT CAST(id AS INT), CAST(id AS INT) FROM range(4)")
    made = SkippingIndex.for_table(spark, "t")
    made.create([MinMax("x"), ValueList("y")])
    spark.sql("INSERT INTO t (x) VALUES (100)")
    assert [row[-4:-1] for row in rows_of(made) if "'min': 100" in row] == ["[7]"]
    assert_as_built(made, [MinMax("x"), ValueList("y")])


PARTITION_FIRST: dict[str, Callable[[SparkSession, str], None]] = {
    "a table": lambda spark, path: spark.table("src").write.mode("append").partitionBy("p").parquet(path),
    "another case": lambda spark, path: spark.table("src").write.mode("append").partitionBy("P").parquet(path),
    "an alias": lambda spark, path: spark.table("src").alias("x").write.mode("append").partitionBy("p").parquet(path),
    "a view": lambda spark, path: spark.sql("SELECT * FROM v").write.mode("append").partitionBy("p").parquet(path),
}


@pytest.mark.parametrize("way", list(PARTITION_FIRST))
def test_a_partition_column_before_others(spark: SparkSession, tmp_path: Path, way: str) -> None:
    """[WRT-ST-2] Whatever name, qualifier and place the partition column has in the query."""
    path = str(tmp_path / "d")
    rows = spark.range(20).selectExpr("id AS a", "id % 2 AS p", "id + 100 AS b", "string(id + 1000) AS c")
    rows.write.saveAsTable("src")
    spark.sql("CREATE TEMP VIEW v AS SELECT * FROM src")
    spark.table("src").write.partitionBy("p").parquet(path)
    indexes = [MinMax("a"), MinMax("b"), ValueList("c")]
    made = index(spark, path, indexes)
    PARTITION_FIRST[way](spark, path)
    is_other_name = way == "another case"  # of directories, which the index does not know
    assert (made.status().missing > 0) is is_other_name
    if is_other_name:
        made.refresh()
    assert len(metadata(made)) >= 4
    assert made.validate().wrong == ()
    if not is_other_name:  # Spark takes the name of the column from either of both names
        assert_as_built(made, indexes)


@pytest.mark.parametrize("plaintext", ["true", "false"])
def test_encrypted_indexes(spark: SparkSession, tmp_path: Path, plaintext: str) -> None:
    """[WRT-ST-2] [WRT-ST-5] A write has the keys, also after an overwrite; without keys it commits nothing."""
    spark.conf.set("spark.xskip.encryption.footer.key", "footer")
    spark.conf.set("spark.xskip.encryption.plaintext.footer", plaintext)
    path = str(tmp_path / "d")
    frame(spark, 0).write.parquet(path)
    xskip.use_kms(LocalKms({"footer": bytes(16), "k1": bytes([1] * 16)}))
    try:
        made = index(spark, path, [MinMax("x", key_label="k1"), ValueList("s")])
        frame(spark, 100).write.mode("append").parquet(path)
        assert (made.status().indexed, made.status().missing) == (4, 0)
        frame(spark, 200).write.mode("overwrite").parquet(path)
        assert (made.status().indexed, made.status().missing) == (2, 0)
        assert made.validate().wrong == ()
        assert all(f.schema.encryption is not None for f in opened(made.describe().location).metadata_files)
        xskip.use_kms(LocalKms({}))
        frame(spark, 300).write.mode("append").parquet(path)
        xskip.use_kms(LocalKms({"footer": bytes(16), "k1": bytes([1] * 16)}))
        assert made.status().missing == 2
    finally:
        xskip.use_kms(None)
