"""The overview of all indexes below a directory: as text, as a page, and as metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from typing import Any, Literal

from xskip.results.index_status import IndexStatus
from xskip.results.prometheus import gauges_text
from xskip.results.render import days_text, html_page, human_bytes, part_of_bytes, render_html, time_text
from xskip.results.result_view import ShownTable
from xskip.results.savings import DatasetSavings, Savings

__all__ = ["Fault", "IndexOverview", "Overview"]

#: Why a dataset has no index of its own, or an index no dataset.
Fault = Literal["index deleted", "dataset gone", "index of another path"]

_GAUGES = {
    "files": "Data files in the index.",
    "new_files": "Data files that the index does not know.",
    "changed_files": "Data files that have changed since they were indexed.",
    "deleted_files": "Entries of the index whose files were deleted.",
    "metadata_bytes": "Size of the metadata of the index.",
    "last_commit_timestamp_seconds": "When the index was last changed.",
    "scans": "Scans of queries in the last days, by the query history.",
    "scanned_bytes": "Size of the files that Spark listed for these scans.",
    "skipped_bytes": "Size of the files among them that the scans skipped.",
    "fresh": "1 if the index has all present files and nothing is wrong, else 0.",
}


@dataclass(frozen=True, slots=True)
class IndexOverview:
    """The state of one index in an overview.

    Attributes
    ----------
    dataset : str
        The dataset's root.
    location : str
        The directory of the metadata.
    format : str
        The format of the data files; empty if it is not known.
    files : int
        The number of data files in the index.
    indexes : tuple of str
        The index definitions, such as ``minmax(ts)``.
    metadata_bytes : int
        The size of the metadata in bytes.
    commit : int or None
        The time of the latest commit in milliseconds since the epoch; None if it is not known.
    status : IndexStatus or None
        The comparison with the present files of the dataset; None if it is not known.
    problem : str
        What is wrong with the index, and what to do; empty if nothing is known to be wrong.
    savings : DatasetSavings or None
        What the queries of the last days read and skipped; None without a query history.
    fault : str or None
        ``"index deleted"`` after an overwrite of the dataset, ``"dataset gone"`` if the directory of the dataset does
        not exist, and the definition of its index or an index elsewhere does, ``"index of another path"`` if the
        dataset was moved or copied, and None if the index is that of the dataset.
    advice : str
        What brings an index up to date that has no problem; empty if it is up to date.
    """

    dataset: str
    location: str
    format: str = ""
    files: int = 0
    indexes: tuple[str, ...] = ()
    metadata_bytes: int = 0
    commit: int | None = None
    status: IndexStatus | None = None
    problem: str = ""
    savings: DatasetSavings | None = None
    fault: Fault | None = None
    advice: str = ""

    @property
    def is_gone(self) -> bool:
        """Return whether the directory of the dataset does not exist."""
        return self.fault == "dataset gone"

    @property
    def is_fresh(self) -> bool:
        """Return whether the index is known to have all present files, and nothing is known to be wrong."""
        return not self.problem and self.status is not None and self.status.up_to_date

    @property
    def time(self) -> datetime | None:
        """Return the time of the latest commit in UTC, or None if it is not known."""
        return None if self.commit is None else datetime.fromtimestamp(self.commit / 1000, timezone.utc)

    @property
    def time_text(self) -> str:
        """Return the time of the latest commit in UTC as text; empty if it is not known."""
        return f"{self.time:%Y-%m-%d %H:%M:%S}" if self.time else ""

    @property
    def state(self) -> str:
        """Return the state in a few words, such as ``2 new, 1 changed``, without the problem."""
        if self.fault is not None:
            return self.fault
        if self.status is None:
            return "not known"
        parts = [f"{count:,} {word}" for word, count in _changes(self.status).items() if count]
        return ", ".join(parts) or "all files indexed"

    @property
    def remark(self) -> str:
        """Return the problem, or the state with the advice; empty for an index that is up to date."""
        return self.problem or (f"{self.state}; {self.advice}" if self.advice else "")

    @property
    def numbers(self) -> dict[str, float]:
        """Return what is known in numbers, by the names of metrics; nothing of a dataset that is gone."""
        if self.is_gone:
            return {}
        values: dict[str, float] = {
            "files": self.files,
            "metadata_bytes": self.metadata_bytes,
            "fresh": int(self.is_fresh),
        }
        if self.status is not None:
            values |= {f"{word}_files": count for word, count in _changes(self.status).items()}
        if self.commit is not None:
            values["last_commit_timestamp_seconds"] = self.commit / 1000
        if self.savings is not None:
            values |= {"scans": self.savings.scans, "scanned_bytes": self.savings.bytes}
            values["skipped_bytes"] = self.savings.skipped_bytes
        return values

    @property
    def savings_text(self) -> str:
        """Return how much queries have skipped, such as ``1.0 GiB of 2.0 GiB``; empty without a query history."""
        found = self.savings
        return "" if found is None else part_of_bytes(found.skipped_bytes, found.bytes) if found.scans else "no scan"

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain Python values, such as for JSON."""
        time = self.time
        return {
            **asdict(self),
            "commit": None if time is None else time.isoformat(timespec="milliseconds"),
            "status": None if self.status is None else self.status.to_dict(),
            "is_fresh": self.is_fresh,
        }


