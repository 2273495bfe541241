"""Results of validations and repairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xskip.hints import Call, Words
from xskip.results.index_status import change_rows
from xskip.results.result_view import AdvisedValue, KeyValueView

__all__ = ["RepairResult", "ValidationResult", "WrongStatistics"]


@dataclass(frozen=True, slots=True)
class WrongStatistics:
    """Statistics of a file that the rows of the file contradict.

    Attributes
    ----------
    path : str
        The path of the file, without scheme and authority.
    index : str
        The index, and the part of the file if the statistics are those of a part; or the number that is wrong.
    claimed : str
        What the metadata state: bounds or counts, or the size of a list or filter.
    actual : str
        What the rows show, in the same form.
    is_certain : bool
        False if the statistics differ from those of the rows, but it is not proved that they leave out a row.
    """

    path: str
    index: str
    claimed: str
    actual: str
    is_certain: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class ValidationResult(KeyValueView):
    """The result of comparing metadata with the rows of the files.

    Attributes
    ----------
    files : int
        The number of files that were read.
    wrong : tuple of WrongStatistics
        The statistics that the rows contradict. Queries on these columns can lose rows of these files.
    seconds : float
        The duration of the validation.
    missing : int
        The number of files of the dataset without metadata, because they are new or were changed; queries read them.
    stale : int
        The number of entries in the metadata whose files were deleted or changed; queries do not use them. A changed
        file counts as missing and as stale.
    unchecked : tuple of str
        The indexes that were not compared, because their index types are not registered.
    changed : int
        The number of files that were changed since they were indexed.
    """

    files: int
    wrong: tuple[WrongStatistics, ...]
    seconds: float
    missing: int = 0
    stale: int = 0
    unchecked: tuple[str, ...] = ()
    changed: int = 0

    @property
    def files_with_errors(self) -> tuple[str, ...]:
        """Return the paths of the files with wrong statistics, each once, in order."""
        return tuple(sorted({each.path for each in self.wrong}))

    def _caption(self) -> str:
        return "Statistics compared with the rows of the files"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("files validated", self.files),
            ("wrong statistics", AdvisedValue(len(self.wrong), Words("{}", Call("repair"))) if self.wrong else 0),
            *change_rows(self.missing, self.stale, self.changed),
            ("seconds", self.seconds),
            *(("not checked", index) for index in self.unchecked),
            *_lines("wrong", self.wrong),
        ]


@dataclass(frozen=True, slots=True, repr=False)
class RepairResult(KeyValueView):
    """The result of a repair.

    Attributes
    ----------
    files : int
        The number of files that were read for the validation.
    repaired : tuple of str
        The paths of the files whose statistics were wrong, and were collected anew.
    removed : int
        The number of entries that the repair removed or replaced.
    left : tuple of WrongStatistics
        The statistics that are still wrong, such as bounds in the paths of files.
    failed : tuple of str
        The paths of the files that could not be read and have no metadata (``on_error="skip"``).
    seconds : float
        The duration of the repair.
    """

    files: int
    repaired: tuple[str, ...]
    removed: int
    left: tuple[WrongStatistics, ...]
    failed: tuple[str, ...]
    seconds: float

    def _caption(self) -> str:
        return "Repair of the statistics"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("files validated", self.files),
            ("files repaired", len(self.repaired)),
            ("entries removed", self.removed),
            ("seconds", self.seconds),
            *(("repaired", path) for path in self.repaired),
            *(("not readable", path) for path in self.failed),
            *_lines("still wrong", self.left),
        ]


def _lines(head: str, wrong: Sequence[WrongStatistics]) -> list[tuple[str, str]]:
    return [
        (head if w.is_certain else f"{head}, perhaps", f"{w.path}: {w.index} {w.claimed}, rows {w.actual}")
        for w in wrong
    ]
