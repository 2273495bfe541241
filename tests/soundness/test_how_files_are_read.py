"""An index serves no query that reads files in another way than the build did.

Class SND-31 (options, settings, named files), the zones of class SND-17, and settings that change between a plan and
its run.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import assert_same_rows, index, kept, opened_files, write_files
from tests.soundness.checking import same_rows_of_each
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList
from xskip.errors import CollectError, IndexDefinitionError
from xskip.indexing import build_plan

FILES = {"low": [(1,), (2,)], "high": [(10,), (20,)]}


@contextmanager
def lenient(spark: SparkSession) -> Iterator[None]:
    """Run the body without strict mode, so that queries read all files if the index cannot be used."""
    spark.conf.set("spark.xskip.strict", "false")
    yield
    spark.conf.set("spark.xskip.strict", "true")


@contextmanager
def jvm_zone(spark: SparkSession, zone: str) -> Iterator[None]:
    """Run the body with another default time zone of the driver's JVM, in which local executors run as well."""
    jvm: Any = spark._jvm
    zones = jvm.java.util.TimeZone
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone(zone))
    try:
        yield
    finally:
        zones.setDefault(before)


RECORDS = {"good": "1,10\n2,20\n", "bad": "3,30\n4,nonsense\n"}
WITH_CORRUPT = "a int, b int, _corrupt_record string"


def csv(spark: SparkSession, root: Path) -> DataFrame:
    for name, text in RECORDS.items():
        (root / f"{name}.csv").write_text(text)
    return spark.read.schema(WITH_CORRUPT).csv(str(root))


@pytest.mark.parametrize("column", ["_corrupt_record", "_Corrupt_Record", "length(_corrupt_record)"])
def test_the_column_of_corrupt_records_has_no_index(spark: SparkSession, tmp_path: Path, column: str) -> None:
    """[PRU-RD-6] A build that reads only this column finds no corrupt record."""
    csv(spark, tmp_path)
    made = SkippingIndex.for_path(spark, str(tmp_path), format="csv", schema=WITH_CORRUPT)
    kind = MinMax(column, expression="(" in column)
    with pytest.raises(IndexDefinitionError, match="depend on the columns that a query reads"):
        made.create([kind])


def test_an_index_of_corrupt_records_made_before_is_not_asked(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PRU-RD-6] Such an index is not used, but other indexes beside it are."""
    csv(spark, tmp_path)
    with monkeypatch.context() as former:
        former.setattr(build_plan, "_check_whole", lambda *_: None)
        made = SkippingIndex.for_path(spark, str(tmp_path), format="csv", schema=WITH_CORRUPT)
        made.create([ValueList("_corrupt_record"), MinMax("a")])

    def read(condition: str) -> DataFrame:
        return spark.read.schema(WITH_CORRUPT).csv(str(tmp_path)).filter(condition)

    corrupt = read("_corrupt_record IS NOT NULL AND b IS NULL")
    assert opened_files(corrupt) == {"good", "bad"}
    assert [row.a for row in corrupt.collect()] == [4]
    assert opened_files(read("a > 2 AND b > 0")) == {"bad"}


@pytest.mark.parametrize("option", ["ignoreCorruptFiles", "IGNORECORRUPTFILES"])
@pytest.mark.parametrize("fmt", ["parquet", "avro", "orc"])
def test_a_build_fails_on_what_it_cannot_read(spark: SparkSession, tmp_path: Path, fmt: str, option: str) -> None:
    """[PRU-RD-9] The build fails with any options, because an omitted file would count as empty."""
    path = write_files(spark, tmp_path / "data", "x int", FILES, fmt)
    damaged = tmp_path / "data" / f"high.{fmt}"
    content = bytearray(damaged.read_bytes())
    middle = slice(4, len(content) // 3) if fmt != "avro" else slice(len(content) - 24, len(content) - 17)
    content[middle] = bytes(255 for _ in content[middle])
    damaged.write_bytes(content)
    made = SkippingIndex.for_path(spark, path, format=fmt, schema="x int", options={option: "true"})
    with pytest.raises(CollectError, match=f"high.{fmt}"):
        made.create([MinMax("x"), ValueList("x")])
    assert not made.exists()


EXTENSIONS: dict[str, Callable[[SparkSession, Path], DataFrame]] = {
    "option": lambda spark, path: spark.read.format("avro").option("ignoreExtension", "false").load(str(path)),
    "option in another case": lambda spark, path: (
        spark.read.format("avro").option("IGNOREextension", "false").load(str(path))
    ),
}


@pytest.mark.parametrize("build", EXTENSIONS)
def test_avro_files_without_the_extension(spark: SparkSession, tmp_path: Path, build: str) -> None:
    """[SND-31] [PRU-RD-1] With ``ignoreExtension`` false, Spark reads such files as empty."""
    write_files(spark, tmp_path / "data", "x int", FILES, "avro")
    (tmp_path / "data" / "high.avro").rename(tmp_path / "data" / "high.bin")
    path = str(tmp_path / "data")
    option = "ignoreExtension" if build == "option" else "IGNOREextension"
    index(spark, path, [MinMax("x"), ValueList("x")], "avro", **{option: "false"})
    with lenient(spark):
        query = spark.read.format("avro").load(path).filter("x >= 10")
        assert sorted(row.x for row in query.collect()) == [10, 20]
        assert EXTENSIONS[build](spark, tmp_path / "data").filter("x >= 10").collect() == []


def test_avro_files_without_the_extension_by_hadoops_setting(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-RD-2] Hadoop's configuration has the same effect as the option."""
    write_files(spark, tmp_path / "data", "x int", FILES, "avro")
    (tmp_path / "data" / "high.avro").rename(tmp_path / "data" / "high.bin")
    path, key = str(tmp_path / "data"), "avro.mapred.ignore.inputs.without.extension"
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set(key, "true")
    try:
        index(spark, path, [MinMax("x"), ValueList("x")], "avro")
        hadoop.set(key, "false")
        with lenient(spark):
            read = spark.read.format("avro").load(path).filter("x >= 10")
            assert sorted(row.x for row in read.collect()) == [10, 20]
    finally:
        hadoop.unset(key)


