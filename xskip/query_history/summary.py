"""What the query history tells: how much queries skipped, and how they used the indexes of a dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timezone

from xskip.query_history.rows import ScanKind, ScanSums
from xskip.results.index_usage import Condition, ConditionUsage, DatasetUsage, IndexUsage, bytes_of
from xskip.results.savings import DatasetSavings, Savings
from xskip.results.workload import Workload, uses_by_column

__all__ = ["savings_of", "usage_of", "workload_of"]

#: In milliseconds.
_DAY = 86_400_000
#: The time from the first to the last scan from which on a history tells what no query needs.
_COMPLETE = _DAY


def savings_of(rows: Iterable[tuple[ScanKind, ScanSums]]) -> Savings:
    """Return the files and bytes that the queries of rows read and skipped."""
    datasets: dict[str, ScanSums] = {}
    for kind, sums in rows:
        plain = replace(sums, ruled_out=())
        present = datasets.get(kind.dataset)
        datasets[kind.dataset] = plain if present is None else present + plain
    found = [
        DatasetSavings(
            name, each.scans, each.files, each.bytes, each.files - each.kept, each.bytes - each.kept_bytes,
            each.milliseconds,
        )
        for name, each in datasets.items()
    ]  # fmt: skip
    first = min((each.first for each in datasets.values()), default=None)
    since = None if first is None else datetime.fromtimestamp(first / 1000, timezone.utc)
    queries = sum(each.queries for each in datasets.values())
    datasets_in_order = tuple(sorted(found, key=lambda each: (-each.skipped_bytes, each.dataset)))
    return Savings(queries, since, datasets_in_order, is_of_history=True)


def usage_of(
    rows: Iterable[tuple[ScanKind, ScanSums]], dataset: str, present: Iterable[str], days: int
) -> DatasetUsage:
    """Return how the queries of rows, which are those of the last ``days``, used the indexes of a dataset.

    Scans of a time in which the dataset had other indexes than ``present`` count only for what was useful.
    """
    texts = frozenset(present)
    scans, useful, first, last = 0, set[str](), None, 0
    asked, ruled_out = Counter[str](), Counter[str]()
    conditions: dict[Condition, ConditionUsage] = {}
    columns: set[str] = set()
    for kind, sums in rows:
        last = max(last, sums.last)
        if kind.dataset != dataset:
            continue
        useful |= {name for name, count in zip(kind.used, sums.ruled_out, strict=True) if count}
        columns.update(each.operand for each in kind.conditions if each.is_of_rewrite)
        if frozenset(kind.present) != texts or kind.problem:  # also a scan that asked no index
            continue
        asks_for_files = kind.predicate is not None or not all(each.is_of_rewrite for each in kind.conditions)
        scans += sums.scans if asks_for_files else 0
        first = sums.first if first is None else min(first, sums.first)
        for name, count in zip(kind.used, sums.ruled_out, strict=True):
            asked[name] += sums.scans
            ruled_out[name] += count
        for condition in kind.conditions:
            found = conditions.get(condition, ConditionUsage())
            size = bytes_of(condition, kind.conditions, sums.kept_bytes, sums.whole_bytes)
            conditions[condition] = found + ConditionUsage(sums.scans, size)
    indexes = {name: IndexUsage(count, ruled_out[name]) for name, count in asked.items()}
    # One busy hour is no day of it: a shorter time than a day counts as a day.
    recorded = min(float(days), max(1.0, (last - (last if first is None else first)) / _DAY))
    return DatasetUsage(
        scans, indexes, conditions, texts, frozenset(useful & texts), days, recorded, frozenset(columns)
    )


def workload_of(rows: Iterable[tuple[ScanKind, ScanSums]], dataset: str) -> Workload:
    """Return what the queries of rows asked of a dataset with any index; the bytes are those of all files.

    Scans whose conditions are not known tell nothing. Spark may have named only a directory of the dataset for a scan
    of a time without an index.
    """
    scans, useful, first, last = 0, set[str](), 0, 0
    conditions: list[tuple[Condition, ConditionUsage]] = []
    for kind, sums in rows:
        is_inside = not kind.present and kind.dataset.startswith(f"{dataset}/")
        if (kind.dataset == dataset or is_inside) and kind.conditions:
            first, last = min(first or sums.first, sums.first), max(last, sums.last)
            scans += sums.scans
            useful |= {name for name, count in zip(kind.used, sums.ruled_out, strict=True) if count}
            conditions += [(condition, ConditionUsage(sums.scans, sums.bytes)) for condition in kind.conditions]
    return Workload(scans, uses_by_column(conditions), frozenset(useful), is_complete=last - first >= _COMPLETE)
