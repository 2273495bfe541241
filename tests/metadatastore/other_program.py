"""A model of Xskipper, release 1.6.0, from which the format comes: the files that it skips for a filter.

The program queries the metadata for the files that a filter does *not* need. It therefore reads a file if a clause is
neither true nor false for the file, or if the evaluation fails. The known faults of the program with correct metadata
have names in :class:`Fault`, and can be excluded from the model.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.reference import order
from xskip.expressions.operands import Column, FileColumn
from xskip.expressions.predicate import And, Comparison, Equivalent, In, NotIn, Op, Or, Predicate
from xskip.metadatastore.legacy import java_bloom
from xskip.types import bloom_bits

Truth = bool | None
#: What a file's row says: a truth for each row of the metadata.
Clause = Callable[[dict[str, Any]], Truth]

_OLD_CLASSES = "com.ibm.metaindex."
_MANY_FOR_BOUNDS = 10  # so many values of IN are asked as one range
_SET = 10  # more values of IN are a set
_HASHED = ("string", "tinyint", "smallint", "int", "bigint")


class Fault(Enum):
    """The faults of the program that do not depend on the writer of the metadata."""

    NOT_EQUAL_ON_BOUNDS = "x <> v leaves out each file whose bounds hold v, and not only where they are v"


class FailsError(Exception):
    """An error of the program after which the query reads all files."""


@dataclass(frozen=True)
class Known:
    """An index that the program knows: type, column, the metadata's column name, and the type of its values."""

    index: str
    column: str
    held_in: str


def left_out(
    directory: Path, predicate: Predicate, without: Collection[Fault] = (), *, has_old_classes: bool = False
) -> set[str]:
    """Return the paths of the files that the program skips.

    Parameters
    ----------
    directory : Path
    predicate : Predicate
    without : collection of Fault
        The faults to exclude from the model.
    has_old_classes : bool
        Whether the program has the classes of former releases, which release 1.6.0 lacks.
    """
    files = sorted(path for path in directory.glob("*.parquet") if not path.name.startswith(("_", ".")))
    try:
        # the first file by name tells the schema of all: a column that another file lacks is null there
        known = list(_indexes(files[0], has_old_classes=has_old_classes))
        clause = _clause(predicate, known, frozenset(without))
        if clause is None:
            return set()
        rows = (row for file in files for row in _rows(file, known))
        return {row["obj_name"].rpartition("#")[0] for row in rows if clause(row) is False}
    except FailsError:
        return set()


def _indexes(file: Path, *, has_old_classes: bool) -> Iterator[Known]:
    text = pq.read_metadata(file).metadata[b"org.apache.spark.sql.parquet.row.metadata"]
    fields = json.loads(text)["fields"]
    (master,) = (field["metadata"] for field in fields if field["name"] == "obj_name")
    if master.get("version", 0) not in (1, 2, 3, 4):
        raise FailsError
    for field in fields:
        if master["version"] == 1 and "." in field["name"]:
            raise FailsError  # it takes the dot for that of a struct's field
        index = field["metadata"].get("index")
        kind = field["type"]
        if not has_old_classes and isinstance(kind, dict) and kind.get("class", "").startswith(_OLD_CLASSES):
            raise FailsError  # a class of former releases, which this one lacks
        if index is not None and index["name"] in ("minmax", "valuelist", "bloomfilter"):
            yield Known(index["name"], index["cols"][0], field["name"])


def _rows(file: Path, known: Sequence[Known]) -> Iterator[dict[str, Any]]:
    table = pq.read_table(file, coerce_int96_timestamp_unit="us")
    columns = {"obj_name": table["obj_name"].to_pylist()}
    nested = {"minmax": pa.types.is_struct, "valuelist": pa.types.is_list, "bloomfilter": pa.types.is_binary}
    if any(i.held_in in table.column_names and not nested[i.index](table[i.held_in].type) for i in known):
        raise FailsError  # a column that is of another form here than in the first file
    for index in known:
        missing = index.held_in not in table.column_names
        values = None if missing else table[index.held_in].combine_chunks()
        columns[index.held_in] = [None] * len(table) if values is None else _plain(values)
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def _plain(values: pa.Array) -> list[Any]:
    """Return values in the form of literals: strings as bytes, dates and times as numbers."""
    kind = values.type
    if pa.types.is_struct(kind):
        low, high = (_plain(values.field(side)) for side in ("min", "max"))
        valid = values.is_valid().to_pylist()
        return [(lo, hi) if there else (None, None) for lo, hi, there in zip(low, high, valid, strict=True)]
    if pa.types.is_list(kind):
        flat = iter(_plain(values.flatten()))
        lengths = pc.list_value_length(values).to_pylist()
        return [None if n is None else [next(flat) for _ in range(n)] for n in lengths]
    for holds, number in ((pa.types.is_timestamp, pa.int64()), (pa.types.is_date32, pa.int32())):
        if holds(kind):
            values = values.view(number)
    plain: list[Any] = (values.view(pa.binary()) if pa.types.is_string(kind) else values).to_pylist()
    return plain


def _clause(predicate: Predicate, known: Sequence[Known], without: frozenset[Fault]) -> Clause | None:
    """Return the clause over the metadata, or None if no index can answer the predicate."""
    match predicate:
        case And(children):
            found = [clause for child in children if (clause := _clause(child, known, without)) is not None]
            return _both(found)
        case Equivalent(children):
            return _clause(children[0], known, without)
        case Or(children):
            either = [_clause(child, known, without) for child in children]
            return None if None in either else lambda row: _any(clause(row) for clause in either if clause)
        case (
            Comparison(operand=Column() | FileColumn())
            | In(operand=Column() | FileColumn())
            | NotIn(operand=Column() | FileColumn())
        ):
            return _both(list(_of_leaf(predicate, known, without)))
        case _:
            return None


