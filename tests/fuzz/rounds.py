"""A round: a dataset, its copies with indexes, many filters, and the reduction of a wrong skip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import xskip
from tests.fuzz.copies import FILES, PLAIN, REFUSALS, Copies, execution, under
from tests.fuzz.counts import Counts
from tests.fuzz.data import dataset
from tests.fuzz.failures import Failure
from tests.fuzz.kinds import some
from tests.fuzz.paths import naming
from tests.fuzz.plans import Plan, other_schema, plan
from tests.fuzz.predicates import predicate
from tests.fuzz.rewrites import planned_by_metadata
from tests.fuzz.scope import Scope, fields_of
from tests.fuzz.tree import Tree, smaller
from tests.fuzz.ways import WAYS, Difference, delta_beside, sessions_and_threads

__all__ = ["Round", "Tally"]

#: Queries of a copy that run, for each way, and predicates that threads ask of each of some copies.
_RUN = 4
_AT_ONCE = 25
#: Predicates that one relation of a copy is asked, before the next one is made.
_OF_FRAME = 10
#: How often columns count in addition, whose bounds names of files claim.
_OF_NAMED = 3


@dataclass(slots=True)
class Tally(Counts):
    """The counts of pairs, of skipped, matching and wholly matching files, and of predicates."""

    pairs: int = 0
    skipped: int = 0
    matching: int = 0
    whole: int = 0
    predicates: int = 0
    refused: int = 0


@dataclass(slots=True)
class Round:
    """A dataset on disk with all its copies.

    Attributes
    ----------
    spark : SparkSession
    root : Path
        An empty directory.
    seed : int
    is_planned : bool
    """

    spark: SparkSession
    root: Path
    seed: int
    #: Whether only queries run that metadata plan or answer.
    is_planned: bool = False
    random: Random = field(init=False)
    plan: Plan = field(init=False)
    copies: Copies = field(init=False)
    kinds: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.plan = plan(self.random, FILES)
        data = dataset(self.random, FILES, self.plan.partitions)
        named = naming(self.random, self.plan.absent)
        self.copies = Copies(self.spark, self.root, self.plan, data, named)
        self.kinds = some(self.random, self.plan.absent)

    def run(self, predicates: int) -> tuple[Tally, list[Failure]]:
        """Apply a number of random predicates to every copy."""
        plan = self.plan
        with under(self.spark, execution(self.seed) | plan.settings, plan.zones[0], plan.hadoop):
            self.copies.write(self.random, self.kinds)
            with under(self.spark, plan.asking, plan.zones[1], plan.asked_hadoop):
                return self._ask(predicates)

    def _ask(self, predicates: int) -> tuple[Tally, list[Failure]]:
        copies = self.copies
        if self.plan.own_schema:
            copies.schema = other_schema(self.random, copies.read(PLAIN).schema, self.plan.fmt)
        scope = self._scope()
        asked = list(dict.fromkeys(predicate(self.random, scope) for _ in range(predicates)))
        truth = copies.truth(asked)
        tally = Tally(predicates=len(asked), refused=len(asked) - len(truth))
        xskip.enable(self.spark)
        try:
            if self.is_planned:
                return tally, list(map(self._as_failure, planned_by_metadata(copies, self.kinds, list(truth))))
            failures = [failure for kind in self.kinds for failure in self._asked(kind, truth, tally)]
            failures += map(self._as_failure, self._in_other_ways(truth, tally))
        finally:
            xskip.disable(self.spark)
        return tally, failures

    def _asked(self, kind: str, truth: dict[Tree, set[int]], tally: Tally) -> Iterator[Failure]:
        frame = None
        for n, (tree, needed) in enumerate(truth.items()):
            if n % _OF_FRAME == 0:
                frame = self._frame(kind)
            kept = self.copies.kept(kind, tree, frame)
            tally.pairs += FILES
            tally.skipped += FILES - len(kept)
            tally.matching += len(needed)
            if lost := self.copies.lost(kind, tree, needed, kept):
                yield self._shrunk(kind, tree, min(lost))
            whole, wrong = self.copies.wrongly_whole(kind, tree, kept)
            tally.whole += len(whole)
            if wrong:
                yield replace(self._failure(kind, str(tree), min(wrong)), way="a file that matches wholly")

    def _frame(self, kind: str) -> DataFrame | None:
        """Return a copy as the queries read it, or None if Spark refuses."""
        try:
            return self.copies.read(kind)
        except REFUSALS:
            return None

    def _in_other_ways(self, truth: dict[Tree, set[int]], tally: Tally) -> Iterator[Difference]:
        at_once = dict(list(truth.items())[:_AT_ONCE])
        tally.pairs += 2 * 2 * FILES * len(at_once)
        yield from sessions_and_threads(self.copies, self.kinds[-2:], at_once)
        trees = self._narrow(truth)
        if not trees:
            return
        yield from planned_by_metadata(self.copies, self.kinds, trees)
        for way in WAYS:  # which change the files of one copy
            tally.pairs += FILES * len(trees)
            yield from way(self.copies, self.kinds[-1], trees)
        if self._has_delta:
            tally.pairs += 2 * FILES * len(trees)
            yield from delta_beside(self.copies, (self.kinds[0], self.kinds[-1]), trees)

    @property
    def _has_delta(self) -> bool:
        plan = self.plan
        flat = not plan.partitions and not self.copies.naming.levels
        can = plan.fmt == "parquet" and flat and not plan.damaged and self.copies.schema is None
        return can and "DeltaSparkSessionExtension" in str(self.spark.conf.get("spark.sql.extensions", ""))

    def _narrow(self, truth: dict[Tree, set[int]]) -> Sequence[Tree]:
        """Return predicates that match in some files and not in others."""
        some_match = [tree for tree, files in truth.items() if 0 < len(files) < FILES]
        return self.random.sample(some_match, min(len(some_match), _RUN))

    def _scope(self) -> Scope:
        fields = fields_of(self.copies.read(PLAIN).schema, self.copies.data.pool)
        if "pathbounds" in self.kinds:  # the only kind with indexes on few columns
            named = {of.column for of in self.copies.naming.columns}
            fields += [f for f in fields if f.name.lower() in named] * _OF_NAMED
        if self.spark.conf.get("spark.sql.caseSensitive") == "false":
            fields = [replace(f, name=f.name.upper()) if self.random.random() < 0.05 else f for f in fields]
        return Scope(tuple(fields), self.plan.ansi, self._hidden() if self.plan.hidden else ())

    def _hidden(self) -> tuple[str, ...]:
        """Return tests of hidden columns; the results of tests of paths are the same for all copies."""
        files = [(path.name, path.stat()) for path in self.random.sample(sorted(self.root.glob("plain/**/*.*")), 4)]
        tests = [
            "_metadata.file_path LIKE '%n1_.%'",
            "_metadata.file_path LIKE '%=%'",
            "_metadata.file_block_start = 0",
        ]
        for name, stat in files:
            size, time = stat.st_size, stat.st_mtime_ns // 1_000_000
            tests += [f"_metadata.file_name = '{name}'", f"_metadata.file_name <> '{name}'"]
            tests += [f"_metadata.file_size > {size}", f"_metadata.file_size = {size}", f"_metadata.file_size < {size}"]
            tests += [f"_metadata.file_modification_time {op} timestamp_millis({time})" for op in (">", "<=", "=")]
            tests.append(f"endswith(_metadata.file_path, '/{name}')")
        return tuple(tests)

    def _shrunk(self, kind: str, tree: Tree, file: int) -> Failure:
        """Return the simplest predicate that still skips the file wrongly, and the file's rows."""
        while True:
            for less in smaller(tree):
                kept = self.copies.kept(kind, less)
                if file in kept:  # so that the rows, which cost a job, do not matter
                    continue
                if file in self.copies.lost(kind, less, self.copies.truth([less]).get(less, set()), kept):
                    tree = less
                    break
            else:
                return self._failure(kind, str(tree), file)

    def _as_failure(self, found: Difference) -> Failure:
        return replace(self._failure(found.kind, str(found.tree), found.files[0]), way=found.way)

    def _failure(self, kind: str, where: str, file: int) -> Failure:
        copies, rows = self.copies, self.copies.data.sql(range(file, file + 1))
        indexed = _ddl(replace(copies, schema=None).read(PLAIN).schema)
        asked = _ddl(copies.schema) if copies.schema else ""
        found = Failure(self.plan, kind, where, rows, indexed, asked, self.seed)
        of_paths = copies.naming.indexes if kind in ("pathbounds", "all") else ()
        return replace(found, path=copies.paths[file], of_paths=of_paths)


def _ddl(schema: StructType) -> str:
    return ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in schema.fields)
