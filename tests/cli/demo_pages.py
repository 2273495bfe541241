"""What the page of each demonstration must have."""

from __future__ import annotations

import re
from xml.etree import ElementTree


def check_page(html: str, *, queries: int) -> None:
    """Check that a page is complete and has the queries, each with its report, without scripts and references."""
    assert not re.search(r"<script|https?:|url\(|@import|src=|href=", html)
    start, end = html.index("<body>"), html.index("</body>") + len("</body>")
    body = ElementTree.fromstring(html[start:end])
    rows = [each for each in body.iter("tr") if each.find("td[@class='xs-query']") is not None]
    reports = list(body.iter("details"))
    assert len(rows) == len(reports) == queries
    assert [each.get("open") for each in reports].count("open") == len(list(body.iter("h2"))) - reports_and_steps(body)
    assert all(each.find(".//svg[@class='xs-bar']") is not None for each in (*rows, *reports))
    headings = [each.text for each in body.iter() if each.tag in ("h2", "h3")]
    assert "What was indexed" in headings
    assert headings[-1] == "What to try next"
    assert list(body.iter("pre"))


def reports_and_steps(body: ElementTree.Element) -> int:
    """Return the number of headings that are not those of datasets: of the scans in reports, and of the steps."""
    in_reports = sum(len(list(each.iter("h2"))) for each in body.iter("details"))
    return in_reports + 1
