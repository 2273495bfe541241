"""A dataset on disk, its copies with indexes, and the queries of a session on them."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

import xskip
from tests.fuzz.data import DataSet
from tests.fuzz.kinds import indexes
from tests.fuzz.paths import Bounds, Naming, union
from tests.fuzz.plans import ALL_KEYS, Plan
from tests.fuzz.tree import Tree
from xskip.api import arguments
from xskip.errors import DatasetError
from xskip.pruning.complement import complement_clause, matching_wholly
from xskip.pruning.prune import requirements
from xskip.spark.collect.relation import selected
from xskip.spark.query.spark_engine import engine_of

__all__ = ["FILES", "PLAIN", "REFUSALS", "Copies", "execution", "give", "number", "number_of", "swap", "under"]

FILES = 40
#: The copy that has no index.
PLAIN = "plain"
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
#: The end of each path, with the number of the file.
_NUMBER = r"n(\d+)\.\w+"
#: What Spark says no with.
REFUSALS = (Py4JError, PySparkException)


@contextmanager
def under(
    spark: SparkSession, settings: Mapping[str, str | None], zone: str, hadoop: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run the body with settings of a session, the JVM's default time zone and keys of Hadoop; None unsets a setting.

    Hadoop's configuration has no other keys of those that plans draw.
    """
    zones = spark._jvm.java.util.TimeZone  # type: ignore[union-attr]
    before, zone_before = {key: spark.conf.get(key, None) for key in settings}, zones.getDefault()
    give(spark, settings)
    zones.setDefault(zones.getTimeZone(zone))
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    keys_before = {key: configuration.get(key) for key in ALL_KEYS}
    _configure(configuration, {**dict.fromkeys(keys_before), **(hadoop or {})})
    try:
        yield
    finally:
        _configure(configuration, keys_before)
        zones.setDefault(zone_before)
        give(spark, before)


def _configure(configuration: Any, keys: Mapping[str, str | None]) -> None:
    for key, value in keys.items():
        configuration.unset(key) if value is None else configuration.set(key, value)


def give(spark: SparkSession, settings: Mapping[str, str | None]) -> None:
    """Set the settings of a session; None unsets a key."""
    for key, value in settings.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)


def number() -> Column:
    """Return a column with the number of the file of each row."""
    return F.regexp_extract(F.input_file_name(), rf"{_NUMBER}$", 1).cast("int")


def number_of(path: str) -> int:
    """Return the number of a file."""
    return int(re.findall(rf"{_NUMBER}\Z", path)[0])


def execution(seed: int) -> dict[str, str]:
    """Return the settings by which Spark executes the plans of a seed: it compiles half of them, as by default.

    Spark interprets plans of few rows faster than it compiles them.
    """
    return _INTERPRETED if seed % 2 else {}


#: Options with which files of a few rows have several blocks or row groups.
_SMALL_BLOCKS = {
    "avro.mapred.sync.interval": "32", "parquet.block.size": "64", "parquet.page.size.row.check.min": "1",
    "parquet.page.size.row.check.max": "1",
}  # fmt: skip


