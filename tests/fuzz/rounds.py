"""One round: a dataset, its copies with indexes, many filters; and what is left of a wrong skip when it is cut down."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

import xskip
from tests.fuzz.data import DataSet, dataset
from tests.fuzz.failures import Failure
from tests.fuzz.kinds import indexes, some
from tests.fuzz.plans import Plan, other_schema, plan
from tests.fuzz.predicates import predicate
from tests.fuzz.scope import Scope, fields_of
from tests.fuzz.tree import Tree, smaller
from xskip.spark.dataset import selected
from xskip.spark.scan import engine_of

__all__ = ["Round", "Tally"]

_FILES = 40


@dataclass(slots=True)
class Tally:
    """What was asked and seen."""

    pairs: int = 0
    skipped: int = 0
    matching: int = 0
    predicates: int = 0
    refused: int = 0

    def add(self, other: Tally) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Round:
    """A dataset on disk with all its copies.

    Attributes
    ----------
    spark : SparkSession
    root : Path
        An empty directory.
    seed : int
    """

    spark: SparkSession
    root: Path
    seed: int
    random: Random = field(init=False)
    plan: Plan = field(init=False)
    data: DataSet = field(init=False)
    kinds: tuple[str, ...] = field(init=False)
    schema: StructType | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.plan = plan(self.random)
        self.data = dataset(self.random, _FILES, self.plan.partitions)
        self.kinds = some(self.random)

    def run(self, predicates: int) -> tuple[Tally, list[Failure]]:
        """Asks so many predicates of every copy."""
        before = {key: self.spark.conf.get(key, None) for key in (*self.plan.settings, *self.plan.asking)}
        zones = self.spark._jvm.java.util.TimeZone  # type: ignore[union-attr]
        zone = zones.getDefault()
        try:
            self._set(self.plan.settings)
            zones.setDefault(zones.getTimeZone(self.plan.zones[0]))
            self._write()
            self._set(self.plan.asking)
            zones.setDefault(zones.getTimeZone(self.plan.zones[1]))
            return self._ask(predicates)
        finally:
            zones.setDefault(zone)
            self._set(before)

    def _ask(self, predicates: int) -> tuple[Tally, list[Failure]]:
        if self.plan.own_schema:
            self.schema = other_schema(self.random, self._read("plain").schema, self.plan.fmt)
        scope = self._scope()
        asked = list(dict.fromkeys(predicate(self.random, scope) for _ in range(predicates)))
        truth = self._truth(asked)
        tally = Tally(predicates=len(asked), refused=len(asked) - len(truth))
        failures = []
        xskip.enable(self.spark)
        try:
            for kind in self.kinds:
                for tree, needed in truth.items():
                    kept = self._kept(kind, tree)
                    tally.pairs += _FILES
                    tally.skipped += _FILES - len(kept)
                    tally.matching += len(needed)
                    lost = needed - kept
                    if lost and (lost := lost & (self._kept_by_spark(kind, tree) or set())):
                        failures.append(self._shrunk(kind, tree, min(lost)))
        finally:
            xskip.disable(self.spark)
        return tally, failures

    def _set(self, settings: dict[str, str] | dict[str, str | None]) -> None:
        for key, value in settings.items():
            self.spark.conf.unset(key) if value is None else self.spark.conf.set(key, value)

    def _write(self) -> None:
        staging, fmt = self.root / "staging", self.plan.fmt
        absent = [name for name in self.plan.absent if name not in self.plan.partitions and "." not in name]
        rows = self.spark.sql(self.data.sql()).drop(*absent)
        rows.coalesce(1).write.partitionBy("__file", *self.plan.partitions).format(fmt).save(str(staging))
        for n in range(_FILES):
            written = staging / f"__file={n}"
            (part,) = written.rglob("part-*")
            target = self.root / "plain" / part.parent.relative_to(written) / f"{n}.{fmt}"
            target.parent.mkdir(parents=True, exist_ok=True)
            part.rename(target)
            if self.plan.schema and self.random.random() < 0.3:
                _spoil_a_record(self.random, target)
        for kind in self.kinds:
            shutil.copytree(self.root / "plain", self.root / kind)
            path, schema = str(self.root / kind), self.plan.schema or None
            made = xskip.SkippingIndex.for_path(self.spark, path, format=fmt, options=self.plan.options, schema=schema)
            made.create(indexes(kind, self.plan.absent))

    def _read(self, copy: str) -> DataFrame:
        reader = self.spark.read.format(self.plan.fmt).options(**self.plan.asked_options)
        schema = self.schema or self.plan.schema
        return (reader.schema(schema) if schema else reader).load(str(self.root / copy))

    def _scope(self) -> Scope:
        fields = fields_of(self._read("plain").schema, self.data.pool)
        if self.spark.conf.get("spark.sql.caseSensitive") == "false":
            fields = [replace(f, name=f.name.upper()) if self.random.random() < 0.05 else f for f in fields]
        return Scope(tuple(fields), self.plan.ansi, self._hidden() if self.plan.hidden else ())

    def _hidden(self) -> tuple[str, ...]:
        """Tests of hidden columns; those of paths hold for all copies alike."""
        files = [(path.name, path.stat()) for path in self.random.sample(sorted(self.root.glob("plain/**/*.*")), 4)]
        tests = [
            "_metadata.file_path LIKE '%/1_.%'",
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

    def _truth(self, asked: Sequence[Tree]) -> dict[Tree, set[int]]:
        """For each predicate the files with a matching row; without those that Spark refuses, or fails on.

        The predicates are columns of the result, so that nothing can be pruned by them.
        """
        if not asked:
            return {}
        number = F.regexp_extract(F.input_file_name(), r"(\d+)\.\w+$", 1).cast("int")
        names = [f"_{k}" for k in range(len(asked))]
        try:
            columns = [F.expr(str(tree)).alias(name) for name, tree in zip(names, asked, strict=True)]
            df = self._read("plain").select(number.alias("__n"), *columns)
            rows = df.groupBy("__n").agg(*(F.max(name).alias(name) for name in names)).collect()
        except (Py4JError, PySparkException):
            if len(asked) == 1:
                return {}
            half = len(asked) // 2
            return self._truth(asked[:half]) | self._truth(asked[half:])
        return {tree: {row["__n"] for row in rows if row[f"_{k}"]} for k, tree in enumerate(asked)}

    def _kept(self, copy: str, tree: Tree) -> set[int]:
        """The files that a query with the predicate would read; all where Spark by itself cannot plan it."""
        try:
            return self._selected(copy, tree)
        except (Py4JError, PySparkException):
            if self._kept_by_spark(copy, tree) is None:
                return set(range(_FILES))
            raise

    def _kept_by_spark(self, copy: str, tree: Tree) -> set[int] | None:
        """The same without any index; None where it cannot be planned."""
        xskip.disable(self.spark)
        try:
            return self._selected(copy, tree)
        except (Py4JError, PySparkException):
            return None
        finally:
            xskip.enable(self.spark)

    def _selected(self, copy: str, tree: Tree) -> set[int]:
        hook = engine_of(self.spark).hook
        names = selected(hook, self._read(copy).filter(str(tree))).objects().names.to_pylist()
        return {int(Path(name).stem) for name in names}

    def _shrunk(self, kind: str, tree: Tree, file: int) -> Failure:
        """The simplest predicate that still skips the file wrongly, and the file's rows."""
        while True:
            for less in smaller(tree):
                found = self._truth([less]).get(less, set())
                if file in found and file not in self._kept(kind, less):
                    tree = less
                    break
            else:
                return self._failure(kind, str(tree), self.data.sql(range(file, file + 1)))

    def _failure(self, kind: str, where: str, rows: str) -> Failure:
        own, self.schema = self.schema, None
        indexed = _ddl(self._read("plain").schema)
        self.schema = own
        return Failure(self.plan, kind, where, rows, indexed, _ddl(own) if own else "")


def _spoil_a_record(random: Random, file: Path) -> None:
    """A record that no longer parses, whole or in one of its values."""
    lines = file.read_text().splitlines()
    if not lines:
        return
    at = random.randrange(len(lines))
    cut = random.choice((lines[at][: len(lines[at]) // 2], f"junk{lines[at]}", lines[at].replace(":", ':"junk', 1)))
    lines[at] = cut.replace("\n", "") or "junk"
    file.write_text("\n".join(lines) + "\n")


def _ddl(schema: StructType) -> str:
    return ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in schema.fields)
