"""The effort of a run of the tests: a sample of combinations and random cases, or all with ``XSKIP_TESTS=thorough``.

A sample has every value of every parameter of a test that runs Spark or a server, but not each with each, and a part
of the random cases. Tests without Spark always run in all combinations.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import TypeAlias, TypeVar

import pytest

THOROUGH = os.environ.get("XSKIP_TESTS") == "thorough"
#: How many times as many random cases a thorough run has.
FACTOR = 3
#: Fixtures whose tests cost so much that a sample leaves out combinations.
_COSTLY = {"session", "server", "each_server", "newer_server"}

T = TypeVar("T")
#: The parameters of a mark or of a fixture, each with the identity of its value, which all combinations share.
Value: TypeAlias = tuple[tuple[str, int], ...]


def cases(number: int) -> int:
    """Return how many random cases to try, of those of a thorough run."""
    return number if THOROUGH else -(-number // FACTOR)


def seeds(values: Sequence[T]) -> Sequence[T]:
    """Return the seeds to try, of those of a thorough run."""
    return values[: cases(len(values))]


def sample(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the tests of a run, in their order."""
    if THOROUGH:
        return list(items)
    groups: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        groups[item.nodeid.partition("[")[0]].append(item)
    chosen = {item for name, group in groups.items() for item in _covering(group, Random(name))}
    return [item for item in items if item in chosen]


def _values(item: pytest.Item) -> tuple[Value, ...]:
    """Return the values of the parameters of a test: those of one mark together, and each fixture's."""
    spec = getattr(item, "callspec", None)
    if spec is None:
        return ()
    axes = [_names(mark.args[0]) for mark in item.iter_markers("parametrize")]
    axes += [(name,) for name in spec.params if not any(name in axis for axis in axes)]
    return tuple(tuple((name, id(spec.params[name])) for name in axis) for axis in axes)


def _names(argument: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of the parameters of a mark."""
    return tuple(name.strip() for name in (argument.split(",") if isinstance(argument, str) else argument))


def _covering(group: Sequence[pytest.Item], random: Random) -> Sequence[pytest.Item]:
    """Return tests that have all values of all parameters among them, and many pairs of values."""
    if len(_values(group[0])) < 2 or not _COSTLY & set(getattr(group[0], "fixturenames", ())):
        return group
    values = {item: _values(item) for item in group}
    missing = {value for each in values.values() for value in each}
    pairs: Counter[tuple[Value, ...]] = Counter()
    left = random.sample(list(group), len(group))
    chosen = []
    while missing:
        best = max(left, key=lambda item: (len(missing & set(values[item])), -_common(values[item], pairs)))
        left.remove(best)
        chosen.append(best)
        missing -= set(values[best])
        pairs.update(combinations(values[best], 2))
    return chosen


def _common(values: tuple[Value, ...], pairs: Counter[tuple[Value, ...]]) -> int:
    """Return how often the pairs of values were chosen."""
    return sum(pairs[pair] for pair in combinations(values, 2))
