"""Ways to run queries that the files of a query alone do not cover.

Each way runs a query over the copy without an index and over a copy with an index, and compares the files of the rows.
Predicates as columns of one query over the copy without an index have the result of each, unless filters that Spark
evaluates in files lose rows; so only two filters whose results differ are a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import xskip
from tests.fuzz.copies import PLAIN, REFUSALS, Copies, give, number, swap
from tests.fuzz.tree import Tree
from xskip.spark.query.spark_engine import forget_indexes

__all__ = ["WAYS", "Difference", "delta_beside", "sessions_and_threads"]

_THREADS = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """A query with missing or additional rows.

    Attributes
    ----------
    way : str
        How the query ran.
    kind : str
        The kind of the copy's indexes.
    tree : Tree
    files : tuple of int
        The files whose rows are missing or additional.
    """

    way: str
    kind: str
    tree: Tree
    files: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    """The relation of the copy without an index, and the relation of a copy with an index."""

    plain: DataFrame
    indexed: DataFrame

    def filtered(self, tree: Tree) -> _Pair:
        """Return both relations with a filter, and with the number of rows for each file as the result."""
        return _Pair(*(_counted(_numbers(df, tree)) for df in (self.plain, self.indexed)))

    def differ(self) -> set[int] | None:
        """Return the files whose results differ, or None if the query fails without an index."""
        try:
            expected = _rows(self.plain)
        except REFUSALS:
            return None
        return _differing(expected, _rows(self.indexed))


def _counts(plain: DataFrame, trees: Sequence[Tree]) -> DataFrame:
    """Return the number of matching rows in each file for each predicate.

    The predicates are columns of the result, so that they cannot prune files, and all are one query.
    """
    names = [f"_{k}" for k in range(len(trees))]
    columns = [F.expr(str(tree)).alias(name) for name, tree in zip(names, trees, strict=True)]
    return (
        plain.select(number().alias("n"), *columns).groupBy("n").agg(*(F.count_if(name).alias(name) for name in names))
    )


def _rows_of(counts: DataFrame | None, trees: Sequence[Tree]) -> dict[Tree, Counter[int]]:
    """Return the rows of :func:`_counts` for each predicate; none if Spark refuses the query."""
    try:
        rows = counts.collect() if counts is not None else []
    except REFUSALS:
        return {}
    return {tree: Counter({row["n"]: row[f"_{k}"] for row in rows}) for k, tree in enumerate(trees)} if rows else {}


def _agrees(indexed: DataFrame, expected: Counter[int] | None) -> bool:
    """Return whether a query of rows for each file has the expected result; it may fail."""
    try:
        return expected is not None and not _differing(expected, _rows(indexed))
    except REFUSALS:
        return False


def _numbers(df: DataFrame, tree: Tree) -> DataFrame:
    """Return the file number of each row that matches a predicate."""
    return df.filter(str(tree)).select(number().alias("n"))


def _counted(numbers: DataFrame) -> DataFrame:
    return numbers.groupBy("n").count()


def _differing(expected: Counter[int], found: Counter[int]) -> set[int]:
    return {n for n in {*expected, *found} if expected[n] != found[n]}


def _rows(df: DataFrame) -> Counter[int]:
    return Counter({row["n"]: row["count"] for row in df.collect()})


def _pair(copies: Copies, kind: str) -> _Pair:
    return _Pair(copies.read(PLAIN), copies.read(kind))


def explained_before_settings_change(copies: Copies, kind: str, trees: Sequence[Tree]) -> Iterator[Difference]:
    """Plan queries under the settings of the build, and run them under other settings."""
    made: dict[Tree, DataFrame] = {}
    counts: DataFrame | None = None
    with copies.as_built():
        with suppress(*REFUSALS):
            counts = _planned(_counts(copies.read(PLAIN), trees))
        for tree in trees:
            with suppress(*REFUSALS):
                made[tree] = _planned(_counted(_numbers(copies.read(kind), tree)))
    expected = _rows_of(counts, trees)
    for tree, df in made.items():
        if not _agrees(df, expected.get(tree)) and (lost := _differ_after_plans(copies, kind, tree)):
            yield Difference("explained before settings changed", kind, tree, tuple(lost))


def _differ_after_plans(copies: Copies, kind: str, tree: Tree) -> set[int] | None:
    """Return the files whose results differ between queries that are planned under the settings of the build."""
    with copies.as_built():
        try:
            pair = _pair(copies, kind).filtered(tree)
            for df in (pair.plain, pair.indexed):
                _planned(df)
        except REFUSALS:
            return None
    return pair.differ()


def _planned(df: DataFrame) -> DataFrame:
    df._jdf.queryExecution().executedPlan().toString()
    return df


def kept_while_files_change(copies: Copies, kind: str, trees: Sequence[Tree]) -> Iterator[Difference]:
    """Query relations that were listed before two files changed and the index was refreshed, and new relations."""
    kept = _pair(copies, kind)
    for df in (kept.plain, kept.indexed):
        df.inputFiles()
    for copy in (PLAIN, kind):
        swap(copies.root / copy, *copies.exchanged)
    yield from _asked("after files changed", kind, trees, lambda: _pair(copies, kind))
    forget_indexes()
    with copies.as_built():
        copies.index(kind).refresh(on_error="skip" if copies.plan.damaged else "raise")
    yield from _asked("kept while files changed and the index was refreshed", kind, trees, lambda: kept)
    yield from _asked("after a refresh", kind, trees, lambda: _pair(copies, kind))


def _asked(way: str, kind: str, trees: Sequence[Tree], pair_of: Callable[[], _Pair]) -> Iterator[Difference]:
    try:
        pair = pair_of()
    except REFUSALS:
        return
    expected: dict[Tree, Counter[int]] = {}
    with suppress(*REFUSALS):
        expected = _rows_of(_counts(pair.plain, trees), trees)
    for tree in trees:
        try:
            asked = pair.filtered(tree)
        except REFUSALS:
            continue
        if not _agrees(asked.indexed, expected.get(tree)) and (lost := asked.differ()):
            yield Difference(way, kind, tree, tuple(lost))


#: The ways of one session.
WAYS = (explained_before_settings_change, kept_while_files_change)


def sessions_and_threads(copies: Copies, kinds: Sequence[str], asked: dict[Tree, set[int]]) -> Iterator[Difference]:
    """Query from threads of two sessions: one has the settings of the queries, one those of the build.

    Parameters
    ----------
    copies : Copies
    kinds : sequence of str
    asked : dict of Tree to set of int
        The files with a matching row, for the first session.
    """
    other = replace(copies, spark=copies.spark.newSession())
    give(other.spark, {**copies.plan.settings, "spark.xskip.strict": "false"})
    xskip.enable(other.spark)
    try:
        truths = ((copies, asked), (other, other.truth(list(asked))))
        forget_indexes()
        jobs = [(who, kind, tree, files) for kind in kinds for who, truth in truths for tree, files in truth.items()]
        Random(len(jobs)).shuffle(jobs)
        with ThreadPoolExecutor(_THREADS) as pool:
            for found in pool.map(lambda job: _lost(*job), jobs):
                if found is not None:
                    yield found
    finally:
        xskip.disable(other.spark)


def delta_beside(copies: Copies, kinds: Sequence[str], trees: Sequence[Tree]) -> Iterator[Difference]:
    """Turn an indexed copy into a Delta table with deleted rows, and query it together with another copy.

    Parameters
    ----------
    copies : Copies
    kinds : sequence of str
        The copy that stays, and the copy that becomes a table.
    trees : sequence of Tree
        The predicates; the first selects the rows to delete.
    """
    spark, (ours, theirs) = copies.spark, kinds
    place = f"`{copies.root / theirs}`"
    spark.sql(f"CONVERT TO DELTA parquet.{place}")
    spark.sql(f"ALTER TABLE delta.{place} SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    try:
        spark.sql(f"DELETE FROM delta.{place} WHERE {trees[0]}")
    except REFUSALS:  # of some predicates, as of those with hidden columns
        return

    def found(tree: Tree) -> Counter[int]:
        table = spark.read.format("delta").load(str(copies.root / theirs))
        return _rows(_counted(_numbers(table, tree).unionAll(_numbers(copies.read(ours), tree))))

    for tree in trees:
        try:
            xskip.disable(spark)
            expected = found(tree)
        except REFUSALS:
            continue
        finally:
            xskip.enable(spark)
        if lost := _differing(expected, found(tree)):
            yield Difference("Delta beside ours", theirs, tree, tuple(lost))


def _lost(copies: Copies, kind: str, tree: Tree, needed: set[int]) -> Difference | None:
    lost = copies.lost(kind, tree, needed, copies.kept(kind, tree))
    return Difference("sessions and threads at once", kind, tree, tuple(lost)) if lost else None
