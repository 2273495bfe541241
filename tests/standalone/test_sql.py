"""Predicates in SQL are parsed and get types without Spark."""

from __future__ import annotations

import random
import sys
from decimal import Decimal

import pytest

from xskip.errors import PredicateError
from xskip.expressions.operands import Column
from xskip.expressions.predicate import Comparison
from xskip.standalone.resolve import Resolver
from xskip.standalone.sql import parse

TYPES = {
    "i": "int", "b": "tinyint", "l": "bigint", "d": "double", "f": "float", "c": "decimal(8,2)", "s": "string",
    "day": "date", "t": "timestamp", "n": "timestamp_ntz", "flag": "boolean", "j": "int", "x.y": "int", "a b": "int",
    "bin": "binary", "col": "string collate UTF8_LCASE",
}  # fmt: skip
DAY = 86_400_000_000
HOUR = 3_600_000_000


def column(path: tuple[str, ...]) -> Column | None:
    kind = TYPES.get(".".join(path).lower())
    return Column(path, kind) if kind else None


def resolved(text: str, zone: str | None = None) -> tuple[str, list[tuple[str, str]]]:
    resolver = Resolver(column, zone)
    return str(resolver.resolve(parse(text))), [(part, str(reason)) for part, reason in resolver.unused]


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("i = 1", "i = ?"),
        ("1 < i", "i > ?"),
        ("I >= -1 AND `i` <= +2", "(I >= ? AND i <= ?)"),
        ("i == 1 OR i <> 2 AND i != 3", "(i = ? OR i NOT IN (2 values))"),
        ("NOT i > 1", "i <= ?"),
        ("NOT NOT i > 1", "i > ?"),
        ("NOT (i > 1 AND s IS NULL)", "(i <= ? OR s IS NOT NULL)"),
        ("i IN (1, 2, NULL)", "(NULL OR i IN (2 values))"),
        ("i NOT IN (1, 2)", "i NOT IN (2 values)"),
        ("i BETWEEN 1 AND 2 AND j = 3", "((i >= ? AND i <= ?) AND j = ?)"),
        ("i NOT BETWEEN 1 AND 2", "(i < ? OR i > ?)"),
        ("s IS NULL OR s IS NOT NULL", "(s IS NULL OR s IS NOT NULL)"),
        ("s LIKE 'ab%'", "s LIKE '?%'"),
        ("s NOT LIKE 'ab%'", "s NOT LIKE '?%'"),
        ("s LIKE 'ab'", "s = ?"),
        ("s NOT LIKE 'ab'", "s != ?"),
        ("flag AND NOT flag", "(flag = ? AND flag != ?)"),
        ("flag = TRUE OR TRUE OR NULL", "(flag = ? OR TRUE OR NULL)"),
        ("i < j", "i < j"),
        ("x.y = 1 AND `a b` = 2", "(x.y = ? AND a b = ?)"),
        ("i = 3000000000", "cast(i as bigint) = ?"),
        ("i > 1.5", "cast(i as decimal(20,1)) > ?"),
        ("c = 1", "c = ?"),
        ("c = 1.234", "cast(c as decimal(9,3)) = ?"),
        ("day = '2024-01-31' OR day > DATE '2024-02-01'", "(day = ? OR day > ?)"),
        ("f = 0.5 AND d = 1e3", "(f = ? AND d = ?)"),
        ("NOT d > 5", "(d <= ? OR d = ?)"),
        ("NOT d < 5", "d >= ?"),
        ("NOT 5 <= f", "(f < ? OR f = ?)"),
        ("t > TIMESTAMP '2024-01-31 10:00:00'", "t > ?"),
        ("t = DATE '2024-01-31'", "(t >= ? AND t <= ?)"),
        ("t != '2024-01-31'", "t IS NOT NULL"),
        ("i = NULL", "NULL"),
    ],
)
def test_predicates_that_the_parser_knows(text: str, predicate: str) -> None:
    """[STA-PR-1] [STA-PR-3]"""
    assert resolved(text) == (predicate, [])


