"""Advice on the indexes of a dataset, from their statistics and from queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from xskip.inspection.bound_spread import RuledOut, ruled_out_by_bounds
from xskip.inspection.candidates import Trial
from xskip.inspection.description import cost_of
from xskip.inspection.layout_proposals import LayoutProposals
from xskip.inspection.proposals import Proposals, operand_of
from xskip.inspection.rewrite_proposals import RewriteProposals
from xskip.metadata.table import IndexColumn, IndexDefinition, IndexKey
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.advice import Advice, AdviceList
from xskip.results.advice_texts import cost_text, period_text, use_text
from xskip.results.index_usage import DatasetUsage
from xskip.results.render import percentage
from xskip.types.sort_keys import sort_key

__all__ = ["advise"]

#: Fewer files say nothing about an index.
_MIN_FILES = 8
#: Fewer scans say nothing about what queries filter.
_MIN_SCANS = 10
#: The share of files from which on statistics count as those of nearly all files.
_NEARLY_ALL = 0.9
#: The number of values in lists above which the lists are not counted.
_MAX_VALUES = 5_000_000
#: The index types that have bounds or numbers of NULLs for rewrites of plans.
_OF_REWRITES = ("minmax", "valuelist", "nullcount")


def advise(snapshot: Snapshot, dataset: str, usage: DatasetUsage, trial: Trial | None = None) -> AdviceList:
    """Return advice on the indexes of a snapshot.

    Parameters
    ----------
    snapshot : Snapshot
    dataset : str
        The root of the dataset.
    usage : DatasetUsage
        How queries have used the indexes.
    trial : Trial, optional
        What was measured for the operands without an index; None if nothing was.
    """
    usage = usage.among(str(definition) for definition, _ in snapshot.indexes)
    advice = tuple(_Adviser(snapshot, usage, trial).advice())
    return AdviceList(dataset, usage.scans, advice, 0 if trial is None else trial.files)


@dataclass(frozen=True, slots=True)
class _Adviser:
    snapshot: Snapshot
    usage: DatasetUsage
    #: None if nothing was measured.
    trial: Trial | None

    def advice(self) -> Iterator[Advice]:
        """Yield at most one piece of advice for each index, then the proposed indexes, then an order of the data."""
        present = {definition.key for definition, _ in self.snapshot.indexes}
        proposals = Proposals(self.snapshot, self.usage, self.trial)
        rewrites = RewriteProposals(proposals)
        added = tuple(proposals.indexes())
        replaced = {operand_of(each)[0] for each in added if each.index is not None}
        trial = self.trial
        layouts = LayoutProposals(proposals, trial) if trial is not None and trial.layouts else proposals
        orders = (layouts.order(added), rewrites.order(added))
        order = max(filter(None, orders), key=lambda each: each.saved_bytes or 0.0, default=None)
        ordered = () if order is None or order.is_expression else order.columns or (order.subject,)
        of_order = {("minmax", (column,)) for column in ordered}
        for definition, _ in self.snapshot.indexes:
            of_statistics = self._on_statistics(definition, present)
            found = of_statistics or self._on_use(definition)
            if found is not None and found.action == "change" and definition.columns[0] in replaced:
                found = replace(found, action="remove")  # by the index that the trial has chosen
            if found is not None and of_statistics is None:
                found = replace(found, is_of_process=self.usage.days is None)
            stays = (
                str(definition) in self.usage.useful or definition.key in of_order or self._is_of_rewrites(definition)
            )
            if found is not None and not (found.action == "remove" and stays):
                yield self._with_cost(found, definition, has_use=of_statistics is None)
        yield from added
        yield from rewrites.indexes(added)
        if order is not None:
            yield order

    def _is_of_rewrites(self, definition: IndexDefinition) -> bool:
        """Return whether an index has metadata of a column that rewrites of plans asked about."""
        return definition.name in _OF_REWRITES and definition.columns[0] in self.usage.rewrite_columns

    def _with_cost(self, advice: Advice, definition: IndexDefinition, *, has_use: bool) -> Advice:
        """Return advice with what the index costs and has given, unless it ``has_use`` in its text already."""
        size, seconds = cost_of(self.snapshot, definition.key)
        use = self.usage.of(str(definition))
        about = "" if has_use else use_text(use, self.usage)
        facts = ", and ".join(filter(None, (cost_text(size, seconds), about)))
        text = f"{advice.text}; {facts}" if facts else advice.text
        scans = use.scans if self.usage.scans else None
        return replace(advice, text=text, index=str(definition), scans=scans, cost_bytes=size, cost_seconds=seconds)

    def _on_statistics(self, definition: IndexDefinition, present: set[IndexKey]) -> Advice | None:
        """Return advice on an index whose statistics rule out nothing, or nothing that another index does not."""
        if self.snapshot.rows < _MIN_FILES:
            return None
        match definition.name:
            case "minmax":
                return self._on_bounds(definition)
            case "valuelist":
                return self._on_lists(definition)
            case "nullcount":
                return self._on_counts(definition)
            case "bloomfilter":
                fuller = [(name, definition.columns) for name in ("valuelist", "hybrid")]
                return next(filter(None, (self._on_filters(definition, key) for key in fuller if key in present)), None)
            case _:
                return None

    def _on_bounds(self, definition: IndexDefinition) -> Advice | None:
        values = self._values(definition)
        shares = None if values is None else _bounds_shares(values)
        if shares is None or shares.equal > 1 - _NEARLY_ALL:
            return None
        column = definition.columns[0]
        return Advice(
            "remove", str(definition),
            f"{definition} rules out next to nothing for values within the range of the data: on average "
            f"{percentage(shares.above, 1, 0)} of the files for {column} > value, {percentage(shares.below, 1, 0)} for "
            f"{column} < value, and {percentage(shares.equal, 1, 0)} for {column} = value; remove it, or write the "
            f"data ordered by {column}",
        )  # fmt: skip

    def _on_lists(self, definition: IndexDefinition) -> Advice | None:
        values = self._values(definition)
        if values is None:
            return None
        missing = values.null_count / len(values)
        if missing >= _NEARLY_ALL:
            return Advice(
                "change", str(definition),
                f"{definition} has no list for {percentage(missing, 1, 0)} of the files, because they have more values "
                "than max_values; replace it by BloomFilter or Hybrid",
            )  # fmt: skip
        share = _least_share(values)
        if share is None or share < _NEARLY_ALL:
            return None
        return Advice(
            "remove", str(definition),
            f"{definition} rules out next to nothing for values that a file has: each of them is in at least "
            f"{percentage(share, 1, 0)} of the files; remove it",
        )  # fmt: skip

    def _on_counts(self, definition: IndexDefinition) -> Advice | None:
        values = self._values(definition)
        if values is None or not pa.types.is_struct(values.type) or values.null_count:
            return None
        nulls, rows = (pc.struct_field(values, side) for side in (0, 1))
        if (
            nulls.null_count
            or rows.null_count
            or not pc.all(pc.and_(pc.greater(nulls, 0), pc.less(nulls, rows))).as_py()
        ):
            return None
        return Advice(
            "remove", str(definition),
            f"{definition} rules out nothing: every file has rows with NULL and rows without; remove it",
        )  # fmt: skip

    def _on_filters(self, definition: IndexDefinition, other: IndexKey) -> Advice | None:
        """Return advice on a filter beside an index that answers the same conditions, if that has all files."""
        fuller = next(each for each, _ in self.snapshot.indexes if each.key == other)
        values = self._values(fuller)
        if values is None or values.null_count or fuller.expression != definition.expression:
            return None
        on_fuller = self._on_lists(fuller) if fuller.name == "valuelist" else None
        if on_fuller is not None and on_fuller.action == "remove" and str(fuller) not in self.usage.useful:
            return None  # with both removed, nothing would rule out files for values that no file has
        form = "the list of values" if fuller.name == "valuelist" else "the list of values or a filter"
        return Advice(
            "remove", str(definition),
            f"{definition} adds nothing to {fuller}, which has {form} of every file and answers the same conditions; "
            "remove it",
        )  # fmt: skip

    def _on_use(self, definition: IndexDefinition) -> Advice | None:
        """Return advice on an index that the queries do not need."""
        use, scans = self.usage.of(str(definition)), self.usage.scans
        if scans < _MIN_SCANS or use.ruled_out:
            return None
        if not use.scans:
            return Advice(
                "remove", str(definition),
                f"no condition of {scans:,} scans of {period_text(self.usage)} concerns {definition}; remove it if "
                "other queries do not need it either",
            )  # fmt: skip
        if use.scans < _MIN_SCANS:
            return None
        return Advice(
            "change", str(definition),
            f"{definition} ruled out no file in {use.scans:,} scans of {period_text(self.usage)}; remove it, or choose "
            "another type",
        )  # fmt: skip

    def _values(self, definition: IndexDefinition) -> pa.Array | None:
        """Return the statistics of all files, or None if some cannot be read or prove nothing."""
        column: IndexColumn | None = self.snapshot.load([definition.key]).indexes.get(definition.key)
        if column is None or column.is_locked or column.unreadable or column.doubt or not len(column.values):
            return None
        return column.values


def _bounds_shares(bounds: pa.Array) -> RuledOut | None:
    """Return what the bounds of files rule out; None if too few files have bounds."""
    if not pa.types.is_struct(bounds.type):
        return None
    low, high = (pc.struct_field(bounds, side) for side in (0, 1))
    known = pc.and_(low.is_valid(), high.is_valid())
    low, high = low.filter(known), high.filter(known)
    return None if len(low) < _MIN_FILES else ruled_out_by_bounds(low, high)


def _least_share(lists: pa.Array) -> float | None:
    """Return the share of files that have the rarest value; None if there are too many values to count.

    >>> _least_share(pa.array([["a"], ["a", "b"], ["a", "b"], ["a", "b"]]))
    0.75
    """
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        return None
    values = lists.flatten()
    known = len(lists) - lists.null_count
    if known < _MIN_FILES // 2 or not 0 < len(values) <= _MAX_VALUES:
        return None
    return float(pc.min(sort_key(values).value_counts().field("counts")).as_py() / known)
