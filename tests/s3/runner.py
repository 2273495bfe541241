"""The scenarios on S3 run in a process of their own: ``python -m tests.s3.runner <port>``.

The process writes a line of JSON for each scenario: its name, its error or an empty text, and its seconds.
"""

from __future__ import annotations

import json
import sys
import time
import traceback

from pyspark.sql import SparkSession

import xskip
from tests.s3 import (
    bucket,
    lake_scenarios,
    reading_scenarios,
    scenarios,
    sink_scenarios,
    table_scenarios,
    write_scenarios,
)
from tests.s3.bucket import HADOOP, UNCONDITIONAL, Bucket
from tests.s3.client import Server

#: The modules whose import registers the scenarios.
MODULES = (scenarios, lake_scenarios, sink_scenarios, reading_scenarios, table_scenarios, write_scenarios)
SCENARIOS = bucket.SCENARIOS


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
        .config("spark.sql.shuffle.partitions", "2")
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
        "input.stream.type": "classic",  # that of Hadoop 3.5 by default reads ahead, by requests that nothing counts
    }.items():
        builder = builder.config(f"spark.hadoop.fs.s3a.{key}", value)
    return builder.getOrCreate()


def main() -> None:
    """Run the scenarios that the arguments name after the port, or all."""
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
