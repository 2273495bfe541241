"""Skipping statistics of queries in Xskipper's form: sums over all scans since the last call of :func:`clear`."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from xskip.api.report_maker import report_of
from xskip.results.skipping_report import ScanReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["clear", "frame", "scans_of"]

_SCHEMA = (
    "status string, isSkippable boolean NOT NULL, skipped_Bytes bigint NOT NULL, skipped_Objs bigint NOT NULL, "
    "total_Bytes bigint NOT NULL, total_Objs bigint NOT NULL"
)
_cleared: dict[int, int] = {}  # id of the engine: number of the last scan before the statistics were cleared


def clear(engine: SparkEngine) -> None:
    """Exclude all scans until now from the statistics."""
    _cleared.clear()
    _cleared[id(engine)] = engine.hook.queries.last_scan()


def scans_of(engine: SparkEngine, dataset: str | None = None) -> list[ScanReport]:
    """Return the scans of a dataset, or of all, that consulted an index since the last call of :func:`clear`."""
    # The JVM remembers only the last few hundred scans.
    scans = engine.hook.queries.scans_after(_cleared.get(id(engine), -1))
    by_query = groupby(scans, key=lambda scan: scan.query)
    reports = [scan for _, group in by_query for scan in report_of(engine, list(group)).scans]
    return [scan for scan in reports if dataset in (None, scan.dataset)]


def frame(spark: SparkSession, scans: list[ScanReport] | None) -> DataFrame:
    """Return the sums over scans as a DataFrame of one row; None stands for no data, with the status ``FAILED``."""
    if scans is None:
        return spark.createDataFrame([("FAILED", "No Data Was Supplied")], "status string, reason string")
    used = [scan for scan in scans if scan.outcomes and not scan.problem]
    sums: list[Any] = [sum(getattr(scan, name) for scan in used) for name in _SUMMED]
    return spark.createDataFrame([("SUCCESS", bool(used), *sums)], _SCHEMA)


_SUMMED = ("skipped_bytes", "skipped", "bytes", "files")
