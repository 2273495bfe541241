"""One round: a dataset, its copies with indexes, many filters; and what is left of a wrong skip when it is cut down."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.fuzz.data import COLUMNS, DataSet, dataset
from tests.fuzz.predicates import Tree, predicate, smaller
from tests.helpers import AVRO_V2
from xskip.spark.scan import engine_of

__all__ = ["Failure", "Round", "Tally"]

ZONES = ("UTC", "Europe/Oslo", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kolkata", "America/New_York", "+05:30")
FORMATS = ("parquet", "parquet", "avro", "orc")
#: Copies of a dataset, each with indexes of one kind, and one with all.
KINDS = {
    "minmax": lambda: [xskip.MinMax(c) for c in COLUMNS],
    "valuelist": lambda: [xskip.ValueList(c) for c in COLUMNS],
    "bloom": lambda: [xskip.BloomFilter(c) for c in ("i", "l", "h", "s", "u", "dt", "ts", "x")],
    "nullcount": lambda: [xskip.NullCount(c) for c in COLUMNS],
    "all": lambda: [made for kind in ("minmax", "valuelist", "bloom", "nullcount") for made in KINDS[kind]()],
}
_V1 = "avro,csv,json,kafka,orc,parquet,text"
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


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was skipped and holds a matching row."""

    settings: dict[str, str]
    fmt: str
    kind: str
    where: str
    rows: str

    def script(self) -> str:
        """A program that shows it."""
        lines = [
            "from pathlib import Path", "import tempfile", "from pyspark.sql import SparkSession", "import xskip",
            "from tests.fuzz.rounds import KINDS", "",
            "spark = xskip.configure(SparkSession.builder.master('local[1]')).getOrCreate()",
            *(f"spark.conf.set({key!r}, {value!r})" for key, value in self.settings.items()),
            "path = str(Path(tempfile.mkdtemp()) / 'data')",
            f"spark.sql({self.rows!r}).drop('__file').coalesce(1).write.format({self.fmt!r}).save(path)",
            f"xskip.SkippingIndex.for_path(spark, path, format={self.fmt!r}).create(KINDS[{self.kind!r}]())",
            f"rows = lambda: spark.read.format({self.fmt!r}).load(path).filter({self.where!r}).count()",
            "before = rows()", "xskip.enable(spark)", "print(before, 'rows without skipping,', rows(), 'with')",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"


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
    data: DataSet = field(init=False)
    fmt: str = field(init=False)
    settings: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.fmt = self.random.choice(FORMATS)
        self.settings = {
            "spark.sql.session.timeZone": self.random.choice(ZONES),
            "spark.sql.ansi.enabled": self.random.choice(("true", "false", "false", "false", "false")),
            "spark.sql.parquet.outputTimestampType": self.random.choice(("TIMESTAMP_MICROS", "INT96")),
            "spark.sql.sources.useV1SourceList": self.random.choice((_V1, "" if AVRO_V2 else "avro")),
        }
        for key, value in self.settings.items():
            self.spark.conf.set(key, value)
        self.data = dataset(self.random, _FILES)

    def run(self, predicates: int) -> tuple[Tally, list[Failure]]:
        """Asks so many predicates of every copy."""
        self._write()
        asked = [predicate(self.random, self.data) for _ in range(predicates)]
        truth = self._truth(self._read("plain"), asked)
        tally = Tally(predicates=len(asked), refused=len(asked) - len(truth))
        failures = []
        xskip.enable(self.spark)
        try:
            for kind in KINDS:
                for tree, needed in truth.items():
                    kept = self._kept(kind, tree)
                    tally.pairs += _FILES
                    tally.skipped += _FILES - len(kept)
                    tally.matching += len(needed)
                    if needed - kept:
                        failures.append(self._shrunk(kind, tree, min(needed - kept)))
        finally:
            xskip.disable(self.spark)
        return tally, failures

    def _write(self) -> None:
        staging = self.root / "staging"
        rows = self.spark.sql(self.data.sql())
        rows.coalesce(1).write.partitionBy("__file").format(self.fmt).save(str(staging))
        (self.root / "plain").mkdir()
        for n in range(_FILES):
            (part,) = [p for p in (staging / f"__file={n}").iterdir() if p.name.startswith("part-")]
            part.rename(self.root / "plain" / f"{n}.{self.fmt}")
        for kind, indexes in KINDS.items():
            shutil.copytree(self.root / "plain", self.root / kind)
            path = str(self.root / kind)
            xskip.SkippingIndex.for_path(self.spark, path, format=self.fmt).create(indexes())

    def _read(self, copy: str) -> DataFrame:
        return self.spark.read.format(self.fmt).load(str(self.root / copy))

    def _truth(self, df: DataFrame, asked: Sequence[Tree]) -> dict[Tree, set[int]]:
        """For each predicate the files with a matching row; without those that Spark refuses, or fails on.

        The predicates are columns of the result, so that nothing can be pruned by them.
        """
        if not asked:
            return {}
        number = F.regexp_extract(F.input_file_name(), r"(\d+)\.\w+$", 1).cast("int")
        try:
            columns = [F.max(F.expr(str(tree))).alias(f"_{k}") for k, tree in enumerate(asked)]
            rows = df.withColumn("__n", number).groupBy("__n").agg(*columns).collect()
        except PySparkException:
            if len(asked) == 1:
                return {}
            half = len(asked) // 2
            return self._truth(df, asked[:half]) | self._truth(df, asked[half:])
        return {tree: {row["__n"] for row in rows if row[f"_{k}"]} for k, tree in enumerate(asked)}

    def _kept(self, copy: str, tree: Tree) -> set[int]:
        """The files that a query with the predicate would read; all where Spark by itself cannot plan it."""
        try:
            return self._selected(copy, tree)
        except (Py4JError, PySparkException):
            xskip.disable(self.spark)
            try:
                self._selected(copy, tree)
            except (Py4JError, PySparkException):
                return set(range(_FILES))
            finally:
                xskip.enable(self.spark)
            raise

    def _selected(self, copy: str, tree: Tree) -> set[int]:
        hook = engine_of(self.spark).hook
        names = hook.selected(self._read(copy).filter(str(tree))).objects().names.to_pylist()
        return {int(Path(name).stem) for name in names}

    def _shrunk(self, kind: str, tree: Tree, file: int) -> Failure:
        """The simplest predicate that still skips the file wrongly, and the file's rows."""
        while True:
            for less in smaller(tree):
                found = self._truth(self._read("plain"), [less]).get(less, set())
                if file in found and file not in self._kept(kind, less):
                    tree = less
                    break
            else:
                return Failure(self.settings, self.fmt, kind, str(tree), self.data.sql(range(file, file + 1)))
