"""Measure the time that an index adds to the planning of one query, by the number of files.

    python benchmarks/planning.py [results.json] [--scale 0.1]

The metadata describes 1,000, 100,000 and 1,000,000 files that do not exist. The JVM makes their listing. The metadata
has the bounds of eight columns and a Bloom filter of one column, and the query filters two columns. The hook measures
the time inside the query's planning. Each result is the median of 9 different queries after 2 warm-up queries.

warm   The index is in memory. In "known", the listing of the relation does not change between queries, as with a table
       or a DataFrame that queries share. In "anew", each query lists its files, as with ``spark.read``.
cold   The index is not in memory, as in a new session. Only the operating system may still cache the index's files.

A "selective" query reads 1 file in 100, an "open" query reads all files.

The next lines are for an index with the bounds that the names of 1,000,000 files contain, of one column. The last lines
are for the index of a topic in a Quix Lake, with the bounds of four columns that the names of 1,000,000 segments claim.
The segments do not exist either. Both relations have a known listing.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from common import Lines, arguments, scratch, session
from pyspark.sql import DataFrame, SparkSession
from simulated import START, TYPES, create, described, files_of, relation, table_of

import xskip
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import IndexColumn, IndexDefinition
from xskip.quixlake.descriptors import IndexFiles
from xskip.quixlake.location import spark_location
from xskip.quixlake.process_index import ProcessIndexes
from xskip.quixlake.segments import listed_segments
from xskip.quixlake.store import LakeStore
from xskip.quixlake.topic_dataset import TopicSource
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.query.spark_engine import forget_indexes

LIMITS = {1_000: (5, 0), 100_000: (50, 150), 1_000_000: (250, 1500)}
RUNS = 9
NEW = itertools.count()
SELECTIVE = "ts < timestamp_micros({start} + 300000000000 + {i}) AND city >= 'city-0000000'"
OPEN = "ts > timestamp_micros({start} - {i}) AND city >= 'city-0000000'"
NAMES_SELECTIVE = "id < {end} + {i}"
NAMES_OPEN = "id >= -{i}"
LAKE_SELECTIVE = "timestamp < {end} + {i} AND partition = 0"
LAKE_OPEN = "timestamp >= -{i} AND partition = 0"


def added(df: DataFrame, refresh: Callable[[], object], predicate: str, *, cold: bool = False) -> tuple[float, str]:
    """Measure the time that queries of one kind spend in the index during planning.

    Parameters
    ----------
    df : DataFrame
        The relation to filter.
    refresh : callable
        A function that makes the relation list its files anew, or does nothing.
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
        refresh()
        if cold:
            forget_indexes()
        before = hook.queries.last_scan()
        hook.queries.explain(df.filter(predicate.format(start=START, i=next(NEW))))
        (scan,) = hook.queries.scans_after(before)
        assert scan.known == scan.listed, scan
        asked.append(scan.request_ms)
        filtered.append(scan.filter_ms)
    whole = statistics.median(a + f for a, f in zip(asked[2:], filtered[2:], strict=True))
    parts = (
        f"{statistics.median(asked[2:]):.1f} ms in Python, {statistics.median(filtered[2:]):.1f} ms over the listing"
    )
    return whole, f"{parts}, {scan.kept:,} read"


def lake(spark: SparkSession, base: Path, count: int) -> DataFrame:
    """Return a read of segments that do not exist, with an index of the bounds that their names claim.

    Parameters
    ----------
    spark : SparkSession
    base : pathlib.Path
        The folder of the lake, which must not exist.
    count : int
        The number of segments. Each has 1,000 messages of one second, and follows the segment before it.
    """
    (base / "Raw/Topic=t").mkdir(parents=True)
    number = np.arange(count, dtype=np.int64)
    key, first, last = (pa.array(n).cast(pa.string()) for n in (number % 500, number * 1_000, number * 1_000 + 999))
    place = pc.binary_join_element_wise("Raw/Topic=t/Key=key-", key, "/Start=1970-01-01/ts_", first, "_", last, "")
    names = pc.binary_join_element_wise(place, "_part_0_off_", first, "_", last, ".avro.snappy", "")
    files = DataFiles(names, pa.array(np.full(count, 100)), pa.array(np.full(count, START // 1_000)))
    segments = listed_segments(files, IndexFiles.of({}).decisive)
    source = TopicSource(hook_of(spark), LakeStore(spark_location(hook_of(spark), str(base))), "t")
    index = ProcessIndexes().update(spark, source, segments, "names")
    assert index is not None
    return source.rows(spark, segments, index)


def of_names(spark: SparkSession, root: str, count: int) -> DataFrame:
    """Return a relation of files that do not exist, with an index of the numbers in their names.

    Parameters
    ----------
    spark : SparkSession
    root : str
        The directory of the dataset, which must not exist.
    count : int
        The number of files.
    """
    index = xskip.PathBounds("id", "part-{id}")
    definition = IndexDefinition(index.name, index.columns, index.params, types=("bigint",))
    values = index.assemble([files_of(root, 0, count).names], definition.types)
    bounds = IndexColumn(definition, index.storage(definition.types), values)
    create(spark, root, {"id": "bigint"}, [table_of(root, 0, [bounds])])
    return relation(spark, root, count, anew=False)[0]


def plan_names(spark: SparkSession, folder: Path, lines: Lines) -> None:
    count = int(max(LIMITS) * arguments().scale)
    measure(
        of_names(spark, f"{folder}/names", count), f"{count:,} names",
        (NAMES_SELECTIVE.replace("{end}", str(count // 100)), NAMES_OPEN), lines,
    )  # fmt: skip
    selective = LAKE_SELECTIVE.replace("{end}", str(count * 10))
    measure(lake(spark, folder / "lake", count), f"{count:,} segments", (selective, LAKE_OPEN), lines)


def measure(df: DataFrame, what: str, predicates: tuple[str, str], lines: Lines) -> None:
    """Add the lines of a relation with a known listing, for a selective and an open predicate."""
    warm, cold = LIMITS[max(LIMITS)]
    for name, predicate in zip(("selective", "open"), predicates, strict=True):
        time, detail = added(df, lambda: None, predicate)
        lines.add(f"{what}, warm, known, {name}", time, unit=" ms", limit=f"<= {warm}", detail=detail)
    time, detail = added(df, lambda: None, predicates[0], cold=True)
    lines.add(f"{what}, cold", time, unit=" ms", limit=f"<= {cold}", detail=detail)


def main() -> None:
    lines = Lines()
    with scratch() as folder:
        spark = session()
        xskip.enable(spark)
        for most, (warm, cold) in LIMITS.items():
            files = int(most * arguments().scale)
            root = f"{folder}/of-{files}"
            create(spark, root, TYPES, [described(root, files)])
            for way in ("known", "anew"):
                df, listing = relation(spark, root, files, anew=way == "anew")
                for name, predicate in (("selective", SELECTIVE), ("open", OPEN)):
                    time, detail = added(df, listing.refresh, predicate)
                    what = f"{files:,} files, warm, {way}, {name}"
                    lines.add(what, time, unit=" ms", limit=f"<= {warm}", detail=detail)
            if cold:
                time, detail = added(df, listing.refresh, SELECTIVE, cold=True)
                lines.add(f"{files:,} files, cold", time, unit=" ms", limit=f"<= {cold}", detail=detail)
        plan_names(spark, Path(folder), lines)
        spark.stop()
    lines.write()


if __name__ == "__main__":
    main()
