"""Measure how much driver memory jobs save when they prune large metadata, and how much time they take.

    python benchmarks/large.py [files] [results.json]

The metadata describes 10,000,000 files, or as many as the first argument says. The files do not exist. The metadata has
the bounds of three columns and a Bloom filter of one column. Each way of pruning runs in a separate process. In
"driver" the driver's Python loads the metadata, in "jobs" Spark jobs prune the metadata. Memory is the greatest
resident size of the driver's Python, above its size before the first query. A time is how long the hook waits for an
answer from Python while Spark plans a query. "first" is the first query with a filter of its kind, "next" is the median
of 5 further queries. The first query of a process also registers the index.

The queries filter by time and by city. The files are in the order of time, so that the statistics of row groups rule
out most metadata. The files are not ordered by city, so that a query reads all metadata of the column. A query lists
only the first 100,000 files, because the listing takes equally long both ways.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from common import Lines, scratch, session
from simulated import START, TYPES, create, filters, minmax, padded, relation, table_of

import xskip
from xskip.metadata.table import MetadataTable
from xskip.spark.bridge.gateway import hook_of

LISTED = 100_000
PIECE = 500_000
RUNS = 5
COLUMNS = {name: TYPES[name] for name in ("ts", "temp", "city", "user")}
STEP = 3_000_000  # microseconds from one file to the next
QUERIES = {
    "by time": f"ts < timestamp_micros({START + STEP * 1000} + {{i}})",
    "by city": "city = 'city-{i:07d}'",
}


def piece(root: str, start: int, stop: int) -> MetadataTable:
    """Return the metadata of a range of numbered files. One file in 50 has no value in ``city``.

    Parameters
    ----------
    root : str
        The directory of the dataset.
    start : int
        The number of the first file.
    stop : int
        The number after that of the last file.

    Returns
    -------
    MetadataTable
    """
    rng = np.random.default_rng(start)
    count = stop - start
    low = rng.random(count)
    city = pc.binary_join_element_wise("city-", padded(low * 500, 7), "")
    city = pc.if_else(pa.array(rng.random(count) < 0.02), pa.scalar(None, pa.string()), city)
    ts = START + np.arange(start, stop) * STEP
    bounds = [
        minmax("ts", pa.array(ts), pa.array(ts + STEP)),
        minmax("temp", pa.array(low * 40), pa.array(low * 40 + 2)),
        minmax("city", city, city),
    ]
    return table_of(root, start, [*bounds, filters(count)])


def make(folder: Path, files: int) -> None:
    """Create a dataset without rows, and metadata of the given number of files."""
    spark = session()
    root = str(folder / "data")
    starts = range(0, files, PIECE)
    create(spark, root, COLUMNS, (piece(root, start, min(start + PIECE, files)) for start in starts))
    spark.stop()


def peak() -> float:
    """Return the greatest resident size of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(folder: Path, limit: str) -> None:
    """Measure the queries and print the results as JSON.

    Parameters
    ----------
    folder : pathlib.Path
        The folder that :func:`make` filled.
    limit : str
        The value of ``spark.xskip.pruning.jobFiles``, which decides between the driver and jobs.
    """
    spark = session()
    spark.conf.set("spark.xskip.pruning.jobFiles", limit)
    spark.conf.set("spark.xskip.strict", "true")
    xskip.enable(spark)
    df, _ = relation(spark, str(folder / "data"), LISTED, anew=False)
    before, found = peak(), {}
    hook = hook_of(spark)
    for name, query in QUERIES.items():
        times = []
        for i in range(RUNS + 1):
            last = hook.queries.last_scan()
            hook.queries.explain(df.filter(query.format(i=i)))
            (scan,) = hook.queries.scans_after(last)
            assert scan.known == scan.listed == LISTED, scan
            times.append(scan.request_ms / 1e3)
        found[name] = {"first": times[0], "next": statistics.median(times[1:]), "kept": scan.kept}
    found["memory"] = {"before": before, "peak": peak()}
    spark.stop()
    print(json.dumps(found), flush=True)


def run(*arguments: str) -> str:
    """Run this file in a new process with other arguments, and return the last line that the process prints."""
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, __file__, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return next(iter(done.stdout.splitlines()[-1:]), "")


def main() -> None:
    files = int(sys.argv.pop(1)) if sys.argv[1:2] and sys.argv[1].isdecimal() else 10_000_000
    lines = Lines()
    with scratch() as folder:
        started = time.perf_counter()
        run("make", folder, str(files))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.parquet")) / 1e6
        print(f"{files:,} files, {size:,.0f} MB of metadata, made in {time.perf_counter() - started:.0f} s")
        found = {
            way: json.loads(run("measure", folder, limit)) for way, limit in (("driver", "999999999"), ("jobs", "0"))
        }
    for query in QUERIES:
        assert found["driver"][query]["kept"] == found["jobs"][query]["kept"], found
        for when in ("first", "next"):
            for way, values in found.items():
                detail = f"{values[query]['kept']:,} of {LISTED:,} read"
                lines.add(f"{files:,} files, {query}, {when}, {way}", values[query][when], unit=" s", detail=detail)
    for way, values in found.items():
        before, most = values["memory"]["before"], values["memory"]["peak"]
        detail = f"{before:,.0f} MB before, {most:,.0f} MB at most"
        lines.add(f"{files:,} files, memory of the driver's Python, {way}", most - before, unit=" MB", detail=detail)
    lines.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["measure"]:
        measure(Path(sys.argv[2]), sys.argv[3])
    else:
        main()
