"""Measure the time that an index adds to the planning of one query, by the number of files.

    python benchmarks/planning.py [results.json]

The metadata describes 1,000, 100,000 and 1,000,000 files that do not exist. The JVM makes their listing. The metadata
has the bounds of eight columns and a Bloom filter of one column, and the query filters two columns. The hook measures
the time inside the query's planning. Each result is the median of 9 different queries after 2 warm-up queries.

warm   The index is in memory. In "known", the listing of the relation does not change between queries, as with a table
       or a DataFrame that queries share. In "anew", each query lists its files, as with ``spark.read``.
cold   The index is not in memory, as in a new session. Only the operating system may still cache the index's files.

A "selective" query reads 1 file in 100, an "open" query reads all files.
"""

from __future__ import annotations

import itertools
import statistics
from typing import Any

from common import Lines, scratch, session
from pyspark.sql import DataFrame
from simulated import START, TYPES, create, described, relation

import xskip
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.query.engine import forget_indexes

LIMITS = {1_000: (5, 0), 100_000: (50, 150), 1_000_000: (250, 1500)}
RUNS = 9
NEW = itertools.count()
SELECTIVE = "ts < timestamp_micros({start} + 300000000000 + {i}) AND city >= 'city-0000000'"
OPEN = "ts > timestamp_micros({start} - {i}) AND city >= 'city-0000000'"


def added(df: DataFrame, listing: Any, predicate: str, *, cold: bool = False) -> tuple[float, str]:
    """Measure the time that queries of one kind spend in the index during planning.

    Parameters
    ----------
    df : DataFrame
        The relation to filter.
    listing : py4j.java_gateway.JavaObject
        The relation's listing.
    predicate : str
        The filter, with ``{start}`` for the first timestamp and ``{i}`` for a number that differs in each query.
    cold : bool
        Whether to discard the state of the index before each query.

    Returns
    -------
    (float, str)
        The median in milliseconds, and text with the shares of Python and of the listing, and the number of files read.
    """
    hook = hook_of(df.sparkSession)
    asked, filtered = [], []
    for _ in range(RUNS + 2):
        listing.refresh()
        if cold:
            forget_indexes()
        before = hook.queries.last_scan()
        hook.queries.explain(df.filter(predicate.format(start=START, i=next(NEW))))
        (scan,) = hook.queries.scans_after(before)
        assert scan["known"] == scan["listed"], scan
        asked.append(scan["asked_ms"])
        filtered.append(scan["filtered_ms"])
    whole = statistics.median(a + f for a, f in zip(asked[2:], filtered[2:], strict=True))
    parts = (
        f"{statistics.median(asked[2:]):.1f} ms in Python, {statistics.median(filtered[2:]):.1f} ms over the listing"
    )
    return whole, f"{parts}, {scan['kept']:,} read"


def main() -> None:
    lines = Lines()
    with scratch() as folder:
        spark = session()
        xskip.enable(spark)
        for files, (warm, cold) in LIMITS.items():
            root = f"{folder}/of-{files}"
            create(spark, root, TYPES, [described(root, files)])
            for way in ("known", "anew"):
                df, listing = relation(spark, root, files, anew=way == "anew")
                for name, predicate in (("selective", SELECTIVE), ("open", OPEN)):
                    time, detail = added(df, listing, predicate)
                    what = f"{files:,} files, warm, {way}, {name}"
                    lines.add(what, time, unit=" ms", limit=f"<= {warm}", detail=detail)
            if cold:
                time, detail = added(df, listing, SELECTIVE, cold=True)
                lines.add(f"{files:,} files, cold", time, unit=" ms", limit=f"<= {cold}", detail=detail)
        spark.stop()
    lines.write()


if __name__ == "__main__":
    main()
