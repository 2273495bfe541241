"""The picture of a scan's files: each file has one class, and the places of lines follow the bounds."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.results.browser import blended, contrast
from xskip.clauses.clause import LeafClause, Mask, Verdicts
from xskip.expressions import Column, Comparison, IsNotNull, Leaf, Op
from xskip.expressions.intervals import Interval
from xskip.metadata.table import MetadataTable, Requirement
from xskip.pruning.prune import ClauseCount, PruneResult
from xskip.results.clause_outcomes import outcomes_of
from xskip.results.file_picture import CLASSES, MOST_ROWS, Drawing, FilePicture, PicturedFiles
from xskip.results.report_html import COLOURS
from xskip.results.skipping_report import ScanReport, SkippingReport

SKIPPED, MATCHED, UNDECIDED, UNINDEXED = range(len(CLASSES))
NO_VALUES = "values are hidden"
files_strategy = st.lists(
    st.tuples(
        st.sampled_from([SKIPPED, MATCHED, UNDECIDED, UNINDEXED]),
        st.one_of(st.none(), st.integers(-(10**6), 10**6)),
        st.one_of(st.none(), st.integers(0, 10**4)),
    ),
    max_size=3 * MOST_ROWS,
)


def pictured(
    files: list[tuple[int, Any, Any]], kind: pa.DataType | None = None, *, has_values: bool = True
) -> FilePicture:
    """Return the picture of files, each with its class, its least value and its greatest value."""
    kind = kind or pa.int64()
    of = PicturedFiles(
        np.array([each for each, _, _ in files], np.uint8),
        pa.array([low for _, low, _ in files], kind),
        pa.array([high for _, _, high in files], kind),
    )
    return FilePicture.of(of, "c", "minmax(c)", "any", has_values=has_values)


def report(picture: FilePicture, files: int = 3) -> SkippingReport:
    kept = files - 1
    scan = ScanReport(
        "/d", "parquet", "c > ?", files, kept, 0, bytes=10 * files, kept_bytes=10 * kept, milliseconds=1.0,
        drawing=Drawing(lambda: picture),
    )  # fmt: skip
    return SkippingReport((scan,))


@given(files=files_strategy, has_values=st.booleans())
def test_each_file_has_one_class_and_one_place(files: list[tuple[int, Any, Any]], has_values: bool) -> None:
    """[REP-P-2] [REP-P-4]"""
    spread = [(each, low, None if high is None else (low or 0) + high) for each, low, high in files]
    picture = pictured(spread, has_values=has_values)
    expected = [sum(each == number for each, _, _ in spread) for number in range(len(CLASSES))]
    assert [picture.counts[name] for name in CLASSES] == expected
    assert picture.files == len(files)
    in_lines = dict.fromkeys(CLASSES, 0)
    for line in picture.lines:
        in_lines[line.kind] += line.files
        assert 0 <= line.left <= line.right <= 1
        assert 0 <= line.row < picture.rows
    nowhere = [each for each, low, high in spread if low is None and high is None]
    assert sum(picture.unplaced.values()) == len(nowhere)
    assert in_lines == {name: picture.counts[name] - picture.unplaced[name] for name in CLASSES}
    assert picture.rows == min(MOST_ROWS, len(files) - len(nowhere))
    assert len({(line.row, line.kind) for line in picture.lines}) == len(picture.lines)


@given(files=files_strategy.filter(lambda files: len(files) <= MOST_ROWS))
def test_few_files_have_a_line_each_at_their_values(files: list[tuple[int, Any, Any]]) -> None:
    """[REP-P-3]"""
    placed = sorted((low, low + high, each) for each, low, high in files if low is not None and high is not None)
    picture = pictured([(each, low, high) for low, high, each in placed])
    if not placed or min(placed)[0] == max(high for _, high, _ in placed):
        return
    least, greatest = placed[0][0], max(high for _, high, _ in placed)
    lines = sorted(picture.lines, key=lambda line: line.row)
    assert [line.files for line in lines] == [1] * len(placed)
    for line, (low, high, _) in zip(lines, placed, strict=True):
        assert line.left == pytest.approx((low - least) / (greatest - least), abs=1e-5)
        assert line.right == pytest.approx((high - least) / (greatest - least), abs=1e-5)


def test_a_million_files_have_a_picture_of_limited_size() -> None:
    """[REP-P-4]"""
    count = 1_000_000
    low = np.arange(count) * 10
    classes = np.where(low == 5_000_000, MATCHED, SKIPPED).astype(np.uint8)
    of = PicturedFiles(classes, pa.array(low), pa.array(low + 15))
    picture = FilePicture.of(of, "c", "minmax(c)", "bigint", has_values=True)
    assert (picture.rows, picture.per_row) == (MOST_ROWS, 6250)
    (match,) = [line for line in picture.lines if line.kind == "matched"]
    assert match.files == 1
    assert match.left == pytest.approx(0.5, abs=1e-4)
    html = report(picture, count)._repr_html_()
    assert len(html) < 60_000
    assert "A line stands for up to 6,250 neighbouring files of one kind." in html


@pytest.mark.parametrize(
    ("kind", "values", "ticks"),
    [
        (pa.int64(), (0, 100), ["0", "20", "40", "60", "80", "100"]),
        (pa.int8(), (1, 3), ["1", "2", "3"]),
        (pa.float64(), (0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (pa.decimal128(10, 2), (Decimal("-1.00"), Decimal("1.00")), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        (pa.date32(), (19723, 19723 + 365), ["2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01"]),
        (
            pa.timestamp("us", "UTC"),
            (datetime(2024, 1, 1, tzinfo=timezone.utc), datetime(2024, 1, 1, 10, tzinfo=timezone.utc)),
            ["2024-01-01 00:00", "2024-01-01 02:00", "2024-01-01 04:00", "2024-01-01 06:00", "2024-01-01 08:00",
             "2024-01-01 10:00"],
        ),
        (pa.string(), ("oslo", "rome"), ["oslo", "rome"]),
        (pa.binary(), (b"\x00", b"\xff"), ["00", "ff"]),
        (pa.bool_(), (False, True), ["False", "True"]),
    ],
)  # fmt: skip
def test_the_axis_has_labels_in_the_type_of_the_column(kind: pa.DataType, values: Any, ticks: list[str]) -> None:
    """[REP-P-3]"""
    picture = pictured([(MATCHED, values[0], values[1])], kind)
    assert [tick.text for tick in picture.ticks] == ticks
    assert all(0 <= tick.place <= 1 for tick in picture.ticks)
    assert picture.by_rank is (kind in (pa.string(), pa.binary(), pa.bool_()))


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), -float("inf")])
def test_values_without_distances_are_placed_by_their_order(odd: float) -> None:
    """[REP-P-3]"""
    ends = sorted([1.0, odd], key=lambda value: (math.isnan(value), value))
    picture = pictured([(MATCHED, ends[0], ends[1]), (SKIPPED, 1.0, 1.0)], pa.float64())
    assert picture.by_rank
    assert {(line.left, line.right) for line in picture.lines} <= {(0.0, 1.0), (0.0, 0.0), (1.0, 1.0)}


@pytest.mark.parametrize("moment", [-(2**63), 2**63 - 1, 253_402_300_800_000_000])
def test_times_beyond_the_calendar_of_python_have_a_picture(moment: int) -> None:
    kind = pa.timestamp("us", "UTC")
    low, high = sorted([moment, 0])
    of = PicturedFiles(
        np.zeros(1, np.uint8), pa.array([low], pa.int64()).cast(kind), pa.array([high], pa.int64()).cast(kind)
    )
    assert FilePicture.of(of, "t", "minmax(t)", "timestamp", has_values=True).rows == 1


def test_a_missing_bound_reaches_to_the_end_of_the_axis() -> None:
    """[REP-P-3]"""
    picture = pictured([(MATCHED, 0, 10), (SKIPPED, None, 4), (UNDECIDED, 6, None)])
    assert {(line.kind, line.left, line.right) for line in picture.lines} == {
        ("matched", 0.0, 1.0), ("skipped", 0.0, 0.4), ("undecided", 0.6, 1.0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "filtered"),
    [
        (15, None, (0.375, 1.0)),
        (None, 10, (0.0, 0.25)),
        (20, 20, (0.5, 0.5)),
        (-5, 30, (0.0, 0.75)),
        (50, 60, (1.0, 1.0)),
        (-5, 100, None),
        (None, None, None),
        (float("nan"), None, None),
    ],
)
def test_the_values_that_the_filter_admits_are_shaded(low: Any, high: Any, filtered: Any) -> None:
    """[REP-P-3] [REP-P-5]"""
    bounds = pa.array([0, 10, 20]), pa.array([10, 20, 40])
    files = PicturedFiles(np.array([0, 1, 1], np.uint8), *bounds, Interval(low, high))
    assert FilePicture.of(files, "a", "minmax(a)", "int", has_values=True).filtered == filtered
    assert FilePicture.of(files, "a", "minmax(a)", "int", has_values=False).filtered is None
    texts = PicturedFiles(files.classes, pa.array(["a", "b", "c"]), pa.array(["b", "c", "d"]), Interval(b"b", None))
    assert FilePicture.of(texts, "a", "minmax(a)", "string", has_values=True).filtered is None


def test_hidden_values_leave_only_their_order() -> None:
    """[REP-P-5]"""
    files = [(MATCHED, 1111, 2222), (SKIPPED, 3333, 999_444), (SKIPPED, 5, 7)]
    other = [(each, low // 3, high // 3) for each, low, high in files]
    picture = pictured(files, has_values=False)
    assert (picture.ticks, picture.has_values) == ((), False)
    assert picture.lines == pictured(other, has_values=False).lines
    html = report(picture)._repr_html_()
    assert not re.search(r"1,?111|2,?222|3,?333|999", html)
    assert NO_VALUES in html.lower()


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


def test_the_html_has_pictures_with_texts_and_needs_nothing_else() -> None:
    """[REP-P-1] [REP-P-6]"""
    picture = pictured([(SKIPPED, 0, 10), (MATCHED, 5, 20), (UNDECIDED, 15, 20)])
    html = report(picture)._repr_html_()
    assert not re.search(r"<script|https?:|url\(|@import|src=|href=", html)
    root = parsed(html)
    (picture_svg,) = [each for each in root.iter("svg") if each.find("desc") is not None]
    images = [each for each in root.iter("svg") if each.get("role") == "img"]
    assert len(images) == 3  # bars of files and bytes, and the picture
    assert all(each.get("aria-label") and each.findtext("title") for each in images)
    assert picture_svg.findtext("desc") == (
        "The bounds of 3 files by minmax(c). Of the files: 1 skipped, 1 read, can match, 1 read, undecided."
    )
    marks = [each.get("class", "") for each in picture_svg.iter("rect")]
    assert sorted(marks) == ["xs-matched", "xs-skipped", "xs-undecided"]
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", style)
    assert len(selectors) > 10
    assert all(each.strip().startswith(".xskip-result") for rule in selectors for each in rule.split(","))


def test_bars_without_a_picture_have_a_legend() -> None:
    """[REP-P-1] Without an index, the files and the bytes that a scan reads have the same colour."""
    scan = ScanReport("/d", "parquet", "", 3, 3, 3, bytes=30, kept_bytes=30, milliseconds=0.0, problem="no index")
    html = SkippingReport((scan,))._repr_html_()
    assert [rect.get("class") for rect in parsed(html).iter("rect")] == ["xs-unindexed"] * 3
    assert "read, not indexed</li>" in html


@dataclass(frozen=True, slots=True)
class SharedClause(LeafClause):
    """A clause over one index that answers several leaves."""

    needs: tuple[Requirement, ...]
    others: tuple[Leaf, ...] = ()

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return (self.leaf, *self.others)

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        raise NotImplementedError


def count_of(index: str, leaves: Leaf | tuple[Leaf, ...], ruled_out: int, unknown: int) -> ClauseCount:
    first, *others = leaves if isinstance(leaves, tuple) else (leaves,)
    column = first.operand
    assert isinstance(column, Column)
    return ClauseCount(SharedClause(first, ((index, column.path),), tuple(others)), ruled_out, unknown)


def test_the_table_of_clauses_leaves_out_what_tells_nothing() -> None:
    """[REP-P-8]"""
    c, s = Column(("c",), "int"), Column(("s",), "string")
    above, below, equal = Comparison(Op.GT, c, 1), Comparison(Op.LT, c, 9), Comparison(Op.EQ, s, b"x")
    counts = [
        count_of("minmax", IsNotNull(c), 0, 0), count_of("valuelist", IsNotNull(s), 0, 2),
        count_of("minmax", above, 0, 0), count_of("valuelist", equal, 3, 2),
        count_of("valuelist", (IsNotNull(s), equal), 3, 2), count_of("minmax", (above, below), 2, 0),
        count_of("minmax", below, 1, 0),
    ]  # fmt: skip
    outcomes = outcomes_of(PruneResult(np.zeros(0, bool), tuple(counts), ()))
    scan = ScanReport("/d", "parquet", "c > ?", 9, 2, 0, bytes=9, kept_bytes=2, milliseconds=1.0, outcomes=outcomes)
    (_, table) = str(SkippingReport((scan,))).split("unknown\n")
    assert [line.strip().split("  ")[0] for line in table.splitlines()[1:]] == [
        "s IS NOT NULL", "c > ?", "s = ?", "c > ? AND c < ?", "c < ?",
    ]  # fmt: skip
    only = replace(scan, outcomes=outcomes[:1])
    assert "c IS NOT NULL" in str(SkippingReport((only,)))


def test_the_headline_and_the_bars_have_the_numbers_of_the_report() -> None:
    """[REP-P-1]"""
    scan = ScanReport("/d", "parquet", "c > ?", 300, 2, 1, bytes=9_227_469, kept_bytes=104_858, milliseconds=2.0)
    html = SkippingReport((scan,), "query 3", 0.17)._repr_html_()
    assert '<p class="xs-share">99.3 % <small>of 300 files skipped</small></p>' in html
    assert "<p>8.7 of 8.8 MiB skipped in 2.0 ms by the filter alone; query 3 took 0.17 s</p>" in html
    assert "2 read (1 not indexed), 298 skipped" in html
    bars = [each for each in parsed(html).iter("svg") if each.get("class") == "xs-bar"]
    kinds = [[rect.get("class") for rect in bar.iter("rect")] for bar in bars]
    assert kinds == [["xs-matched", "xs-unindexed", "xs-skipped"], ["xs-matched", "xs-skipped"]]
    widths = [[float(rect.get("width", "")) for rect in bar.iter("rect")] for bar in bars]
    assert [sum(each) for each in widths] == [pytest.approx(1000, abs=0.1)] * 2
    assert widths[1][0] == pytest.approx(1000 * 104_858 / 9_227_469, abs=0.1)


@pytest.mark.parametrize("page", ["#ffffff", "#111111", "#1e1e1e", "#16191d"])  # pages, JupyterLab and VS Code in dark
def test_what_is_read_stands_out_from_light_and_dark_pages(page: str) -> None:
    """[REP-P-6]"""
    skipped = blended(COLOURS["skipped"], page)
    assert 1.4 <= contrast(np.array([skipped, blended(page, page)])) <= 2
    for kind in ("matched", "undecided", "unindexed"):
        read = blended(COLOURS[kind], page)
        assert contrast(np.array([read, blended(page, page)])) >= 3, kind
        assert contrast(np.array([read, skipped])) >= 2, kind


def test_the_style_has_the_colours_of_the_marks() -> None:
    html = report(pictured([(MATCHED, 1, 2)]))._repr_html_()
    assert {kind: re.findall(rf"--xs-{kind}: (.*?);", html) for kind in CLASSES} == {
        kind: [colour] for kind, colour in COLOURS.items()
    }


def test_a_picture_is_made_once_and_only_for_a_page() -> None:
    """[REP-P-7]"""
    made = []

    def make() -> FilePicture:
        made.append(1)
        return pictured([(MATCHED, 1, 2)])

    scan = ScanReport("/d", "parquet", "", 1, 1, 0, 10, 10, 1.0, drawing=Drawing(make))
    shown = SkippingReport((scan,))
    for text in (str(shown), repr(shown), shown.to_json()):
        assert text
    assert not made
    assert shown._repr_html_() == shown._repr_html_()
    assert made == [1]
    assert copy.deepcopy(shown)._repr_html_() == pickle.loads(pickle.dumps(shown))._repr_html_() == shown._repr_html_()


def test_a_failing_picture_leaves_its_reason() -> None:
    """[REP-P-7]"""

    def fail() -> FilePicture:
        raise ValueError("boom <b>")

    scan = ScanReport("/d", "parquet", "", 1, 1, 0, 10, 10, 1.0, drawing=Drawing(fail))
    html = SkippingReport((scan,))._repr_html_()
    assert "There is no picture of the files: the picture failed: ValueError: boom &lt;b&gt;" in html


def test_pages_of_many_scans_are_limited() -> None:
    """[REP-P-4]"""
    picture = pictured([(MATCHED, 1, 2)])
    scans = report(picture).scans * 300
    html = SkippingReport(scans)._repr_html_()
    assert html.count("<figure") == 10
    assert html.count('class="xs-scan"') == 100
    assert "The page shows the first 100 of 300 scans." in html


def test_a_report_is_short_in_a_shell() -> None:
    """[REP-P-8]"""
    shown = report(pictured([(MATCHED, 1, 2)]))
    assert repr(shown).startswith("SkippingReport(skipped 1 of 3 files (33.3 %), ")
    assert repr(shown.scans[0]) == "ScanReport(/d: 1 of 3 files skipped)"
    assert json.loads(shown.to_json())["scans"][0]["skipped"] == 1


@given(files=files_strategy)
def test_lines_stay_in_the_picture_and_have_a_least_size(files: list[tuple[int, Any, Any]]) -> None:
    """[REP-P-11]"""
    picture = pictured([(each, low, None if low is None or size is None else low + size) for each, low, size in files])
    html = report(picture)._repr_html_()
    (svg,) = [each for each in parsed(html).iter("svg") if each.find("desc") is not None]
    width, height = float(svg.get("width", "")), float(svg.get("height", ""))
    marks = [each for each in svg.findall("rect") if each.get("class") != "xs-shade"]
    boxes = [[float(each.get(name, "")) for name in ("x", "y", "width", "height")] for each in marks]
    unplaced = [kind for kind, count in picture.unplaced.items() if count and kind != "skipped"]
    assert len(boxes) == len(picture.lines) + len(unplaced)
    for mark, (left, top, wide, tall) in zip(marks, boxes, strict=True):
        least = 1.5 if mark.get("class") == "xs-skipped" else 3
        assert wide >= 3
        assert tall >= least
        assert -0.1 <= left <= left + wide <= width + 0.1
        assert -0.1 <= top <= top + tall <= height + 0.1
    whole = list(zip(marks, boxes, strict=True))[len(picture.lines) :]
    assert [mark.get("class") for mark, _ in whole] == [f"xs-{kind}" for kind in unplaced]
    lowest = max((top + tall for _, top, _, tall in boxes[: len(picture.lines)]), default=0.0)
    for _, (left, top, wide, tall) in whole:
        assert (wide, tall) == (width - 2 * left, 7)
        assert top >= lowest
        lowest = top + tall


def test_files_without_known_bounds_are_in_the_picture() -> None:
    """[REP-P-4] [REP-P-11]"""
    files = [(SKIPPED, 0, 10), (MATCHED, 5, 20), (UNINDEXED, None, None), (UNINDEXED, None, None)]
    html = report(pictured(files))._repr_html_()
    assert "stands for all read files of a kind without known bounds: 2 read, not indexed." in html
    assert "have no line" not in html
    html = report(pictured([(SKIPPED, None, None), (MATCHED, 5, 20)]))._repr_html_()
    assert "Skipped files without known bounds have no line: 1 skipped." in html
    assert "along the whole axis" not in html
