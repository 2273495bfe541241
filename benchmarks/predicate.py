"""Measure the time to test a predicate of 50 leaves on metadata in memory.

    python benchmarks/predicate.py [results.json]

The metadata describes 100,000 and 1,000,000 files with the bounds of eight columns. Each column lacks bounds for a few
files. The predicate has comparisons, BETWEEN, IN, NOT and prefixes under AND and OR. "all" is an AND of ORs, "any" is
an OR of ANDs. Each run translates the predicate and evaluates the clause on a table without cached results. The
baseline, "one pass", is 50 calls of ``pyarrow.compute.less_equal``: for each leaf, a call that compares the minimums of
the leaf's column with one literal.

Bloom filters: the predicate is a range of ``ts`` that 1% of the files meet, and ``user`` IN 1 value or 10,000 values.
The clause must probe the filters of exactly those files that the bounds do not rule out. IN: the predicate is a leaf of
10,000 values, and the bounds answer it. Each result is the median of 9 runs, with the least time beside it. Spark does
not run.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from common import Lines
from simulated import START, TYPES, described

from xskip.clauses.clause import Clause, leaves
from xskip.clauses.index_clause import ColumnClause
from xskip.expressions.evaluate import cast_type, in_type
from xskip.expressions.operands import Cast, Column
from xskip.expressions.predicate import (
    And,
    Comparison,
    In,
    IsNotNull,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    negate,
)
from xskip.metadata.table import IndexDefinition, MetadataTable
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import prune
from xskip.types import bloom_bits
from xskip.types.datatypes import Storage

COUNTS = {100_000: 20, 1_000_000: 150}
RUNS = 9
COLUMNS = {name: Column((name,), kind) for name, kind in TYPES.items()}


def groups() -> list[tuple[Predicate, ...]]:
    """Return the 50 leaves of the predicate in groups, which AND or OR joins."""
    n, number, ts, temp, day, city, user, price = COLUMNS.values()
    return [
        between(ts, START + 10**12, START + 2 * 10**13),
        (Comparison(Op.GT, n, 100_000), Comparison(Op.EQ, n, 5), In(n, (7, 70_000, 700_000))),
        between(number, 10**10, 9 * 10**11),
        (Comparison(Op.LT, temp, 30.5), negate(Comparison(Op.GT, temp, -10.0)), Comparison(Op.EQ, temp, 0.0)),
        (In(city, (b"city-0000007", b"city-0000042", b"city-0000311")), StartsWith(city, b"city-00002")),
        (*between(day, 19_010, 19_300), Comparison(Op.NE, day, 19_100)),
        (Comparison(Op.GE, price, Decimal("12.50")), Comparison(Op.LT, price, Decimal("9000.00"))),
        (Comparison(Op.EQ, user, b"user-1234567"), NotStartsWith(user, b"user-9"), IsNotNull(user)),
        (negate(In(n, (1, 2, 3))), Comparison(Op.GE, Cast(n, "bigint"), 2_000), Comparison(Op.LE, n, 990_000)),
        (In(day, tuple(range(19_000, 19_365, 30))), Comparison(Op.LE, day, 19_200)),
        (*between(temp, -5.0, 25.0), IsNotNull(temp), Comparison(Op.NE, temp, 10.0)),
        (Comparison(Op.GT, city, b"city-0000100"), Comparison(Op.LE, city, b"city-0000400")),
        (*between(price, Decimal("1.00"), Decimal("9999.00")), In(price, (Decimal("3.50"), Decimal("4999.99")))),
        (Comparison(Op.LT, ts, START + 10**13), Comparison(Op.GE, ts, START + 2 * 10**13), IsNotNull(ts)),
        (negate(Comparison(Op.EQ, number, 5)), In(number, tuple(range(0, 10**12, 10**11))), IsNotNull(number)),
        (Comparison(Op.GE, user, b"user-0100000"), Comparison(Op.LT, user, b"user-9900000")),
        (negate(StartsWith(city, b"city-00004")), Comparison(Op.EQ, city, b"city-0000250")),
        (Comparison(Op.GT, n, 900_000), Comparison(Op.LT, n, 800_000), Comparison(Op.NE, n, 3)),
        (Comparison(Op.GE, temp, 0.5), Comparison(Op.LE, temp, 39.5), IsNotNull(n)),
    ]


def between(operand: Column, low: object, high: object) -> tuple[Predicate, Predicate]:
    return Comparison(Op.GE, operand, low), Comparison(Op.LE, operand, high)


def one_pass(table: MetadataTable, predicate: Predicate, catalog: IndexCatalog) -> Callable[[], object]:
    """Return an action that compares the minimums of each leaf's column with one literal.

    Parameters
    ----------
    table : MetadataTable
    predicate : Predicate
        The predicate with the leaves.
    catalog : Available
        The indexes that answer the leaves, MinMax only.

    Returns
    -------
    callable
        Makes one call of ``pyarrow.compute.less_equal`` for each leaf. The literal is one of the column's minimums.
    """
    middle: dict[str, pa.Scalar] = {}
    pairs = []
    for clause in leaves(translate(predicate, catalog)):
        assert isinstance(clause, ColumnClause)
        operand = clause.leaf.operand
        values = pc.struct_field(table.indexes[clause.requires].values, 0)
        low = in_type(values, cast_type(clause.leaf.operand))
        pairs.append((low, middle.setdefault(str(operand), low.drop_null()[len(low) // 2])))
    return lambda: [pc.less_equal(low, value) for low, value in pairs]


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Return the least and the median time of an action in milliseconds, after one warm-up run."""
    action()
    times = []
    gc.collect()
    for _ in range(RUNS):
        started = time.perf_counter()
        action()
        times.append((time.perf_counter() - started) * 1e3)
    return min(times), statistics.median(times)


