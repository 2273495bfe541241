"""Small indexes of known rows in every version, plaintext and encrypted, and filters with their true results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from tests.metadatastore.samples import ROOT, array_of, filter_of, minmax, table_of, valuelist
from xskip.expressions.operands import Column
from xskip.expressions.predicate import (
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    NotIn,
    Op,
    Or,
    Predicate,
    StartsWith,
)
from xskip.indexes.tokenbloom import Part, whole_words
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable, PartitionColumn
from xskip.metadatastore.commit import CommitRecord, RecordedFile, publish
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.versions import WriteOptions
from xskip.types.datatypes import Array, Bloom, Storage, Struct, arrow_type

__all__ = ["KEYS", "READING", "Known", "filters", "known"]

READING = ReadProfile("parquet")
KEYS = {"footer": bytes(16), "column": bytes(range(16))}
TYPES = {"k": "int", "s": "string", "d": "double", "x": "double", "y": "double", "p": "int"}
TEXTS = ["", "a", "ab cd", "oslo", "oslo town", "rome", "bonn 7", "\U0001f600", "\ue000x", "zz zz"]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """The files of an index, and the rows that the index describes.

    Attributes
    ----------
    metadata_files : dict of str to bytes
        The files of the metadata directory, by name.
    data_files : dict of FileStatus to list of rows
        The rows of each data file.
    """

    metadata_files: dict[str, bytes]
    data_files: dict[FileStatus, list[Row]]

    @property
    def record(self) -> str:
        """Return the name of the latest commit record."""
        return max(name for name in self.metadata_files if name.startswith("_commits/"))


def known(random: Random, version: int, scratch: Path, footer_key: str | None = None, *, plain: bool = False) -> Known:
    """Return a random index with one or two metadata files."""
    count = random.randint(2, 6)
    data_files = {}
    for i in range(count):
        name = f"{ROOT}/p={i % 2}/f{i}.parquet"
        size = random.choice([-1, 100 + i])
        rows = [_row(random, i % 2) for _ in range(random.randint(0, 5))]
        data_files[FileStatus(name, size, 1_700_000_000_000 + i)] = rows
    table = _table(data_files)
    if footer_key is not None:
        table = _keyed(table)
    scratch.mkdir(parents=True)
    write_options = WriteOptions(version, footer_key, plain)
    cut = random.randint(0, count - 1)
    files: list[tuple[Path, RecordedFile]] = []
    for rows_of in [range(cut), range(cut, count)] if cut else [range(count)]:
        files += write_files(table.take(pa.array(rows_of, pa.int64())), ROOT, scratch, len(files), write_options)
    record = CommitRecord(0, ROOT, version, tuple(entry for _, entry in files), READING, TYPES, 0)
    publish(LocalStorage(), str(scratch / "md"), None, files, record)
    paths = [path for path in (scratch / "md").rglob("*") if path.is_file()]
    return Known({str(path.relative_to(scratch / "md")): path.read_bytes() for path in paths}, data_files)


def _row(random: Random, p: int) -> Row:
    numbers = [None, -5, 0, 3, 4, 700, random.randint(-1000, 1000)]
    doubles = [None, math.nan, -0.0, 0.0, math.inf, -math.inf, random.uniform(-9, 9)]
    return {
        "k": random.choice(numbers), "s": random.choice([None, *TEXTS]), "d": random.choice(doubles),
        "x": random.uniform(-9, 9), "y": random.uniform(-9, 9), "p": p,
    }  # fmt: skip


def _order(value: Any) -> Any:
    """Return a key in Spark's order of values."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value.encode() if isinstance(value, str) else value


def _values(rows: list[Row], name: str) -> list[Any]:
    return sorted((row[name] for row in rows if row[name] is not None), key=_order)


def _distinct(values: list[Any]) -> list[Any]:
    return list({repr(value + 0.0 if isinstance(value, float) else value): value for value in values}.values())


