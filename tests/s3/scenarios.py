"""The scenarios on S3 run in a process of their own: ``python -m tests.s3.scenarios <port>``.

The process writes a line of JSON for each scenario: its name, its error or an empty text, and its seconds.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.build.builder
from tests.helpers import kept
from tests.metadatastore.samples import FORM, commit, metadata_files_of, numbered_table, record_of, replace_all
from tests.s3.client import Server
from xskip import LocalKms, MinMax, SkippingIndex
from xskip.errors import CommitConflictError, IndexDroppedError, StorageError
from xskip.metadatastore.commit import find_live, publish
from xskip.metadatastore.maintenance.drop import remove_index
from xskip.metadatastore.snapshot import open_snapshot
from xskip.quixlake.sink import Sink, SinkOptions
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.bridge.hadoop_filesystem import HadoopStorage
from xskip.spark.query.engine import forget_indexes

(_JAR,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
HADOOP = tuple(map(int, re.findall(r"\d+", _JAR.stem)[:3]))
#: The version of Hadoop whose S3A brought them.
CONDITIONAL_PUTS = (3, 4, 2)
UNCONDITIONAL = "unconditional"
SCENARIOS: dict[str, Callable[[Bucket], None]] = {}


class Bucket:
    """A bucket of a single scenario, with a dataset ``t`` of four files."""

    def __init__(self, spark: SparkSession, server: Server, name: str) -> None:
        self.spark, self.server, self.name = spark, server, name
        self.path = f"s3a://{name}/t"
        self.index = SkippingIndex.for_path(spark, self.path)
        server.make_bucket(name)
        for i in range(4):
            self.add(f"f{i}", 10 * i, 10 * i + 5)

    def add(self, name: str, *values: int) -> None:
        self.server.put_rows(self.name, f"t/{name}.parquet", values)

    def kept(self, predicate: str) -> set[str]:
        return kept(self.spark, self.path, predicate)

    @property
    def metadata(self) -> set[str]:
        """Return the names of the metadata files and of the records, without identities."""
        keys = self.server.keys(self.name, "_xskip")
        return {key.rpartition("/")[2] for key in keys}

    @property
    def files(self) -> set[str]:
        return {name for name in self.metadata if name.endswith(".parquet")}

    def assert_nothing_left_over(self) -> None:
        assert self.files == {name for name, _ in self.index.status().metadata_files}

    @property
    def storage(self) -> HadoopStorage:
        return HadoopStorage(hook_of(self.spark))

    def requests(self, work: Callable[[], object]) -> int:
        """Return the number of requests, without those for data files, whose footers Spark 4.3 caches."""
        with self.server.order():
            work()
            return sum(f"/{self.name}/t/f" not in each for each in self.server.seen())


@contextmanager
def warnings_of_xskip() -> Iterator[list[str]]:
    """Yield a list of the messages that xskip logs during the body."""
    said: list[str] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    handler = Collecting()
    logging.getLogger("xskip").addHandler(handler)
    try:
        yield said
    finally:
        logging.getLogger("xskip").removeHandler(handler)


def scenario(function: Callable[[Bucket], None]) -> Callable[[Bucket], None]:
    SCENARIOS[function.__name__] = function
    return function


def conditional(function: Callable[[Bucket], None]) -> Callable[[Bucket], None]:
    """Register a scenario that needs conditional puts, if S3A supports them."""
    return scenario(function) if HADOOP >= CONDITIONAL_PUTS else function


@scenario
def life(bucket: Bucket) -> None:
    """Check that create, query, refresh, optimize, migrate, rotate_keys and drop work."""
    index, spark = bucket.index, bucket.spark
    spark.conf.set("spark.xskip.encryption.footer.key", "footer")
    xskip.use_kms(LocalKms({"footer": bytes(16), "k1": bytes([1] * 16), "k2": bytes([2] * 16)}))
    try:
        assert index.create([MinMax("x", key_label="k1")]).added == 4
        assert bucket.kept("x = 15") == {"f1"}
        bucket.add("f4", 15, 44)
        assert bucket.kept("x = 15") == {"f1", "f4"}
        assert index.refresh().added == 1
        assert index.refresh().unchanged == 5
        assert bucket.kept("x < 15") == {"f0", "f1"}
        assert index.optimize().metadata_files_after == 1
        index.migrate(3)
        index.rotate_keys({"k1": "k2"})
        assert bucket.kept("x >= 40") == {"f4"}
        bucket.assert_nothing_left_over()
        index.drop()
        assert bucket.metadata == set()
        assert bucket.kept("x = 15") == {"f0", "f1", "f2", "f3", "f4"}
    finally:
        spark.conf.unset("spark.xskip.encryption.footer.key")
        xskip.use_kms(None)


@conditional
def two_writers(bucket: Bucket) -> None:
    """Check that one of many writers wins, and that the others get an error and leave nothing."""
    md, storage, folder = f"{bucket.path}/_xskip/md", bucket.storage, Path(tempfile.mkdtemp())
    base = None
    for round_ in range(4):
        told: list[object] = []
        prepared = [metadata_files_of([numbered_table(i, i + 1)], folder / f"{round_}-{i}", FORM) for i in range(6)]

        def write(files: Any, told: list[object] = told, base: Any = base) -> None:
            try:
                told.append(publish(storage, md, base, files, record_of(entry for _, entry in files)))
            except BaseException as error:  # noqa: BLE001 - judged below
                told.append(error)

        threads = [threading.Thread(target=write, args=(files,)) for files in prepared]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lost = [each for each in told if isinstance(each, BaseException)]
        assert [type(each) for each in lost] == [CommitConflictError] * 5, lost
        base = find_live(storage, md)
        assert base is not None
        assert bucket.files == set(base.names)


@scenario
def a_writer_that_began_before_a_drop(bucket: Bucket) -> None:
    """Check that the writer is refused, and that the new index has only its own files."""
    md, storage, folder = f"{bucket.path}/_xskip/{'0a' * 32}", bucket.storage, Path(tempfile.mkdtemp())
    for i in range(3):
        replace_all(storage, md, folder, [numbered_table(i, i + 1)])
    base = find_live(storage, md)
    remove_index(storage, md)
    assert bucket.metadata == set()
    made = commit(storage, md, folder, [numbered_table(5, 6)])
    with pytest.raises(IndexDroppedError):
        commit(storage, md, folder, [numbered_table(7, 8)], base)
    assert bucket.metadata == {"00000000000000000001.json", made.metadata_files[0].name}


@scenario
def refreshes_that_race(bucket: Bucket) -> None:
    """Check that the slower refresh retries with the statistics that it has collected."""
    bucket.index.create([MinMax("x")])
    bucket.add("f4", 40)
    other = SkippingIndex.for_path(bucket.spark, bucket.path)
    builder: Any = xskip.build.builder
    real = publish

    def slow(*args: Any) -> Any:
        builder.publish = real
        bucket.add("f5", 50)
        assert other.refresh().added == 2
        return real(*args)

    builder.publish = slow
    try:
        bucket.index.refresh()
    finally:
        builder.publish = real
    assert bucket.kept("x >= 40") == {"f4", "f5"}
    assert bucket.kept("x = 50") == {"f5"}
    bucket.assert_nothing_left_over()


@scenario
def a_lost_answer(bucket: Bucket) -> None:
    """Check that a record whose put lost its response is put again and recognised."""
    bucket.index.create([MinMax("x")])
    bucket.add("f4", 40)
    with bucket.server.order(lose="_commits/"):
        assert bucket.index.refresh().added == 1
        puts = [each for each in bucket.server.seen() if each.startswith("PUT") and "_commits/" in each]
    assert len(puts) > 1, puts
    assert bucket.kept("x >= 40") == {"f4"}
    bucket.assert_nothing_left_over()


@scenario
def a_listing_that_lags(bucket: Bucket) -> None:
    """Check that stale listings lead neither to wrong rows nor to a lost commit."""
    bucket.index.create([MinMax("x")])
    rows = {10 * i + 5 * j for i in range(4) for j in range(2)}
    with bucket.server.order(freeze=True):
        bucket.add("f4", 40)
        bucket.index.migrate(3)
        forget_indexes()
        bucket.spark.conf.set("spark.xskip.strict", "false")  # the index of the old listing is not there any more
        found = {row.x for row in bucket.spark.read.parquet(bucket.path).filter("x >= 0").collect()}
        bucket.spark.conf.set("spark.xskip.strict", "true")
        assert found == rows | {40}, found
    forget_indexes()
    assert bucket.index.refresh().added == 1
    assert bucket.kept("x >= 35") == {"f3", "f4"}


@conditional
def records_that_are_not_listed_yet(bucket: Bucket) -> None:
    """Check that a writer overwrites no record that its listing does not show."""
    md, storage, folder = f"{bucket.path}/_xskip/md", bucket.storage, Path(tempfile.mkdtemp())
    commit(storage, md, folder, [numbered_table(0, 1)])
    base = find_live(storage, md)
    with bucket.server.order(freeze=True):
        won = commit(storage, md, folder, [numbered_table(1, 2)], base)
        for _ in range(2):
            try:
                replace_all(storage, md, folder, [numbered_table(2, 3)])
            except (CommitConflictError, xskip.XskipError):
                continue
            raise AssertionError("a commit was made on a snapshot that is not the latest")
    snapshot = open_snapshot(storage, md)
    assert snapshot is not None
    assert snapshot.record == won
    assert bucket.files == {file.name for file in won.metadata_files}


@scenario
def a_server_in_trouble(bucket: Bucket) -> None:
    """Check that operations succeed and leave nothing over if the server fails or hangs up at times."""
    with bucket.server.order(refuse=7, hang_up=11):
        bucket.index.create([MinMax("x")])
        bucket.add("f4", 40)
        assert bucket.index.refresh().added == 1
        assert bucket.kept("x >= 35") == {"f3", "f4"}
        assert bucket.index.optimize().metadata_files_after == 1
        bucket.index.migrate(3)
        assert bucket.kept("x = 15") == {"f1"}
    bucket.assert_nothing_left_over()
    bucket.index.drop()
    assert bucket.metadata == set()


@scenario
def a_store_that_lets_writers_meet(bucket: Bucket) -> None:
    """Check that the first commit warns once if S3A has no conditional puts."""
    with warnings_of_xskip() as said:
        for i in range(2):
            bucket.storage.put_if_absent(f"{bucket.path}/_commits/{i}", b"{}")
    assert ["does not detect concurrent writers" in each for each in said] == (
        [] if HADOOP >= CONDITIONAL_PUTS else [True]
    ), said


@conditional
def a_store_without_conditional_puts(bucket: Bucket) -> None:
    """Check that the error names the setting, and that nothing is left over."""
    spark, server = bucket.spark, bucket.server
    other = Bucket(spark, server, UNCONDITIONAL)
    with pytest.raises(StorageError, match=r"set fs\.s3a\.create\.conditional\.enabled=true"):
        other.index.create([MinMax("x")])
    assert other.metadata == set()
    assert not other.index.exists()


@scenario
def a_store_that_is_not_there(bucket: Bucket) -> None:
    """Check that errors of the store are errors of xskip that name the place."""
    for work in (
        lambda: bucket.storage.list("s3a://no-such-bucket/md"),
        lambda: bucket.storage.read("s3a://no-such-bucket/md/x"),
        lambda: bucket.storage.put_if_absent("s3a://no-such-bucket/md/x", b"1"),
    ):
        try:
            found = work()
        except (StorageError, FileNotFoundError):
            continue
        assert found == [], found


@scenario
def requests(bucket: Bucket) -> None:
    """Check that a query on a known index costs two requests, and a refresh without changes at most six."""
    spark, index = bucket.spark, bucket.index
    index.create([MinMax("x")])
    bucket.add("f4", 40)
    index.refresh()

    def query() -> None:
        assert spark.read.parquet(bucket.path).filter("x >= 0").count() == 9

    query()
    time.sleep(5.5)  # after so long the directory is looked at again
    with_index = bucket.requests(query)
    again = bucket.requests(query)
    spark.conf.set("spark.xskip.enabled", "false")
    without = bucket.requests(query)
    spark.conf.set("spark.xskip.enabled", "true")
    assert with_index - without <= 2, (with_index, without)
    assert again <= without, (again, without)
    listing = bucket.requests(lambda: spark.read.parquet(bucket.path))
    refresh = bucket.requests(index.refresh)
    assert refresh - listing <= 6, (refresh, listing)


@scenario
def sink(bucket: Bucket) -> None:
    """Check that the sink of a Quix Lake names all segments, where a rename is a copy, and repeats no batch."""
    columns = "id AS timestamp", "CAST(id % 2 AS STRING) AS key", "'v' AS value", "0 AS partition", "id AS offset"
    df = bucket.spark.range(10).selectExpr(*columns)
    lake = Sink(bucket.spark, f"s3a://{bucket.name}/a b", "t", SinkOptions(codec="null"))
    assert [lake.write(df, "b").rows, lake.write(df, "b").rows, lake.clean(timedelta(seconds=-9))] == [10, 0, 0]
    names = [key.rpartition("/")[2] for key in bucket.server.keys(bucket.name, "Raw")]
    assert sorted(names) == [f"ts_{i}_{i + 8}_part_0_off_{i}_{i + 8}.avro" for i in (0, 1)]
    assert len(bucket.server.keys(bucket.name, "index_raw_0_")) == 2


def session(port: int) -> SparkSession:
    """Return a Spark session that uses the server."""
    version = ".".join(map(str, HADOOP))
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.jars.packages", f"org.apache.hadoop:hadoop-aws:{version}")
        .config(f"spark.hadoop.fs.s3a.bucket.{UNCONDITIONAL}.create.conditional.enabled", "false")
    )
    for key, value in {
        "endpoint": Server(port).endpoint,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "access.key": "anybody",
        "secret.key": "anything",
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "change.detection.version.required": "false",
        "fast.upload.buffer": "bytebuffer",
        "retry.interval": "50ms",
        "retry.throttle.interval": "50ms",
    }.items():
        builder = builder.config(f"spark.hadoop.fs.s3a.{key}", value)
    return builder.getOrCreate()


def main() -> None:
    """Run the named scenarios, or all."""
    spark, server = session(int(sys.argv[1])), Server(int(sys.argv[1]))
    xskip.enable(spark)
    spark.conf.set("spark.xskip.strict", "true")
    for name in sys.argv[2:] or SCENARIOS:
        started, error = time.monotonic(), ""
        try:
            SCENARIOS[name](Bucket(spark, server, name.replace("_", "-")))
        except BaseException:  # noqa: BLE001 - the test says it
            error = traceback.format_exc()
        sys.stdout.write(json.dumps([name, error, round(time.monotonic() - started, 1)]) + "\n")
        sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main()
