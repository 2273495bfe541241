"""Random datasets as SQL text, in which every value is a literal that Spark itself parses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

__all__ = ["COLUMNS", "FIELDS", "INTEGERS", "DataSet", "dataset", "literal", "quoted"]

#: Column -> Spark type.
COLUMNS = {
    "i": "int",
    "l": "bigint",
    "h": "smallint",
    "d": "double",
    "f": "float",
    "n": "decimal(10,2)",
    "s": "string",
    "u": "string",
    "dt": "date",
    "ts": "timestamp",
    "nt": "timestamp_ntz",
    "b": "boolean",
    "x": "binary",
    "st": "struct<a:int,b:string,e:date,q:struct<z:bigint>>",
    "arr": "array<int>",
    "m": "map<string,int>",
}
_STRUCT = {"st.a": "int", "st.b": "string", "st.e": "date", "st.q.z": "bigint"}
#: The same with the fields of the struct in its place.
FIELDS = {name: kind for name, kind in COLUMNS.items() if name != "st"} | _STRUCT
#: Integral type -> bits.
INTEGERS = {"int": 32, "bigint": 64, "smallint": 16}
_EDGES = {
    "int": ["2147483647", "-2147483648", "0", "-1"],
    "bigint": ["9223372036854775807", "-9223372036854775808", "0", "2147483648"],
    "smallint": ["32767", "-32768", "0"],
    "double": ["'NaN'", "'Infinity'", "'-Infinity'", "-0.0", "0.0", "1e-300", "9007199254740993"],
    "float": ["'NaN'", "'Infinity'", "-0.0", "0.0", "16777217"],
    "decimal(10,2)": ["99999999.99", "-99999999.99", "0", "0.01"],
    "string": ["", "a", "ab", "A", "b%", "a_c", "é", "\ufffd", "\U0001f600", "zz ", "a\\b", "10", "9", "1e1"],
    "date": ["0001-01-01", "9999-12-31", "1582-10-15", "2020-02-29", "1970-01-01", "2011-12-30"],
    "timestamp": ["1900-01-01 00:00:00", "1582-10-04 00:00:00", "1850-06-01 12:00:00", "2020-03-29 01:30:00",
                  "2020-10-25 00:30:00", "2018-02-18 02:59:59.999999", "2011-12-30 09:59:59",
                  "1969-12-31 23:59:59.999999", "9999-12-31 20:00:00"],
    "boolean": ["true", "false"],
    "binary": ["", "00", "ff", "00ff", "7f80"],
    "array<int>": ["array()", "array(NULL)", "array(0, NULL, 2147483647)"],
    "map<string,int>": ["map()", "map('k', NULL)", "map('', 0)"],
}  # fmt: skip
_EDGES["timestamp_ntz"] = _EDGES["timestamp"]
#: What a directory's name escapes, or what looks like something else there; letters of ASCII alone.
_IN_DIRECTORIES = ["a/b", "a=b", "x:y", "100%", "a b", "#1", "it's", "q?", "[z]", "%3A", "10", "2020-01-01", "NULL", ""]


@dataclass(frozen=True, slots=True)
class DataSet:
    """The rows of each file as texts of literals, and the values of each field."""

    files: tuple[tuple[tuple[str, ...], ...], ...]
    pool: Mapping[str, Sequence[str]]

    def sql(self, files: range | None = None) -> str:
        """Return a query that produces the rows, with the number of each row's file in ``__file``."""
        chosen = range(len(self.files)) if files is None else files
        rows = ", ".join(f"({n}, {', '.join(row)})" for n in chosen for row in self.files[n])
        return f"SELECT * FROM VALUES {rows} AS t(__file, {', '.join(COLUMNS)})"


def dataset(random: Random, files: int, partitions: Collection[str] = ()) -> DataSet:
    """Return random files, each with a part of every column's values, as in real data.

    A partition column has one value in a file.
    """
    pool: defaultdict[str, set[str]] = defaultdict(set)
    made = tuple(_file(random, partitions, pool) for _ in range(files))
    return DataSet(made, {name: sorted(values) for name, values in pool.items()})


def _file(random: Random, partitions: Collection[str], pool: Mapping[str, set[str]]) -> tuple[tuple[str, ...], ...]:
    fields = {name: _column(random, kind) for name, kind in FIELDS.items()}
    for name in partitions:
        fields[name] = [_in_directory(random, FIELDS[name], fields[name])]
    for name, values in fields.items():
        pool[name].update(values)
    present = random.choice((1, 1, 1, 0.6, 0))
    rows = random.choice((1, 2, 3, 5, 6, 7))
    return tuple(_row(random, fields, present) for _ in range(rows))


