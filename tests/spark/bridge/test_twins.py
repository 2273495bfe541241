"""Python and the hook compute the same locations, and agree on names and default values."""

from __future__ import annotations

from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.spark.java_classes import JavaClasses
from xskip.metadata.data_files import table_identifier
from xskip.metadatastore.location import IndexLocation, metadata_directory
from xskip.settings import (
    AGGREGATES,
    ENABLED,
    EVALUATE,
    JOB_FILES,
    JOINS,
    LIMIT,
    LOCATION,
    RANGES,
    STATISTICS,
    SUBQUERIES,
    TOP_K,
    WRITES,
)
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.collect.relation import ORDINAL, PART


@pytest.fixture(scope="module")
def java(session: SparkSession) -> JavaClasses:
    return JavaClasses(session)


def roots() -> list[str]:
    """Return random roots of datasets in the hook's spelling."""
    random = Random(5)
    parts = ["lake", "a b", "p=1", "é", "日本", "x.y", "%20", "_x", "a'b"]
    schemes = ["", "s3a://bucket", "hdfs://host:8020", "gs://b.c"]
    return [random.choice(schemes) + "/" + "/".join(random.choices(parts, k=random.randint(1, 4))) for _ in range(50)]


@pytest.mark.parametrize("base", [None, "/md", "s3a://bucket/metadata"])
def test_the_location_of_a_path(spark: SparkSession, base: str | None) -> None:
    """[MDS-L-1] The digest of the identifier names the directory, below the base location or in the dataset."""
    if base:
        spark.conf.set(LOCATION.key, base)
    for root in roots():
        expected = IndexLocation(root, metadata_directory(root, base), table_identifier(root))
        assert hook_of(spark).locations.of_path(spark, root) == [expected]


def test_the_column_of_ordinals(java: JavaClasses) -> None:
    assert java.field("collect.FileRelation", "ORDINAL") == ORDINAL


def test_the_column_of_parts(java: JavaClasses) -> None:
    assert java.field("collect.FileRelation", "PART") == PART


def test_the_defaults_of_settings(spark: SparkSession, java: JavaClasses) -> None:
    """An empty text leaves the parsing of the default to Python."""
    assert spark._jvm is not None
    for name in ("strict", "writes.enabled"):
        spark.conf.unset(f"spark.xskip.{name}")
    settings = java.new("common.SkippingSettings", spark._jsparkSession)
    flags = {"strict": False, "evaluate": EVALUATE.default, "statistics": STATISTICS.default}
    flags |= {"limit": LIMIT.default, "topK": TOP_K.default, "aggregates": AGGREGATES.default}
    flags |= {"joins": JOINS.default, "subqueries": SUBQUERIES.default, "ranges": RANGES.default}
    flags["writes"] = WRITES.default
    expected = {"base": LOCATION.default or None, **flags, "jobFiles": ""}
    fields = {name: java.field("common.SkippingSettings", name, settings) for name in expected}
    assert fields == expected
    assert JOB_FILES.of(fields["jobFiles"]) == JOB_FILES.default
    assert ENABLED.default is True
    assert java.call("connection.HookState", "settings") is not None
