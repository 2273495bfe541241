"""Read the latest hour of a topic of a Quix Lake, report what was skipped, index the topic, and compact it.

python examples/quix_lake.py s3a://bucket/workspace csv-data
"""

from __future__ import annotations

import sys
from datetime import timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from xskip.quixlake import QuixLake


def main(base: str, topic: str) -> None:
    """Run the example on a lake.

    Parameters
    ----------
    base : str
        The folder of the workspace, which contains ``Raw`` and ``Metadata``.
    topic : str
        The topic.
    """
    spark = xskip.configure(SparkSession.builder.appName("quix lake")).getOrCreate()
    xskip.enable(spark)
    lake = QuixLake(spark, base)
    print(lake.keys(topic))

    # read and filter: filters on time, offset, partition, topic and stream_key skip segments
    end = lake.time_range(topic).end
    if end is None:
        sys.exit("the segments claim no timestamps")
    latest = lake.read(topic).filter(F.col("time") >= end - timedelta(hours=1))
    print(latest.groupBy("stream_key").count().collect())
    print(xskip.last_report(spark))

    # index: trust="data" reads the timestamps of segments whose descriptors do not prove them
    index = lake.index(topic, trust="data")
    print(index.ensure())
    print(lake.read(topic).filter(F.col("time") >= end - timedelta(hours=1)).count())
    print(xskip.last_report(spark))

    # compact: replaced segments stay for a day, so that queries that still run find them
    print(lake.compact(topic))
    print(lake.clean(topic))


if __name__ == "__main__":
    main(*sys.argv[1:3])
