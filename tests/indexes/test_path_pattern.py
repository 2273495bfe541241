"""Patterns of paths. Rules: specs/pruning.rst, [PRU-PB]."""

from __future__ import annotations

import re

import pytest

from xskip.errors import IndexDefinitionError
from xskip.indexes.path_pattern import PathPattern, Place

QUIX = "ts_{ts:min}_{ts:max}_part_{part}_off_{offset:min}_{offset:max}"


def found(pattern: str, column: str, path: str, *, is_number: bool = True) -> tuple[str, ...] | None:
    match = re.search(PathPattern.parse(pattern).regex(column, is_number=is_number), path)
    return None if match is None else match.groups()


def test_a_pattern_consists_of_text_and_places() -> None:
    """[PRU-PB-1]"""
    assert PathPattern.parse("a{{{x.y:min}-{`p.q`}}}/*_{t:since}").parts == (
        "a{", Place("x.y", "min"), "-", Place("`p.q`", "value"), "}/", None, "_", Place("t", "since"),
    )  # fmt: skip
    assert PathPattern.parse(QUIX).columns == ("ts", "part", "offset")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("", "no place"),
        ("ts_*", "no place"),
        ("{{ts}}", "no place"),
        ("{ts", "a single brace"),
        ("ts}_{ts}", "a single brace"),
        ("{}", "a single brace"),
        ("{ts:from}", "unknown kind 'from'"),
        ("{ts:min}{ts:max}", "without text between"),
        ("{ts}*", "without text between"),
        ("**_{ts}", "without text between"),
        ("{a.}", "without a valid column"),
        ("{ts:min}_{TS:max}", "differ only in case"),
        ("m={ts:month}", "not a year, month"),
        ("{ts:year}/{ts:day}", "not a year, month"),
        ("{ts:year}/{ts:week}/{ts:day}", "not a year, month"),
        ("{ts:year}/{ts:year}", "not a year, month"),
        ("{ts:year}/{d:month}", "not a year, month"),
    ],
)
def test_invalid_patterns_are_refused(pattern: str, problem: str) -> None:
    """[PRU-PB-1]"""
    with pytest.raises(IndexDefinitionError, match=problem) as caught:
        PathPattern.parse(pattern)
    assert caught.value.found == pattern


@pytest.mark.parametrize(
    ("path", "numbers"),
    [
        ("/lake/ts_1_2_part_3_off_4_5.avro", ("1", "2")),
        ("ts_1_2_part_3_off_4_5", ("1", "2")),
        ("/a/ts_-1_02_part_3_off_4_5.avro.snappy", ("-1", "02")),
        ("/ts_7_8_part_3_off_4_5/ts_1_2_part_3_off_4_5.x", ("1", "2")),
        ("/lake/xts_1_2_part_3_off_4_5.avro", None),
        ("/lake/ts_1_2_part_3_off_4_5_copy.avro", None),
        ("/lake/ts_1_2_part_3_off_4_5/part-0", None),
        ("/lake/ts_1_2_part_x_off_4_5.avro", None),
        ("/lake/ts_1.5_2_part_3_off_4_5.avro", None),
        ("/lake/ts__2_part_3_off_4_5.avro", None),
        ("/lake/ts_1_12345678901234567890_part_3_off_4_5.avro", None),
    ],
)
def test_the_last_components_of_a_path_must_fit(path: str, numbers: tuple[str, ...] | None) -> None:
    """[PRU-PB-2]"""
    assert found(QUIX, "ts", path) == numbers


def test_directories_and_wildcards() -> None:
    """[PRU-PB-2] A wildcard stands for any text within a component, and a pattern can describe several components."""
    pattern = "d={d:period}/h={h}/*"
    assert found(pattern, "d", "/lake/d=2024-03-01/h=4/x y.parquet", is_number=False) == ("2024-03-01",)
    assert found(pattern, "h", "/lake/d=2024-03-01/h=4/.parquet") == ("4",)
    assert found(pattern, "h", "/lake/d=2024-03-01/h=4/sub/x.parquet") is None
    assert found(pattern, "h", "/lake/d=1/h=4/x") is None
    assert found("a+(b)_{n}", "n", "/a+(b)_5.x") == ("5",)


def test_parts_of_periods() -> None:
    """[PRU-PB-4] Their order in the path makes no difference, and other columns can lie between them."""
    pattern = "day={t:day}/{n}/{t:year}-{t:month}"
    assert found(pattern, "t", "/lake/day=3/17/2024-02.parquet") == ("3", "2024", "02")
    assert found(pattern, "n", "/lake/day=03/17/2024-2.parquet") == ("17",)
    for path in ("day=003/17/2024-02", "day=3/17/24-02", "day=3/17/2024-"):
        assert found(pattern, "t", path) is None
        assert found(pattern, "n", path) is None


def test_columns_are_found_without_regard_to_case() -> None:
    """[PRU-PB-1]"""
    assert PathPattern.parse("{`A.b`.C:min}_x").places("`a.B`.c") == [Place("`A.b`.C", "min")]
