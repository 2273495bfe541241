"""Write events as Avro files, index them, run a query that skips files, and index new events by the same call.

python examples/quick_start.py /tmp/events
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import xskip
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList

#: The columns of an event by its number: an event in each minute, and the events of a city one after the other.
_COLUMNS = (
    "timestamp_seconds(1704067200 + 60 * id) AS ts",
    "element_at(array('Oslo', 'Lima', 'Cairo'), CAST(id / 1000 AS INT) % 3 + 1) AS city",
    "hash(id) AS user_id",
)


def main(path: str) -> None:
    """Run the example.

    Parameters
    ----------
    path : str
        A directory that does not exist yet.
    """
    spark = xskip.configure(SparkSession.builder.appName("quick start")).getOrCreate()
    spark.range(0, 300_000, numPartitions=300).selectExpr(*_COLUMNS).write.format("avro").save(path)

    index = SkippingIndex.for_path(spark, path, format="avro")
    indexes = [MinMax("ts"), ValueList("city"), BloomFilter("user_id")]
    print(index.ensure(indexes))

    xskip.enable(spark)
    events = spark.read.format("avro").load(path)
    print(events.filter("ts >= '2024-07-01' AND city = 'Oslo'").count(), "events")
    print(xskip.last_report(spark))

    spark.range(300_000, 301_000, numPartitions=1).selectExpr(*_COLUMNS).write.format("avro").mode("append").save(path)
    print(index.status())
    print(index.ensure(indexes))  # the same call adds the new files


if __name__ == "__main__":
    main(sys.argv[1])
