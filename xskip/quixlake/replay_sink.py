"""A replay by Spark's Kafka sink: in parallel, without pace, timestamps and progress."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xskip.errors import ReplayError
from xskip.quixlake.replay_order import ORDER
from xskip.spark.bridge.java_errors import spark_errors, what_failed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["write_to_kafka"]

_FORMAT = "kafka"


def write_to_kafka(df: DataFrame, settings: Mapping[str, Any], topic: str, *, keep_partitions: bool) -> None:
    """Send messages by Spark's Kafka sink; ``settings`` are those of Kafka's Java producer.

    All messages of a partition must be in one task, which sends them in their order. Without ``keep_partitions``, the
    producer chooses partitions by the keys.
    """
    from pyspark.sql import functions as F

    # Text is sent as UTF-8 [QLK-RP-2].
    headers = F.expr(
        "transform(headers, h -> struct(h.key, coalesce(h.value.bytes, cast(h.value.string as binary)) as value))"
    )
    columns = [F.col("key"), F.col("value"), headers.alias("headers")]
    columns += [F.col("partition").cast("int").alias("partition")] if keep_partitions else []
    rows = df.sortWithinPartitions(*ORDER).select(*columns)
    writer = rows.write.format(_FORMAT).option("topic", topic)
    for name, value in {"enable.idempotence": "true", "acks": "all", **settings}.items():
        writer = writer.option(f"kafka.{name}", str(value))
    try:
        writer.save()
    except spark_errors() as error:
        failed = what_failed(error)
        absent = re.search("Failed to find (the )?data source", str(error))
        raise ReplayError(
            "Spark cannot replay the messages",
            where=failed.get("where", f"topic {topic}"),
            found=failed["found"],
            hint="add spark-sql-kafka-0-10 to spark.jars.packages" if absent else None,
        ) from error
