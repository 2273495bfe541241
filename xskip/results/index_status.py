"""Descriptions of an index, and its state in comparison with the present files of its dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xskip.hints import Call, Method, Phrase, Words
from xskip.metadata.table import EXPRESSION, SETTINGS
from xskip.results.render import SizeText, StateText, count_text, duration_text, human_bytes
from xskip.results.result_view import AdvisedValue, KeyValueView, ResultView, TableView

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["IndexDescription", "IndexInfo", "IndexStatus", "change_rows"]

#: The unreadable files that the text of a status shows.
_MAX_UNREADABLE = 10
#: What the statuses of versions mean to readers.
_VERSIONS = {
    "CURRENT": "current",
    "DEPRECATED_SUPPORTED": Words("old; {} converts it", Method("migrate")),
    "DEPRECATED_UNSUPPORTED": Words(
        "too old; {}", Phrase("drop() the index and create() it again", "run xskip drop and then xskip create")
    ),
    "TOO_NEW": "of a newer release",
}


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The definition of an index: its index type, its columns with their Spark types, and its parameters.

    Attributes
    ----------
    name : str
        The name of the index type.
    columns : tuple of str
    types : tuple of str
        The Spark types of the columns.
    params : tuple of (str, str)
    bytes : int or None
        The compressed size of the statistics in the metadata files; None if it is not known, for example without the
        key of an encrypted index.
    seconds : float or None
        The time that all builds have spent on the index since it was added; None if it is not known. Spark's tasks
        measure how long they compute the statistics, without the time to read the data. Statistics from footers and
        those that Spark aggregates include the time to read, in equal parts for all indexes of one pass.
    scans : int
        The number of scans in this process that had a condition which the index answered.
    ruled_out : int
        The sum over these scans of the files that the index ruled out by that of its conditions which ruled out most:
        at least so many files. Several indexes can rule out the same file.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    params: tuple[tuple[str, str], ...]
    bytes: int | None = None
    seconds: float | None = None
    scans: int = 0
    ruled_out: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class IndexDescription(KeyValueView):
    """The description of a dataset's index.

    Attributes
    ----------
    dataset : str
        The dataset's root.
    location : str
        The directory of the metadata.
    format : str
        The file format of the dataset.
    version : int
        The version of the metadata format.
    commit : int
        The number of the latest commit; 0 without a commit record.
    files : int
        The number of data files in the index.
    metadata_bytes : int
        The total size of the metadata files in bytes.
    partitions : tuple of str
        The partition columns, each with its Spark type.
    indexes : tuple of IndexInfo
    scans : int
        The number of scans in this process that asked for files to skip, since the dataset has had these indexes.
    parts : int or None
        The number of parts of large data files that have statistics of their own; None if the metadata are encrypted.
    """

    dataset: str
    location: str
    format: str
    version: int
    commit: int
    files: int
    metadata_bytes: int
    partitions: tuple[str, ...]
    indexes: tuple[IndexInfo, ...]
    scans: int = 0
    parts: int | None = 0

    def _general(self) -> list[tuple[str, Any]]:
        """Return what concerns all indexes."""
        return [
            ("dataset", self.dataset),
            ("location", self.location),
            ("format", self.format),
            ("version", self.version),
            ("commit", self.commit),
            ("files", self.files),
            *([("parts of files", self.parts)] if self.parts else []),
            ("metadata", human_bytes(self.metadata_bytes)),
            ("partitions", ", ".join(self.partitions) or "none"),
        ]

    def _rows(self) -> list[tuple[str, str, str, SizeText | None, str, str]]:
        """Return for each index its type, its columns, its parameters, its size, its cost and its use."""
        rows = []
        for index in self.indexes:
            typed = ", ".join(f"{c} {t}" for c, t in zip(index.columns, index.types, strict=True))
            params = ", ".join(
                f"{k.rpartition('.')[2]}={v}" for k, v in index.params if k not in (EXPRESSION, SETTINGS)
            )
            size = None if index.bytes is None else human_bytes(index.bytes)
            cost = "" if index.seconds is None else f"built in {duration_text(index.seconds)}"
            rows.append((index.name, typed, params, size, cost, self._use_of(index)))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain Python values, such as for JSON."""
        indexes = [{**asdict(index), "params": dict(index.params)} for index in self.indexes]
        return {**asdict(self), "indexes": indexes}

    def _caption(self) -> str:
        return "Description of the index"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [*self._general(), *((name, "  ".join(filter(None, rest))) for name, *rest in self._rows())]

    def _view(self) -> ResultView:
        names = ("index", "columns", "parameters", "size", "cost", "use")
        columns = zip(names, *self._rows(), strict=True)
        known = [column for column in columns if any(column[1:])]
        headers, *rows = zip(*known, strict=True) if known else [names]
        return ResultView.of_pairs(self._caption(), self._general(), [TableView(headers, rows)])

    def _use_of(self, index: IndexInfo) -> str:
        if not self.scans:
            return ""
        if not index.scans:
            return f"not used in {count_text(self.scans, 'scans')}"
        ruled_out = f"at least {count_text(index.ruled_out, 'files')}" if index.ruled_out else "no file"
        return f"ruled out {ruled_out} in {index.scans:,} of {count_text(self.scans, 'scans')}"

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: a row per index, its definition as text, its size, its cost and its use."""
        return pa.table(
            {
                "index": [i.name for i in self.indexes],
                "columns": [", ".join(i.columns) for i in self.indexes],
                "types": [", ".join(i.types) for i in self.indexes],
                "params": [", ".join(f"{k}={v}" for k, v in i.params) for i in self.indexes],
                "bytes": pa.array([i.bytes for i in self.indexes], pa.int64()),
                "seconds": pa.array([i.seconds for i in self.indexes], pa.float64()),
                "scans": pa.array([i.scans for i in self.indexes], pa.int64()),
                "ruled_out": pa.array([i.ruled_out for i in self.indexes], pa.int64()),
            }
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of :meth:`to_arrow` as a pandas DataFrame; requires pandas."""
        return self.to_arrow().to_pandas()


