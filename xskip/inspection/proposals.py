"""Proposals of indexes and of an order of the data, from the conditions of queries and the measures of a trial."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xskip.inspection.bound_spread import RuledOut
from xskip.inspection.candidates import Candidate, Operand, Trial, share_of, spread_of
from xskip.metadata.table import IndexDefinition, index_text
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.advice import Advice
from xskip.results.advice_texts import OperandConditions, cost_text, index_to_add, index_to_measure, order_of_data
from xskip.results.index_usage import KEYS, ConditionKind, ConditionUsage, DatasetUsage

__all__ = [
    "CLOSE",
    "MIN_SCANS",
    "ORDERED",
    "WORTH",
    "Proposals",
    "columns_of_rewrites",
    "columns_to_order",
    "definitions_of",
    "is_secret",
    "operand_of",
    "operands_to_measure",
]

#: An operand that fewer scans have is not named.
MIN_SCANS = 3
#: The operands without an index that one call names at most, those of most scans first.
_MAX_OPERANDS = 5
#: The columns that a trial orders rows by at most.
_MAX_LAYOUT = 3
#: The least share of the bytes that an index or an order must save.
WORTH = 0.1
#: The share of what the best index saves that is enough for a smaller one.
CLOSE = 0.95
#: The kinds of conditions that statistics of one operand decide.
_MEASURED: tuple[ConditionKind, ...] = ("equal", "above", "below", "prefix", "null", *KEYS)
#: The kinds of conditions that an order helps.
ORDERED: tuple[ConditionKind, ...] = ("equal", "above", "below")
Uses = Mapping[tuple[ConditionKind, ...], ConditionUsage]


def operands_to_measure(snapshot: Snapshot, usage: DatasetUsage) -> dict[Operand, frozenset[ConditionKind]]:
    """Return the operands that a trial measures, with the kinds of their conditions."""
    unanswered = _without_index(snapshot, usage, with_useless=True)
    found = {operand: frozenset(kind for kinds in uses for kind in kinds) for operand, uses in unanswered}
    found = {operand: kinds for operand, kinds in found.items() if not kinds.isdisjoint(_MEASURED)}
    for column, uses in columns_of_rewrites(usage):
        kinds = found.get((column, False), frozenset[ConditionKind]())
        found[column, False] = kinds.union(kind for each in uses for kind in each)
    return {operand: kinds for operand, kinds in found.items() if not is_secret(operand, definitions_of(snapshot))}


def columns_to_order(snapshot: Snapshot, usage: DatasetUsage) -> tuple[str, ...]:
    """Return the columns by which a trial orders rows: those of whose conditions scans read most."""
    found: dict[Operand, ConditionUsage] = {}
    for condition, use in usage.conditions.items():
        operand = condition.operand, condition.is_expression
        if not condition.is_expression and not set(condition.kinds).isdisjoint(ORDERED):
            found[operand] = found.get(operand, ConditionUsage()) + use
    some = [
        each for each, use in found.items() if use.scans >= MIN_SCANS and not is_secret(each, definitions_of(snapshot))
    ]
    return tuple(column for column, _ in sorted(some, key=lambda each: -found[each].kept_bytes)[:_MAX_LAYOUT])


@dataclass(frozen=True, slots=True)
class Proposals:
    """The proposals for a dataset."""

    snapshot: Snapshot
    usage: DatasetUsage
    #: None if nothing was measured.
    trial: Trial | None

    def indexes(self) -> Iterator[Advice]:
        """Yield the proposed indexes."""
        for operand, uses in _without_index(self.snapshot, self.usage, with_useless=self.trial is not None):
            measured = None if self.trial is None else self.trial.operands.get(operand)
            can_measure = not all(set(kinds).isdisjoint(_MEASURED) for kinds in uses)
            can_measure = can_measure and not is_secret(operand, definitions_of(self.snapshot))
            if measured is not None:
                yield from self._measured(operand, uses, measured.candidates)
            elif self.trial is None or not can_measure:
                yield self._unmeasured(operand, uses, can_measure=can_measure)

    def order(self, added: Sequence[Advice]) -> Advice | None:
        """Return the order of the data that saves most beside the proposed indexes, or None if none saves enough."""
        operands = {(each.operand, each.is_expression): None for each in sorted(self.usage.conditions)}
        found = [each for operand in operands if (each := self._order(operand, added)) is not None]
        return max(found, key=lambda each: each.saved_bytes or 0.0, default=None)

    def _unmeasured(self, operand: Operand, uses: Uses, *, can_measure: bool) -> Advice:
        conditions = self._conditions(operand, uses)
        text = index_to_measure(conditions, self.usage, can_measure=can_measure)
        return Advice("add", operand[0], text, is_expression=operand[1], scans=conditions.scans)

    def _measured(self, operand: Operand, uses: Uses, candidates: tuple[Candidate, ...]) -> Iterator[Advice]:
        column, is_expression = operand
        present = {str(definition).lower() for definition, _ in self.snapshot.indexes}
        new = [each for each in candidates if index_text((each.index_type, (column,))).lower() not in present]
        read = _sum(uses).kept_bytes
        best = max((each.saved(uses) for each in new), default=0.0)
        if not read or best < WORTH * read:
            return
        close = [each for each in new if each.saved(uses) >= CLOSE * best]
        chosen = min(close, key=lambda each: each.bytes_per_file)
        saved, files = chosen.saved(uses), self.snapshot.rows
        cost_bytes = round(chosen.bytes_per_file * files)
        seconds = None if chosen.seconds_per_file is None else chosen.seconds_per_file * files
        index, conditions = index_text((chosen.index_type, (column,))), self._conditions(operand, uses)
        read_files = 0 if self.trial is None else self.trial.files
        text = index_to_add(
            index,
            conditions,
            self.usage,
            (saved / read, saved / self.days),
            (read_files, cost_text(cost_bytes, seconds)),
        )
        yield Advice(
            "add", index, text, index, is_expression, conditions.scans, saved / read, saved, self.per_day(saved),
            cost_bytes, seconds,
        )  # fmt: skip

    def _order(self, operand: Operand, added: Sequence[Advice]) -> Advice | None:
        answered, others = self.ordered_uses(operand, is_answered=True), self.ordered_uses(operand, is_answered=False)
        own = self.bounds(operand)
        measured = None if self.trial is None else self.trial.operands.get(operand)
        spread = own or (measured.bounds if measured else None)
        candidates = () if measured is None else measured.candidates
        total = _sum(answered) + _sum(others)
        if spread is None or total.scans < MIN_SCANS or not total.kept_bytes:
            return None
        now, then = _shares(spread), _sorted_shares(self._parts(operand))
        best = {kind: max((share_of(each.shares, (kind,)) for each in candidates), default=0.0) for kind in ORDERED}
        # The order competes with the best index on the operand, which can be one that the trial has measured.
        rivals = {kind: max(now[kind], best[kind]) for kind in ORDERED}
        gain = 0.0
        for uses, in_use in ((answered, now if own else {}), (others, {})):
            for kinds, use in uses.items():
                shares = (share_of(in_use, kinds), share_of(rivals, kinds), share_of(then, kinds))
                gain += self.gain(operand, use, shares)
        saved = gain - self.lost_in_order([operand], added)
        if saved < WORTH * total.kept_bytes:
            return None
        every = {**others, **answered}
        means = tuple(_mean(shares, answered, others) for shares in (rivals, then))
        conditions, signs = self._conditions(operand, {(): total}), {kind for each in every for kind in each}
        text = order_of_data(conditions, signs, (means[0], means[1]), saved / self.days, self.usage)
        return Advice(
            "order", operand[0], text, None, operand[1], total.scans, saved / total.kept_bytes, saved,
            self.per_day(saved),
        )  # fmt: skip

    def gain(self, operand: Operand, use: ConditionUsage, shares: tuple[float, float, float]) -> float:
        """Return the bytes that an order saves, of those that scans read.

        ``shares`` are those of the files that the bounds in use, the best index and the bounds in the order rule out.
        """
        # Scans read the share 1 - now of all that they could read. It is 1 - rival with the best index, and 1 - then in
        # the order: the order saves then - rival of 1 - now.
        now, rival, then = shares
        gain = use.kept_bytes * (then - rival) / (1 - now) if now <= rival < then else 0.0
        if any(d.columns == (operand[0],) and d.name != "minmax" for d, _ in self.snapshot.indexes):
            # Another index may keep fewer files than the bounds. In the new order, scans read 1 - then of all bytes.
            gain = min(gain, max(0.0, use.kept_bytes - use.scans * self.all_bytes * (1 - then)))
        return gain

    @property
    def all_bytes(self) -> int:
        """Return the size of all files."""
        return int(pc.sum(self.snapshot.load(()).files.sizes).as_py() or 0)

    def ordered_uses(self, operand: Operand, *, is_answered: bool) -> dict[tuple[ConditionKind, ...], ConditionUsage]:
        """Return the scans with conditions that an order helps."""
        uses: dict[tuple[ConditionKind, ...], ConditionUsage] = {}
        for each, use in self.usage.conditions.items():
            kinds = tuple(kind for kind in each.kinds if kind in ORDERED)
            if kinds and (each.operand, each.is_expression, each.is_answered) == (*operand, is_answered):
                uses[kinds] = uses.get(kinds, ConditionUsage()) + use
        return uses

    def bounds(self, operand: Operand) -> RuledOut | None:
        """Return the spread of the bounds in the metadata; None without an index of bounds on the column."""
        values = self._values(operand)
        return None if values is None else spread_of(values)

    def _values(self, operand: Operand) -> pa.Array | None:
        key, (column, is_expression) = ("minmax", (operand[0],)), operand
        on_column = any(d.key == key and d.expression is None for d, _ in self.snapshot.indexes)
        found = self.snapshot.load([key]).indexes.get(key) if on_column and not is_expression and column else None
        if found is None or found.is_locked or found.unreadable or found.doubt:
            return None
        return found.values

    def _parts(self, operand: Operand) -> int:
        """Return into how many files with different values the ordered data can be divided, as far as is known."""
        measured = None if self.trial is None else self.trial.operands.get(operand)
        files, values = self.snapshot.rows, self._values(operand)
        if measured is not None and measured.distinct is not None:
            return min(files, measured.distinct)
        if values is not None and (width := _width(values)) is not None:
            return min(files, width + 1)
        return files

    def lost_in_order(self, operands: Collection[Operand], added: Sequence[Advice]) -> float:
        """Return the bytes that an order by operands, or one that was measured for them, loses at most.

        All indexes on other columns, also the proposed ones, are taken to rule out nothing in the new order.
        """
        mean = self.all_bytes / max(self.snapshot.rows, 1)
        known = {(operand,) for operand, _ in operands}
        others = (str(d) for d, _ in self.snapshot.indexes if d.columns not in known)
        proposed = sum(each.saved_bytes or 0.0 for each in added if operand_of(each) not in operands)
        return proposed + mean * sum(self.usage.of(name).ruled_out for name in others)

    @property
    def days(self) -> float:
        """Return the days that the bytes of scans are about; 1 for a process."""
        return 1.0 if self.usage.days_recorded is None else self.usage.days_recorded

    def per_day(self, count: float) -> float | None:
        """Return a number of bytes for a day of the history; None without one."""
        return None if self.usage.days_recorded is None else count / self.usage.days_recorded

    def _conditions(self, operand: Operand, uses: Uses) -> OperandConditions:
        total = _sum(uses)
        has_index = any(d.columns == (operand[0],) for d, _ in self.snapshot.indexes)
        is_key = all(not set(kinds).isdisjoint(KEYS) for kinds in uses if kinds)
        bytes_read = total.kept_bytes / self.days
        return OperandConditions(
            operand[0], total.scans, self.usage.scans, bytes_read, has_index, is_key and () not in uses
        )


def _without_index(snapshot: Snapshot, usage: DatasetUsage, *, with_useless: bool) -> Iterator[tuple[Operand, Uses]]:
    """Yield the operands that most scans have without an index, with their conditions.

    ``with_useless`` also yields operands whose indexes have ruled out no file: what scans read is as without them.
    """
    used = {d.columns[0] for d, _ in snapshot.indexes if d.expression is None and usage.of(str(d)).ruled_out}
    found: dict[Operand, dict[tuple[ConditionKind, ...], ConditionUsage]] = {}
    for condition, use in usage.conditions.items():
        if condition.is_of_rewrite:
            continue
        if not condition.is_answered or (with_useless and condition.operand not in used):
            uses = found.setdefault((condition.operand, condition.is_expression), {})
            uses[condition.kinds] = uses.get(condition.kinds, ConditionUsage()) + use
    for uses in found.values():
        if any(not set(kinds).isdisjoint(KEYS) for kinds in uses):
            uses.pop(("other",), None)  # the test for NULL that Spark adds to the scan of the same join
    scans = sorted(found.items(), key=lambda item: (-_sum(item[1]).scans, item[0]))
    yield from ((operand, uses) for operand, uses in scans[:_MAX_OPERANDS] if _sum(uses).scans >= MIN_SCANS)


def columns_of_rewrites(usage: DatasetUsage) -> Iterator[tuple[str, Uses]]:
    """Yield the columns of which rewrites of most scans lack metadata, with what they need."""
    found: dict[str, dict[tuple[ConditionKind, ...], ConditionUsage]] = {}
    for condition, use in usage.conditions.items():
        if condition.is_of_rewrite and not condition.is_answered:
            found.setdefault(condition.operand, {})[condition.kinds] = use
    scans = sorted(found.items(), key=lambda item: (-_sum(item[1]).scans, item[0]))
    yield from ((column, uses) for column, uses in scans[:_MAX_OPERANDS] if _sum(uses).scans >= MIN_SCANS)


def operand_of(added: Advice) -> Operand:
    """Return the operand of the index that advice adds."""
    _, _, column = (added.index or "").removesuffix(")").partition("(")
    return column, added.is_expression


def is_secret(operand: Operand, definitions: Iterable[IndexDefinition]) -> bool:
    """Return whether an index on an operand can tell values of a column that an encrypted index covers."""
    secret = {path for definition in definitions if definition.key_label is not None for path in definition.paths}
    text = operand[0].lower().replace("`", "")
    names = {re.escape(".".join(path).lower()) for path in secret}
    return any(re.search(rf"(?<!\w){name}(?!\w)", text) for name in names)


def definitions_of(snapshot: Snapshot) -> list[IndexDefinition]:
    """Return the definitions of the indexes of a snapshot."""
    return [definition for definition, _ in snapshot.indexes]


def _sum(uses: Uses) -> ConditionUsage:
    return sum(uses.values(), start=ConditionUsage())


def _shares(spread: RuledOut) -> dict[ConditionKind, float]:
    return {"equal": spread.equal, "above": spread.above, "below": spread.below}


def _sorted_shares(parts: int) -> dict[ConditionKind, float]:
    """Return the shares of files that bounds rule out of data that is sorted into a number of parts.

    >>> _sorted_shares(4)
    {'equal': 0.75, 'above': 0.375, 'below': 0.375}
    """
    # The bounds of the parts divide the range of the data: part i has the share w(i) of the range, and all w(i) add up
    # to at most 1. A value at random in the range is in part i with the probability w(i), so that on average at most
    # one of n parts can have it, and the others, 1 - 1/n, are ruled out: some by their greatest value, the others by
    # their least one. Each of ">" and "<" rules out one of both groups, on average half of them if the values are as
    # frequent in one half of the range as in the other. Files with one common value count as one part, because a
    # condition on the value reads all of them: with d different values, there are at most d parts.
    equal = 1 - 1 / max(parts, 1)
    return {"equal": equal, "above": equal / 2, "below": equal / 2}


def _mean(shares: Mapping[ConditionKind, float], *groups: Uses) -> float:
    """Return the mean share over scans."""
    total = sum(_sum(uses).scans for uses in groups)
    return sum(share_of(shares, kinds) * use.scans for uses in groups for kinds, use in uses.items()) / total


def _width(bounds: pa.Array) -> int | None:
    """Return the difference between the greatest and the least value of bounds of whole numbers; None for others."""
    kind = bounds.type[0].type
    if not (pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_boolean(kind)):
        return None
    number = pa.int8() if pa.types.is_boolean(kind) else pa.int32() if pa.types.is_date32(kind) else kind
    low, high = (pc.struct_field(bounds, side).cast(number) for side in (0, 1))
    least, greatest = pc.min(low).as_py(), pc.max(high).as_py()
    return None if least is None or greatest is None else int(greatest) - int(least)
