"""The Maven coordinates of Spark's own modules that are not part of its distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xskip.hints import Phrase
from xskip.spark.bridge.java_errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FILE_SYSTEM_PACKAGE", "has_avro", "spark_package", "with_package"]

#: What to do about a path whose file system Spark does not have.
FILE_SYSTEM_PACKAGE = Phrase(
    "start Spark with the package of its file system", "name the package of its file system with --package"
)

#: The versions of spark-avro for Sparks whose own spark-avro is not on Maven Central; the tests use the same ones.
_PUBLISHED_AVRO = {"4.2": "4.1.1", "4.3": "4.1.1"}


def spark_package(module: str, version: str | None = None) -> str:
    """Return the coordinates of a module of Spark, for ``--packages`` and ``spark.jars.packages``.

    None selects the version of Spark, or for spark-avro the last one before it that is published.

    >>> spark_package("avro", "3.5.7"), spark_package("protobuf", "4.1.1")
    ('org.apache.spark:spark-avro_2.12:3.5.7', 'org.apache.spark:spark-protobuf_2.13:4.1.1')
    """
    import pyspark

    own = pyspark.__version__
    published = _PUBLISHED_AVRO.get(own.rpartition(".")[0], own) if module == "avro" else own
    chosen = version or published
    scala = "2.12" if chosen.startswith("3.") else "2.13"
    return f"org.apache.spark:spark-{module}_{scala}:{chosen}"


def with_package(package: str) -> Phrase:
    """Return the advice to start Spark with a package, which has the coordinates ``package``."""
    return Phrase(f"start Spark with --packages {package}", f"use --package {package}")


def has_avro(spark: SparkSession) -> bool:
    """Return whether the JVM of a session has spark-avro."""
    jvm: Any = spark.sparkContext._jvm
    try:
        jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(
            "avro", spark._jsparkSession.sessionState().conf()
        )
    except spark_errors():
        return False
    return True
