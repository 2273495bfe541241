"""Proposals of layouts of the data, by what a trial has measured on rows of the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xskip.inspection.candidates import Trial, share_of
from xskip.inspection.layouts import MeasuredLayout, Shares
from xskip.inspection.proposals import MIN_SCANS, ORDERED, WORTH, Proposals
from xskip.results.advice import Advice
from xskip.results.advice_texts import LayoutFigures, layout_of_data
from xskip.results.index_usage import ConditionUsage

__all__ = ["LayoutProposals"]


@dataclass(frozen=True, slots=True)
class _PresentShares:
    """The shares of files that indexes on a column rule out in the present layout."""

    #: By the bounds in use; empty without bounds.
    in_use: Shares
    #: By the best index, and by the best one that is no index of bounds.
    best: Shares
    others: Shares


@dataclass(frozen=True, slots=True)
class LayoutProposals:
    """The proposals of layouts, beside those of indexes."""

    others: Proposals
    trial: Trial

    def order(self, added: Sequence[Advice]) -> Advice | None:
        """Return the layout that saves most beside the proposed indexes, or None if none saves enough."""
        found = [each for layout in self.trial.layouts if (each := self._layout(layout, added)) is not None]
        return max(found, key=lambda each: each.saved_bytes or 0.0, default=None)

    def _layout(self, layout: MeasuredLayout, added: Sequence[Advice]) -> Advice | None:
        proposals = self.others
        effects = {column: self._effect(column, shares) for column, shares in layout.shares.items()}
        total = sum(map(self._uses, layout.columns), start=ConditionUsage())
        if total.scans < MIN_SCANS or not total.kept_bytes:
            return None
        # a scan with conditions on several columns counts for each of them, and reads its files once
        part = min(1.0, proposals.usage.scans / total.scans)
        saved = part * sum(saved for saved, _ in effects.values())
        saved -= proposals.lost_in_order([(column, False) for column in layout.shares], added)
        read, scans = total.kept_bytes * part, min(total.scans, proposals.usage.scans)
        if saved < WORTH * read:
            return None
        mean = proposals.all_bytes / proposals.snapshot.rows
        lacking = [each for each in layout.columns if proposals.bounds((each, False)) is None]
        then = part * sum(effects[column][1] for column in layout.columns)
        files = read / proposals.days / mean, then / proposals.days / mean
        figures = LayoutFigures(scans, files, self.trial.rows, saved / proposals.days, self._call(layout))
        text = layout_of_data(layout.columns, lacking, figures, proposals.usage)
        return Advice(
            "order", ", ".join(layout.columns), text, None, False, scans, saved / read, saved,
            proposals.per_day(saved), columns=layout.columns,
        )  # fmt: skip

    def _call(self, layout: MeasuredLayout) -> str:
        partitions = f", partition_by={list(self.trial.partitions)!r}" if self.trial.partitions else ""
        return f"xskip.cluster(df, by={list(layout.columns)!r}{partitions}, files={self.others.snapshot.rows})"

    def _uses(self, column: str) -> ConditionUsage:
        """Return the scans with conditions on a column that a layout helps."""
        uses = (self.others.ordered_uses((column, False), is_answered=each) for each in (True, False))
        return sum((use for each in uses for use in each.values()), start=ConditionUsage())

    def _effect(self, column: str, then: Shares) -> tuple[float, float]:
        """Return the bytes that scans with conditions on a column save if bounds rule out some shares of the files.

        The second number is that of the bytes that they then read.
        """
        operand, present = (column, False), self._present(column)
        gain = loss = read = 0.0
        for is_answered in (True, False):
            for kinds, use in self.others.ordered_uses(operand, is_answered=is_answered).items():
                rules_out = max(share_of(then, kinds), share_of(present.others, kinds))
                in_use = share_of(present.in_use, kinds) if is_answered else 0.0
                read += use.kept_bytes * (1 - rules_out) / (1 - in_use) if in_use < 1 else use.kept_bytes
                gain += self.others.gain(operand, use, (in_use, share_of(present.best, kinds), rules_out))
                if rules_out < in_use < 1:
                    loss += use.kept_bytes * (in_use - rules_out) / (1 - in_use)
        return gain - min(loss, self._ruled_out(column)), read

    def _ruled_out(self, column: str) -> float:
        """Return the bytes that the indexes on a column have ruled out, which no layout loses more of."""
        names = [str(definition) for definition, _ in self.others.snapshot.indexes if column in definition.columns]
        files = sum(self.others.usage.of(name).ruled_out for name in names)
        return files * self.others.all_bytes / max(self.others.snapshot.rows, 1)

    def _present(self, column: str) -> _PresentShares:
        present, measured = self.trial.present.get(column, {}), self.trial.operands.get((column, False))
        candidates = () if measured is None else measured.candidates
        without_bounds = [each for each in candidates if each.index_type != "minmax"]
        others = {
            kind: max((share_of(each.shares, (kind,)) for each in without_bounds), default=0.0) for kind in ORDERED
        }
        best = {kind: max(share, others[kind]) for kind, share in present.items()}
        return _PresentShares(present if self.others.bounds((column, False)) else {}, best, others)
