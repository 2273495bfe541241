"""Every known class of wrong skips, U1 to U42, has a test that carries its number."""

from __future__ import annotations

import re
from pathlib import Path

CLASSES = range(1, 43)


def test_every_class_has_a_named_test() -> None:
    named: set[int] = set()
    for file in Path(__file__).parent.glob("test_*.py"):
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M):
            named |= {int(number) for number in re.findall(r"_u(\d\d)(?=_)", name)}
    assert named == set(CLASSES)


def test_docstrings_name_their_classes() -> None:
    """The docstring of each file says which classes it holds, and all of them."""
    for file in Path(__file__).parent.glob("test_*.py"):
        text = file.read_text()
        named = {int(n) for name in re.findall(r"^def (test_\w+)", text, re.M) for n in re.findall(r"_u(\d\d)", name)}
        told = {int(number) for number in re.findall(r"\bU(\d+)\b", text.split('"""')[1])}
        assert file.name == "test_complete.py" or named == told, file.name
