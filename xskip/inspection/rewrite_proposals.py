"""Proposals of indexes and of an order of the data that let rewrites of plans read fewer files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xskip.inspection.candidates import MeasuredOperand
from xskip.inspection.proposals import MIN_SCANS, WORTH, Proposals, Uses, columns_of_rewrites, definitions_of, is_secret
from xskip.metadata.table import index_text
from xskip.results.advice import Advice
from xskip.results.advice_texts import (
    ColumnNeeds,
    RewriteFigures,
    cost_text,
    index_for_rewrites,
    order_for_first_rows,
)
from xskip.results.index_usage import ORDERS, ConditionKind, ConditionUsage

__all__ = ["RewriteProposals", "unread_share"]

#: The kinds of needs that bounds and numbers of NULLs answer for all files all of whose rows match.
_ANSWERED_WHOLLY: frozenset[ConditionKind] = frozenset(("bounds", "count"))
#: The least share of files with one group, from which on the groups come from metadata.
_MOST_FILES = 0.5


@dataclass(frozen=True, slots=True)
class RewriteProposals:
    """The proposals for the rewrites of a dataset's queries, beside those for filters."""

    others: Proposals

    def indexes(self, added: Sequence[Advice]) -> Iterator[Advice]:
        """Yield the proposed indexes that are not among the added ones."""
        known = {str(definition).lower() for definition, _ in self.others.snapshot.indexes}
        known |= {(each.index or "").lower() for each in added}
        for column, uses in columns_of_rewrites(self.others.usage):
            needs = self._needs_of(column, uses)
            index = index_text(("nullcount" if needs.is_counted else "minmax", (column,)))
            if is_secret((column, False), definitions_of(self.others.snapshot)):
                text = index_for_rewrites(
                    f"an index on {column}", needs, self.others.usage, RewriteFigures(None, 0, "", False)
                )
                yield Advice("add", column, text, scans=needs.scans)
            elif index.lower() not in known:
                yield from self._index(index, needs, uses)

    def _index(self, index: str, needs: ColumnNeeds, uses: Uses) -> Iterator[Advice]:
        trial, usage = self.others.trial, self.others.usage
        measured = None if trial is None else trial.operands.get((needs.column, False))
        known = {kinds: share for kinds in uses if (share := unread_share(kinds, measured)) is not None}
        read = sum(use.kept_bytes for use in uses.values())
        saved = sum(uses[kinds].kept_bytes * share for kinds, share in known.items())
        if known and saved >= WORTH * read and read:
            cost_bytes, seconds = self._cost(index, measured)
            files = trial.files if trial is not None and not needs.kinds <= _ANSWERED_WHOLLY else 0
            figures = RewriteFigures(saved / self.others.days, files, cost_text(cost_bytes, seconds))
            text = index_for_rewrites(index, needs, usage, figures)
            yield Advice(
                "add", index, text, index, False, needs.scans, saved / read, saved, self.others.per_day(saved),
                cost_bytes, seconds,
            )  # fmt: skip
        elif len(known) < len(uses):
            figures = RewriteFigures(can_measure=trial is None)
            text = index_for_rewrites(f"an index on {needs.column}", needs, usage, figures)
            yield Advice("add", needs.column, text, scans=needs.scans)

    def _cost(self, index: str, measured: MeasuredOperand | None) -> tuple[int | None, float | None]:
        """Return the size and the time of an index for all files, as far as a trial has measured them."""
        candidates = () if measured is None else measured.candidates
        found = next((each for each in candidates if index.startswith(f"{each.index_type}(")), None)
        if found is None:
            return None, None
        files, seconds = self.others.snapshot.rows, found.seconds_per_file
        return round(found.bytes_per_file * files), None if seconds is None else seconds * files

    def order(self, added: Sequence[Advice]) -> Advice | None:
        """Return the order of the data that saves most for queries of first rows, or None if none saves enough."""
        columns = {each.operand for each in self.others.usage.conditions if not ORDERS.isdisjoint(each.kinds)}
        found = [each for column in sorted(columns) if (each := self._order(column, added)) is not None]
        return max(found, key=lambda each: each.saved_bytes or 0.0, default=None)

    def _order(self, column: str, added: Sequence[Advice]) -> Advice | None:
        trial, usage = self.others.trial, self.others.usage
        measured = None if trial is None else trial.operands.get((column, False))
        uses: dict[tuple[ConditionKind, ...], ConditionUsage] = {}
        read = 0.0
        for each, use in usage.conditions.items():
            if each.operand != column or ORDERS.isdisjoint(each.kinds):
                continue
            share = 0.0 if each.is_answered else unread_share(each.kinds, measured)
            if share is not None:
                uses[each.kinds] = uses.get(each.kinds, ConditionUsage()) + use
                read += use.kept_bytes * (1 - share)
        needs = self._needs_of(column, uses, read)
        mean = self.others.all_bytes / max(self.others.snapshot.rows, 1)
        saved = read - needs.scans * mean - self.others.lost_in_order([(column, False)], added)
        if needs.scans < MIN_SCANS or saved < WORTH * read:
            return None
        has_index = any(d.key == ("minmax", (column,)) for d, _ in self.others.snapshot.indexes)
        text = order_for_first_rows(needs, saved / self.others.days, usage, has_index=has_index)
        return Advice("order", column, text, None, False, needs.scans, saved / read, saved, self.others.per_day(saved))

    def _needs_of(self, column: str, uses: Uses, read: float | None = None) -> ColumnNeeds:
        kinds = frozenset(kind for each in uses for kind in each)
        total = sum(uses.values(), start=ConditionUsage())
        size = total.kept_bytes if read is None else read
        return ColumnNeeds(column, kinds, total.scans, size / self.others.days)


def unread_share(kinds: Sequence[ConditionKind], measured: MeasuredOperand | None) -> float | None:
    """Return the share of files that rewrites with some needs do not read with an index; None if it is not measured."""
    unread: Mapping[ConditionKind, float] = {} if measured is None else measured.unread
    shares = [1.0 if kind in _ANSWERED_WHOLLY else unread.get(kind) for kind in kinds]
    found = [share for share in shares if share is not None]
    if not found or len(found) < len(shares):
        return None
    least = min(found)
    return 0.0 if "group" in kinds and least < _MOST_FILES else least
