"""The screenshots of pages that tests have rendered, which the reports of failures name."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Protocol, runtime_checkable

import pytest

__all__ = ["keep", "pytest_runtest_makereport"]

#: The screenshots of each test, by its name in the environment.
_TAKEN: dict[str, list[Path]] = {}


@runtime_checkable
class _WithShot(Protocol):
    shot: Path


def keep(shot: Path) -> None:
    """Remember a screenshot of the test that runs."""
    _TAKEN.setdefault(_test(os.environ.get("PYTEST_CURRENT_TEST", "")), []).append(shot)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Name the screenshots in the report of a failure: those of the test, and those of its fixtures."""
    report = yield
    if report.failed:
        shots = [*_TAKEN.get(item.nodeid, ())]
        shots += [each.shot for each in getattr(item, "funcargs", {}).values() if isinstance(each, _WithShot)]
        if shots:
            report.sections.append(("screenshots", "\n".join(map(str, dict.fromkeys(shots)))))
    return report


def _test(current: str) -> str:
    """Return the identity of a test without its phase, such as ``(call)``."""
    return current.rpartition(" ")[0]
