"""The result of a diagnosis: checks with their states and with what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from xskip.results.render import StateText
from xskip.results.result_view import ShownTable

__all__ = ["Check", "Diagnosis", "State"]

State = Literal["ok", "warning", "failure"]
_LEVELS: Mapping[State, str] = {"ok": "good", "warning": "warning", "failure": "bad"}


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a diagnosis.

    Attributes
    ----------
    name : str
        What was checked.
    state : {"ok", "warning", "failure"}
        ``warning`` if queries are right, but skip less than they could; ``failure`` if an operation does not work.
    found : str
        What the check found.
    advice : str
        What to do; empty if there is nothing to do.
    """

    name: str
    state: State
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis(ShownTable):
    """The checks of :func:`xskip.doctor`, which print as a table and show as HTML in notebooks.

    Attributes
    ----------
    checks : tuple of Check
    """

    checks: tuple[Check, ...]

    def __len__(self) -> int:
        return len(self.checks)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    @property
    def is_ok(self) -> bool:
        """Return whether no check failed; warnings do not count."""
        return all(check.state != "failure" for check in self.checks)

    def _caption(self) -> str:
        return "Checks of xskip"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "check": [check.name for check in self.checks],
            "state": [StateText(check.state, _LEVELS[check.state]) for check in self.checks],
            "found": [check.found for check in self.checks],
            "advice": [check.advice for check in self.checks],
        }
