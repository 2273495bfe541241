"""The API reference has every public name."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

import xskip
import xskip.questdb
import xskip.quixlake

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.rst"))


def test_the_reference_has_every_name_of_the_package() -> None:
    documented = set(re.findall(r"^\.\. auto(?:class|function):: (\w+)$", TEXT, re.MULTILINE))
    modules = set(re.findall(r"^\.\. automodule:: ([\w.]+)$", TEXT, re.MULTILINE))
    public = {name: getattr(xskip, name) for name in xskip.__all__ if name != "__version__"}
    missing = {name for name, value in public.items() if name not in documented and value.__module__ not in modules}
    assert missing == set(), f"add them to a page in {REFERENCE}"


@pytest.mark.parametrize(
    "kind",
    [xskip.SkippingIndex, xskip.quixlake.QuixLake, xskip.quixlake.OpenedLake, xskip.questdb.Table],
    ids=lambda kind: kind.__name__,
)
def test_the_lists_before_a_class_have_its_methods(kind: type) -> None:
    listed = re.findall(rf"^   {kind.__name__}\.(\w+)$", TEXT, re.MULTILINE)
    methods = {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    assert sorted(listed) == sorted(methods)


@pytest.mark.parametrize("module", [xskip.questdb, xskip.quixlake], ids=lambda module: module.__name__)
def test_the_reference_has_the_other_packages(module: ModuleType) -> None:
    assert f".. automodule:: {module.__name__}\n   :members:\n   :imported-members:\n" in TEXT
