"""Mistakes in user-defined index types: errors name the class and the method, and queries read all files.

Rules: specs/pruning.rst, [PRU-CU].
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.helpers import kept, write_once
from xskip import MinMax, SkippingIndex
from xskip.clauses import Lists, PartsClause
from xskip.errors import IndexDefinitionError
from xskip.indexes import registry
from xskip.types import Array

FILES = {"low": [(1, "a"), (2, "b")], "high": [(11, "c"), (12, "d")]}


def index_type(name: str, **methods: Any) -> Any:
    """Return a new index type that collects the values of a column, with some of its members replaced."""
    members: dict[str, Any] = {
        "__module__": "my_types",
        "__annotations__": {"name": ClassVar[str]},
        "name": name,
        "storage": lambda *_: Array("int"),
        "aggregates": lambda _, inputs: [F.collect_set(inputs[0])],
        "translate": lambda *_: None,
    }
    return type("Mistaken", (xskip.OneColumn,), members | methods)


def clauses(**methods: Any) -> Callable[..., Any]:
    """Return a method ``translate`` that returns a clause over lists, with some of its methods replaced."""

    def parts(self: Any, values: Any) -> Any:
        lists = Lists.of(values)
        return lists, lists.values

    members = {"__module__": "my_types", "parts": parts, "matching": lambda *_: pa.array([])}
    kind: Any = type("MistakenClause", (PartsClause,), members | methods)
    return lambda _, leaf, definition, *__: kind(leaf, definition.key)


@pytest.fixture
def dataset(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SkippingIndex:
    monkeypatch.setattr(registry, "_TYPES", dict(registry._TYPES))
    path = write_once(spark, tmp_path / "data", "id int, s string", FILES)
    return SkippingIndex.for_path(spark, path)


def no_list(self: Any, results: Any, types: Any) -> Any:
    return [[1]] * len(results[0])


def one_value(self: Any, results: Any, types: Any) -> Any:
    return results[0].slice(0, 1)


def no_type(self: Any, types: Any) -> Any:
    return {}[types[0]]


BUILDS: dict[str, tuple[str, Any, str]] = {
    "no storage for a type": ("storage", no_type, "KeyError: 'int'"),
    "the storage of one value": ("storage", lambda *_: "int", "Unsupported cast"),
    "no list of aggregates": ("aggregates", lambda _, inputs: F.max(inputs[0]), "not iterable"),
    "no column": ("aggregates", lambda *_: ["max(id)"], "'str' object has no attribute 'alias'"),
    "no aggregates": ("aggregates", lambda *_: None, "'NoneType' object is not iterable"),
    "an error": ("aggregates", lambda *_: [1 / 0], "ZeroDivisionError: division by zero"),
    "no Arrow array": ("assemble", no_list, "'list' object has no attribute 'cast'"),
    "too few values": ("assemble", one_value, "it returned 1 values for 2 files"),
}


@pytest.mark.parametrize("mistake", BUILDS)
def test_a_build_names_the_class_and_the_method(dataset: SkippingIndex, mistake: str) -> None:
    """[PRU-CU-3] The build fails, and leaves no index."""
    method, body, found = BUILDS[mistake]
    mistaken = xskip.register(index_type("mistaken", **{method: body}))
    with pytest.raises(IndexDefinitionError) as caught:
        dataset.create([mistaken("id"), MinMax("s")])  # type: ignore[call-arg]
    assert f"{'assemble' if mistake == 'the storage of one value' else method}() of a user-defined class" in str(
        caught.value
    )
    assert "where: my_types.Mistaken; " in str(caught.value)
    assert found in str(caught.value)
    assert not dataset.exists()


@pytest.mark.parametrize("column", ["id + 1", "max(nothing)"])
def test_aggregates_that_spark_cannot_plan(dataset: SkippingIndex, column: str) -> None:
    """[PRU-CU-3]"""
    mistaken = xskip.register(index_type("mistaken", aggregates=lambda *_: [F.expr(column)]))
    with pytest.raises(IndexDefinitionError, match=r"Spark cannot plan the aggregates .* mistaken\(id\); found: \["):
        dataset.create([mistaken("id")])  # type: ignore[call-arg]
    assert not dataset.exists()


def integers(self: Any, leaf: Any, parts: Any) -> Any:
    return pa.array([0] * len(parts))


def nothing(self: Any, leaf: Any, parts: Any) -> Any:
    return pa.array([None] * len(parts), pa.bool_())


QUERIES: dict[str, tuple[Any, str]] = {
    "an error in translate": (lambda *_: 1 / 0, "translate() of a user-defined class"),
    "no clause": (lambda *_: True, "it returned True instead of a clause or None"),
    "a list of clauses": (lambda *_: [], "it returned [] instead of a clause or None"),
    "an error in matching": (clauses(matching=lambda *_: 1 / 0), "matching() of a user-defined class"),
    "too few verdicts": (clauses(), "matching() of a user-defined class"),
    "a list of verdicts": (clauses(matching=lambda _, __, parts: [False] * len(parts)), "'list' object"),
    "numbers as verdicts": (clauses(matching=integers), "my_types.MistakenClause"),
    "no verdicts": (clauses(matching=nothing), "every file can hold a matching row"),
    "no lists": (clauses(parts=lambda *_: (1, 2)), "matching() of a user-defined class"),
    "an error in parts": (clauses(parts=lambda *_: 1 / 0), "parts() of a user-defined class"),
}


@pytest.mark.parametrize("mistake", QUERIES)
def test_a_query_reads_all_files_and_says_why(spark: SparkSession, dataset: SkippingIndex, mistake: str) -> None:
    """[PRU-CU-3] The report names the class and the method; after the class is corrected, queries skip again."""
    translate, reason = QUERIES[mistake]
    spark.conf.set("spark.xskip.strict", "false")
    mistaken = xskip.register(index_type("mistaken", translate=translate))
    dataset.create([mistaken("id"), MinMax("id")])  # type: ignore[call-arg]
    assert kept(spark, dataset.name, "id = 5") == (set() if mistake == "no verdicts" else set(FILES))
    if mistake != "no verdicts":
        assert reason in str(xskip.last_report(spark))
    assert xskip.register(index_type("mistaken")) is not mistaken
    assert kept(spark, dataset.name, "id = 5") == set()
    assert kept(spark, dataset.name, "id = 12") == {"high"}


@pytest.mark.parametrize("name", ["my_index", "My Index", "", "1st", "größe"])
def test_names_that_the_metadata_cannot_hold(dataset: SkippingIndex, name: str) -> None:
    """[PRU-CU-1]"""
    with pytest.raises(IndexDefinitionError, match="the name of an index type is not valid"):
        xskip.register(index_type(name))


def test_a_class_that_is_defined_anew(dataset: SkippingIndex) -> None:
    """[PRU-CU-1] The new class replaces the old one, but no class of another module or name."""
    first, second = index_type("mistaken"), index_type("mistaken")
    assert xskip.register(first) is first
    assert xskip.register(second) is second
    assert registry.type_of("mistaken") is second
    with pytest.raises(IndexDefinitionError, match="two index types have the name 'mistaken'"):
        xskip.register(index_type("mistaken", __module__="other_types"))
    with pytest.raises(IndexDefinitionError, match="two index types have the name 'minmax'"):
        xskip.register(index_type("minmax"))
