"""A filter as a tree that can be cut down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Tree", "smaller"]


@dataclass(frozen=True, slots=True)
class Tree:
    """A part of a filter: its text, with ``\\x000``, ``\\x001`` … for the children."""

    form: str
    children: tuple[Tree, ...] = ()

    def __str__(self) -> str:
        text = self.form
        for k, child in enumerate(self.children):
            text = text.replace(f"\x00{k}", str(child))
        return text


def smaller(tree: Tree) -> Iterator[Tree]:
    """Filters that are one step simpler, and some that are no filters: a function's argument in its place."""
    yield from tree.children
    for k, child in enumerate(tree.children):
        for less in smaller(child):
            yield Tree(tree.form, (*tree.children[:k], less, *tree.children[k + 1 :]))
