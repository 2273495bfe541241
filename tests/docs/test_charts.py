"""The charts of the site show the numbers of ``benchmarks/RESULTS.rst``."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

EXTENSIONS = Path(__file__).parents[2] / "docs" / "extensions"
RESULTS = Path(__file__).parents[2] / "benchmarks" / "RESULTS.rst"
TABLE = """
============================== ======== ======================= ==========
measurement                    limit    result                  data
============================== ======== ======================= ==========
build, three indexes / scan    1.5      0.98 to 1.13            many files
the same, Avro                 1.3      1.16 (CPU 1.20)         few files
planning, warm: 1,000 files    50 ms    6 ms; 16 ms             known; new
planning, cold: 9 files        1.5 s    0.7 to 1.1 s            two files
============================== ======== ======================= ==========
"""

pytest.importorskip("sphinx", reason="needs the extra docs")
sys.path.insert(0, str(EXTENSIONS))

from results_charts import CHARTS, bars_of, draw  # noqa: E402 - the path comes first


def test_bars_have_the_numbers_of_the_table() -> None:
    builds = bars_of(CHARTS["builds"], TABLE)
    assert [(bar.name, bar.low, bar.high, bar.limit) for bar in builds] == [
        ("build, three indexes / scan (many files)", 0.98, 1.13, 1.5),
        ("build, three indexes / scan, Avro (few files)", 1.16, 1.16, 1.3),
    ]
    planning = bars_of(CHARTS["planning"], TABLE)
    assert [(bar.name, bar.low, bar.high, bar.limit) for bar in planning] == [
        ("planning, warm: 1,000 files (known)", 6, 6, 50),
        ("planning, warm: 1,000 files (new)", 16, 16, 50),
        ("planning, cold: 9 files (two files)", 700, 1100, 1500),
    ]


def test_a_chart_without_rows_is_an_error() -> None:
    with pytest.raises(ValueError, match="the chart has no rows"):
        bars_of(CHARTS["peers"], TABLE)


def test_the_length_of_a_bar_is_in_proportion() -> None:
    svg = ElementTree.fromstring(draw(CHARTS["builds"], bars_of(CHARTS["builds"], TABLE)))
    widths = [float(rect.attrib["width"]) for rect in svg.iter() if rect.attrib.get("class") == "bar"]
    assert widths == pytest.approx([300 * 0.98 / 1.5, 300 * 1.16 / 1.5], abs=0.1)


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_drawn_from_the_results(name: str) -> None:
    bars = bars_of(CHARTS[name], RESULTS.read_text(encoding="utf-8"))
    assert len(bars) >= 2
    svg = ElementTree.fromstring(draw(CHARTS[name], bars))
    shown = [text.text for text in svg.iter() if text.attrib.get("class") == "value"]
    assert shown == [bar.text for bar in bars]
