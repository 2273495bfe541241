"""The results of the build's kernel, in plain Python: what a task emits for the values of a part of a file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from xskip.spark.collect.accumulation import Accumulation
from xskip.types.datatypes import arrow_type, from_json

#: Random values by the type in which the kernel reads them.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "int": st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    "float": st.sampled_from([-0.0, 0.0, math.nan, math.inf, -math.inf]) | st.floats(width=32, allow_nan=False),
    "double": st.sampled_from([-0.0, 0.0, math.nan, math.inf, -math.inf]) | st.floats(allow_nan=False),
    "string": st.sampled_from(["", "a", "ab", "\ufffd", "\U0001f600"]) | st.text(),
    "binary": st.sampled_from([b"", b"\0", b"\xff"]) | st.binary(),
    "decimal(9,2)": st.decimals(-9999999, 9999999, places=2).map(lambda v: v or abs(v)),
    "decimal(38,10)": st.decimals(Decimal(-(10**27)), Decimal(10**27), places=10).map(lambda v: v or abs(v)),
    "array<double>": st.tuples(*[st.floats(allow_nan=False).map(lambda v: v + 0.0)] * 4),  # a box
}

#: The results of one task: the ordinal of the file, and a value for each result column.
Row = tuple[int, tuple[Any, ...]]


def emit(accumulation: Accumulation, values: Sequence[Any], *, whole: bool) -> tuple[Any, ...]:
    """Return the result columns for values; a box comes as four numbers, a hash or the hash of a word as a number."""
    present = [value for value in values if value is not None]
    distinct = list(dict.fromkeys(map(_normal, present)))
    cap = accumulation.accumulator.cap
    match accumulation.accumulator.kind:
        case "bounds":
            return (min(present, key=spark_order), max(present, key=spark_order)) if present else (None, None)
        case "counts":
            return len(values) - len(present), len(values)
        case "values":
            return (distinct if len(distinct) <= cap else None,)
        case "ranges":
            return ([end for value in distinct for end in (value, value)],)
        case "boxes":
            return ([end for box in present for end in box],)
        case "hashes" | "words":
            packed = b"".join(value.to_bytes(8, "little", signed=True) for value in distinct)
            return (None, b"filter" + packed) if whole else (packed, None)


def spark_order(value: Any) -> Any:
    """Return a key in Spark's order: NaN is the greatest number, and texts compare by their bytes."""
    match value:
        case float():
            return (True, 0.0) if math.isnan(value) else (False, value)
        case str():
            return value.encode()
        case _:
            return value


def _normal(value: Any) -> Any:
    """Return a value with one zero and one NaN, as lists hold it; a dictionary finds this NaN by its identity."""
    if not isinstance(value, float):
        return value
    return math.nan if math.isnan(value) else value + 0.0


def fields(schema: str) -> list[tuple[str, pa.DataType]]:
    """Return the names and the Arrow types of a schema in JSON."""
    return [(field["name"], arrow_of(field["type"])) for field in json.loads(schema)["fields"]]


def arrow_of(kind: Any) -> pa.DataType:
    """Return the Arrow type of a type in schema JSON."""
    if isinstance(kind, str):
        return arrow_type(from_json(kind))
    assert (kind["type"], kind["containsNull"]) == ("array", False)
    return pa.list_(arrow_of(kind["elementType"]))


def table_of(schema: str, rows: Iterable[Row], chunk: int = 1 << 20) -> pa.Table:
    """Return the rows as Spark returns them: in batches of at most so many rows."""
    names, kinds = zip(*fields(schema), strict=True)
    lines = [(ordinal, *results) for ordinal, results in rows]
    arrays = [pa.array([line[k] for line in lines], kind) for k, kind in enumerate(kinds)]
    whole = pa.table(arrays, names=names)
    return pa.concat_tables([whole.slice(start, chunk) for start in range(0, max(len(whole), 1), chunk)])
