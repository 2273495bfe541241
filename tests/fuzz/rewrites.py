"""Queries that metadata plan or answer: LIMIT, ORDER BY with LIMIT, and aggregates [PLN-LM] [PLN-TK] [PLN-AG]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType

import xskip
from tests.fuzz.copies import PLAIN, REFUSALS, Copies
from tests.fuzz.tree import Tree
from tests.fuzz.ways import Difference

__all__ = ["COUNTS", "planned_by_metadata"]

#: How many queries ran, and how many of them a rewrite changed.
COUNTS = {"queries": 0, "rewritten": 0}
_LIMITS = (1, 2, 3, 7, 20, 100)
_ORDERS = ("asc_nulls_first", "asc_nulls_last", "desc_nulls_first", "desc_nulls_last")


def planned_by_metadata(copies: Copies, kind: str, trees: Sequence[Tree]) -> Iterator[Difference]:
    """Compare aggregates, groups, first rows and limits of predicates, and of all rows, with those of plain files."""
    random = Random(repr(trees))
    try:
        plain, indexed = copies.read(PLAIN), copies.read(kind)
    except REFUSALS:
        return
    for tree in (None, *trees):
        for query in _queries(random, plain, copies.plan.partitions):
            try:
                expected = _result(plain, tree, query)
            except REFUSALS:  # a damaged file, or a predicate that Spark cannot evaluate
                continue
            found = _result(indexed, tree, query)
            COUNTS["queries"] += 1
            report = xskip.last_report(copies.spark)
            COUNTS["rewritten"] += report is not None and any(scan.rewrite for scan in report.scans)
            if repr(expected) != repr(found):
                yield Difference(f"{query}: {expected} and {found}", kind, tree or Tree("TRUE"), (0,))


def _queries(random: Random, df: DataFrame, partitions: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    columns = [field.name for field in df.schema.fields if isinstance(field.dataType, AtomicType)]
    chosen = random.sample(columns, min(3, len(columns)))
    yield "aggregate", *chosen
    yield "group", random.choice([*partitions, *chosen[:1]]), *chosen[1:]
    yield "top", chosen[0], random.choice(_ORDERS), random.choice(_LIMITS)
    yield "limit", random.choice(_LIMITS)


def _result(df: DataFrame, tree: Tree | None, query: tuple[Any, ...]) -> object:
    matching = df if tree is None else df.filter(str(tree))
    match query:
        case ("aggregate", *columns):
            return matching.agg(*_aggregates(columns)).collect()
        case ("group", key, *columns):
            return sorted(map(repr, matching.groupBy(F.col(f"`{key}`")).agg(*_aggregates(columns)).collect()))
        case ("top", column, order, limit):
            key = F.col(f"`{column}`")
            return matching.orderBy(getattr(key, order)()).limit(limit).select(key).collect()
    return len(matching.limit(query[1]).collect())


def _aggregates(columns: Sequence[str]) -> list[Any]:
    found = [F.count("*").alias("rows")]
    for name in columns:
        column = F.col(f"`{name}`")
        found += [function(column).alias(f"{function.__name__} {name}") for function in (F.count, F.min, F.max)]
    return found
