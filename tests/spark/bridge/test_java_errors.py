"""Errors of Spark are told by their root cause in the JVM, not by the call of py4j that failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.helpers import write_once
from xskip.errors import DatasetError, StorageError, XskipError
from xskip.indexing.reader import PathReader
from xskip.spark.bridge.java_errors import (
    JavaError,
    first_line,
    in_short,
    reason,
    spark_errors,
    translate_spark_errors,
    what_failed,
)
from xskip.spark.bridge.packages import spark_package
from xskip.xskipper import Xskipper

PY4J = "An error occurred while calling"


def failing(spark: SparkSession, call: Callable[[Any], object]) -> Exception:
    """Return the error of a call to the JVM."""
    with pytest.raises(spark_errors()) as caught:
        call(spark.sparkContext._jvm)
    return caught.value


@pytest.fixture
def nested(spark: SparkSession) -> Exception:
    """Return the error of a job in which an exception of Java has two causes below it."""
    jvm: Any = spark.sparkContext._jvm
    root = jvm.java.io.IOException("the disk is gone\nand more")
    middle = jvm.java.lang.RuntimeException("the read failed", root)
    future = jvm.java.util.concurrent.CompletableFuture()
    future.completeExceptionally(middle)
    return failing(spark, lambda _: future.get())


def test_the_root_cause_is_the_first_line(nested: Exception) -> None:
    assert isinstance(nested, Py4JJavaError)
    assert str(nested).startswith(PY4J)
    assert first_line(nested) == "java.io.IOException: the disk is gone"
    assert reason(nested) == first_line(nested)
    assert what_failed(nested)["found"] == first_line(nested)


def test_the_cause_of_an_error_is_short(nested: Exception) -> None:
    """A traceback shows the messages of Java's exceptions without their stack traces."""
    with pytest.raises(XskipError) as caught, translate_spark_errors(XskipError, "cannot list", "/lake"):
        raise nested
    cause = caught.value.__cause__
    assert str(cause).splitlines()[1:] == [
        "caused by: java.lang.RuntimeException: the read failed",
        "caused by: java.io.IOException: the disk is gone",
    ]
    assert isinstance(nested, Py4JJavaError)
    assert isinstance(cause, JavaError)
    assert cause.java_exception is nested.java_exception
    assert in_short(error := ValueError("x")) is error


def test_a_call_that_does_not_reach_a_method(spark: SparkSession) -> None:
    error = failing(spark, lambda jvm: jvm.java.util.ArrayList().frobnicate())
    assert isinstance(error, Py4JError)
    assert not isinstance(error, Py4JJavaError)
    assert first_line(error).startswith("py4j.Py4JException: Method frobnicate")


def test_errors_of_python_and_of_xskip_stay_as_they_are() -> None:
    assert reason(ValueError("x")) == "ValueError('x')"
    assert reason(XskipError("there is none", where="here")) == "there is none (where: here)"
    assert first_line(ValueError("")) == "ValueError"


def test_an_error_of_spark_becomes_one_of_xskip(nested: Exception) -> None:
    with (
        pytest.raises(StorageError) as caught,
        translate_spark_errors(StorageError, "cannot look", "s3a://b", "look again"),
    ):
        raise nested
    assert str(caught.value) == (
        "cannot look (where: s3a://b; found: java.io.IOException: the disk is gone); look again"
    )


