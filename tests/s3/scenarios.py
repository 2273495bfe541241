"""The scenarios of indexes on S3."""

from __future__ import annotations

import logging
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import xskip
import xskip.indexing.builder
from tests.metadatastore.samples import FORM, commit, metadata_files_of, numbered_table, record_of, replace_all
from tests.s3.bucket import CONDITIONAL_PUTS, HADOOP, UNCONDITIONAL, Bucket, conditional, scenario
from xskip import LocalKms, MinMax, SkippingIndex
from xskip.engine import loaded_indexes
from xskip.errors import CommitConflictError, IndexDroppedError, StorageError
from xskip.metadatastore.commit import find_live, publish
from xskip.metadatastore.maintenance.drop import remove_index
from xskip.metadatastore.snapshot import open_snapshot
from xskip.spark.query.spark_engine import forget_indexes


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
    builder: Any = xskip.indexing.builder
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
    with bucket.server.order(refuse=11, hang_up=13):
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
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loaded_indexes, "_RECHECK_REMOTE_SECONDS", 0.0)  # the directory is looked at again
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
