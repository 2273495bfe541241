"""The indexes that xskip chooses for a dataset, with the reason for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from xskip.results.render import SizeText, duration_text, human_bytes, percentage
from xskip.results.result_view import ShownTable

if TYPE_CHECKING:
    from xskip.indexes import Index

__all__ = ["ChoiceAction", "ChoiceReason", "ColumnChoice", "IndexChoice", "pairs_of"]

ChoiceAction = Literal["add", "keep", "remove", "none"]
#: Why an index is chosen: it rules out files; it has ruled out files for recorded queries; the column has NULLs; bounds
#: answer aggregates; there are too few files to measure; the sample does not tell; no index would remain; it is not the
#: choice's to change. Why a column has no index: indexes would rule out next to nothing; no recorded query has a
#: condition on it, or none that an index answers; the metadata would exceed the budget; no index type has its type; the
#: column has an encrypted index.
ChoiceReason = Literal[
    "rules_out", "useful", "nulls", "aggregates", "few_files", "unmeasured", "last", "given",
    "alike", "not_queried", "not_answered", "budget", "unsupported", "encrypted",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The choice of one index, or of none for a column. Each figure is None if it is not known.

    Attributes
    ----------
    action : {"add", "keep", "remove", "none"}
        Whether the dataset gets the index, has it and keeps it, or loses it; "none" for a column without an index.
    subject : str
        The index, such as ``minmax(ts)``, or the column.
    reason : str
        The reason in one word, such as ``"rules_out"``.
    share : float or None
        The share of the sample's files that the index rules out for a condition on a value of the column, on average.
    scans : int or None
        The number of recorded scans with a condition on the column, or whose aggregations or first rows need it.
    saved_bytes, saved_share : float or None
        The bytes that these scans would not have read with this index alone, and their share of what they read. None
        without recorded queries, and for conditions of which the records do not tell enough.
    cost_bytes : int or None
        The size of the index in the metadata, extrapolated from the sample.
    cost_seconds : float or None
        The time that a build spends on the index, summed up over all tasks, extrapolated from the sample.
    values : float or None
        The mean number of different values in a file, if files have few.
    fpp : float or None
        The false positive rate of the filters, if it is not the default.
    """

    action: ChoiceAction
    subject: str
    reason: ChoiceReason
    share: float | None = None
    scans: int | None = None
    saved_bytes: float | None = None
    saved_share: float | None = None
    cost_bytes: int | None = None
    cost_seconds: float | None = None
    values: float | None = None
    fpp: float | None = None

    @property
    def is_chosen(self) -> bool:
        """Return whether the dataset has the index afterwards."""
        return self.action in ("add", "keep")

    @property
    def text(self) -> str:
        """Return the reason as a sentence."""
        return "; ".join(filter(None, (self._reason_text(), self._query_text())))

    def _query_text(self) -> str:
        if not self.scans:
            return ""
        asked = f"{self.scans:,} recorded scans need the column"
        if self.saved_share is None:
            return asked
        return f"{asked}, and would have read {percentage(self.saved_share, 1, 0)} less with this index alone"

    def _reason_text(self) -> str:
        match self.reason:
            case "rules_out":
                return self._ruled_out_text()
            case "useful":
                return "it has ruled out files for queries"
            case "nulls":
                return "the column has NULLs"
            case "aggregates":
                return "no index rules out files; bounds answer min, max and count"
            case "few_files":
                return "there are too few files to measure"
            case "unmeasured":
                return "the sample does not tell what the index rules out"
            case "last":
                return "without it, no index would remain"
            case "given":
                return "xskip does not choose indexes with keys, parameters or expressions, or of this type"
            case "alike":
                share = "next to nothing" if not self.share else percentage(self.share, 1, 0) + " of the files"
                return f"the files have the same values: an index rules out {share}"
            case "not_queried":
                whose = "query of this process" if self.action == "keep" else "recorded query"
                return f"no {whose} has a condition on the column"
            case "not_answered":
                return "no recorded query has a condition on the column for which an index rules out enough"
            case "budget":
                return f"{human_bytes(self.cost_bytes or 0)} of metadata would exceed the budget"
            case "unsupported":
                return "no index type that xskip chooses has this type"
            case "encrypted":
                return "the column has an encrypted index"

    def _ruled_out_text(self) -> str:
        share = f"rules out {percentage(self.share or 0.0, 1, 0)} of the files for one value"
        values = "" if self.values is None else f"a file has {self.values:,.0f} different values; "
        rate = "" if self.fpp is None else f", with the rate {self.fpp:g} of false positives, to keep to the budget"
        return f"{values}{share}{rate}"

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


