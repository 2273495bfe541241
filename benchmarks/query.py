"""What does skipping cost a query, and what does it save?

    python benchmarks/query.py [results.json]

1,000 files of 2,000 rows, clustered by time. Planning overhead: what the index takes inside one query's planning, as
the hook itself measures it, index warm, median of 20. Time saved: the same query with skipping off and on, whole.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from common import Lines, dataset, median, scratch, session
from pyspark.sql import SparkSession

import xskip

QUERIES = {
    "range on ts (MinMax)": "ts BETWEEN timestamp_seconds(1700500000) AND timestamp_seconds(1700500600)",
    "one user (BloomFilter)": "user = 'user-4711'",
    "city and range (ValueList, MinMax)": "city = 'city-7' AND temp < 0.2",
}


def overhead(spark: SparkSession, fmt: str, path: str, predicate: str, *, fresh: bool) -> float:
    """Milliseconds in the index for one query; ``fresh`` makes each query new, so that no answer is remembered."""
    times = []
    for i in range(21):
        text = f"({predicate}) AND n <> {-1 - i}" if fresh else predicate
        report = xskip.explain(spark.read.format(fmt).load(path).filter(text))
        times.append(sum(scan.milliseconds for scan in report.scans))
    return statistics.median(times[1:])


def main() -> None:
    lines = Lines()
    with scratch() as folder:
        spark = session()
        xskip.enable(spark)
        for fmt in ("parquet", "avro"):
            path = dataset(spark, fmt, Path(folder))
            index = xskip.SkippingIndex.for_path(spark, path, format=fmt)
            index.create([xskip.MinMax("ts"), xskip.MinMax("temp"), xskip.ValueList("city"), xskip.BloomFilter("user")])
            df = spark.read.format(fmt).load(path)
            for name, predicate in QUERIES.items():
                new = overhead(spark, fmt, path, predicate, fresh=True)
                again = overhead(spark, fmt, path, predicate, fresh=False)
                lines.add(f"{fmt}: planning, new query: {name}", new, unit=" ms", limit="<= 10")
                lines.add(f"{fmt}: planning, again: {name}", again, unit=" ms", limit="<= 10")
                xskip.disable(spark)
                plain = median(lambda d=df, p=predicate: d.filter(p).collect())
                xskip.enable(spark)
                ours = median(lambda d=df, p=predicate: d.filter(p).collect())
                limit = ">= 5" if "range on ts" in name else ""
                detail = f"{plain:.2f} s / {ours:.2f} s"
                lines.add(f"{fmt}: plain / skipping: {name}", plain / ours, limit=limit, detail=detail)
        spark.stop()
    lines.write()


if __name__ == "__main__":
    main()
