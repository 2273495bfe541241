"""A function that extracts the code blocks of a documentation page."""

from __future__ import annotations

import re
from pathlib import Path


def blocks_of(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in one language, without their indentation."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(rf"^\.\. code-block:: {language}\n\n((?:   .*\n|\n)+)", text, re.M)
    return [re.sub(r"^   ", "", block, flags=re.M) for block in found]