@pytest.mark.parametrize(
    ("path", "file_format", "found"),
    [
        ("nosuch://bucket/data", "parquet", 'No FileSystem for scheme "nosuch"'),
        ("s3a://bucket/data", "parquet", "S3AFileSystem not found"),
        (None, "parqet", "Failed to find the data source: parqet"),
        (None, "parqet", "did you mean parquet?"),
        (None, "delta9", "xskip indexes parquet, avro"),
        ("s3a://bucket/data", "parquet", "start Spark with the package of its file system"),
        (None, "avro", "Not an Avro data file"),
        (None, "avro", "check that the format is avro; if the file is damaged, repair or remove the file"),
    ],
    ids=[
        "scheme",
        "package",
        "format",
        "close format",
        "unknown format",
        "hint for a package",
        "other format",
        "hint for a format",
    ],
)
def test_datasets_that_spark_cannot_read(
    spark: SparkSession, tmp_path: Path, path: str | None, file_format: str, found: str
) -> None:
    data = path or write_once(spark, tmp_path / "data", "a int", {"one": [(1,)]})
    index = xskip.SkippingIndex.for_path(spark, data, format=file_format)
    for operation in (index.status, index.exists, index.describe, lambda: index.files("a > 1")):
        with pytest.raises(XskipError) as caught:
            operation()
        assert found in str(caught.value)
        assert PY4J not in str(caught.value)


def test_the_ending_of_a_file_names_its_format(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of another format are not opened in search of a schema: Spark logs a failed job for each."""
    data = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(5)}, "avro")
    load, opened = PathReader.load, []

    def counted(reader: PathReader, session: SparkSession, *paths: str, **options: str) -> DataFrame:
        opened.append(reader.format)
        return load(reader, session, *paths, **options)

    monkeypatch.setattr(PathReader, "load", counted)
    with pytest.raises(DatasetError, match=r"f\d\.avro; found: .*did you mean the format avro\?"):
        xskip.SkippingIndex.for_path(spark, data).create([xskip.MinMax("a")])
    assert opened == ["parquet", "parquet", "binaryFile"]


def test_directories_without_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(DatasetError, match="write files of the format parquet first, or pass their schema"):
        xskip.SkippingIndex.for_path(spark, str(tmp_path / "data")).create([xskip.MinMax("a")])


@pytest.mark.parametrize("location", ["nosuch://bucket/indexes", "s3a://bucket/indexes"])
def test_locations_that_spark_cannot_use(spark: SparkSession, tmp_path: Path, location: str) -> None:
    path = write_once(spark, tmp_path / "data", "a int", {"one": [(1,)]})
    spark.conf.set("spark.xskip.metadata.location", location)
    index = xskip.SkippingIndex.for_path(spark, path)
    for operation in (index.status, lambda: index.create([xskip.MinMax("a")]), lambda: xskip.list_indexes(spark)):
        with pytest.raises(XskipError, match=r"FileSystem") as caught:
            operation()
        assert "start Spark with the package of its file system" in str(caught.value)
        assert PY4J not in str(caught.value)


def test_the_api_of_xskipper(spark: SparkSession, tmp_path: Path) -> None:
    path = write_once(spark, tmp_path / "data", "a int", {"one": [(1,)]})
    with pytest.raises(Exception, match="data source") as caught:
        Xskipper(spark, path).indexBuilder().addMinMaxIndex("a").build(spark.read.format("parqet"))
    assert PY4J not in str(caught.value)


@pytest.mark.parametrize(
    ("version", "package"),
    [
        ("3.5.7", "org.apache.spark:spark-avro_2.12:3.5.7"),
        ("4.0.2", "org.apache.spark:spark-avro_2.13:4.0.2"),
        ("4.1.1", "org.apache.spark:spark-avro_2.13:4.1.1"),
    ],
)
def test_packages_are_for_the_scala_of_the_spark(version: str, package: str) -> None:
    assert spark_package("avro", version) == package


@pytest.mark.parametrize(
    ("version", "avro"), [("4.3.0", "4.1.1"), ("4.2.1", "4.1.1"), ("4.1.1", "4.1.1"), ("4.0.2", "4.0.2")]
)
def test_only_published_packages_are_named(monkeypatch: pytest.MonkeyPatch, version: str, avro: str) -> None:
    monkeypatch.setattr("pyspark.__version__", version)
    assert spark_package("avro") == f"org.apache.spark:spark-avro_2.13:{avro}"
    assert spark_package("protobuf") == f"org.apache.spark:spark-protobuf_2.13:{version}"
    assert spark_package("avro", "4.9.9").endswith(":4.9.9")
