"""Pages of reports in Chromium: colours, contrast and layout, in light and dark. Screenshots stay in ``tmp_path``."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.results.browser import WIDTH, Element, Page, blended, contrast, needs_chromium, rendered
from tests.results.reports import report_of_days
from tests.results.samples import samples
from xskip.results.file_picture import MOST_ROWS, Drawing, FilePicture, PicturedFiles
from xskip.results.render import html_page
from xskip.results.report_html import COLOURS
from xskip.results.skipping_report import ScanReport, SkippingReport

pytestmark = needs_chromium

#: JupyterLab's dark theme and its rules for tables in outputs; it follows a setting of its own, not the system's.
JUPYTER = """<!doctype html><html><head><meta charset="utf-8"><style>
body { margin: 0; background: #111111; font: 13px/1.3 system-ui, sans-serif }
.jp-RenderedHTMLCommon { color: rgba(255, 255, 255, 0.87); font-size: 14px; padding: 0 8px }
.jp-RenderedHTMLCommon table { border-collapse: collapse; border: none; font-size: 12px; table-layout: fixed;
  margin-left: auto; margin-right: auto }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th { vertical-align: middle; text-align: right; padding: .5em;
  line-height: normal; white-space: normal; max-width: none; border: none }
.jp-RenderedHTMLCommon thead { border-bottom: 1px solid #424242; vertical-align: bottom }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #212121 }
.jp-RenderedHTMLCommon svg { max-width: 100%; height: auto }
</style></head><body data-jp-theme-light="false"><div class="jp-RenderedHTMLCommon">REPORT</div></body></html>"""


@pytest.fixture(scope="module", params=["light", "dark", "notebook"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Page:
    report, folder = report_of_days(), tmp_path_factory.mktemp(f"report-{request.param}")
    if request.param == "notebook":  # a dark notebook on a light system
        return rendered(JUPYTER.replace("REPORT", report._repr_html_()), folder, "light")
    text = report.save(folder / "report.html").read_text(encoding="utf-8")
    found = rendered(text, folder, str(request.param))
    is_dark = int(found.pixels[0, 0].sum()) < 200
    assert is_dark is (request.param == "dark")
    return found


def rgb(kind: str, page: Page) -> tuple[int, ...]:
    """Return the colour of a class on a page."""
    return blended(COLOURS[kind], "#{:02x}{:02x}{:02x}".format(*page.colour(0, 0)))


def marks(page: Page) -> dict[str, list[Element]]:
    """Return the marks that are large enough to have a pixel without blending, by their class."""
    found: dict[str, list[Element]] = {}
    for each in page.elements:
        if each.tag == "rect":
            found.setdefault(each.kind.removeprefix("xs-"), []).append(each)
    return found


def test_bars_and_lines_have_the_colours_of_their_files(page: Page) -> None:
    """[REP-P-6]"""
    found = marks(page)
    (shade,) = found.pop("shade")
    assert page.colour(shade.right - 3, shade.top + 3) != page.colour(shade.left - 3, shade.top + 3)
    assert {kind: len(each) for kind, each in found.items()} == {
        "skipped": 2 + 1 + 50, "matched": 2 + 1 + 9, "undecided": 1 + 1, "unindexed": 1 + 1 + 1,
    }  # fmt: skip
    # the lines of the axis shine through the marks of skipped files
    ticks = [each.left for each in page.elements if each.tag == "line" and each.right - each.left < 2]
    for kind, elements in found.items():
        for each in elements:
            middle = (each.left + each.right) / 2
            x = middle + 3 if any(abs(middle - tick) < 2 for tick in ticks) else middle
            colour = page.colour(x, (each.top + each.bottom) / 2)
            assert colour == pytest.approx(rgb(kind, page), abs=1), each


def test_the_parts_of_a_bar_follow_the_numbers(page: Page) -> None:
    """[REP-P-1]"""
    files = [each for each in page.elements if each.tag == "rect"][:3]
    whole = files[-1].right - files[0].left
    assert [each.kind for each in files] == ["xs-matched", "xs-unindexed", "xs-skipped"]
    shares = [(each.right - each.left) / whole for each in files]
    assert shares == [pytest.approx(count / 63, abs=0.005) for count in (10, 3, 50)]
    row = page.pixels[int(files[0].top) + 6, int(files[0].left) : int(files[-1].right)]
    coloured = {
        kind: int((abs(row.astype(int) - rgb(kind, page)) <= 1).all(axis=1).sum()) for kind in ("matched", "skipped")
    }
    assert coloured["matched"] == pytest.approx(whole * 10 / 63, abs=3)
    assert coloured["skipped"] == pytest.approx(whole * 50 / 63, abs=3)


def test_lines_run_from_the_least_to_the_greatest_value(page: Page) -> None:
    """[REP-P-3]"""
    lines = [each for each in page.elements if each.tag == "rect" and each.bottom - each.top < 11][-61:]
    lines.sort(key=lambda each: each.top)
    unplaced = lines.pop()
    assert unplaced.kind == "xs-unindexed"
    assert unplaced.left == pytest.approx(min(each.left for each in lines), abs=0.5)
    assert unplaced.right == pytest.approx(max(each.right for each in lines), abs=0.5)
    assert unplaced.bottom - unplaced.top >= 6
    assert [each.kind for each in lines] == ["xs-skipped"] * 50 + ["xs-matched"] * 9 + ["xs-undecided"]
    steps = np.diff([each.left for each in lines])
    assert (steps > 0).all()
    assert steps == pytest.approx(steps.mean(), abs=0.3)
    days = (lines[-1].right - lines[0].left) / (59 * 6 + 9)
    assert lines[0].right - lines[0].left == pytest.approx(9 * days, abs=0.5)


def test_texts_differ_from_the_page(page: Page) -> None:
    """[REP-P-6]"""
    texts = [
        each for each in page.elements if each.text and each.tag not in ("script", "style", "title", "desc", "pre")
    ]
    assert {"99.3 %", "79.4 %"} & {each.text for each in texts}
    assert {"text", "td", "th", "p", "li", "code", "h2", "span", "small"} <= {each.tag for each in texts}
    poor = [(each.text, round(contrast(page.box(each)), 1)) for each in texts if contrast(page.box(each)) < 4.5]
    assert poor == []


def test_nothing_overflows_in_the_width_of_a_notebook(page: Page) -> None:
    """[REP-P-6]"""
    assert page.width <= WIDTH
    outside = [each for each in page.elements if each.right > WIDTH or each.left < 0]
    assert outside == []


def test_labels_do_not_overlap(page: Page) -> None:
    """[REP-P-3]"""
    labels = sorted((each for each in page.elements if each.tag == "text"), key=lambda each: each.left)
    assert [each.text for each in labels] == ["2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01"]
    for left, right in itertools.pairwise(labels):
        assert left.right < right.left


def test_numbers_are_right_aligned(page: Page) -> None:
    """[REP-P-8]"""
    cells = [each for each in page.elements if each.tag in ("td", "th")]
    column = [next(each for each in cells if each.text == text) for text in ("files ruled out", "50")]
    assert max(each.right for each in column) - min(each.right for each in column) < 1
    names = [each for each in cells if each.text in ("clause", "ts > ?")]
    assert len(names) == 2
    assert max(each.left for each in names) - min(each.left for each in names) < 1


@pytest.mark.parametrize(("mode", "width"), [("light", 1280), ("dark", 400)])
def test_results_fit_beside_each_other_on_one_page(tmp_path: Path, mode: str, width: int) -> None:
    """[REP-P-6] [REP-P-10]"""
    results = samples("/lake/warehouse/sensors/raw/events-by-day", "departure_time")
    body = "<hr>".join(each._repr_html_() for each in results)
    text = html_page("results", f'<p class="xs-next">the page itself</p>{body}', is_broad=True)
    page = rendered(text, tmp_path, mode, 14_000, width)
    assert page.width <= width
    texts = [each for each in page.elements if each.text and each.tag not in ("style", "title", "desc")]
    seen = [each for each in texts if 0 <= each.left < each.right <= width]
    assert {"Build of the index", "call refresh()", "Savings of the session", "Replay"} <= {each.text for each in seen}
    poor = [(each.text, round(contrast(page.box(each)), 1)) for each in seen if contrast(page.box(each)) < 4.5]
    assert poor == []
    # the styles of results do not reach the page around them
    (own,) = [each for each in texts if each.text == "the page itself"]
    assert own.left == next(each.left for each in texts if each.text == "results")


def test_results_keep_their_style_in_a_notebook(tmp_path: Path) -> None:
    """[REP-P-6] [REP-P-10] A dark notebook has rules for tables, which other outputs of it keep."""
    results = samples("/lake/warehouse/sensors/raw/events-by-day", "departure_time")
    other = "<table><tbody><tr><td>another output</td></tr></tbody></table>"
    body = "".join(each._repr_html_() for each in results)
    page = rendered(JUPYTER.replace("REPORT", body + other), tmp_path, "light", 14_000, 1280)
    rows = [each for each in page.elements if each.tag == "tr"]
    *own, others = [page.colour(each.left + 1, each.bottom - 3) for each in rows]
    assert set(own) == {(0x11, 0x11, 0x11)}
    assert others == (0x21, 0x21, 0x21)
    numbers = [each for each in page.elements if each.tag == "td" and each.text in ("1,200", "4.25")]
    # numbers of facts begin where texts do
    assert len({round(each.left) for each in numbers[:2]}) == 1
    name = next(each for each in page.elements if each.tag == "td" and each.text.endswith("part-00007.parquet"))
    assert numbers[0].left == pytest.approx(name.left, abs=1)


@pytest.mark.parametrize("width", [WIDTH, 400])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_one_file_that_is_read_among_many_is_visible(tmp_path: Path, mode: str, width: int) -> None:
    """[REP-P-11]"""
    count, chosen = 100_000, 61_803
    classes = np.zeros(count, np.uint8)
    classes[chosen] = 1
    low = np.arange(count) * 10
    picture = FilePicture.of(
        PicturedFiles(classes, pa.array(low), pa.array(low + 9)), "c", "minmax(c)", "bigint", has_values=True
    )
    scan = ScanReport(
        "/d", "parquet", "c = 618030", count, 1, 0, bytes=1000 * count, kept_bytes=1000, milliseconds=1.0,
        drawing=Drawing(lambda: picture),
    )  # fmt: skip
    html = html_page("report", SkippingReport((scan,))._repr_html_())
    assert len(html) < 60_000
    page = rendered(html, tmp_path, mode, width=width)
    matched = [each for each in page.elements if each.kind == "xs-matched" and each.tag == "rect"]
    *bars, _, line = matched  # the legend is before the line
    least = 4 if width < WIDTH else 6
    assert min(line.right - line.left, line.bottom - line.top) >= least
    assert all(bar.right - bar.left >= 1 for bar in bars)
    colours = [page.colour((each.left + each.right) / 2, (each.top + each.bottom) / 2) for each in matched]
    assert set(colours) == {rgb("matched", page)}
    skipped = [each for each in page.elements if each.kind == "xs-skipped" and each.bottom - each.top < 3]
    assert len(skipped) == MOST_ROWS
