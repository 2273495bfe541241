"""The picture of a scan's files along a column: each file is a line from its least to its greatest value.

Rules: specs/reports.rst, [REP-P]. The picture is data of limited size; ``templates/picture.html`` draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.intervals import Interval
from xskip.results.value_texts import is_linear, linear_ticks, number_of, numbers_of, value_text
from xskip.types.sort_keys import sort_key

__all__ = ["CLASSES", "MOST_ROWS", "Drawing", "FileLine", "FilePicture", "PicturedFiles", "Tick"]

#: The classes of files, and what a legend says of each. A file has one class, whose number is the position here.
CLASSES = {
    "skipped": "skipped",
    "matched": "read, can match",
    "undecided": "read, undecided",
    "unindexed": "read, not indexed",
}
#: The maximum number of rows of a picture. Above, a row stands for several files.
MOST_ROWS = 160
_RANK_TICKS = 5
_LABEL_CHARACTERS = 16

Places = npt.NDArray[np.float64]


class Tick(NamedTuple):
    """A label of the axis: its place between 0 and 1, and its text."""

    place: float
    text: str


class FileLine(NamedTuple):
    """A line of the picture: files of one class in one row.

    Attributes
    ----------
    row : int
        The row, from the top.
    kind : str
        The class of the files.
    left, right : float
        The least and the greatest value of the files, as places on the axis between 0 and 1.
    files : int
        The number of files.
    """

    row: int
    kind: str
    left: float
    right: float
    files: int


class PicturedFiles(NamedTuple):
    """The files of a scan."""

    #: The class of each file, as a position in CLASSES.
    classes: npt.NDArray[np.uint8]
    #: The least and the greatest value of each file; null where they are not known.
    low: pa.Array
    high: pa.Array
    #: The interval of the column's values that the filter admits.
    interval: Interval = Interval()


@dataclass(frozen=True, slots=True)
class FilePicture:
    """The files of a scan along a column, sorted by their least values.

    Attributes
    ----------
    column : str
        The column.
    index : str
        The index that has the bounds of the column.
    type : str
        The Spark type of the column.
    counts : mapping of str to int
        The number of files of each class.
    unplaced : mapping of str to int
        The number of files of each class without known bounds, which no line stands for.
    lines : tuple of FileLine
        The lines, those of skipped files first.
    rows : int
        The number of rows.
    ticks : tuple of Tick
        The labels of the axis; empty if the values are hidden.
    by_rank : bool
        Whether the axis has the order of the values, but not their distances.
    has_values : bool
        Whether the picture has values of the column. Otherwise the axis has no labels.
    filtered : tuple of float, or None
        The ends of the values that the filter admits, as places on the axis between 0 and 1; None if the axis has no
        distances or no values, or if the filter admits all of it.
    """

    column: str
    index: str
    type: str
    counts: Mapping[str, int]
    unplaced: Mapping[str, int]
    lines: tuple[FileLine, ...]
    rows: int
    ticks: tuple[Tick, ...]
    by_rank: bool
    has_values: bool
    filtered: tuple[float, float] | None = None

    @property
    def files(self) -> int:
        """Return the number of files."""
        return sum(self.counts.values())

    @property
    def per_row(self) -> int:
        """Return the maximum number of files in a row."""
        placed = self.files - sum(self.unplaced.values())
        return -(-placed // self.rows) if self.rows else 0

    @staticmethod
    def of(files: PicturedFiles, column: str, index: str, kind: str, *, has_values: bool) -> FilePicture:
        """Return the picture of files; ``index`` has their bounds, and ``kind`` is the Spark type of the column.

        Without ``has_values``, the axis has no labels, and the places of files follow only the order of the values.
        """
        low, high = _filled(files.low, files.high)
        there = low.is_valid().to_numpy(zero_copy_only=False)
        placed = np.flatnonzero(there)
        lows, highs = (side.take(pa.array(placed)) for side in (low, high))
        left, right, ticks, by_rank = _axis(lows, highs, has_values=has_values)
        rows = min(len(placed), MOST_ROWS)
        return FilePicture(
            column, index, kind,
            counts=_counted(files.classes), unplaced=_counted(files.classes[~there]),
            lines=_lines(files.classes[placed], left, right, rows), rows=rows,
            ticks=ticks if has_values else (), by_rank=by_rank, has_values=has_values,
            filtered=_filtered(files.interval, lows, highs) if has_values and not by_rank else None,
        )  # fmt: skip


def _counted(classes: npt.NDArray[np.uint8]) -> dict[str, int]:
    counts = np.bincount(classes, minlength=len(CLASSES))
    return {name: int(count) for name, count in zip(CLASSES, counts, strict=True)}


def _filled(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Replace a missing bound of a file that has the other one by the least or the greatest bound of all files."""
    if low.null_count == high.null_count == 0:
        return low, high
    both = pa.concat_arrays([low, high]).drop_null()
    if not len(both):
        return low, high
    order = pc.sort_indices(sort_key(both))
    least, greatest = both[order[0].as_py()], both[order[-1].as_py()]
    # An unknown bound is open, so the line of the file reaches the end of the axis.
    open_low = pc.and_(low.is_null(), high.is_valid())
    open_high = pc.and_(high.is_null(), low.is_valid())
    return pc.if_else(open_low, least, low), pc.if_else(open_high, greatest, high)


