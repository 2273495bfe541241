"""Pages in a headless Chromium: their pixels, and where their elements are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from tests.results.screenshots import keep

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian's package chromium)")

WIDTH = 700  # about the width of a cell's output in a notebook
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1")
_MODES = {"light": "preferredColorScheme=1", "dark": "preferredColorScheme=0"}
#: Writes the rectangles of all elements with their own text, and of marks, into an element that the test reads.
_MEASURE = """
<script>
addEventListener('load', () => {
  const found = []
  for (const each of document.querySelectorAll('body *')) {
    if (!each.checkVisibility()) continue
    const own = [...each.childNodes].filter(n => n.nodeType == 3 && n.data.trim())
    const range = document.createRange()
    if (own.length) { range.setStartBefore(own[0]); range.setEndAfter(own.at(-1)) }
    const box = (own.length ? range : each).getBoundingClientRect()
    found.push([each.tagName.toLowerCase(), each.getAttribute('class') || '', own.map(n => n.data).join('').trim(),
      box.left, box.top, box.right, box.bottom])
  }
  const out = document.createElement('pre')
  out.id = 'measured'
  const size = [document.documentElement.scrollWidth, document.body.getBoundingClientRect().bottom]
  out.textContent = JSON.stringify([...size, found])
  parent.document.body.appendChild(out)
})
</script>
"""


class Element(NamedTuple):
    """An element of a page; its box is that of its own text, if it has text."""

    tag: str
    kind: str
    text: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass
class Page:
    """A rendered page: the path of its screenshot, its pixels, its elements, and the width of its content."""

    shot: Path
    pixels: npt.NDArray[np.uint8]
    elements: list[Element]
    width: int

    def colour(self, x: float, y: float) -> tuple[int, ...]:
        return tuple(int(part) for part in self.pixels[int(y), int(x)])

    def box(self, element: Element) -> npt.NDArray[np.uint8]:
        """Return the pixels of an element and one more on each side."""
        top, bottom = max(0, int(element.top) - 1), int(element.bottom) + 2
        return self.pixels[top:bottom, max(0, int(element.left) - 1) : int(element.right) + 2]


def rendered(html: str, folder: Path, mode: str, height: int = 1400, width: int = WIDTH) -> Page:
    """Render a page in light or dark mode, and keep the screenshot in a folder."""
    from PIL import Image

    page, measured, shot = folder / f"{mode}.html", folder / f"{mode}-measured.html", folder / f"{mode}.png"
    page.write_text(html, encoding="utf-8")
    run(folder, mode, (width, height), f"--screenshot={shot}", page.as_uri())
    keep(shot)  # before the page can be found wanting
    # Chromium's window is at least 500 pixels wide, so a frame measures the page at the width.
    frame = escape(html.replace("</body>", f"{_MEASURE}</body>"))
    style = f"border: 0; width: {width}px; height: {height}px"
    outer = f'<!doctype html><body style="margin: 0"><iframe style="{style}" srcdoc="{frame}"></iframe></body>'
    measured.write_text(outer, encoding="utf-8")
    dumped = run(folder, mode, (width, height), "--dump-dom", measured.as_uri())
    found = re.search(r'<pre id="measured">(.*?)</pre>', dumped, re.DOTALL)
    assert found, f"Chromium has not measured the page: {dumped[:2000]}"
    text = found[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
    content, tall, elements = json.loads(text)
    assert tall < height, f"the page is {tall} pixels high"
    pixels = np.asarray(Image.open(shot).convert("RGB"))
    assert pixels.shape == (height, width, 3)
    return Page(shot, pixels, [Element(*each) for each in elements], content)


def run(folder: Path, mode: str, size: tuple[int, int], *arguments: str) -> str:
    assert CHROMIUM is not None
    command = [
        CHROMIUM, *_FLAGS, f"--user-data-dir={folder / 'profile'}", f"--blink-settings={_MODES[mode]}",
        f"--window-size={size[0]},{size[1]}", "--virtual-time-budget=2000", *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def blended(colour: str, page: str) -> tuple[int, ...]:
    """Return the pixel of a colour, such as ``#1f7fc4`` or ``rgba(0, 0, 0, .5)``, over the colour of a page."""
    below = [int(page[i : i + 2], 16) for i in (1, 3, 5)]
    if colour.startswith("#"):
        return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
    *above, opacity = map(float, re.findall(r"[\d.]+", colour))
    return tuple(round(opacity * a + (1 - opacity) * b) for a, b in zip(above, below, strict=True))


def luminance(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Return the relative luminance of colours, as WCAG defines it."""
    parts = pixels / 255
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(pixels: npt.NDArray[np.uint8]) -> float:
    """Return the contrast between the lightest and the darkest of some pixels."""
    found = luminance(pixels)
    return float((found.max() + 0.05) / (found.min() + 0.05))