def _of_leaf(leaf: Comparison | In | NotIn, known: Sequence[Known], without: frozenset[Fault]) -> Iterator[Clause]:
    operand = leaf.operand
    assert isinstance(operand, Column | FileColumn)
    # a part of the hidden column is to it a column of that name
    name = operand.name if isinstance(operand, FileColumn) else ".".join(operand.path)
    for index in known:
        if index.column.lower() != name.lower():
            continue
        asked = {"minmax": _of_bounds, "valuelist": _of_list, "bloomfilter": _of_filter}[index.index]
        found = asked(leaf, index.held_in, without)
        if found is not None:
            yield found


def _of_bounds(leaf: Any, held_in: str, without: frozenset[Fault]) -> Clause | None:
    def side(at: int, test: Callable[[Any, Any], bool], value: Any) -> Clause:
        def asked(row: dict[str, Any]) -> Truth:
            bound = row[held_in][at] if row[held_in] is not None else None
            return False if bound is None else test(order(bound), order(value))

        return asked

    def between(least: Any, greatest: Any) -> Clause | None:
        return _both([side(0, lambda a, b: a <= b, greatest), side(1, lambda a, b: a >= b, least)])

    if leaf.operand.type == "boolean" and isinstance(leaf, Comparison) and leaf.op in (Op.EQ, Op.NE):
        return None  # such a filter is the column itself, of which bounds say nothing to it
    match leaf:
        case Comparison(Op.EQ, _, value):
            return between(value, value)
        case Comparison(Op.NE, _, value) if Fault.NOT_EQUAL_ON_BOUNDS not in without:
            above, below = side(0, lambda a, b: a > b, value), side(1, lambda a, b: a < b, value)
            return lambda row: _any((above(row), below(row)))
        case Comparison(Op.LT, _, value):
            return side(0, lambda a, b: a < b, value)
        case Comparison(Op.LE, _, value):
            return side(0, lambda a, b: a <= b, value)
        case Comparison(Op.GT, _, value):
            return side(1, lambda a, b: a > b, value)
        case Comparison(Op.GE, _, value):
            return side(1, lambda a, b: a >= b, value)
        case In(_, values, has_null):
            if not values:
                return None if has_null else lambda _: False
            if len(values) + has_null >= _MANY_FOR_BOUNDS:
                if has_null or leaf.operand.type == "binary":
                    raise FailsError
                return between(min(values, key=order), max(values, key=order))
            each = [found for value in values if (found := between(value, value)) is not None]
            return lambda row: _any((*(clause(row) for clause in each), *([None] * has_null)))
        case _:
            return None


def _of_list(leaf: Any, held_in: str, _: frozenset[Fault]) -> Clause | None:
    match leaf:
        case Comparison(Op.EQ, _, value):
            wanted, negated = ([True], not value) if leaf.operand.type == "boolean" else ([value], False)
        case Comparison(Op.NE, _, value):
            wanted, negated = ([True], bool(value)) if leaf.operand.type == "boolean" else ([value], True)
        case In(_, values, has_null) | NotIn(_, values, has_null):
            wanted, negated = [*values, *([None] * has_null)], isinstance(leaf, NotIn)
        case _:
            return None
    asked = {_same(value) for value in wanted}

    def listed(row: dict[str, Any]) -> Truth:
        held = row[held_in]
        if held is None:
            return False  # for it, a list that is not there has no value
        members = {_same(value) for value in held}
        if negated:
            return bool(members - asked)
        if members & asked - {_same(None)}:
            return True
        return None if members and asked and _same(None) in members | asked else False

    return listed if wanted else lambda _: False


def _of_filter(leaf: Any, held_in: str, _: frozenset[Fault]) -> Clause | None:
    match leaf:
        case Comparison(Op.EQ, operand, value) if operand.type in _HASHED:
            values: Sequence[Any] = [value]
        case In(operand, values, has_null) if values:
            is_set = len(values) + has_null > _SET
            if not is_set and operand.type not in _HASHED:
                return None
            if has_null or operand.type not in (*_HASHED, "binary"):
                raise FailsError
        case In(_, _, has_null):
            return None if has_null else lambda _: False
        case _:
            return None
    pairs = [bloom_bits.hash_bytes(v) if isinstance(v, bytes) else bloom_bits.hash_long(v) for v in values]

    def held(row: dict[str, Any]) -> Truth:
        if row[held_in] is None:
            return True
        filters = pa.array([java_bloom.unwrap(row[held_in])], pa.binary())
        return bool(bloom_bits.might_contain(filters, pairs, np.array([True]))[0].as_py())

    return held


def _same(value: Any) -> Any:
    """Return a key that is equal for equal members of lists: bit for bit, with equal NaN."""
    if not isinstance(value, float):
        return value
    return "NaN" if math.isnan(value) else struct.pack(">d", value)


def _both(clauses: Sequence[Clause | None]) -> Clause | None:
    """Return the conjunction of the clauses that are not None, or None without clauses."""
    given = [clause for clause in clauses if clause is not None]
    return (lambda row: _all(clause(row) for clause in given)) if given else None


def _all(truths: Any) -> Truth:
    found = list(truths)
    return False if False in found else None if None in found else True


def _any(truths: Any) -> Truth:
    found = list(truths)
    return True if True in found else None if None in found else False
