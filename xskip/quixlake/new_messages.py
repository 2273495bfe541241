"""The messages between two tokens: the segments, and the offsets in merged segments, that hold them. Rules: [QLK-TK].

A segment is new as a whole unless the token has it. A compaction merges segments that do not overlap, old and new ones
alike, so that of a merged segment the bounds of the old ones tell which messages are old.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import DatasetError, PredicateError
from xskip.quixlake.manifests import Manifest
from xskip.quixlake.merged_origins import COMPACTED, Check, Held, Origins, Place, overlapping
from xskip.quixlake.ranges import EVERY, NONE, Ranges, difference, union
from xskip.quixlake.token import TopicState, second_of

__all__ = ["NewMessages", "Part", "Present", "has_all", "is_fulfilled", "undecided", "within"]

_NEW_TOKEN = "read the topic whole, and go on with a new token"
_UNKNOWN = -1
_Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Part:
    """The messages of a segment that a read between two tokens returns; None if they cannot be told."""

    #: The offsets of the messages that are returned, and of those that the first token has.
    new: Ranges | None = EVERY
    old: Ranges = NONE
    #: What proves that the segment has replaced those of a token; empty if a manifest does.
    checks: tuple[Check, ...] = ()

    @property
    def is_needed(self) -> bool:
        """Return whether the segment can have new messages."""
        return self.new is None or bool(self.new)


@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """The segments and the compactions of a topic when it is read."""

    #: The path of the lake.
    root: str
    #: All segments of some stream keys, and a function that lists those of all stream keys.
    segments: pa.Table
    whole: Callable[[], pa.Table]
    #: The manifests of complete compactions by their tokens.
    manifests: Mapping[str, Manifest]
    #: The tokens of compactions that have ended by their numbers; the last one is always there.
    compactions: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class NewMessages:
    """The messages that came after one token and up to another; None leaves an end open."""

    since: TopicState | None
    until: TopicState | None

    def parts(self, present: Present) -> list[Part]:
        """Return the part of each segment of a topic."""
        before, after = (
            None if state is None else _Membership(state, argument, present).held()
            for state, argument in ((self.since, "since"), (self.until, "until"))
        )
        count = len(present.segments)
        pairs = zip(before or [Held(NONE)] * count, after or [Held(EVERY)] * count, strict=True)
        return [_part(then, now) for then, now in pairs]

    @staticmethod
    def needs_manifests(segments: pa.Table) -> bool:
        """Return whether a segment can be one that a compaction has added."""
        return bool(pc.any(pc.match_substring_regex(segments["path"], COMPACTED.pattern), min_count=0).as_py())


def _part(then: Held, now: Held) -> Part:
    if then.offsets is None or now.offsets is None:
        return Part(None)
    return Part(difference(now.offsets, then.offsets), then.offsets, (*then.checks, *now.checks))


@dataclass(frozen=True, slots=True)
class _Membership:
    """The messages of present segments that the state of a token has."""

    state: TopicState
    argument: str
    present: Present

    def held(self) -> list[Held]:
        """Return what the state has of each segment, or raise an error if it is not one of the topic."""
        self._check_past()
        found = self._held(self.present.segments)
        self._check_lake(found)
        return found

    def _held(self, segments: pa.Table) -> list[Held]:
        positions = self.state.positions(segments)
        found = [Held(EVERY if at >= 0 else NONE) for at in positions.tolist()]
        is_gone = np.ones(len(self.state.marks), np.bool_)
        is_gone[positions[positions >= 0]] = False
        origins = Origins(self.state, self.present.manifests)
        names = ["path", "start", "is_exact", "rows", *Place._fields]
        others = np.flatnonzero(positions < 0)
        for at, segment in zip(others.tolist(), segments.select(names).take(pa.array(others)).to_pylist(), strict=True):
            if suffix := COMPACTED.search(segment["path"]):
                manifest = self.present.manifests.get(suffix[1])
                held = None if manifest is None else origins.held(segment["path"], Place.of(segment), manifest)
                found[at] = self._gone_in(segment, is_gone) if held is None else held
        return found

    def _gone_in(self, segment: Mapping[str, Any], is_gone: _Mask) -> Held:
        """Return what a segment has if a manifest has gone: the segments of the state that have gone, too."""
        state = self.state
        at = np.flatnonzero(overlapping(state, Place.of(segment)) & is_gone)
        # a compaction merges only segments whose timestamps and numbers of messages are known
        counts = np.where(state.is_timed, state.rows, _UNKNOWN)
        first, last, rows, second = (each[at].tolist() for each in (state.first, state.last, counts, state.start))
        bounds, checks = union(zip(first, last, strict=True)), tuple(map(Check, first, last, rows, second))
        # a segment that has their messages has no others if the numbers are equal
        if bounds and _UNKNOWN not in rows and segment["is_exact"] and segment["rows"] == sum(rows):
            ends = segment["first"], segment["last"], second_of(segment["start"])
            if ends == (min(first), max(last), min(second)):
                return Held(EVERY)
        return Held(bounds, checks)

    def _check_past(self) -> None:
        """Raise an error if the topic is in a state from before the token, or is another one."""
        if not self.state.precedes(self.present.compactions):
            raise PredicateError(
                f"{self.argument} is a token of a later state of the topic, or of one that was deleted",
                where=self.present.root, found=f"compaction {max(self.present.compactions, default=0)}",
                expected=f"compaction {self.state.compaction.number} of the token or a later one",
                hint=f"if the lake was restored, or the topic created again, {_NEW_TOKEN}",
            )  # fmt: skip

    def _check_lake(self, found: Sequence[Held]) -> None:
        """Raise an error if the token seems to be one of another lake."""
        # a lake that was moved or copied has the segments of the token, at least those of other stream keys
        if self.state.is_of(self.present.root) or not len(self.state.marks) or not len(found) or _has_some(found):
            return
        if not _has_some(self._held(self.present.whole())):
            raise PredicateError(
                f"{self.argument} is a token of another lake, or its segments have gone since the lake was moved",
                where=self.present.root, found="a lake at another path, without the segments of the token",
                hint=_NEW_TOKEN,
            )  # fmt: skip


def _has_some(found: Sequence[Held]) -> bool:
    return any(each.offsets != NONE for each in found)


def within(messages: pa.Table, ranges: Ranges) -> pa.Table:
    """Return the messages whose offsets are in ranges; all of them if the ranges have every offset."""
    if ranges == EVERY:
        return messages
    return messages.filter(pa.array(_are_within(messages, ranges)))


def is_fulfilled(check: Check, messages: pa.Table) -> bool:
    """Return whether messages have all those of a segment that may have been replaced, or none."""
    found = within(messages, ((check.first, check.last),))
    if not len(found):
        return True
    bounds = pc.min_max(found["offset"]).as_py()
    return has_all(check, bounds["min"], bounds["max"], len(found), pc.min(found["timestamp"]).as_py())


def has_all(check: Check, first: int, last: int, rows: int, start: int | None) -> bool:
    """Return whether messages with these bounds are those of a segment."""
    found = (first, last, rows, None if start is None else second_of(start))
    return found == (check.first, check.last, check.rows, check.second)


def undecided(where: str) -> DatasetError:
    """Return the error of a merged segment whose origin cannot be told."""
    return DatasetError(
        "the new messages of a merged segment cannot be told from those before the token", where=where,
        found="no manifest of its compaction, or other messages than the token and the manifest say",
        hint=f"{_NEW_TOKEN}; read more often than replaced segments are cleaned",
    )  # fmt: skip


def _are_within(messages: pa.Table, ranges: Ranges) -> _Mask:
    offsets = messages["offset"]
    values = offsets.fill_null(0).to_numpy()
    found = np.zeros(len(values), np.bool_)
    for first, last in ranges:
        found |= (values >= first) & (values <= last)
    return np.asarray(found & offsets.is_valid().to_numpy())