@dataclass(frozen=True, slots=True, repr=False)
class IndexChoice(ShownTable):
    """The indexes that :meth:`xskip.SkippingIndex.choose` proposes, and the reason for each.

    It prints as a table, shows as HTML in notebooks and converts to Arrow and pandas.

    Attributes
    ----------
    dataset : str
        The dataset's root.
    files, bytes : int
        The number and the size of the dataset's files.
    sample : int
        The number of files that xskip has read.
    budget_bytes : int
        The most bytes of metadata that the chosen indexes may have, see ``spark.xskip.choice.budget``.
    scans : int
        The number of recorded scans that the choice takes into account.
    columns : tuple of ColumnChoice
        The choice for each index, and for each column without one.
    indexes : tuple of Index
        The chosen indexes, such as for :meth:`xskip.SkippingIndex.create` on another dataset of the same kind.
    left_out : int
        The number of further columns that xskip has not measured.
    """

    dataset: str
    files: int
    bytes: int
    sample: int
    budget_bytes: int
    scans: int
    columns: tuple[ColumnChoice, ...]
    indexes: tuple[Index, ...]
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[ColumnChoice]:
        return iter(self.columns)

    @property
    def cost_bytes(self) -> int:
        """Return the size of the metadata of all chosen indexes, as far as it is known."""
        return sum(each.cost_bytes or 0 for each in self.columns if each.is_chosen)

    @property
    def changed(self) -> bool:
        """Return whether the dataset gets or loses an index."""
        return any(each.action in ("add", "remove") for each in self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as plain Python values, such as for JSON."""
        from xskip.indexes.definition_text import text_of  # results load without index types

        return {
            "dataset": self.dataset, "files": self.files, "bytes": self.bytes, "sample": self.sample,
            "budget_bytes": self.budget_bytes, "scans": self.scans, "left_out": self.left_out,
            "columns": [asdict(each) for each in self.columns],
            "indexes": [text_of(each) for each in self.indexes],
        }  # fmt: skip

    def _caption(self) -> str:
        return f"Choice of indexes for {self.dataset}"

    def _columns(self) -> dict[str, list[Any]]:
        shown: dict[str, list[Any]] = {
            "saved": [_size(each.saved_bytes) for each in self.columns],
            "metadata": [_size(each.cost_bytes) for each in self.columns],
            "build": [None if each.cost_seconds is None else duration_text(each.cost_seconds) for each in self.columns],
        }
        return {
            "action": [each.action for each in self.columns],
            "subject": [each.subject for each in self.columns],
            **{name: values for name, values in shown.items() if any(value is not None for value in values)},
            "reason": [each.text for each in self.columns],
        }

    def _lead(self) -> str:
        queries = f"{self.scans:,} recorded scans" if self.scans else "no recorded scans"
        left = f"; {self.left_out:,} further columns not measured" if self.left_out else ""
        return (
            f"{self.sample:,} of {self.files:,} files read, {queries}; {human_bytes(self.cost_bytes)} of metadata, of "
            f"at most {human_bytes(self.budget_bytes)}{left}"
        )


def _size(count: float | None) -> SizeText | None:
    return None if count is None else human_bytes(count)


def pairs_of(choice: IndexChoice | None) -> Sequence[tuple[str, Any]]:
    """Return the choice as pairs of a result: one for each index that is not just kept; none without a choice."""
    if choice is None:
        return []
    return [(f"index {_DONE[each.action]}", str(each)) for each in choice.columns if each.action in _DONE]


_DONE = {"add": "chosen", "remove": "given up"}
