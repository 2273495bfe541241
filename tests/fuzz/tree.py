"""A filter as a tree that can be reduced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Tree", "smaller"]


@dataclass(frozen=True, slots=True)
class Tree:
    r"""A part of a filter: its text, with ``\x000``, ``\x001`` … for the children."""

    form: str
    children: tuple[Tree, ...] = ()

    def __str__(self) -> str:
        text = self.form
        for k, child in enumerate(self.children):
            text = text.replace(f"\x00{k}", str(child))
        return text


def smaller(tree: Tree) -> Iterator[Tree]:
    """Yield filters that are one step simpler, among them arguments of functions, which need not be valid filters."""
    yield from tree.children
    for k, child in enumerate(tree.children):
        for less in smaller(child):
            yield Tree(tree.form, (*tree.children[:k], less, *tree.children[k + 1 :]))
