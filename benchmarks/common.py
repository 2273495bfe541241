"""Helpers that all benchmarks share: arguments, a session, datasets, alternating runs, and a line for each result.

The command line takes a file for the results as JSON, ``--scale 0.1`` for a tenth of the files, ``--only`` with the
names of the parts to run, and ``--rows``. The docstring of each benchmark shows the options that apply to it.
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
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="?", help="a file for the results, as JSON")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of files; the limits are for 1")
    parser.add_argument("--rows", type=int, default=200_000, help="of a large file, where there are some")
    parser.add_argument("--only", default="", help="names of parts, with commas between")
    return parser.parse_args()


def scaled(files: int) -> int:
    """Return a number of files, multiplied by ``--scale``.

    The result is even, so that two tasks write full files (see :func:`write`), and at least 20.
    """
    return max(20, int(files * arguments().scale) // 2 * 2)


def run(parts: Mapping[str, Callable[[SparkSession, Path, Lines], None]], spark: SparkSession) -> None:
    """Run the parts of a benchmark, stop Spark, and write the results.

    Parameters
    ----------
    parts : mapping of str to callable
        The parts by name. ``--only`` selects parts. Each part gets the session, a new temporary folder and the lines.
    spark : SparkSession
    """
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
    """Return a Spark session with xskip's configuration, without UI, progress bars and log messages.

    Parameters
    ----------
    packages : sequence of str
        The Maven coordinates of further packages.
    conf : mapping of str to str, optional
        Further settings.
    master : str
        The master URL, two local cores by default.

    Returns
    -------
    SparkSession
    """
    builder = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "4g")
        # Spark writes timestamps as INT96 by default, and Parquet footers have no statistics for INT96.
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    )
    for key, value in (conf or {}).items():
        builder = builder.config(key, value)
    return xskip.configure(builder, extra_packages=packages).getOrCreate()


def dataset(spark: SparkSession, fmt: str, root: Path, *, files: int, rows: int = ROWS, users: int = 1_000_000) -> str:
    """Write a dataset of files that are clustered by time, and return its directory.

    The columns are ``ts``, ``n``, ``temp``, ``city``, ``user`` and ``payload``.

    Parameters
    ----------
    spark : SparkSession
    fmt : str
        The format to write.
    root : pathlib.Path
        The folder in which to create the dataset's directory.
    files : int
        The number of files.
    rows : int
        The number of rows in each file.
    users : int
        The greatest number of distinct values in ``user``.

    Returns
    -------
    str
        The directory ``root/fmt``.
    """
    path = f"{root}/{fmt}"
    write(spark, fmt, path, (0, files), rows=rows, users=users)
    return path


def write(
    spark: SparkSession, fmt: str, path: str, between: tuple[int, int], *, rows: int = ROWS, users: int = 1_000_000
) -> None:
    """Append a range of numbered files to a dataset.

    Parameters
    ----------
    spark : SparkSession
    fmt : str
        The format to write.
    path : str
        The directory of the dataset.
    between : (int, int)
        The number of the first file, and the number after that of the last file.
    rows : int
        The number of rows in each file.
    users : int
        The greatest number of distinct values in ``user``.
    """
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
    """Return an action that drops the index of a dataset, and an action that builds the index."""
    index = xskip.SkippingIndex.for_path(spark, path, format=fmt)
    return lambda: index.exists() and index.drop(), lambda: index.create(indexes)


class Run(NamedTuple):
    """The duration of a run, and the processor time of Python and the JVM during the run.

    Attributes
    ----------
    seconds : float
        The duration in seconds.
    cpu : float
        The processor time in seconds, 0 on a system where :func:`processor_seconds` returns 0.
    """

    seconds: float
    cpu: float


def interleaved(
    runs: Sequence[tuple[Action, Action]], rounds: int = ROUNDS, warm: int = WARM, *, rotate: bool = True
) -> list[list[Run]]:
    """Time several actions in turn, each action once per round.

    Parameters
    ----------
    runs : sequence of (callable, callable)
        For each action, a preparation that is not timed, and the action.
    rounds : int
        The number of measured rounds.
    warm : int
        The number of warm-up rounds before the measured rounds.
    rotate : bool
        Whether each round begins one action later than the round before it.

    Returns
    -------
    list of list of Run
        For each action, one run per measured round.
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
    """Time an action with the hook off and with the hook on, and leave the hook on.

    Parameters
    ----------
    spark : SparkSession
    action : callable
        The action to time.
    rounds : int
        The number of measured rounds.
    warm : int
        The number of warm-up rounds before the measured rounds.
    theirs : callable, optional
        The action to time with the hook off, instead of ``action``.

    Returns
    -------
    (list of Run, list of Run)
        The runs with the hook off, and the runs with the hook on.
    """
    off, on = (lambda: xskip.disable(spark), theirs or action), (lambda: xskip.enable(spark), action)
    without, with_it = interleaved([off, on], rounds, warm)
    xskip.enable(spark)
    return without, with_it