@pytest.mark.parametrize(
    ("text", "predicate", "unused"),
    [
        ("year(t) = 2024 AND i = 1", "(? AND i = ?)", ["year(t) = 2024"]),
        ("i = 1 + 2 OR i = 3", "(? OR i = ?)", ["i = 1 + 2"]),
        ("(i + 1) * 2 = 4 AND j = 1", "(? AND j = ?)", ["(i + 1) * 2 = 4"]),
        ("(i, j) IN ((1, 2)) AND j = 1", "(? AND j = ?)", ["(i, j) IN ((1, 2))"]),
        ("abs(i) BETWEEN 1 AND 2 AND j = 3", "(? AND j = ?)", ["abs(i) BETWEEN 1 AND 2"]),
        ("CASE WHEN i = 1 AND j = 2 THEN flag ELSE NOT flag END AND j = 3", "(? AND j = ?)",
         ["CASE WHEN i = 1 AND j = 2 THEN flag ELSE NOT flag END"]),
        ("NOT f(i = 1 OR j = 2) AND j = 3", "(? AND j = ?)", ["f(i = 1 OR j = 2)"]),
        ("(i = 1) = TRUE", "?", ["(i = 1) = TRUE"]),
        ("i = 1 IS NULL", "?", ["i = 1 IS NULL"]),
        ("i <=> 1", "?", ["i <=> 1"]),
        ("i IS NOT DISTINCT FROM 1 AND j = 1", "(? AND j = ?)", ["i IS NOT DISTINCT FROM 1"]),
        ("EXISTS (SELECT 1 WHERE a AND b)", "?", ["EXISTS (SELECT 1 WHERE a AND b)"]),
        ("i IN (SELECT 1)", "?", ["i IN (SELECT 1)"]),
        ("(SELECT 1) AND j = 1", "(? AND j = ?)", ["SELECT 1"]),
        ("i = 1L", "?", ["i = 1L"]),
        ("i = CAST('1' AS INT)", "?", ["i = CAST('1' AS INT)"]),
        ("s = 'it''s'", "?", ["s = 'it''s'"]),
        (r"s = 'a\tb'", "?", [r"s = 'a\tb'"]),
        ('s = "x" AND i = 1', "(? AND i = ?)", ['s = "x"']),
        ("s = 'a' 'b'", "?", ["s = 'a' 'b'"]),
        ("s LIKE 'a%' ESCAPE '|'", "?", ["s LIKE 'a%' ESCAPE '|'"]),
        ("nope = 1 AND i = 1", "(? AND i = ?)", ["nope = 1"]),
        ("s = 1", "?", ["s = 1"]),
        ("i = '1'", "?", ["i = '1'"]),
        ("i = 1e0", "?", ["i = 1e0"]),
        ("f = 0.1", "?", ["f = 0.1"]),
        ("f IS NULL AND f < d", "(f IS NULL AND ?)", ["f < d"]),
        ("day = '31.01.2024'", "?", ["day = '31.01.2024'"]),
        ("day = TIMESTAMP '2024-01-31 00:00:00'", "?", ["day = TIMESTAMP '2024-01-31 00:00:00'"]),
        ("n = TIMESTAMP '2024-01-31 00:00:00Z'", "?", ["n = TIMESTAMP '2024-01-31 00:00:00Z'"]),
        ("s LIKE 'a%b'", "(s LIKE '?%' AND ?)", ["s LIKE 'a%b'"]),
        ("s NOT LIKE 'a%b'", "?", ["s LIKE 'a%b'"]),
        ("s LIKE '%b'", "?", ["s LIKE '%b'"]),
        ("bin = 'a'", "?", ["bin = 'a'"]),
        ("col = 'a'", "?", ["col = 'a'"]),
        ("i = i", "?", ["i = i"]),
        ("1 = 1", "?", ["1 = 1"]),
        ("flag < TRUE AND 5", "(flag < ? AND ?)", ["5"]),
    ],
)  # fmt: skip
def test_parts_that_depend_on_the_engine_are_unknown_and_named(text: str, predicate: str, unused: list[str]) -> None:
    """[STA-PR-2] [STA-PR-3]"""
    found, named = resolved(text)
    assert found == predicate
    assert [part for part, _ in named] == unused
    assert all(reason for _, reason in named)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "i = 1 AND", "AND i = 1", "(i = 1", "i = 1)", "f(i", "NOT", "()", "s = 'a", "`i = 1",
     "i = 1 -- x", "i = 1 /* x */", r"s = 'a\' AND i = 1", "CASE WHEN i = 1", "(" * 200 + "i" + ")" * 200,
     "i = 1 OR OR i = 2", "i =", "i = AND j = 1", "i > OR j = 1", "i + 1 <=", "SELECT i FROM t", "where i = 1"],
)  # fmt: skip
def test_a_predicate_that_is_not_complete_is_an_error(text: str) -> None:
    """[STA-PR-4]"""
    with pytest.raises(PredicateError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nope IS NULL", "the index has no statistics of nope"),
        ("nope LIKE 'a%'", "the index has no statistics of nope"),
        ("i < nope", "the index has no statistics of nope"),
        (f"i = {'9' * 39}", "the number has too many digits for a column of type int"),
        (f"c = 0.{'0' * 38}1", "the number has too many digits for a column of type decimal(8,2)"),
        ("i = 1e99999999999999999999", "the exponent of the number is too great"),
        ("f = 1e-99999999999999999999", "the exponent of the number is too great"),
        ("d = 1e400", "the number is too great for a floating-point number"),
        ("s = '\ud800'", "the string is not valid Unicode"),
        ("s LIKE '\ud800%'", "the pattern is not valid Unicode"),
        ("t = 'noon'", "the timestamp does not have the form 2024-01-31 10:30:00"),
        ("t = '2024-13-01 00:00:00'", "the timestamp does not have the form 2024-01-31 10:30:00"),
        ("n = '2024-01-01 25:00:00'", "the timestamp does not have the form 2024-01-31 10:30:00"),
        ("t = '2024-01-01 00:00:00+99:00'", "the timestamp does not have the form 2024-01-31 10:30:00"),
        ("t = TIMESTAMP_NTZ '2024-01-01 00:00:00Z'", "a timestamp without a zone has an offset"),
    ],
)
def test_reasons_of_parts_that_are_not_used(text: str, reason: str) -> None:
    """[STA-PR-2] [STA-PR-3]"""
    assert resolved(text) == ("?", [(text, reason)])


