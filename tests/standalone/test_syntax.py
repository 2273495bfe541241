"""The parser raises an error with the place for a text that no engine reads; other conditions keep files."""

from __future__ import annotations

import random
import sys

import duckdb
import pytest

from xskip.errors import PredicateError
from xskip.standalone.sql import Other, parse

VALUE = "a value such as 3 or 'Oslo'"
CONDITION = "a condition such as temp > 30"
TWO = "the predicate has two values without an operator between them"
OPERATOR = "the predicate has an operator where a value must be"
JOIN = "join conditions by AND or OR, and put a text in quotes"


@pytest.mark.parametrize(
    ("text", "what", "found", "expected", "hint"),
    [
        ("city == = 'x'", OPERATOR, "= at character 9", VALUE, "remove one of the two operators"),
        ("id = 3 OR (city = < 'x')", OPERATOR, "< at character 19", VALUE, "remove one of the two operators"),
        ("city === 'x'", OPERATOR, "= at character 8", VALUE, "remove one of the two operators"),
        ("id > 3 AN city = 'x'", TWO, "AN at character 8", "AND, OR or the end", "did you mean AND?"),
        ("(id > 3 adn city = 'x')", TWO, "adn at character 9", "AND, OR or the end", "did you mean AND?"),
        ("city LIK 'x%'", TWO, "LIK at character 6", "AND, OR or the end", "did you mean LIKE?"),
        ("temp BETWEN 3 AND 4", TWO, "BETWEN at character 6", "AND, OR or the end", "did you mean BETWEEN?"),
        ("city = New York", TWO, "York at character 12", "AND, OR or the end", "put a text in quotes: 'New York'"),
        ("id > 3 city", TWO, "city at character 8", "AND, OR or the end", JOIN),
        ("city = 'x' 5", TWO, "5 at character 12", "AND, OR or the end", JOIN),
        ("f(a = 1) `b`", TWO, "`b` at character 10", "AND, OR or the end", JOIN),
        ("city IS NUL", "the predicate has an unknown word after IS", "NUL at character 9", "NULL or NOT NULL", ""),
        ("id > 3;", "the predicate has a sign between conditions", "; at character 7", "AND or OR",
         "remove the semicolon"),
        ("id > 3, a = 1", "the predicate has a sign between conditions", ", at character 7", "AND or OR",
         "join conditions by AND or OR"),
        ("= 3", "the predicate lacks a value before an operator", "= at character 1", VALUE, ""),
        ("id >", "the predicate lacks a value after >", "the end", VALUE, ""),
        ("id > AND a = 3", "the predicate lacks a value after >", "AND at character 6", VALUE, ""),
        ("id > 3 AND", "the predicate lacks a condition", "the end", CONDITION, ""),
        ("a AND OR b", "the predicate lacks a condition", "OR at character 7", CONDITION, ""),
        ("(id > 3", "the predicate has an open bracket, which lacks its )", "( at character 1", "", ""),
        ("a[1 = 3", "the predicate has an open bracket, which lacks its ]", "[ at character 2", "", ""),
        ("CASE WHEN a", "the predicate has an open bracket, which lacks its END", "CASE at character 1", "", ""),
        ("a] = 3", "the predicate has brackets that do not match", "] at character 2", "", ""),
        ("f(a]) = 3", "the predicate has brackets that do not match", "] at character 4", "", ""),
        ("id > 3)", "the predicate has a closing parenthesis without an opening one", ") at character 7", "",
         "remove it, or add an opening one"),
        ("SELECT * FROM t", "the predicate is a statement", "SELECT at character 1", CONDITION,
         "pass only what follows WHERE"),
        ("where id = 3", "the predicate is a statement", "where at character 1", CONDITION,
         "pass only what follows WHERE"),
        ("city = 'Oslo", "the predicate has an open quote", "' at character 8", "another quote",
         "close the quote, and write a quote within a text twice: 'it''s'"),
        ("id = 3 -- x", "the predicate contains a comment", "-- at character 8", "", "remove the comment"),
    ],
)  # fmt: skip
def test_errors_of_syntax(text: str, what: str, found: str, expected: str, hint: str) -> None:
    """[STA-PR-4]"""
    with pytest.raises(PredicateError) as error:
        parse(text)
    message = f"{what} (where: {text}; found: {found}{f'; expected: {expected}' if expected else ''})"
    assert str(error.value) == (f"{message}; {hint}" if hint else message)


def test_an_empty_predicate() -> None:
    """[STA-PR-4]"""
    with pytest.raises(PredicateError) as error:
        parse(" \n")
    assert str(error.value) == f"the predicate is empty (expected: {CONDITION})"


@pytest.mark.parametrize(
    "text",
    [
        "ts > now() - INTERVAL 3 DAYS", "x::DOUBLE PRECISION > 3", "ts AT TIME ZONE 'UTC' > '2024'", "a SIMILAR TO 'x'",
        "a GLOB 'x*'", "f(end) = 3", "x RLIKE 'a'", "x COLLATE UTF8_LCASE = 'a'", "a >> 2 = 3", "a ->> 'x' = 'y'",
        "EXTRACT(YEAR FROM d) = 3", "x IN (SELECT a b FROM c d)", "CASE a WHEN 1 THEN b c END", "arr[1] = 3",
        "{'a': 1} = s", "x IN y", "(a, b) IN ((1,2))", "s = 'a' 'b'", "UUID 'abc' = u", "a IS NOT DISTINCT FROM b",
        "x @> y", "!flag", "a <=> b", "x LIKE ANY ('a','b')", "list_filter(x, y -> y > 3)[1] = 2", "x NOT ILIKE 'b'",
        "TIMESTAMP '2024-01-01' + INTERVAL '1' YEAR > t", "x ISNULL", "x IS JSON", "(SELECT max(x) FROM t) = i",
        "a DIV 2 = 3", "f(a => 1) > 2", "x BETWEEN SYMMETRIC 1 AND 2", "x = - - 3", "a || b = 'c'", 'a = "x y"',
    ],
)  # fmt: skip
def test_what_an_engine_may_know_is_no_error(text: str) -> None:
    """[STA-PR-2]"""
    assert parse(text) == Other(text)


def test_what_duckdb_parses_is_no_error_of_syntax() -> None:
    """[STA-PR-4]"""
    words = [
        "i", "s", "=", "<", ">", "(", ")", "AND", "OR", "NOT", "IN", "BETWEEN", "1", "'a'", ",", "IS", "NULL", "LIKE",
        "CASE", "WHEN", "THEN", "END", "-", "[", "]", "year", "1.5", "DATE", "%", "COLLATE", "NOCASE", "::INT",
        "INTERVAL", "DAY", "||", "GLOB", "ISNULL", "DISTINCT", "FROM", "ILIKE", "TRUE", "*", "!=", "ANY",
    ]  # fmt: skip
    seed = random.randrange(1 << 30)
    sys.stdout.write(f"seed {seed}\n")
    draw = random.Random(seed)
    valid = 0
    with duckdb.connect() as connection:
        for _ in range(30_000):
            text = " ".join(draw.choices(words, k=draw.randint(1, 7)))
            try:
                connection.extract_statements(f"SELECT 1 FROM t WHERE {text}\nLIMIT 1")
            except duckdb.ParserException:
                continue
            valid += 1
            parse(text)
    assert valid > 300
