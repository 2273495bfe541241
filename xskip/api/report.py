"""What skipping did for a query: per scan, how much was skipped, by which index, and what could not be used."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from xskip.pruning.prune import ClauseOutcome
from xskip.results.render import html_page, html_table, human_bytes, text_table
from xskip.spark.query.engine import Engine

__all__ = ["ScanReport", "SkippingReport", "report_of"]


@dataclass(frozen=True, slots=True)
class ScanReport:
    """One scan of a dataset.

    Attributes
    ----------
    dataset : str
    format : str
    predicate : str
        The filters as they were understood; values are left out.
    objects, kept, not_indexed : int
        Objects listed, objects read, and those among them that have no metadata.
    bytes, kept_bytes : int
    milliseconds : float
        What the index took.
    outcomes : tuple of ClauseOutcome
        How many objects each clause ruled out by itself; an object can be ruled out by several.
    unused : tuple of (str, str)
        Predicates that could not be used, and why.
    problem : str
        Why the index was not used at all, or nothing.
    """

    dataset: str
    format: str
    predicate: str
    objects: int
    kept: int
    not_indexed: int
    bytes: int
    kept_bytes: int
    milliseconds: float
    outcomes: tuple[ClauseOutcome, ...] = ()
    unused: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    @property
    def skipped(self) -> int:
        """Objects that were not read."""
        return self.objects - self.kept

    @property
    def skipped_bytes(self) -> int:
        """Bytes that were not read."""
        return self.bytes - self.kept_bytes

    def _lines(self) -> Iterable[str]:
        yield f"{self.dataset} ({self.format})"
        if self.problem:
            yield f"  not used: {self.problem}"
        yield f"  filter   {self.predicate or 'none that an index could see'}"
        share = 100 * self.skipped / self.objects if self.objects else 0.0
        yield (
            f"  objects  {self.objects:,} in all, {self.kept:,} read, {self.skipped:,} skipped ({share:.1f} %), "
            f"{self.not_indexed:,} not indexed"
        )
        yield (
            f"  bytes    {human_bytes(self.bytes)} in all, {human_bytes(self.kept_bytes)} read, "
            f"{human_bytes(self.skipped_bytes)} skipped"
        )
        yield f"  time     {self.milliseconds:.1f} ms in the index"
        if self.outcomes:
            rows = [(o.predicate, o.index, o.ruled_out) for o in self.outcomes]
            yield from ("  " + line for line in text_table(_CLAUSES, rows).splitlines())
        for predicate, reason in self.unused:
            yield f"  not used: {predicate}: {reason}"


_CLAUSES = ["clause", "index", "objects ruled out"]


@dataclass(frozen=True, slots=True)
class SkippingReport:
    """What skipping did for one query; prints as text, shows as HTML in notebooks."""

    scans: tuple[ScanReport, ...]

    def __str__(self) -> str:
        if not self.scans:
            return "no scan asked an index"
        return "\n".join(line for scan in self.scans for line in scan._lines())

    def _repr_html_(self) -> str:
        return "".join(_html(scan) for scan in self.scans) or "<p>no scan asked an index</p>"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"scans": [asdict(scan) | {"skipped": scan.skipped} for scan in self.scans]}

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), indent=1)

    def save(self, path: str | Path) -> Path:
        """Writes an HTML page and returns where it is."""
        target = Path(path)
        target.write_text(html_page("xskip report", self._repr_html_()), encoding="utf-8")
        return target


def report_of(
    engine: Engine, scans: Iterable[dict[str, Any]], unasked: Iterable[dict[str, Any]] = ()
) -> SkippingReport:
    """The report on scans as the hook remembers them; a scan listed twice for one filter counts once.

    Parameters
    ----------
    engine : Engine
    scans : iterable of dict
        Scans that asked an index.
    unasked : iterable of dict
        Scans that did not: they have no index, or no filter.
    """
    reports: dict[tuple[Any, ...], ScanReport] = {}
    for scan in scans:
        trace = engine.trace(scan["id"])
        result = trace.result if trace else None
        report = ScanReport(
            dataset=scan["root"],
            format=scan["format"],
            predicate=trace.predicate if trace else "",
            objects=scan["listed"],
            kept=scan["kept"],
            not_indexed=scan["listed"] - scan["known"],
            bytes=scan["listed_bytes"],
            kept_bytes=scan["kept_bytes"],
            milliseconds=scan["asked_ms"] + scan["filtered_ms"],
            outcomes=result.outcomes if result else (),
            unused=result.unused if result else (),
            problem=trace.problem if trace else "no longer remembered",
        )
        reports[report.dataset, trace.filters if trace else scan["id"], report.objects] = report
    return SkippingReport((*reports.values(), *(_unasked(engine.hook.key(s["path"]), s) for s in unasked)))


def _unasked(dataset: str, scan: dict[str, Any]) -> ScanReport:
    objects, size = scan["files"], scan["bytes"]
    problem = "no filter reaches this scan" if scan["indexed"] else "the dataset has no index, or skipping is off"
    if scan["refused"]:
        problem = f"xskip leaves {scan['refused']} alone"
    return ScanReport(
        dataset=dataset,
        format=scan["format"],
        predicate="",
        objects=objects,
        kept=objects,
        not_indexed=0 if scan["indexed"] else objects,
        bytes=size,
        kept_bytes=size,
        milliseconds=0.0,
        problem=problem,
    )


def _html(scan: ScanReport) -> str:
    totals = html_table(
        ["", "in all", "read", "skipped", "not indexed"],
        [
            ("objects", scan.objects, scan.kept, scan.skipped, scan.not_indexed),
            ("bytes", human_bytes(scan.bytes), human_bytes(scan.kept_bytes), human_bytes(scan.skipped_bytes), ""),
        ],
    )
    clauses = (
        html_table(_CLAUSES, [(o.predicate, o.index, o.ruled_out) for o in scan.outcomes]) if scan.outcomes else ""
    )
    notes = [f"the index was not used: {scan.problem}"] if scan.problem else []
    notes += [f"{predicate} was not used: {reason}" for predicate, reason in scan.unused]
    listed = "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>" if notes else ""
    return (
        f"<h2>{escape(scan.dataset)} <small>({escape(scan.format)})</small></h2>"
        f"<p><code>{escape(scan.predicate)}</code> took {scan.milliseconds:.1f} ms in the index</p>"
        f"{totals}{clauses}{listed}"
    )
