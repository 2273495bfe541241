"""A directive that shows an SVG file inside the page, where it takes the colours of the theme, light or dark.

.. picture:: query.svg
   :alt: What the picture shows, for readers who cannot see it.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["Picture", "figure", "setup"]

FOLDER = Path(__file__).parents[1] / "pictures"


class Picture(SphinxDirective):
    """The directive ``picture``, whose argument is a file in the folder ``pictures``."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the picture as HTML."""
        path = FOLDER / self.arguments[0]
        self.env.note_dependency(str(path))
        if not path.is_file() or "alt" not in self.options:
            raise self.error(f"a picture needs a file in {FOLDER} and the option :alt: (found: {self.arguments[0]})")
        return [figure(path.read_text(encoding="utf-8"), self.options["alt"])]


def figure(svg: str, alt: str) -> nodes.raw:
    """Return an SVG document as HTML with a text for readers who cannot see it."""
    labelled = re.sub(r"<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', svg, count=1)
    return nodes.raw("", f'<figure class="picture">\n{labelled}\n</figure>', format="html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("picture", Picture)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