def test_a_schema_behind_a_url_counts_by_its_content(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-RD-1] The schema's default fills the column that older files lack."""
    write_files(spark, tmp_path / "data", "x int", FILES, "avro")
    path, url = str(tmp_path / "data"), tmp_path / "schema.avsc"

    def schema(default: int) -> str:
        fields = [{"name": "x", "type": "int"}, {"name": "c", "type": "int", "default": default}]
        return json.dumps({"type": "record", "name": "r", "fields": fields})

    def read() -> DataFrame:
        return spark.read.format("avro").option("avroSchemaUrl", str(url)).load(path).filter("c = 7")

    url.write_text(schema(42))
    made = SkippingIndex.for_path(spark, path, format="avro", options={"avroSchemaUrl": str(url)})
    made.create([MinMax("c"), ValueList("c")])
    assert opened_files(read()) == set()
    url.write_text(schema(7))
    with pytest.raises(Exception, match="column c has another field of the Avro schema"):
        read().collect()
    with lenient(spark):
        assert len(read().collect()) == 4


OLD = {
    "old": [("1500-01-01 00:00:00",), ("1850-06-01 12:00:00",)],
    "new": [("2020-01-01 00:00:00",)],
    "none": [(None,)],
}


@pytest.fixture(scope="module")
def written() -> dict[str, Path]:
    """Return the folder with the files of :func:`times` by format, once a test has written them."""
    return {}


@pytest.fixture
def old_times(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, written: dict[str, Path]) -> Callable[..., str]:
    """Return a function that returns the path of a copy of the files of :func:`times` in a format."""

    def copied(spark: SparkSession, fmt: str) -> str:
        if fmt not in written:
            written[fmt] = Path(times(spark, tmp_path_factory.mktemp(fmt), fmt))
        return str(shutil.copytree(written[fmt], tmp_path / "data"))

    return copied


