"""A failure of a test that renders a page names its screenshot."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.results.browser import needs_chromium

ROOT = Path(__file__).parents[2]
FAILING = """
import pytest
from tests.results.browser import rendered
from tests.results.screenshots import pytest_runtest_makereport
from xskip.results.render import html_page

@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return rendered(html_page("fixture", "<p>text</p>"), tmp_path_factory.mktemp("of-fixture"), "light")

def test_first(page):
    assert page.elements == []

def test_second(page):
    assert page.elements == []

def test_body(tmp_path):
    rendered(html_page("body", "<p>text</p>"), tmp_path, "dark")
    assert 1 == 2

def test_too_tall(tmp_path):
    rendered(html_page("tall", "<p>text</p>" * 50), tmp_path, "light", height=200)

def test_good(tmp_path):
    rendered(html_page("good", "<p>text</p>"), tmp_path, "light")
"""


@needs_chromium
def test_failures_name_their_screenshots(tmp_path: Path) -> None:
    """The screenshots exist after the run, also if a page is larger than its window, or a fixture has made it."""
    (tmp_path / "conftest.py").write_text(FAILING.splitlines()[3] + "\n", encoding="utf-8")
    (tmp_path / "test_pages.py").write_text(FAILING, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    command += ["--basetemp", str(tmp_path / "kept"), str(tmp_path / "test_pages.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert "4 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    shots = [Path(shot) for shot in re.findall(r"-+ screenshots -+\n(.+)\n", done.stdout)]
    assert [shot.name for shot in shots] == ["light.png", "light.png", "dark.png", "light.png"], done.stdout
    assert [shot.parent.name for shot in shots] == ["of-fixture0", "of-fixture0", "test_body0", "test_too_tall0"]
    for shot in shots:
        assert shot.is_relative_to(tmp_path / "kept")
        assert shot.read_bytes().startswith(b"\x89PNG")
