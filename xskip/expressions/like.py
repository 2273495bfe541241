"""Parsing of LIKE patterns."""

from __future__ import annotations

__all__ = ["like_parts", "split_like"]

#: The wildcards. Spark decodes both sides of LIKE, so that U+FFFD also represents bytes that are not valid UTF-8.
_WILD = "%_\ufffd"


def split_like(pattern: str, escape: str) -> tuple[str | None, str]:
    """Split a LIKE pattern into its literal beginning, without escapes, and the rest from its first wildcard on.

    None and the whole pattern if the beginning escapes an ordinary character, which Spark refuses.

    >>> split_like("a|_b%c", "|"), split_like("ab", "|"), split_like("a|b", "|")
    (('a_b', '%c'), ('ab', ''), (None, 'a|b'))
    """
    literal: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == escape:
            if pattern[at + 1 : at + 2] not in ("%", "_", escape):
                return None, pattern
            at += 1
            char = pattern[at]
        elif char in _WILD:
            return "".join(literal), pattern[at:]
        literal.append(char)
        at += 1
    return "".join(literal), ""


def like_parts(pattern: str, escape: str) -> list[str] | None:
    """Return the literal parts, possibly empty, before, between and after the wildcards of a LIKE pattern.

    None if the pattern escapes an ordinary character, which Spark refuses.

    >>> like_parts("a% b_", "|")
    ['a', ' b', '']
    """
    parts: list[str] = []
    rest = pattern
    while True:
        literal, rest = split_like(rest, escape)
        if literal is None:
            return None
        parts.append(literal)
        if not rest:
            return parts
        rest = rest[1:]
