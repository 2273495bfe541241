"""Formatted skips files by the results of a regular expression. Rules: specs/pruning.rst, [PRU-FM]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.indexes.written import lists_of
from tests.soundness.checking import ALL, NONE, family
from xskip import Formatted, Index
from xskip.errors import IndexDefinitionError, UnsupportedTypeError

FILES: dict[str, list[Any]] = {
    "firefox": [("Firefox/102.1 (X11)",), ("Firefox/99.0",)],
    "chrome": [("Chrome/120.0",), (None,)],
    "other": [("curl",), ("",)],
    "nulls": [(None,)],
}
AGENT = r"^(\\w+)/(\\d+)"
CASES = {
    f"regexp_extract(a, '{AGENT}', 1) = 'Chrome'": "chrome",
    f"regexp_extract(a, '{AGENT}', 1) in ('Chrome', 'Firefox')": "firefox chrome",
    f"regexp_extract(a, '{AGENT}', 1) = 'Safari'": NONE,
    f"regexp_extract(a, '{AGENT}', 1) = ''": "other",
    f"regexp_extract(a, '{AGENT}', 1) <> ''": "firefox chrome",
    f"regexp_extract(a, '{AGENT}', 1) like 'F%'": "firefox",
    f"regexp_extract(a, '{AGENT}', 1) is null": ALL,
    f"not (regexp_extract(a, '{AGENT}', 1) = 'Chrome')": "firefox other",
    f"regexp_extract(a, '{AGENT}', 1) <=> 'Chrome'": "chrome",
    f"regexp_extract(a, '{AGENT}', 2) = '120'": ALL,  # another group
    "regexp_extract(a, '^(a)', 1) = 'a'": ALL,  # another pattern
    f"regexp_extract(upper(a), '{AGENT}', 1) = 'CHROME'": ALL,
    "a = 'Chrome/120.0'": ALL,
}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_every_leaf(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str) -> None:
    """[PRU-FM-1] [PRU-FM-2] Filters with the indexed pattern and group read exactly the expected files."""
    made = family(spark, tmp_path_factory.mktemp("agents"), "a string", FILES, {}, fmt=fmt)
    index = made.add("agents", [Formatted("a", r"^(\w+)/(\d+)")])
    made.check("agents", CASES)
    assert lists_of(index, "formatted", "a") == {
        "firefox": {"Firefox"}, "chrome": {"Chrome"}, "other": {""}, "nulls": set(),
    }  # fmt: skip


def test_too_many(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[PRU-FM-2] A file with more values than the maximum is read."""
    made = family(
        spark, tmp_path_factory.mktemp("many"), "a string", {"many": [("a1",), ("b1",)], "one": [("c1",)]}, {}
    )
    made.add("capped", [Formatted("a", r"^(\w)", max_values=1)])
    made.check(
        "capped", {r"regexp_extract(a, '^(\\w)', 1) = 'z'": "many", r"regexp_extract(a, '^(\\w)', 1) = 'c'": ALL}
    )


def test_definitions(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Invalid definitions are refused; Spark refuses an invalid pattern."""
    builds: tuple[Callable[[], Index], ...] = (
        lambda: Formatted("a"),
        lambda: Formatted("a", "x", group=-1),
        lambda: Formatted("a", "x", max_values=0),
    )
    for build in builds:
        with pytest.raises(IndexDefinitionError):
            build()
    with pytest.raises(UnsupportedTypeError):
        Formatted("a", "(x)").storage(["int"])
    made = family(spark, tmp_path_factory.mktemp("broken"), "a string", {"one": [("c1",)]}, {})
    with pytest.raises(IndexDefinitionError, match="rejects the pattern"):
        made.add("broken", [Formatted("a", "(")])
