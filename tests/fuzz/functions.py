"""Functions by the types of their arguments and results, and compositions of functions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from tests.fuzz.data import INTEGERS

__all__ = ["NUMBERS", "Chain", "chain"]

NUMBERS = ("int", "bigint", "smallint", "double", "float", "decimal(10,2)")
_REAL = ("double", "float", "decimal(10,2)")
_INSTANTS = ("timestamp", "timestamp_ntz")
_TIMES = ("date", *_INSTANTS)
_ATOMIC = (*NUMBERS, *_TIMES, "string", "boolean", "binary")
_WHOLE = tuple(INTEGERS)
#: Constants with which sums wrap around.
_LARGE = {
    "int": ("2000000000", "-2000000000", "1500000000", "2147483647", "-2147483648", "1000000000"),
    "bigint": (
        "9000000000000000000L",
        "-9000000000000000000L",
        "5000000000000000000L",
        "9223372036854775807L",
        "(-9223372036854775807L - 1)",
    ),
    "smallint": ("30000S", "-30000S", "20000S", "32767S", "-32768S"),
    "date": ("2147483647", "2147000000", "-2147483647"),
}
#: Divisors that leave a handful of values.
_COARSE = {
    "int": ("1500000000", "1000000000", "2000000000", "700000000"),
    "bigint": ("5000000000000000000L", "4000000000000000000L", "9000000000000000000L", "1000000000000000000L"),
    "smallint": ("20000S", "15000S", "10000S"),
}
_DIGITS = {"int": 9, "bigint": 18, "smallint": 4}


class Function(NamedTuple):
    """A function: the types of its argument, its text, and the type of its result (empty: the type of the argument).

    In the text, ``{c}`` is the argument, ``{k}`` a small number, ``{large}`` a number that lets a sum wrap around,
    ``{coarse}`` a number that leaves few values, ``{v}`` a literal of the argument's type. Functions that fail for some
    values are not used with ANSI.
    """

    takes: tuple[str, ...]
    text: str
    gives: str = ""
    fails: bool = False


_WRAPPING = (
    Function(_WHOLE, "({c} + {large})", fails=True),
    Function(_WHOLE, "({c} - {large})", fails=True),
    Function(_WHOLE, "({large} - {c})", fails=True),
    Function(_WHOLE, "({large} + {c})", fails=True),
)
_COARSENING = (
    Function(_WHOLE, "({c} div {coarse})", "bigint"),
    Function(_WHOLE, "({c} / {coarse})", "double"),
    Function(_WHOLE, "({c} div -{coarse})", "bigint"),
    Function(_WHOLE, "floor({c} / {coarse})", "bigint"),
    Function(_WHOLE, "round({c}, -{digits})", fails=True),
    Function(_WHOLE, "cast(({c} / {coarse}) as int)", "int"),
)
_NUMERIC = (
    Function(_WHOLE, "({c} + {k})", fails=True),
    Function(_WHOLE, "({c} - {k})", fails=True),
    Function(_WHOLE, "({k} - {c})", fails=True),
    Function(_WHOLE, "({c} * {k})", fails=True),
    Function(_WHOLE, "({c} * {large})", fails=True),
    Function(("int", "bigint"), "(-{c})", fails=True),
    Function(("int", "bigint"), "({c} % 7)"),
    Function(("int", "bigint"), "({c} div {k})", "bigint", fails=True),
    Function(_WHOLE, "abs({c})", fails=True),
    Function(_REAL, "abs({c})"),
    Function(NUMBERS, "({c} / 4)", "double"),
    Function(NUMBERS, "sign({c})", "double"),
    Function(_REAL, "floor({c})", "bigint"),
    Function(_REAL, "ceil({c})", "bigint"),
    Function(("double", "float"), "round({c}, 1)"),
    Function(("double", "float"), "cast({c} as int)", "int", fails=True),
    Function(("double", "float"), "cast({c} as bigint)", "bigint", fails=True),
    Function(("double", "float"), "({c} * -2)", "double"),
    Function(("double",), "cast({c} as float)", "float"),
    Function(("double", "bigint"), "sqrt({c})", "double"),
    Function(("bigint", "int"), "cast({c} as smallint)", "smallint", fails=True),
    Function(("bigint",), "cast({c} as int)", "int", fails=True),
    Function(("int", "smallint"), "cast({c} as bigint)", "bigint"),
    Function(_WHOLE, "cast({c} as double)", "double"),
    Function(("bigint", "int"), "cast({c} as float)", "float"),
    Function(("bigint", "int"), "cast({c} as decimal(10,2))", "decimal(10,2)", fails=True),
    Function(NUMBERS, "cast({c} as string)", "string"),
    Function(NUMBERS, "cast({c} as boolean)", "boolean"),
    Function(("int",), "date_from_unix_date({c})", "date", fails=True),
    Function(("int", "smallint"), "cast({c} as timestamp)", "timestamp"),
    Function(("bigint",), "timestamp_micros({c})", "timestamp"),
    Function(("double",), "isnan({c})", "boolean"),
)
_STRINGS = (
    *(Function(("string",), text) for text in (
        "upper({c})", "lower({c})", "trim({c})", "substring({c}, 1, 3)", "substring({c}, 2, 3)", "left({c}, 2)",
        "concat('o', {c})", "concat({c}, 'z')", "reverse({c})", "initcap({c})", "replace({c}, 'o', '0')",
        "lpad({c}, 5, '1')", "regexp_replace({c}, '[0-9]', '7')", "translate({c}, 'os', 'so')", "rtrim({c})",
    )),
    Function(("string", "binary"), "length({c})", "int"),
    Function(("string",), "instr({c}, 'o')", "int"),
    Function(("string",), "ascii({c})", "int"),
    Function(("string",), "cast({c} as int)", "int", fails=True),
    Function(("string",), "cast({c} as double)", "double", fails=True),
    Function(("string",), "cast({c} as date)", "date", fails=True),
    Function(("string",), "({c} LIKE 'o%')", "boolean"),
    Function(("string",), "contains({c}, '1')", "boolean"),
    Function(("string",), "cast({c} as binary)", "binary"),
    Function(("binary",), "hex({c})", "string"),
    Function(("binary",), "concat({c}, X'00')"),
    Function(("boolean",), "(NOT {c})"),
    Function(("boolean",), "cast({c} as int)", "int"),
    Function(("boolean",), "cast({c} as string)", "string"),
)  # fmt: skip
_TEMPORAL = (
    Function(_TIMES, "year({c})", "int"),
    Function(_TIMES, "month({c})", "int"),
    Function(_TIMES, "quarter({c})", "int"),
    Function(_TIMES, "day({c})", "int"),
    Function(_TIMES, "dayofyear({c})", "int"),
    Function(_TIMES, "weekday({c})", "int"),
    Function(("date",), "date_add({c}, {k})"),
    Function(("date",), "date_sub({c}, {k})"),
    Function(("date",), "date_add({c}, {large})", fails=True),
    Function(("date",), "add_months({c}, {k})"),
    Function(("date",), "trunc({c}, 'MM')"),
    Function(("date",), "trunc({c}, 'YEAR')"),
    Function(("date",), "last_day({c})"),
    Function(("date",), "datediff({c}, DATE'2020-01-01')", "int"),
    Function(("date",), "unix_date({c})", "int"),
    Function(("date",), "cast({c} as timestamp)", "timestamp"),
    Function(("date",), "cast({c} as timestamp_ntz)", "timestamp_ntz"),
    Function(("date",), "date_format({c}, 'yyyy-MM')", "string"),
    Function(_TIMES, "cast({c} as string)", "string"),
    Function(_INSTANTS, "cast({c} as date)", "date"),
    Function(("timestamp",), "date_trunc('MONTH', {c})"),
    Function(("timestamp",), "date_trunc('HOUR', {c})"),
    Function(("timestamp",), "date_trunc('DAY', {c})"),
    Function(("timestamp",), "unix_timestamp({c})", "bigint"),
    Function(("timestamp",), "unix_micros({c})", "bigint"),
    Function(("timestamp",), "cast({c} as bigint)", "bigint"),
    Function(("timestamp",), "cast({c} as double)", "double"),
    Function(_INSTANTS, "hour({c})", "int"),
    Function(("timestamp",), "({c} + INTERVAL '1' DAY)"),
    Function(("timestamp",), "({c} - INTERVAL '36' HOUR)"),
    Function(("timestamp",), "cast({c} as timestamp_ntz)", "timestamp_ntz"),
    Function(("timestamp_ntz",), "cast({c} as timestamp)", "timestamp"),
)
_OF_ANY = (
    Function(_ATOMIC, "coalesce({c}, {v})"),
    Function(_ATOMIC, "nullif({c}, {v})"),
    Function(_ATOMIC, "if({c} > {v}, {c}, NULL)"),
    Function(_ATOMIC, "greatest({c}, {v})"),
    Function(_ATOMIC, "({c} > {v})", "boolean"),
    Function(_ATOMIC, "({c} IS NULL)", "boolean"),
    Function(_ATOMIC, "if({c} = {v}, 1, 2)", "int"),
    Function(("int", "bigint", "string"), "(hash({c}) % 100)", "int"),
)
_ALL = (*_WRAPPING, *_COARSENING, *_NUMERIC, *_STRINGS, *_TEMPORAL, *_OF_ANY)


class Chain(NamedTuple):
    r"""A composition of functions.

    The texts have ``\x000`` for the argument, with the innermost function first. ``gives`` is the type of the result.
    """

    texts: tuple[str, ...]
    gives: str

    def of(self, argument: str) -> str:
        """Return the composition of an argument as text."""
        for text in self.texts:
            argument = text.replace("\x000", argument)
        return argument


def chain(random: Random, kind: str, literals: Sequence[str], depth: int, *, ansi: bool) -> Chain:
    """Return a random composition of at most ``depth`` functions, the first of which takes a type.

    Parameters
    ----------
    random : Random
    kind : str
        The type of the argument.
    literals : sequence of str
        Literals of that type, for functions of two values.
    depth : int
    ansi : bool
        Whether to omit functions that fail for some values.
    """
    texts: list[str] = []
    given = kind
    last: Function | None = None
    for _ in range(depth):
        fitting = [f for f in _choice(random, last) if given in f.takes and not (ansi and f.fails)]
        fitting = [f for f in fitting if "{v}" not in f.text or given == kind]
        if not fitting:
            break
        last = random.choice(fitting)
        texts.append(_filled(random, last, given, literals))
        given = last.gives or given
    return Chain(tuple(texts), given)


def _choice(random: Random, last: Function | None) -> Sequence[Function]:
    """Return the candidates for the next function; after a sum that wraps around, often those that can hide it."""
    if last in _WRAPPING and random.random() < 0.85:
        return _COARSENING
    if last is None and random.random() < 0.6:
        return (*_WRAPPING, *_TEMPORAL)
    return _ALL


def _filled(random: Random, function: Function, kind: str, literals: Sequence[str]) -> str:
    return function.text.format(
        c="\x000",
        k=random.choice((1, 2, 3, 5, 30, 1000, -1, -7)),
        large=random.choice(_LARGE.get(kind, ("0",))),
        coarse=random.choice(_COARSE.get(kind, ("1",))),
        digits=_DIGITS.get(kind, 0),
        v=random.choice(literals) if literals else "NULL",
    )
