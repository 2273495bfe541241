"""How long does a build take, against one plain scan of the same columns?

    python benchmarks/build.py [results.json]

1,000 files of 2,000 rows. The scan writes the indexed columns to Spark's noop sink. Both warm, median of 3, one run.
"""

from __future__ import annotations

from pathlib import Path

from common import Lines, dataset, median, scratch, session
from pyspark.sql import SparkSession

import xskip

ALL = (xskip.MinMax("ts"), xskip.MinMax("temp"), xskip.ValueList("city"), xskip.BloomFilter("user"))
BOUNDS = (xskip.MinMax("ts"), xskip.MinMax("n"))


def scan(spark: SparkSession, fmt: str, path: str, columns: list[str]) -> None:
    spark.read.format(fmt).load(path).select(*columns).write.format("noop").mode("overwrite").save()


def main() -> None:
    lines = Lines()
    with scratch() as folder:
        spark = session()
        for fmt in ("parquet", "avro"):
            path = dataset(spark, fmt, Path(folder))
            index = xskip.SkippingIndex.for_path(spark, path, format=fmt)
            for name, indexes, limit in (
                ("MinMax x2 + ValueList + BloomFilter", ALL, "<= 2"),
                ("MinMax x2", BOUNDS, "<= 0.5" if fmt == "parquet" else ""),
            ):
                columns = [column for each in indexes for column in each.columns]
                plain = median(lambda f=fmt, p=path, c=columns: scan(spark, f, p, c))
                ours = median(lambda i=index, w=indexes: i.create(w), lambda i=index: i.exists() and i.drop())
                lines.add(f"{fmt}: {name} / scan", ours / plain, limit=limit, detail=f"{ours:.2f} s / {plain:.2f} s")
        spark.stop()
    lines.write()


if __name__ == "__main__":
    main()
