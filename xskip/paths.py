"""The check of paths that users pass."""

from __future__ import annotations

import os
from collections.abc import Iterable

from xskip.errors import ArgumentError, shown

__all__ = ["check_path"]


def check_path(path: object, name: str = "path", *, expected: str = "a path such as '/lake/events'") -> str:
    """Return a path as a text, or raise ArgumentError; ``name`` and ``expected`` are words of the error.

    >>> from pathlib import PurePosixPath
    >>> check_path(PurePosixPath("/lake/events"))
    '/lake/events'
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if isinstance(text, str) and text.strip():
        return text
    several = isinstance(path, Iterable) and not isinstance(path, (str, bytes))
    hint = "pass one path; index each directory separately, or their common parent directory" if several else None
    what = f"the {name} is empty" if isinstance(text, str) else f"the {name} is not a text"
    raise ArgumentError(what, found=shown(path), expected=expected, hint=hint)