def _changes(status: IndexStatus) -> dict[str, int]:
    return {
        "new": status.missing - status.changed,
        "changed": status.changed,
        "deleted": status.stale - status.changed,
    }


def _state_with_problem(index: IndexOverview) -> str:
    return f"{index.state}, problem" if index.problem and index.fault is None else index.state


@dataclass(frozen=True, slots=True, repr=False)
class Overview(ShownTable):
    """All indexes below a directory, which print as a table, show as HTML in notebooks, and convert to Arrow.

    Attributes
    ----------
    location : str
        The directory.
    created : int
        When the overview was made, in milliseconds since the epoch.
    indexes : tuple of IndexOverview
        The indexes in the order of their datasets' names.
    """

    location: str
    created: int
    indexes: tuple[IndexOverview, ...]
    #: The number of days of the query history whose savings the indexes have; None without a history.
    days: int | None = None

    def with_savings(self, savings: Savings, days: int) -> Overview:
        """Return the overview with what the queries of the last days have skipped."""
        found = {each.dataset: each for each in savings}
        indexes = (
            replace(each, savings=found.get(each.dataset, DatasetSavings(each.dataset, 0, 0, 0, 0, 0, 0.0)))
            for each in self.indexes
        )
        return replace(self, indexes=tuple(indexes), days=days)

    def __len__(self) -> int:
        return len(self.indexes)

    def __iter__(self) -> Iterator[IndexOverview]:
        return iter(self.indexes)

    def _caption(self) -> str:
        return f"Indexes below {self.location}"

    def _lead(self) -> str:
        return "" if self.indexes else "no index"

    def __str__(self) -> str:
        remarks = [f"{each.dataset}: {each.remark}" for each in self.indexes if each.remark]
        return "\n".join([ShownTable.__str__(self), *(["", *remarks] if remarks else [])])

    @property
    def outdated(self) -> tuple[IndexOverview, ...]:
        """Return the indexes that are not fresh, without datasets that are gone, which no query reads."""
        return tuple(each for each in self.indexes if not each.is_fresh and not each.is_gone)

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "dataset": [each.dataset for each in self.indexes],
            "files": [each.files for each in self.indexes],
            "state": [_state_with_problem(each) for each in self.indexes],
            "last commit (UTC)": [each.time_text for each in self.indexes],
            **self._savings_column(),
            "metadata": [human_bytes(each.metadata_bytes) for each in self.indexes],
            "indexes": [", ".join(each.indexes) for each in self.indexes],
        }

    def _savings_column(self) -> dict[str, list[Any]]:
        name = f"skipped in {days_text(self.days)}" if self.days else ""
        return {name: [each.savings_text for each in self.indexes]} if name else {}

    def to_dict(self) -> dict[str, Any]:
        """Return the overview as plain Python values, such as for JSON."""
        time = datetime.fromtimestamp(self.created / 1000, timezone.utc)
        return {
            "location": self.location,
            "created": time.isoformat(timespec="milliseconds"),
            "days": self.days,
            "indexes": [each.to_dict() for each in self.indexes],
        }

    def _repr_html_(self) -> str:
        return render_html("overview.html", **self._figures())

    def to_html(self) -> str:
        """Return the overview as a complete HTML page, without scripts and references."""
        return html_page(self._caption(), self._repr_html_(), is_broad=True)

    def _figures(self) -> dict[str, Any]:
        gone = [each for each in self.indexes if each.is_gone]
        fresh = [each for each in self.indexes if each.is_fresh]
        return {
            "indexes": [*self.outdated, *gone, *fresh],
            "fresh": len(fresh),
            "total": len(self.indexes) - len(gone),
            "files": sum(each.files for each in self.indexes),
            "metadata_bytes": sum(each.metadata_bytes for each in self.indexes),
            "days": days_text(self.days) if self.days else "",
            "skipped_bytes": sum(each.savings.skipped_bytes for each in self.indexes if each.savings),
            "time": time_text(datetime.fromtimestamp(self.created / 1000, timezone.utc)),
        }

    def to_prometheus(self) -> str:
        """Return the overview in the text format of Prometheus; requires the package prometheus-client.

        Returns
        -------
        str
            Gauges with the label ``dataset``: the files in the index, new, changed and deleted files, the size of the
            metadata, the time of the latest commit, and whether the index is fresh; with a query history also the scans
            of the last days, and the bytes that they listed and skipped.
        """
        gauges = {
            f"xskip_index_{name}": (
                sentence,
                [(each.dataset, each.numbers[name]) for each in self if name in each.numbers],
            )
            for name, sentence in _GAUGES.items()
        }
        made = ("When the metrics were made.", [(None, self.created / 1000)])
        return gauges_text({**gauges, "xskip_overview_timestamp_seconds": made})
