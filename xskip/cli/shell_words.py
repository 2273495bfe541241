"""Texts about calls in Python, in the words of the shell."""

from __future__ import annotations

import re

__all__ = ["in_shell_words"]

_COMMANDS = "create|refresh|drop|migrate|optimize|describe|status|validate|repair|adopt|vacuum"
_CALL = re.compile(rf"\b(?:call )?({_COMMANDS})\((?:\[\.\.\.\])?\)")
_OPTION = re.compile(r"\b(on_error|trust_listing|require_index)=('?)(\w+)\2")


def in_shell_words(text: str) -> str:
    """Return a text about calls in Python with the commands of the shell in their place.

    >>> in_shell_words("call refresh() to bring it up to date, or build with on_error='skip'")
    'run xskip refresh to bring it up to date, or build with --on-error skip'
    >>> in_shell_words("call adopt() if the dataset was moved, or create([...])")
    'run xskip adopt if the dataset was moved, or xskip create'
    >>> in_shell_words("expected: such as valuelist(city, max_values=100)")
    'expected: such as valuelist(city, max_values=100)'
    """
    text = _CALL.sub(lambda m: f"{'run ' if m[0].startswith('call ') else ''}xskip {m[1]}", text)
    return _OPTION.sub(lambda m: f"--{m[1].replace('_', '-')}" + ("" if m[3] == "True" else f" {m[3]}"), text)
