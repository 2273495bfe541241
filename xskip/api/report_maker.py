"""Reports on queries from the scans that the hook recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from xskip.api.scan_reasons import reason_of
from xskip.engine.decision import ScanTrace
from xskip.expressions.shown_values import leaf_texts, text_with_values
from xskip.protocol.scan_records import ExecutedScan, QueryRecord, ScanRecord
from xskip.results.clause_outcomes import outcomes_of, unused_texts
from xskip.results.file_picture import Drawing
from xskip.results.render import time_text
from xskip.results.skipping_report import ScanReport, SkippingReport
from xskip.settings import REPORT_VALUES
from xskip.spark.query.scan_files import ScanListing
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from xskip.spark.bridge.queries import QueryCalls

__all__ = ["ReportMaker", "report_of"]

_REDACTION = "spark.sql.redaction.string.regex"
#: A request, and the scan that made it; None if Spark's counts of the scan are those of several requests.
_Request = tuple[ScanRecord, ExecutedScan | None]


class ReportMaker:
    """The maker of reports for a session, whose settings decide whether reports show the values of filters."""

    def __init__(self, engine: SparkEngine, spark: SparkSession) -> None:
        self._engine = engine
        self._spark = spark
        self.calls: QueryCalls = engine.hook.queries

    def of_plan(self, df: DataFrame, files: int = 0) -> SkippingReport:
        """Return the report on what a query would skip, with explanations of at most ``files`` files of each scan.

        The method lists the files of the query.
        """
        before = self.calls.last_scan()
        listed = self.calls.explain(df)
        answered = [(scan, None) for scan in self.calls.scans_after(before) if scan.query == listed.query]
        return self._of(answered, [scan for scan in listed.scans if not scan.is_answered], files)

    def of_query(self, query: QueryRecord) -> SkippingReport:
        """Return the report on a recorded query."""
        ended = datetime.fromtimestamp(query.ended_ms / 1000, timezone.utc)
        name = f"the query that ended at {time_text(ended)} (ID {query.execution} on Spark's SQL page)"
        report = self.of_scans(query.scans)
        return replace(report, query=name, seconds=query.seconds, failed=query.failed)

    def of_scans(self, scans: Iterable[ExecutedScan]) -> SkippingReport:
        """Return the report on scans of a query that ran."""
        scans = list(scans)
        answered = [(request, scan if len(scan.requests) == 1 else None) for scan in scans for request in scan.requests]
        return self._of(answered, [scan for scan in scans if not scan.requests])

    def of_requests(self, requests: Iterable[ScanRecord]) -> SkippingReport:
        """Return the report on requests that belong to no recorded query."""
        return self._of([(request, None) for request in requests], ())

    def outside_of_queries(self, scan: int) -> list[ScanRecord]:
        """Return the session's requests after a number that no SQL execution made, such as those of ``df.rdd``."""
        session = self.calls.session_id(self._spark)
        return [each for each in self.calls.scans_after(scan) if each.session == session and not each.query]

    def _of(self, answered: Iterable[_Request], unanswered: Iterable[ExecutedScan], files: int = 0) -> SkippingReport:
        others = (
            _unanswered(_dataset(self._engine, scan), scan, reason_of(self._engine, self._spark, scan))
            for scan in unanswered
        )
        shown = Shown(values=shows_values(self._engine, self._spark), files=files)
        return SkippingReport((*_scan_reports(self._engine, answered, shown), *others))


def shows_values(engine: SparkEngine, spark: SparkSession) -> bool:
    """Return whether reports show the values of filters. A session that redacts texts never shows values."""
    return bool(engine.settings.or_default(spark, REPORT_VALUES)) and not spark.conf.get(_REDACTION, None)


@dataclass(frozen=True, slots=True)
class Shown:
    """The choice of what a report shows."""

    #: Whether the report shows the values of filters and of columns without an encrypted index.
    values: bool = False
    #: The maximum number of files of each scan that the report explains.
    files: int = 0


_DEFAULT = Shown()


def report_of(engine: SparkEngine, records: Iterable[ScanRecord]) -> SkippingReport:
    """Return the report on requests of scans, without values."""
    return SkippingReport(tuple(_scan_reports(engine, [(record, None) for record in records], _DEFAULT)))


def _scan_reports(engine: SparkEngine, answered: Iterable[_Request], shown: Shown) -> Iterable[ScanReport]:
    """Return the reports on requests."""
    reports: dict[tuple[Any, ...], ScanReport] = {}
    for record, scan in answered:
        trace = engine.trace(record.id)
        texts = _texts(trace, shown)
        report = _answered(record, trace, scan, texts)
        # Requests about one dataset with the same filter and the same number and size of files count once: Spark can
        # plan a scan more than once.
        key = (report.dataset, trace.filters if trace else record.id, report.files, report.bytes)
        listing = ScanListing(engine.hook.queries, record, trace)
        reports[key] = _with_files(report, listing, shown, texts)
    return reports.values()


def _dataset(engine: SparkEngine, scan: ExecutedScan) -> str:
    """Return the root path of a scan, or the name of its table if partition pruning has left no path."""
    return engine.hook.locations.normalized(scan.path) if scan.path else scan.table or "no path"


def _texts(trace: ScanTrace | None, shown: Shown) -> dict[str, str] | None:
    """Return the texts of the filter's leaves with values, or None if values are hidden."""
    if not shown.values or trace is None or trace.decoded is None:
        return None
    return leaf_texts(trace.decoded, trace.secret_columns)


def _with_files(report: ScanReport, listing: ScanListing, shown: Shown, texts: Mapping[str, str] | None) -> ScanReport:
    """Add what follows from the single files of a scan: counts, the picture, and explanations."""
    report = replace(report, drawing=Drawing(partial(listing.picture, has_values=shown.values)))
    if not shown.files and not listing.is_partial():
        return report
    files = listing.files()
    if isinstance(files, str):
        return replace(report, unexplained=files if shown.files else "")
    explained = tuple(files.explanations(shown.files, texts))
    return replace(report, outcomes=outcomes_of(files.result(), texts), explained=explained)


def _answered(
    record: ScanRecord, trace: ScanTrace | None, scan: ExecutedScan | None, texts: Mapping[str, str] | None
) -> ScanReport:
    files_read = -1 if scan is None else scan.files_read
    result = trace.result if trace else None
    predicate = trace.predicate if trace else ""
    if texts is not None and trace is not None and trace.decoded is not None:
        predicate = text_with_values(trace.decoded, trace.secret_columns)
    return ScanReport(
        dataset=record.root,
        format=record.format,
        predicate=predicate,
        files=record.listed,
        kept=record.kept,
        not_indexed=record.listed - record.known,
        bytes=record.listed_bytes,
        kept_bytes=record.kept_bytes,
        milliseconds=record.request_ms + record.filter_ms,
        outcomes=outcomes_of(result, texts),
        unused=unused_texts(result, texts),
        problem=trace.problem if trace else "the details of this scan are no longer available",
        evaluated=record.evaluated,
        pruned=0 if record.evaluated or files_read < 0 else max(0, record.kept - files_read),
        pruned_by="" if scan is None else scan.pruned_by,
        rewrite=record.rewrite,
        unneeded=record.unneeded,
    )


def _unanswered(dataset: str, scan: ExecutedScan, reason: str) -> ScanReport:
    return ScanReport(
        dataset=dataset,
        format=scan.format,
        predicate="",
        files=scan.files,
        kept=scan.files,
        not_indexed=0 if scan.is_indexed else scan.files,
        bytes=scan.bytes,
        kept_bytes=scan.bytes,
        milliseconds=0.0,
        problem=reason,
    )
