"""The names of the package are imported at their first use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import xskip

ROOT = Path(__file__).parents[1]


def in_process(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return ran.stdout.strip()


def test_every_public_name_exists_and_is_listed() -> None:
    for name in xskip.__all__:
        assert getattr(xskip, name) is not None
        assert name in dir(xskip)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        xskip.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_an_import_of_the_package_imports_only_its_version() -> None:
    code = (
        "import sys, xskip; print([m for m in sys.modules if m.startswith(('xskip.', 'pyarrow', 'numpy', 'pyspark'))])"
    )
    assert in_process(code) == "['xskip.release']"
    assert in_process("import xskip; print(xskip.errors.XskipError is xskip.XskipError)") == "True"
    assert in_process("from xskip import *; print(MinMax('a').column)") == "a"


def test_a_module_hides_no_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    explain = xskip.explain
    xskip.explain = ModuleType("xskip.explain")  # type: ignore[assignment]  # as the import of such a module does
    assert xskip.explain is explain
