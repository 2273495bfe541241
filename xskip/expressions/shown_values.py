"""The text of predicates with the values of their literals, for reports that may show values."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date, datetime, timedelta, timezone

from xskip.expressions.operands import Cast, Column, Computed, Elements, Operand
from xskip.expressions.predicate import (
    And,
    Comparison,
    Equivalent,
    In,
    NotIn,
    NotStartsWith,
    Or,
    Predicate,
    StartsWith,
    Value,
)

__all__ = ["leaf_texts", "text_with_values"]

_MAX_VALUES = 3
_MAX_CHARACTERS = 40


def text_with_values(predicate: Predicate, hidden: Collection[str] = ()) -> str:
    """Return the text of a predicate with its literals, without those of ``hidden`` columns (names in lower case).

    >>> from xskip.expressions.predicate import Op
    >>> city = Comparison(Op.EQ, Column(("city",), "string"), b"oslo")
    >>> day = Comparison(Op.GE, Column(("day",), "date"), 20000)
    >>> print(text_with_values(And((city, day)), {"city"}))
    (city = ? AND day >= '2024-10-04')
    """
    match predicate:
        case And(children):
            return "(" + " AND ".join(text_with_values(child, hidden) for child in children) + ")"
        case Or(children):
            return "(" + " OR ".join(text_with_values(child, hidden) for child in children) + ")"
        case Equivalent(children):
            return text_with_values(children[0], hidden)
        case Comparison() | In() | NotIn() | StartsWith() | NotStartsWith():
            return str(predicate) if _is_hidden(predicate.operand, hidden) else _leaf(predicate)
        case _:
            return str(predicate)


def leaf_texts(predicate: Predicate, hidden: Collection[str] = ()) -> dict[str, str]:
    """Return the texts of leaves with values, by their texts without values; ``hidden`` columns are in lower case.

    A text without values that stands for leaves with different values is absent.

    >>> from xskip.expressions.predicate import Op
    >>> a, b = Column(("a",), "int"), Column(("b",), "int")
    >>> leaf_texts(Or((Comparison(Op.EQ, a, 1), Comparison(Op.EQ, a, 2), Comparison(Op.LT, b, 3))))
    {'b < ?': 'b < 3'}
    """
    texts: dict[str, set[str]] = {}
    for leaf in _leaves(predicate):
        texts.setdefault(str(leaf), set()).add(text_with_values(leaf, hidden))
    return {plain: next(iter(shown)) for plain, shown in texts.items() if len(shown) == 1}


def _leaves(predicate: Predicate) -> Iterator[Predicate]:
    if isinstance(predicate, (And, Or, Equivalent)):
        for child in predicate.children:
            yield from _leaves(child)
    else:
        yield predicate


def _is_hidden(operand: Operand, hidden: Collection[str]) -> bool:
    """Return whether an operand is about a hidden column, or may be."""
    if not hidden:
        return False
    match operand:
        case Column(path) | Cast(Column(path)) | Elements(Column(path)) | Computed(Column(path)):
            # a struct field is hidden with its struct
            names = [part.lower() for part in path]
            return any(".".join(names[: end + 1]) in hidden for end in range(len(names)))
        case _:  # names no single column
            return True


def _leaf(leaf: Comparison | In | NotIn | StartsWith | NotStartsWith) -> str:
    kind = leaf.operand.type
    match leaf:
        case Comparison(op, operand, value):
            return f"{operand} {op.value} {_literal(value, kind)}"
        case In(operand, values):
            return f"{operand} IN ({_list(values, kind)})"
        case NotIn(operand, values):
            return f"{operand} NOT IN ({_list(values, kind)})"
        case StartsWith(operand, prefix):
            return f"{operand} LIKE {_quoted(_decoded(prefix) + '%')}"
        case NotStartsWith(operand, prefix):
            return f"{operand} NOT LIKE {_quoted(_decoded(prefix) + '%')}"


def _list(values: tuple[Value, ...], kind: str) -> str:
    first = ", ".join(_literal(value, kind) for value in values[:_MAX_VALUES])
    more = len(values) - _MAX_VALUES
    return f"{first}, and {more:,} more" if more > 0 else first


def _literal(value: Value, kind: str) -> str:
    """Return a value in Spark's internal representation as its users write it."""
    try:
        if isinstance(value, bytes):
            return f"X'{value[:_MAX_CHARACTERS].hex()}'" if kind == "binary" else _quoted(_decoded(value))
        if kind == "date" and isinstance(value, int):
            return _quoted((date(1970, 1, 1) + timedelta(days=value)).isoformat())
        if kind.startswith("timestamp") and isinstance(value, int):
            moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=value)
            zone = "" if kind == "timestamp_ntz" else "Z"
            return _quoted(moment.replace(tzinfo=None).isoformat(" ") + zone)
    except OverflowError:  # the year is not one of Python's
        pass
    return str(value)


def _decoded(value: bytes) -> str:
    return value.decode(errors="replace")


def _quoted(text: str) -> str:
    short = text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + "…"
    return "'" + short.replace("'", "''") + "'"
