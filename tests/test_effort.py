"""A sample of the tests has all values of all parameters."""

from __future__ import annotations

import pytest

from tests import effort

TESTS = """
import pytest

@pytest.fixture(params=["parquet", "avro", "orc"])
def fmt(request): ...

@pytest.fixture(params=["v1", "v2"])
def api(request): ...

@pytest.fixture
def session(): ...

@pytest.mark.parametrize(("query", "files"), [("a", 1), ("a", 2), ("b", 1), ("c", 1), ("d", 1), ("e", 1), ("f", 1)])
def test_costly(session, fmt, api, query, files): ...

@pytest.mark.parametrize("case", range(9))
def test_one_parameter(session, case): ...

def test_pairs(session, fmt, api): ...

def test_cheap(fmt, api): ...
"""


@pytest.fixture
def items(pytester: pytest.Pytester) -> list[pytest.Item]:
    """Return the tests of the module, without the hooks of this project."""
    return pytester.getitems(TESTS)


def names(chosen: list[pytest.Item], test: str) -> list[list[str]]:
    found = (item.name.rstrip("]").split("[") for item in chosen)
    return [values.split("-") for name, values in found if name == test]


def test_every_value_is_in_the_sample(items: list[pytest.Item], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "THOROUGH", False)
    chosen = effort.sample(items)
    costly = names(chosen, "test_costly")
    # a row of a table of cases is a value of its own
    assert sorted(values[2] + values[3] for values in costly) == ["a1", "a2", "b1", "c1", "d1", "e1", "f1"]
    # other parameters take turns, so that their pairs occur, too
    assert len({(values[0], values[1]) for values in costly}) == 6
    pairs = names(chosen, "test_pairs")
    assert len(pairs) == 3
    assert {value for pair in pairs for value in pair} == {"parquet", "avro", "orc", "v1", "v2"}
    assert len(names(chosen, "test_one_parameter")) == 9
    assert len(names(chosen, "test_cheap")) == 6
    assert chosen == [item for item in items if item in set(chosen)] == effort.sample(items)


def test_a_thorough_run_has_all_tests(items: list[pytest.Item], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "THOROUGH", True)
    assert effort.sample(items) == items
    assert effort.cases(10) == 10


def test_random_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "THOROUGH", False)
    assert [effort.cases(number) for number in (1, 3, 4, 60)] == [1, 1, 2, 20]
    assert list(effort.seeds(range(5))) == [0, 1]
