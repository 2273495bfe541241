"""Random leaves of filters: comparisons, IN lists and patterns on fields, functions, rows or hidden columns."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fuzz.functions import NUMBERS, Chain, chain
from tests.fuzz.scope import Field, Scope
from tests.fuzz.tree import Tree

__all__ = ["leaf"]

_OPS = ("=", "=", "<", "<=", ">", ">=", "<>", "<=>")
_PATTERNS = (
    "\x000 LIKE '{w}%'", "\x000 LIKE '%{w}'", "\x000 LIKE '%{w}%'", "\x000 LIKE '{w}_%'", "\x000 LIKE '{w}'",
    "\x000 NOT LIKE '{w}%'", "startswith(\x000, '{w}')", "contains(\x000, '{w}')", "endswith(\x000, '{w}')",
    "\x000 RLIKE '^{w}[0-9]+$'", "\x000 ILIKE '{w}%'", "NOT endswith(\x000, '{w}')",
)  # fmt: skip
_OF_ARRAYS = (
    "array_contains({c}, {n})", "size({c}) = {few}", "size({c}) > {few}", "get({c}, 0) = {n}", "{c} IS NULL",
    "{c} IS NOT NULL", "exists({c}, x -> x > {n})", "forall({c}, x -> x < {n})", "{c} = array({n})",
    "coalesce(size({c}), 0) = 0", "try_element_at({c}, 2) IS NULL", "array_max({c}) >= {n}", "{c} <=> NULL",
)  # fmt: skip
#: These fail for short arrays with ANSI.
_OF_LONG_ARRAYS = ("element_at({c}, 1) = {n}", "{c}[0] < {n}", "element_at({c}, -1) IS NULL")
_OF_MAPS = (
    "{c}['{key}'] = {n}", "{c}['{key}'] > {n}", "element_at({c}, '{key}') IS NULL", "{c}['{key}'] IS NOT NULL",
    "size({c}) = {few}", "{c} IS NULL", "{c} IS NOT NULL", "map_contains_key({c}, '{key}')",
    "array_contains(map_keys({c}), '{key}')", "cardinality({c}) < {few}",
)  # fmt: skip
_OF_STRUCTS = ("\x000 IS NULL", "\x000 IS NOT NULL", "\x000 <=> NULL")
_COMPARABLE = (NUMBERS, ("string",), ("date", "timestamp", "timestamp_ntz"), ("boolean",), ("binary",))
#: Functions of two fields; the second part is a type of which the result is like.
_OF_TWO_NUMBERS = ("(\x000 + \x001)", "(\x000 - \x001)", "(\x000 * \x001)", "greatest(\x000, \x001)",
                   "least(\x000, \x001)", "coalesce(\x000, \x001)", "nullif(\x000, \x001)")  # fmt: skip
_OF_TWO = ("coalesce(\x000, \x001)", "greatest(\x000, \x001)", "if(\x000 < \x001, \x000, \x001)")
_OF_ROWS = ("=", "=", "<=>", "<>", "<", ">=")
Maker = Callable[[Random, Scope, Field], Tree]


def leaf(random: Random, scope: Scope) -> Tree:
    """Return a random leaf about a field of the query, or about the file itself."""
    if scope.hidden and random.random() < 0.06:
        return Tree(random.choice(scope.hidden))
    field = random.choice(scope.fields if random.random() < 0.65 else scope.integers or scope.fields)
    match field.kind:
        case "array<int>":
            return _nested(random, _OF_ARRAYS if scope.ansi else (*_OF_ARRAYS, *_OF_LONG_ARRAYS), field)
        case "map<string,int>":
            return _nested(random, _OF_MAPS, field)
    if "." in field.name and random.random() < 0.1:
        return Tree(random.choice(_OF_STRUCTS), (Tree(field.name.partition(".")[0]),))
    makers: list[Maker] = [_comparison, _comparison, _membership, _null, *[_function] * 4, _pair, _row]
    if field.kind == "string":
        makers += [_pattern, _pattern]
    return random.choice(makers)(random, scope, field)


def _comparison(random: Random, scope: Scope, field: Field) -> Tree:
    own = Tree(field.name)
    if field.kind == "boolean" and random.random() < 0.4:
        return own
    other = field.literal(random)
    if random.random() < 0.1:
        return Tree(f"\x000 BETWEEN {other} AND {field.literal(random)}", (own,))
    op = random.choice(_OPS)
    return Tree(f"{other} {op} \x000" if random.random() < 0.2 else f"\x000 {op} {other}", (own,))


def _membership(random: Random, scope: Scope, field: Field) -> Tree:
    values = ", ".join(field.literal(random) for _ in range(random.choice((1, 2, 4, 14))))
    return Tree(f"\x000 {random.choice(('IN', 'NOT IN'))} ({values})", (Tree(field.name),))


def _null(random: Random, scope: Scope, field: Field) -> Tree:
    return Tree(f"\x000 IS {random.choice(('NULL', 'NOT NULL'))}", (Tree(field.name),))


def _pattern(random: Random, scope: Scope, field: Field) -> Tree:
    word = random.choice(("os", "o", "lo1", "b", "a", "", "ci", "O", "2", "a_", "\ufffd"))
    return Tree(random.choice(_PATTERNS).format(w=word), (Tree(field.name),))


def _nested(random: Random, forms: tuple[str, ...], field: Field) -> Tree:
    number = random.choice((*range(-2, 40), "NULL", 2147483647))
    form = random.choice(forms)
    return Tree(form.format(c=field.name, n=number, few=random.randint(0, 3), key=random.choice(("k", "j", "none"))))


def _function(random: Random, scope: Scope, field: Field) -> Tree:
    """Return a comparison of functions of a field with a literal, or with the same functions of a literal."""
    calls = _chain(random, scope, field, random.choice((1, 2, 2, 3)))
    own = _applied(calls, Tree(field.name))
    if calls.gives == "boolean" and random.random() < 0.5:
        return own
    choice = random.random()
    if choice < 0.1:
        return Tree(f"(\x000) IS {random.choice(('NULL', 'NOT NULL'))}", (own,))
    if choice < 0.2:
        values = ", ".join(_result(random, scope, field, calls) for _ in range(3))
        return Tree(f"(\x000) {random.choice(('IN', 'NOT IN'))} ({values})", (own,))
    if calls.gives == "string" and choice < 0.3:
        return Tree(random.choice(_PATTERNS).format(w=random.choice(("o", "1", "2", "20", ""))), (own,))
    return Tree(f"(\x000) {random.choice(_OPS)} {_result(random, scope, field, calls)}", (own,))


def _result(random: Random, scope: Scope, field: Field, calls: Chain) -> str:
    if random.random() < 0.75:
        return calls.of(field.literal(random))
    return scope.literal(random, calls.gives)


def _pair(random: Random, scope: Scope, field: Field) -> Tree:
    """Return a comparison of two fields, or of a field with itself, with or without functions."""
    alike = next(kinds for kinds in _COMPARABLE if field.kind in kinds)
    other = field if random.random() < 0.2 else random.choice([f for f in scope.fields if f.kind in alike])
    choice = random.random()
    if choice < 0.25:
        return _of_two(random, scope, field, other)
    left, right = (_within(random, scope, each, alike) for each in (field, other))
    if choice < 0.35:
        return Tree(f"\x000 {random.choice(('IN', 'NOT IN'))} (\x001, {field.literal(random)})", (left, right))
    return Tree(f"\x000 {random.choice(_OPS)} \x001", (left, right))


def _row(random: Random, scope: Scope, field: Field) -> Tree:
    """Return a comparison of a row of fields with one row of literals or with several."""
    flat = [each for each in scope.fields if each.kind not in ("array<int>", "map<string,int>")]
    fields = [field, *random.choices(flat, k=random.choice((1, 1, 2)))]
    form = random.choice(("({})", "struct({})"))
    own = form.format(", ".join(chr(0) + str(n) for n in range(len(fields))))
    literals = (", ".join(f"try_cast({each.literal(random)} AS {each.kind})" for each in fields) for _ in range(3))
    rows = [form.format(row) for row in literals]
    names = tuple(Tree(each.name) for each in fields)
    if random.random() < 0.4:
        return Tree(f"{own} {random.choice(('IN', 'NOT IN'))} ({', '.join(rows)})", names)
    return Tree(f"{own} {random.choice(_OF_ROWS)} {rows[0]}", names)


def _within(random: Random, scope: Scope, field: Field, alike: tuple[str, ...]) -> Tree:
    """Return a field, at times inside of functions whose result has a comparable type."""
    if random.random() < 0.35:
        calls = _chain(random, scope, field, random.choice((1, 2)))
        if calls.gives in alike:
            return _applied(calls, Tree(field.name))
    return Tree(field.name)


def _of_two(random: Random, scope: Scope, field: Field, other: Field) -> Tree:
    both = (Tree(field.name), Tree(other.name))
    if field.kind in NUMBERS and not scope.ansi:
        own = Tree(random.choice(_OF_TWO_NUMBERS), both)
    elif field.kind == "date" == other.kind and random.random() < 0.5:
        return Tree(f"datediff(\x000, \x001) {random.choice(_OPS)} {random.choice((0, 10, -100))}", both)
    elif field.kind == "string" and random.random() < 0.5:
        own = Tree("concat(\x000, \x001)", both)
    else:
        own = Tree(random.choice(_OF_TWO), both)
    return Tree(f"\x000 {random.choice(_OPS)} {field.literal(random)}", (own,))


def _chain(random: Random, scope: Scope, field: Field, depth: int) -> Chain:
    literals = [field.literal(random) for _ in range(2)]
    return chain(random, field.kind, literals, depth, ansi=scope.ansi)


def _applied(calls: Chain, own: Tree) -> Tree:
    for text in calls.texts:
        own = Tree(text, (own,))
    return own
