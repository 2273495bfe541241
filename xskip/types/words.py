"""The words of texts in UTF-8."""

from __future__ import annotations

import re

__all__ = ["WORD", "words_of"]

#: A maximal run of ASCII letters, ASCII digits, underscores and bytes that are not ASCII.
WORD = re.compile(rb"[0-9A-Za-z_\x80-\xff]+")


def words_of(text: bytes) -> list[bytes]:
    """Return the words of a text.

    >>> words_of(b"GET /lake/events 200")
    [b'GET', b'lake', b'events', b'200']
    """
    return WORD.findall(text)
