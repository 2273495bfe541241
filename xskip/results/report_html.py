"""Reports as HTML: a headline, bars of files and bytes, and the picture of the files of each scan.

The HTML has styles of its own, and neither scripts nor references. Text takes the colour of the page, and the colours
of files that are read have a contrast of at least 3 to 1 with light and dark pages. Rules: specs/reports.rst, [REP-P].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from xskip.results.file_picture import CLASSES, FilePicture
from xskip.results.render import count_text, human_bytes, part_of_bytes, render_html
from xskip.results.result_view import TableView

__all__ = ["COLOURS", "Bar", "Headline", "ScanView", "bar_of", "bytes_of", "report_html"]

#: The colours of the classes, which people with colour blindness can distinguish. That of skipped files lets the page
#: through: it is pale on a light page and dark on a dark one, also in a notebook whose theme is not the system's.
COLOURS: Mapping[str, str] = {
    "skipped": "rgba(125, 137, 150, .4)",
    "matched": "#1f7fc4",
    "undecided": "#c9660a",
    "unindexed": "#b5609a",
}
#: What the classes in bars mean: bars do not distinguish the files that match from those without a verdict.
_IN_BARS = {"matched": "read", "unindexed": "read, not indexed", "skipped": "skipped"}
_BAR = 1000
_MIN_BAR = 5
_WIDTH = 640
_INSET = 6  # the distance of marks from the left and right ends, where labels would be cut off
_PITCH = 9.0
_MAX_HEIGHT = 240.0
_MIN_SKIPPED, _MIN_MARK = 1.5, 3.0
#: The least size of a line of files that are read, if there are few, so that it does not vanish among skipped files.
_MIN_READ = 7.0
_LABELS = 22
_CHARACTER = 6.4  # about the width of a character of a label


class Part(NamedTuple):
    """A part of a bar: the class of its files, its left end and its width."""

    kind: str
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with its text."""

    #: The amount of each part.
    text: str
    total: str
    #: The parts, from left to right.
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline of a report."""

    #: The share of files that no scan reads; empty if the report has no files.
    share: str
    #: What the share is of.
    of_what: str
    #: Further figures.
    sentence: str


@dataclass(frozen=True, slots=True)
class ScanView:
    """A scan, as the page shows it."""

    dataset: str
    format: str
    predicate: str
    bars: tuple[Bar, ...]
    picture: FilePicture | None
    tables: tuple[TableView, ...]
    remarks: tuple[str, ...]

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Return the classes in the bars, each with its text."""
        there = {part.kind for bar in self.bars for part in bar.parts}
        return [(kind, text) for kind, text in _IN_BARS.items() if kind in there]


def bytes_of(part: int, whole: int) -> str:
    """Return a number of bytes with the number that it is a part of.

    >>> bytes_of(2048, 8192), bytes_of(1, 8192), bytes_of(0, 8192)
    ('2.0 of 8.0 KiB', '1 B of 8.0 KiB', '0 of 8.0 KiB')
    """
    some, every = human_bytes(part), human_bytes(whole)
    if some == every and part != whole:
        return part_of_bytes(part, whole)
    number, unit = some.split(" ")
    return f"{number if part == 0 or every.endswith(f' {unit}') else some} of {every}"


def bar_of(text: str, total: str, amounts: Sequence[tuple[str, int]]) -> Bar:
    """Return a bar from the class and the amount of each part; parts without an amount are left out.

    >>> bar_of("1 read, 3 skipped", "4 files", [("matched", 1), ("unindexed", 0), ("skipped", 3)]).parts
    (Part(kind='matched', left=0.0, width=250.0), Part(kind='skipped', left=250.0, width=750.0))
    """
    total_amount = sum(amount for _, amount in amounts)
    there = [(kind, amount) for kind, amount in amounts if amount > 0]
    # The width of a part follows its amount, but is never too small to see.
    widths = [max(_MIN_BAR, _BAR * amount / total_amount) for _, amount in there]
    scale = _BAR / sum(widths) if widths else 1.0
    parts, left = [], 0.0
    for (kind, _), width in zip(there, widths, strict=True):
        parts.append(Part(kind, round(left, 2), round(width * scale, 2)))
        left += width * scale
    return Bar(text, total, tuple(parts))


def report_html(headline: Headline, scans: Sequence[ScanView], *, has_style: bool = True) -> str:
    """Return a report as an HTML element ``div`` with its style, or as its content without the style."""
    return render_html(
        "report.html" if has_style else "report_body.html",
        share=headline.share,
        of_what=headline.of_what,
        sentence=headline.sentence,
        colours=COLOURS,
        scans=[_Drawn(each, None if each.picture is None else _Layout.of(each.picture)) for each in scans],
    )


class _Drawn:
    """A scan whose picture has a layout; all other attributes are those of the scan."""

    def __init__(self, scan: ScanView, layout: _Layout | None) -> None:
        self._scan = scan
        self.picture = layout

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scan, name)


class _Label(NamedTuple):
    x: float
    text: str
    anchor: str


