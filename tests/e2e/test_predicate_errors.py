"""Texts that Spark cannot parse are errors with their place, and conditions that are not used read as written."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.helpers import index, write_once
from xskip import MinMax, SkippingIndex
from xskip.errors import PredicateError

EXPECTED = "expected: a condition such as \"ts >= '2024-03-01' AND city = 'Oslo'\""


@pytest.fixture
def made(spark: SparkSession, tmp_path: Path) -> SkippingIndex:
    path = write_once(spark, tmp_path / "data", "id int, v int", {f"f{i}": [(i, i)] for i in range(3)})
    return index(spark, path, [MinMax("v")])


@pytest.mark.parametrize(
    ("predicate", "what", "found", "hint"),
    [
        ("SELECT * FROM t", "the predicate is a statement", "SELECT at character 1", "; pass only what follows WHERE"),
        ("where id = 3", "the predicate is a statement", "WHERE at character 1", "; pass only what follows WHERE"),
        ("id = = 3", "Spark cannot parse the predicate", "= at character 6", ""),
        ("id >", "Spark cannot parse the predicate", "the end", ""),
        ("id = 3\nAND v = = 3", "Spark cannot parse the predicate", "= at character 9 of line 2", ""),
    ],
)
def test_texts_that_spark_cannot_parse(made: SkippingIndex, predicate: str, what: str, found: str, hint: str) -> None:
    with pytest.raises(PredicateError) as error:
        made.files(predicate)
    assert str(error.value) == f"{what} (where: {predicate}; found: {found}; {EXPECTED}){hint}"


def test_unused_conditions_read_as_they_were_written(made: SkippingIndex) -> None:
    kept = made.files("id % 2 = 0 AND id + 5 < 70 AND id * 2 > 3 AND abs(id) = 4 AND v = 1")
    assert [Path(name).stem for name in kept] == ["f1"]
    assert [text for text, _ in kept.unused] == [
        "id IS NOT NULL", "id % ? = ?", "id + ? < ?", "id * ? > ?", "abs(id) = ?",
    ]  # fmt: skip
