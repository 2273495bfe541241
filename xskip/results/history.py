"""The history of an index, and the results of vacuum and adoption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

from xskip.hints import Call, Words
from xskip.results.render import human_bytes
from xskip.results.result_view import AdvisedValue, KeyValueView, ShownTable

__all__ = ["AdoptionResult", "Commit", "History", "VacuumResult"]


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of an index.

    Attributes
    ----------
    number : int
        The number of the commit, counted from 1.
    created : int
        The time of the commit in milliseconds since the epoch.
    operation : str
        What the commit did, such as ``refresh``; empty if the record does not tell.
    files : int
        The number of data files in the index after the commit.
    added, removed : int or None
        The number of data files whose entries were added or removed; None if the record does not tell.
    metadata_files : int
        The number of metadata files after the commit.
    bytes : int
        The total size of the metadata files in bytes.
    version : int
        The version of the metadata format.
    user : str
        The user who ran the commit; empty if the record does not tell. So are the following.
    application : str
        The name and the identity of the application of Spark.
    xskip, spark : str
        The versions of xskip and of Spark.
    """

    number: int
    created: int
    operation: str
    files: int
    added: int | None
    removed: int | None
    metadata_files: int
    bytes: int
    version: int
    user: str = ""
    application: str = ""
    xskip: str = ""
    spark: str = ""

    @property
    def time(self) -> datetime:
        """Return the time of the commit in UTC."""
        return datetime.fromtimestamp(self.created / 1000, timezone.utc)

    def to_dict(self) -> dict[str, Any]:
        """Return the commit as plain Python values, such as for JSON, with the time as a text in ISO 8601."""
        return {**asdict(self), "created": self.time.isoformat(timespec="milliseconds")}


@dataclass(frozen=True, slots=True, repr=False)
class History(ShownTable):
    """The commits of an index that are known: the first one, and those of the last 30 days.

    Attributes
    ----------
    location : str
        The directory of the metadata.
    commits : tuple of Commit
        The commits, in order.
    """

    location: str
    commits: tuple[Commit, ...]

    def __len__(self) -> int:
        return len(self.commits)

    def __iter__(self) -> Iterator[Commit]:
        return iter(self.commits)

    def to_dict(self) -> dict[str, Any]:
        """Return the commits as plain Python values, such as for JSON."""
        return {"location": self.location, "commits": [commit.to_dict() for commit in self.commits]}

    def _caption(self) -> str:
        return f"Commits of the index in {self.location}"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "commit": [each.number for each in self.commits],
            "time (UTC)": [each.time.strftime("%Y-%m-%d %H:%M:%S") for each in self.commits],
            "operation": [each.operation or "unknown" for each in self.commits],
            "files": [each.files for each in self.commits],
            "added": [each.added for each in self.commits],
            "removed": [each.removed for each in self.commits],
            "metadata files": [each.metadata_files for each in self.commits],
            "metadata": [human_bytes(each.bytes) for each in self.commits],
            "version": [each.version for each in self.commits],
            "user": [each.user for each in self.commits],
            "application": [each.application for each in self.commits],
        }


@dataclass(frozen=True, slots=True, repr=False)
class VacuumResult(KeyValueView):
    """The result of removing what is left of crashed writers and moved datasets.

    Attributes
    ----------
    location : str
        The directory of the metadata.
    files : tuple of str
        The removed files.
    directories : tuple of str
        The removed directories with indexes of former places of the dataset.
    bytes : int
        The total size of the removed files, without those in the directories.
    kept : tuple of str
        The directories of other indexes in the dataset's folder, which stayed.
    dry_run : bool
        Whether the operation only reported what it would remove.
    """

    location: str
    files: tuple[str, ...]
    directories: tuple[str, ...]
    bytes: int
    kept: tuple[str, ...]
    dry_run: bool

    def _caption(self) -> str:
        return "Files that the index does not need"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        verb = "would remove" if self.dry_run else "removed"
        return [
            ("location", self.location),
            (f"files {verb}", len(self.files)),
            ("bytes", human_bytes(self.bytes)),
            *((verb, path) for path in (*self.files, *self.directories)),
            *(("kept", path) for path in self.kept),
        ]


@dataclass(frozen=True, slots=True, repr=False)
class AdoptionResult(KeyValueView):
    """The result of adopting the index of a dataset that was moved or copied.

    Attributes
    ----------
    location : str
        The directory of the new metadata.
    former : str
        The root of the dataset at the time of the build.
    adopted : int
        The number of files whose statistics the new index has.
    changed : int
        The number of entries without such a file at the new place; their files have another size or time, or are gone.
    missing : int
        The number of files of the dataset without statistics.
    """

    location: str
    former: str
    adopted: int
    changed: int
    missing: int

    def _caption(self) -> str:
        return "Adoption of the index"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("location", self.location),
            ("former root", self.former),
            ("files adopted", self.adopted),
            ("changed or gone", self.changed),
            ("missing", AdvisedValue(self.missing, Words("{}", Call("refresh"))) if self.missing else 0),
        ]