class _Mark(NamedTuple):
    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class _Layout:
    """A picture in pixels."""

    caption: str
    description: str
    legend: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    width: int
    height: float
    axis: float
    ticks: tuple[_Label, ...]
    lines: tuple[_Mark, ...]
    #: The left end and the width of the values that the filter admits; None if nothing is shaded.
    shade: tuple[float, float] | None

    @staticmethod
    def of(picture: FilePicture) -> _Layout:
        pitch = min(_PITCH, _MAX_HEIGHT / max(picture.rows, 1))
        unplaced = _unplaced_marks(picture, pitch * picture.rows)
        axis = round(pitch * picture.rows + _PITCH * len(unplaced) + 4, 1)
        unit = " in UTC" if picture.type == "timestamp" and picture.has_values else ""
        caption = f"Files along {picture.column}{unit}: a line from the least to the greatest value of each file"
        caption += "; the filter admits the shaded values" if picture.filtered else ""
        legend = tuple((kind, f"{count:,} {CLASSES[kind]}") for kind, count in picture.counts.items() if count)
        outcome = ", ".join(text for _, text in legend)
        description = f"The bounds of {count_text(picture.files, 'files')} by {picture.index}. Of the files: {outcome}."
        return _Layout(
            caption, description, legend, tuple(_notes(picture)), _WIDTH,
            height=axis + (_LABELS if picture.ticks else 4), axis=axis,
            ticks=tuple(_labels(picture)), lines=(*_marks(picture, pitch), *unplaced), shade=_shade(picture),
        )  # fmt: skip


def _shade(picture: FilePicture) -> tuple[float, float] | None:
    if picture.filtered is None:
        return None
    left, right = map(_x, picture.filtered)
    return (min(left, _WIDTH - _MIN_MARK), max(_MIN_MARK, round(right - left, 1)))


def _x(place: float) -> float:
    return round(_INSET + place * (_WIDTH - 2 * _INSET), 1)


def _labels(picture: FilePicture) -> Sequence[_Label]:
    """Return the labels that fit beside each other; the first and the last one stay inside of the picture."""
    found: list[_Label] = []
    free = 0.0
    for tick in picture.ticks:
        x, half = _x(tick.place), len(tick.text) * _CHARACTER / 2
        anchor = "start" if x - half < 0 else "end" if x + half > _WIDTH else "middle"
        left = {"start": x, "middle": x - half, "end": x - 2 * half}[anchor]
        if left >= free:
            found.append(_Label(x, tick.text, anchor))
            free = left + 2 * half + _CHARACTER
    return found


def _marks(picture: FilePicture, pitch: float) -> Sequence[_Mark]:
    height = pitch - 2 if pitch > 5 else max(pitch, _MIN_SKIPPED)
    read = sum(line.kind != "skipped" for line in picture.lines)
    # All read files together cover at most half of the height, so that skipped files between them stay visible.
    least = max(_MIN_MARK, min(_MIN_READ, pitch * picture.rows / (2 * read))) if read else _MIN_MARK
    marks = []
    for line in picture.lines:
        tall = height if line.kind == "skipped" else max(height, least)
        width = max(_MIN_MARK if line.kind == "skipped" else least, _x(line.right) - _x(line.left))
        left = (_x(line.left) + _x(line.right) - width) / 2
        top = line.row * pitch + (height - tall) / 2
        marks.append(
            _Mark(
                line.kind, round(min(max(left, 0.0), _WIDTH - width), 1),
                round(min(max(top, 0.0), pitch * picture.rows - tall), 2), round(width, 1), round(tall, 2),
            )
        )  # fmt: skip
    return marks


def _unplaced_marks(picture: FilePicture, top: float) -> Sequence[_Mark]:
    """Return a mark along the whole axis, below the others, for each class of read files without known bounds."""
    kinds = [kind for kind, count in picture.unplaced.items() if count and kind != "skipped"]
    width = _WIDTH - 2 * _INSET
    return [
        _Mark(kind, _INSET, round(top + _PITCH * i + _PITCH - _MIN_READ, 2), width, _MIN_READ)
        for i, kind in enumerate(kinds)
    ]


def _notes(picture: FilePicture) -> Sequence[str]:
    notes = []
    unplaced = {kind: f"{count:,} {CLASSES[kind]}" for kind, count in picture.unplaced.items() if count}
    skipped = unplaced.pop("skipped", "")
    if unplaced:
        read = ", ".join(unplaced.values())
        notes.append(f"A line along the whole axis stands for all read files of a kind without known bounds: {read}.")
    if skipped:
        notes.append(f"Skipped files without known bounds have no line: {skipped}.")
    if picture.per_row > 1:
        notes.append(f"A line stands for up to {picture.per_row:,} neighbouring files of one kind.")
    if not picture.has_values:
        notes.append("Values are hidden: the lines show only their order. spark.xskip.report.values shows them.")
    elif picture.by_rank:
        notes.append("The axis shows the order of the values, not their distances.")
    return notes