def bounds(text: str, zone: str | None = None) -> list[tuple[str, object]]:
    predicate = Resolver(column, zone).resolve(parse(text))
    leaves = getattr(predicate, "children", (predicate,))
    return [(leaf.op.value, leaf.value) for leaf in leaves if isinstance(leaf, Comparison)]


def test_values_are_those_of_the_column() -> None:
    """[STA-PR-3]"""
    assert bounds("i = -5") == [("=", -5)]
    assert bounds("c = 1.5") == [("=", Decimal("1.50"))]
    assert bounds(f"i = {'9' * 38}") == [("=", Decimal("9" * 38))]
    assert bounds(f"i >= -{'9' * 30}.5") == [(">=", Decimal(f"-{'9' * 30}.5"))]
    assert bounds(f"c < {'9' * 29}") == [("<", Decimal(f"{'9' * 29}.00"))]
    assert bounds("s = 'é'") == [("=", "é".encode())]
    assert bounds("day = '1970-01-02'") == [("=", 1)]
    assert bounds("n = '1970-01-02 00:00:01.5'") == [("=", DAY + 1_500_000)]
    assert bounds("t = '1970-01-02T00:00:00+01:00'") == [("=", DAY - HOUR)]


def test_times_without_an_offset_are_in_every_zone_or_in_the_given_one() -> None:
    """[STA-PR-5]"""
    assert bounds("t = '1970-01-02'") == [(">=", DAY - 18 * HOUR), ("<=", DAY + 18 * HOUR)]
    assert bounds("t > '1970-01-02'") == [(">", DAY - 18 * HOUR)]
    assert bounds("t <= '1970-01-02'") == [("<=", DAY + 18 * HOUR)]
    assert bounds("t > '1970-01-02'", "UTC") == [(">", DAY)]
    assert bounds("t = '1970-01-02'", "Asia/Tokyo") == [("=", DAY - 9 * HOUR)]
    (low, high) = bounds("t = '2024-10-27 02:30:00'", "Europe/Oslo")  # twice in this night
    assert high[1] - low[1] == HOUR  # type: ignore[operator]
    assert bounds("n >= TIMESTAMP '1970-01-02 00:00:00'") == [(">=", 0)]
    assert bounds("n >= TIMESTAMP '1970-01-02 00:00:00'", "UTC") == [(">=", DAY)]
    assert bounds("n >= TIMESTAMP_NTZ '1970-01-02 00:00:00'") == [(">=", DAY)]


def test_no_text_fails_in_another_way() -> None:
    """[STA-PR-4]"""
    words = ["i", "s", "=", "<", "(", ")", "AND", "OR", "NOT", "IN", "BETWEEN", "1", "'a'", ",", "IS", "NULL", "LIKE",
             "CASE", "END", "`", "'", "-", ".", "year", "\\", '"', "é", "1.5", "TIMESTAMP", "%"]  # fmt: skip
    seed = random.randrange(1 << 30)
    sys.stdout.write(f"seed {seed}\n")
    draw = random.Random(seed)
    parsed = 0
    for _ in range(20_000):
        text = " ".join(draw.choices(words, k=draw.randint(1, 12)))
        try:
            resolved(text)
            parsed += 1
        except PredicateError:
            continue
    assert parsed > 1_000
