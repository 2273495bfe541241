"""Configuration of Sphinx. ``make docs`` builds the site, and treats each warning as an error."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "extensions")]

import xskip  # noqa: E402 - the path comes first

project = "xskip"
copyright = "the authors of xskip, Apache License 2.0"  # noqa: A001 - Sphinx's own word
version = release = xskip.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "results_charts", "pictures", "signatures"]
exclude_patterns = ["build"]
nitpicky = True
#: Names in docstrings that belong to other projects, to modules without a page, or to the class of the docstring.
nitpick_ignore_regex = [
    ("py:.*", r"(pyspark|pyarrow|numpy|np|pa)\..*"),
    ("py:.*", r"xskip\.quixlake\.(selection|sink)\..*"),
    ("py:meth", r"to_(arrow|dict)"),  # of the same class, where a list shows the first sentence of a method
    ("py:.*", r"xskip\.(expressions|metadata|metadatastore|clauses|pruning|build|spark)\..*"),
]
default_role = None

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = f"xskip {release}"
html_static_path = ["static"]
html_css_files = ["pictures.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "tango"
pygments_dark_style = "github-dark"
