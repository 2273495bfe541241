"""Tables render as text and as HTML."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from xskip.quixlake.results import LakeTable
from xskip.results.index_status import IndexStatus
from xskip.results.overview import IndexOverview, Overview
from xskip.results.render import html_page, human_bytes, part_of_bytes, percentage, text_table
from xskip.results.savings import DatasetSavings, Savings
from xskip.results.skipping_report import ScanReport, SkippingReport


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1024**2, "1.0 MiB"), (5 * 1024**3, "5.0 GiB"),
     (3 * 1024**5, "3072.0 TiB")],
)  # fmt: skip
def test_numbers_of_bytes_have_a_unit(count: Any, text: str) -> None:
    assert human_bytes(count) == text


def test_one_of_a_kind_has_no_plural() -> None:
    scan = ScanReport("/d", "parquet", "", 1, 0, 0, 10, 0, 1.0)
    assert "of 1 file skipped" in repr(scan)
    html = SkippingReport((scan,))._repr_html_()
    assert (html.count("1 file<"), html.count("1 files")) == (2, 0)
    one = LakeTable("values", pa.table({"value": ["a"], "segments": [1], "messages": [1], "bytes": [1]}))
    assert one.headline == "1 value, 1 segment, 1 B, 1 message"
    index = IndexOverview("/d", "/d/_xskip", "parquet", 1, status=IndexStatus("CURRENT", 1, 0, 0))
    html = Overview("/", 0, (index,)).to_html()
    assert ("1 of 1 <small>index is up" in html, "1 file in all indexes" in html) == (True, True)


def test_a_part_never_looks_like_none_or_like_the_whole() -> None:
    shares = [percentage(part, 5000) for part in (0, 1, 2, 3, 2500, 4997, 4998, 4999, 5000)]
    assert shares == [
        "0.0 %", "< 0.1 %", "< 0.1 %", "0.1 %", "50.0 %", "99.9 %", "> 99.9 %", "> 99.9 %", "100.0 %",
    ]  # fmt: skip
    assert [percentage(part, 300, 0) for part in (1, 2, 299)] == ["< 1 %", "1 %", "> 99 %"]
    assert percentage(0, 0) == "0.0 %"
    assert [part_of_bytes(part, 5 << 30) for part in (0, 1 << 30, (5 << 30) - 1, 5 << 30)] == [
        "0 B of 5.0 GiB", "1.0 GiB of 5.0 GiB", "all but 1 B of 5.0 GiB", "5.0 GiB of 5.0 GiB",
    ]  # fmt: skip
    assert human_bytes((1 << 20) - 1) == "1.0 MiB"


def test_reports_do_not_call_a_part_the_whole() -> None:
    scan = ScanReport("/d", "parquet", "a > ?", 5000, 1, 0, 5 << 30, 1 << 20, 1.0)
    report = SkippingReport((scan,))
    assert report.headline.startswith("skipped 4,999 of 5,000 files (> 99.9 %), all but 1.0 MiB of 5.0 GiB, in 1.0 ms")
    assert "4,999 skipped (> 99.9 %)" in str(report)
    assert "&gt; 99.9 % <small>" in report._repr_html_()
    savings = Savings(1, datetime.fromtimestamp(0, timezone.utc), (DatasetSavings("/d", 1, 9999, 1000, 1, 1, 0.0),))
    assert savings._view().caption == "Savings of the session"
    assert replace(savings, is_of_history=True)._view().caption == "Savings in the query history"
    assert savings.headline.startswith("1 query since 1970-01-01 00:00:00 UTC skipped 1 of 9,999 files (< 0.1 %), ")


def test_versions_say_what_to_do() -> None:
    def first(version: str, *numbers: int) -> str:
        files = tuple((f"f{number}", number) for number in numbers)
        return str(IndexStatus(version, 1, 0, 0, metadata_files=files)).splitlines()[0].split("  ", 1)[1].strip()

    assert first("CURRENT", 4) == "4 (current)"
    assert first("DEPRECATED_SUPPORTED", 3, 4) == "3, 4 (old; migrate() converts it)"
    assert first("TOO_NEW", 9) == "9 (of a newer release)"
    assert "version" not in str(IndexStatus("CURRENT", 0, 1, 0))


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


def test_pages_have_an_escaped_title() -> None:
    page = html_page("a < b", "<p>body</p>")
    assert "<title>a &lt; b</title>" in page
    assert "<h1>a &lt; b</h1>\n<p>body</p>\n</body>\n</html>" in page
