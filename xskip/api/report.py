"""Reports on queries from the scans that the hook recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xskip.results.skipping_report import ScanReport, SkippingReport
from xskip.spark.query.engine import Engine

__all__ = ["report_of"]


def report_of(
    engine: Engine, scans: Iterable[dict[str, Any]], unasked: Iterable[dict[str, Any]] = ()
) -> SkippingReport:
    """Build the report on scans that the hook recorded.

    Scans of one dataset with the same filter and the same number of files count once.

    Parameters
    ----------
    engine : Engine
        The engine that answered the scans.
    scans : iterable of dict
        Scans for which the hook requested an answer from the engine.
    unasked : iterable of dict
        Scans without such a request, because they have no index or no filter.

    Returns
    -------
    SkippingReport
    """
    reports: dict[tuple[Any, ...], ScanReport] = {}
    for scan in scans:
        trace = engine.trace(scan["id"])
        result = trace.result if trace else None
        report = ScanReport(
            dataset=scan["root"],
            format=scan["format"],
            predicate=trace.predicate if trace else "",
            files=scan["listed"],
            kept=scan["kept"],
            not_indexed=scan["listed"] - scan["known"],
            bytes=scan["listed_bytes"],
            kept_bytes=scan["kept_bytes"],
            milliseconds=scan["asked_ms"] + scan["filtered_ms"],
            outcomes=result.outcomes if result else (),
            unused=result.unused if result else (),
            problem=trace.problem if trace else "the details of this scan are no longer available",
        )
        reports[report.dataset, trace.filters if trace else scan["id"], report.files] = report
    normalized = engine.hook.locations.normalized
    return SkippingReport((*reports.values(), *(_unasked(normalized(scan["path"]), scan) for scan in unasked)))


def _unasked(dataset: str, scan: dict[str, Any]) -> ScanReport:
    files, size = scan["files"], scan["bytes"]
    problem = "no filter reaches this scan" if scan["indexed"] else "the dataset has no index, or skipping is off"
    if scan["refused"]:
        problem = f"xskip does not support {scan['refused']}"
    return ScanReport(
        dataset=dataset,
        format=scan["format"],
        predicate="",
        files=files,
        kept=files,
        not_indexed=0 if scan["indexed"] else files,
        bytes=size,
        kept_bytes=size,
        milliseconds=0.0,
        problem=problem,
    )