def _axis(low: pa.Array, high: pa.Array, *, has_values: bool) -> tuple[Places, Places, tuple[Tick, ...], bool]:
    """Return the places of both bounds, the labels, and whether the axis has only the order of the values."""
    if not len(low):
        return np.zeros(0), np.zeros(0), (), False
    if has_values and is_linear(low.type):
        left, right = numbers_of(low), numbers_of(high)
        least, greatest = float(left.min()), float(right.max())
        if least == greatest:
            half = np.full(len(left), 0.5)
            return half, half, (Tick(0.5, value_text(low[0])),), False
        if np.isfinite(left).all() and np.isfinite(right).all() and np.isfinite(greatest - least):
            return _linear_axis(left, right, low.type)
    return _rank_axis(low, high)


def _linear_axis(left: Places, right: Places, kind: pa.DataType) -> tuple[Places, Places, tuple[Tick, ...], bool]:
    least, greatest = float(left.min()), float(right.max())
    width = greatest - least
    ticks = (Tick((value - least) / width, text) for value, text in linear_ticks(least, greatest, kind))
    return (left - least) / width, (right - least) / width, tuple(ticks), False


def _rank_axis(low: pa.Array, high: pa.Array) -> tuple[Places, Places, tuple[Tick, ...], bool]:
    both = pa.concat_arrays([low, high])
    # equal values have one place
    ranks = pc.rank(sort_key(both), tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64) - 1
    most = int(ranks.max())
    places = ranks / most if most else np.full(len(ranks), 0.5)
    chosen = sorted({round(most * i / (_RANK_TICKS - 1)) for i in range(_RANK_TICKS)})
    order = np.argsort(ranks, kind="stable")
    first = order[np.searchsorted(ranks[order], chosen)]
    ticks = (Tick(float(places[i]), _short(value_text(both[int(i)]))) for i in first)
    return places[: len(low)], places[len(low) :], tuple(ticks), True


def _filtered(interval: Interval, low: pa.Array, high: pa.Array) -> tuple[float, float] | None:
    """Return the places of an interval on an axis with distances, or None if it has no end within the axis."""
    if not len(low):
        return None
    least, greatest = float(numbers_of(low).min()), float(numbers_of(high).max())
    ends = [
        default if end is None else (number_of(end, low.type) - least) / (greatest - least)
        for default, end in zip((0.0, 1.0), interval, strict=True)
        if greatest > least
    ]
    left, right = (round(min(max(each, 0.0), 1.0), 5) for each in ends) if ends else (0.0, 1.0)
    return (left, right) if (left, right) != (0.0, 1.0) and left <= right else None


def _short(text: str) -> str:
    return text if len(text) <= _LABEL_CHARACTERS else text[: _LABEL_CHARACTERS - 1] + "…"


def _lines(classes: npt.NDArray[np.uint8], left: Places, right: Places, rows: int) -> tuple[FileLine, ...]:
    """Return the lines of files in rows: each row has as many files as the others, or one fewer."""
    if not rows:
        return ()
    order = np.lexsort((right, left))
    # A key is the class and then the row: files of one class in one row become one line, and skipped files come first.
    keys = classes[order].astype(np.int64) * rows + np.arange(len(order)) * rows // len(order)
    grouped = np.argsort(keys, kind="stable")
    keys, files = keys[grouped], order[grouped]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    ends = np.minimum.reduceat(left[files], starts), np.maximum.reduceat(right[files], starts)
    sizes = np.diff(starts, append=len(keys))
    names = tuple(CLASSES)
    return tuple(
        FileLine(int(key % rows), names[int(key // rows)], round(float(a), 5), round(float(b), 5), int(size))
        for key, a, b, size in zip(keys[starts], *ends, sizes, strict=True)
    )


class Drawing:
    """A picture that is made when a page shows it for the first time.

    Parameters
    ----------
    make : callable
        A function that returns the picture, or the reason why there is none.
    """

    def __init__(self, make: Callable[[], FilePicture | str]) -> None:
        self._make: Callable[[], FilePicture | str] | None = make
        self._made: FilePicture | str = ""

    def picture(self) -> FilePicture | str:
        """Return the picture, or the reason why there is none."""
        if self._make is not None:
            try:
                self._made = self._make()
            except Exception as error:  # noqa: BLE001 - a report never fails because of its picture
                self._made = f"the picture failed: {type(error).__name__}: {error}".splitlines()[0]
            self._make = None
        return self._made

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.picture(),)


def _made(picture: FilePicture | str) -> Drawing:
    return Drawing(lambda: picture)
