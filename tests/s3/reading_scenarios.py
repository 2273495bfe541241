"""The scenarios of indexes on S3 that are opened without Spark, by a file system of pyarrow."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import S3FileSystem

import xskip
from tests.s3.bucket import Bucket, scenario
from xskip import MinMax, ValueList
from xskip.errors import DatasetError, MetadataNotFoundError

_BASE = "spark.xskip.metadata.location"


def files_of(bucket: Bucket) -> S3FileSystem:
    """Return pyarrow's file system of the server."""
    return S3FileSystem(
        access_key="anybody", secret_key="anything", region="us-east-1", endpoint_override=bucket.server.endpoint
    )


def stems(names: list[str]) -> set[str]:
    return {name.rpartition("/")[2].removesuffix(".parquet") for name in names}


@contextmanager
def environment(bucket: Bucket) -> Iterator[None]:
    """Set the variables by which AWS's SDK finds a server."""
    variables = {
        "AWS_ENDPOINT_URL": bucket.server.endpoint,
        "AWS_ACCESS_KEY_ID": "anybody",
        "AWS_SECRET_ACCESS_KEY": "anything",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    before = {key: os.environ.get(key) for key in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


@scenario
def an_index_opened_without_spark(bucket: Bucket) -> None:
    """Check that an opened index selects the files that Spark reads, and that other engines read them."""
    bucket.index.create([MinMax("x"), ValueList("x")])
    filesystem = files_of(bucket)
    for path in (f"s3://{bucket.name}/t", f"s3a://{bucket.name}/t/"):
        opened = xskip.open_index(path, filesystem=filesystem)
        for predicate in ("x = 15", "x > 12", "x IN (0, 31)", "x < 0"):
            found = opened.files(predicate)
            assert stems(found.names) == bucket.kept(predicate), predicate
            assert (found.total, found.problem) == (4, "")
    found = opened.files("x > 12")
    assert stems(opened.files(ds.field("x") > 12).names) == stems(found.names) == {"f1", "f2", "f3"}
    assert sorted(found.to_pyarrow().to_table().column("x").to_pylist()) == [10, 15, 20, 25, 30, 35]
    assert found.to_polars().select("x").collect().to_series().sort().to_list() == [10, 15, 20, 25, 30, 35]
    with duckdb.connect() as connection:
        assert found.to_duckdb(connection).aggregate("sum(x)").fetchall() == [(135,)]
    assert opened.files("x < 0").to_pyarrow().to_table().num_rows == 0


@scenario
def an_opened_index_sees_changes(bucket: Bucket) -> None:
    """Check that files that the index does not know are kept, and that a refresh takes effect."""
    bucket.index.create([MinMax("x")])
    filesystem = files_of(bucket)
    opened = xskip.open_index(f"s3://{bucket.name}/t", filesystem=filesystem)
    bucket.add("new", 100)
    pq.write_table(
        pa.table({"x": pa.array(range(15, 99), pa.int32())}), f"{bucket.name}/t/f0.parquet", filesystem=filesystem
    )
    assert stems(opened.files("x = 15").names) == {"f0", "f1", "new"}
    bucket.index.refresh()
    assert stems(opened.files("x = 15").names) == {"f0", "f1"}
    bucket.index.drop()
    try:
        opened.files("x = 15")
    except MetadataNotFoundError:
        return
    raise AssertionError("the index was dropped")


@scenario
def an_opened_index_at_a_base_location(bucket: Bucket) -> None:
    """Check the base location of indexes, datasets without an index, and the file system that the environment names."""
    base = f"s3a://{bucket.name}/indexes"
    bucket.spark.conf.set(_BASE, base)
    try:
        bucket.index.create([MinMax("x")])
    finally:
        bucket.spark.conf.unset(_BASE)
    path = f"s3://{bucket.name}/t"
    opened = xskip.open_index(path, location=base, filesystem=files_of(bucket))
    assert stems(opened.files("x = 15").names) == {"f1"}
    with environment(bucket):
        assert stems(xskip.open_index(path, location=base).files("x = 15").names) == {"f1"}
    for wrong, error in (
        (path, MetadataNotFoundError),
        (f"s3://{bucket.name}-none/t", (MetadataNotFoundError, DatasetError)),
    ):
        try:
            xskip.open_index(wrong, filesystem=files_of(bucket))
        except error:
            continue
        raise AssertionError(f"there is no index of {wrong}")


@scenario
def commands_without_spark(bucket: Bucket) -> None:
    """Check that the commands that need no session read an index on S3 by pyarrow."""
    bucket.index.create([MinMax("x")])
    base, path = f"s3a://{bucket.name}", f"s3://{bucket.name}/t"
    commands = {
        "status": (path,), "describe": (path,), "history": (path,), "advise": (path,), "files": (path, "x = 15"),
        "list": (base,),
    }  # fmt: skip
    with environment(bucket):
        for command, arguments in commands.items():
            run = [sys.executable, "-m", "xskip", command, *arguments]
            ran = subprocess.run(run, capture_output=True, text=True, check=False, timeout=100)
            assert (ran.returncode, ran.stderr) == (0, ""), (command, ran.stderr)
            assert {"files": "f1", "list": path.partition(":")[2]}.get(command, "") in ran.stdout, ran.stdout
