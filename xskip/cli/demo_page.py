"""The page with which a demonstration ends: what was indexed, what queries open, and what to try next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from xskip.errors import StorageError, error_text
from xskip.results.index_status import IndexDescription
from xskip.results.render import count_text, html_page, part_of_bytes, percentage, render_html
from xskip.results.report_html import COLOURS, Bar, bar_of
from xskip.results.result_view import ResultView
from xskip.results.skipping_report import SkippingReport, report_body

__all__ = ["DemoPage", "DemoPart", "DemoQuery", "DemoStep", "indexed_view"]

#: The name of the page in the directory of the demonstration.
_NAME = "report.html"
#: The facts about an index that matter to someone who sees it for the first time.
_FACTS = ("dataset", "files", "metadata", "partitions")


@dataclass(frozen=True)
class DemoQuery:
    """A query that ran with and without xskip.

    Attributes
    ----------
    title : str
        What the query asks for.
    filter : str
        The filter in SQL.
    rows : int
        The number of rows.
    report : SkippingReport
        The report of the run with xskip.
    seconds, seconds_without : float
        The durations of ``collect()`` with and without xskip.
    is_equal : bool
        Whether both runs have the same rows.
    """

    title: str
    filter: str
    rows: int
    report: SkippingReport
    seconds: float
    seconds_without: float
    is_equal: bool

    @property
    def files(self) -> int:
        """Return the number of files that the query opens without xskip."""
        return self.report.files

    @property
    def opened(self) -> int:
        """Return the number of files that the query opens with xskip."""
        return self.report.files - self.report.skipped

    @property
    def bytes(self) -> int:
        """Return the size of the files that the query opens without xskip, in bytes."""
        return sum(scan.bytes for scan in self.report.scans)

    @property
    def opened_bytes(self) -> int:
        """Return the size of the files that the query opens with xskip, in bytes."""
        return sum(scan.kept_bytes for scan in self.report.scans)

    @property
    def bar(self) -> Bar:
        """Return the bar of opened and skipped files."""
        parts = (("matched", self.opened), ("skipped", self.report.skipped))
        text = f"{self.opened:,} opened, {self.report.skipped:,} skipped"
        return bar_of(text, count_text(self.files, "files"), parts)

    @cached_property
    def report_body(self) -> str:
        """Return the report of the query as HTML without its style."""
        return report_body(self.report)


@dataclass(frozen=True)
class DemoPart:
    """A dataset of a demonstration: what was indexed, and the queries on it."""

    title: str
    #: What was written and indexed.
    indexed: tuple[ResultView, ...]
    queries: tuple[DemoQuery, ...]


@dataclass(frozen=True)
class DemoStep:
    """What to try next: why, and the code or the command."""

    text: str
    code: str


@dataclass(frozen=True)
class DemoPage:
    """The page of a demonstration."""

    title: str
    lead: str
    parts: tuple[DemoPart, ...]
    steps: tuple[DemoStep, ...]

    @property
    def tiles(self) -> list[tuple[str, str]]:
        """Return the most important figures of all queries, each with what it is."""
        queries = [query for part in self.parts for query in part.queries]
        files, opened = sum(each.files for each in queries), sum(each.opened for each in queries)
        size, read = sum(each.bytes for each in queries), sum(each.opened_bytes for each in queries)
        differing = sum(not each.is_equal for each in queries)
        return [
            (percentage(files - opened, files), f"of files skipped: {opened:,} of {files:,} opened"),
            (percentage(size - read, size), f"of bytes skipped: opened files have {part_of_bytes(read, size)}"),
            (f"{len(queries) - differing} of {len(queries)}", "queries have the same rows with and without xskip"),
        ]

    def to_html(self) -> str:
        """Return the page, without scripts and references."""
        body = render_html("demo.html", page=self, colours=COLOURS)
        return html_page(self.title, body, is_broad=True)

    def save(self, directory: Path) -> Path:
        """Write the page into a directory, and return its path; raise StorageError if that fails."""
        target = directory / _NAME
        try:
            target.write_text(self.to_html(), encoding="utf-8")
        except OSError as error:
            raise StorageError("cannot write the page", where=str(target), found=error_text(error)) from error
        return target


def indexed_view(description: IndexDescription, lead: str) -> ResultView:
    """Return the part of a page about an index, with a sentence on its build."""
    view = description._view()
    facts = tuple(fact for fact in view.facts if fact.name in _FACTS)
    return replace(view, caption="What was indexed", lead=lead, facts=facts)
