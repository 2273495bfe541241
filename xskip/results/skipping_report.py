"""Reports on queries: the files that each scan skipped, by which clauses, and the predicates that were not used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from xskip.errors import StorageError, error_text
from xskip.paths import check_path
from xskip.results.clause_outcomes import ClauseOutcome
from xskip.results.file_explanation import EXPLANATION_HEADERS, FileExplanation
from xskip.results.file_picture import Drawing, FilePicture
from xskip.results.render import count_text, html_page, human_bytes, part_of_bytes, percentage, text_table
from xskip.results.report_html import Headline, ScanView, bar_of, bytes_of, report_html
from xskip.results.result_view import TableView

__all__ = ["ScanReport", "SkippingReport", "report_body"]


@dataclass(frozen=True, slots=True, repr=False)
class ScanReport:
    """The effect of skipping on one scan of a dataset.

    Attributes
    ----------
    dataset : str
        The dataset's root.
    format : str
        The file format of the scan.
    predicate : str
        The filters as xskip decoded them, without literal values.
    files : int
        The number of files that Spark listed.
    kept : int
        The number of files that the scan reads.
    not_indexed : int
        The number of listed files without metadata. The scan reads them, too, unless a rewrite left them out.
    bytes : int
        The total size of the listed files in bytes.
    kept_bytes : int
        The total size of the files that the scan reads, in bytes.
    milliseconds : float
        The time that xskip took to select the files.
    outcomes : tuple of ClauseOutcome
        The number of files that each clause ruled out, and the number that it leaves to be read because it has no
        verdict. Several clauses can rule out the same file. Both numbers count files that Spark listed.
    unused : tuple of (str, str)
        The predicates that xskip could not use, each with the reason.
    problem : str
        The reason why the index was not used at all; empty if the index was used.
    evaluated : bool
        Whether the scan read no file at all, because ``spark.xskip.evaluate`` is true. The numbers are those that it
        would have without this setting.
    pruned : int
        How many of the kept files were left out while the query ran, by Spark's dynamic partition pruning or by
        ``pruned_by``.
    pruned_by : str
        The names of what left them out beside Spark, with commas between: ``join`` for the keys of the other side of a
        join, ``subquery`` for the values of scalar subqueries. Empty if only Spark did.
    rewrite : str
        The name of what left out more files than the indexes rule out: ``limit`` if the files that match wholly have
        enough rows, ``top-k`` if rows of other files come first, ``aggregate`` if metadata answer counts and bounds,
        ``join`` if bounds of the other side of a join show that no row has a partner. Empty if nothing did.
    unneeded : int
        How many of the skipped files it left out.
    explained : tuple of FileExplanation
        Why the scan reads or skips single files; empty unless :func:`xskip.explain` was called with ``files``.
    unexplained : str
        The reason why the report does not explain single files, although it was called with ``files``.
    drawing : Drawing or None
        The picture of the files that HTML pages show.
    """

    dataset: str
    format: str
    predicate: str
    files: int
    kept: int
    not_indexed: int
    bytes: int
    kept_bytes: int
    milliseconds: float
    outcomes: tuple[ClauseOutcome, ...] = ()
    unused: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    evaluated: bool = False
    pruned: int = 0
    pruned_by: str = ""
    rewrite: str = ""
    unneeded: int = 0
    explained: tuple[FileExplanation, ...] = ()
    unexplained: str = ""
    drawing: Drawing | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"ScanReport({self.dataset}: {self.skipped:,} of {count_text(self.files, 'files')} skipped)"

    @property
    def skipped(self) -> int:
        """Return the number of files that the scan does not read."""
        return self.files - self.kept

    @property
    def skipped_bytes(self) -> int:
        """Return the total size in bytes of the files that the scan does not read."""
        return self.bytes - self.kept_bytes

    def _why_nothing(self) -> str:
        """Return why the scan skipped no file."""
        if self.problem:
            return self.problem
        if not self.files:
            return "the dataset has no files"
        reasons = "; ".join(dict.fromkeys(reason for _, reason in self.unused))
        if self.outcomes:
            return "every file can hold a matching row" + (f", and a part was not used: {reasons}" if reasons else "")
        return reasons or "no index can answer the filter"

    def _clauses(self) -> list[tuple[str, str, int, int]]:
        """Return the rows of the table of clauses, without those that tell nothing beside the others."""
        shown = [each for each in self.outcomes if not each.is_implied] or self.outcomes
        return [(each.predicate, each.index, each.ruled_out, each.unknown) for each in shown]

    def _lines(self) -> Iterable[str]:
        yield f"{self.dataset} ({self.format})"
        if self.problem:
            yield f"  not used: {self.problem}"
        if self.evaluated:
            yield f"  {_EVALUATED}"
        if self._filter():
            yield f"  filter   {self._filter()}"
        share = percentage(self.skipped, self.files)
        pruned = f"{self._pruned_text()}, " if self.pruned else ""
        yield (
            f"  files    {self.files:,} in all, {self.kept - self.pruned:,} read, {self.skipped:,} skipped ({share}), "
            f"{pruned}{self.not_indexed:,} not indexed"
        )
        yield (
            f"  bytes    {human_bytes(self.bytes)} in all, {human_bytes(self.kept_bytes)} read, "
            f"{human_bytes(self.skipped_bytes)} skipped"
        )
        if self.rewrite:
            yield f"  {self.rewrite:<8} {self._unneeded()}"
        if self.pruned_by and not self.pruned:  # the files are skipped by the condition on the keys or the values
            yield f"  skipped  {self._pruned_by_text()}"
        yield f"  time     {self.milliseconds:.1f} ms in the index"
        if self.outcomes:
            yield from ("  " + line for line in text_table(_CLAUSES, self._clauses()).splitlines())
        for predicate, reason in self.unused:
            yield f"  not used: {predicate}: {reason}"
        if self.explained:
            yield from ("  " + line for line in text_table(EXPLANATION_HEADERS, self._explanations()).splitlines())
        yield from (f"  {remark}" for remark in self._remarks())

    def _pruned_text(self) -> str:
        """Return how many files were left out while the query ran, and by what."""
        return f"{self.pruned:,} pruned {self._pruned_by_text() or 'by Spark as it ran'}"

    def _pruned_by_text(self) -> str:
        names = [_RUNTIME_REWRITES.get(name, name) for name in self.pruned_by.split(", ") if name]
        return f"by {' and '.join(names)} as it ran" if names else ""

    def _unneeded(self) -> str:
        """Return what a rewrite left out."""
        why = _REWRITES.get(self.rewrite, "")
        return f"{self.unneeded:,} of the skipped files can have matching rows{why}"

    def _filter(self) -> str:
        """Return the filter; it is not known if no index was used."""
        return self.predicate or ("" if self.problem else _NO_FILTER)

    def _explanations(self) -> list[Sequence[object]]:
        return [each.row(self.dataset) for each in self.explained]

    def _remarks(self) -> Iterable[str]:
        """Yield what the report does not say of single files."""
        if self.unexplained:
            yield f"single files are not explained: {self.unexplained}"
        more = self.files - len(self.explained)
        if self.explained and more > 0:
            yield f"{count_text(more, 'more files')} {'is' if more == 1 else 'are'} not shown"

    def _unindexed(self) -> int:
        """Return how many files without metadata the scan reads: rewrites other than that of joins leave out all."""
        return self.not_indexed if self.rewrite in ("", "join") else 0

    def _view(self, *, with_picture: bool) -> ScanView:
        picture = self.drawing.picture() if with_picture and self.drawing is not None else ""
        has_picture = isinstance(picture, FilePicture)
        unindexed = self._unindexed()
        parts = (("matched", self.kept - unindexed), ("unindexed", unindexed), ("skipped", self.skipped))
        outside = f" ({unindexed:,} not indexed)" if unindexed else ""
        pruned = f", {self._pruned_text()}" if self.pruned else ""
        bars = (
            bar_of(
                f"{self.kept - self.pruned:,} read{outside}, {self.skipped:,} skipped{pruned}",
                count_text(self.files, "files"),
                parts,
            ),
            bar_of(
                f"{human_bytes(self.kept_bytes)} read, {human_bytes(self.skipped_bytes)} skipped",
                human_bytes(self.bytes),
                # the bytes of files without an index are not known, unless these are all files that are read
                (
                    ("unindexed" if unindexed == self.kept else "matched", self.kept_bytes),
                    ("skipped", self.skipped_bytes),
                ),
            ),
        )
        tables = (
            TableView(_CLAUSES, self._clauses()),
            TableView(EXPLANATION_HEADERS, self._explanations()),
        )
        remarks = [f"The index was not used: {self.problem}" if self.problem else ""]
        remarks += [_EVALUATED] if self.evaluated else []
        remarks += [f"{self.rewrite}: {self._unneeded()}"] if self.rewrite else []
        remarks += [f"skipped {self._pruned_by_text()}"] if self.pruned_by and not self.pruned else []
        remarks += [f"{predicate} was not used: {reason}" for predicate, reason in self.unused]
        remarks += self._remarks()
        if picture and not has_picture and not self.problem:
            remarks.append(f"There is no picture of the files: {picture}")
        return ScanView(
            self.dataset, self.format, self._filter(), bars, picture if isinstance(picture, FilePicture) else None,
            tuple(each for each in tables if each.rows), tuple(filter(None, remarks)),
        )  # fmt: skip

    def _repr_html_(self) -> str:
        return SkippingReport((self,))._repr_html_()

    def _plain(self) -> dict[str, Any]:
        shown = {
            f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("drawing", "outcomes", "explained")
        }
        lists = {name: [asdict(each) for each in getattr(self, name)] for name in ("outcomes", "explained")}
        for outcome in lists["outcomes"]:
            del outcome["is_implied"]
        return shown | lists | {"unused": [list(each) for each in self.unused], "skipped": self.skipped}


_MAX_INDEXES = 3
_EVALUATED = "evaluated only: the query read no data, because spark.xskip.evaluate is true"
#: Why a query does not need files that a rewrite leaves out, by the name of the rewrite.
_REWRITES = {
    "limit": ", and the query needs none of them",
    "top-k": ", and these come after enough other rows",
    "aggregate": ", and their metadata have all that the query needs of them",
    "join": ", and these have no partner in a join",
}
#: What leaves out files while a query runs, by the name of the rewrite.
_RUNTIME_REWRITES = {"join": "join keys", "subquery": "values of subqueries"}
_NO_FILTER = "none that xskip can use"
#: The most scans, and the most pictures, on one page.
_MAX_VIEWS, _MAX_PICTURES = 100, 10
_CLAUSES = ["clause", "index", "files ruled out", "unknown"]


@dataclass(frozen=True, slots=True, repr=False)
class SkippingReport:
    """The effect of skipping on one query, which prints as text and shows as HTML in notebooks.

    Attributes
    ----------
    scans : tuple of ScanReport
        The scans of the query.
    query : str
        When the query ended, and its ID on Spark's SQL page; empty if the query has not run.
    seconds : float or None
        The duration of the query; None if it has not run, or is not known.
    note : str
        The reason why the report has no scans; empty if it has scans, or if the query reads no files.
    failed : bool
        Whether the query failed.

    Examples
    --------
    >>> df = spark.read.parquet(indexed_path).filter("temp > 30")
    >>> print(xskip.explain(df))
    skipped 2 of 3 files (66.7 %), ... of ..., in ... ms by minmax(temp)
    /.../indexed (parquet)
      filter   (temp IS NOT NULL AND temp > ?)
      files    3 in all, 1 read, 2 skipped (66.7 %), 0 not indexed
      bytes    ... in all, ... read, ... skipped
      time     ... ms in the index
      clause    index         files ruled out  unknown
      --------  ------------  ---------------  -------
      temp > ?  minmax(temp)                2        0
    """

    scans: tuple[ScanReport, ...]
    query: str = ""
    seconds: float | None = None
    note: str = ""
    failed: bool = False

    @property
    def files(self) -> int:
        """Return the number of files that Spark listed for all scans."""
        return sum(scan.files for scan in self.scans)

    @property
    def skipped(self) -> int:
        """Return the number of files that no scan reads."""
        return sum(scan.skipped for scan in self.scans)

    @property
    def headline(self) -> str:
        """Return one line: how much was skipped, in what time, by which indexes; or why nothing was skipped."""
        return self._effect() + self._outcome()

    def _outcome(self) -> str:
        """Return how the query ended, as the last part of the headline."""
        if self.seconds is None:
            return ""
        return f"; {self.query or 'the query'} {'failed after' if self.failed else 'took'} {self.seconds:.2f} s"

    def _effect(self) -> str:
        if not self.scans:
            return self.note or "no scan reads files"
        among = count_text(self.files, "files")
        if len(self.scans) > 1:
            among += f" in {len(self.scans):,} scans"
        if not self.skipped:
            reasons = dict.fromkeys(scan._why_nothing() for scan in self.scans)
            return f"skipped none of {among}: {'; '.join(reasons)}"
        whole, rest = (sum(getattr(scan, name) for scan in self.scans) for name in ("bytes", "kept_bytes"))
        verb = "would skip" if any(scan.evaluated for scan in self.scans) else "skipped"
        return (
            f"{verb} {self.skipped:,} of {among} ({percentage(self.skipped, self.files)}), "
            f"{part_of_bytes(whole - rest, whole)}, "
            f"in {sum(scan.milliseconds for scan in self.scans):.1f} ms by {self._indexes()}"
        )

    def _indexes(self) -> str:
        """Return the indexes that ruled out files, those that ruled out most first."""
        counts: dict[str, int] = {}
        for outcome in (each for scan in self.scans for each in scan.outcomes if each.ruled_out):
            counts[outcome.index] = counts.get(outcome.index, 0) + outcome.ruled_out
        names = sorted(counts, key=counts.__getitem__, reverse=True)
        more = f" and {len(names) - _MAX_INDEXES} more" if len(names) > _MAX_INDEXES else ""
        rewrites = dict.fromkeys(scan.rewrite for scan in self.scans if scan.rewrite)
        return ", ".join(names[:_MAX_INDEXES]) + more if names else ", ".join(rewrites) or "the filter alone"

    def __repr__(self) -> str:
        return f"SkippingReport({self.headline})"

    def __str__(self) -> str:
        return "\n".join([self.headline, *(line for scan in self.scans for line in scan._lines())])

    def _repr_html_(self) -> str:
        return report_html(self._html_headline(), self._views())

    def _views(self) -> list[ScanView]:
        pictures = 0
        views = []
        for scan in self.scans[:_MAX_VIEWS]:
            views.append(scan._view(with_picture=pictures < _MAX_PICTURES))
            pictures += views[-1].picture is not None
        return views

    def _html_headline(self) -> Headline:
        more = len(self.scans) - _MAX_VIEWS
        rest = f" The page shows the first {_MAX_VIEWS} of {len(self.scans):,} scans." if more > 0 else ""
        if not self.files:
            return Headline("", "", self.headline + rest)
        scans = f" in {len(self.scans):,} scans" if len(self.scans) > 1 else ""
        of_what = f"of {count_text(self.files, 'files')}{scans} skipped"
        if not self.skipped:
            return Headline("0 %", of_what, self.headline + rest)
        whole, kept = (sum(getattr(scan, name) for scan in self.scans) for name in ("bytes", "kept_bytes"))
        spent = sum(scan.milliseconds for scan in self.scans)
        sentence = f"{bytes_of(whole - kept, whole)} skipped in {spent:.1f} ms by {self._indexes()}{self._outcome()}"
        return Headline(percentage(self.skipped, self.files), of_what, sentence + rest)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain Python values.

        Returns
        -------
        dict
            The key ``scans`` holds a list with one dictionary for each scan: the attributes of :class:`ScanReport`, and
            ``skipped``. The other keys are ``headline``, ``query``, ``seconds``, ``note`` and ``failed``.
        """
        about = {
            "headline": self.headline, "query": self.query, "seconds": self.seconds, "note": self.note,
            "failed": self.failed,
        }  # fmt: skip
        return about | {"scans": [scan._plain() for scan in self.scans]}

    def to_json(self) -> str:
        """Return the result of :meth:`to_dict` as JSON text.

        Returns
        -------
        str
            The JSON text, with an indentation of one space.
        """
        return json.dumps(self.to_dict(), indent=1)

    def save(self, path: str | Path) -> Path:
        """Write the report as an HTML page.

        Parameters
        ----------
        path : str or Path
            The file to write.

        Returns
        -------
        Path
            The path of the page.

        Raises
        ------
        ArgumentError
            If the path is no path.
        StorageError
            If the file cannot be written.
        """
        target = Path(check_path(path, expected="a file such as 'report.html'"))
        try:
            target.write_text(html_page("xskip report", self._repr_html_()), encoding="utf-8")
        except OSError as error:
            raise StorageError("cannot write the report", where=str(target), found=error_text(error)) from error
        return target


def report_body(report: SkippingReport) -> str:
    """Return a report as HTML without its style, for a page that has it."""
    return report_html(report._html_headline(), report._views(), has_style=False)
