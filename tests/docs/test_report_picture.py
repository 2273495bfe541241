"""The report on the page docs/how-to/reports.rst is the one that its code makes."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import SparkSession

from tests.docs.blocks import blocks_in
from tests.docs.pages import ROOT
from tests.docs.running import Run
from xskip.results.skipping_report import SkippingReport

PAGE = ROOT / "docs" / "how-to" / "reports.rst"
PICTURE = ROOT / "docs" / "pictures" / "report.html"
#: Sizes, times and numbers of queries, and the widths of the parts of bars of bytes, which differ from run to run.
_VARYING = re.compile(
    r"\d[\d,]*\.\d+( of \d[\d,.]*)? (B|KiB|MiB|ms|s)\b|ended at [\d: -]+UTC|ID \d+|(?<=\")\d+\.\d+(?=\")"
)


def test_the_page_shows_the_report_of_its_code(spark: SparkSession, tmp_path: Path) -> None:
    """To renew the picture, copy the file that the message names to docs/pictures/report.html."""
    run = Run(PAGE, {"/lake/": f"{tmp_path}/lake/"}, {"spark": spark})
    for block in [each for each in blocks_in(PAGE.read_text(encoding="utf-8")) if each.language == "python"][:2]:
        run.run(block)
    report = run.names["report"]
    assert isinstance(report, SkippingReport)
    present = tmp_path / "report.html"
    root = str(tmp_path).replace("/", "<wbr/>/").removeprefix("<wbr/>")  # lines can end within paths
    present.write_text(report._repr_html_().replace(f"{root}<wbr/>/lake", "/lake"), encoding="utf-8")
    shown = PICTURE.read_text(encoding="utf-8")
    assert _VARYING.sub("#", shown) == _VARYING.sub("#", present.read_text(encoding="utf-8")), f"see {present}"
