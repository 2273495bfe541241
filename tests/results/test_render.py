"""Tables render as text and as HTML."""

from __future__ import annotations

from typing import Any

import pytest

from xskip.results.render import html_page, html_table, human_bytes, text_table


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1024**2, "1.0 MiB"), (5 * 1024**3, "5.0 GiB"),
     (3 * 1024**5, "3072.0 TiB")],
)  # fmt: skip
def test_numbers_of_bytes_have_a_unit(count: Any, text: str) -> None:
    assert human_bytes(count) == text


def test_numbers_are_right_aligned_with_separators() -> None:
    assert text_table(["file", "rows", "ratio"], [["a", 1234567, 0.5], ["bcd", 5, 12.345]]).split("\n") == [
        "file       rows  ratio",
        "----  ---------  -----",
        "a     1,234,567   0.50",
        "bcd           5  12.35",
    ]


def test_unknown_numbers_are_empty_cells() -> None:
    assert text_table(["n", "none"], [[1, None], [None, None], [20, None]]).split("\n") == [
        " n  none",
        "--  ----",
        " 1",
        "",
        "20",
    ]


def test_text_and_truth_values_are_left_aligned() -> None:
    assert text_table(["x", "y"], [[1, True], ["?", False]]).split("\n") == ["x  y", "-  -----", "1  True", "?  False"]


def test_a_table_without_rows_is_its_header() -> None:
    assert text_table(["name", "n"], []).split("\n") == ["name  n", "----  -"]


def test_html_is_escaped_and_numbers_are_marked() -> None:
    number = '<td class="n" style="text-align: right">'
    assert html_table(["<x>"], [["<script>&'\"", 1000, 0.5, True]]).splitlines() == [
        "<table>",
        "<thead><tr><th>&lt;x&gt;</th></tr></thead>",
        "<tbody>",
        f"<tr><td>&lt;script&gt;&amp;&#39;&#34;</td>{number}1,000</td>{number}0.50</td><td>True</td></tr>",
        "</tbody>",
        "</table>",
    ]
    page = html_page("a < b", "<p>body</p>")
    assert "<title>a &lt; b</title>" in page
    assert "<h1>a &lt; b</h1>\n<p>body</p>\n</body>\n</html>" in page
