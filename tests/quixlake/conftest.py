"""Fixtures with a Kafka broker."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.maven import CannotFetchError, fetch
from tests.quixlake.broker import Broker, running_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Yield a broker that stops with the tests."""
    pytest.importorskip("confluent_kafka", reason="needs confluent-kafka, of the extra test")
    try:
        with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
            yield broker
    except CannotFetchError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def _kafka_package(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Add Spark's Kafka source and sink to the session, without the jars that Spark ships."""
    version = os.environ.get("XSKIP_TEST_AVRO") or pyspark.__version__
    scala = "2.12" if version.startswith("3.") else "2.13"
    try:
        jars = fetch(
            "org.apache.spark", f"spark-sql-kafka-0-10_{scala}", version, tmp_path_factory.mktemp("spark-kafka")
        )
    except CannotFetchError as error:
        pytest.skip(str(error))
    for jar in jars:
        if any(part in jar.name for part in ("kafka", "commons-pool2")):
            session.sql(f"ADD JAR '{jar}'")


@pytest.fixture
def kafka_spark(_kafka_package: None, spark: SparkSession) -> SparkSession:
    """Return the shared session with Spark's Kafka source and sink."""
    return spark
