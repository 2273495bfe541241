"""The choice of indexes for a dataset, from a sample of its files and from what queries asked, within a budget.

.. code-block:: text

    bounds             of columns that order or cluster the files
    lists of values    of columns with few values in each file
    prefixes           of texts with few beginnings
    filters            of columns with many values; of words, where the texts have words
    numbers of NULLs   of chosen columns with NULLs

Rules: specs/reports.rst, [REP-CH].
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xskip.inspection.candidates import Candidate, MeasuredOperand, share_of
from xskip.inspection.proposals import CLOSE, MIN_SCANS, WORTH
from xskip.inspection.rewrite_proposals import unread_share
from xskip.metadata.table import IndexDefinition, IndexKey, index_text
from xskip.results.index_choice import ChoiceAction, ChoiceReason, ColumnChoice
from xskip.results.index_usage import ConditionKind
from xskip.results.workload import ColumnUses, Workload

__all__ = ["RATES", "Chooser", "PresentIndex", "SampledColumn", "is_left_to_queries"]

#: With fewer recorded scans, columns without conditions count as much as those with conditions.
_MIN_WORKLOAD = 10
#: Fewer files say nothing about an index.
_MIN_FILES = 4
#: The share of files that a present index must rule out to stay: less than for a new one, so that none comes and goes.
_STAYS = WORTH / 2
#: The number of columns with bounds, if no index rules out files or too few files can tell.
_MAX_UNMEASURED = 16
#: The mean number of values up to which no filter competes with a list.
_SHORT_LIST = 1000
#: The mean number of values of lists that are taken without a measure, and of those of texts of words.
_FEW_VALUES = 100
#: The rates of false positives of filters, of which the first one that keeps to the budget is chosen.
RATES = (0.01, 0.05, 0.1, 0.25)
_FILTERS = ("bloomfilter", "tokenbloom")
_LARGE = (*_FILTERS, "prefix")
#: The kinds of conditions by which an index type is judged without queries.
_JUDGED: Mapping[str, tuple[ConditionKind, ...]] = {
    "minmax": ("equal",), "valuelist": ("equal",), "prefix": ("prefix",), "bloomfilter": ("equal",),
    "tokenbloom": ("words",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SampledColumn:
    """A column, as a sample of the files shows it."""

    #: In Spark's spelling.
    name: str
    #: None if no index type of the choice has the column's type.
    measured: MeasuredOperand | None
    #: The mean number of different values in a file; None if files have too many.
    values: float | None = None
    has_nulls: bool = False
    #: Whether the values are texts of several words.
    has_words: bool = False
    #: Whether the column has an encrypted index, so that no other index may tell its values.
    is_secret: bool = False

    @property
    def has_few_values(self) -> bool:
        """Return whether lists of values are small beside filters."""
        return self.values is not None and self.values <= _SHORT_LIST


@dataclass(frozen=True, slots=True)
class PresentIndex:
    """An index that the dataset has."""

    definition: IndexDefinition
    #: None if it is not known.
    bytes: int | None = None
    #: Whether a choice can have made the index, so that another one can remove it.
    is_of_choice: bool = True

    @property
    def column(self) -> str:
        """Return the first column in lower case."""
        return self.definition.columns[0].lower()


@dataclass(frozen=True, slots=True)
class _Option:
    """An index that the dataset could get."""

    column: SampledColumn
    candidate: Candidate
    #: The share of what queries read, or of the files, that the index rules out beyond the other ones on the column.
    gain: float
    #: Smaller ones are chosen before others.
    tier: int
    #: The indexes of other types that rule out enough, the best one first: taken if this one is too large.
    others: tuple[Candidate, ...] = ()
    fpp: float | None = None

    @property
    def key(self) -> IndexKey:
        return self.candidate.index_type, (self.column.name,)


@dataclass(frozen=True, slots=True)
class Chooser:
    """A choice of indexes for one dataset."""

    columns: Sequence[SampledColumn]
    workload: Workload
    #: The number of files of the dataset, and of the sample.
    files: int
    sample: int
    #: The most bytes of metadata.
    budget: int
    present: Sequence[PresentIndex] = ()

    def choices(self) -> tuple[ColumnChoice, ...]:
        """Return the choice for each index and for each column without one."""
        staying = [self._staying(each) for each in self.present]
        kept = [index for index, choice in zip(self.present, staying, strict=True) if choice.is_chosen]
        spent = sum(each.bytes or 0 for each in kept)
        added = self._added(kept, spent) if self.sample >= _MIN_FILES else self._unmeasured(kept)
        if not any(each.is_chosen for each in added.values()) and all(_is_of_nulls(each) for each in kept):
            # one index that rules out nothing is better than none
            staying = [each if each.is_chosen else replace(each, action="keep", reason="last") for each in staying]
            kept = list(self.present)
            added |= {} if kept else self._for_aggregates()
        chosen = {key[1][0].lower() for key, each in added.items() if each.is_chosen}
        with_index = chosen | {each.column for each in kept}
        named = with_index | {key[1][0].lower() for key in added}
        nulls = self._null_counts(with_index, kept)
        without = [self._without(each) for each in self.columns if each.name.lower() not in named]
        return (*staying, *added.values(), *nulls, *without)

    # what stays

    def _staying(self, index: PresentIndex) -> ColumnChoice:
        """Return whether a present index stays, or is removed."""
        text, name, size = str(index.definition), index.definition.name, index.bytes
        column = next((each for each in self.columns if each.name.lower() == index.column), None)
        if column is None or not index.is_of_choice:
            return ColumnChoice("keep", text, "given" if not index.is_of_choice else "unmeasured", cost_bytes=size)
        if text in self.workload.useful:
            return ColumnChoice("keep", text, "useful", scans=self._scans(column), cost_bytes=size)
        if name == "nullcount":
            return ColumnChoice("keep", text, "nulls", cost_bytes=size)
        candidate = _candidate(column, name)
        if self.sample < _MIN_FILES:
            return replace(self._choice(column, candidate, text, "few_files"), action="keep", cost_bytes=size)
        if name in _LARGE and self.workload.scans >= _MIN_WORKLOAD and not self._uses(column):
            action: ChoiceAction = "remove" if self.workload.is_complete else "keep"
            return ColumnChoice(action, text, "not_queried", cost_bytes=size)
        if candidate is None or not _is_measured(column, candidate):
            return ColumnChoice("keep", text, "unmeasured", cost_bytes=size)
        share, judged = self._worth(column, candidate), _judged(column, candidate)
        if share >= _STAYS or (judged >= _STAYS and not self.workload.is_complete):
            return replace(self._choice(column, candidate, text, "rules_out"), action="keep", cost_bytes=size)
        reason: ChoiceReason = "alike" if judged < _STAYS else "not_answered"
        return ColumnChoice("remove", text, reason, judged, self._scans(column), cost_bytes=size)

    # what is added

    def _added(self, kept: Sequence[PresentIndex], spent: int) -> dict[IndexKey, ColumnChoice]:
        """Return the indexes that are added within the budget, those first that rule out most for their size."""
        options = [option for column in self.columns for option in self._options(column, kept)]
        options.sort(key=lambda each: (each.tier, -each.gain / max(each.candidate.bytes_per_file, 1.0)))
        added: dict[IndexKey, ColumnChoice] = {}
        for option in options:
            fitting = next((each for each in _sizes(option) if self._cost(each) <= self.budget - spent), None)
            chosen = fitting or option
            choice = self._choice(chosen.column, chosen.candidate, index_text(chosen.key), "rules_out")
            added[chosen.key] = replace(choice, fpp=chosen.fpp)
            if fitting is None:
                added[chosen.key] = replace(choice, action="none", reason="budget")
            else:
                spent += self._cost(chosen)
        return added

    def _options(self, column: SampledColumn, kept: Sequence[PresentIndex]) -> Iterator[_Option]:
        """Yield the indexes of a column that rule out enough: bounds, words, and the best one for single values."""
        if column.measured is None or column.is_secret:
            return
        on_column = [each.definition.name for each in kept if each.column == column.name.lower()]
        others = (each for each in column.measured.candidates if each.index_type in on_column)
        best = max((self._worth(column, each) for each in others), default=0.0)
        words = _candidate(column, "tokenbloom")
        is_of_words = column.has_words and not (column.values is not None and column.values <= _FEW_VALUES)
        bounds = None if is_of_words else _candidate(column, "minmax")
        if bounds is not None and "minmax" not in on_column and self._worth(column, bounds) - best >= WORTH:
            best = self._worth(column, bounds)
            yield _Option(column, bounds, best, 0)
        is_left = is_left_to_queries(self.workload, column.name)
        if words is not None and not is_left and "tokenbloom" not in on_column and self._worth(column, words) >= WORTH:
            yield _Option(column, words, self._worth(column, words), self._tier(column))
        single = [] if is_of_words or (is_left and not column.has_few_values) else self._single(column, best, on_column)
        if single:
            gain = self._worth(column, single[0]) - best
            yield _Option(column, single[0], gain, self._tier(column), tuple(single[1:]))

    def _single(self, column: SampledColumn, best: float, on_column: Sequence[str]) -> list[Candidate]:
        """Return the indexes for single values that rule out enough.

        The first one rules out as much as any other, and is the smallest such one. The best ones of the others follow.
        """
        assert column.measured is not None
        types = {"valuelist", "prefix", "bloomfilter"}.difference(on_column)
        some = [
            c for c in column.measured.candidates if c.index_type in types and self._worth(column, c) - best >= WORTH
        ]
        some.sort(key=lambda c: -self._worth(column, c))
        close = [c for c in some if self._worth(column, c) >= CLOSE * self._worth(column, some[0])]
        if not close:
            return []
        # a list also answers ranges, prefixes and NOT IN, which is worth twice the size of a filter
        first = min(close, key=lambda c: c.bytes_per_file * (1 if c.index_type == "valuelist" else 2))
        return [first, *(each for each in some if each is not first)]

    def _tier(self, column: SampledColumn) -> int:
        return 1 if self._scans(column) else 2

    def _unmeasured(self, kept: Sequence[PresentIndex]) -> dict[IndexKey, ColumnChoice]:
        """Return the indexes for a dataset of too few files to measure: bounds, and short lists."""
        added: dict[IndexKey, ColumnChoice] = {}
        columns = {each.column for each in kept}
        for column in self.columns:
            is_new = column.name.lower() not in columns
            if column.is_secret or column.has_words or (is_new and len(columns) >= _MAX_UNMEASURED):
                continue
            is_short = column.values is not None and column.values <= _FEW_VALUES
            for name in ("minmax", "valuelist") if is_short else ("minmax",):
                found = _candidate(column, name)
                if found is not None and not _has(kept, name, column):
                    key = name, (column.name,)
                    added[key] = self._choice(column, found, index_text(key), "few_files")
                    columns.add(column.name.lower())
        return added

    def _for_aggregates(self) -> dict[IndexKey, ColumnChoice]:
        """Return bounds of some columns, for a dataset whose files no index tells apart; of texts as a last resort."""
        added: dict[IndexKey, ColumnChoice] = {}
        for column in sorted(self.columns, key=lambda each: each.has_words)[:_MAX_UNMEASURED]:
            found, key = _candidate(column, "minmax"), ("minmax", (column.name,))
            if found is not None and not column.is_secret and not (column.has_words and added):
                added[key] = replace(self._choice(column, found, index_text(key), "aggregates"), share=None)
        return added

    def _null_counts(self, with_index: set[str], kept: Sequence[PresentIndex]) -> Iterator[ColumnChoice]:
        """Yield numbers of NULLs for the columns with NULLs that have an index, or whose NULLs queries asked for."""
        for column in self.columns:
            kinds = {kind for each in self._uses(column) for kind in each}
            is_wanted = column.name.lower() in with_index or not kinds.isdisjoint(("null", "count"))
            if is_wanted and column.has_nulls and not column.is_secret and not _has(kept, "nullcount", column):
                text = index_text(("nullcount", (column.name,)))
                yield self._choice(column, _candidate(column, "nullcount"), text, "nulls")

    def _without(self, column: SampledColumn) -> ColumnChoice:
        """Return why a column has no index."""
        if column.is_secret:
            return ColumnChoice("none", column.name, "encrypted")
        if column.measured is None or not column.measured.candidates:
            return ColumnChoice("none", column.name, "unsupported")
        if self.sample < _MIN_FILES:
            return ColumnChoice("none", column.name, "few_files")
        share = max((_judged(column, each) for each in column.measured.candidates), default=0.0)
        if is_left_to_queries(self.workload, column.name) and (share >= WORTH or not column.has_few_values):
            return ColumnChoice("none", column.name, "not_queried", share)
        return ColumnChoice(
            "none", column.name, "alike" if share < WORTH else "not_answered", share, self._scans(column)
        )

    # what an index is worth

    def _choice(
        self, column: SampledColumn, candidate: Candidate | None, text: str, reason: ChoiceReason
    ) -> ColumnChoice:
        """Return the choice of an index with its figures."""
        if candidate is None:
            return ColumnChoice("add", text, reason)
        kinds, seconds = _JUDGED.get(candidate.index_type, ()), candidate.seconds_per_file
        values = column.values if candidate.index_type == "valuelist" else None
        read, saved = self._bytes(column, candidate)
        return ColumnChoice(
            "add", text, reason, _judged(column, candidate) if kinds else None, self._scans(column),
            saved if read else None, saved / read if read else None, round(candidate.bytes_per_file * self.files),
            None if seconds is None else seconds * self.files, values,
        )  # fmt: skip

    def _worth(self, column: SampledColumn, candidate: Candidate) -> float:
        """Return the share of the bytes of recorded scans, or of the files, that an index rules out."""
        read, saved = self._bytes(column, candidate)
        return saved / read if read else _judged(column, candidate)

    def _bytes(self, column: SampledColumn, candidate: Candidate) -> tuple[float, float]:
        """Return the bytes of recorded scans, and those that an index alone would have saved; 0 if it is not known.

        The records do not tell which conditions of other kinds an index answers, such as those that need words.
        """
        uses = {kinds: use for kinds, use in self._uses(column).items() if kinds != ("other",)}
        if not self._scans(column) or candidate.index_type in ("tokenbloom", "nullcount"):
            return 0.0, 0.0
        saved = 0.0
        for kinds, use in uses.items():
            unread = unread_share(kinds, column.measured) if candidate.index_type == "minmax" else None
            saved += use.kept_bytes * max(share_of(candidate.shares, kinds), unread or 0.0)
        return float(sum(use.kept_bytes for use in uses.values())), saved

    def _uses(self, column: SampledColumn) -> ColumnUses:
        return self.workload.uses.get(column.name.lower(), {})

    def _scans(self, column: SampledColumn) -> int | None:
        """Return the number of scans that need a column; None if they are too few to count."""
        return _scans_of(self.workload, column.name) or None

    def _cost(self, option: _Option) -> int:
        return round(option.candidate.bytes_per_file * self.files)


def _sizes(option: _Option) -> Iterator[_Option]:
    """Yield an index, then those of other types in its place; and after each filter, smaller ones."""
    for candidate in (option.candidate, *option.others):
        yield replace(option, candidate=candidate)
        if candidate.index_type in _FILTERS:
            for rate in RATES[1:]:
                # a filter of a set has -log(rate) / log(2)^2 bits per value
                size = candidate.bytes_per_file * math.log(rate) / math.log(RATES[0])
                shares = {kind: share * (1 - rate) for kind, share in candidate.shares.items()}
                yield replace(option, fpp=rate, candidate=replace(candidate, bytes_per_file=size, shares=shares))


def is_left_to_queries(workload: Workload, column: str) -> bool:
    """Return whether queries are known, and too few have a condition on a column for a large index."""
    return workload.scans >= _MIN_WORKLOAD and not _scans_of(workload, column)


def _scans_of(workload: Workload, column: str) -> int:
    """Return the number of scans that need a column; 0 if they are too few to count."""
    scans = sum(use.scans for use in workload.uses.get(column.lower(), {}).values())
    return scans if scans >= MIN_SCANS else 0


def _candidate(column: SampledColumn, index_type: str) -> Candidate | None:
    candidates = () if column.measured is None else column.measured.candidates
    return next((each for each in candidates if each.index_type == index_type), None)


def _judged(column: SampledColumn, candidate: Candidate) -> float:
    """Return the share of files that an index rules out for a value of the column, or a word."""
    if candidate.index_type == "minmax" and column.measured is not None and column.measured.for_values is not None:
        return column.measured.for_values
    return share_of(candidate.shares, _JUDGED.get(candidate.index_type, ()))


def _is_measured(column: SampledColumn, candidate: Candidate) -> bool:
    """Return whether the sample tells what an index rules out."""
    if candidate.index_type == "minmax":
        measured = column.measured
        return measured is not None and (measured.bounds is not None or measured.for_values is not None)
    return candidate.index_type not in _FILTERS or bool(candidate.shares)


def _is_of_nulls(index: PresentIndex) -> bool:
    return index.definition.name == "nullcount"


def _has(indexes: Sequence[PresentIndex], name: str, column: SampledColumn) -> bool:
    return any((each.definition.name, each.column) == (name, column.name.lower()) for each in indexes)
