"""The buckets in which scenarios run, and the scenarios by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from tests.helpers import kept
from tests.s3.client import Server
from xskip import SkippingIndex
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.bridge.hadoop_filesystem import HadoopStorage

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


def scenario(function: Callable[[Bucket], None]) -> Callable[[Bucket], None]:
    SCENARIOS[function.__name__] = function
    return function


def conditional(function: Callable[[Bucket], None]) -> Callable[[Bucket], None]:
    """Register a scenario that needs conditional puts, if S3A supports them."""
    return scenario(function) if HADOOP >= CONDITIONAL_PUTS else function
