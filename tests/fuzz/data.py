"""Random datasets, as SQL text: every value is a literal that Spark itself reads."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

__all__ = ["COLUMNS", "DataSet", "dataset", "literal"]

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
}
_EDGES = {
    "int": ["2147483647", "-2147483648", "0", "-1"],
    "bigint": ["9223372036854775807", "-9223372036854775808", "0", "2147483648"],
    "smallint": ["32767", "-32768", "0"],
    "double": ["'NaN'", "'Infinity'", "'-Infinity'", "-0.0", "0.0", "1e-300", "9007199254740993"],
    "float": ["'NaN'", "'Infinity'", "-0.0", "0.0", "16777217"],
    "decimal(10,2)": ["99999999.99", "-99999999.99", "0", "0.01"],
    "string": ["", "a", "ab", "A", "b%", "a_c", "é", "\ufffd", "\U0001f600", "zz ", "a\\b", "10", "9", "1e1"],
    "date": ["0001-01-01", "9999-12-31", "1582-10-15", "2020-02-29", "1970-01-01", "2011-12-30"],
    "timestamp": ["1900-01-01 00:00:00", "2020-03-29 01:30:00", "2020-10-25 00:30:00", "2018-02-18 02:59:59.999999",
                  "2011-12-30 09:59:59", "1969-12-31 23:59:59.999999", "9999-12-31 20:00:00"],
    "boolean": ["true", "false"],
    "binary": ["", "00", "ff", "00ff", "7f80"],
}  # fmt: skip
_EDGES["timestamp_ntz"] = _EDGES["timestamp"]


@dataclass(frozen=True, slots=True)
class DataSet:
    """The rows of each file, as texts of literals, and the values that occur, by column."""

    files: tuple[tuple[tuple[str, ...], ...], ...]
    pool: dict[str, list[str]]

    def sql(self, files: range | None = None) -> str:
        """A query that makes the rows, with each row's file as ``__file``."""
        chosen = range(len(self.files)) if files is None else files
        rows = ", ".join(f"({n}, {', '.join(row)})" for n in chosen for row in self.files[n])
        return f"SELECT * FROM VALUES {rows} AS t(__file, {', '.join(COLUMNS)})"


def dataset(random: Random, files: int) -> DataSet:
    """Files of which each keeps to a part of every column's values, as files of real data do."""
    made = tuple(_file(random) for _ in range(files))
    pool = {name: sorted({row[k] for file in made for row in file}) for k, name in enumerate(COLUMNS)}
    return DataSet(made, pool)


def _file(random: Random) -> tuple[tuple[str, ...], ...]:
    columns = [_column(random, kind) for kind in COLUMNS.values()]
    rows = random.randint(1, 6)
    return tuple(tuple(random.choice(values) for values in columns) for _ in range(rows))


def _column(random: Random, kind: str) -> list[str]:
    """The values that a column has in one file: one, a few close to each other, edges, NULL among them or alone."""
    near = [value(random, kind, base) for base in [random.randint(-4, 40)] for _ in range(random.choice((1, 1, 2, 4)))]
    if random.random() < 0.25:
        near.append(typed(random.choice(_EDGES[kind]), kind))
    if random.random() < 0.25:
        near.append(typed(None, kind))
    return [typed(None, kind)] if random.random() < 0.06 else near


def value(random: Random, kind: str, base: int) -> str:
    """A value near a base."""
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
        case _:
            return typed(str(at), kind)


def typed(text: str | None, kind: str) -> str:
    """A literal of a type."""
    if text is None:
        return f"CAST(NULL AS {kind})"
    match kind:
        case "string":
            escaped = text.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
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


def literal(random: Random, data: DataSet, column: str) -> str:
    """A literal to compare a column with: one of its values, one near them, an edge, rarely NULL."""
    kind, choice = COLUMNS[column], random.random()
    if choice < 0.55:
        return random.choice(data.pool[column])
    if choice < 0.85:
        return value(random, kind, random.randint(-4, 40))
    return typed(random.choice(_EDGES[kind]), kind) if choice < 0.97 else typed(None, kind)
