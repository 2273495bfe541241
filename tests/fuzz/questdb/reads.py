"""Reads of a random table by Spark: of all rows, with filters, and of the latest rows of symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.fuzz.copies import REFUSALS
from tests.fuzz.data import quoted, typed
from tests.fuzz.predicates import predicate
from tests.fuzz.scope import Scope, fields_of
from tests.questdb.spark_values import arrow_rows
from xskip.questdb import latest_on

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["Pairs", "filters", "latest_rows", "selected", "selected_by"]

#: Rows as pairs of ``x`` and the time in microseconds.
Pairs = Counter[tuple[Any, ...]]
_POOL = 8


def filters(random: Random, schema: StructType, table: pa.Table, count: int) -> list[str]:
    """Return random filters over the columns of a table, mostly about values of its rows."""
    rows = arrow_rows(table)
    some = random.sample(rows, min(len(rows), _POOL))
    kinds = [field.dataType.simpleString() for field in schema.fields]
    pool = {
        name: [_literal(row[i], kinds[i]) for row in some]
        for i, name in enumerate(table.column_names)
        if "<" not in kinds[i]
    }
    scope = Scope(tuple(fields_of(schema, pool)))
    ranges = [f"ts {random.choice(('<', '<=', '>', '>=', '=', '<>'))} {time}" for time in pool["ts"]]
    found = [str(predicate(random, scope)) for _ in range(count)]
    return [text if random.random() < 0.6 or not ranges else f"({text}) AND {random.choice(ranges)}" for text in found]


def _literal(value: Any, kind: str) -> str:
    if value is None:
        return typed(None, kind)
    match kind:
        case "timestamp":
            return f"timestamp_micros({value})"
        case "string":
            return quoted(value)
        case "binary":
            return f"X'{value.hex()}'"
        case _:
            return f"CAST('{value}' AS {kind})"


def selected_by(df: DataFrame, texts: Sequence[str]) -> dict[str, Pairs]:
    """Return the rows that each filter selects, evaluated as a column, which skips nothing.

    The result does not have filters that Spark refuses.
    """
    if not texts:
        return {}
    try:
        tests = [F.expr(text).alias(f"_{i}") for i, text in enumerate(texts)]
        rows = df.select("x", F.unix_micros("ts"), *tests).coalesce(1).collect()
    except REFUSALS:
        if len(texts) == 1:
            return {}
        half = len(texts) // 2
        return selected_by(df, texts[:half]) | selected_by(df, texts[half:])
    return {text: Counter((row[0], row[1]) for row in rows if row[i + 2]) for i, text in enumerate(texts)}


def selected(df: DataFrame, texts: Sequence[str], copy_of: Callable[[], DataFrame] | None = None) -> dict[str, Pairs]:
    """Return the rows that each filter selects, all in one task; without filters that Spark refuses for a copy, too."""
    found: dict[str, Pairs] = {text: Counter() for text in texts}
    frames = [df.where(text).select(F.lit(i), "x", F.unix_micros("ts")) for i, text in enumerate(texts)]
    try:
        rows = reduce(DataFrame.unionAll, frames).coalesce(1).collect() if frames else []
    except REFUSALS:
        if copy_of is None:
            raise
        if len(texts) > 1:
            half = len(texts) // 2
            return selected(df, texts[:half], copy_of) | selected(df, texts[half:], copy_of)
        try:
            copy_of().where(texts[0]).select("x", "ts").collect()
        except REFUSALS:
            return {}
        raise
    for number, *pair in rows:
        found[texts[number]][tuple(pair)] += 1
    return found


def latest_rows(df: DataFrame, table: pa.Table, key: str) -> tuple[Pairs, Pairs]:
    """Return the latest rows of each symbol by Spark, and by the last row of the table with the symbol."""
    last = {row[0]: row for row in arrow_rows(table.select([key, "x", "ts"]))}
    rows = latest_on(df.select(key, "x", "ts"), "ts", key).select(key, "x", F.unix_micros("ts")).collect()
    return Counter(map(tuple, rows)), Counter(last.values())


def write_copy(df: DataFrame, folder: Path) -> DataFrame:
    """Return the rows of a DataFrame as a Parquet dataset."""
    df.write.mode("overwrite").parquet(str(folder))
    return df.sparkSession.read.parquet(str(folder))
