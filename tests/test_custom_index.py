"""The code of specs/custom-index.rst runs in the order of the page. Rules: specs/pruning.rst, [PRU-CU]."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import kept, opened_files, write_once
from tests.indexes.written import written
from tests.pages import blocks_of
from xskip import MinMax, SkippingIndex
from xskip.errors import IndexDefinitionError
from xskip.indexes import registry

PAGE = Path(__file__).parents[1] / "specs/custom-index.rst"
FILES: dict[str, list[Any]] = {
    "tables": [("a.csv", 500, 5.0, 3), ("bb.csv", 90, 300.0, 17)],
    "small": [("c.csv", 50, 70.0, 45)],
    "images": [("d.png", 5000, 250.0, 88), ("e.jpeg", 10, None, None)],
    "short": [("v", 700, 80.0, -1), ("", None, -500.0, 2), (None, 1, 0.0, 300)],
}


@pytest.fixture
def shown(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Yield the names that the page's code defines, in a new module."""
    monkeypatch.setattr(registry, "_TYPES", dict(registry._TYPES))
    module = types.ModuleType("custom_index_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = vars(module)
    names["spark"] = spark
    names["path"] = write_once(spark, tmp_path / "data", "name string, size int, degrees double, n int", FILES)
    for code in blocks_of(PAGE, "python"):
        exec(compile(code, PAGE.name, "exec"), names)
    yield names
    xskip.register_function(spark, names["celsius"], None)


def test_endings(spark: SparkSession, shown: dict[str, Any]) -> None:
    """[PRU-CU-1] A user-defined index type works beside a built-in one, after a refresh and in each version."""
    path, index = shown["path"], shown["index"]
    assert opened_files(shown["tables"]) == {"tables"}
    assert kept(spark, path, "endswith(name, '.csv')") == {"tables", "small"}
    assert kept(spark, path, "name LIKE '%aa.csv'") == {"tables", "small"}  # only four characters are kept
    assert kept(spark, path, "name LIKE '%.jpeg'") == {"images"}
    assert kept(spark, path, "name LIKE '%v'") == {"tables", "small", "short"}
    assert kept(spark, path, "name LIKE '%.gif'") == set()
    assert kept(spark, path, "NOT endswith(name, '.csv')") == set(FILES)
    assert kept(spark, path, "name LIKE '%.csv' AND name LIKE '%v'") == {"tables", "small"}
    assert kept(spark, path, "name LIKE '%.csv' AND name LIKE '%.png'") == set()
    assert {key: set(value) for key, value in written(index, "suffix", "name").items()}["images"] == {".png", "jpeg"}
    assert index.refresh().added == 0
    index.migrate(1)
    assert kept(spark, path, "name LIKE '%.png'") == {"images"}


def test_buckets(spark: SparkSession, shown: dict[str, Any]) -> None:
    """[PRU-CU-2] A build runs a separate job for index types with functions in Python."""
    path = shown["path"]
    shown["index"].drop()
    made = SkippingIndex.for_path(spark, path)
    made.create(
        [shown["Buckets"]("n"), shown["Suffix"]("name", length=2), MinMax("size"), shown["Buckets"]("size", width=100)]
    )
    assert written(made, "buckets", "n")["short"] == [-10, -1, 0, 9, 300, 309]
    assert kept(spark, path, "n = 12") == {"tables"}
    assert kept(spark, path, "n BETWEEN 50 AND 70") == set()
    assert kept(spark, path, "n > 200") == {"short"}
    assert kept(spark, path, "n < 0 AND size = 700") == {"short"}
    assert kept(spark, path, "size = 5000 AND endswith(name, 'ng')") == {"images"}
    assert kept(spark, path, "size = 4000") == set()
    assert made.refresh().added == 0


def test_functions(shown: dict[str, Any]) -> None:
    """[PRU-UF-2] A condition on a user-defined function skips files by what the condition implies for its column."""
    shown["index"].drop()
    SkippingIndex.for_path(shown["spark"], shown["path"]).create([MinMax("degrees")])
    assert opened_files(shown["warm"]) == {"tables", "images"}
    assert shown["warm"].count() == 2


def test_an_index_must_gather_something(spark: SparkSession, shown: dict[str, Any]) -> None:
    """[PRU-CU-1] An index type without aggregates is refused, as is a second class with the same name."""

    shown["index"].drop()

    suffix: Any = shown["Suffix"]

    class Nothing(suffix):  # type: ignore[misc]  # the page makes its base, of which no type is known
        name = "nothing"

        def aggregates(self, inputs: Any) -> list[Any]:
            return []

    with pytest.raises(IndexDefinitionError, match="collects no statistics"):
        SkippingIndex.for_path(spark, shown["path"]).create([Nothing("name")])
    with pytest.raises(IndexDefinitionError, match="two index types have the name 'suffix'"):
        xskip.register(type("Suffix", (shown["Suffix"],), {}))