def times(spark: SparkSession, root: Path, fmt: str) -> str:
    """Write timestamps of two eras, the old ones with Spark 2's calendar if possible, and return the path."""
    for source_of in ("parquet", "avro"):
        spark.conf.set(f"spark.sql.{source_of}.datetimeRebaseModeInWrite", "LEGACY")
    for name, rows in OLD.items():
        staged = root / f"staged-{name}"
        df = spark.createDataFrame(rows, "t string").selectExpr("CAST(t AS timestamp) t", "length(t) n").coalesce(1)
        df.write.format(fmt).option("outputTimestampType", "TIMESTAMP_MICROS").save(str(staged))
        (part,) = staged.glob("part-*")
        (root / "data").mkdir(exist_ok=True)
        part.rename(root / "data" / f"{name}.{fmt}")
    return str(root / "data")


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
@pytest.mark.parametrize("kind", [MinMax, ValueList, BloomFilter])
def test_old_times_under_another_zone_of_the_jvm(
    spark: SparkSession, old_times: Callable[..., str], fmt: str, kind: type[MinMax | ValueList | BloomFilter]
) -> None:
    """[SND-17] [PRU-RD-8] Only timestamps before 1901 are unknown in another zone."""
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    with jvm_zone(spark, "UTC"):
        path = old_times(spark, fmt)
        if kind is BloomFilter:
            index(spark, path, [MinMax("t"), BloomFilter("n")], fmt)
        else:
            index(spark, path, [kind("t"), MinMax("n")], fmt)
        assert kept(spark, path, "t < timestamp'1700-01-01'", fmt) == {"old"}
    with jvm_zone(spark, "America/Los_Angeles"):
        conditions = ("t = timestamp'1850-06-01 12:00:00'", "t >= timestamp'1850-06-01 12:00:01'", "t < now()")

        def queries() -> list[DataFrame]:
            df = spark.read.format(fmt).load(path)
            return [df.filter(condition) for condition in conditions]

        same_rows_of_each(queries, spark)
        assert kept(spark, path, "t > timestamp'2021-01-01'", fmt) == {"old"}
        assert kept(spark, path, "t = timestamp'2020-01-01 00:00:00'", fmt) == {"old", "new"}
        assert kept(spark, path, "n = 100", fmt) == set()


def test_orc_under_another_zone_of_the_jvm(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-17] [PRU-RD-8] All timestamps of ORC files depend on the zone."""
    with jvm_zone(spark, "UTC"):
        path = times(spark, tmp_path, "orc")
        index(spark, path, [MinMax("t"), ValueList("t")], "orc")
        assert kept(spark, path, "t > timestamp'2020-01-01 00:00:00'", "orc") == set()
    with jvm_zone(spark, "America/Los_Angeles"):
        query = spark.read.orc(path).filter("t > timestamp'2020-01-01 00:00:00'")
        with pytest.raises(Exception, match="default time zone"):
            query.collect()
        with lenient(spark):
            assert_same_rows(lambda: spark.read.orc(path).filter("t > timestamp'2020-01-01 00:00:00'"), spark)


@pytest.mark.parametrize("v1", ["avro,csv,json,orc,parquet", ""], ids=["v1", "v2"])
def test_settings_that_change_after_a_plan_was_made(spark: SparkSession, tmp_path: Path, v1: str) -> None:
    """[PRU-RD-10] The settings at the time of reading count, not those of the plan."""
    spark.conf.set("spark.sql.sources.useV1SourceList", v1)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    (tmp_path / "a.csv").write_text("2020-01-01 00:30:00\n")
    made = SkippingIndex.for_path(spark, str(tmp_path), format="csv", schema="t timestamp")
    made.create([MinMax("t")])

    def planned() -> DataFrame:
        df = spark.read.schema("t timestamp").csv(str(tmp_path)).filter("t < timestamp'2020-01-01 00:00:00Z'")
        df._jdf.queryExecution().optimizedPlan()
        return df

    assert planned().collect() == []
    with lenient(spark):
        df = planned()
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        assert len(df.collect()) == 1


@pytest.mark.parametrize(("fmt", "line"), [("csv", "{}"), ("json", '{{"t": "{}"}}')])
def test_names_of_one_time_zone(spark: SparkSession, tmp_path: Path, fmt: str, line: str) -> None:
    """[PRU-RD-2] An index serves queries under each name of its zone, unless the parser of times uses the name."""
    for name, day in (("low", "2020-01-01"), ("high", "2021-01-01")):
        (tmp_path / f"{name}.{fmt}").write_text(line.format(f"{day} 00:30:00") + "\n")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    SkippingIndex.for_path(spark, str(tmp_path), format=fmt, schema="t timestamp").create([MinMax("t")])

    def names() -> set[str]:
        df = spark.read.schema("t timestamp").format(fmt).load(str(tmp_path))
        df = df.filter("t < timestamp'2020-06-01 00:00:00Z'")
        assert df.count() == 1
        return opened_files(df)

    for zone in ("Etc/UTC", "GMT", "+00:00", "Z", "UTC+0", "Etc/UCT", "Universal"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        assert names() == {"low"}, zone
    with lenient(spark):
        spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
        assert names() == {"low", "high"}
        spark.conf.unset("spark.sql.legacy.timeParserPolicy")
        spark.conf.set("spark.sql.session.timeZone", "Europe/London")
        assert names() == {"low", "high"}


def test_new_settings_of_a_format_are_not_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-31] [PRU-RD-2] An unknown setting of a format may change values."""
    path = write_files(spark, tmp_path / "data", "x int", FILES)
    index(spark, path, [MinMax("x")])
    assert kept(spark, path, "x > 5") == {"high"}
    spark.conf.set("spark.sql.parquet.someNewReader", "true")
    with pytest.raises(Exception, match=r"spark\.sql\.parquet\.someNewReader has another value"):
        spark.read.parquet(path).filter("x > 5").collect()
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    spark.conf.unset("spark.sql.parquet.someNewReader")
    assert kept(spark, path, "x > 5") == {"high"}