def _row(random: Random, fields: Mapping[str, Sequence[str]], present: float) -> tuple[str, ...]:
    row = {name: random.choice(values) for name, values in fields.items()}
    a, b, e, z = (row.pop(name) for name in _STRUCT)
    inner = f"named_struct('z', {z})" if random.random() < present else "NULL"
    row["st"] = f"CAST(named_struct('a', {a}, 'b', {b}, 'e', {e}, 'q', {inner}) AS {COLUMNS['st']})"
    if random.random() >= present:
        row["st"] = typed(None, COLUMNS["st"])
    return tuple(row[name] for name in COLUMNS)


def _in_directory(random: Random, kind: str, values: Sequence[str]) -> str:
    if kind == "string" and random.random() < 0.4:
        return typed(random.choice(_IN_DIRECTORIES), kind)
    plain = [text for text in values if text.isascii()]
    return random.choice(plain) if plain and random.random() < 0.9 else typed(None, kind)


def _column(random: Random, kind: str) -> list[str]:
    """Return the values of a column in one file: a single value, a few close values, edge cases, some or only NULL."""
    if random.random() < 0.3 and kind in (*INTEGERS, "double", "date"):
        near = [far(random, kind) for _ in range(random.randint(3, 5))]
    else:
        base = random.randint(-4, 40)
        near = [value(random, kind, base) for _ in range(random.choice((1, 1, 2, 4)))]
    if random.random() < 0.25:
        near += [typed(edge, kind) for edge in random.sample(_EDGES[kind], random.choice((1, 1, 2)))]
    if random.random() < 0.25:
        near.append(typed(None, kind))
    return [typed(None, kind)] if random.random() < 0.06 else near


def far(random: Random, kind: str) -> str:
    """Return a value from the whole range of the type."""
    if kind == "date":
        return f"DATE_ADD(DATE'2000-01-01', {random.randint(-140_000, 140_000)})"
    half = 1 << (INTEGERS.get(kind, 40) - 1)
    return typed(str(random.randint(-half, half - 1)), kind)


def value(random: Random, kind: str, base: int) -> str:
    """Return a value near a base."""
    at = base * 10 + random.randint(0, 9)
    match kind:
        case "string":
            words = ("oslo", "Oslo", "bergen", "ab", "a-b", "city")
            return typed(f"{random.choice(words)}{at if random.random() < 0.5 else base}", kind)
        case "date":
            return f"DATE_ADD(DATE'2019-12-20', {at})"
        case "timestamp" | "timestamp_ntz":
            text = (
                f"{2018 + base % 5}-{1 + at % 12:02}-{1 + at % 28:02} {at % 24:02}:{random.choice((0, 30, 59)):02}:00"
            )
            return typed(text, kind)
        case "boolean":
            return random.choice(("true", "false"))
        case "binary":
            return f"X'{at % 256:02x}'"
        case "double" | "float" | "decimal(10,2)":
            return typed(f"{at / 4}", kind)
        case "array<int>":
            return typed(f"array({', '.join(str(base + n) for n in range(random.randint(1, 3)))})", kind)
        case "map<string,int>":
            return typed(f"map('k', {at}, '{random.choice('jx')}', {base})", kind)
        case _:
            return typed(str(at), kind)


def typed(text: str | None, kind: str) -> str:
    """Return a literal of a type."""
    if text is None:
        return f"CAST(NULL AS {kind})"
    match kind:
        case "string":
            return quoted(text)
        case "binary":
            return f"X'{text}'"
        case "date":
            return f"DATE'{text}'"
        case "timestamp" | "timestamp_ntz":
            return f"{kind.upper()}'{text}'"
        case "boolean":
            return text
        case _:
            return f"CAST({text} AS {kind})"


def quoted(text: str) -> str:
    """Return a string literal in SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def literal(random: Random, kind: str, pool: Sequence[str]) -> str:
    """Return a literal to compare a column with: one of its values, a close value, an edge case, or rarely NULL."""
    choice = random.random()
    if choice < 0.55 and pool:
        return random.choice(pool)
    if choice < 0.85:
        return value(random, kind, random.randint(-4, 40))
    return typed(random.choice(_EDGES[kind]), kind) if choice < 0.97 else typed(None, kind)
