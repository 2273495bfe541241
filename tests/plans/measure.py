"""What the plan of an executed query did: the files of its scans, its exchanges and its joins."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import xskip

__all__ = ["APIS", "INTERPRETED", "Comparison", "Run", "Scan", "compare", "measure", "regressions"]

#: The values of ``spark.sql.sources.useV1SourceList`` for both data source APIs.
APIS = {"v1": "avro,csv,json,kafka,orc,parquet,text", "v2": ""}
#: The setting for plans of few rows, which Spark interprets faster than it compiles them.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false"}
_INNER_PLANS = {
    "AdaptiveSparkPlanExec": "executedPlan",
    "ShuffleQueryStageExec": "plan",
    "BroadcastQueryStageExec": "plan",
    "ResultQueryStageExec": "plan",
    "TableCacheQueryStageExec": "plan",
    "CommandResultExec": "commandPhysicalPlan",
}
_V1_SCANS = ("FileSourceScanExec", "RangedScan")
_REUSES = ("ReusedExchangeExec", "ReusedSubqueryExec")
_SHUFFLED_JOINS = ("SortMergeJoinExec", "ShuffledHashJoinExec")


@dataclass(frozen=True, slots=True)
class Scan:
    """The files that one scan of a plan read.

    Attributes
    ----------
    table : str
        The name of the dataset's directory.
    files, size : int
        The number of files, and the sum of their sizes in bytes; the size is 0 for scans of the second API.
    """

    table: str
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class Run:
    """An executed query: its rows in a normal form, and what its plan did."""

    rows: tuple[str, ...]
    scans: tuple[Scan, ...]
    exchanges: int
    reused: int
    shuffled_joins: int
    nodes: tuple[str, ...]

    @property
    def files(self) -> int:
        """Return the number of files that all scans read."""
        return sum(scan.files for scan in self.scans)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A query without and with indexes, and in what it is worse with them."""

    plain: Run
    indexed: Run
    worse: tuple[str, ...]


def compare(spark: SparkSession, df_of: Callable[[], DataFrame], attempts: int = 5) -> Comparison:
    """Run a query without and with indexes, anew as long as it is worse with them.

    Adaptive execution drops the parts of a plan that depend on an empty stage, if that stage ends before the others
    begin. So the plans of one query differ from run to run, and only a plan that is always worse counts.
    """
    for _ in range(attempts):
        xskip.disable(spark)
        plain = measure(df_of())
        xskip.enable(spark)
        indexed = measure(df_of())
        worse = regressions(plain, indexed)
        if not worse or plain.rows != indexed.rows:
            break
    return Comparison(plain, indexed, tuple(worse))


def measure(df: DataFrame) -> Run:
    """Run a query and return what its plan did."""
    rows = tuple(sorted(map(_normal_form, df.collect())))
    nodes = list(_nodes(df._jdf.queryExecution().executedPlan()))
    kinds = Counter(kind for kind, _ in nodes)
    return Run(
        rows,
        tuple(_scan(kind, node) for kind, node in nodes if kind in (*_V1_SCANS, "BatchScanExec")),
        sum(number for kind, number in kinds.items() if kind.endswith("ExchangeExec") and kind not in _REUSES),
        kinds["ReusedExchangeExec"],
        sum(kinds[kind] for kind in _SHUFFLED_JOINS),
        tuple(kind for kind, _ in nodes),
    )


def _normal_form(row: Sequence[Any]) -> str:
    """Return a row as text, without the digits of sums of floating point, which depend on their order."""
    return repr([f"{value:.6g}" if isinstance(value, float) else str(value) for value in row])


def _nodes(plan: Any) -> Iterator[tuple[str, Any]]:
    """Yield the executed nodes of a plan with the names of their classes; a reused plan is one node."""
    kind = plan.getClass().getSimpleName()
    if kind in _INNER_PLANS:
        yield from _nodes(getattr(plan, _INNER_PLANS[kind])())
        return
    yield kind, plan
    if kind in _REUSES:
        return
    if kind == "InMemoryTableScanExec":
        yield from _nodes(plan.relation().cacheBuilder().cachedPlan())
    for plans in (plan.children(), plan.subqueries()):
        for i in range(plans.length()):
            yield from _nodes(plans.apply(i))


def _scan(kind: str, node: Any) -> Scan:
    if kind in _V1_SCANS:
        metrics = node.metrics()
        return Scan(
            _table(node.relation().location()),
            metrics.get("numFiles").get().value(),
            metrics.get("filesSize").get().value(),
        )
    scan = node.scan()
    # the partitions of the node are those of planning, without runtime filters
    partitions = scan.planInputPartitions()
    paths = {file.filePath().toString() for partition in partitions for file in partition.files()}
    is_holder = scan.getClass().getSimpleName() in ("RuntimeFileScan", "RangedFileScan")
    return Scan(_table((scan.fileScan() if is_holder else scan).fileIndex()), len(paths), 0)


def _table(index: Any) -> str:
    """Return the name of a file index's dataset, of which the index may hold some partitions only."""
    if index.rootPaths().isEmpty():
        return ""
    path = index.rootPaths().head()
    while "=" in path.getName():
        path = path.getParent()
    return str(path.getName())


def regressions(plain: Run, indexed: Run) -> list[str]:
    """Return in what a query with indexes is worse than the same query without; empty if in nothing."""
    found = [] if plain.rows == indexed.rows else ["the rows differ"]
    before, after = _by_table(plain.scans), _by_table(indexed.scans)
    for table in sorted({*before, *after}):
        if len(after[table]) > len(before[table]):
            found.append(f"{table}: {len(after[table])} scans instead of {len(before[table])}")
        for old, new in zip(before[table], after[table], strict=False):
            if new.files > old.files or new.size > old.size:
                found.append(f"{table}: {new.files} files, {new.size} bytes instead of {old.files}, {old.size}")
    if indexed.exchanges > plain.exchanges:
        found.append(f"{indexed.exchanges} exchanges instead of {plain.exchanges}")
    if indexed.reused < plain.reused and indexed.exchanges >= plain.exchanges:
        found.append(f"{indexed.reused} reused exchanges instead of {plain.reused}")
    if indexed.shuffled_joins > plain.shuffled_joins:
        found.append(f"{indexed.shuffled_joins} shuffled joins instead of {plain.shuffled_joins}")
    return found


def _by_table(scans: Sequence[Scan]) -> defaultdict[str, list[Scan]]:
    tables: defaultdict[str, list[Scan]] = defaultdict(list)
    for scan in sorted(scans, key=lambda scan: (scan.files, scan.size), reverse=True):
        tables[scan.table].append(scan)
    return tables