def _table(data_files: dict[FileStatus, list[Row]]) -> MetadataTable:
    files = list(data_files.values())
    columns: list[IndexColumn] = []
    for name in ("k", "s", "d"):
        held = [_values(rows, name) for rows in files]
        low, high = ([values[side] if values else None for values in held] for side in (0, -1))
        columns.append(minmax(name, TYPES[name], low, high))
        columns.append(valuelist(name, TYPES[name], [_distinct(values) for values in held]))
    texts = [[text.encode() for text in _values(rows, "s")] for rows in files]
    numbers = [_values(rows, "k") for rows in files]
    rate = ("io.xskipper.index.bloom.fpp", "0.01")
    own = "io.xskip.index."
    split = [[w for t in held for w in whole_words(Part(t, is_start=True, is_end=True))] for held in texts]
    columns += [
        _index("bloomfilter", ("s",), Bloom(), [filter_of(held) for held in texts], rate),
        _index("bloomfilter", ("k",), Bloom(), [filter_of(held) for held in numbers], rate),
        _index("tokenbloom", ("s",), Bloom(), [filter_of(held) for held in split], (own + "tokenbloom.fpp", "0.01")),
        _index("nullcount", ("k",), Struct((("nulls", "bigint"), ("rows", "bigint"))),
               [{"nulls": sum(r["k"] is None for r in rows), "rows": len(rows)} for rows in files]),
        _index("prefix", ("s",), Array("binary"), [_distinct([t[:3] for t in held]) for held in texts],
               (own + "prefix.length", "3")),
        _index("hybrid", ("s",), Struct((("values", "array<string>"), ("filter", "binary"))),
               [{"values": _distinct([t.decode() for t in held]), "filter": None} if len(held) < 3
                else {"values": None, "filter": filter_of(held)} for held in texts],
               (own + "hybrid.maxvalues", "2"), (own + "hybrid.fpp", "0.01")),
        _index("gaplist", ("k",), Array("int"), [_ranges(held) for held in numbers]),
        _index("geobox", ("x", "y"), Array("double"), [_boxes(rows) for rows in files]),
    ]  # fmt: skip
    listed = list(data_files)
    partition = PartitionColumn("p", "int", array_of("int", [int(each.name.split("p=")[1][0]) for each in listed]))
    return table_of(DataFiles.of(listed), columns, [partition])


def _index(
    name: str, names: tuple[str, ...], storage: Storage, values: list[Any], *params: tuple[str, str]
) -> IndexColumn:
    return IndexColumn(IndexDefinition(name, names, params), storage, pa.array(values, arrow_type(storage)))


def _ranges(values: list[int]) -> list[int]:
    """Return the ends of two ranges, separated by the widest gap."""
    if len(set(values)) < 2:
        return [values[0], values[-1]] if values else []
    cut = max(range(1, len(values)), key=lambda i: values[i] - values[i - 1])
    return [values[0], values[cut - 1], values[cut], values[-1]]


def _boxes(rows: list[Row]) -> list[float]:
    return [end for row in rows for end in (row["x"], row["x"], row["y"], row["y"])]


def _keyed(table: MetadataTable) -> MetadataTable:
    """Return the table with key labels for half of the indexes."""
    changed = {}
    for i, column in enumerate(table.indexes.values()):
        definition = replace(column.definition, key_label="column" if i % 2 else None)
        changed[definition.key] = replace(column, definition=definition)
    return replace(table, indexes=changed)


Truth = Callable[[Row], bool]


def filters(random: Random, count: int) -> list[tuple[Predicate, Truth]]:
    """Return random filters, each with a function that decides whether the filter is TRUE for a row."""
    return [_filter(random) for _ in range(count)]


def _filter(random: Random) -> tuple[Predicate, Truth]:
    if random.random() < 0.3:
        (one, first), (other, second) = _leaf(random), _leaf(random)
        if random.random() < 0.5:
            return And((one, other)), lambda row: first(row) and second(row)
        return Or((one, other)), lambda row: first(row) or second(row)
    return _leaf(random)


def _literal(random: Random, name: str) -> Any:
    kind = TYPES[name]
    if kind == "int":
        return random.choice([-5, 0, 1, 3, 4, 5, 700, random.randint(-1100, 1100)])
    if kind == "string":
        return random.choice([*TEXTS, "nobody"])
    return random.choice([math.nan, 0.0, math.inf, -math.inf, random.uniform(-10, 10)])


def _leaf(random: Random) -> tuple[Predicate, Truth]:
    name = random.choice(list(TYPES))
    column = Column((name,), TYPES[name])
    wanted = [_literal(random, name) for _ in range(random.choice([1, 2, 3]))]
    given = tuple(value.encode() if isinstance(value, str) else value for value in wanted)
    keys = [_order(value) for value in wanted]
    match random.randrange(6):
        case 0:
            return In(column, given), lambda row: row[name] is not None and _order(row[name]) in keys
        case 1:
            return NotIn(column, given), lambda row: row[name] is not None and _order(row[name]) not in keys
        case 2:
            return IsNull(column), lambda row: row[name] is None
        case 3:
            return IsNotNull(column), lambda row: row[name] is not None
        case 4 if TYPES[name] == "string":
            prefix = given[0][:2]
            return StartsWith(
                column, prefix
            ), lambda row: row[name] is not None and _order(row[name])[:2].startswith(prefix)
    op, holds = random.choice(list(_HOLDS.items()))
    return Comparison(op, column, given[0]), lambda row: row[name] is not None and holds(_order(row[name]), keys[0])


_HOLDS: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
}
