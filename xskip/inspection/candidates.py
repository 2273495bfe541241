"""The indexes that a trial measures for an operand: the share of files that each rules out, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.inspection.bound_spread import RuledOut, ruled_out_by_bounds, ruled_out_for_keys
from xskip.inspection.layouts import MeasuredLayout, Shares
from xskip.inspection.unread_files import unread_shares
from xskip.results.index_usage import KEYS, ConditionKind, ConditionUsage
from xskip.types import bloom_bits
from xskip.types.sort_keys import sort_key
from xskip.types.words import words_of

__all__ = [
    "Candidate",
    "Collected",
    "MeasuredOperand",
    "Operand",
    "Trial",
    "measured",
    "share_of",
    "spread_of",
    "texts_in",
]

_T = TypeVar("_T")
#: A column or expression, and whether it is an expression.
Operand = tuple[str, bool]
#: The number of values that are looked up in filters.
_PROBES = 64
#: The share of files that must have a list of their values for the list to count.
_NEARLY_ALL = 0.9
#: The length of the prefixes that stand for those of queries, in bytes. It is that of the index type Prefix.
_PREFIX = 8
#: The length of the lists of an index with the default parameters.
_MAX_LISTED = 10_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """An index that a dataset could have on an operand."""

    index_type: str
    #: The mean shares of the files that the index rules out, by the kinds of conditions that it answers.
    shares: Mapping[ConditionKind, float]
    #: The mean size of the compressed statistics of a file.
    bytes_per_file: float
    #: The mean time that the statistics of a file take; None if it is not known.
    seconds_per_file: float | None = None

    def saved(self, uses: Mapping[tuple[ConditionKind, ...], ConditionUsage]) -> float:
        """Return the bytes that scans do not read with the index, of those that they read.

        The files that other indexes keep are taken to be ruled out in the same share as all files.
        """
        return sum(use.kept_bytes * share_of(self.shares, kinds) for kinds, use in uses.items())


@dataclass(frozen=True, slots=True)
class MeasuredOperand:
    """The candidates that a trial has measured for an operand, and the values of the operand."""

    candidates: tuple[Candidate, ...]
    #: None if the operand has no bounds.
    bounds: RuledOut | None = None
    #: The number of different values in the files of the trial; None if there are too many.
    distinct: int | None = None
    #: The shares of files that rewrites of plans need not read with bounds of the operand, by what they need.
    unread: Mapping[ConditionKind, float] = field(default_factory=dict)
    #: The mean share of files that bounds rule out for a value that files have; None if their values are not known.
    for_values: float | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """The files that a trial has read, and what it has measured."""

    files: int
    operands: Mapping[Operand, MeasuredOperand] = field(default_factory=dict)
    #: The number of rows that stand for all in layouts, and the shares of files that bounds rule out by columns: in the
    #: present layout, and in others.
    rows: int = 0
    present: Mapping[str, Shares] = field(default_factory=dict)
    layouts: tuple[MeasuredLayout, ...] = ()
    #: The partition columns of the dataset.
    partitions: tuple[str, ...] = ()


def share_of(shares: Mapping[ConditionKind, float], kinds: tuple[ConditionKind, ...]) -> float:
    """Return the share of files that one of several conditions rules out: at least that of the best one."""
    return max((shares.get(kind, 0.0) for kind in kinds), default=0.0)


@dataclass(frozen=True, slots=True)
class Collected:
    """The statistics of some files for an index, and what they cost."""

    values: pa.Array
    bytes: int
    #: None if the time is not known.
    seconds: float | None = None


def measured(collected: Mapping[str, Collected], files: int, fpp: float) -> MeasuredOperand:
    """Return what the statistics of some files say, by the names of the index types that have collected them.

    ``files`` is the number of all files of the dataset, and ``fpp`` the false positive rate of the filters.
    """
    statistics = {name: each.values for name, each in collected.items()}
    lists = statistics.get("valuelist")
    bounds = spread_of(statistics.get("minmax"))
    shares = _shares(statistics, lists, bounds, fpp)
    read = max((len(each) for each in statistics.values()), default=0)
    for name in shares.keys() & {"valuelist", "bloomfilter", "prefix", "tokenbloom"}:
        shares[name] = {kind: _of_all(share, read, files) for kind, share in shares[name].items()}
    candidates = []
    for name, kinds in shares.items():
        if name in ("valuelist", "prefix") and not _are_short(statistics[name]):
            continue
        found = collected[name]
        useful = {kind: share for kind, share in kinds.items() if share > 0}
        per_file = None if found.seconds is None else found.seconds / read
        candidates.append(Candidate(name, useful, found.bytes / read, per_file))
    counted = lists is not None and lists.null_count == 0 and _is_list(lists)
    distinct = int(pc.count_distinct(sort_key(lists.flatten())).as_py()) if counted and lists is not None else None
    unread = unread_shares(statistics.get("minmax"), statistics.get("nullcount"))
    for_values = _ruled_out_for_values(statistics.get("minmax"), lists)
    for_values = None if for_values is None else _of_all(for_values, read, files)
    return MeasuredOperand(tuple(candidates), bounds, distinct, unread, for_values)


def _shares(
    statistics: Mapping[str, pa.Array], lists: pa.Array | None, bounds: RuledOut | None, fpp: float
) -> dict[str, dict[ConditionKind, float]]:
    """Return the shares of files that each index type rules out, by the kinds of conditions."""
    shares: dict[str, dict[ConditionKind, float]] = {}
    if bounds is not None:
        # A prefix is a narrow range.
        shares["minmax"] = {
            "equal": bounds.equal, "above": bounds.above, "below": bounds.below, "prefix": bounds.equal,
        }  # fmt: skip
        shares["minmax"] |= _of_keys(statistics["minmax"])
    elif "minmax" in statistics:
        shares["minmax"] = {}
    of_values = None if lists is None else _absent(lists)
    if of_values is not None and lists is not None:
        shares["valuelist"] = {"equal": of_values}
        shares["valuelist"].update({kind: _absent_keys(lists, keys) for kind, keys in KEYS.items()})
        prefixes = _prefixes(lists)
        absent = None if prefixes is None else _absent(prefixes)
        if absent is not None:
            shares["valuelist"]["prefix"] = absent
    absent = _absent(statistics["prefix"]) if "prefix" in statistics else None
    if absent is not None:
        shares["prefix"] = {"equal": absent, "prefix": absent}
    words = _absent_words(statistics["tokenbloom"], statistics) if "tokenbloom" in statistics else None
    if words is not None:
        shares["tokenbloom"] = {"words": words}
    if "bloomfilter" in statistics:
        # A filter admits a value that the file lacks at the rate ``fpp``.
        looked_up = _absent_in_filters(statistics["bloomfilter"], statistics.get("minmax"))
        share = looked_up if of_values is None else of_values * (1 - fpp)
        shares["bloomfilter"] = {} if share is None else {"equal": share}
        if of_values is not None and lists is not None:
            shares["bloomfilter"] |= {k: _absent_keys(lists, n) * (1 - fpp) ** n for k, n in KEYS.items()}
    if "nullcount" in statistics:
        nulls = pc.struct_field(statistics["nullcount"], 0)
        shares["nullcount"] = {"null": float(pc.mean(pc.fill_null(pc.equal(nulls, 0), False)).as_py())}
    return shares


def _of_all(share: float, read: int, files: int) -> float:
    """Return the share of all files that lack a value, from the share of those of a trial.

    >>> _of_all(0.75, 4, 16)
    0.9375
    """
    # A value comes from one of the t files of the trial. Of the other t - 1 files, share * t lack it, and so does the
    # same part of the n - 1 other files of the dataset.
    return share * read / (read - 1) * (files - 1) / files if read > 1 and files > read else share


def spread_of(bounds: pa.Array | None) -> RuledOut | None:
    """Return what the bounds of files rule out; None without bounds of nearly all files."""
    if bounds is None or not pa.types.is_struct(bounds.type) or not len(bounds):
        return None
    low, high = _known_sides(bounds)
    return None if len(low) < _NEARLY_ALL * len(bounds) else ruled_out_by_bounds(low, high)


def _known_sides(bounds: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the least and the greatest values of the files that have both."""
    low, high = (pc.struct_field(bounds, side) for side in (0, 1))
    known = pc.and_(low.is_valid(), high.is_valid())
    return low.filter(known), high.filter(known)


