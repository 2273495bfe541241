"""A directive that draws a chart of the numbers in ``benchmarks/RESULTS.rst`` when the site is built.

.. results-chart:: planning
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from pictures import figure
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["CHARTS", "Bar", "Chart", "ResultsChart", "bars_of", "draw", "measurements", "setup"]

RESULTS = Path(__file__).parents[2] / "benchmarks" / "RESULTS.rst"
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?: to (\d+(?:\.\d+)?))?\s*(ms|s\b)?")
_LEFT, _WIDTH, _ROW, _TOP = 450, 300, 26, 34


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: a name, the least and the greatest result, and the limit, if there is one."""

    name: str
    low: float
    high: float
    limit: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its title, the rows of the table that it shows, its unit, and whether its scale is logarithmic."""

    title: str
    shows: Callable[[str], bool]
    unit: str = ""
    logarithmic: bool = False


#: The charts by name. Rows are chosen by what they measure, so that a new row of a kind is drawn, too.
CHARTS = {
    "builds": Chart("Time of a build, as a multiple of one scan", lambda name: "/ scan" in name),
    "planning": Chart(
        "Planning with an index, milliseconds", lambda name: name.startswith("planning"), "ms", logarithmic=True
    ),
    "gains": Chart(
        "Time without skipping, as a multiple of the time with skipping",
        lambda name: "plain / " in name,
    ),
    "peers": Chart("Time of another format, as a multiple of xskip's time", lambda name: " / xskip" in name),
}


def measurements(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of the table of limits: measurement, limit, result and data; "the same" is written out."""
    table = next(publish_doctree(text, settings_overrides={"report_level": 5}).findall(nodes.tbody))
    first = ""
    for row in table.findall(nodes.row):
        said, limit, result, data = (" ".join(entry.astext().split()) for entry in row.findall(nodes.entry))
        if said.startswith("the same"):
            # a ratio after "the same" replaces the ratio of the row above
            kept = first.rpartition(",")[0] if " / " in said else first
            said = kept + said.removeprefix("the same")
        else:
            first = said
        yield said, limit, result, data


def bars_of(chart: Chart, text: str) -> list[Bar]:
    """Return the bars of a chart; a result of several parts, such as of two formats, becomes several bars."""
    bars = []
    for name, limit, result, data in measurements(text):
        if not chart.shows(name):
            continue
        bound = _range(limit, chart.unit)
        parts = re.sub(r"\(.*?\)", "", result).split(";")
        for part, kind in zip(parts, _kinds(data, len(parts)), strict=True):
            found = _range(part, chart.unit)
            if found is None:
                raise ValueError(f"a result has a number (where: {RESULTS}; found: {name}: {result})")
            bars.append(Bar(f"{name} ({kind})", *found, bound[1] if bound else None, part.strip()))
    if not bars:
        raise ValueError(f"the chart has no rows (where: {RESULTS}; expected: rows for {chart.title!r})")
    return bars


def _kinds(data: str, count: int) -> list[str]:
    """Return the data of each part of a result: a text with as many parts as the result is split like it."""
    parts = [part.strip() for part in data.split(";")]
    shared = parts[0].rpartition(" ")[0]
    return [parts[0], *(f"{shared} {part}".strip() for part in parts[1:])] if len(parts) == count else [data] * count


def _range(text: str, unit: str) -> tuple[float, float] | None:
    """Return the least and the greatest number of a text, in milliseconds if that is the unit of the chart."""
    match = _NUMBER.search(text)
    if match is None:
        return None
    factor = 1000.0 if unit == "ms" and match[3] == "s" else 1.0
    return float(match[1]) * factor, float(match[2] or match[1]) * factor


def draw(chart: Chart, bars: Sequence[Bar]) -> str:
    """Return a chart as an SVG document with horizontal bars; a line marks the limit of a bar."""
    most = max(max(bar.high, bar.limit or 0) for bar in bars)
    least = min(bar.low for bar in bars) / 2

    def along(value: float) -> float:
        if chart.logarithmic:
            return _WIDTH * math.log(value / least) / math.log(most / least)
        return _WIDTH * value / most

    height = _TOP + _ROW * len(bars) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 130} {height}" class="chart">',
        f'<text x="0" y="16" class="title">{escape(chart.title)}</text>',
    ]
    for position, bar in enumerate(bars):
        top = _TOP + _ROW * position
        lines.append(f'<text x="{_LEFT - 8}" y="{top + 14}" class="name">{escape(bar.name)}</text>')
        lines.append(f'<rect x="{_LEFT}" y="{top + 2}" width="{along(bar.high):.1f}" height="16" class="range"/>')
        lines.append(f'<rect x="{_LEFT}" y="{top + 2}" width="{along(bar.low):.1f}" height="16" class="bar"/>')
        if bar.limit is not None:
            x = _LEFT + along(bar.limit)
            lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 1}" y2="{top + 21}" class="limit"/>')
        end = _LEFT + max(along(bar.high), along(bar.limit) if bar.limit else 0) + 8
        lines.append(f'<text x="{end:.1f}" y="{top + 14}" class="value">{escape(bar.text)}</text>')
    return "\n".join([*lines, "</svg>"])


class ResultsChart(SphinxDirective):
    """The directive ``results-chart``, whose argument is the name of a chart."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the chart as HTML."""
        self.env.note_dependency(str(RESULTS))
        chart = CHARTS[self.arguments[0]]
        bars = bars_of(chart, RESULTS.read_text(encoding="utf-8"))
        alt = f"{chart.title}: " + "; ".join(f"{bar.name} {bar.text}" for bar in bars)
        return [figure(draw(chart, bars), alt)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("results-chart", ResultsChart)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
