"""What the scans of datasets without an index asked of columns, which only the hook has recorded."""

from __future__ import annotations

import json
from functools import lru_cache

from xskip.engine.conditions import conditions_without_index
from xskip.protocol.scan_records import ExecutedScan
from xskip.results.index_usage import Condition, ConditionUsage
from xskip.results.workload import Workload, uses_by_column
from xskip.spark.bridge.gateway import Hook
from xskip.spark.catalyst.filter_decoder import to_predicate

__all__ = ["scan_conditions", "workload_without_index"]


@lru_cache(256)
def _conditions(filters: str) -> tuple[Condition, ...]:
    return conditions_without_index(to_predicate(json.loads(filters), with_conditions=False))


def scan_conditions(scan: ExecutedScan) -> tuple[Condition, ...]:
    """Return what a scan without an index asks of columns and expressions, without values; nothing of other scans."""
    return _conditions(scan.filters) if scan.filters else ()


def workload_without_index(hook: Hook, dataset: str) -> Workload:
    """Return what the latest queries of this process asked of a dataset while it had no index."""
    queries = hook.queries.all_queries_after(0)
    scans = [scan for query in queries for scan in query.scans if scan.path and scan_conditions(scan)]
    # Spark names a directory of the dataset if its filters on partition columns leave one
    paths = {
        path
        for path in {scan.path for scan in scans}
        if f"{hook.locations.normalized(path)}/".startswith(f"{dataset}/")
    }
    found = [scan for scan in scans if scan.path in paths]
    uses = ((condition, ConditionUsage(1, scan.bytes)) for scan in found for condition in scan_conditions(scan))
    return Workload(len(found), uses_by_column(uses))
