"""Patterns of paths whose places hold bounds of columns. Rules: specs/pruning.rst, [PRU-PB]."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast, get_args

from xskip.column_paths import split_path
from xskip.errors import IndexDefinitionError
from xskip.types.periods import PERIOD

__all__ = ["NUMBER", "PathPattern", "Place", "PlaceKind"]

#: What a place says about its column: a lower bound, an upper bound, the value of all rows, the period that contains
#: all values, the period whose start is a lower bound, or a part of the period that contains all values.
PlaceKind = Literal["min", "max", "value", "period", "since", "year", "month", "week", "day", "hour"]
#: The kinds of places that always hold the name of a period.
_PERIODS: tuple[PlaceKind, ...] = ("period", "since")
#: A regular expression for whole numbers; a number of 19 digits can be outside of int64.
NUMBER = r"-?[0-9]{1,19}"
#: The places that together hold the name of a period, and the combinations of them that do.
_PARTS: dict[PlaceKind, str] = {
    "year": "[0-9]{4}", "month": "[0-9]{1,2}", "week": "[0-9]{1,2}", "day": "[0-9]{1,2}", "hour": "[0-9]{1,2}",
}  # fmt: skip
_WHOLE: tuple[set[PlaceKind], ...] = (
    {"year"}, {"year", "month"}, {"year", "month", "day"}, {"year", "month", "day", "hour"}, {"year", "week"},
)  # fmt: skip
_TOKEN = re.compile(r"\{\{|\}\}|\{((?:`(?:[^`]|``)+`|[^{}:`])+)(?::([a-z]*))?\}|[{}]|\*")
_SYNTAX = "such as 'ts_{ts:min}_{ts:max}' or 'day={ts:period}/*'"


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a pattern; the column is as the pattern spells it."""

    column: str
    kind: PlaceKind

    def is_of(self, column: str) -> bool:
        """Return whether the place is about a column, without regard to case."""
        return _folded(self.column) == _folded(column)

    @property
    def has_low(self) -> bool:
        """Return whether the place gives a lower bound."""
        return self.kind != "max"

    @property
    def has_high(self) -> bool:
        """Return whether the place gives an upper bound."""
        return self.kind in ("max", "value", "period")

    @property
    def is_part(self) -> bool:
        """Return whether the place holds a part of the name of a period."""
        return self.kind in _PARTS

    @property
    def holds_period(self) -> bool:
        """Return whether the place holds the name of a period, whatever the type of the column is."""
        return self.kind in _PERIODS


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A pattern of the last components of a path."""

    #: The pattern in pieces: literal text, places, and None for ``*``.
    parts: tuple[str | Place | None, ...]

    @staticmethod
    def parse(text: str) -> PathPattern:
        """Parse a pattern: literal text with places in braces, see :class:`~xskip.indexes.pathbounds.PathBounds`.

        IndexDefinitionError if the text breaks a rule of [PRU-PB-1] or [PRU-PB-4].
        """
        if not isinstance(text, str):
            raise _invalid("is not a text", repr(text)[:100])
        parts = tuple(_merged(_tokens(text)))
        places = [part for part in parts if isinstance(part, Place)]
        if not places:
            raise _invalid("has no place", text)
        for before, after in pairwise(parts):
            # without text between them, a path can be split between both in several ways
            if not isinstance(before, str) and not isinstance(after, str):
                raise _invalid("has two places without text between them", text)
        spelled = {place.column for place in places}
        if len({_folded(column) for column in spelled}) < len({tuple(split_path(column)) for column in spelled}):
            raise _invalid("has columns whose names differ only in case", text)
        for column in spelled:
            kinds = [place.kind for place in places if place.column == column and place.is_part]
            if kinds and (len(set(kinds)) < len(kinds) or {*kinds} not in _WHOLE):
                raise _invalid(f"has parts of a period that are not a year, month, week, day or hour: {kinds}", text)
        return PathPattern(parts)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the places, in the order of their first places."""
        return tuple(dict.fromkeys(part.column for part in self.parts if isinstance(part, Place)))

    def places(self, column: str) -> list[Place]:
        """Return the places of a column."""
        return [part for part in self.parts if isinstance(part, Place) and part.is_of(column)]

    def regex(self, column: str, *, is_number: bool) -> str:
        """Return a regular expression with a group ``p0``, ``p1``, ... for each place of a column.

        ``is_number`` says whether places of kind ``min``, ``max`` and ``value`` of the column hold numbers, not
        periods. The syntax is what Python and RE2 share.
        """
        groups = 0
        # a pattern fits the last components of a path, also if the file name goes on with extensions [PRU-PB-2]
        pieces = ["(?s)^(?:.*/)?"]
        for part in self.parts:
            match part:
                case None:
                    pieces.append("[^/]*")
                case str():
                    pieces.append(re.escape(part))
                case Place() if part.is_of(column):
                    held = NUMBER if is_number and not part.holds_period else PERIOD
                    pieces.append(f"(?P<p{groups}>{_PARTS.get(part.kind, held)})")
                    groups += 1
                case Place():
                    held = PERIOD if part.holds_period else f"(?:{NUMBER}|{PERIOD})"
                    pieces.append(_PARTS.get(part.kind, held))
        return "".join(pieces) + r"(?:\.[^/]*)?$"


def _folded(column: str) -> tuple[str, ...]:
    return tuple(part.casefold() for part in split_path(column))


def _tokens(text: str) -> Iterator[str | Place | None]:
    end = 0
    for token in _TOKEN.finditer(text):
        yield text[end : token.start()]
        end = token.end()
        match token[0]:
            case "{{" | "}}":
                yield token[0][0]
            case "{" | "}":
                raise _invalid("has a single brace", text)
            case "*":
                yield None
            case _:
                yield _place(token[1], token[2] or "value", text)
    yield text[end:]


def _place(column: str, kind: str, text: str) -> Place:
    if kind not in get_args(PlaceKind):
        raise _invalid(f"has a place of unknown kind {kind!r}", text)
    try:
        split_path(column)
    except ValueError as error:
        raise _invalid(f"has a place without a valid column: {error}", text) from error
    return Place(column, cast(PlaceKind, kind))


def _merged(tokens: Iterator[str | Place | None]) -> Iterator[str | Place | None]:
    """Yield the tokens with adjacent texts joined and empty texts left out."""
    literal = ""
    for token in tokens:
        if isinstance(token, str):
            literal += token
            continue
        if literal:
            yield literal
        literal = ""
        yield token
    if literal:
        yield literal


def _invalid(problem: str, text: str) -> IndexDefinitionError:
    return IndexDefinitionError(f"the pattern of paths {problem}", found=text, expected=_SYNTAX)