def answered(predicate: Predicate, table: MetadataTable, catalog: IndexCatalog) -> None:
    """Translate a predicate, and evaluate the clause on a copy of the table without cached results."""
    evaluated(translate(predicate, catalog), table)


def evaluated(clause: Clause, table: MetadataTable) -> None:
    """Evaluate a clause on a copy of the table without cached results."""
    prune(clause, replace(table))


def available_of(table: MetadataTable, *names: str) -> IndexCatalog:
    indexes: tuple[tuple[IndexDefinition, Storage], ...] = tuple(
        (index.definition, index.storage) for index in table.indexes.values() if index.definition.name in names
    )
    return IndexCatalog(indexes)


def fifty(lines: Lines, table: MetadataTable) -> None:
    catalog = available_of(table, "minmax")
    shapes: dict[str, Predicate] = {"all": And(tuple(map(Or, groups()))), "any": Or(tuple(map(And, groups())))}
    for name, predicate in shapes.items():
        asked = list(leaves(translate(predicate, catalog)))
        assert len(asked) == 50, len(asked)
        least, middle = timed(partial(answered, predicate, table, catalog))
        plain, _ = timed(one_pass(table, predicate, catalog))
        skipped = prune(translate(predicate, catalog), table).skip.mean()
        what = f"{len(table):,} files, 50 leaves, {name}"
        limit = f"<= {COUNTS[len(table)]}"
        lines.add(what, middle, unit=" ms", limit=limit, detail=f"least {least:.2f} ms, {skipped:.0%} skipped")
        lines.add(f"{what} / one pass", least / plain, detail=f"{least:.2f} ms / {plain:.2f} ms")


def blooms(lines: Lines, table: MetadataTable) -> None:
    """Count the probed Bloom filters, which must be those of the files that the bounds do not rule out."""
    for count in (1, 10_000):
        predicate = And((*between(COLUMNS["ts"], START + 10**12, START + 10**12 + 3 * 10**11), wanted_users(count)))
        left = int((~prune(translate(predicate, available_of(table, "minmax")), table).skip).sum())
        clause = translate(predicate, available_of(table, "minmax", "bloomfilter"))
        what = f"{len(table):,} files, ts and user IN {count:,}"
        lines.add(f"{what}: filters probed", probes(clause, table), limit=f"= {left}", detail="left by bounds")
        least, middle = timed(partial(evaluated, clause, table))
        lines.add(what, middle, unit=" ms", detail=f"least {least:.2f} ms")


def probes(clause: Clause, table: MetadataTable) -> int:
    counts: list[int] = []
    plain = bloom_bits.might_contain

    def counted(filters: pa.Array, values: list[bloom_bits.HashPair], among: npt.NDArray[np.bool_]) -> pa.BooleanArray:
        counts.append(int(among.sum()))
        return plain(filters, values, among)

    bloom_bits.might_contain = counted
    prune(clause, table)
    bloom_bits.might_contain = plain
    return sum(counts)


def wanted_users(count: int) -> In:
    return In(COLUMNS["user"], tuple(b"user-%07d" % number for number in np.linspace(5, 10**7 - 1, count).astype(int)))


def many_values(lines: Lines, table: MetadataTable) -> None:
    numbers = {"n": (10**6, int), "id": (10**12, int), "temp": (40, float)}
    sets = {name: tuple(map(of, np.linspace(0, most, 10_000))) for name, (most, of) in numbers.items()}
    predicates = [In(COLUMNS[name], values) for name, values in sets.items()]
    catalog = available_of(table, "minmax")
    for predicate in (*predicates, wanted_users(10_000)):
        least, middle = timed(partial(answered, predicate, table, catalog))
        what = f"{len(table):,} files, {predicate.operand} IN 10,000"
        lines.add(what, middle, unit=" ms", detail=f"least {least:.2f} ms")


def main() -> None:
    lines = Lines()
    for files in COUNTS:
        table = described("/lake", files)
        fifty(lines, table)
        blooms(lines, table)
        many_values(lines, table)
    lines.write()


if __name__ == "__main__":
    main()
