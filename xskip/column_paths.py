"""Paths of columns, in Spark's spelling and as tuples of names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["columns_in", "in_backticks", "join_path", "quoted", "split_path"]


def columns_in(node: Any) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the columns in an expression in the hook's encoding, including repeats.

    >>> list(columns_in(["Subtract", ["$", ["a"], "int"], ["$", ["s", "b"], "int"]]))
    [('a',), ('s', 'b')]
    """
    match node:
        case ["$", [*path], _]:
            yield tuple(map(str, path))
        case [*parts]:
            for part in parts:
                yield from columns_in(part)
        case _:
            return


def join_path(path: tuple[str, ...]) -> str:
    """Return a path in Spark's spelling: dots join the fields, and backticks quote a name with a dot or a backtick."""
    return ".".join(in_backticks(part) if "." in part or "`" in part else part for part in path)


def quoted(text: str) -> str:
    """Return a path in Spark's spelling with backticks around every name, which is valid SQL for all names.

    >>> quoted("a.`b.c`.d e")
    '`a`.`b.c`.`d e`'
    """
    return ".".join(map(in_backticks, split_path(text)))


def in_backticks(name: str) -> str:
    """Return a name in backticks, which is valid SQL for all names."""
    return "`" + name.replace("`", "``") + "`"


def split_path(text: str) -> tuple[str, ...]:
    """Split a path in Spark's spelling into its fields; the inverse of :func:`join_path`.

    ValueError if a name is empty, a backtick is not closed, or text follows a closing backtick.
    """
    parts: list[str] = []
    rest = text
    while True:
        if rest.startswith("`"):
            name, rest = _quoted(rest, text)
        else:
            name, dot, tail = rest.partition(".")
            rest = dot + tail
        if not name:
            raise ValueError(f"the column path has an empty name: {text!r}")
        parts.append(name)
        if not rest:
            return tuple(parts)
        if not rest.startswith("."):
            raise ValueError(f"the column path has text after a closing backtick: {text!r}")
        rest = rest[1:]


def _quoted(rest: str, text: str) -> tuple[str, str]:
    """Return the name in backticks at the start of ``rest``, and the text after the name."""
    end = 1
    while True:
        end = rest.find("`", end)
        if end < 0:
            raise ValueError(f"the column path has an open backtick: {text!r}")
        if rest[end + 1 : end + 2] != "`":
            return rest[1:end].replace("``", "`"), rest[end + 1 :]
        end += 2
