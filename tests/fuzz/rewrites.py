"""Queries that metadata plan or answer, beyond filters.

LIMIT, first rows, aggregates, joins and subqueries [PLN-LM] [PLN-TK] [PLN-AG] [PLN-JB] [PLN-JN] [PLN-SQ].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType

import xskip
from tests.fuzz.copies import PLAIN, REFUSALS, Copies
from tests.fuzz.tree import Tree
from tests.fuzz.ways import Difference

__all__ = ["COUNTED", "COUNTS", "planned_by_metadata"]

#: The formats of which metadata answer for rows [PLN-LM-3].
COUNTED = ("parquet", "avro", "orc")
#: How many queries ran, and how many of them a rewrite changed.
COUNTS = {"queries": 0, "rewritten": 0}
_LIMITS = (1, 2, 3, 7, 20, 100)
#: How many random joins each predicate has.
_JOINS_OF_TREE = 3
#: The queries whose predicate is on the rows whose values leave out files of all rows.
_BY_KEYS = ("scalar", "semi")
_JOINS = ("inner", "left", "right", "full", "left_semi", "left_anti")
_COMPARISONS = (
    "one = other",
    "one < other",
    "one >= other",
    "one = other AND two <= more",
    "one BETWEEN other AND more",
)
_ORDERS = ("asc_nulls_first", "asc_nulls_last", "desc_nulls_first", "desc_nulls_last")


def planned_by_metadata(copies: Copies, kinds: Sequence[str], trees: Sequence[Tree]) -> Iterator[Difference]:
    """Compare queries with predicates, and of all rows, with those of plain files; joins have the last two copies."""
    random = Random(repr(trees))
    kind = kinds[-1]
    if not trees:
        return
    try:
        plain, indexed, other = copies.read(PLAIN), copies.read(kind), copies.read(kinds[-2])
    except REFUSALS:
        return
    for tree in (None, *trees):
        keys = plain if tree is None else plain.filter(str(tree))
        queries = [
            *_queries(random, plain, copies.plan.partitions),
            ("condition", str(random.choice(trees))),
            *(("join", *_joined(random, plain), str(random.choice(trees))) for _ in range(_JOINS_OF_TREE)),
        ]
        for query in queries:
            matching = indexed if tree is None or query[0] in _BY_KEYS else indexed.filter(str(tree))
            is_join = query[0] == "join"
            try:
                expected = _result(plain if query[0] in _BY_KEYS else keys, plain if is_join else keys, query)
            except REFUSALS:  # a damaged file, or a predicate that Spark cannot evaluate
                continue
            found = _result(matching, other if is_join else keys, query)
            COUNTS["queries"] += 1
            report = xskip.last_report(copies.spark)
            COUNTS["rewritten"] += report is not None and any(scan.rewrite or scan.pruned for scan in report.scans)
            if repr(expected) != repr(found):
                yield Difference(f"{query}: {expected} and {found}", kind, tree or Tree("TRUE"), (0,))


def _queries(random: Random, df: DataFrame, partitions: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    columns = [field.name for field in df.schema.fields if isinstance(field.dataType, AtomicType)]
    chosen = random.sample(columns, min(3, len(columns)))
    yield "aggregate", *chosen
    yield "group", random.choice([*partitions, *chosen[:1]]), *chosen[1:]
    yield "top", chosen[0], random.choice(_ORDERS), random.choice(_LIMITS)
    yield "limit", random.choice(_LIMITS)
    key = random.choice([*partitions, chosen[0]])
    yield "extreme", key, chosen[-1], random.choice(["max_by", "min_by"])
    yield "rank", key, chosen[-1], random.choice(_ORDERS), random.choice(_LIMITS)
    yield "scalar", chosen[0], random.choice(["=", ">=", "<"]), random.choice(["max", "min"])
    yield "semi", chosen[0]


def _joined(random: Random, df: DataFrame) -> tuple[Any, ...]:
    """Return columns of one type for both sides of a join, its condition, its type and how Spark joins."""
    types = {field.name: field.dataType for field in df.schema.fields if isinstance(field.dataType, AtomicType)}
    names = list(types)
    one = random.choice(names)
    like = [name for name in names if types[name] == types[one]]
    two = random.choice(names)
    columns = (one, two, random.choice(like), random.choice([name for name in names if types[name] == types[two]]))
    comparison = random.choice(_COMPARISONS)
    if "BETWEEN" in comparison:
        columns = (one, two, random.choice(like), random.choice(like))
    return columns, comparison, random.choice(_JOINS), random.choice(("merge", "broadcast", "shuffle_hash"))


def _result(matching: DataFrame, keys: DataFrame, query: tuple[Any, ...]) -> object:
    """Return the result of a query on rows, or of one that takes values from other rows, the keys."""
    match query:
        case ("aggregate", *columns):
            return _texts(matching.agg(*_aggregates(columns)))
        case ("group", key, *columns):
            return sorted(_texts(matching.groupBy(F.col(f"`{key}`")).agg(*_aggregates(columns))))
        case ("condition", predicate):
            condition = F.expr(predicate)
            count = f"count(*) filter (where {predicate})"
            some, every = F.bool_or(condition).alias("some"), F.bool_and(condition).alias("every")
            total = F.sum(F.when(condition, 1).otherwise(0)).alias("sum")
            return _texts(matching.agg(F.count_if(condition).alias("if"), F.expr(count).alias("n"), some, every, total))
        case ("top", column, order, limit):
            key = F.col(f"`{column}`")
            return _texts(matching.orderBy(getattr(key, order)()).limit(limit).select(key))
        case ("extreme", key, column, function):
            value = F.col(f"`{column}`")
            groups = matching.groupBy(F.col(f"`{key}`")).agg(getattr(F, function)(value, value).alias("one"))
            return sorted(_texts(groups))
        case ("rank", key, column, order, limit):
            value = F.col(f"`{column}`")
            rank = F.rank().over(Window.partitionBy(F.col(f"`{key}`")).orderBy(getattr(value, order)()))
            first = matching.select(F.col(f"`{key}`").alias("a"), value.alias("b"), rank.alias("rank"))
            return sorted(_texts(first.filter(F.col("rank") <= limit)))
        case ("scalar", column, comparison, function):
            matching.createOrReplaceTempView("fuzz_rows")
            keys.createOrReplaceTempView("fuzz_keys")
            scalar = f"(SELECT {function}(`{column}`) FROM fuzz_keys)"
            found = keys.sparkSession.sql(f"SELECT * FROM fuzz_rows WHERE `{column}` {comparison} {scalar}")
            return _digest(found, column)
        case ("join", (one, two, other, more), comparison, how, hint, predicate):
            left = matching.select(F.col(f"`{one}`").alias("one"), F.col(f"`{two}`").alias("two"))
            few = keys.filter(predicate).select(F.col(f"`{other}`").alias("other"), F.col(f"`{more}`").alias("more"))
            found = left.join(few.hint(hint), F.expr(comparison), how)
            digest = F.bit_xor(F.xxhash64(*(F.col(name) for name in found.columns)))
            return found.agg(F.count("*"), digest, F.count("one")).collect()
        case ("semi", column):
            few = keys.select(F.col(f"`{column}`")).filter(F.pmod(F.hash(F.col(f"`{column}`")), F.lit(5)) == 0)
            return _digest(matching.join(F.broadcast(few), column, "left_semi"), column)
    return len(matching.limit(query[1]).select(F.lit(1)).collect())  # Python cannot hold all times that Spark can


def _texts(df: DataFrame) -> list[str]:
    """Return the rows of a result as texts: Python cannot hold all times that Spark can."""
    columns = [F.col(f"`{name}`") for name in df.columns]
    texts = [
        F.hex(each) if kind == "binary" else each.cast("string")
        for each, (_, kind) in zip(columns, df.dtypes, strict=True)
    ]
    return [repr(tuple(row)) for row in df.select(texts).collect()]


def _digest(df: DataFrame, column: str) -> object:
    """Return the number of rows, and a digest of a column of them."""
    return df.agg(F.count("*"), F.bit_xor(F.xxhash64(F.col(f"`{column}`")))).collect()


def _aggregates(columns: Sequence[str]) -> list[Any]:
    found = [F.count("*").alias("rows")]
    for name in columns:
        column = F.col(f"`{name}`")
        found += [function(column).alias(f"{function.__name__} {name}") for function in (F.count, F.min, F.max)]
    return found
