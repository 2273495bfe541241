"""The README is short and its links lead somewhere, the pages name each setting, and the pages render."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

import pytest
from docutils.core import publish_doctree

from tests.docs.blocks import blocks_in
from xskip.spark.bridge.packages import _PUBLISHED_AVRO

ROOT = Path(__file__).parents[1]
README = ROOT / "README.rst"


def test_the_readme_is_read_in_a_few_minutes() -> None:
    assert 90 <= len(README.read_text(encoding="utf-8").splitlines()) <= 120


def test_the_links_of_the_readme_lead_to_files() -> None:
    links = re.findall(r"<([\w./-]+)>`__", README.read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_says_what_is_installed_and_downloaded() -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    assert "pyspark>=3.5,<4.4" in config["options"]["install_requires"].split()
    assert "installs xskip, PySpark (3.5 to 4.3) if it is missing, and the command ``xskip``" in text
    assert _PUBLISHED_AVRO == {"4.2": "4.1.1", "4.3": "4.1.1"}
    assert "downloads spark-avro from Maven Central (the version of your Spark; 4.1.1 for Spark 4.2 and 4.3)" in text


def test_the_page_of_clusters_has_the_requirements_without_spark() -> None:
    text = (ROOT / "docs" / "how-to" / "run" / "clusters.rst").read_text(encoding="utf-8")
    (block,) = (block for block in blocks_in(text) if block.language == "ini")
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    lines = config["options"]["install_requires"].strip().splitlines()
    wanted = [line for line in lines if not line.startswith(("#", "pyspark", "py4j"))]
    assert block.code.splitlines() == wanted


def test_every_setting_is_named() -> None:
    sources = [*(ROOT / "xskip").rglob("*.py"), *(ROOT / "xskip").rglob("*.java")]
    read = {
        key for path in sources for key in re.findall(r'"(spark\.xskip\.[\w.]+)"', path.read_text(encoding="utf-8"))
    }
    shown = (ROOT / "docs" / "how-to" / "settings.rst").read_text(encoding="utf-8").replace("``….", "``spark.xskip.")
    assert len(read) > 10
    assert {key for key in read if f"``{key}``" not in shown} == set()


@pytest.mark.parametrize(
    "page", ["README.rst", "CHANGELOG.rst", "CONTRIBUTING.rst", "SECURITY.rst", "specs/custom-index.rst"]
)
def test_pages_render_without_a_warning(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    publish_doctree(text, settings_overrides={"report_level": 2, "halt_level": 2})