def _ruled_out_for_values(bounds: pa.Array | None, lists: pa.Array | None) -> float | None:
    """Return the mean share of files that bounds rule out for a value of complete lists.

    >>> bounds = pa.StructArray.from_arrays([pa.array([0, 0, 5, 5]), pa.array([0, 5, 5, 5])], ["min", "max"])
    >>> _ruled_out_for_values(bounds, pa.array([[0], [0, 5], [5], [5]]))
    0.375
    """
    if (
        bounds is None
        or not pa.types.is_struct(bounds.type)
        or lists is None
        or not _is_list(lists)
        or lists.null_count
    ):
        return None
    low, high = _known_sides(bounds)
    values = lists.flatten()
    if not len(low) or not len(values) or values.type != low.type:
        return None
    values = values.take(pc.array_sort_indices(sort_key(values)))
    shares = [pc.mean(pc.or_(pc.less(high, v), pc.greater(low, v))).as_py() for v in _some(values.unique())]
    return float(np.mean(shares))


def _is_list(values: pa.Array) -> bool:
    return bool(pa.types.is_list(values.type) or pa.types.is_large_list(values.type))


def _are_short(lists: pa.Array) -> bool:
    """Return whether nearly all lists are as short as those of an index with the default parameters."""
    lengths = pc.fill_null(pc.list_value_length(lists), _MAX_LISTED + 1)
    return bool(pc.mean(pc.less_equal(lengths, _MAX_LISTED)).as_py() >= _NEARLY_ALL)