def test_field_ids_count_where_a_schema_has_them(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-RD-2] Without field ids, columns are found by name, even if reading by ids is on."""
    path = write_files(spark, tmp_path / "data", "x int", FILES)
    index(spark, path, [MinMax("x")])
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    assert kept(spark, path, "x > 5") == {"high"}


@pytest.mark.parametrize("fmt", ["csv", "json", "text"])
@pytest.mark.parametrize("by", ["session", "Hadoop"])
def test_lines_that_hadoop_finds_too_long(spark: SparkSession, tmp_path: Path, fmt: str, by: str) -> None:
    """[SND-31] [PRU-RD-2] [PRU-RD-9] Spark drops lines that are too long, but a build does not."""
    key, long = "mapreduce.input.linerecordreader.line.maxlength", "x" * 90
    line = {"csv": f"77,{long}\n1,s\n", "json": f'{{"a": 77, "b": "{long}"}}\n{{"a": 1}}\n', "text": f"77{long}\n1\n"}[
        fmt
    ]
    (tmp_path / f"one.{fmt}").write_text(line)
    schema = "value string" if fmt == "text" else "a int, b string"
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    spark.conf.set(key, "30") if by == "session" else hadoop.set(key, "30")
    try:
        made = SkippingIndex.for_path(spark, str(tmp_path), format=fmt, schema=schema)
        made.create([MinMax("value" if fmt == "text" else "a")])
    finally:
        spark.conf.unset(key) if by == "session" else hadoop.unset(key)
    with lenient(spark):
        read = spark.read.format(fmt).schema(schema).load(str(tmp_path))
        assert read.filter("value > '77'" if fmt == "text" else "a = 77").count() == 1


def test_keys_of_hadoop_that_nobody_listed(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-31] [PRU-RD-2] Keys that begin with a format's name count, wherever they are set."""
    path = write_files(spark, tmp_path / "data", "x int", FILES, "orc")
    index(spark, path, [MinMax("x")], "orc")
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("orc.proleptic.gregorian", "true")
    try:
        with pytest.raises(Exception, match=r"orc\.proleptic\.gregorian has another value"):
            spark.read.orc(path).filter("x > 5").collect()
    finally:
        hadoop.unset("orc.proleptic.gregorian")
    assert kept(spark, path, "x > 5", "orc") == {"high"}


SECRETS = {
    "fs.s3a.secret.key": "s3cr3t-1",
    "parquet.encryption.key.list": "k:s3cr3t-2",
    "fs.azure.account.key": "s3cr3t-3",
}


def test_no_secret_is_recorded(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[PRU-RD-7] No file, result, report, log or plan contains a secret, and another secret reads the same."""
    path = write_files(spark, tmp_path / "data", "x int", FILES)
    made = SkippingIndex.for_path(spark, path, options={**SECRETS, "customOption": "s3cr3t-4"})
    results = [made.create([MinMax("x")]), made.describe(), made.status()]
    read = spark.read.options(**{**SECRETS, "customOption": "s3cr3t-4", "fs.s3a.secret.key": "changed"})
    df = read.parquet(path).filter("x > 5")
    assert opened_files(df) == {"high"}
    import xskip

    report = xskip.explain(df)
    texts = [repr(results), *map(str, results), str(report), report.to_json(), caplog.text]
    texts.append(df._jdf.queryExecution().toString())
    texts += [
        file.read_bytes().decode("latin-1") for file in Path(made.describe().location).rglob("*") if file.is_file()
    ]
    assert [text for text in texts if "s3cr3t" in text] == []
