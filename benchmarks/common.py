"""What the benchmarks share: arguments, a session, files of rows, runs that alternate, and one line for each ratio.

Every benchmark takes a file for its results as JSON, ``--scale 0.1`` for a tenth of the objects, and ``--only`` with
names of its parts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

import xskip

ROWS = 2_000
ROUNDS = 5
WARM = 3
START = 1_700_000_000
ALL = (xskip.MinMax("ts"), xskip.MinMax("temp"), xskip.ValueList("city"), xskip.BloomFilter("user"))
Action = Callable[[], Any]


@cache
def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="?", help="a file for the results, as JSON")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of objects; the limits are for 1")
    parser.add_argument("--rows", type=int, default=200_000, help="of a large object, where there are some")
    parser.add_argument("--only", default="", help="names of parts, with commas between")
    return parser.parse_args()


def scaled(objects: int) -> int:
    """So many objects, at the scale that was asked for; an even number."""
    return max(20, int(objects * arguments().scale) // 2 * 2)


def run(parts: Mapping[str, Callable[[SparkSession, Path, Lines], None]], spark: SparkSession) -> None:
    """The parts of a benchmark, each in a folder of its own, and their results."""
    wanted = [name for name in arguments().only.split(",") if name]
    lines = Lines()
    for name in wanted or parts:
        with scratch() as folder:
            parts[name](spark, Path(folder), lines)
    spark.stop()
    lines.write()


def session(
    packages: Sequence[str] = (), conf: Mapping[str, str] | None = None, master: str = "local[2]"
) -> SparkSession:
    """Two cores, as little noise as can be."""
    builder = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "4g")
        # Spark's default, INT96, has no statistics: footers say nothing of it
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    )
    for key, value in (conf or {}).items():
        builder = builder.config(key, value)
    return xskip.configure(builder, extra_packages=packages).getOrCreate()


def dataset(spark: SparkSession, fmt: str, root: Path, *, files: int, rows: int = ROWS, users: int = 1_000_000) -> str:
    """Files of so many rows, clustered by time: ``ts``, ``n``, ``temp``, ``city``, ``user``, ``payload``."""
    path = f"{root}/{fmt}"
    write(spark, fmt, path, (0, files), rows=rows, users=users)
    return path


def write(
    spark: SparkSession, fmt: str, path: str, between: tuple[int, int], *, rows: int = ROWS, users: int = 1_000_000
) -> None:
    """Adds the files of a dataset from one number on to another."""
    first, last = between
    data = spark.range(first * rows, last * rows, 1, 2 if (last - first) % 2 == 0 else 1).selectExpr(
        f"timestamp_micros({START}000000 + id * 1000000) AS ts",
        "CAST(id % 1000003 AS INT) AS n",
        "CAST(abs(hash(id)) % 1000 / 10 AS DOUBLE) AS temp",
        f"concat('city-', CAST(id / {rows} % 50 AS INT) + id % 3) AS city",
        f"concat('user-', abs(hash(id, 7)) % {users}) AS user",
        "sha2(CAST(id AS STRING), 256) AS payload",
    )
    data.write.option("maxRecordsPerFile", rows).mode("append").format(fmt).save(path)


def build(spark: SparkSession, fmt: str, path: str, indexes: Sequence[xskip.Index]) -> tuple[Action, Action]:
    """What comes before a build, and the build."""
    index = xskip.SkippingIndex.for_path(spark, path, format=fmt)
    return lambda: index.exists() and index.drop(), lambda: index.create(indexes)


class Run(NamedTuple):
    """How long a run took, and the processor time of Python and the JVM meanwhile: 0 where that cannot be told."""

    seconds: float
    cpu: float


def interleaved(
    runs: Sequence[tuple[Action, Action]], rounds: int = ROUNDS, warm: int = WARM, *, rotate: bool = True
) -> list[list[Run]]:
    """What each of some actions took in each round, of which the first ones do not count.

    Parameters
    ----------
    runs : sequence of (callable, callable)
        What comes before an action, untimed, and the action. Each round has all of them.
    rounds, warm : int
    rotate : bool
        Does each round begin with another one than the last did.
    """
    times: list[list[Run]] = [[] for _ in runs]
    for number in range(warm + rounds):
        for position in range(len(runs)):
            which = (number * rotate + position) % len(runs)
            before, action = runs[which]
            before()
            used, started = processor_seconds(), time.perf_counter()
            action()
            if number >= warm:
                times[which].append(Run(time.perf_counter() - started, processor_seconds() - used))
    return times


def switched(
    spark: SparkSession, action: Action, rounds: int = ROUNDS, warm: int = WARM, *, theirs: Action | None = None
) -> tuple[list[Run], list[Run]]:
    """What an action took with the hook off, or another one in its place, and with it on, which it is afterwards."""
    off, on = (lambda: xskip.disable(spark), theirs or action), (lambda: xskip.enable(spark), action)
    without, with_it = interleaved([off, on], rounds, warm)
    xskip.enable(spark)
    return without, with_it


def planned(df: DataFrame) -> None:
    """All that comes before a query reads: analysis, optimization, the physical plan, the choice of files."""
    df._jdf.queryExecution().toRdd().getNumPartitions()


def hook_milliseconds(query: Callable[[int], DataFrame], rounds: int = 20, warm: int = 1) -> float:
    """In the index for one query, as the hook itself measures it: the median over queries by number."""
    times = [sum(scan.milliseconds for scan in xskip.explain(query(n)).scans) for n in range(warm + rounds)]
    return statistics.median(times[warm:])


def processor_seconds() -> float:
    """Of this process and those that it started, of which the JVM is one; 0 but on Linux."""
    try:
        own = [os.getpid(), *map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())]
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in own]
        return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


@dataclass(frozen=True)
class Ratio:
    """One kind of runs against another: the median of the rounds' ratios."""

    above: Sequence[Run]
    below: Sequence[Run]

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self._each)

    @property
    def detail(self) -> str:
        """The medians of both, where the middle half of the rounds' ratios lies, that of the least, of the CPU's."""
        above, below = ([run.seconds for run in runs] for runs in (self.above, self.below))
        digits = 2 if min(below) >= 1 else 4
        low, _, high = statistics.quantiles(self._each, n=4) if len(self._each) > 1 else (self.value,) * 3
        used, others = (statistics.median(run.cpu for run in runs) for runs in (self.above, self.below))
        return (
            f"{statistics.median(above):.{digits}f} s / {statistics.median(below):.{digits}f} s"
            f"; rounds {low:.3f} to {high:.3f}, least {min(above) / min(below):.3f}"
            + (f"; CPU {used / others:.3f}, {used:.2f} s / {others:.2f} s" if others else "")
        )

    @property
    def _each(self) -> list[float]:
        return [a.seconds / b.seconds for a, b in zip(self.above, self.below, strict=True)]


class Lines:
    """Prints one line for each ratio, and writes all as JSON to the file named on the command line, if one is."""

    def __init__(self) -> None:
        arguments()
        self.rows: list[dict[str, Any]] = []

    def add(self, name: str, value: float, *, unit: str = "", limit: str = "", detail: str = "") -> None:
        """One measurement, against what it must be."""
        self.rows.append({"name": name, "value": round(value, 4), "unit": unit, "limit": limit, "detail": detail})
        print(f"{name:<66} {value:8.3f}{unit:<3} {limit:<9} {detail}", flush=True)

    def ratio(self, name: str, above: Sequence[Run], below: Sequence[Run], limit: str = "") -> None:
        """The ratio of two kinds of runs."""
        found = Ratio(above, below)
        self.add(name, found.value, limit=limit, detail=found.detail)

    def write(self) -> None:
        """The JSON file."""
        if arguments().results:
            Path(arguments().results).write_text(json.dumps(self.rows, indent=1))


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A place for data."""
    return tempfile.TemporaryDirectory(prefix="xskip-bench-")
