"""Measure how the cost of a build and of a query grows with files, columns and rows.

    python benchmarks/slopes.py [results.json] [--scale 0.1] [--only files,columns,rows,metadata]

The benchmark measures three sizes of each kind in turn, and fits a line to the processor times (least squares). The
slope is the cost of one more unit, and the intercept is the cost without any unit. Processor time is that of Python and
the JVM. It grows with the work only, so that other load on the machine changes it little. On a cluster, divide the cost
by the number of cores.

files     builds of Avro files of 100 rows with indexes of three types: the cost of a file
columns   builds of 200 Avro files of 2,000 rows with MinMax on one, two and four columns: the cost of a column
rows      builds of 100 Parquet files of 1,000 to 16,000 rows with a BloomFilter: the cost of a row
metadata  reads of the bounds of two of eight columns in the driver, without and with the evaluation of a filter, and
          without Spark: the cost of a file. Further results are the sizes of a file's metadata on disk and in the
          driver
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from common import Lines, Run, build, dataset, interleaved, run, scaled, session
from predicate import COLUMNS, between
from pyspark.sql import SparkSession
from simulated import described

import xskip
from xskip.clauses.clause import Clause
from xskip.expressions.predicate import And, Comparison, Op
from xskip.metadata.table import MetadataTable, Requirement
from xskip.metadatastore.codec import decode, open_file
from xskip.metadatastore.recorded_files import write_files
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import PruneResult, prune, requirements

ROUNDS = 3
ALL = (xskip.MinMax("ts"), xskip.ValueList("city"), xskip.BloomFilter("user"))
Sized = tuple[int, Callable[[], object], Callable[[], object]]


def fitted(lines: Lines, what: str, each: str, sizes: Sequence[int], runs: Sequence[Sequence[Run]]) -> None:
    """Fit a line to the median processor times of several sizes, and record its slope.

    Parameters
    ----------
    lines : Lines
    what : str
        The description of the measured action.
    each : str
        The unit of the sizes, such as ``a row``.
    sizes : sequence of int
        The number of units of each size.
    runs : sequence of sequence of Run
        The runs of each size.
    """
    medians = [float(np.median([run.cpu for run in some])) for some in runs]
    slope, start = np.polyfit(sizes, medians, 1)
    detail = ", ".join(f"{size:,}: {seconds:.2f} s" for size, seconds in zip(sizes, medians, strict=True))
    lines.add(f"{what}: {each}", float(slope) * 1e6, unit=" us", detail=f"{start:.2f} s without any; {detail}")


def measured(lines: Lines, what: str, each: str, sized: Sequence[Sized]) -> None:
    """Run an action with several sizes in turn, and record the slope of its processor time.

    Parameters
    ----------
    lines : Lines
    what : str
        The description of the measured action.
    each : str
        The unit of the sizes, such as ``a row``.
    sized : sequence of (int, callable, callable)
        For each size, the number of units, a preparation that is not measured, and the action.
    """
    runs = interleaved([(before, action) for _, before, action in sized], ROUNDS, 1)
    fitted(lines, what, each, [size for size, _, _ in sized], runs)


def files(spark: SparkSession, folder: Path, lines: Lines) -> None:
    sizes = [scaled(n) for n in (500, 1_000, 2_000)]
    paths = [dataset(spark, "avro", folder / str(n), files=n, rows=100) for n in sizes]
    sized = [(n, *build(spark, "avro", path, ALL)) for n, path in zip(sizes, paths, strict=True)]
    measured(lines, "build of Avro files of 100 rows, three indexes", "a file", sized)


def columns(spark: SparkSession, folder: Path, lines: Lines) -> None:
    path = dataset(spark, "avro", folder, files=scaled(200))
    names = ("ts", "n", "temp", "city")
    sized = [(k, *build(spark, "avro", path, [xskip.MinMax(name) for name in names[:k]])) for k in (1, 2, 4)]
    measured(lines, f"build of {scaled(200):,} Avro files of 2,000 rows, MinMax", "a column", sized)


def rows(spark: SparkSession, folder: Path, lines: Lines) -> None:
    count = scaled(100)
    sized = []
    for each in (1_000, 4_000, 16_000):
        path = dataset(spark, "parquet", folder / str(each), files=count, rows=each)
        sized.append((each * count, *build(spark, "parquet", path, [xskip.BloomFilter("user")])))
    measured(lines, f"build of {count:,} Parquet files, BloomFilter", "a row", sized)


def metadata(spark: SparkSession, folder: Path, lines: Lines) -> None:
    del spark
    predicate = And((*between(COLUMNS["id"], 10**10, 9 * 10**11), Comparison(Op.GT, COLUMNS["n"], 100_000)))
    sizes = [scaled(n) for n in (100_000, 300_000, 900_000)]
    reads, asks = [], []
    for count in sizes:
        whole = described(str(folder), count)
        place = folder / str(count)
        place.mkdir()
        paths = [path for path, _ in write_files(whole, str(folder), place, 0)]
        catalog = IndexCatalog(tuple((i.definition, i.storage) for i in whole.indexes.values()))
        clause = translate(predicate, catalog)
        needed = requirements(clause)

        read = partial(_read, paths, needed)
        reads.append((count, lambda: None, read))
        asks.append((count, lambda: None, partial(_ask, read, clause)))
    measured(lines, "reading two of eight columns of bounds, cold", "a file", reads)
    measured(lines, "the same, and a filter on both", "a file", asks)
    tables = [decode(open_file(path), needed) for path in paths]
    disk = sum(path.stat().st_size for path in paths)
    lines.add("metadata of eight columns, bytes on disk: a file", disk / count, unit=" B")
    lines.add("two columns in the driver: a file", sum(t.nbytes for t in tables) / count, unit=" B")


def _read(paths: Sequence[Path], needed: frozenset[Requirement]) -> list[MetadataTable]:
    return [decode(open_file(path), needed) for path in paths]


def _ask(read: Callable[[], list[MetadataTable]], clause: Clause) -> list[PruneResult]:
    return [prune(clause, table) for table in read()]


if __name__ == "__main__":
    run({"files": files, "columns": columns, "rows": rows, "metadata": metadata}, session())
