"""Random filters as SQL text."""

from __future__ import annotations

from random import Random

from tests.fuzz.leaves import leaf
from tests.fuzz.scope import Scope
from tests.fuzz.tree import Tree

__all__ = ["predicate"]

_OF_ONE = ("NOT (\x000)", "NOT (\x000)", "NOT (\x000)", "NOT (\x000)", "coalesce(\x000, false)", "(\x000) IS NOT TRUE",
           "(\x000) IS NULL", "(\x000) = true")  # fmt: skip
_OF_TWO = (
    "CASE WHEN \x000 THEN \x001 ELSE NOT (\x001) END", "if(\x000, \x001, false)", "(\x000) = (\x001)",
    "(\x000) <=> (\x001)",
)  # fmt: skip


def predicate(random: Random, scope: Scope, depth: int = 3) -> Tree:
    """Return a random filter over the fields of a query."""
    choice = random.random()
    if depth == 0 or choice < 0.5:
        return leaf(random, scope)
    first = predicate(random, scope, depth - 1)
    if choice < 0.61:
        return Tree(random.choice(_OF_ONE), (first,))
    second = predicate(random, scope, depth - 1)
    if choice < 0.94:
        return Tree(f"(\x000 {random.choice(('AND', 'OR'))} \x001)", (first, second))
    return Tree(random.choice(_OF_TWO), (first, second))