@dataclass(slots=True)
class Copies:
    """A dataset and its copies below one directory, as one session reads them.

    Attributes
    ----------
    spark : SparkSession
    root : Path
        An empty directory.
    plan : Plan
    data : DataSet
    naming : Naming
    schema : StructType or None
        The schema of the queries; None if they read as the build did.
    passed_over : dict of str to set of int
        The files that the build of a copy could not read.
    stored : StructType or None
        The schema of the files, if some are damaged, so that Spark cannot infer the schema from every file.
    paths : dict of int to str
        The path of each file below a copy.
    """

    spark: SparkSession
    root: Path
    plan: Plan
    data: DataSet
    naming: Naming
    schema: StructType | None = None
    passed_over: dict[str, set[int]] = field(default_factory=dict)
    stored: StructType | None = None
    paths: dict[int, str] = field(default_factory=dict)
    #: The number of the latest request before the latest query of :meth:`kept`.
    before: int = 0
    #: The files with a row that does not match, for each predicate of :meth:`truth`. Other files match wholly.
    partial: dict[Tree, set[int]] = field(default_factory=dict)

    def write(self, random: Random, kinds: Sequence[str]) -> None:
        """Write the files, and one copy with indexes for each kind."""
        staging, fmt = self.root / "staging", self.plan.fmt
        absent = [name for name in self.plan.absent if name not in self.plan.partitions and "." not in name]
        rows = self.spark.sql(self.data.sql()).drop(*absent)
        if self.plan.damaged:
            self.stored = rows.drop("__file", *self.plan.partitions).schema
        parts = Random(repr(self.data.pool))  # the other choices of a seed do not depend on parts
        small = _SMALL_BLOCKS if parts.random() < 0.7 else {}
        writer = rows.coalesce(1).write.options(**small).partitionBy("__file", *self.plan.partitions)
        writer.format(fmt).save(str(staging))
        for n in range(FILES):
            written = staging / f"__file={n}"
            (part,) = written.rglob("part-*")
            target = self.root / PLAIN / part.parent.relative_to(written) / f"n{n}.{fmt}"
            target.parent.mkdir(parents=True, exist_ok=True)
            part.rename(target)
            if self.plan.schema and random.random() < 0.3:
                _spoil_a_record(random, target)
            if n in self.plan.damaged:
                _damage(random, target)
        self._rename(random)
        for kind in kinds:
            shutil.copytree(self.root / PLAIN, self.root / kind)
            with patch.object(arguments, "LEAST_PART", 1):
                made = self.index(kind).create(
                    indexes(kind, self.plan.absent, self.naming.indexes),
                    on_error="skip" if self.plan.damaged else "raise",
                    parts=parts.choice(("auto", 30, 200, 900)) if small else "auto",
                )
            self.passed_over[kind] = {number_of(name) for name in made.failed}

    @property
    def exchanged(self) -> tuple[int, int]:
        """Return the numbers of two files that are not damaged, and whose names are right about both."""
        first, second, *_ = (n for n in range(FILES) if n not in self.plan.damaged)
        return first, second

    def _rename(self, random: Random) -> None:
        """Give the files names that claim bounds of their values."""
        plain, bounds = self.root / PLAIN, self._bounds()
        first, second = self.exchanged
        if bounds.keys() >= {first, second}:
            bounds[first] = bounds[second] = union(bounds[first], bounds[second])
        for n in range(FILES):
            (path,) = plain.rglob(f"n{n}.{self.plan.fmt}")
            target = path.parent / f"{self.naming.path(random, n, bounds.get(n))}.{self.plan.fmt}"
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            self.paths[n] = str(target.relative_to(plain))

    def _bounds(self) -> dict[int, dict[str, Bounds]]:
        """Return the bounds of the files as the build reads them, without the files that Spark cannot read."""
        names = [of.column for of in self.naming.columns]
        ends = [end(name).alias(f"{end.__name__} {name}") for name in names for end in (F.min, F.max)]
        try:
            rows = self._read_as_built().groupBy(number().alias("n")).agg(*ends).toArrow()
        except REFUSALS:
            return {}
        numbers = rows["n"].to_pylist()
        sides = [[_whole(rows[f"{end} {name}"]) for end in ("min", "max")] for name in names]
        found = [zip(*side, strict=True) for side in sides]
        bounds = [dict(zip(names, each, strict=True)) for each in zip(*found, strict=True)]
        return {
            n: {name: None if low is None or high is None else (low, high) for name, (low, high) in each.items()}
            for n, each in zip(numbers, bounds, strict=True)
        }

    def _read_as_built(self) -> DataFrame:
        reader = self.spark.read.format(self.plan.fmt).options(**self.plan.options)
        schema = self.plan.schema or self.stored
        return (reader.schema(schema) if schema else reader).load(str(self.root / PLAIN))

    def index(self, kind: str) -> xskip.SkippingIndex:
        """Return the index of a copy."""
        path, schema = str(self.root / kind), self.plan.schema or self.stored
        return xskip.SkippingIndex.for_path(
            self.spark, path, format=self.plan.fmt, options=self.plan.options, schema=schema
        )

    def as_built(self) -> AbstractContextManager[None]:
        """Return a context manager that applies the settings and the time zone of the build."""
        unset = dict.fromkeys(key for key in self.plan.asking if key != "spark.xskip.strict")
        return under(self.spark, {**unset, **self.plan.settings}, self.plan.zones[0], self.plan.hadoop)

    def read(self, copy: str) -> DataFrame:
        """Return a copy as the queries read it."""
        reader = self.spark.read.format(self.plan.fmt).options(**self.plan.asked_options)
        schema = self.schema or self.plan.schema or self.stored
        return (reader.schema(schema) if schema else reader).load(str(self.root / copy))

    def truth(self, asked: Sequence[Tree]) -> dict[Tree, set[int]]:
        """Return the files with a matching row for each predicate that Spark can evaluate.

        The predicates are columns of the result, so that they cannot prune files. The values of a damaged file are
        arbitrary, so that it has no match.
        """
        if not asked:
            return {}
        names = [f"_{k}" for k in range(len(asked))]
        try:
            columns = [F.expr(str(tree)).alias(name) for name, tree in zip(names, asked, strict=True)]
            df = self.read(PLAIN).select(number().alias("__n"), *columns)
            some = (F.max(name).alias(name) for name in names)
            every = (F.min(F.coalesce(name, F.lit(False))).alias(f"{name}_every") for name in names)
            rows = df.groupBy("__n").agg(*some, *every).collect()
        except REFUSALS:
            if len(asked) == 1:
                return {}
            half = len(asked) // 2
            return self.truth(asked[:half]) | self.truth(asked[half:])
        self.partial |= {tree: {row["__n"] for row in rows if not row[f"_{k}_every"]} for k, tree in enumerate(asked)}
        found = {tree: {row["__n"] for row in rows if row[f"_{k}"]} for k, tree in enumerate(asked)}
        return {tree: files - set(self.plan.damaged) for tree, files in found.items()}

    def lost(self, kind: str, tree: Tree, matching: set[int], kept: set[int]) -> set[int]:
        """Return the files with a match or without metadata that the index skips although Spark reads them."""
        lost = (matching | self.passed_over[kind]) - kept
        return lost & (self.kept_by_spark(tree) or set()) if lost else lost

    def kept(self, copy: str, tree: Tree, frame: DataFrame | None = None) -> set[int]:
        """Return the files that a query with the predicate reads.

        The result has all files if Spark cannot plan the query even without an index. ``frame`` is an earlier result of
        :meth:`read`, which takes longer than the query; None reads the copy anew.
        """
        try:
            return self._selected(self.read(copy) if frame is None else frame, tree)
        except (*REFUSALS, DatasetError):  # xskip names the cause in an error of its own
            if self.kept_by_spark(tree) is None:
                return set(range(FILES))
            raise

    def kept_by_spark(self, tree: Tree) -> set[int] | None:
        """Return the files that the query reads without an index, or None if Spark cannot plan the query."""
        try:
            return self._selected(self.read(PLAIN), tree)
        except (*REFUSALS, DatasetError):  # xskip names the cause in an error of its own
            return None

    def wrongly_whole(self, kind: str, tree: Tree, kept: set[int]) -> tuple[set[int], set[int]]:
        """Return the kept files that match wholly by the index in the latest query, and those of them that do not.

        The predicate is that of the query, and :meth:`truth` knows it. A query that asks no index claims nothing.
        """
        engine = engine_of(self.spark)
        number = engine.hook.queries.last_scan()
        trace = engine.trace(number) if number != self.before else None
        evidence = trace.evidence if trace is not None else None
        snapshot = evidence.snapshot() if evidence is not None else None
        if trace is None or evidence is None or snapshot is None or trace.decoded is None:
            return set(), set()
        needed = requirements(complement_clause(trace.decoded, evidence.selection.catalog))
        counts = snapshot.counts().plausible()
        table = dataclasses.replace(snapshot.load_proven(needed, evidence.profile), counts=counts)
        with evidence.functions.collecting():  # a function without results decides nothing
            whole = matching_wholly(trace.decoded, evidence.selection.catalog, table)
        names = table.files.names.filter(pa.array(whole)).to_pylist()
        claimed = {number_of(name) for name in names} & kept - set(self.plan.damaged) - self.passed_over[kind]
        return claimed, claimed & self.partial[tree]

    def _selected(self, frame: DataFrame, tree: Tree) -> set[int]:
        hook = engine_of(self.spark).hook
        self.before = hook.queries.last_scan()
        names = selected(hook, frame.filter(str(tree))).files().names.to_pylist()
        return {number_of(name) for name in names}


