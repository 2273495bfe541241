"""Ways to run queries that the files of a query alone do not cover.

Each way runs a query over the copy without an index and over a copy with an index, and compares the files of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from random import Random

from pyspark.sql import DataFrame

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
    made: list[tuple[Tree, _Pair]] = []
    with copies.as_built():
        for tree in trees:
            try:
                pair = _pair(copies, kind).filtered(tree)
                for df in (pair.plain, pair.indexed):
                    df._jdf.queryExecution().executedPlan().toString()
            except REFUSALS:
                continue
            made.append((tree, pair))
    for tree, pair in made:
        if lost := pair.differ():
            yield Difference("explained before settings changed", kind, tree, tuple(lost))


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


def _asked(way: str, kind: str, trees: Sequence[Tree], pair: Callable[[], _Pair]) -> Iterator[Difference]:
    for tree in trees:
        try:
            asked = pair().filtered(tree)
        except REFUSALS:
            continue
        if lost := asked.differ():
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
