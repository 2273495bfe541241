"""Errors of syntax in predicates in SQL.

The parser knows a part of SQL only, and engines know different parts. So this module reports what is an error in every
engine: two values without an operator between them, an operator without a value, a bracket without its other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xskip.errors import PredicateError, did_you_mean
from xskip.standalone.tokens import Token, place_of

__all__ = ["BRACKETS", "STATEMENTS", "check_condition", "syntax_error"]

STATEMENTS = ("SELECT", "WITH", "FROM", "WHERE")
#: The brackets, each with the one that closes it.
BRACKETS = {"(": ")", "[": "]", "{": "}", "CASE": "END"}
_COMPARISONS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>")
#: Operators without a space between them that no engine reads as another operator.
_NO_OPERATORS = ("===", "=<", "==<", "==>", "><", ">==", "<==", "!==", "=!=", "<>=")
#: Words that can stand before, between or after values without being values.
_KEYWORDS = frozenset([
    "ALL", "AND", "ANY", "ARRAY", "AS", "ASYMMETRIC", "AT", "BETWEEN", "BINARY", "CASE", "COLLATE", "CONTAINS",
    "DATE", "DISTINCT", "DIV", "ELSE", "END", "ESCAPE", "EXISTS", "FILTER", "FROM", "GLOB", "GROUP", "IGNORE",
    "ILIKE", "IN", "INTERVAL", "IS", "ISNULL", "LIKE", "LOCAL", "MAP", "MATCH", "MATCHES", "MEMBER", "MOD", "NOT",
    "NOTNULL", "NULLS", "OF", "OPERATOR", "OR", "OVER", "OVERLAPS", "REGEXP", "RESPECT", "RLIKE", "ROW", "SIMILAR",
    "SOME", "SOUNDS", "STRUCT", "SYMMETRIC", "THEN", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TO",
    "UESCAPE", "WHEN", "WITH", "WITHIN", "WITHOUT", "XOR", "ZONE",
])  # fmt: skip
_AFTER_IS = ("NOT", "NULL", "TRUE", "FALSE", "UNKNOWN", "DISTINCT", "OF", "JSON", "NORMALIZED", "DOCUMENT")
#: Words for which a wrong word may stand.
_SIMILAR = ("AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "NOT")
#: Words that a value or a condition follows.
_BEFORE_VALUES = (*_COMPARISONS, "+", "-", "*", "/", "%", "NOT", "IN", "LIKE")
_VALUE = "a value such as 3 or 'Oslo'"
_CONDITION = "a condition such as temp > 30"


def syntax_error(
    what: str, text: str, token: Token | None, *, expected: str | None = None, hint: str | None = None
) -> PredicateError:
    """Return the error for a place of a predicate; without a token, the place is the end.

    >>> from xskip.standalone.tokens import tokenize
    >>> print(syntax_error("a word is unknown", "a > 3 AN b", tokenize("a > 3 AN b")[3]))
    a word is unknown (where: a > 3 AN b; found: AN at character 7)
    """
    found = "the end" if token is None else place_of(token.text, token.start)
    return PredicateError(what, where=text, found=found, expected=expected, hint=hint)


def check_condition(text: str, tokens: Sequence[Token], after: Token | None, *, is_whole: bool) -> None:
    """Raise an error if the tokens of a condition are no condition in any engine.

    The condition has at least one token, and its brackets are in pairs. ``after`` is the token after the condition, and
    ``is_whole`` says that the condition is in no parentheses.
    """
    first, last = tokens[0], tokens[-1]
    if first.word in STATEMENTS:
        # A query can stand in parentheses.
        if is_whole:
            raise syntax_error(
                "the predicate is a statement", text, first, expected=_CONDITION, hint="pass only what follows WHERE"
            )
        return
    if first.word in _COMPARISONS:
        raise syntax_error("the predicate lacks a value before an operator", text, first, expected=_VALUE)
    if last.word in _BEFORE_VALUES:
        raise syntax_error(f"the predicate lacks a value after {last.text}", text, after, expected=_VALUE)
    outer = _outer(tokens)
    has_types = any(token.word == "INTERVAL" for token in outer) or "::" in text  # INTERVAL 3 DAYS, x::DOUBLE PRECISION
    before: Token | None = None
    for left, right in pairwise(outer):
        _check_operators(text, left, right)
        if not has_types:
            _check_words(text, before, left, right)
        before = left


def _outer(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens outside of brackets, and the brackets themselves."""
    found: list[Token] = []
    closing: list[str] = []
    for token in tokens:
        name = token.word or token.text
        if closing and name == closing[-1]:
            closing.pop()
        if not closing:
            found.append(token)
        if name in BRACKETS:
            closing.append(BRACKETS[name])
    return found


def _check_operators(text: str, left: Token, right: Token) -> None:
    for token in (left, right):
        if token.text in (",", ";"):
            hint = "join conditions by AND or OR" if token.text == "," else "remove the semicolon"
            raise syntax_error(
                "the predicate has a sign between conditions", text, token, expected="AND or OR", hint=hint
            )
    if left.word in _COMPARISONS and right.word in _COMPARISONS:
        joined = left.text + right.text
        if left.end < right.start or joined in _NO_OPERATORS:
            raise syntax_error(
                "the predicate has an operator where a value must be", text, right, expected=_VALUE,
                hint="remove one of the two operators",
            )  # fmt: skip


def _check_words(text: str, before: Token | None, left: Token, right: Token) -> None:
    """Raise an error if a value follows another value, or if IS has an unknown word."""
    if left.word == "IS" and right.kind == "name" and right.word not in _AFTER_IS:
        raise syntax_error("the predicate has an unknown word after IS", text, right, expected="NULL or NOT NULL")
    follows = right.kind == "number" or _is_name(right) or (right.kind == "string" and left.kind == "number")
    if not follows or not _ends_value(left):
        return
    near = [word for word in _SIMILAR if abs(len(word) - len(right.text)) < 2]
    similar = did_you_mean(right.text.upper(), near) if _is_name(right) else None
    if before is not None and before.word in _COMPARISONS and _is_name(left):
        similar = similar or f"put a text in quotes: '{left.text} {right.text}'"
    raise syntax_error(
        "the predicate has two values without an operator between them", text, right, expected="AND, OR or the end",
        hint=similar or "join conditions by AND or OR, and put a text in quotes",
    )  # fmt: skip


def _is_name(token: Token) -> bool:
    return token.kind == "name" and token.word not in _KEYWORDS


def _ends_value(token: Token) -> bool:
    return token.kind in ("number", "string") or token.text in (")", "]", "}") or token.word == "END" or _is_name(token)