def swap(directory: Path, first: int, second: int) -> None:
    """Exchange the contents of two files of a copy, which changes their times."""
    one, two = (next(directory.rglob(f"*n{n}.*")) for n in (first, second))
    content = one.read_bytes(), two.read_bytes()
    for path, bytes_of_other in ((two, content[0]), (one, content[1])):
        later = path.stat().st_mtime + 7
        path.write_bytes(bytes_of_other)
        os.utime(path, (later, later))


def _whole(values: pa.ChunkedArray) -> list[int | None]:
    """Return integers, days or microseconds."""
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    whole: list[int | None] = values.cast(pa.int64()).to_pylist()
    return whole


def _spoil_a_record(random: Random, file: Path) -> None:
    """Change a record so that it, or one of its values, can no longer be parsed."""
    lines = file.read_text().splitlines()
    if not lines:
        return
    at = random.randrange(len(lines))
    cut = random.choice((lines[at][: len(lines[at]) // 2], f"junk{lines[at]}", lines[at].replace(":", ':"junk', 1)))
    lines[at] = cut.replace("\n", "") or "junk"
    file.write_text("\n".join(lines) + "\n")


def _damage(random: Random, file: Path) -> None:
    """Truncate a file, or overwrite some of its bytes."""
    data = bytearray(file.read_bytes())
    if random.random() < 0.3:
        del data[random.randrange(len(data)) :]
    else:
        at, length = random.randrange(len(data)), random.choice((1, 8, 200))
        data[at : at + length] = random.randbytes(min(length, len(data) - at))
    file.write_bytes(data)
