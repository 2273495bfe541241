"""Why a query reads or skips single files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["EXPLANATION_HEADERS", "FileExplanation"]

EXPLANATION_HEADERS = ("file", "bytes", "verdict", "reason")


@dataclass(frozen=True, slots=True)
class FileExplanation:
    """Why a query reads or skips a file.

    Attributes
    ----------
    name : str
        The path of the file, without scheme and authority.
    bytes : int
        The size of the file, -1 if unknown.
    verdict : {"skipped", "kept"}
        Whether the query skips the file.
    predicate : str
        The part of the filter that decides; empty if no single part does.
    index : str
        The indexes or partition columns that answer the part; empty if none does.
    bounds : str
        The bounds of the file in the first of these indexes; empty if it has none, or if values are hidden.
    reason : str
        Why the verdict is what it is.
    """

    name: str
    bytes: int
    verdict: str
    predicate: str
    index: str
    bounds: str
    reason: str

    def row(self, root: str) -> Sequence[object]:
        """Return the cells of a table, with the path below the root of the dataset.

        Parameters
        ----------
        root : str
            The root of the dataset.
        """
        at = self.name.find(f"{root.rstrip('/')}/") if root.startswith("/") else -1
        name = self.name[len(root.rstrip("/")) + 1 :] if at == 0 else self.name
        return name, self.bytes, self.verdict, self.sentence

    @property
    def sentence(self) -> str:
        """Return the part of the filter that decides, the reason, and the bounds of the file.

        >>> print(FileExplanation("f", 9, "skipped", "a > ?", "minmax(a)", "1 … 5", "no row matches").sentence)
        a > ?: no row matches; minmax(a): 1 … 5
        """
        about = f"{self.predicate}: {self.reason}" if self.predicate else self.reason
        return about + (f"; {self.index}: {self.bounds}" if self.bounds else f"; {self.index}" if self.index else "")
