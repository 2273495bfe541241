"""Advice on the indexes of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from xskip.results.result_view import ShownTable

__all__ = ["Action", "Advice", "AdviceList"]

Action = Literal["add", "change", "remove"]


@dataclass(frozen=True, slots=True)
class Advice:
    """A piece of advice.

    Attributes
    ----------
    action : {"add", "change", "remove"}
        What to do: add an index to a column, change an index or the data, or remove an index.
    subject : str
        The index, such as ``minmax(temp)``, or the column.
    text : str
        One sentence that states the evidence and the reason.
    """

    action: Action
    subject: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, repr=False)
class AdviceList(ShownTable):
    """The advice of :meth:`xskip.SkippingIndex.advise`, which prints as sentences and shows as a table in notebooks.

    Attributes
    ----------
    dataset : str
        The dataset's root.
    scans : int
        The number of scans in this process that the advice takes into account.
    advice : tuple of Advice
    """

    dataset: str
    scans: int
    advice: tuple[Advice, ...]

    def __len__(self) -> int:
        return len(self.advice)

    def __iter__(self) -> Iterator[Advice]:
        return iter(self.advice)

    def _caption(self) -> str:
        return f"Advice on the indexes of {self.dataset}"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "action": [each.action for each in self.advice],
            "subject": [each.subject for each in self.advice],
            "advice": [each.text for each in self.advice],
        }

    def _lead(self) -> str:
        return "" if self.advice else "no advice: nothing tells against the indexes"

    def __str__(self) -> str:
        return "\n".join(map(str, self.advice)) or self._lead()