def planned(df: DataFrame) -> None:
    """Plan a query without running it: analysis, optimization, the physical plan, the choice of files."""
    df._jdf.queryExecution().toRdd().getNumPartitions()


def hook_milliseconds(query: Callable[[int], DataFrame], rounds: int = 20, warm: int = 1) -> float:
    """Return the median time that a query's planning spends in the index, as the hook measures that time.

    Parameters
    ----------
    query : callable
        Takes the number of a run, from 0, and returns the query to plan.
    rounds : int
        The number of measured queries.
    warm : int
        The number of queries before the measured queries.

    Returns
    -------
    float
        The median in milliseconds. A query counts with the sum over its scans.
    """
    times = [sum(scan.milliseconds for scan in xskip.explain(query(n)).scans) for n in range(warm + rounds)]
    return statistics.median(times[warm:])


def processor_seconds() -> float:
    """Return the processor time of this process and its child processes, one of which is the JVM.

    Returns
    -------
    float
        User and system time in seconds, 0 on systems other than Linux. The children of child processes, such as
        Spark's Python workers, do not count.
    """
    try:
        own = [os.getpid(), *map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())]
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in own]
        return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


@dataclass(frozen=True)
class Ratio:
    """The ratio of two actions' durations, computed for each round.

    Attributes
    ----------
    above : sequence of Run
        The runs of the numerator, one per round.
    below : sequence of Run
        The runs of the denominator, in the same rounds.
    """

    above: Sequence[Run]
    below: Sequence[Run]

    @property
    def value(self) -> float:
        """Return the median of the rounds' ratios."""
        return statistics.median(self._each)

    @property
    def detail(self) -> str:
        """Return text with the details of the ratio.

        The text has the median durations, the first and third quartile of the rounds' ratios, the ratio of the least
        durations, and the ratio of the median processor times where these are known.
        """
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
    """The results of a benchmark, printed as lines and written as JSON.

    Attributes
    ----------
    rows : list of dict
        The name, value, unit, limit and detail of each result.
    """

    def __init__(self) -> None:
        arguments()
        self.rows: list[dict[str, Any]] = []

    def add(self, name: str, value: float, *, unit: str = "", limit: str = "", detail: str = "") -> None:
        """Record a result and print its line.

        Parameters
        ----------
        name : str
        value : float
        unit : str
            The unit, printed after the value.
        limit : str
            The condition that the value must meet, such as ``<= 1.5``. It is printed, not checked.
        detail : str
            Further text for the end of the line.
        """
        self.rows.append({"name": name, "value": round(value, 4), "unit": unit, "limit": limit, "detail": detail})
        print(f"{name:<66} {value:8.3f}{unit:<3} {limit:<9} {detail}", flush=True)

    def ratio(self, name: str, above: Sequence[Run], below: Sequence[Run], limit: str = "") -> None:
        """Record the ratio of two actions' durations, and print its line.

        Parameters
        ----------
        name : str
        above : sequence of Run
            The runs of the numerator, one per round.
        below : sequence of Run
            The runs of the denominator, in the same rounds.
        limit : str
            The condition that the ratio must meet.
        """
        found = Ratio(above, below)
        self.add(name, found.value, limit=limit, detail=found.detail)

    def write(self) -> None:
        """Write the results to the JSON file that the command line names, if it names a file."""
        if arguments().results:
            Path(arguments().results).write_text(json.dumps(self.rows, indent=1))


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Create a temporary directory for a benchmark's data."""
    return tempfile.TemporaryDirectory(prefix="xskip-bench-")
