"""The pages of the built site in Chromium: nothing is cut off on a phone or a desktop, in light and in dark mode."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.results.browser import luminance, needs_chromium, run
from tests.results.screenshots import keep

SITE = Path(__file__).parents[2] / "build/docs"
PAGES = ("index", "how-to/operate", "how-to/quix-lake", "concepts/skipping", "concepts/limits", "reference/results")
PHONE, DESKTOP, HEIGHT = 390, 1280, 1600
#: Writes the width of the content into the page that holds the frame.
_MEASURE = """
<script>
addEventListener('load', () => {
  const out = document.createElement('pre')
  out.id = 'measured'
  out.textContent = document.documentElement.scrollWidth
  parent.document.body.appendChild(out)
})
</script>
"""

pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="needs the built site: make docs"),
]


def width_of(page: Path, folder: Path, mode: str, width: int) -> int:
    """Return the width of the content of a page in a frame, for Chromium's window is at least 500 pixels wide."""
    html = page.read_text(encoding="utf-8").replace("<head>", f'<head><base href="{page.parent.as_uri()}/">', 1)
    frame = escape(html.replace("</body>", f"{_MEASURE}</body>"))
    style = f"border: 0; width: {width}px; height: {HEIGHT}px"
    outer = folder / "outer.html"
    outer.write_text(
        f'<!doctype html><body style="margin: 0"><iframe style="{style}" srcdoc="{frame}"></iframe></body>', "utf-8"
    )
    shot = folder / f"{mode}-{width}.png"
    run(folder, mode, (width, HEIGHT), f"--screenshot={shot}", outer.as_uri())
    keep(shot)
    dumped = run(folder, mode, (width, HEIGHT), "--dump-dom", outer.as_uri())
    found = re.search(r'<pre id="measured">(\d+)</pre>', dumped)
    assert found, f"Chromium has not measured the page: {dumped[:2000]}"
    corner = luminance(np.asarray(Image.open(shot).convert("RGB"))[HEIGHT - 5, 5])
    assert bool(corner < 0.2) is (mode == "dark")
    return int(found[1])


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_cut_off(page: str, tmp_path: Path) -> None:
    """Wide tables and pictures scroll in their own boxes."""
    for mode, width in (("light", PHONE), ("dark", DESKTOP)):
        assert width_of(SITE / f"{page}.html", tmp_path, mode, width) <= width, (mode, width)
