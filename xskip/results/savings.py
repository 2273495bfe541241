"""Totals of the files and bytes that the queries of a session, or of a query history, skipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from xskip.results.render import count_text, human_bytes, part_of_bytes, percentage, time_text
from xskip.results.result_view import ShownTable, TableView

__all__ = ["DatasetSavings", "Savings"]


@dataclass(frozen=True, slots=True)
class DatasetSavings:
    """The files and bytes of one dataset that queries read and skipped.

    Attributes
    ----------
    dataset : str
        The dataset's root; empty for datasets beyond the first 1,000 together.
    scans : int
        The number of scans.
    files, bytes : int
        The sums of the files that Spark listed for these scans, and of their sizes in bytes.
    skipped, skipped_bytes : int
        The sums of the files among them that no scan read, and of their sizes in bytes.
    milliseconds : float
        The time that xskip took to select the files of all scans.
    """

    dataset: str
    scans: int
    files: int
    bytes: int
    skipped: int
    skipped_bytes: int
    milliseconds: float


@dataclass(frozen=True, slots=True, repr=False)
class Savings(ShownTable):
    """The files and bytes that the queries of a session, or of a query history, read and skipped.

    :func:`xskip.savings` returns them.

    Attributes
    ----------
    queries : int
        The number of queries.
    since : datetime or None
        The end of the first query; None without a query.
    datasets : tuple of DatasetSavings
        The sums of each dataset, those with most skipped bytes first.
    """

    queries: int
    since: datetime | None
    datasets: tuple[DatasetSavings, ...]
    #: Whether the sums are those of the query history of many drivers.
    is_of_history: bool = False

    def __len__(self) -> int:
        return len(self.datasets)

    def __iter__(self) -> Iterator[DatasetSavings]:
        return iter(self.datasets)

    @property
    def files(self) -> int:
        """Return the sum of the files that Spark listed."""
        return sum(each.files for each in self.datasets)

    @property
    def skipped(self) -> int:
        """Return the sum of the files that no scan read."""
        return sum(each.skipped for each in self.datasets)

    @property
    def bytes(self) -> int:
        """Return the sum of the sizes of the files that Spark listed, in bytes."""
        return sum(each.bytes for each in self.datasets)

    @property
    def skipped_bytes(self) -> int:
        """Return the sum of the sizes of the files that no scan read, in bytes."""
        return sum(each.skipped_bytes for each in self.datasets)

    @property
    def milliseconds(self) -> float:
        """Return the time that xskip took to select the files of all scans."""
        return sum(each.milliseconds for each in self.datasets)

    @property
    def headline(self) -> str:
        """Return one line: how much the queries skipped, and what xskip took for it."""
        if self.since is None:
            if self.is_of_history:
                return "the query history has no query of this time"
            return "no query of this session has ended since xskip.enable(spark)"
        queries = f"{count_text(self.queries, 'queries')} since {time_text(self.since)}"
        return (
            f"{queries} skipped {self.skipped:,} of {count_text(self.files, 'files')} "
            f"({percentage(self.skipped, self.files)}), {part_of_bytes(self.skipped_bytes, self.bytes)}, "
            f"in {self.milliseconds:.1f} ms"
        )

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "dataset": [each.dataset or "other datasets" for each in self.datasets],
            "scans": [each.scans for each in self.datasets],
            "files": [each.files for each in self.datasets],
            "skipped": [each.skipped for each in self.datasets],
            "bytes": [each.bytes for each in self.datasets],
            "skipped bytes": [each.skipped_bytes for each in self.datasets],
        }

    def _caption(self) -> str:
        return "Savings in the query history" if self.is_of_history else "Savings of the session"

    def _lead(self) -> str:
        return self.headline

    def _table(self) -> TableView:
        """Return the table with sizes as people read them."""
        columns = self._columns()
        for name in ("bytes", "skipped bytes"):
            columns[name] = list(map(human_bytes, columns[name]))
        return TableView(list(columns), list(zip(*columns.values(), strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain Python values, such as for a metric.

        Returns
        -------
        dict
            The keys ``queries``, ``since`` (a text in ISO 8601, or None), ``files``, ``skipped``, ``bytes``,
            ``skipped_bytes``, ``milliseconds``, and ``datasets``: a list of dict with the attributes of
            :class:`DatasetSavings`.
        """
        names = ("files", "skipped", "bytes", "skipped_bytes", "milliseconds")
        since = None if self.since is None else self.since.isoformat()
        sums = {name: getattr(self, name) for name in names}
        return {"queries": self.queries, "since": since, **sums, "datasets": [asdict(each) for each in self.datasets]}
