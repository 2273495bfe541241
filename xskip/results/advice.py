"""Advice on the indexes of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from xskip.errors import ArgumentError
from xskip.hints import Phrase, Words
from xskip.results.render import SizeText, human_bytes
from xskip.results.result_view import KeyValueView, ShownTable

__all__ = ["Action", "Advice", "AdviceList", "AppliedAdvice", "LeftAdvice"]

#: What keeps a change from being undone by another program that ensures a list of indexes.
_TO_KEEP = Words(
    "make the same change in {}, or its next run undoes it",
    Phrase("the list of ensure()", "the file of xskip ensure --config"),
)

Action = Literal["add", "change", "order", "remove"]


@dataclass(frozen=True, slots=True)
class Advice:
    """A piece of advice. Each figure is None if it is not known.

    Attributes
    ----------
    action : {"add", "change", "order", "remove"}
        What to do: add an index, change an index or the data, write the data in an order, or remove an index.
    subject : str
        The index, such as ``minmax(temp)``, or the column or expression.
    text : str
        One sentence that states the evidence and the reason.
    index : str or None
        The index to add, to change or to remove; None if no index was measured.
    is_expression : bool
        Whether the index or the order is on an expression, and not on a column.
    scans : int or None
        The number of scans with a condition that the index or the order answers, or that need it for an aggregation or
        first rows.
    saved_share : float or None
        The share of the bytes that these scans read which the advice saves, from 0 to 1.
    saved_bytes : float or None
        These bytes, for all scans that count.
    saved_bytes_per_day : float or None
        These bytes for one day of the query history. None without a history.
    cost_bytes : int or None
        The compressed size of the index in the metadata. That of an index to add is an extrapolation of the trial.
    cost_seconds : float or None
        The time that builds have spent on the index, or will spend on it.
    is_of_process : bool
        Whether all evidence against the index is that the scans of this process do not need it. Other drivers can.
    columns : tuple of str
        The columns of a layout that a trial has measured, as for :func:`xskip.cluster`.
    """

    action: Action
    subject: str
    text: str
    index: str | None = None
    is_expression: bool = False
    scans: int | None = None
    saved_share: float | None = None
    saved_bytes: float | None = None
    saved_bytes_per_day: float | None = None
    cost_bytes: int | None = None
    cost_seconds: float | None = None
    is_of_process: bool = False
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class LeftAdvice:
    """A piece of advice that was not applied, and why.

    Attributes
    ----------
    action : {"add", "change", "order", "remove"}
    subject : str
    reason : str
    """

    action: Action
    subject: str
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class AppliedAdvice(KeyValueView):
    """The result of :meth:`AdviceList.apply`, or of its dry run.

    Attributes
    ----------
    dataset : str
        The dataset's root.
    indexes_added, indexes_removed : tuple of str
        The indexes that the call has added or removed, or would add or remove.
    left : tuple of LeftAdvice
        The advice that the call has left.
    seconds : float
        The duration of the call.
    failed : tuple of str
        The paths of the files that could not be read and have no metadata.
    dry_run : bool
        Whether the call changed nothing, and the result is what it would do.
    """

    dataset: str
    indexes_added: tuple[str, ...] = ()
    indexes_removed: tuple[str, ...] = ()
    left: tuple[LeftAdvice, ...] = ()
    seconds: float = 0.0
    failed: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def changed(self) -> bool:
        """Return whether the call changed the index, or would change it."""
        return bool(self.indexes_added or self.indexes_removed)

    @property
    def advice(self) -> tuple[LeftAdvice, ...]:
        """Return the advice that was left."""
        return self.left

    def _caption(self) -> str:
        return "Application of advice" + (" (dry run)" if self.dry_run else "")

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("dataset", self.dataset),
            *([("dry run", "nothing was changed")] if self.dry_run else []),
            ("indexes added", ", ".join(self.indexes_added) or "none"),
            ("indexes removed", ", ".join(self.indexes_removed) or "none"),
            ("seconds", self.seconds),
            *(("left", Words("{} {}: {}", each.action, each.subject, each.reason)) for each in self.left),
            *(("not readable", name) for name in self.failed),
            *([("hint", _TO_KEEP)] if self.changed else []),
        ]


@dataclass(frozen=True, slots=True, repr=False)
class AdviceList(ShownTable):
    """The advice of :meth:`xskip.SkippingIndex.advise`, which prints as sentences and shows as a table in notebooks.

    Attributes
    ----------
    dataset : str
        The dataset's root.
    scans : int
        The number of scans that the advice takes into account: those in this process, or those of the query history.
    advice : tuple of Advice
    trial : int
        The number of files that a trial has read to measure indexes; 0 without a trial.
    """

    dataset: str
    scans: int
    advice: tuple[Advice, ...]
    trial: int = 0
    #: Applies the advice to the index; None if the index was opened without Spark.
    _apply: Callable[..., AppliedAdvice] | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.advice)

    def __iter__(self) -> Iterator[Advice]:
        return iter(self.advice)

    def __reduce__(self) -> tuple[Any, ...]:
        return AdviceList, (self.dataset, self.scans, self.advice, self.trial)  # sessions do not leave their process

    def apply(self, *, dry_run: bool = False) -> AppliedAdvice:
        """Add and remove the indexes that the advice names, in one commit.

        Advice of another kind is left: to change an index, to write the data in an order, and to add an index that no
        trial has measured. An index that has ruled out files since the advice was given stays, and so does an index
        that only the scans of this process do not need: a query history tells what other drivers need.

        Parameters
        ----------
        dry_run : bool
            Whether to return what the call would do without doing it.

        Returns
        -------
        AppliedAdvice
            The indexes that were added and removed, and the advice that was left.

        Raises
        ------
        ArgumentError
            If the index was opened without Spark, which builds indexes.
        MetadataNotFoundError
            If there is no index any more.
        CollectError
            If a file cannot be read; nothing has changed.
        KeyNotAvailableError
            If the key of an index is not available; nothing has changed.
        CommitConflictError
            If other writers committed first in every attempt; nothing has changed.

        Examples
        --------
        >>> index = xskip.SkippingIndex.for_path(spark, indexed_path)
        >>> index.advise().apply(dry_run=True).changed
        False
        """
        if not isinstance(dry_run, bool):
            raise ArgumentError("dry_run has an invalid value", found=repr(dry_run), expected="True or False")
        if self._apply is None:
            raise ArgumentError(
                "only Spark applies advice, because it builds indexes", where=self.dataset,
                hint=Words(
                    "{}",
                    Phrase(
                        "call xskip.SkippingIndex.for_path(spark, path).advise(...).apply()", "run xskip advise --apply"
                    ),
                ),
            )  # fmt: skip
        return self._apply(self.advice, dry_run=dry_run)

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain Python values, such as for JSON."""
        advice = [asdict(each) for each in self.advice]
        return {"dataset": self.dataset, "scans": self.scans, "trial": self.trial, "advice": advice}

    def _caption(self) -> str:
        return f"Advice on the indexes of {self.dataset}"

    def _columns(self) -> dict[str, list[Any]]:
        shown = {
            "saved a day": [_size(each.saved_bytes_per_day) for each in self.advice],
            "cost": [_size(each.cost_bytes) for each in self.advice],
        }
        return {
            "action": [each.action for each in self.advice],
            "subject": [each.subject for each in self.advice],
            **{name: found for name, found in shown.items() if any(found)},
            "advice": [each.text for each in self.advice],
        }

    def _lead(self) -> str:
        return "" if self.advice else "no advice: nothing tells against the indexes"

    def __str__(self) -> str:
        return "\n".join(map(str, self.advice)) or self._lead()


def _size(count: float | None) -> SizeText | None:
    return None if count is None else human_bytes(count)