def _absent(lists: pa.Array) -> float | None:
    """Return the mean share of files that lack a value, over all values that a file has; None without enough lists.

    >>> _absent(pa.array([["a"], ["a"], ["a", "b"], ["b"]]))
    0.375
    """
    if not _is_list(lists) or lists.null_count > (1 - _NEARLY_ALL) * len(lists):
        return None
    values = lists.flatten()
    if not len(values):
        return None
    # Each value v is in count(v) of n files. The counts add up to the length of all lists, so that the mean of
    # 1 - count(v) / n over the d values is 1 - length / (n d). A file without a list is never ruled out.
    distinct = pc.count_distinct(sort_key(values)).as_py()
    known = len(lists) - lists.null_count
    return float(known - len(values) / distinct) / len(lists)


def _of_keys(bounds: pa.Array) -> dict[ConditionKind, float]:
    """Return the mean shares of the files that bounds rule out for some keys at random."""
    low, high = _known_sides(bounds)
    shares = {kind: ruled_out_for_keys(low, high, keys) for kind, keys in KEYS.items()}
    return {kind: share for kind, share in shares.items() if share is not None}


def _absent_keys(lists: pa.Array, keys: int) -> float:
    """Return the mean share of files that lack all of some keys, at random among the values that files have.

    >>> round(_absent_keys(pa.array([["a"], ["b"], ["c", "d"]]), 2), 3)
    0.389
    """
    # A file with l of d values lacks n keys with the probability C(d - l, n) / C(d, n), which is the product of
    # (d - l - i) / (d - i) for i from 0 to n - 1. With fewer values than keys, each value is a key.
    distinct = pc.count_distinct(sort_key(lists.flatten())).as_py()
    lengths = pc.list_value_length(lists).fill_null(distinct).to_numpy(zero_copy_only=False).astype(float)
    steps = np.arange(min(keys, distinct))
    left = np.clip(distinct - lengths[:, None] - steps, 0, None) / (distinct - steps)
    return float(left.prod(axis=1).mean())


def _prefixes(lists: pa.Array) -> pa.Array | None:
    """Return lists of the different prefixes of texts; None for other types."""
    kind = lists.type.value_type if _is_list(lists) else pa.null()
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        return None
    cut = [None if each is None else sorted({_bytes(v)[:_PREFIX] for v in each}) for each in lists.to_pylist()]
    return pa.array(cut, pa.list_(pa.binary()))


def _absent_in_filters(filters: pa.Array, bounds: pa.Array | None) -> float | None:
    """Return the mean share of filters that do not contain a value, for the bounds of files as values."""
    if bounds is None or not pa.types.is_struct(bounds.type):
        return None
    sides = pa.concat_arrays([pc.struct_field(bounds, side) for side in (0, 1)]).drop_null()
    if pa.types.is_date32(sides.type):
        sides = sides.view(pa.int32())
    elif pa.types.is_timestamp(sides.type):
        sides = sides.view(pa.int64())
    values = pc.unique(sides).to_pylist()
    return _absent_keys_in(filters, [value if isinstance(value, int) else _bytes(value) for value in values])


def _absent_words(filters: pa.Array, statistics: Mapping[str, pa.Array]) -> float | None:
    """Return the mean share of filters that do not contain a word, for words of the texts in other statistics."""
    return _absent_keys_in(filters, sorted({word for text in texts_in(statistics) for word in words_of(text)}))


def texts_in(statistics: Mapping[str, pa.Array]) -> list[bytes]:
    """Return some texts of a column: the bounds of files, and the values of lists."""
    bounds, lists = statistics.get("minmax"), statistics.get("valuelist")
    found = [] if bounds is None else [pc.struct_field(bounds, side) for side in (0, 1)]
    found += [] if lists is None or not _is_list(lists) else [lists.flatten()]
    values = (value for array in found for value in _some(pc.unique(array.drop_null()).to_pylist()))
    return [_bytes(value) for value in values if isinstance(value, str | bytes)]


def _absent_keys_in(filters: pa.Array, values: Sequence[int | bytes]) -> float | None:
    """Return the mean share of filters that do not contain a value, for some of the values."""
    chosen, among = _some(values), np.full(len(filters), True)
    absent = 0
    for key in chosen:
        found = bloom_bits.might_contain(filters, [bloom_bits.hash_value(key)], among)
        absent += pc.sum(pc.invert(pc.fill_null(found, True))).as_py() or 0
    return absent / (len(chosen) * len(filters)) if chosen and len(filters) else None


def _some(values: Sequence[_T]) -> list[_T]:
    """Return at most so many values as are looked up, spread evenly."""
    places = np.unique(np.linspace(0, len(values) - 1, min(len(values), _PROBES)).astype(int))
    return [values[i] for i in places]


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
