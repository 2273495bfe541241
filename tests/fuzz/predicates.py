"""Random filters, as SQL text in a tree that can be cut down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from tests.fuzz.data import COLUMNS, DataSet, literal

__all__ = ["Tree", "predicate", "smaller"]

_OPS = ("=", "<", "<=", ">", ">=", "<>", "<=>")
_NUMBERS = ("int", "bigint", "smallint", "double", "float", "decimal(10,2)")
#: Functions of a column of some types, with the type of what they give, which is compared with values of a column.
_FUNCTIONS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("int", "bigint", "smallint"), "{c} + {k}", "l"),
    (("int", "bigint", "smallint"), "{c} - {k}", "l"),
    (("int", "bigint", "smallint"), "{k} - {c}", "l"),
    (("int", "bigint", "smallint"), "{c} * {k}", "l"),
    (("int", "bigint", "smallint"), "-{c}", "l"),
    (("int", "bigint"), "{c} % 7", "h"),
    (("int", "bigint"), "{c} div {k}", "l"),
    (_NUMBERS, "{c} / 4", "d"),
    (_NUMBERS, "abs({c})", "d"),
    (("double", "float", "decimal(10,2)"), "floor({c})", "l"),
    (("double", "float", "decimal(10,2)"), "ceil({c})", "l"),
    (("double", "decimal(10,2)"), "round({c}, 1)", "d"),
    (("double", "float"), "cast({c} as int)", "i"),
    (("double", "float"), "cast({c} as bigint)", "l"),
    (("double", "float"), "{c} * -2", "d"),
    (("double",), "cast({c} as float)", "f"),
    (("bigint", "int"), "cast({c} as smallint)", "h"),
    (("bigint", "int", "smallint"), "cast({c} as double)", "d"),
    (("bigint", "int"), "cast({c} as decimal(10,2))", "n"),
    (("int", "bigint"), "cast({c} as string)", "s"),
    (("string",), "upper({c})", "s"),
    (("string",), "lower({c})", "u"),
    (("string",), "trim({c})", "s"),
    (("string",), "substring({c}, 1, 3)", "s"),
    (("string",), "substring({c}, 2, 3)", "s"),
    (("string",), "left({c}, 2)", "s"),
    (("string",), "concat('o', {c})", "s"),
    (("string",), "concat({c}, 'z')", "s"),
    (("string",), "length({c})", "h"),
    (("string",), "reverse({c})", "s"),
    (("string",), "cast({c} as int)", "i"),
    (("date",), "year({c}) + 0", "l"),
    (("date", "timestamp", "timestamp_ntz"), "month({c}) * 10", "i"),
    (("date", "timestamp", "timestamp_ntz"), "day({c}) * 3", "i"),
    (("date",), "date_add({c}, {k})", "dt"),
    (("date",), "date_sub({c}, {k})", "dt"),
    (("date",), "add_months({c}, {k})", "dt"),
    (("date",), "trunc({c}, 'MM')", "dt"),
    (("date",), "datediff({c}, DATE'2020-01-01')", "i"),
    (("date",), "cast({c} as timestamp)", "ts"),
    (("timestamp", "timestamp_ntz"), "cast({c} as date)", "dt"),
    (("timestamp", "timestamp_ntz"), "date_trunc('MONTH', {c})", "ts"),
    (("timestamp",), "date_trunc('HOUR', {c})", "ts"),
    (("timestamp",), "unix_timestamp({c}) % 1000", "l"),
    (("timestamp",), "cast({c} as bigint) div 100000", "l"),
    (("timestamp", "timestamp_ntz"), "hour({c})", "h"),
    (("timestamp",), "{c} + INTERVAL '1' DAY", "ts"),
    (("timestamp",), "cast({c} as timestamp_ntz)", "nt"),
    (tuple(set(COLUMNS.values())), "coalesce({c}, {v})", ""),
    (tuple(set(COLUMNS.values())), "nullif({c}, {v})", ""),
    (tuple(set(COLUMNS.values()) - {"boolean"}), "if({c} > {v}, {c}, NULL)", ""),
)


_PATTERNS = (
    "{c} LIKE '{w}%'", "{c} LIKE '%{w}'", "{c} LIKE '%{w}%'", "{c} LIKE '{w}_%'", "{c} LIKE '{w}'",
    "{c} NOT LIKE '{w}%'", "startswith({c}, '{w}')", "contains({c}, '{w}')", "endswith({c}, '{w}')",
    "{c} RLIKE '^{w}[0-9]+$'", "{c} ILIKE '{w}%'", "NOT endswith({c}, '{w}')",
)  # fmt: skip
Maker = Callable[[Random, DataSet, str], str]


@dataclass(frozen=True, slots=True)
class Tree:
    """A filter: its text, with ``{0}``, ``{1}`` … for the children."""

    form: str
    children: tuple[Tree, ...] = ()

    def __str__(self) -> str:
        text = self.form
        for k, child in enumerate(self.children):
            text = text.replace(f"\x00{k}", str(child))
        return text


def predicate(random: Random, data: DataSet, depth: int = 3) -> Tree:
    """A random filter over the columns of a dataset."""
    choice = random.random()
    if depth == 0 or choice < 0.45:
        return Tree(_leaf(random, data))
    first = predicate(random, data, depth - 1)
    if choice < 0.55:
        return Tree("NOT (\x000)", (first,))
    second = predicate(random, data, depth - 1)
    if choice < 0.95:
        return Tree(f"(\x000 {random.choice(('AND', 'OR'))} \x001)", (first, second))
    return Tree("CASE WHEN \x000 THEN \x001 ELSE NOT (\x001) END", (first, second))


def smaller(tree: Tree) -> Iterator[Tree]:
    """Filters that are one step simpler."""
    yield from tree.children
    for k, child in enumerate(tree.children):
        for less in smaller(child):
            yield Tree(tree.form, (*tree.children[:k], less, *tree.children[k + 1 :]))


def _leaf(random: Random, data: DataSet) -> str:
    column = random.choice(list(COLUMNS))
    makers: list[Callable[[Random, DataSet, str], str]] = [
        _comparison,
        _comparison,
        _membership,
        _null,
        _function,
        _function,
    ]
    if COLUMNS[column] == "string":
        makers += [_pattern, _pattern]
    return random.choice(makers)(random, data, column)


def _comparison(random: Random, data: DataSet, column: str) -> str:
    if COLUMNS[column] == "boolean" and random.random() < 0.4:
        return column
    other = literal(random, data, column)
    if random.random() < 0.1:
        low, high = other, literal(random, data, column)
        return f"{column} BETWEEN {low} AND {high}"
    op = random.choice(_OPS)
    return f"{other} {op} {column}" if random.random() < 0.2 else f"{column} {op} {other}"


def _membership(random: Random, data: DataSet, column: str) -> str:
    values = ", ".join(literal(random, data, column) for _ in range(random.choice((1, 2, 4, 14))))
    return f"{column} {random.choice(('IN', 'NOT IN'))} ({values})"


def _null(random: Random, data: DataSet, column: str) -> str:
    return f"{column} IS {random.choice(('NULL', 'NOT NULL'))}"


def _pattern(random: Random, data: DataSet, column: str) -> str:
    word = random.choice(("os", "o", "lo1", "b", "a", "", "ci", "O", "2", "a_", "\ufffd"))
    form = random.choice(_PATTERNS)
    return form.format(c=column, w=word)


def _function(random: Random, data: DataSet, column: str) -> str:
    fitting = [f for f in _FUNCTIONS if COLUMNS[column] in f[0]]
    if not fitting:
        return _comparison(random, data, column)
    _, form, gives = random.choice(fitting)
    text = form.format(c=column, k=random.choice((1, 2, 3, 5, 30, 1000, -1, -7)), v=literal(random, data, column))
    if random.random() < 0.1:
        return f"({text}) IS {random.choice(('NULL', 'NOT NULL'))}"
    if random.random() < 0.15:
        values = ", ".join(literal(random, data, gives or column) for _ in range(3))
        return f"({text}) {random.choice(('IN', 'NOT IN'))} ({values})"
    return f"({text}) {random.choice(_OPS)} {literal(random, data, gives or column)}"