@dataclass(frozen=True, slots=True, repr=False)
class IndexStatus(KeyValueView):
    """The state of an index in comparison with the present files of its dataset.

    Attributes
    ----------
    version : str
        CURRENT, DEPRECATED_SUPPORTED, DEPRECATED_UNSUPPORTED or TOO_NEW.
    indexed : int
        The number of data files whose metadata is in use.
    missing : int
        The number of data files without metadata, because they are new or were changed; queries read them.
    stale : int
        The number of entries in the metadata whose data files were deleted or changed. A changed file counts as missing
        and as stale.
    problem : str
        The reason why queries do not use the index; empty if they use it.
    metadata_files : tuple of (str, int)
        The metadata files, each with its version.
    unknown_paths : int
        The number of indexed data files whose paths say nothing to an index of paths (``PathBounds``); queries read
        them if no other index rules them out.
    unknown_path_examples : tuple of str
        Some of these paths, at most 10.
    unreadable : tuple of (str, str)
        The files among the missing ones that the latest build could not read (``on_error="skip"``) and that have not
        changed since, each with the error; at most 100, and none if the metadata are encrypted. A refresh does not help
        them.
    changed : int
        The number of data files that were changed since they were indexed.
    """

    version: str
    indexed: int
    missing: int
    stale: int
    problem: str = ""
    metadata_files: tuple[tuple[str, int], ...] = ()
    unknown_paths: int = 0
    unknown_path_examples: tuple[str, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    changed: int = 0

    @property
    def up_to_date(self) -> bool:
        """Return whether no file is missing or stale and queries can use the index."""
        return not (self.missing or self.stale or self.problem)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain Python values, such as for JSON."""
        files = [{"name": name, "version": version} for name, version in self.metadata_files]
        return {**asdict(self), "metadata_files": files, "up_to_date": self.up_to_date}

    def _caption(self) -> str:
        return "State of the index"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        versions = ", ".join(map(str, sorted({v for _, v in self.metadata_files})))
        return [
            *([("version", Words("{} ({})", versions, _VERSIONS[self.version]))] if versions else []),
            ("files indexed", self.indexed),
            *change_rows(self.missing, self.stale, self.changed, len(self.unreadable)),
            ("up to date", self._state()),
            *([("paths without bounds", self.unknown_paths)] if self.unknown_paths else []),
            *(("for example", path) for path in self.unknown_path_examples),
            *(("error", f"{path}: {reason}") for path, reason in self.unreadable[:_MAX_UNREADABLE]),
            *([("problem", self.problem)] if self.problem else []),
        ]

    def _state(self) -> StateText | AdvisedValue:
        if not self.remedy:
            return StateText("yes", "good")
        return AdvisedValue(StateText("no", "bad" if self.problem else "warning"), self.remedy)

    @property
    def remedy(self) -> str:
        """Return what brings the index up to date, or an empty text if it is up to date."""
        count = len(self.unreadable)
        if self.up_to_date:
            return ""
        if count and count == self.missing and not (self.stale or self.problem):
            return f"repair or remove the {'file' if count == 1 else f'{count:,} files'} that Spark cannot read"
        return Words("{}", Call("refresh")) if self.missing or self.stale else "see the problem"


def change_rows(missing: int, stale: int, changed: int, unreadable: int = 0) -> list[tuple[str, int]]:
    """Return the rows of a text about the files that differ from their metadata, in which each file counts once.

    Parameters
    ----------
    missing : int
        The number of files without metadata.
    stale : int
        The number of entries whose files are not there any more as they were.
    changed : int
        The number of files that both numbers count.
    unreadable : int
        The number of files among the missing ones that the latest build could not read.

    >>> change_rows(3, 2, 1, 1)
    [('new', 1), ('changed', 1), ('deleted', 1), ('not readable', 1)]
    """
    rows = [("new", missing - changed - unreadable), ("changed", changed), ("deleted", stale - changed)]
    return [*rows, ("not readable", unreadable)] if unreadable else rows
