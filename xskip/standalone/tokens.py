"""The tokens of predicates in SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xskip.errors import PredicateError

__all__ = ["Token", "place_of", "tokenize"]

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--|/\*)
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
  | (?P<string>'(?:[^']|'')*')
  | (?P<name>[^\W\d]\w*|`(?:[^`]|``)+`)
  | (?P<symbol><=>|<=|>=|<>|!=|==|[=<>(),.+-])
  | (?P<other>"(?:[^"]|"")*"|\w+|[^'`"])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a predicate, with its position there."""

    #: number, string, name, symbol or other.
    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """Return a keyword or symbol in upper case; empty for other tokens, such as names in backticks."""
        return self.text.upper() if self.kind in ("name", "symbol") and not self.text.startswith("`") else ""


def place_of(text: str, start: int) -> str:
    """Return a part of a predicate with its place, counted from 1.

    >>> place_of("AN", 6)
    'AN at character 7'
    """
    return f"{text} at character {start + 1}"


def tokenize(text: str) -> list[Token]:
    """Split a predicate into tokens.

    >>> [token.text for token in tokenize("`a b` >= 1.5 AND s IN ('x')")]
    ['`a b`', '>=', '1.5', 'AND', 's', 'IN', '(', "'x'", ')']
    """
    tokens = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        kind = match.lastgroup if match else None
        if match is None or kind is None:
            raise PredicateError(
                "the predicate has an open quote", where=text, found=place_of(text[at], at), expected="another quote",
                hint="close the quote, and write a quote within a text twice: 'it''s'",
            )  # fmt: skip
        if kind == "comment":
            raise PredicateError(
                "the predicate contains a comment", where=text, found=place_of(match[0], at), hint="remove the comment"
            )
        # Engines disagree on where a string with a backslash before a quote ends.
        if kind in ("string", "other") and any(quote in match[0] for quote in ("\\'", '\\"')):
            raise PredicateError(
                "the predicate has a backslash before a quote, which only some engines read as an escape",
                where=text, found=place_of(match[0], at), hint="write a quote within a text twice: 'it''s'",
            )  # fmt: skip
        if kind != "space":
            tokens.append(Token(kind, match[0], at, match.end()))
        at = match.end()
    return tokens
