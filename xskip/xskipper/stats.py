"""Statistics of queries as Xskipper gives them: summed up since they were last cleared."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from xskip.api.report import ScanReport, report_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from xskip.spark.query.engine import Engine

__all__ = ["clear", "frame", "scans_of"]

_SCHEMA = (
    "status string, isSkippable boolean NOT NULL, skipped_Bytes bigint NOT NULL, skipped_Objs bigint NOT NULL, "
    "total_Bytes bigint NOT NULL, total_Objs bigint NOT NULL"
)
_cleared: dict[int, int] = {}  # by engine: the last scan that does not count any more


def clear(engine: Engine) -> None:
    """Scans up to now count no more."""
    _cleared.clear()
    _cleared[id(engine)] = engine.hook.last_scan()


def scans_of(engine: Engine, dataset: str | None = None) -> list[ScanReport]:
    """What asked an index since the statistics were cleared; of the last few hundred, which are remembered."""
    scans = engine.hook.scans_after(_cleared.get(id(engine), -1))
    by_query = groupby(scans, key=lambda scan: scan["query"])
    reports = [scan for _, group in by_query for scan in report_of(engine, list(group)).scans]
    return [scan for scan in reports if dataset in (None, scan.dataset)]


def frame(spark: SparkSession, scans: list[ScanReport] | None) -> DataFrame:
    """The sums as one row; without any data, that there are none."""
    if scans is None:
        return spark.createDataFrame([("FAILED", "No Data Was Supplied")], "status string, reason string")
    used = [scan for scan in scans if scan.outcomes and not scan.problem]
    sums: list[Any] = [sum(getattr(scan, name) for scan in used) for name in _SUMMED]
    return spark.createDataFrame([("SUCCESS", bool(used), *sums)], _SCHEMA)


_SUMMED = ("skipped_bytes", "skipped", "bytes", "objects")
