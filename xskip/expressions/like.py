"""LIKE patterns, taken apart."""

from __future__ import annotations

__all__ = ["like_parts", "split_like"]

#: LIKE decodes both sides: U+FFFD also stands for bytes that are no UTF-8.
_WILD = "%_\ufffd"


def split_like(pattern: str, escape: str) -> tuple[str | None, str]:
    """The literal beginning of a pattern, unescaped, and the rest from its first wildcard on.

    The beginning is None where an escape stands before an ordinary character in it, which Spark refuses.

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
    """The literal parts between a pattern's wildcards, the first and last of which can be empty; None where it is none.

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
