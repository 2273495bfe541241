"""Wrong arguments: one error names the argument, what was found and what is expected, before anything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.helpers import index, write_once
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList
from xskip.errors import ArgumentError, IndexDefinitionError, MetadataVersionError, XskipError

SCHEMA = "ts int, city string, position struct<lat: double, lon: double>"


@pytest.fixture(params=[False, True], ids=["no index", "indexed"])
def made(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> SkippingIndex:
    """Return an index that does not exist yet, and one that does: the errors are the same."""
    path = write_once(spark, tmp_path / "data", SCHEMA, {"a": [(1, "oslo", (1.0, 2.0))]})
    return index(spark, path, [MinMax("ts")]) if request.param else SkippingIndex.for_path(spark, path)


@pytest.mark.parametrize(
    ("indexes", "expected"),
    [
        ("ts", r"not in a list \(found: 'ts', of type str; expected: a list of indexes, such as \[MinMax\('ts'\)"),
        (["ts"], r"no index \(found: 'ts', of type str; expected: a list of indexes"),
        ([MinMax], r"a class instead of an index \(found: MinMax; .*write MinMax\('column'\)"),
        (MinMax("ts"), r"not in a list \(found: an object of type MinMax; .*put the index into a list"),
        (None, r"not in a list \(found: None;"),
        ([MinMax("ts"), None], r"no index \(found: None;"),
        (MinMax, r"not in a list \(found: the class MinMax;"),
    ],
)
def test_indexes(made: SkippingIndex, indexes: Any, expected: str) -> None:
    with pytest.raises(ArgumentError, match=expected):
        made.create(indexes)


@pytest.mark.parametrize(
    ("arguments", "error", "expected"),
    [
        ({"on_error": "ignore"}, ArgumentError, r"on_error .*found: 'ignore'; expected: 'raise' or 'skip'"),
        ({"on_error": "skipp"}, ArgumentError, r"did you mean skip\?"),
        ({"progress": "yes"}, ArgumentError, r"progress .*expected: True, False, None or a function"),
        ({"version": 9}, MetadataVersionError, r"xskip cannot write this version \(found: version 9; expected: 0 to 4"),
        ({"version": "4"}, ArgumentError, r"found: '4', of type str; expected: 0 to 4"),
        ({"version": True}, ArgumentError, r"found: True, of type bool"),
    ],
)
def test_options_of_a_build(made: SkippingIndex, arguments: Any, error: type[XskipError], expected: str) -> None:
    with pytest.raises(error, match=expected):
        made.create([MinMax("ts")], **arguments)


def test_options_of_other_operations(made: SkippingIndex) -> None:
    with pytest.raises(ArgumentError, match="on_error"):
        made.refresh(on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(MetadataVersionError, match=r"version 77; expected: 0 to 4"):
        made.migrate(77)
    for sample in (0, -1, "2", 1.5):
        with pytest.raises(ArgumentError, match="sample has an invalid value"):
            made.validate(sample=sample)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("tss", r"no such column \(where: .*found: tss; expected: one of ts, city, position\); did you mean ts\?"),
        (
            "position.latt",
            r"no such field \(where: column position of .*position.lat, position.lon\); did you mean position.lat\?",
        ),
        ("city.name", r"without fields .*where: column city of .*found: city.name; expected: a column of type struct"),
    ],
)
def test_unknown_columns(made: SkippingIndex, column: str, expected: str) -> None:
    with pytest.raises(IndexDefinitionError, match=expected):
        made.create([MinMax(column)])


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda: MinMax(cast(Any, F.col("ts"))),
            "not a text .*found: an object of type Column; expected: the name of a column",
        ),
        (lambda: MinMax(cast(Any, None)), "not a text .*found: an object of type NoneType"),
        (lambda: MinMax(cast(Any, F.col("ts")), expression=True), "not a text"),
        (lambda: ValueList("city", max_values=cast(Any, "10")), "max_values='10'"),
        (lambda: BloomFilter("city", fpp=cast(Any, "low")), "fpp='low'"),
    ],
)
def test_arguments_of_index_types(spark: SparkSession, build: Callable[[], object], expected: str) -> None:
    with pytest.raises(IndexDefinitionError, match=expected):
        build()


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (None, "needs a Spark session .found: None; expected: a SparkSession"),
        (SparkSession.builder, r"an object of type .*Builder; .*call getOrCreate\(\) on the builder"),
        ("local", "an object of type str"),
        (SparkSession, "needs a Spark session"),
    ],
)
def test_sessions(session: Any, expected: str) -> None:
    for call in (xskip.enable, xskip.is_enabled, xskip.last_report, xskip.settings, xskip.list_indexes):
        with pytest.raises(ArgumentError, match=expected):
            call(session)


def test_queries(spark: SparkSession) -> None:
    with pytest.raises(ArgumentError, match=r"not a DataFrame .*found: 'select 1', .*write spark.sql\('select 1'\)"):
        xskip.explain("select 1")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="not a DataFrame"):
        xskip.explain(None)  # type: ignore[arg-type]
