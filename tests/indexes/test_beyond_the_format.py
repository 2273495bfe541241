"""Index types that other programs of the format do not know work in every version, but only in metadata of xskip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.helpers import given_away, kept, metadata, write_once
from xskip import Formatted, GapList, GeoBox, Hybrid, Index, NullCount, Prefix, SkippingIndex, TokenBloom

WANTED: list[Index] = [
    NullCount("s"), Prefix("s", length=2), Hybrid("s", max_values=2), GapList("i", gaps=1), GeoBox("d", "e"),
    Formatted("s", r"(\d+)$"), TokenBloom("t"),
]  # fmt: skip
SCHEMA = "s string, i int, d double, e double, t string"
FILES: dict[str, list[Any]] = {
    "one": [("ab1", 1, 1.0, 1.0, "red fox"), ("ab2", 2, 2.0, 2.0, "blue"), ("ac3", 90, 90.0, 1.0, "sea")],
    "two": [("x7", 50, 1.0, 90.0, "old sea dog"), (None, 51, 2.0, 91.0, "x")],
}
CASES = {
    "s is null": {"two"},
    "s like 'x%'": {"two"},
    "s = 'ab2'": {"one"},
    "s = 'ab9'": set(),
    "i between 10 and 40": set(),
    "d < 10 and e > 80": {"two"},
    "d > 80 and e > 80": set(),
    r"regexp_extract(s, '(\\d+)$', 1) = '7'": {"two"},
    "t like '% sea %'": {"one", "two"},
    "t like '% cow %'": set(),
}


@pytest.mark.parametrize("version", range(5))
def test_every_version_holds_them(spark: SparkSession, tmp_path: Path, version: int) -> None:
    """[PRU-OT-1] The index types are written, read, refreshed and migrated in each version."""
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES)
    index = SkippingIndex.for_path(spark, path)
    index.create(WANTED, version=version)
    assert [(i.name, i.columns) for i in index.describe().indexes] == [(w.name, w.columns) for w in WANTED]
    _check(spark, path)
    index.migrate(4 - version)
    _check(spark, path)
    index.migrate(version)
    assert index.refresh().added == 0
    _check(spark, path)


def _check(spark: SparkSession, path: str) -> None:
    assert {case: kept(spark, path, case) for case in CASES} == CASES


def test_without_a_record_they_are_not_asked(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-OT-1] Queries do not use the same metadata if another program seems to have written it."""
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES)
    index = SkippingIndex.for_path(spark, path)
    index.create(WANTED)
    given_away(spark, index, [metadata(index)])
    assert {case: kept(spark, path, case) for case in CASES} == {case: {"one", "two"} for case in CASES}
