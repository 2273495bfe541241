"""The random filters cover every sort of filter, because a sort that never occurs finds no fault."""

from __future__ import annotations

import re
from random import Random

import pytest

from tests.fuzz.data import FIELDS, dataset
from tests.fuzz.functions import chain
from tests.fuzz.predicates import predicate
from tests.fuzz.scope import Field, Scope

_SORTS = {
    "a sum that wraps around, under a function that can hide it": r"\(i \+ 2000000000\)\S* (div|/) -?\d{9}",
    "three functions": r"\w+\(\w+\([^()]*\w+\((s|dt|ts|d)\b",
    "two columns": r"\b(i|l|h|d) (=|<|>) (i|l|h|d)\b",
    "two columns of times": r"\b(dt|ts|nt|st\.e) (<=|>=|<|>) (dt|ts|nt|st\.e)\b",
    "the same column twice": r"\b(\w+) <> \1\b",
    "a function of two columns": r"\((i|l) [+*-] (i|l)\)",
    "a field of a struct": r"st\.q\.z [<>=]",
    "a struct": r"\bst IS NULL",
    "a function of a field": r"(upper|lower)\(st\.b\)",
    "an array": r"exists\(arr, x -> x > ",
    "a map": r"m\['k'\] = ",
    "a hidden column beside another": r"(AND|OR) hidden|hidden (AND|OR)",
    "a list for a function": r"\)\) NOT IN \(",
}


@pytest.fixture(scope="module")
def filters() -> list[str]:
    return _filters(4000)


def _filters(count: int) -> list[str]:
    random = Random(1)
    data = dataset(random, 10)
    fields = tuple(Field(name, kind, data.pool[name]) for name, kind in FIELDS.items())
    scope = Scope(fields, hidden=("hidden",))
    return [str(predicate(random, scope)) for _ in range(count)]


@pytest.mark.parametrize("sort", _SORTS)
def test_every_sort_of_filter_is_asked(filters: list[str], sort: str) -> None:
    assert any(re.search(_SORTS[sort], text) for text in filters)


def test_no_filter_has_a_gap(filters: list[str]) -> None:
    assert not [text for text in filters if "\0" in text or "{" in text]


def test_the_same_seed_gives_the_same_filters(filters: list[str]) -> None:
    assert _filters(20) == filters[:20]


def test_with_ansi_no_function_is_chosen_that_fails() -> None:
    random = Random(2)
    texts = [text for _ in range(2000) for text in chain(random, "int", ["7"], 3, ansi=True).texts]
    assert len(set(texts)) > 20
    assert not [text for text in texts if re.search(r"[+-] -?\d|-\x00|as smallint", text)]
